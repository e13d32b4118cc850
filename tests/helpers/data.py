"""Made-up data sets: points, and labels for some of them.

All follow from their arguments alone. A maker of tests that need something particular is put
together from the parts here: `around_corners`, `first_labels`, `drawn_labels`, `shuffled`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier

Array = np.ndarray[Any, Any]
UNLABELED = -1


class Data(NamedTuple):
    """Points, their partial labels and their true labels or values."""

    X: Array
    y: Array  # UNLABELED, or NaN for a regression, where nothing is known
    truth: Array


# --- points -------------------------------------------------------------------------------------


def gaussian_points(
    n: int = 40, d: int = 4, seed: int = 0, *, center: float = 0.0, dtype: Any = np.float64
) -> Array:
    """Points of one normal cloud of variance 1 around `center` in every feature."""
    points = np.random.default_rng(seed).standard_normal((n, d)) + center
    return points.astype(dtype, copy=False)


def halves(X: Any) -> Any:
    """Store every entry as two halves."""
    n, d = X.shape
    columns = np.tile(np.repeat(np.arange(d), 2), n)
    return sp.csr_array((np.repeat(X.ravel() / 2, 2), columns, 2 * d * np.arange(n + 1)), X.shape)


def long_indices(X: Any) -> Any:
    """Store a sparse matrix with 64-bit indices."""
    found = sp.csr_array(X)
    found.indices, found.indptr = found.indices.astype(np.int64), found.indptr.astype(np.int64)
    return found


def mixture_points(
    n: int, d: int, *, n_centers: int = 8, spread: float = 2.0, seed: int = 0
) -> Array:
    """Points of standard normal clouds around centres of a wider one."""
    rng = np.random.default_rng(seed)
    centers = spread * rng.standard_normal((n_centers, d))
    return centers[rng.integers(n_centers, size=n)] + rng.standard_normal((n, d))


def around_corners(
    truth: Array, rng: np.random.Generator, *, n_features: int = 3, distance: float
) -> Array:
    """Points of at most four classes, each a standard normal cloud around its corner.

    The corners are `distance` times the unit vectors; of three features the fourth is the origin.
    """
    corners = distance * np.eye(4)[:, :n_features]
    return rng.standard_normal((len(truth), n_features)) + corners[truth]


def two_clouds(
    n: int = 30,
    d: int = 3,
    seed: int = 0,
    *,
    apart: float | Sequence[float] = 0.7,
    first: float = 1.0,
) -> tuple[Array, Array]:
    """Points of two clouds around +-apart, and their classes: first, -first, first, ..."""
    y = np.where(np.arange(n) % 2 == 0, first, -first)
    noise = np.random.default_rng(seed).standard_normal((n, d))
    return noise + y[:, None] * np.asarray(apart), y


# --- labels -------------------------------------------------------------------------------------


def factorial(*levels: int) -> Array:
    """One-hot rows of all combinations of some codes."""
    codes = np.stack(np.meshgrid(*map(np.arange, levels)), -1).reshape(-1, len(levels))
    return np.hstack([np.eye(k)[codes[:, j]] for j, k in enumerate(levels)])


def first_labels(truth: Array, n_labels: int, unlabeled: Any = UNLABELED) -> Array:
    """The first n_labels labels of each class."""
    y = np.full_like(truth, unlabeled)
    for label in np.unique(truth):
        rows = np.flatnonzero(truth == label)[:n_labels]
        y[rows] = label
    return y


def drawn_labels(truth: Array, n_labels: int, rng: np.random.Generator) -> Array:
    """n_labels labels of each class, drawn without replacement."""
    y = np.full_like(truth, UNLABELED)
    for label in np.unique(truth):
        y[rng.choice(np.flatnonzero(truth == label), n_labels, replace=False)] = label
    return y


def shuffled(rng: np.random.Generator, X: Array, y: Array, truth: Array) -> Data:
    """The rows in random order."""
    order = rng.permutation(len(X))
    return Data(X[order], y[order], truth[order])


# --- both ---------------------------------------------------------------------------------------


def labeled_clusters(
    n_classes: int = 3,
    n: int = 72,
    n_labels: int = 5,
    seed: int = 0,
    *,
    n_features: int = 3,
    distance: float = 1.6,
) -> Data:
    """Gaussian clusters of one size, n_labels labels of each, in random order."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = around_corners(truth, rng, n_features=n_features, distance=distance)
    return shuffled(rng, X, drawn_labels(truth, n_labels, rng), truth)


def labeled_curve(
    n: int = 72, n_labels: int = 20, seed: int = 0, *, n_features: int = 3, noise: float = 0.2
) -> Data:
    """Noisy values of a smooth function of the first two features; NaN is unlabelled."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, n_features))
    truth = np.sin(2 * X[:, 0]) + X[:, 1] + 3
    y = np.full(n, np.nan)
    rows = rng.choice(n, n_labels, replace=False)
    y[rows] = truth[rows] + noise * rng.standard_normal(n_labels)
    return Data(X, y, truth)


def data_for(
    estimator: Any, n_classes: int = 3, n: int = 72, n_labels: int | None = None, **options: Any
) -> Data:
    """Clusters for a classifier, a curve for a regression."""
    estimator = estimator() if isinstance(estimator, type) else estimator
    labels = {} if n_labels is None else {"n_labels": n_labels}
    if is_classifier(estimator):
        return labeled_clusters(n_classes, n, **labels, **options)
    return labeled_curve(n, **labels, **options)
