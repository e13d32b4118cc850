"""Exact nearest neighbours by scikit-learn, for all metrics and sparse points, with ties."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike
from scipy.spatial.distance import cdist
from sklearn import config_context
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from lapwing._arrays import Array, Matrix, is_sparse, row_blocks, times_power_of_2
from lapwing._host.threads import available_threads, share
from lapwing.linalg import center_of, shifted
from lapwing.problem import value_order

# MB of distances in memory in scikit-learn; its default of 1 GB is more than all other memory of a
# fit to 10^4 points.
_WORKING_MEMORY = 64
# Differences of coordinates that take a millisecond, less than to start the search of scikit-learn.
_FEW_DIFFERENCES = 2**20

DIFFERENCE_METRICS = ("euclidean", "cosine")
SPARE = 8  # further candidates, as products round and may order close distances wrongly
SMALL, LARGE = 1e-9, 1e15  # sizes of entries whose squared differences are exact in float32
# Error of squared distances by products: relative to the distance, and in eps of the norms.
_SLACK, _ROUNDINGS = 1e-9, 32
_UNIT_ROUNDINGS = 8  # of a length between unit vectors
DIFFERENCE_BYTES = 2**24  # in memory at a time: 16 MB, as there are several copies

# Relative difference of equal lengths in float64, by the order of summation. Points of a continuous
# distribution are never so close.
TIE = 1e-12
_SINGLE_TIE = 1e-5  # relative difference of float32 lengths that are compared in float64
_FACTOR, _LEAST = 4, 64  # see `most_neighbors`
_BLOCK_BYTES = 2**25  # of distances of points with ties to all points


@dataclass(frozen=True)
class Neighbors:
    """The k nearest other points of each point.

    Attributes
    ----------
    distances : ndarray of shape (n, k), float64
        Ascending along each row.
    indices : ndarray of shape (n, k)
        A point is never its own neighbour, even if it has duplicates.
    recall : float
        Fraction of the true neighbours that were found: 1 for an exact search, otherwise measured
        on a random sample of the points.
    backend : str
        Kind of search: 'sklearn', 'faiss', or 'scan' for points on disk.
    tied : ndarray of int of shape (n_tied, 2)
        Further pairs of a point and a neighbour at the same distance as the k-th one, so that
        neighbours do not depend on the order of the rows. If a point had more than max(4 k, 64)
        neighbours in all, this number is drawn at random, independently of the order of the rows.
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
        Any metric of `sklearn.neighbors.NearestNeighbors`.
    n_jobs : int or None
        As for `sklearn.neighbors.NearestNeighbors`.
    """
    points: _Measured | Points
    if metric in DIFFERENCE_METRICS:
        points = Points.prepare(X, metric)
        candidates = _candidates(points, min(k + SPARE, points.n - 1), n_jobs)
        found = points.nearest(np.arange(points.n), candidates, k)
    else:
        points, found = _by_any_metric(*_supported(X, metric), k, n_jobs)
    return neighbors_of(points, complete(points, found, k), 1.0, "sklearn")


def neighbors_of(points: SearchedPoints, found: Nearest, recall: float, backend: str) -> Neighbors:
    """Convert the lengths of the nearest points to distances of neighbours."""
    return Neighbors(points.distances(found.lengths), found.indices, recall, backend, found.tied)


def _by_any_metric(X: Any, metric: Any, k: int, n_jobs: int | None) -> tuple[_Measured, Nearest]:
    """Find neighbours by any metric of scikit-learn."""
    n = X.shape[0]
    with config_context(working_memory=_WORKING_MEMORY):
        search = NearestNeighbors(n_neighbors=min(k + SPARE, n - 1), metric=metric, n_jobs=n_jobs)
        distances, candidates = search.fit(X).kneighbors()  # without X: the other points of each
    if not np.isfinite(distances).all():
        raise ValueError(
            f"metric={metric!r} gives distances that are NaN or infinite: scale the features "
            "of X, or use another metric."
        )
    found = nearest_of(np.arange(n), candidates, distances.astype(np.float64), k, n)
    return _Measured(X, metric, search), found


def _candidates(points: Points, m: int, n_jobs: int | None) -> Array:
    """Find the indices (n, m) of the nearest other points of each point, in any order."""
    if sp.issparse(points.search):
        return _sparse_candidates(points, m, n_jobs)
    if points.n * points.search.size <= _FEW_DIFFERENCES:
        squares = cdist(points.search, points.search, "sqeuclidean")
        np.fill_diagonal(squares, np.inf)
        return np.argpartition(squares, m - 1, axis=1)[:, :m]
    with config_context(working_memory=_WORKING_MEMORY):
        search = NearestNeighbors(n_neighbors=m, n_jobs=n_jobs).fit(points.search)
        return np.asarray(search.kneighbors(return_distance=False))


def _sparse_candidates(points: Points, m: int, n_jobs: int | None) -> Array:
    """Find the candidates of sparse points.

    scikit-learn transposes the matrix for each block of rows, and computes products and selection
    in one thread: 1.4 times the work for 8,000 texts.
    """
    X = points.search.astype(np.float64, copy=False)
    transposed, halves, n = X.T.tocsr(), points._squares.astype(np.float64) / 2, points.n
    found = np.empty((n, m), dtype=np.intp)

    def search(rows: slice) -> None:
        # |x - z|^2 decreases with x'z - |z|^2 / 2.
        near = safe_sparse_dot(X[rows], transposed, dense_output=True)
        near -= halves
        near[np.arange(len(near)), np.arange(n)[rows]] = -np.inf
        found[rows] = np.argpartition(near, n - m, axis=1)[:, n - m :]

    n_threads = available_threads() if n_jobs in (None, -1) else max(1, int(n_jobs or 1))
    share(n_threads, search, row_blocks(n, 8 * n, DIFFERENCE_BYTES))
    return found


def _supported(X: Any, metric: Any) -> tuple[Any, Any]:
    """Return points and metric that scikit-learn handles correctly.

    Its Boolean metrics take any value but 0 as true, mostly without a warning. It does not check
    the values of functions: a negative distance or NaN leads to wrong neighbours in its trees.
    """
    if callable(metric):
        return X, _distance_of(metric)
    if metric not in PAIRWISE_BOOLEAN_FUNCTIONS:
        return X, metric
    values = X.data if is_sparse(X) else X
    if not ((values == 0) | (values == 1)).all():
        raise ValueError(
            f"metric={metric!r} requires binary features, and X contains values other than 0 and "
            "1. Binarise it, e.g. X > 0, or use another metric."
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
class SearchedPoints(ABC):
    """Points and a metric, with a search for ties.

    Attributes
    ----------
    source : ndarray, csr or Rows of shape (n, d)
        Values of the points.
    metric : str or callable
    scale : float
        Divisor of the values.
    """

    source: Any
    metric: Any
    scale: float = field(default=1.0, kw_only=True)

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.source.shape[0])

    def distances(self, lengths: Array) -> Array:
        """Convert lengths, for the cosine those between unit vectors, to distances."""
        return lengths**2 / 2 if self.metric == "cosine" else lengths * self.scale

    @abstractmethod
    def as_far(self, rows: Array, ends: Array) -> Array:
        """Return the mask (b, n) of the points as far from rows (b,) as the points `ends` (b,)."""


@dataclass(frozen=True)
class _Measured(SearchedPoints):
    """Points with any metric of scikit-learn."""

    search: NearestNeighbors  # fitted to the points

    def as_far(self, rows: Array, ends: Array) -> Array:
        ascending, points = self.search.kneighbors(self.source[rows], n_neighbors=self.n)
        lengths = np.empty(ascending.shape)
        np.put_along_axis(lengths, points, ascending, axis=1)
        radii = np.take_along_axis(lengths, ends[:, None], 1)
        return np.asarray(np.abs(lengths - radii) <= TIE * radii)


def brute_force(points: Points, rows: Array, k: int) -> Nearest:
    """Compute exact lengths and indices of the k nearest other points of some points."""
    m = min(k + 1 + SPARE, points.n)
    with config_context(working_memory=_WORKING_MEMORY):
        search = NearestNeighbors(n_neighbors=m, algorithm="brute").fit(points.search)
        candidates = search.kneighbors(points.search[rows], return_distance=False)
    return points.nearest(rows, candidates, k)


@dataclass(frozen=True)
class Points(SearchedPoints):
    """Points prepared so that their neighbours are Euclidean.

    The metric is one of `DIFFERENCE_METRICS`.

    Attributes
    ----------
    source : ndarray or csr of shape (n, d)
        Points for lengths: the original ones for the Euclidean metric, so that centring does not
        round lengths; otherwise `search`.
    search : ndarray or csr of shape (n, d)
        Points for the search: centred for the Euclidean metric, scaled to unit length for the
        cosine (|u - v|^2 / 2 = 1 - cos).
    """

    search: Any

    @classmethod
    def prepare(cls, X: Any, metric: str) -> Points:
        """Prepare points X (n, d), dense or sparse."""
        if metric == "cosine":
            unit = unit_rows(X)
            return cls(unit, metric, unit)
        X, scale = squarable(X)
        return cls(X, metric, shifted(X, center_of(X)), scale=scale)

    def nearest(self, rows: Array, candidates: Array, k: int) -> Nearest:
        """Select the nearest k candidates, by length and then by index, and the ties of the others.

        Parameters
        ----------
        rows : ndarray of int of shape (b,)
            Points to search for.
        candidates : ndarray of int of shape (b, m), m >= k
            Distinct candidates of each point, which may include the point itself; -1 for none.
        k : int

        Returns
        -------
        Nearest
            With Euclidean lengths; inf for missing candidates.
        """
        candidates = np.sort(candidates, axis=1)
        lengths = self.lengths(rows, candidates)
        # By index instead of distance 0, as duplicates of a point are its neighbours.
        lengths[(candidates == rows[:, None]) | (candidates < 0)] = np.inf
        single = self.source.dtype == np.float32
        exact = partial(self.lengths, dtype=np.float64) if single else None
        return nearest_of(rows, candidates, lengths, k, self.n, exact, self.slack)

    @property
    def slack(self) -> float:
        """Absolute rounding error of lengths between rows scaled to unit length."""
        scaled = self.metric == "cosine"
        return _UNIT_ROUNDINGS * float(np.finfo(self.source.dtype).eps) if scaled else 0.0

    @cached_property
    def _in_float64(self) -> Points:
        source = self.source.astype(np.float64)
        # Centred again, as the centred points are rounded in float32.
        search = source if self.search is self.source else shifted(source, center_of(source))
        return Points(source, self.metric, search, scale=self.scale)

    @cached_property
    def _squares(self) -> Array:
        return np.asarray(row_norms(self.search, squared=True))

    def as_far(self, rows: Array, ends: Array) -> Array:
        if self.search.dtype != np.float64:
            return self._in_float64._as_far(rows, ends, self.slack)
        return self._as_far(rows, ends, self.slack)

    def _as_far(self, rows: Array, ends: Array, slack: float) -> Array:
        radii = self.lengths(rows, ends[:, None])[:, 0]
        own = self._squares[rows]
        off = np.asarray(safe_sparse_dot(self.search[rows], self.search.T, dense_output=True))
        off *= -2
        off += self._squares
        off += (own - radii**2)[:, None]
        np.abs(off, out=off)
        size = own + (np.sqrt(own) + radii) ** 2  # no point at that distance has a larger norm
        allowed = _SLACK * radii**2 + _ROUNDINGS * np.finfo(np.float64).eps * size
        allowed += slack * (2 * radii + slack)
        return np.asarray(off <= allowed[:, None])

    def lengths(self, rows: Array, ends: Array, dtype: Any = None) -> Array:
        """Compute lengths |x_i - x_j| for i in rows (b,) and j in ends (b, m), in float64.

        Differences are computed in the precision of the points, or in `dtype`.
        """
        dtype = np.dtype(dtype or self.source.dtype)
        m, d = ends.shape[1], self.source.shape[1]
        sparse = sp.issparse(self.source)
        mean_row = self.source.nnz / self.n * 2 if sparse else d
        lengths = np.empty(ends.shape)
        compute = _sparse_lengths if sparse else _dense_lengths
        width = int(m * mean_row + 1) * dtype.itemsize
        for block in row_blocks(len(rows), width, DIFFERENCE_BYTES):
            lengths[block] = compute(self.source, rows[block], ends[block], dtype)
        return lengths


def _dense_lengths(X: Array, rows: Array, ends: Array, dtype: DTypeLike) -> Array:
    difference = X[ends].astype(dtype, copy=False)
    difference -= X[rows][:, None, :]
    return np.asarray(np.sqrt(np.einsum("bmd,bmd->bm", difference, difference)))


def _sparse_lengths(X: Matrix, rows: Array, ends: Array, dtype: Any) -> Array:
    starts, stops = X[np.repeat(rows, ends.shape[1])], X[ends.ravel()]
    difference = starts.astype(dtype, copy=False) - stops.astype(dtype, copy=False)
    squared = difference.multiply(difference).sum(axis=1)
    return np.sqrt(np.asarray(squared, dtype=np.float64)).reshape(ends.shape)


def squarable(X: Any) -> tuple[Any, float]:
    """Return X / scale and the scale: 1, or a power of 2 if squares would overflow or underflow."""
    largest = float(max(X.max(), -X.min()))
    if largest == 0 or SMALL < largest < LARGE:
        return X, 1.0
    exponent = math.frexp(largest)[1] - 1
    return times_power_of_2(X, -exponent), 2.0**exponent


def unit_rows(X: Any, extra: bool | None = None) -> Any:
    """Scale rows to unit length, with a common direction for zero rows.

    A zero row has no angle. It counts as equal to other zero rows and orthogonal to all others
    (distance 1): at the origin it would be closer to every point than an orthogonal point, and
    become a hub. The common direction is an additional column, if there is a zero row or if `extra`
    is True. (sklearn's `normalize` treats short rows as zero.)
    """
    sparse = sp.issparse(X)
    largest = abs(X).max(axis=1).toarray().ravel() if sparse else np.abs(X).max(axis=1)
    empty = largest == 0
    unit = divide_rows(X, np.where(empty, 1, largest))  # first, so that no square overflows
    unit = divide_rows(unit, np.where(empty, 1, row_norms(unit)).astype(X.dtype))
    if not (empty.any() if extra is None else extra):
        return unit
    own = empty[:, None].astype(unit.dtype)
    return sp.hstack([unit, sp.csr_array(own)], format="csr") if sparse else np.hstack([unit, own])


def divide_rows(X: Any, divisors: Array) -> Any:
    """Divide each row of X, dense or CSR, by a number."""
    sparse = bool(sp.issparse(X))
    if not sparse:
        return X / divisors[:, None]
    scaled = X.copy()
    scaled.data /= np.repeat(divisors, np.diff(X.indptr))
    return scaled


def most_neighbors(k: int) -> int:
    """Return the limit of the neighbours of a point, ties with the k-th included: 64 or 4 k.

    It keeps most ties, and bounds memory and products if all points are equally far.
    """
    return max(_FACTOR * k, _LEAST)


class Nearest(NamedTuple):
    """The k nearest neighbours of some points, and the ties with the k-th."""

    lengths: Array  # (b, k), ascending
    indices: Array  # (b, k)
    tied: Array  # (t, 2): further pairs (row, neighbour) as far apart as the row's k-th neighbour
    open: Array  # rows whose candidates beyond k all tie, so that other points may tie as well


class Gathered:
    """Neighbours found for blocks of rows, in any order."""

    def __init__(self, n: int, k: int, *, lengths: Any = np.float64, index: Any = np.int64) -> None:
        self.lengths, self.indices = np.empty((n, k), lengths), np.empty((n, k), index)
        self.tied = [np.empty((0, 2), dtype=np.int64)]
        self.open = np.zeros(n, dtype=bool)

    def add(self, rows: Array, found: Nearest) -> None:
        """Store the neighbours of rows that had none."""
        self.lengths[rows], self.indices[rows] = found.lengths, found.indices
        self.tied.append(found.tied)
        self.open[rows] = False
        self.open[found.open] = True

    def replace(self, rows: Array, found: Nearest) -> None:
        """Store other neighbours of rows that had some."""
        self.tied = [pairs[~np.isin(pairs[:, 0], rows)] for pairs in self.tied]
        self.add(rows, found)

    def all(self) -> Nearest:
        """Return the neighbours of all rows."""
        tied = np.concatenate(self.tied)
        tied = tied[np.argsort(tied[:, 0], kind="stable")]
        return Nearest(self.lengths, self.indices, tied, np.flatnonzero(self.open))


def nearest_of(
    rows: Array,
    candidates: Array,
    lengths: Array,
    k: int,
    n: int,
    exact: Callable[[Array, Array], Array] | None = None,
    slack: float = 0.0,
) -> Nearest:
    """Select the nearest k candidates, by length and then by index, and the ties of the others.

    Parameters
    ----------
    rows : ndarray of int of shape (b,)
    candidates : ndarray of int of shape (b, m), m >= k
        Candidates of each row, ascending.
    lengths : ndarray of shape (b, m)
        inf for missing candidates.
    k : int
    n : int
        Number of points.
    exact : callable, optional
        (rows, ends) -> lengths in float64, if `lengths` are from float32.
    slack : float
        Difference of equal lengths due to rounding of the points.
    """
    order = np.argsort(lengths, axis=1, kind="stable")
    lengths = np.take_along_axis(lengths, order, 1)
    indices = np.take_along_axis(candidates, order, 1)
    last, others = lengths[:, k - 1 : k], lengths[:, k:]
    found = np.isfinite(others)
    tied = found & (others <= last * (1 + (TIE if exact is None else _SINGLE_TIE)) + slack)
    if exact is not None:
        look = np.flatnonzero(tied.any(axis=1))
        double = exact(rows[look], indices[look])
        tied[look] &= np.abs(double[:, k:] - double[:, k - 1 : k]) <= TIE * double[:, k:] + slack
    more = tied.any(axis=1) & (tied | ~found).all(axis=1) & (found.sum(axis=1) + k < n - 1)
    at, which = np.nonzero(tied)
    pairs = np.stack([rows[at], indices[:, k:][at, which]], axis=1)
    return Nearest(lengths[:, :k], indices[:, :k], pairs, rows[more])


def complete(points: SearchedPoints, found: Nearest, k: int) -> Nearest:
    """Search all points for ties of the rows that are `open`.

    Parameters
    ----------
    points : SearchedPoints
    found : Nearest
        Neighbours of all points.
    k : int
    """
    if not len(found.open):
        return found
    # Random numbers are drawn for pairs, as with one number per point the same few points would be
    # neighbours of all others, and in an order by values, so that the order of rows has no effect.
    place = np.argsort(value_order(points.source))
    drawn = np.random.default_rng(0).permutation(2 * points.n)
    lengths, indices = found.lengths, found.indices.copy()
    room, extra = most_neighbors(k), [found.tied[~np.isin(found.tied[:, 0], found.open)]]
    for block in row_blocks(len(found.open), 8 * points.n, _BLOCK_BYTES):
        rows = found.open[block]
        for i, tied in zip(rows, points.as_far(rows, indices[rows, -1]), strict=True):
            tied[i] = False
            closer = indices[i, ~tied[indices[i]]]
            among = np.flatnonzero(tied)
            if len(closer) + len(among) > room:
                first = np.argsort(drawn[place[i] + place[among]])
                among = among[first[: room - len(closer)]]
            cut = k - len(closer)
            indices[i, len(closer) :] = among[:cut]
            extra.append(np.stack([np.full(len(among) - cut, i), among[cut:]], axis=1))
    return Nearest(lengths, indices, np.concatenate(extra), found.open[:0])
