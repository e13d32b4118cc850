"""Pictures of the report: maps of the rows, histograms, scatter plots, histories.

They consist of paths, texts and points in the units of SVG; `charts.html` writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, floor, log10
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import ArpackError
from sklearn.decomposition import PCA

from lapwing._arrays import as_dense, is_sparse
from lapwing._report.text import clean, count, number, percent, shorten, tick

MAP_WIDTH = 720
MAP_HEIGHTS = (320, 560)
_PAD = 26
_FITTED = 20_000  # rows; enough for two principal components without a copy of X
_COVARIANCE_COLUMNS = 1000
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
_WIDTH, _HEIGHT = 560, 250  # of plots
_NAMES_WRITTEN = 15  # more names would hide the points; the legend has all of them
_LEFT, _RIGHT, _TOP, _BOTTOM = 78, 18, 18, 52
_NAME = 24  # characters of a class name beside its row


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


def place(
    X: Any,
    drawn: NDArray[np.intp],
    embedding: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return coordinates of the rows `drawn`, in tenths of the picture's units, and axis names."""
    if embedding is None:
        points, axes, method = principal_plane(X, drawn)
    else:
        plane = np.asarray(embedding, dtype=np.float64)
        if plane.shape != (X.shape[0], 2) or not np.isfinite(plane).all():
            raise ValueError(
                f"embedding must be two columns of finite numbers for the {X.shape[0]} rows, not "
                f"of shape {plane.shape}; fill in missing ones."
            )
        points, method = plane[drawn], "your columns"
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


def principal_plane(X: Any, drawn: NDArray[np.intp]) -> tuple[NDArray[np.float64], list[str], str]:
    """Return the first two principal components of the rows `drawn`, axis names, and method."""
    n, p = X.shape
    if p == 1:
        values = as_dense(X[drawn]).ravel()
        return np.column_stack([values, np.zeros(len(values))]), ["the feature", ""], "the feature"
    sample = X
    if n > _FITTED:
        sample = X[np.sort(np.random.default_rng(0).choice(n, _FITTED, replace=False))]
    if min(sample.shape) <= 2:
        sample = as_dense(sample)  # the sparse solver cannot find all directions
    solver = "auto"
    if is_sparse(sample):
        # ARPACK needs no p x p matrix, but cannot start on rows that are all equal.
        solver = "covariance_eigh" if p <= _COVARIANCE_COLUMNS else "arpack"
    try:
        # Equal rows have no variance, and the explained fraction is 0 / 0.
        with np.errstate(all="ignore"):
            pca = PCA(2, svd_solver=solver, random_state=0).fit(sample)
    except ArpackError:
        return np.zeros((len(drawn), 2)), ["", ""], "principal components"
    chosen = X[drawn] if is_sparse(sample) else as_dense(X[drawn])
    points = np.asarray(pca.transform(chosen), dtype=np.float64)
    shares = np.nan_to_num(pca.explained_variance_ratio_)
    axes = [
        f"{place} principal component ({percent(float(share))} of the variance)"
        for place, share in zip(("first", "second"), shares, strict=True)
    ]
    return points, axes, "principal components"


class Text(NamedTuple):
    """Text in a picture, at a place, or turned by 90 degrees around it."""

    look: str
    x: float
    y: float
    words: str
    turned: bool = False


class Point(NamedTuple):
    """Sign of a row with a tooltip.

    Attributes
    ----------
    look, path : str
        CSS classes and path of the sign.
    name, words : str
        Name of the row, and its label or prediction.
    listed : bool
        Whether it is accessible by keyboard, as for the few rows that the page lists.
    ring : str
        Path of a ring around it; may be empty.
    """

    look: str
    path: str
    name: str
    words: str
    listed: bool = False
    ring: str = ""


@dataclass
class Picture:
    """Picture with a text alternative for screen readers.

    Attributes
    ----------
    kind : {'map', 'plot'}
    title, text : str
        Text alternative.
    width, height : int
        Size, without the strip of the tooltips.
    paths : list of (str, str)
        CSS classes and path of each line or area.
    texts : list of Text
    points : list of Point
    """

    kind: str
    title: str
    text: str
    width: int
    height: int
    paths: list[tuple[str, str]] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)


def sign_of(code: int) -> tuple[int, int]:
    """Return the colour and the shape of a class; the pair repeats after seventy classes."""
    turn, color = code // N_COLORS % len(_SHAPES), code % N_COLORS
    return color, (_SHAPE_OF[color] + turn) % _TURNS if turn < _TURNS else turn


def sign(code: int) -> tuple[int, str]:
    """Return the colour and the path of the small sign of a class for a table or a legend."""
    color, shape = sign_of(code)
    return color, f"M7 7{_shape(shape, 4.6)}"


def _shape(index: int, radius: float) -> str:
    parts = {
        "r": radius, "d": 2 * radius, "s": 0.89 * radius, "q": 1.78 * radius, "t": 1.3 * radius,
        "u": 2.2 * radius, "v": 2.6 * radius, "e": 0.42 * radius, "g": 0.84 * radius,
        "f": 0.88 * radius, "w": 0.8 * radius,
    }  # fmt: skip
    return _SHAPES[index].format(**{name: f"{value:.3g}" for name, value in parts.items()})


class Mark(NamedTuple):
    """Look of a row on the map.

    Attributes
    ----------
    color : int
        Class of the row, or its shade.
    opacity : int
        2 full, 1 pale, 0 hollow.
    words : str
        Text of its tooltip; marks without one are combined in few paths.
    listed : bool
        Whether the tooltip is accessible by keyboard.
    ringed : bool
        Whether a mark with a tooltip is in a ring.
    """

    color: int
    opacity: int
    words: str = ""
    listed: bool = False
    ringed: bool = False


def _map(
    places: Mapping[str, Any],
    marks: Sequence[Mark],
    names: Sequence[str] = (),
    *,
    shaded: bool = False,
    title: str,
    text: str,
) -> Picture:
    """Draw rows as signs: colour and shape by class, hollow where uncertain, stars if labelled.

    Parameters
    ----------
    places : mapping
        The map of a `lapwing._report.record.ReportData`.
    marks : sequence of Mark
        Its rows.
    names : sequence of str
        Class names, written at the median of each class.
    shaded : bool
        Whether colours are shades of a number instead of classes.
    title, text : str
        Text alternative for screen readers.
    """
    x, y = [v / 10 for v in places["x"]], [v / 10 for v in places["y"]]
    height = places["height"]
    combined: dict[tuple[bool, int, str], str] = {}
    points: list[tuple[tuple[bool, int, str], Point]] = []
    for mark, row, a, b, star in zip(marks, places["ids"], x, y, places["labeled"], strict=True):
        color, shape = (mark.color, 0) if shaded else sign_of(mark.color)
        paint = f"{'s' if shaded else 'k'}{color} {'star' if star else f'p{mark.opacity}'}"
        at, key = f"M{a:g} {b:g}", (bool(star), mark.opacity, paint)
        path = at + (_STAR if star else _shape(shape, (3.6, 3.4, 3.6)[mark.opacity]))
        if mark.words:
            ring = at + _shape(0, 6) if mark.ringed else ""
            points.append((key, Point(paint, path, f"row {row}", mark.words, mark.listed, ring)))
        else:
            combined[key] = combined.get(key, "") + path
    ground = f"M1 1H{MAP_WIDTH - 1}V{height - 1}H1z"
    paths = [("ground", ground), *((key[-1], path) for key, path in sorted(combined.items()))]
    written = _class_names(x, y, [mark.color for mark in marks], names, height)
    drawn = [point for _, point in sorted(points, key=itemgetter(0))]
    return Picture("map", title, text, MAP_WIDTH, height, paths, written, drawn)


def _class_names(
    x: list[float],
    y: list[float],
    groups: Sequence[int],
    names: Sequence[str],
    height: int,
) -> list[Text]:
    """Write class names at the points nearest to their medians, without overlap."""
    written: list[tuple[float, float, float]] = []
    found = []
    for k, name in enumerate(names if len(names) <= _NAMES_WRITTEN else ()):
        mine = [i for i, g in enumerate(groups) if g == k]
        if not mine:
            continue
        text = shorten(name, 16)
        middle_x, middle_y = _median([x[i] for i in mine]), _median([y[i] for i in mine])
        order = sorted(mine, key=lambda i: ((x[i] - middle_x) ** 2 + (y[i] - middle_y) ** 2, i))
        half = 8 * len(text) + 4  # names are larger on a narrow screen
        for i in order:
            place = min(max(x[i], half), MAP_WIDTH - half), min(max(y[i], 16), height - 12)
            if all(abs(place[0] - u) > half + w or abs(place[1] - v) > 32 for u, v, w in written):
                written.append((*place, half))
                found.append(Text("name", place[0], place[1] + 6, text))
                break
    return found


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def _ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Return about `wanted` round numbers that cover a range."""
    if not high > low:
        return [low]
    step = 10.0 ** floor(log10((high - low) / wanted))
    step = min((step * m for m in (1, 2, 5, 10)), key=lambda s: abs((high - low) / s - wanted))
    first = ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, floor(high / step + 1e-9) + 1)]


class Axis(NamedTuple):
    """Axis of a plot, with the values and texts of its ticks."""

    low: float
    high: float
    title: str
    ticks: Sequence[tuple[float, str]]

    @classmethod
    def with_round_ticks(cls, low: float, high: float, title: str, n_ticks: int = 5) -> Axis:
        """Return an axis with about `n_ticks` ticks at round numbers."""
        return cls(low, high, title, [(v, tick(v)) for v in _ticks(low, high, n_ticks)])

    def share(self, value: float) -> float:
        """Return the position of a value, 0 at the low and 1 at the high end."""
        return (value - self.low) / ((self.high - self.low) or 1.0)


class Plot(Picture):
    """Picture with axes, to which marks are added in the units of the data.

    Parameters
    ----------
    title, text : str
        Text alternative for screen readers.
    across, up : Axis
    height : int
        Height of the plot, without tooltips.
    """

    def __init__(
        self, title: str, text: str, across: Axis, up: Axis, height: int = _HEIGHT
    ) -> None:
        super().__init__("plot", title, text, _WIDTH, height)
        self.across, self.up = across, up
        right, bottom = _WIDTH - _RIGHT, height - _BOTTOM
        for value, words in up.ticks:
            self.mark("grid", f"M{_LEFT} {self.y(value):g}H{right}")
            self.texts.append(Text("tick y", _LEFT - 8, self.y(value) + 4, words))
        for value, words in across.ticks:
            self.texts.append(Text("tick x", self.x(value), bottom + 18, words))
        self.mark("axis", f"M{_LEFT} {bottom}H{right}")
        self.texts += [
            Text("axis-title", (_LEFT + right) / 2, height - 6, across.title),
            Text("axis-title", 13, (_TOP + bottom) / 2, up.title, turned=True),
        ]

    def x(self, value: float) -> float:
        return round(_LEFT + self.across.share(value) * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(self, value: float) -> float:
        room = self.height - _TOP - _BOTTOM
        return round(self.height - _BOTTOM - self.up.share(value) * room, 1)

    def at(self, x: float, y: float) -> str:
        """Return the coordinates of a point in a path."""
        return f"{self.x(x):g} {self.y(y):g}"

    def mark(self, look: str, *paths: str) -> None:
        """Add paths of the same look."""
        self.paths.append((look, "".join(paths)))

    def diagonal(self, look: str) -> None:
        """Add the line on which both coordinates are equal."""
        low, high = (self.at(*ends) for ends in zip(self.across[:2], self.up[:2], strict=True))
        self.mark(look, f"M{low}L{high}")

    def stroke(self, x: float, low: float, high: float) -> str:
        """Return the path of a vertical line."""
        return f"M{self.at(x, low)}V{self.y(high):g}"


def draw_bars(
    shape: Mapping[str, Any], *, x_title: str, y_title: str, title: str, text: str
) -> Picture:
    """Draw a histogram; two series as proportions, the first as an outline over the second."""
    as_share = len(shape["series"]) > 1
    series = [[v / max(1, sum(s)) if as_share else v for v in s] for s in shape["series"]]
    low, high = float(shape["low"]), float(shape["high"])
    top = max(max(s) for s in series) or 1
    ticks = [(v, f"{100 * v:g} %" if as_share else tick(v)) for v in _ticks(0, top, 4)]
    across = Axis.with_round_ticks(low, high, x_title, 6)
    plot = Plot(title, text, across, Axis(0.0, top, y_title, ticks))
    edges = [plot.x(edge) for edge in np.linspace(low, high, len(series[-1]) + 1).tolist()]
    bottom = plot.y(0)
    bars = []
    for value, (left, right) in zip(series[-1], pairwise(edges), strict=True):
        if value:
            gap = 0.5 if right - left > 4 else 0
            at = min(plot.y(value), bottom - 1.5)  # a single row among many stays visible
            bars.append(f"M{left + gap:g} {bottom:g}V{at:g}H{right - gap:g}V{bottom:g}z")
    plot.mark("bar", *bars)
    if as_share:
        steps = (f"V{plot.y(v):g}H{x:g}" for v, x in zip(series[0], edges[1:], strict=True))
        plot.mark("outline", f"M{plot.at(low, 0)}", *steps, f"V{bottom:g}")
    return plot


def draw_rows(kind: str, places: Mapping[str, Any], rows: Mapping[str, Any]) -> Picture:
    """Draw the map; the tooltips of listed rows are accessible by keyboard.

    Parameters
    ----------
    kind, places, rows
        The kind, the map and the rows of a `lapwing._report.record.ReportData`.
    """
    regression = kind == "regression"
    look = "shade by predicted value" if regression else "colour and shape by predicted class"
    listed = {row["index"] for row in rows["largest_residuals" if regression else "least_certain"]}
    wrong = places["is_wrong"] or [False] * len(places["index"])
    columns = (places[key] for key in ("index", "color", "opacity", "value", "labeled"))
    marks = []
    for index, color, opacity, value, known, ringed in zip(*columns, wrong, strict=True):
        if regression:
            words = f"{'label' if known else 'predicted'} {number(value)}"
        else:
            class_name = shorten(places["classes"][color], _NAME)
            words = f"{'label ' if known else ''}{class_name}, margin {number(value)}"
        marks.append(Mark(color, opacity, words, index in listed, ringed))
    return _map(
        places,
        marks,
        () if regression else places["classes"],
        shaded=regression,
        title=f"Map of {count(places['n_drawn'])} rows",
        text=f"Each sign is a row, {look}; stars are labelled rows. The figures are in the tables.",
    )


def draw_twin(places: Mapping[str, Any]) -> Picture:
    """Draw the map with the classes of the supervised twin."""
    names = [shorten(name, _NAME) for name in places["classes"]]
    marks = [
        Mark(theirs, 1)
        if theirs == ours
        else Mark(theirs, 2, f"twin {names[theirs]}, here {names[ours]}")
        for theirs, ours in zip(places["twin"], places["color"], strict=True)
    ]
    n_differing = sum(mark.words != "" for mark in marks)
    return _map(
        places,
        marks,
        places["classes"],
        title="The same map with the supervised twin’s classes",
        text=f"{count(n_differing)} of the drawn rows differ from the map above.",
    )


def draw_truth(truth: Mapping[str, Any]) -> Picture:
    """Draw predicted against true numbers, with the identity line and intervals if there are any.

    Parameters
    ----------
    truth : mapping
        The errors of a `lapwing._report.record.ReportData`.
    """
    x, y, bands = truth["true"], truth["predicted"], truth["intervals"]
    ends = [end for band in bands for end in band]
    low, high = min(*x, *y, *ends), max(*x, *y, *ends)
    if not high > low:
        low, high = low - 0.5, high + 0.5
    text = "Each point is an unlabelled row; on the line, both are equal." + (
        " The strokes are prediction intervals." if bands else ""
    )
    across, up = (Axis.with_round_ticks(low, high, title) for title in ("true", "predicted"))
    plot = Plot("Predicted over true values", text, across, up, height=420)
    if bands:
        plot.mark("band", *(plot.stroke(a, *band) for a, band in zip(x, bands, strict=True)))
    plot.diagonal("outline")
    for name, a, b in zip(truth["ids"], x, y, strict=True):
        words = f"true {number(a)}, predicted {number(b)}"
        plot.points.append(Point("k0 p1", f"M{plot.at(a, b)}{_shape(0, 3)}", f"row {name}", words))
    return plot


def draw_calibration(groups: Sequence[Mapping[str, Any]], *, title: str, text: str) -> Picture:
    """Draw accuracies against probabilities, with intervals and the diagonal."""
    low = floor(10 * min(min(g["low"], g["probability"]) for g in groups)) / 10
    across, up = (Axis.with_round_ticks(low, 1.0, name) for name in ("probability", "share right"))
    plot = Plot(title, text, across, up, height=360)
    plot.diagonal("grid")
    plot.mark("trace", *(plot.stroke(g["probability"], g["low"], g["high"]) for g in groups))
    dots = (f"M{plot.at(g['probability'], g['accuracy'])}{_shape(0, 5)}" for g in groups)
    plot.mark("k0", *dots)
    return plot


def draw_history(values: Sequence[float | None], *, name: str, n_iter: int) -> Picture | None:
    """Draw a quantity by iteration on a logarithmic scale, without zeros; None if it is short."""
    kept = [(i, log10(v)) for i, v in enumerate(values) if v is not None and v > 0]
    if len(kept) < 2:
        return None
    scale = n_iter / max(1, len(values) - 1)
    low, high = floor(min(v for _, v in kept)), ceil(max(v for _, v in kept))
    high = max(high, low + 1)
    first, last = (number(10 ** kept[k][1]) for k in (0, -1))
    ticks = [(float(k), f"1e{k}") for k in range(low, high + 1, max(1, (high - low) // 5))]
    across = Axis.with_round_ticks(0.0, max(1, n_iter), "iteration", 6)
    text = f"From {first} at the start to {last} at the end."
    plot = Plot(f"{name} an iteration", text, across, Axis(low, high, name, ticks))
    plot.mark("trace", "M" + "L".join(plot.at(i * scale, v) for i, v in kept))
    return plot
