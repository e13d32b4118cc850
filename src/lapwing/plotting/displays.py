"""Pictures of estimators and predictions. Needs matplotlib (the extra ``plot``).

Functions draw into the given Axes, or into a new Figure that pyplot does not know: nothing stays
open, no global setting is read or changed. Save with ``axes.figure.savefig(...)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from lapwing.classes.column import read_column
from lapwing.classes.markers import unlabeled_among
from lapwing.plotting.drawing import (
    INK,
    MARKERS,
    PALE,
    PALETTE,
    add_legend,
    color_of,
    draw_ground,
    explain_signs,
    finish,
    new_axes,
    scatter_class,
    strength_of,
    write_class,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PALETTE", "decision_map", "scatter_predictions"]


def decision_map(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    unlabeled: Any = "auto",
    resolution: int = 240,
    title: str | None = None,
    legend: bool = True,
) -> Axes:
    """Draw the classes that a fitted classifier gives to the plane, with its confidence.

    The ground has the colour of the class, the paler the nearer the two best decision values are;
    the line is where they are equal (for two classes f = 0).

    Parameters
    ----------
    estimator : classifier
        Fitted on two features; has `decision_function` and `classes_`.
    X : array-like of shape (n, 2)
        Points to draw over it.
    y : array-like of shape (n,), default=None
        Their labels; None means that all are unlabelled.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    unlabeled : 'auto', number, str, None or NaN, default='auto'
        The marker of unlabelled points in `y`, as for the classifiers of lapwing; with 'auto', -1
        is a label if it is one of the estimator's classes.
    resolution : int, default=240
        Points of the grid along each axis; the estimator is asked for their square.
    title : str, default=None
        Title of the Axes.
    legend : bool, default=True
        Whether to explain the signs.

    Returns
    -------
    matplotlib Axes
        What was drawn into.

    Raises
    ------
    ValueError
        If `estimator` is no classifier, the data are not two-dimensional, `y` is of another length,
        or `resolution` is below 2.
    ImportError
        If matplotlib is not installed.
    """
    if not is_classifier(estimator):
        raise ValueError(f"decision_map needs a classifier; {type(estimator).__name__} is none.")
    check_is_fitted(estimator)
    points = check_array(X)
    if points.shape[1] != 2:
        raise ValueError(f"decision_map draws two features, but X has {points.shape[1]}.")
    if resolution < 2:
        raise ValueError(f"resolution must be 2 or more, got {resolution}.")
    classes = np.asarray(estimator.classes_)
    # Missing values mark unlabelled rows with any estimator, whatever its own marker is.
    labels = read_column([None] * len(points) if y is None else y)
    check_consistent_length(points, labels)
    hidden = unlabeled_among(labels, None if y is None else unlabeled, classes)
    axes = new_axes((5.2, 4.2)) if ax is None else ax
    draw_ground(axes, estimator, points, classes, resolution)
    axes.scatter(
        points[hidden, 0],
        points[hidden, 1],
        s=11,
        color=PALE,
        alpha=0.55,
        linewidths=0,
        label="unlabelled",
        zorder=3,
    )
    for k, c in enumerate(classes):
        mine = points[~hidden & (labels == c)]
        axes.scatter(
            mine[:, 0],
            mine[:, 1],
            s=110,
            color=color_of(k),
            marker=MARKERS[k % len(MARKERS)],
            edgecolors=INK,
            linewidths=1.4,
            label=f"labelled {c}",
            zorder=5,
        )
    finish(axes, title)
    if legend:
        add_legend(axes)
    return axes


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
    """Draw points on a map, coloured by predicted class and the fainter the less certain.

    Parameters
    ----------
    layout : array-like of shape (n, 2)
        Where the points are drawn, for example by PCA or t-SNE.
    predicted : array-like of shape (n,)
        Their predicted classes, also written over the map, so that colour is not needed to read it.
    confidence : array-like of shape (n,), default=None
        Non-negative, such as margins; scaled so that the upper half of the points is drawn full.
    labeled : array-like of bool of shape (n,), default=None
        Points whose label was known, drawn as stars.
    truth : array-like of shape (n,), default=None
        True classes where known; unlabelled points that differ are ringed.
    classes : sequence, default=None
        Order of the classes in the palette; None means sorted.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    title : str, default=None
        Title of the Axes.
    legend : bool, default=True
        Whether to explain the signs.

    Returns
    -------
    matplotlib Axes
        What was drawn into.

    Raises
    ------
    ValueError
        If shapes disagree, the layout is not two-dimensional or a confidence is negative.
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
    actual = guess if truth is None else np.asarray(truth)
    if actual.shape != guess.shape:
        raise ValueError(f"truth must have one entry for each of the {n} points.")
    wrong = (actual != guess) & ~known
    axes = new_axes((7.2, 6.0)) if ax is None else ax
    order = np.unique(guess) if classes is None else np.asarray(classes)
    for k, c in enumerate(order):
        scatter_class(axes, points, color_of(k), sure, (guess == c) & ~known, (guess == c) & known)
    for c in order:
        if (guess == c).any():
            write_class(axes, points[guess == c], points[known], str(c))
    axes.scatter(
        points[wrong, 0],
        points[wrong, 1],
        s=38,
        facecolors="none",
        edgecolors=INK,
        linewidths=0.7,
        zorder=4,
    )
    finish(axes, title)
    if legend:
        explain_signs(axes, bool(known.any()), bool(wrong.any()), confidence is not None)
    return axes
