"""Shared parts of displays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackError
from scipy.spatial import KDTree
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from lapwing._arrays import as_dense, is_sparse
from lapwing._host.modules import require
from lapwing._rows.base import PointsLike
from lapwing.classes.markers import find_unlabeled, plain, read_column
from lapwing.estimators.multioutput import SeveralTargets
from lapwing.model_selection import candidates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure, SubFigure

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
# Text and lines on light and dark backgrounds; PALE is visible on both.
_INK, _CHALK = "#22252b", "#e9ebee"
PALE = "#767d8a"
# Looks of the signs; the higher zorder is on top.
UNLABELED = {"s": 11, "color": PALE, "alpha": 0.55, "linewidths": 0, "zorder": 3}
PREDICTED = {"s": 16, "linewidths": 0, "zorder": 3}
WRONG = {"s": 38, "facecolors": "none", "linewidths": 0.7, "zorder": 4}
_LABELED = {"s": 110, "linewidths": 1.4, "zorder": 5}
_STAR = {"s": 230, "marker": "*", "linewidths": 1.1, "zorder": 6}
_NAME: Any = {"ha": "center", "va": "center", "fontsize": 15, "fontweight": "bold", "zorder": 7}
_LEGEND = {"frameon": False, "fontsize": 9, "handletextpad": 0.3, "columnspacing": 1.4}

_LONGEST = 34
_FITTED = 20_000  # rows; enough for two principal components without a copy of X
_COVARIANCE_COLUMNS = 1000


def new_axes(size: tuple[float, float]) -> Axes:
    """Make Axes in a new figure of pyplot; the size is in inches."""
    # By pyplot, as in scikit-learn's displays, so that `plt.show()` and notebooks show it.
    pyplot = require("matplotlib.pyplot", extra="plot", purpose="lapwing.plotting")
    axes: Axes = pyplot.subplots(figsize=size, layout="constrained")[1]
    return axes


class Display:
    """Base of all displays: they draw into given Axes, or into a new figure of pyplot."""

    ax_: Axes
    figure_: Figure | SubFigure

    def _open(self, ax: Axes | None, size: tuple[float, float]) -> Axes:
        self.ax_ = new_axes(size) if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_


class LegendDisplay(Display, ABC):
    """Base of displays that explain their signs by a legend."""

    _SIZE = (6.0, 4.5)  # inches of a new figure

    def plot(
        self, ax: Axes | None = None, *, title: str | None = None, legend: bool = True
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a new figure of pyplot.
        title : str, default=None
            Title of the Axes.
        legend : bool, default=True
            Whether to explain the signs.

        Returns
        -------
        Display
            The display itself, with its fitted attributes.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        axes = self._open(ax, self._SIZE)
        self._draw(axes, title)
        if legend:
            self._explain(axes)
        return self

    @abstractmethod
    def _draw(self, axes: Axes, title: str | None) -> None:
        """Draw into the Axes, and set the attributes of the artists."""

    def _explain(self, axes: Axes) -> None:
        """Add the legend."""
        add_legend(axes, beside="labels")


def paper_of(axes: Axes, *, inside: bool) -> tuple[float, float, float]:
    """Return the background colour within the Axes, or outside them."""
    colors = require("matplotlib.colors", extra="plot", purpose="lapwing.plotting")
    whole = getattr(axes.figure, "figure", None) or axes.figure  # of a SubFigure
    for owner in [axes] * inside + [axes.figure, whole]:
        red, green, blue, alpha = colors.to_rgba(owner.patch.get_facecolor())
        if owner.patch.get_visible() and alpha > 0.5:
            return red, green, blue
    return 1.0, 1.0, 1.0


def ink_on(paper: object) -> str:
    """Choose the colour of text and lines with the best contrast on a background."""
    colors = require("matplotlib.colors", extra="plot", purpose="lapwing.plotting")
    # Relative luminance of WCAG 2; at 0.18 black and white have the same contrast.
    rgb = np.array(colors.to_rgb(paper))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return _INK if linear @ [0.2126, 0.7152, 0.0722] > 0.18 else _CHALK


def ink_of(axes: Axes, *, inside: bool = True) -> str:
    """Choose the colour of text and lines within the Axes, or outside them."""
    return ink_on(paper_of(axes, inside=inside))


def as_written(text: object) -> str:
    """Escape dollar signs, between which matplotlib would draw mathematics."""
    return str(text).replace("$", r"\$")


def color_of(k: int) -> str:
    """Return the colour of class k; colours repeat after the last."""
    return PALETTE[k % len(PALETTE)]


def strength_of(values: NDArray[np.float64] | None, n: int) -> NDArray[np.float64]:
    """Scale non-negative values to [0, 1] so that the upper half of them is 1."""
    if values is None:
        return np.ones(n)
    if values.ndim != 1:
        raise ValueError(f"confidence has shape {values.shape}: give one value for each point.")
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError(
            "confidence must not be negative, NaN or infinite; give margins or probabilities."
        )
    middle = np.median(values) if values.size else 0.0
    return np.minimum(values / middle, 1.0) if middle > 0 else np.ones(values.shape)


def scatter(axes: Axes, points: NDArray[Any], **style: Any) -> PathCollection:
    """Draw points of shape (n, 2)."""
    return axes.scatter(points[:, 0], points[:, 1], **style)


def scatter_class(
    axes: Axes,
    points: NDArray[Any],
    color: str,
    sure: NDArray[np.float64],
    unlabeled: NDArray[np.bool_],
    labeled: NDArray[np.bool_],
) -> None:
    """Draw the points of a class: dots of strength `sure` in [0, 1], labelled points as stars."""
    colors = require("matplotlib.colors", extra="plot", purpose="lapwing.plotting")
    sure = sure[unlabeled]
    paint = colors.to_rgba_array(color, 0.18 + 0.72 * sure)
    scatter(axes, points[unlabeled], **PREDICTED | {"s": 10 + 14 * sure, "c": paint})
    scatter(axes, points[labeled], color=color, edgecolors=ink_of(axes), **_STAR)


def write_class(axes: Axes, points: NDArray[Any], stars: NDArray[Any], name: object) -> None:
    """Write the name of a class at the median of its points, away from stars."""
    effects = require("matplotlib.patheffects", extra="plot", purpose="lapwing.plotting")
    # At one of the points, because the median may lie in the cloud of another class.
    far = ((points - np.median(points, axis=0)) ** 2).sum(axis=1)
    if len(stars):
        room = 0.045 * np.ptp(axes.dataLim.get_points(), axis=0).max()
        crowded = KDTree(stars).query(points)[0] < room
        far = np.where(crowded & ~crowded.all(), np.inf, far)
    x, y = points[np.argmin(far)]
    halo = effects.withStroke(linewidth=3.5, foreground=paper_of(axes, inside=True))
    axes.text(x, y, as_written(name), color=ink_of(axes), path_effects=[halo], **_NAME)


def scatter_labeled(axes: Axes, points: NDArray[Any], k: int, label: str) -> PathCollection:
    """Draw the labelled points of class k, with an entry in the legend."""
    look = {"color": color_of(k), "marker": MARKERS[k % len(MARKERS)], "edgecolors": ink_of(axes)}
    return scatter(axes, points, label=label, **look, **_LABELED)


def column_names(X: PointsLike) -> tuple[str, ...]:
    """Return the names of the columns of a dataframe; empty for other arrays."""
    return tuple(map(str, getattr(X, "columns", ())))


def principal_plane(
    X: Any, drawn: NDArray[np.intp] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the first two principal components of rows, and their shares of the variance.

    Parameters
    ----------
    X : {ndarray, CSR} of shape (n, p)
        A single feature is its own component.
    drawn : ndarray of int, default=None
        Rows to place; None means all.
    """
    n, p = X.shape
    sample, rows = X, X if drawn is None else X[drawn]
    if p == 1:
        return np.pad(as_dense(rows), ((0, 0), (0, 1))).astype(np.float64), np.array([1.0, 0.0])
    if n > _FITTED:
        sample = X[np.sort(np.random.default_rng(0).choice(n, _FITTED, replace=False))]
    if min(sample.shape) <= 2:
        sample, rows = as_dense(sample), as_dense(rows)  # the sparse solver needs more
    solver = "auto"
    if is_sparse(sample):
        # ARPACK needs no p x p matrix, but cannot start on rows that are all equal.
        solver = "covariance_eigh" if p <= _COVARIANCE_COLUMNS else "arpack"
    try:
        # Equal rows have no variance, and the explained fraction is 0 / 0.
        with np.errstate(all="ignore"):
            pca = PCA(2, svd_solver=solver, random_state=0).fit(sample)
    except ArpackError:
        return np.zeros((rows.shape[0], 2)), np.zeros(2)
    points = np.asarray(pca.transform(rows), dtype=np.float64)
    return points, np.nan_to_num(pca.explained_variance_ratio_)


def finish(axes: Axes, title: str | None, names: Sequence[str] = ()) -> None:
    """Remove the ticks, set the title, and name the axes if names are given."""
    axes.set(xticks=[], yticks=[])
    x, y = map(as_written, names or ("", ""))
    label_axes(axes, x, y, title, frame="#c9ced6")


def label_axes(axes: Axes, x: str, y: str, title: str | None, *, frame: str = PALE) -> None:
    """Name both axes and set the title, in a readable colour."""
    ink = ink_of(axes, inside=False)
    axes.set_xlabel(x, color=ink)
    axes.set_ylabel(y, color=ink)
    axes.tick_params(which="both", colors=ink)
    for side in axes.spines.values():
        side.set_color(frame)
    if title is not None:
        axes.set_title(title, loc="left", fontsize=11.5, color=ink, pad=8)


def add_legend(axes: Axes, handles: object = None, *, beside: str = "picture") -> None:
    """Add a legend below the picture, below the axis labels ('labels'), or above it ('title')."""
    # Outside the Axes, so that it hides no points.
    above = beside == "title"
    below = (0.5, -0.15 if beside == "labels" else -0.01)
    axes.legend(
        handles=handles,
        loc="lower right" if above else "upper center",
        bbox_to_anchor=(1.0, 1.0) if above else below,
        ncols=1 if above else 4,
        labelcolor=ink_of(axes, inside=False),
        **_LEGEND,
    )


def explain_signs(axes: Axes, stars: bool, rings: bool, fading: bool) -> None:
    """Add a legend of the kinds of signs drawn."""
    lines = require("matplotlib.lines", extra="plot", purpose="lapwing.plotting")
    dot = {"color": PALE, "markeredgewidth": 0}
    edge = {"color": "none", "markeredgecolor": ink_of(axes, inside=False)}
    signs = (
        (True, "predicted class, by colour", dot),
        (fading, "fainter: less certain", {**dot, "alpha": 0.35}),
        (stars, "label given", {**edge, "marker": "*", "markersize": 12}),
        (rings, "wrong", {**edge, "markersize": 8}),
    )
    handles = [
        lines.Line2D([], [], label=text, **{"linestyle": "none", "marker": "o", **style})
        for shown, text, style in signs
        if shown
    ]
    add_legend(axes, handles)


def codes_of(y: object, n: int, unlabeled: Any, classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the codes of labels among the classes, -1 for unlabelled rows.

    Raises
    ------
    ValueError
        If there are not n labels, or one is not a class.
    """
    labels = read_column(y)
    check_consistent_length(np.empty(n), labels)
    hidden = find_unlabeled(labels, unlabeled, classes)
    codes = np.full(n, -1, dtype=np.intp)
    known = np.flatnonzero(~hidden)  # pandas.NA equals nothing, and has no truth value
    for k, c in enumerate(classes):
        codes[known[labels[known] == c]] = k
    strange = labels[~hidden & (codes < 0)]
    if len(strange):
        first = plain(strange[0])
        raise ValueError(
            f"y contains the label {first!r}, which is not one of the classes "
            f"{', '.join(map(repr, classes.tolist()))}. If it marks rows without a label, pass "
            f"unlabeled={first!r}."
        )
    return codes


def last_step(estimator: BaseEstimator) -> Any:
    """Return the fitted estimator, the last step of a pipeline.

    Raises
    ------
    ValueError
        If it was fitted to several targets.
    """
    check_is_fitted(estimator)
    model = candidates.last_step(estimator)
    if isinstance(model, SeveralTargets):
        model._refuse_several("The display")
    return model


def word_of(value: object) -> str:
    """Format the value of a parameter for an axis."""
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        return f"{value:.3g}"
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
