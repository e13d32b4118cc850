"""Predictions on a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_consistent_length

from lapwing.plotting.drawing import (
    color_of,
    explain_signs,
    finish,
    ink_of,
    new_axes,
    scatter_class,
    strength_of,
    write_class,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        Where to draw; None makes a new figure of pyplot.
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
        edgecolors=ink_of(axes),
        linewidths=0.7,
        zorder=4,
    )
    finish(axes, title)
    if legend:
        explain_signs(axes, bool(known.any()), bool(wrong.any()), confidence is not None)
    return axes
