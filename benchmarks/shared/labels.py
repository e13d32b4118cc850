"""Draws of labelled points, and errors of predicted labels.

All functions are pure: they use no data, estimators or global random state.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

UNLABELED = -1
IndexArray = NDArray[np.int64]
Codes = NDArray[np.int64]  # of classes, or UNLABELED


def draw_covering(
    pool: IndexArray, labels: NDArray[np.int64], size: int, rng: np.random.Generator
) -> IndexArray:
    """Draw `size` points of the pool so that every class of the pool is among them.

    One point of each class is drawn first, and the rest uniformly from the other points: with forty
    points for the twenty classes of COIL20, one uniform draw in twenty covers all classes.

    Parameters
    ----------
    pool : ndarray of int64
        Row indices to draw from.
    labels : ndarray of int64 of shape (n_samples,)
        Class of every point of the whole data set.
    size : int
        Number of points to draw.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray of int64 of shape (size,)
        Sorted row indices.

    Raises
    ------
    ValueError
        If `size` is less than the number of classes or more than the size of the pool.
    """
    values = np.unique(labels[pool])
    if not values.size <= size <= pool.size:
        raise ValueError(
            f"size={size} points cannot cover {values.size} classes from a pool of {pool.size}; "
            f"choose a size from {values.size} to {pool.size}."
        )
    first = np.array([rng.choice(pool[labels[pool] == value]) for value in values], dtype=np.int64)
    rest = rng.permutation(np.setdiff1d(pool, first))[: size - values.size]
    return np.sort(np.concatenate([first, rest]))


def draw_per_class(labels: NDArray[np.int64], count: int, rng: np.random.Generator) -> IndexArray:
    """Draw `count` points of each class, class by class."""
    pools = [np.flatnonzero(labels == value) for value in np.unique(labels)]
    return np.concatenate([rng.choice(pool, count, replace=False) for pool in pools])


def with_labels(truth: Codes, count: int, rng: np.random.Generator) -> Codes:
    """Draw `count` points of each class, and return the labels with all others hidden."""
    y, rows = np.full_like(truth, UNLABELED), draw_per_class(truth, count, rng)
    y[rows] = truth[rows]
    return y


def draw_evenly(
    pool: IndexArray, labels: NDArray[np.int64], size: int, rng: np.random.Generator
) -> IndexArray:
    """Draw equal numbers of points of each class of the pool, `size` in all, and sort them.

    The arguments are those of `draw_covering`; `size` is a multiple of the number of classes.
    """
    n_classes = np.unique(labels[pool]).size
    each, left = divmod(size, n_classes)
    if left:
        raise ValueError(f"size={size} is not a multiple of the number of classes, {n_classes}.")
    return np.sort(pool[draw_per_class(labels[pool], each, rng)])


def error_rate(labels: NDArray[np.int64], predicted: NDArray[np.int64]) -> float:
    """Compute the percentage of wrong labels."""
    return 100.0 * float(np.mean(labels != predicted))


def macro_error_rate(labels: NDArray[np.int64], predicted: NDArray[np.int64]) -> float:
    """Compute the percentage of wrong labels, averaged over the classes.

    For two classes this is 1 - (TP + TN) / 2 with TP and TN the rates of true positives and true
    negatives. With the signs printed in Section 6.2 a perfect classifier would have an error of 1.
    """
    wrong = labels != predicted
    return 100.0 * float(np.mean([wrong[labels == value].mean() for value in np.unique(labels)]))
