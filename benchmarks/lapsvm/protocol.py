"""Random subdivisions of a data set into L, U, V and T (LapSVM paper, Section 6.2).

All functions depend only on their arguments: no data, no estimator, no global random state.

The fold sizes are the paper's. Table 2 gives \\|T\\| = 136, 488 and 498 for G50C, PCMAC and USPST,
which agrees with one rule only: in every class the first three folds have round(n_c / 4) points
(halves rounded up) and the last has the remainder; the table shows the last fold. The other folds
of those sets differ from it by a few points, and the size of U accordingly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.labels import IndexArray, draw_covering

Drawing = Callable[[IndexArray, NDArray[np.int64], int, np.random.Generator], IndexArray]


@dataclass(frozen=True)
class Split:
    """Subdivision of a data set into four disjoint parts.

    Attributes
    ----------
    labeled, unlabeled, validation, test : ndarray of int64
        L, U, V and T as row indices of the whole data set, each sorted.
    """

    labeled: IndexArray
    unlabeled: IndexArray
    validation: IndexArray
    test: IndexArray

    @property
    def sizes(self) -> tuple[int, ...]:
        r"""Numbers \|L\|, \|U\|, \|V\| and \|T\|."""
        return tuple(p.size for p in (self.labeled, self.unlabeled, self.validation, self.test))

    @property
    def train(self) -> IndexArray:
        """Indices of L followed by U, the n = l + u points of kernel and graph."""
        return np.concatenate([self.labeled, self.unlabeled])

    @property
    def held_out(self) -> IndexArray:
        """Indices of V followed by T."""
        return np.concatenate([self.validation, self.test])


def stratified_folds(
    labels: NDArray[np.int64], n_folds: int, rng: np.random.Generator
) -> list[IndexArray]:
    """Divide all points at random into folds with the same number of points of every class.

    Parameters
    ----------
    labels : ndarray of int64 of shape (n_samples,)
        Class of every point.
    n_folds : int
        Number of folds; the last has the remainder of rounding (see the module docstring).
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    list of ndarray of int64
        Sorted row indices of each fold.
    """
    folds: list[list[IndexArray]] = [[] for _ in range(n_folds)]
    for value in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == value))
        # Not round(): Python and NumPy round halves to even, and the paper's sizes need halves up.
        size = int(np.floor(members.size / n_folds + 0.5))
        parts = np.split(members, [size * k for k in range(1, n_folds)])
        for fold, part in zip(folds, parts, strict=True):
            fold.append(part)
    return [np.sort(np.concatenate(fold)) for fold in folds]


def divide(
    train: IndexArray,
    test: IndexArray,
    labels: NDArray[np.int64],
    sizes: tuple[int, int],
    rng: np.random.Generator,
    drawing: Drawing = draw_covering,
) -> Split:
    """Divide training rows at random into L, U and V, with every class in both L and V.

    Parameters
    ----------
    train, test : ndarray of int64
        Row indices of the training and of the test part.
    labels : ndarray of int64 of shape (n_samples,)
        Class of every point.
    sizes : (int, int)
        Number of points in L and in V (Table 2); the others form U.
    rng : numpy.random.Generator
        Source of randomness.
    drawing : function
        Draws L.

    Returns
    -------
    Split
    """
    n_labeled, n_validation = sizes
    labeled = drawing(train, labels, n_labeled, rng)
    rest = np.setdiff1d(train, labeled)
    validation = draw_covering(rest, labels, n_validation, rng)
    return Split(labeled, np.setdiff1d(rest, validation), validation, np.sort(test))


def cross_validation_splits(
    labels: NDArray[np.int64],
    sizes: tuple[int, int],
    *,
    n_folds: int = 4,
    n_repeats: int = 3,
    seed: int = 0,
    drawing: Drawing = draw_covering,
) -> Sequence[Split]:
    """Return the splits of repeated stratified cross-validation, by default the paper's 3 x 4 = 12.

    Parameters
    ----------
    labels : ndarray of int64 of shape (n_samples,)
        Class of every point. Folds are stratified by class, and L and V contain every class.
    sizes : (int, int)
        Number of points in L and in V.
    n_folds, n_repeats : int
        Number of folds of a repetition, and number of repetitions with new random folds.
    seed : int
        Seed. Every split has its own random stream, so that the first k splits do not depend on the
        number of repetitions.
    drawing : function
        Draws L.

    Returns
    -------
    sequence of Split
        `n_repeats * n_folds` splits, ordered by repetition.
    """
    everything = np.arange(labels.size)
    splits = []
    for repeat in range(n_repeats):
        folds = stratified_folds(labels, n_folds, np.random.default_rng([seed, repeat]))
        for k, test in enumerate(folds):
            rng = np.random.default_rng([seed, repeat, k])
            splits.append(divide(np.setdiff1d(everything, test), test, labels, sizes, rng, drawing))
    return splits


def official_splits(
    labels: NDArray[np.int64],
    is_test: NDArray[np.bool_],
    sizes: tuple[int, int],
    *,
    n_repeats: int = 3,
    seed: int = 0,
) -> Sequence[Split]:
    """Return random subdivisions of an official training part, all with the same test part.

    The paper does not give their number. It follows from means and standard deviations on
    MNIST3VS8: 183.33 (31.75) iterations that are multiples of 55 (Table 10) are 165, 165, 220, and
    1.67 (1.44) % on 80 validation points (Table 4) are 0, 2, 2 errors. So there are three, and the
    deviation is the sample standard deviation.

    Parameters
    ----------
    labels : ndarray of int64 of shape (n_samples,)
        Class of every point.
    is_test : ndarray of bool of shape (n_samples,)
        Whether a point belongs to the official test part.
    sizes : (int, int)
        Number of points in L and in V.
    n_repeats : int
        Number of subdivisions.
    seed : int
        Seed; every split has its own random stream.

    Returns
    -------
    sequence of Split
    """
    train, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
    return [
        divide(train, test, labels, sizes, np.random.default_rng([seed, repeat, 0]))
        for repeat in range(n_repeats)
    ]
