"""Geometry of the report's pictures: maps of the rows and plots, which `charts.html` draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing._report.text import clean, cut_middle, label_ticks, percent
from lapwing.plotting.drawing import principal_plane

MAP_WIDTH = 720
MAP_HEIGHTS = (320, 560)
_PAD = 26
_LABELED_DRAWN = 300
_OUTLIERS_FROM = 200

N_COLORS = 10
# Relative to the point (0, 0), of about the same area; classes differ in shape and colour.
_SHAPES = (
    "m-{r} 0a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0",
    "m-{s} -{s}h{q}v{q}h-{q}z",
    "m0 -{t}l{t} {u}h-{v}z",
    "m0 -{t}l{t} {t}l-{t} {t}l-{t} -{t}z",
    "m0 {t}l{t} -{u}h-{v}z",
    "m-{e} -{t}h{g}v{f}h{f}v{g}h-{f}v{f}h-{g}v-{f}h-{f}v-{g}h{f}z",
    "m-{t} -{s}h{v}l-{w} {q}h-{r}z",
)
# Shapes of the first ten classes, and forty in rotation, as on the page of `lapwing label`
# (`palette.js`): classes with the same shape have very different colours.
_SHAPE_OF = (0, 1, 2, 3, 0, 3, 1, 2, 1, 2)
_TURNS = 4
_STAR = "m0 -9.5l2.8 6 6.4 .8-4.7 4.5 1.2 6.4-5.7-3.2-5.7 3.2 1.2-6.4-4.7-4.5 6.4-.8z"
_NAMES_WRITTEN = 15  # more names would hide the points; the legend has all of them


def choose_rows(
    labeled: NDArray[np.bool_], most: int, listed: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """Choose at most `most` rows to draw; the same for the same mask.

    Listed rows have priority, then labelled ones.
    """
    n = len(labeled)
    if n <= most:
        return np.arange(n)
    rng = np.random.default_rng(0)
    listed = np.zeros(0, dtype=np.intp) if listed is None else listed[: most // 2]
    known = np.setdiff1d(np.flatnonzero(labeled), listed)
    free = np.setdiff1d(np.flatnonzero(~labeled), listed)
    room = min(most - len(listed), _LABELED_DRAWN)
    if len(known) > room:
        known = rng.choice(known, room, replace=False)
    free = rng.choice(free, min(len(free), most - len(known) - len(listed)), replace=False)
    return np.sort(np.concatenate([listed, known, free]))


def read_embedding(embedding: ArrayLike, n: int) -> NDArray[np.float64]:
    """Read the coordinates of n rows on a map of the user."""
    plane = np.asarray(embedding, dtype=np.float64)
    if plane.shape != (n, 2):
        raise ValueError(f"embedding must be two columns of {n} rows, not of shape {plane.shape}.")
    if not np.isfinite(plane).all():
        raise ValueError("embedding has missing or infinite numbers. Fill them in.")
    return plane


def place(
    X: Any,
    drawn: NDArray[np.intp],
    embedding: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return coordinates of the rows `drawn`, in tenths of the picture's units, and axis names."""
    if embedding is None:
        points, shares = principal_plane(X, drawn)
        method = "the feature" if X.shape[1] == 1 else "principal components"
        axes = [
            f"{place} principal component ({percent(share)} of the variance)"
            for place, share in zip(("first", "second"), shares.tolist(), strict=True)
        ]
        axes = ["the feature", ""] if X.shape[1] == 1 else axes
    else:
        points, method = read_embedding(embedding, X.shape[0])[drawn], "your columns"
        axes = [clean(name) for name in names or ("first", "second")]
    low, high = points.min(axis=0), points.max(axis=0)
    if len(points) >= _OUTLIERS_FROM:
        # Outliers are drawn at the border, so that they do not compress all others.
        inner_low, inner_high = np.quantile(points, [0.005, 0.995], axis=0)
        reach = 0.15 * (inner_high - inner_low)
        low, high = np.maximum(low, inner_low - reach), np.minimum(high, inner_high + reach)
    outside = int(((points < low) | (points > high)).any(axis=1).sum())
    span = np.where(high > low, high - low, 1.0)
    # Equal scales, because the method uses distances, unless the map would be very narrow.
    wanted = (MAP_WIDTH - 2 * _PAD) * span[1] / span[0] + 2 * _PAD
    height = int(np.clip(wanted, *MAP_HEIGHTS))
    share = (np.clip(points, low, high) - low) / span
    share[:, high <= low] = 0.5
    x = _PAD + share[:, 0] * (MAP_WIDTH - 2 * _PAD)
    y = height - _PAD - share[:, 1] * (height - 2 * _PAD)
    return {
        "x": np.rint(10 * x).astype(int).tolist(),
        "y": np.rint(10 * y).astype(int).tolist(),
        "height": height,
        "axes": axes,
        "projection": method,
        "n_outside": outside,
        "n_drawn": len(drawn),
        "n_rows": int(X.shape[0]),
    }


def sign_of(code: int) -> tuple[int, int]:
    """Return the colour and the shape of a class; the pair repeats after seventy classes."""
    turn, color = code // N_COLORS % len(_SHAPES), code % N_COLORS
    return color, (_SHAPE_OF[color] + turn) % _TURNS if turn < _TURNS else turn


def sign(code: int) -> tuple[int, str]:
    """Return the colour and the path of the small sign of a class for a table or a legend."""
    color, shape = sign_of(code)
    return color, f"M7 7{_shape(shape, 4.6)}"


def circle(radius: float) -> str:
    """Return the path of a circle around its start."""
    return _shape(0, radius)


def _shape(index: int, radius: float) -> str:
    parts = {
        "r": radius, "d": 2 * radius, "s": 0.89 * radius, "q": 1.78 * radius, "t": 1.3 * radius,
        "u": 2.2 * radius, "v": 2.6 * radius, "e": 0.42 * radius, "g": 0.84 * radius,
        "f": 0.88 * radius, "w": 0.8 * radius,
    }  # fmt: skip
    return _SHAPES[index].format(**{name: f"{value:.3g}" for name, value in parts.items()})


class RowSign(NamedTuple):
    """Sign of a row on the map.

    Attributes
    ----------
    row : int
        Place of the row in the map.
    opacity : int
        2 full, 1 pale, 0 hollow.
    look : str
        CSS classes of shape, opacity and colour.
    at, outline : str
        Start of the path, and the path from there.
    """

    row: int
    opacity: int
    look: str
    at: str
    outline: str


def row_signs(
    places: Mapping[str, Any],
    colors: Sequence[int],
    opacities: Sequence[int],
    *,
    shaded: bool = False,
) -> list[RowSign]:
    """Return the signs of rows in the order to draw them: stars, of labelled rows, are last.

    Parameters
    ----------
    places : mapping
        The map of a `lapwing._report.record.ReportData`.
    colors, opacities : sequence of int
        Class of each row, or its shade, and its opacity.
    shaded : bool
        Whether colours are shades of a number instead of classes.
    """
    columns = zip(places["x"], places["y"], places["labeled"], colors, opacities, strict=True)
    found = []
    for row, (x, y, labeled, code, opacity) in enumerate(columns):
        color, shape = (code, 0) if shaded else sign_of(code)
        look = f"{'star' if labeled else f'p{opacity}'} {'s' if shaded else 'k'}{color}"
        outline = _STAR if labeled else _shape(shape, (3.6, 3.4, 3.6)[opacity])
        found.append(RowSign(row, opacity, look, f"M{x / 10:g} {y / 10:g}", outline))
    return sorted(found, key=attrgetter("look"))


def twin_signs(places: Mapping[str, Any]) -> list[RowSign]:
    """Return signs by the classes of the supervised twin, pale where it agrees with the fit."""
    pairs = zip(places["twin"], places["color"], strict=True)
    return row_signs(places, places["twin"], [1 if twin == ours else 2 for twin, ours in pairs])


def class_names(places: Mapping[str, Any], codes: Sequence[int]) -> list[tuple[float, float, str]]:
    """Place class names at the points nearest to their medians, without overlap.

    Parameters
    ----------
    places : mapping
        The map of a `lapwing._report.record.ReportData`.
    codes : sequence of int
        Class of each row.
    """
    points, height = np.column_stack([places["x"], places["y"]]) / 10, places["height"]
    written: list[tuple[float, float, str]] = []
    names = places["classes"]
    for code, name in enumerate(names if len(names) <= _NAMES_WRITTEN else ()):
        mine = points[np.asarray(codes) == code]
        if not len(mine):
            continue
        text = cut_middle(name, 16)
        middle = np.sort(mine, axis=0)[len(mine) // 2]
        half = _half_width(text)
        for x, y in mine[np.argsort(((mine - middle) ** 2).sum(axis=1), kind="stable")].tolist():
            x, y = min(max(x, half), MAP_WIDTH - half), min(max(y, 16), height - 12) + 6
            if all(
                abs(x - u) > half + _half_width(other) or abs(y - v) > 32 for u, v, other in written
            ):
                written.append((x, y, text))
                break
    return written


def _half_width(name: str) -> int:
    return 8 * len(name) + 4  # names are larger on a narrow screen


def _ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Return about `wanted` round numbers that cover a range."""
    if not high > low:
        return [low]
    exponent = floor(log10((high - low) / wanted))
    step = 10.0**exponent
    step = min((step * m for m in (1, 2, 5, 10)), key=lambda s: abs((high - low) / s - wanted))
    first = ceil(low / step - 1e-9)
    return [round(k * step, -exponent) for k in range(first, floor(high / step + 1e-9) + 1)]


class Axis(NamedTuple):
    """Axis of a plot, with the values and texts of its ticks."""

    low: float
    high: float
    title: str
    ticks: Sequence[tuple[float, str]]

    @classmethod
    def with_round_ticks(cls, low: float, high: float, title: str, n_ticks: int = 5) -> Axis:
        """Return an axis with about `n_ticks` ticks at round numbers."""
        return cls(low, high, title, label_ticks(_ticks(low, high, n_ticks)))

    def share(self, value: float) -> float:
        """Return the position of a value, 0 at the low and 1 at the high end."""
        return (value - self.low) / ((self.high - self.low) or 1.0)


@dataclass(frozen=True)
class Plot:
    """Axes of a plot: paths in the units of SVG for values in those of the data.

    Attributes
    ----------
    across, up : Axis
    height : int
        Without the strip of the tooltips.
    """

    across: Axis
    up: Axis
    height: int = 250

    width = 560
    left, right, top, bottom_room = 78, width - 18, 18, 52

    @property
    def bottom(self) -> int:
        return self.height - self.bottom_room

    def x(self, value: float) -> float:
        return round(self.left + self.across.share(value) * (self.right - self.left), 1)

    def y(self, value: float) -> float:
        return round(self.bottom - self.up.share(value) * (self.bottom - self.top), 1)

    def at(self, x: float, y: float) -> str:
        """Return the coordinates of a point in a path."""
        return f"{self.x(x):g} {self.y(y):g}"

    def diagonal(self) -> str:
        """Return the line on which both coordinates are equal."""
        low, high = (self.at(*ends) for ends in zip(self.across[:2], self.up[:2], strict=True))
        return f"M{low}L{high}"

    def stroke(self, x: float, low: float, high: float) -> str:
        """Return a vertical line."""
        return f"M{self.at(x, low)}V{self.y(high):g}"

    def line(self, points: Sequence[tuple[float, float]]) -> str:
        """Return a line through points."""
        return "M" + "L".join(self.at(x, y) for x, y in points)

    def bars(self, heights: Sequence[float]) -> str:
        """Return bars of equal width along the axis, without empty ones."""
        found = []
        for value, (left, right) in zip(heights, pairwise(self._edges(heights)), strict=True):
            if value:
                gap = 0.5 if right - left > 4 else 0
                at = min(self.y(value), self.bottom - 1.5)  # a single row among many stays visible
                found.append(f"M{left + gap:g} {self.bottom}V{at:g}H{right - gap:g}V{self.bottom}z")
        return "".join(found)

    def outline(self, heights: Sequence[float]) -> str:
        """Return the outline of bars."""
        left, *edges = self._edges(heights)
        steps = (f"V{self.y(v):g}H{x:g}" for v, x in zip(heights, edges, strict=True))
        return f"M{left:g} {self.bottom}{''.join(steps)}V{self.bottom}"

    def _edges(self, heights: Sequence[float]) -> list[float]:
        ends = np.linspace(self.across.low, self.across.high, len(heights) + 1)
        return [self.x(end) for end in ends.tolist()]


def plot_histogram(
    shape: Mapping[str, Any], x_title: str, y_title: str
) -> tuple[Plot, list[list[float]]]:
    """Return the axes and the heights of a histogram, proportions if there are two series."""
    as_share = len(shape["series"]) > 1
    series = [[v / max(1, sum(s)) if as_share else v for v in s] for s in shape["series"]]
    top = max(max(s) for s in series) or 1
    ticks = label_ticks(_ticks(0, top, 4))
    if as_share:
        ticks = [(v, f"{100 * v:g} %") for v, _ in ticks]
    across = Axis.with_round_ticks(float(shape["low"]), float(shape["high"]), x_title, 6)
    return Plot(across, Axis(0.0, top, y_title, ticks)), series


def plot_truth(truth: Mapping[str, Any]) -> Plot:
    """Return axes for true and predicted numbers, and prediction intervals if there are any."""
    ends = [end for band in truth["intervals"] for end in band]
    values = [*truth["true"], *truth["predicted"], *ends]
    low, high = min(values), max(values)
    if not high > low:
        low, high = low - 0.5, high + 0.5
    across, up = (Axis.with_round_ticks(low, high, title) for title in ("true", "predicted"))
    return Plot(across, up, height=420)


def plot_calibration(groups: Sequence[Mapping[str, Any]]) -> Plot:
    """Return axes for accuracies against probabilities."""
    low = floor(10 * min(min(g["low"], g["probability"]) for g in groups)) / 10
    across, up = (Axis.with_round_ticks(low, 1.0, name) for name in ("probability", "share right"))
    return Plot(across, up, height=360)


def plot_history(
    values: Sequence[float | None], name: str, n_iter: int
) -> tuple[Plot, list[tuple[float, float]]]:
    """Return axes and points of a quantity by iteration on a logarithmic scale, without zeros."""
    scale = n_iter / max(1, len(values) - 1)
    points = [(i * scale, log10(v)) for i, v in enumerate(values) if v is not None and v > 0]
    low, high = floor(min(v for _, v in points)), ceil(max(v for _, v in points))
    high = max(high, low + 1)
    ticks = [(float(k), f"1e{k}") for k in range(low, high + 1, max(1, (high - low) // 5))]
    across = Axis.with_round_ticks(0.0, max(1, n_iter), "iteration", 6)
    return Plot(across, Axis(low, high, name, ticks)), points
