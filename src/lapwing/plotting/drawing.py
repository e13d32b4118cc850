"""Pieces that the pictures of `lapwing.plotting` are put together from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lapwing._host.optional import require
from lapwing.classes.voting import as_columns, n_columns, of_each_class

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "INK",
    "MARKERS",
    "PALE",
    "PALETTE",
    "add_legend",
    "color_of",
    "draw_ground",
    "explain_signs",
    "finish",
    "new_axes",
    "scatter_class",
    "strength_of",
    "write_class",
]

# The ten colours of M. A. Petroff, "Accessible color sequences for data visualization" (2021),
# chosen for discriminability under colour-vision deficiencies; the first two come first here too
# because they are as far apart as colours get for every such reader.
PALETTE = (
    "#3f90da",
    "#e76300",
    "#832db6",
    "#94a4a2",
    "#bd1f01",
    "#ffa90e",
    "#a96b59",
    "#b9ac70",
    "#717581",
    "#92dadd",
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")
INK = "#22252b"
PALE = "#6b7280"


def new_axes(size: tuple[float, float]) -> Axes:
    """Make Axes in a Figure of their own, of that size in inches, unknown to pyplot."""
    module = require("matplotlib.figure", extra="plot", purpose="lapwing.plotting")
    axes: Axes = module.Figure(figsize=size, layout="constrained").add_subplot()
    return axes


def color_of(k: int) -> str:
    """Give the colour of class k; they start again after the last."""
    return PALETTE[k % len(PALETTE)]


def strength_of(values: NDArray[np.float64] | None, n: int) -> NDArray[np.float64]:
    """Scale non-negative values to [0, 1] so that the upper half of them is 1."""
    if values is None:
        return np.ones(n)
    if values.size and not values.min() >= 0:
        raise ValueError("confidence must not be negative or NaN; give margins or probabilities.")
    middle = np.median(values) if values.size else 0.0
    return np.minimum(values / middle, 1.0) if middle > 0 else np.ones(values.shape)


def draw_ground(
    axes: Axes, estimator: Any, points: NDArray[Any], classes: NDArray[Any], resolution: int
) -> None:
    """Colour the plane around the points by class and margin, and draw where classes meet."""
    colors = require("matplotlib.colors", extra="plot", purpose="lapwing.plotting")
    low, high = points.min(axis=0), points.max(axis=0)
    pad = np.maximum(0.12 * (high - low), 1e-9)
    (left, bottom), (right, top) = low - pad, high + pad
    x, y = np.linspace(left, right, resolution), np.linspace(bottom, top, resolution)
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    scores = np.asarray(estimator.decision_function(grid.reshape(-1, 2)), dtype=float)
    scores = of_each_class(as_columns(scores))
    ahead = np.stack([_ahead(scores, k) for k in range(len(classes))], axis=-1)
    margin = ahead.max(axis=1)
    # The 80th percentile, not the maximum: a narrow peak at a label would leave all else white.
    strength = np.tanh(1.5 * margin / max(np.quantile(margin, 0.8), np.finfo(float).tiny))
    palette = np.array([colors.to_rgb(color_of(k)) for k in range(len(classes))])
    mix = (0.06 + 0.5 * strength)[:, None]
    image = 1 - mix * (1 - palette[ahead.argmax(axis=1)])
    axes.imshow(
        image.reshape(resolution, resolution, 3),
        extent=(left, right, bottom, top),
        origin="lower",
        aspect="auto",
        interpolation="bilinear",
        zorder=0,
    )
    for k in range(n_columns(len(classes))):
        level = ahead[:, k].reshape(resolution, resolution)
        if level.min() < 0 < level.max():
            axes.contour(x, y, level, levels=[0.0], colors=INK, linewidths=1.6, zorder=2)


def _ahead(scores: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """How far class k is ahead of the best other one; negative where it is behind."""
    difference: NDArray[np.float64] = scores[:, k] - np.delete(scores, k, axis=1).max(axis=1)
    return difference


def scatter_class(
    axes: Axes,
    points: NDArray[Any],
    color: str,
    sure: NDArray[np.float64],
    unlabeled: NDArray[np.bool_],
    labeled: NDArray[np.bool_],
) -> None:
    """Draw the points of one class: dots by their strength in [0, 1], labelled ones as stars."""
    colors = require("matplotlib.colors", extra="plot", purpose="lapwing.plotting")
    axes.scatter(
        points[unlabeled, 0],
        points[unlabeled, 1],
        s=10 + 14 * sure[unlabeled],
        c=colors.to_rgba_array(color, 0.18 + 0.72 * sure[unlabeled]),
        linewidths=0,
        zorder=3,
    )
    axes.scatter(
        points[labeled, 0],
        points[labeled, 1],
        s=230,
        marker="*",
        color=color,
        edgecolors=INK,
        linewidths=1.1,
        zorder=6,
    )


def write_class(axes: Axes, points: NDArray[Any], stars: NDArray[Any], name: str) -> None:
    """Write a class's name over the middle of its points, where it hides no star."""
    effects = require("matplotlib.patheffects", extra="plot", purpose="lapwing.plotting")
    # On one of the points: the median itself may lie in another class's cloud.
    far = ((points - np.median(points, axis=0)) ** 2).sum(axis=1)
    if len(stars):
        room = (0.045 * np.ptp(axes.dataLim.get_points(), axis=0).max()) ** 2
        crowded = ((points[:, None] - stars) ** 2).sum(axis=-1).min(axis=1) < room
        far = np.where(crowded & ~crowded.all(), np.inf, far)
    x, y = points[np.argmin(far)]
    halo = effects.withStroke(linewidth=3.5, foreground="white")
    axes.text(
        x, y, name, ha="center", va="center", fontsize=15, fontweight="bold", color=INK,
        path_effects=[halo], zorder=7,
    )  # fmt: skip


def finish(axes: Axes, title: str | None) -> None:
    """Take away the ticks, which mean nothing on a map, and set the title."""
    axes.set(xticks=[], yticks=[])
    for side in axes.spines.values():
        side.set_color("#c9ced6")
    if title is not None:
        axes.set_title(title, loc="left", fontsize=11.5, color=INK, pad=8)


def add_legend(axes: Axes, handles: list[Any] | None = None) -> None:
    """Put a legend below the picture."""
    # Below the picture: inside it would hide points, and it must not depend on where they are.
    axes.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.01), ncols=4, frameon=False,
        fontsize=9, handletextpad=0.3, columnspacing=1.4, labelcolor=INK,
    )  # fmt: skip


def explain_signs(axes: Axes, stars: bool, rings: bool, fading: bool) -> None:
    """Put a legend that explains those signs which were drawn."""
    lines = require("matplotlib.lines", extra="plot", purpose="lapwing.plotting")

    def sign(text: str, marker: str, **style: Any) -> Any:
        return lines.Line2D([], [], linestyle="none", marker=marker, label=text, **style)

    handles = [sign("predicted class, by colour", "o", color=PALE, markeredgewidth=0)]
    if fading:
        handles.append(
            sign("fainter: less certain", "o", color=PALE, alpha=0.35, markeredgewidth=0)
        )
    if stars:
        handles.append(sign("label given", "*", color="white", markeredgecolor=INK, markersize=12))
    if rings:
        handles.append(
            sign("wrong", "o", markerfacecolor="none", markeredgecolor=INK, markersize=8)
        )
    add_legend(axes, handles)
