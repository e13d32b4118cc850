"""Decision maps in the plane, and scatter plots of predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from lapwing._host.modules import require
from lapwing._parameters import is_count, parameters
from lapwing._rows.base import PointsLike
from lapwing.classes.decoding import as_columns, n_columns, of_each_class
from lapwing.classes.markers import missing_mask, plain, read_column
from lapwing.plotting.drawing import (
    UNLABELED,
    WRONG,
    LegendDisplay,
    add_legend,
    as_written,
    codes_of,
    color_of,
    column_names,
    explain_signs,
    finish,
    ink_of,
    new_axes,
    paper_of,
    scatter,
    scatter_class,
    scatter_labeled,
    strength_of,
    write_class,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BACKGROUND: Any = {"origin": "lower", "aspect": "auto", "interpolation": "bilinear", "zorder": 0}
_BOUNDARY: Any = {"levels": [0.0], "linewidths": 1.6, "zorder": 2}


@parameters
class DecisionMapDisplay(LegendDisplay):
    """Map of predicted classes in the plane, with the confidence of the classifier.

    The background has the colour of the class, paler where the two best decision values are close;
    lines show where they are equal (f = 0 for two classes). Create it with `from_estimator`.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (resolution,)
        Grid along each axis.
    scores : ndarray of shape (resolution, resolution, n_classes)
        Decision values on the grid, with the second axis first.
    classes : ndarray of shape (n_classes,)
        The classes, in the order of the scores and of the palette.
    points : ndarray of shape (n, 2)
        Points to draw over the map.
    codes : ndarray of int of shape (n,)
        Indices of their labels in `classes`; -1 for unlabelled points.
    feature_names : sequence of two str, default=()
        Names of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The Axes of the plot.
    figure_ : matplotlib Figure
        Its figure.
    image_ : matplotlib AxesImage
        The background.
    boundaries_ : list of matplotlib QuadContourSet
        Boundaries of the classes, one for each class that has a boundary.
    unlabeled_ : matplotlib PathCollection
        Unlabelled points.
    labeled_ : list of matplotlib PathCollection
        Labelled points, one collection for each class.

    See Also
    --------
    decision_map : The same as a function that returns the Axes.

    Examples
    --------
    >>> from lapwing import LapSVC
    >>> from lapwing.datasets import make_two_moons
    >>> from lapwing.plotting import DecisionMapDisplay
    >>> X, y = make_two_moons(random_state=0)
    >>> display = DecisionMapDisplay.from_estimator(LapSVC().fit(X, y), X, y)
    >>> len(display.labeled_)
    2
    """

    xx0: NDArray[Any]
    xx1: NDArray[Any]
    _: KW_ONLY
    scores: NDArray[Any]
    classes: NDArray[Any]
    points: NDArray[Any]
    codes: NDArray[Any]
    feature_names: Sequence[str] = ()

    _SIZE = (5.2, 4.2)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: PointsLike,
        y: ArrayLike | None = None,
        *,
        unlabeled: object = "auto",
        resolution: int = 240,
        ax: Axes | None = None,
        title: str | None = None,
        legend: bool = True,
    ) -> Self:
        """Draw the decision values of a fitted classifier around some points.

        Parameters
        ----------
        estimator : classifier
            Fitted on two features; has `decision_function` and `classes_`.
        X : {array-like, dataframe} of shape (n, 2)
            Points to draw over it.
        y : array-like of shape (n,), default=None
            Their labels; None means that all are unlabelled.
        unlabeled : 'auto', number, str, None or NaN, default='auto'
            The marker of unlabelled points in `y`, as for the classifiers of lapwing; with 'auto',
            -1 is a label if it is one of the estimator's classes.
        resolution : int, default=240
            Grid points along each axis; the classifier predicts the square of this number.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a new figure of pyplot.
        title : str, default=None
            Title of the Axes.
        legend : bool, default=True
            Whether to explain the signs.

        Returns
        -------
        DecisionMapDisplay
            The display.

        Raises
        ------
        ValueError
            If `estimator` is not a classifier with decision values of each class, the data are not
            two-dimensional, `y` has a different length or contains an unknown label, or
            `resolution` is below 2.
        ImportError
            If matplotlib is not installed.
        """
        if not is_classifier(estimator) or not hasattr(estimator, "decision_function"):
            raise ValueError(f"{type(estimator).__name__} is no classifier with decision_function.")
        check_is_fitted(estimator)
        points = check_array(X)
        if points.shape[1] != 2:
            raise ValueError(f"A decision map draws two features, but X has {points.shape[1]}.")
        if not is_count(resolution) or resolution < 2:
            raise ValueError(f"resolution={resolution!r} must be a whole number of 2 or more.")
        classes = np.asarray(estimator.classes_)
        # None marks unlabelled rows for all estimators.
        given, marker = ([None] * len(points), None) if y is None else (y, unlabeled)
        codes = codes_of(given, len(points), marker, classes)
        xx0, xx1 = _grid_axes(points, resolution)
        grid = np.stack(np.meshgrid(xx0, xx1), axis=-1)
        asked = _with_column_names(X, grid.reshape(-1, 2))
        values = np.asarray(estimator.decision_function(asked), dtype=float)
        scores = of_each_class(as_columns(values))
        if scores.shape[1] != len(classes):
            raise ValueError(
                f"The decision_function of {type(estimator).__name__} must have a column for each "
                f"of the {len(classes)} classes, and has {scores.shape[1]}."
            )
        display = cls(
            xx0=xx0,
            xx1=xx1,
            scores=scores.reshape(resolution, resolution, -1),
            classes=classes,
            points=points,
            codes=codes,
            feature_names=column_names(X),
        )
        return display.plot(ax, title=title, legend=legend)

    def _draw(self, axes: Axes, title: str | None) -> None:
        self._draw_background(axes)
        hidden = self.codes < 0
        self.unlabeled_ = scatter(axes, self.points[hidden], label="unlabelled", **UNLABELED)
        self.labeled_ = [
            scatter_labeled(axes, self.points[self.codes == k], k, f"labelled {as_written(c)}")
            for k, c in enumerate(self.classes)
        ]
        finish(axes, title, self.feature_names)

    def _explain(self, axes: Axes) -> None:
        add_legend(axes, beside="labels" if self.feature_names else "picture")

    def _draw_background(self, axes: Axes) -> None:
        """Colour the plane by class and margin, and draw the boundaries."""
        colors = require("matplotlib.colors", extra="plot", purpose="lapwing.plotting")
        n_classes = len(self.classes)
        others = [np.delete(self.scores, k, axis=-1).max(axis=-1) for k in range(n_classes)]
        margins = self.scores - np.stack(others, axis=-1)
        margin = margins.max(axis=-1)
        # Not the maximum, because with a narrow peak at a label everything else would be white.
        strength = np.tanh(1.5 * margin / max(np.quantile(margin, 0.8), np.finfo(float).tiny))
        palette = np.array([colors.to_rgb(color_of(k)) for k in range(n_classes)])
        paper = np.array(paper_of(axes, inside=True))
        mix = (0.06 + 0.5 * strength)[..., None]
        ground = paper + mix * (palette[margins.argmax(axis=-1)] - paper)
        extent = (self.xx0[0], self.xx0[-1], self.xx1[0], self.xx1[-1])
        self.image_ = axes.imshow(ground, extent=extent, **_BACKGROUND)
        levels = [margins[..., k] for k in range(n_columns(n_classes))]
        self.boundaries_ = [
            axes.contour(self.xx0, self.xx1, level, colors=ink_of(axes), **_BOUNDARY)
            for level in levels
            if level.min() < 0 < level.max()
        ]


def decision_map(
    estimator: BaseEstimator,
    X: PointsLike,
    y: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    unlabeled: object = "auto",
    resolution: int = 240,
    title: str | None = None,
    legend: bool = True,
) -> Axes:
    """Draw the predicted classes of a fitted classifier in the plane, with its confidence.

    Parameters
    ----------
    estimator : classifier
        Fitted on two features; has `decision_function` and `classes_`.
    X : {array-like, dataframe} of shape (n, 2)
        Points to draw over it.
    y : array-like of shape (n,), default=None
        Their labels; None means that all are unlabelled.
    ax : matplotlib Axes, default=None
        Axes to draw into; None makes a new figure of pyplot.
    unlabeled : 'auto', number, str, None or NaN, default='auto'
        The marker of unlabelled points in `y`, as for the classifiers of lapwing; with 'auto', -1
        is a label if it is one of the estimator's classes.
    resolution : int, default=240
        Grid points along each axis; the classifier predicts the square of this number.
    title : str, default=None
        Title of the Axes.
    legend : bool, default=True
        Whether to explain the signs.

    Returns
    -------
    matplotlib Axes
        The Axes of the plot.

    Raises
    ------
    ValueError
        If `estimator` is not a classifier with decision values of each class, the data are not
        two-dimensional, `y` has a different length or contains an unknown label, or `resolution` is
        below 2.
    ImportError
        If matplotlib is not installed.

    See Also
    --------
    DecisionMapDisplay : The same with access to what was drawn.
    """
    return DecisionMapDisplay.from_estimator(
        estimator,
        X,
        y,
        unlabeled=unlabeled,
        resolution=resolution,
        ax=ax,
        title=title,
        legend=legend,
    ).ax_


def _grid_axes(points: NDArray[Any], resolution: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a grid along each axis that extends a little beyond the points."""
    low, high = points.min(axis=0), points.max(axis=0)
    pad = 0.12 * np.where(high > low, high - low, np.maximum(np.abs(low), 1.0))
    (left, bottom), (right, top) = low - pad, high + pad
    return np.linspace(left, right, resolution), np.linspace(bottom, top, resolution)


def _with_column_names(X: Any, grid: NDArray[Any]) -> Any:
    """Make a dataframe of the grid if X is one, because scikit-learn warns without names."""
    if not hasattr(X, "columns"):
        return grid
    return type(X)(dict(zip(X.columns, grid.T, strict=True)))


def scatter_predictions(
    layout: ArrayLike,
    predicted: ArrayLike,
    *,
    confidence: ArrayLike | None = None,
    labeled: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    classes: Sequence[Any] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
    legend: bool = True,
) -> Axes:
    """Draw points on a map, coloured by predicted class, and fainter if less certain.

    Parameters
    ----------
    layout : array-like of shape (n, 2)
        Coordinates of the points, for example by PCA or t-SNE.
    predicted : array-like of shape (n,)
        Predicted classes, also written on the map for readers who cannot use colour.
    confidence : array-like of shape (n,), default=None
        Non-negative values, such as margins; the upper half of the points is drawn in full colour.
    labeled : array-like of bool of shape (n,), default=None
        Points with a label, drawn as stars.
    truth : array-like of shape (n,), default=None
        True classes, missing where unknown; unlabelled points with wrong predictions are ringed.
    classes : sequence, default=None
        All classes in the order of the palette; None means those of `predicted`, sorted.
    ax : matplotlib Axes, default=None
        Axes to draw into; None makes a new figure of pyplot.
    title : str, default=None
        Title of the Axes.
    legend : bool, default=True
        Whether to explain the signs.

    Returns
    -------
    matplotlib Axes
        The Axes of the plot.

    Raises
    ------
    ValueError
        If shapes disagree, the layout is not two-dimensional, a confidence is negative, or a
        predicted class is not one of `classes`.
    ImportError
        If matplotlib is not installed.
    """
    points = check_array(layout)
    if points.shape[1] != 2:
        raise ValueError(f"layout must have two columns, got {points.shape[1]}.")
    guess = np.asarray(predicted)
    n = len(points)
    known = np.zeros(n, dtype=bool) if labeled is None else np.asarray(labeled, dtype=bool)
    sure = strength_of(None if confidence is None else np.asarray(confidence, dtype=float), n)
    check_consistent_length(points, guess, known, sure)
    actual = guess if truth is None else read_column(truth)
    if actual.shape != guess.shape:
        raise ValueError(f"truth must have one entry for each of the {n} points.")
    compared = ~known & ~missing_mask(actual)
    wrong = np.zeros(n, dtype=bool)
    wrong[compared] = actual[compared] != guess[compared]
    order = np.unique(guess) if classes is None else np.asarray(classes)
    members = [guess == c for c in order]
    strange = guess[~np.logical_or.reduce(members)]
    if len(strange):
        raise ValueError(f"The predicted class {plain(strange[0])!r} is not in classes. Add it.")
    axes = new_axes((7.2, 6.0)) if ax is None else ax
    for k, mine in enumerate(members):
        scatter_class(axes, points, color_of(k), sure, mine & ~known, mine & known)
    for c, mine in zip(order, members, strict=True):
        if mine.any():
            write_class(axes, points[mine], points[known], c)
    scatter(axes, points[wrong], edgecolors=ink_of(axes), **WRONG)
    finish(axes, title)
    if legend:
        explain_signs(axes, bool(known.any()), bool(wrong.any()), confidence is not None)
    return axes
