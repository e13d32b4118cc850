"""Nearest neighbours by scikit-learn: the search that takes every metric and sparse points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS
from sklearn.neighbors import NearestNeighbors

from lapwing._arrays import Array, is_sparse
from lapwing.graphs.points import DIFFERENCE_METRICS, SPARE, Points
from lapwing.graphs.ties import TIE, Nearest, complete, nearest_of

# MB of distances that scikit-learn holds at a time where it computes them in row blocks; its own
# default is 1 GB, more than everything else in a fit on 10^4 points.
_WORKING_MEMORY = 64


@dataclass(frozen=True)
class Neighbors:
    """The k nearest other points of each point.

    Attributes
    ----------
    distances : ndarray of shape (n, k), float64
        Ascending along each row.
    indices : ndarray of shape (n, k)
        A point is never its own neighbour, however many duplicates it has.
    recall : float
        Share of the true neighbours that were found: 1 for an exact search, else measured on a
        random sample of the points.
    backend : str
        What searched: 'sklearn', 'faiss', or 'scan' of points on disk.
    tied : ndarray of int of shape (n_tied, 2)
        Further pairs of a point and a neighbour that is as far away as the point's k-th. They are
        neighbours as well: else the order of the rows would decide which of equally far points are.
        With more than max(4 k, 64) neighbours in all, so many are drawn by lot, from the values of
        both points.
    """

    distances: Array
    indices: Array
    recall: float
    backend: str
    tied: Array


def sklearn_neighbors(X: Any, k: int, metric: Any, n_jobs: int | None) -> Neighbors:
    """Search the k < n nearest other points of each point exactly.

    Parameters
    ----------
    X : ndarray or csr of shape (n, d)
    k : int
    metric : str or callable
        Anything that `sklearn.neighbors.NearestNeighbors` takes.
    n_jobs : int or None
        As for `sklearn.neighbors.NearestNeighbors`.
    """
    if metric not in DIFFERENCE_METRICS:
        X, metric = _guard(X, metric)
        n = X.shape[0]
        m = min(k + SPARE, n - 1)
        with config_context(working_memory=_WORKING_MEMORY):
            search = NearestNeighbors(n_neighbors=m, metric=metric, n_jobs=n_jobs).fit(X)
            distances, candidates = search.kneighbors()  # without X: the other points of each
        if not np.isfinite(distances).all():
            raise ValueError(
                f"metric={metric!r} gives distances that are NaN or infinite: scale the features "
                "of X, or use another metric."
            )
        distances = distances.astype(np.float64)
        found = nearest_of(np.arange(n), candidates, distances, k, n)
        found = complete(_Measured(X, search), found, k)
        return Neighbors(found.lengths, found.indices, 1.0, "sklearn", found.tied)
    points = Points.prepare(X, metric)
    m = min(k + SPARE, points.n - 1)
    with config_context(working_memory=_WORKING_MEMORY):
        search = NearestNeighbors(n_neighbors=m, n_jobs=n_jobs).fit(points.search)
        candidates = search.kneighbors(return_distance=False)
    found = complete(points, points.nearest(np.arange(points.n), candidates, k), k)
    return Neighbors(points.distances(found.lengths), found.indices, 1.0, "sklearn", found.tied)


def _guard(X: Any, metric: Any) -> tuple[Any, Any]:
    """Points and metric of which scikit-learn makes no nonsense.

    Metrics of yes and no count whatever is not 0 as yes, without a word for most of them; and what
    a function returns is trusted, so that a distance below 0 or a NaN ends deep in a tree.
    """
    if callable(metric):
        return X, _distance_of(metric)
    if metric not in PAIRWISE_BOOLEAN_FUNCTIONS:
        return X, metric
    values = X.data if is_sparse(X) else X
    if not ((values == 0) | (values == 1)).all():
        raise ValueError(
            f"metric={metric!r} compares yes with no, and X holds other values than 0 and 1. Make "
            "it so, e.g. X > 0, or use another metric."
        )
    return X.astype(bool), metric


def _distance_of(metric: Callable[[Array, Array], float]) -> Callable[[Array, Array], float]:
    def distance(x: Array, z: Array) -> float:
        found = metric(x, z)
        number = found.item() if np.ndim(found) == 0 and hasattr(found, "item") else found
        if not (isinstance(number, int | float) and 0 <= number < np.inf):
            raise ValueError(
                f"metric={metric!r} returned {found!r} for two points. A metric must return a "
                "finite number that is not below 0."
            )
        return float(number)

    return distance


@dataclass(frozen=True)
class _Measured:
    """Points with any metric, in which ties are looked for."""

    source: Any
    search: NearestNeighbors  # of them, by that metric

    @property
    def n(self) -> int:
        return int(self.source.shape[0])

    def as_far(self, rows: Array, ends: Array) -> Array:
        ascending, points = self.search.kneighbors(self.source[rows], n_neighbors=self.n)
        lengths = np.empty(ascending.shape)
        np.put_along_axis(lengths, points, ascending, axis=1)
        radii = np.take_along_axis(lengths, ends[:, None], 1)
        return np.asarray(np.abs(lengths - radii) <= TIE * radii)


def brute_force(points: Points, rows: Array, k: int) -> Nearest:
    """Exact lengths and indices of the k nearest other points of some points."""
    m = min(k + 1 + SPARE, points.n)
    with config_context(working_memory=_WORKING_MEMORY):
        search = NearestNeighbors(n_neighbors=m, algorithm="brute").fit(points.search)
        candidates = search.kneighbors(points.search[rows], return_distance=False)
    return points.nearest(rows, candidates, k)
