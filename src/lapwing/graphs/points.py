"""Points made ready for a neighbour search, and exact lengths of candidate edges.

Searches by matrix products are fast but round: |x - z|^2 = |x|^2 - 2 x'z + |z|^2 cancels for close
points, the more the farther they lie from the origin. So a search only proposes candidates, on
centred points, and the lengths of the candidate edges are computed here from differences.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from lapwing._arrays import Array, row_blocks
from lapwing.graphs.ties import Nearest, nearest_of
from lapwing.linalg import center_of, shifted

DIFFERENCE_METRICS = ("euclidean", "cosine")
SPARE = 8  # candidates beyond those asked for, as a search by products may confuse close calls
_SMALL, _LARGE = 1e-9, 1e15  # largest entries whose differences are squared in float32 without loss
# Of squared distances made of products: what they may miss a known one by, of it and of the norms.
_SLACK, _ROUNDINGS = 1e-9, 32
_UNIT_ROUNDINGS = 8  # of a length between unit vectors
DIFFERENCE_BYTES = 2**24  # in memory at a time: 16 MB, as several copies of them are alive


@dataclass(frozen=True)
class Points:
    """Points whose Euclidean neighbours are the neighbours that are looked for.

    Attributes
    ----------
    search : ndarray or csr of shape (n, d)
        What a search gets: centred for the Euclidean metric (which no shift changes), rows of
        unit length for the cosine (|u - v|^2 / 2 = 1 - cos).
    source : ndarray or csr of shape (n, d)
        What lengths are computed from: the original points for the Euclidean metric, so that
        centring rounds no length; else `search`.
    metric : str
        One of `DIFFERENCE_METRICS`.
    scale : float
        By which both were divided.
    """

    search: Any
    source: Any
    metric: str
    scale: float = 1.0

    @classmethod
    def prepare(cls, X: Any, metric: str) -> Points:
        """Points of X (n, d), dense or sparse."""
        if metric == "cosine":
            unit = unit_rows(X)
            return cls(unit, unit, metric)
        X, scale = _squarable(X)
        return cls(shifted(X, center_of(X)), X, metric, scale)

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.search.shape[0])

    def distances(self, lengths: Array) -> Array:
        """Euclidean lengths between rows of `source`, in the metric and the units asked for."""
        return lengths**2 / 2 if self.metric == "cosine" else lengths * self.scale

    def nearest(self, rows: Array, candidates: Array, k: int) -> Nearest:
        """Best k of the candidates, by length and then by index, with the ties among the others.

        Parameters
        ----------
        rows : ndarray of int of shape (b,)
            Points of which neighbours are looked for.
        candidates : ndarray of int of shape (b, m), m >= k
            Different ones for each point, itself possibly among them; -1 for none.
        k : int

        Returns
        -------
        Nearest
            With Euclidean lengths; inf where there were too few candidates.
        """
        candidates = np.sort(candidates, axis=1)
        lengths = self.lengths(rows, candidates)
        # By index, not by distance 0: a point's duplicates are its neighbours.
        lengths[(candidates == rows[:, None]) | (candidates < 0)] = np.inf
        exact = self._exact if self.source.dtype == np.float32 else None
        return nearest_of(rows, candidates, lengths, k, self.n, exact, self.slack)

    def _exact(self, rows: Array, ends: Array) -> Array:
        return self.lengths(rows, ends, np.float64)

    @property
    def slack(self) -> float:
        """Rounding of the lengths between rows that were divided by theirs."""
        scaled = self.metric == "cosine"
        return _UNIT_ROUNDINGS * float(np.finfo(self.source.dtype).eps) if scaled else 0.0

    @cached_property
    def _double(self) -> Points:
        source = self.source.astype(np.float64)
        # Centred anew: float32 has rounded the centred points.
        search = source if self.search is self.source else shifted(source, center_of(source))
        return Points(search, source, self.metric, self.scale)

    @cached_property
    def _squares(self) -> Array:
        return np.asarray(row_norms(self.search, squared=True))

    def as_far(self, rows: Array, ends: Array) -> Array:
        """Which points (b, n) are as far from rows (b,) as the points `ends` (b,) are."""
        if self.search.dtype != np.float64:
            return self._double._as_far(rows, ends, self.slack)
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
        """Euclidean lengths |x_i - x_j| for i of rows (b,) and j of ends (b, m), float64.

        Computed in the precision of the points, or in another.
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


def _dense_lengths(X: Array, rows: Array, ends: Array, dtype: Any) -> Array:
    difference = X[ends].astype(dtype, copy=False)
    difference -= X[rows][:, None, :]
    return np.asarray(np.sqrt(np.einsum("bmd,bmd->bm", difference, difference)))


def _sparse_lengths(X: Any, rows: Array, ends: Array, dtype: Any) -> Array:
    starts, stops = X[np.repeat(rows, ends.shape[1])], X[ends.ravel()]
    difference = starts.astype(dtype, copy=False) - stops.astype(dtype, copy=False)
    squared = difference.multiply(difference).sum(axis=1)
    return np.sqrt(np.asarray(squared, dtype=np.float64)).reshape(ends.shape)


def _squarable(X: Any) -> tuple[Any, float]:
    """X / scale and the scale: 1, or a power of 2 where squares would overflow or underflow."""
    largest = float(max(X.max(), -X.min()))
    if largest == 0 or _SMALL < largest < _LARGE:
        return X, 1.0
    scale = 2.0 ** (math.frexp(largest)[1] - 1)  # rounds nothing
    return X / X.dtype.type(scale), scale


def unit_rows(X: Any, extra: bool | None = None) -> Any:
    """Rows of unit length; zero rows get a direction of their own, all of them the same one.

    A zero row has no angle. So it is taken as equal to other zero rows and orthogonal to
    everything else (distance 1); left at the origin, it would lie closer to every point than an
    orthogonal one does and become a hub. (sklearn's `normalize` takes short rows for zero.)
    That direction is one more column, where there is a zero row, or as `extra` says.
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
    """Rows of X, dense or CSR, each divided by a number."""
    sparse = bool(sp.issparse(X))
    if not sparse:
        return X / divisors[:, None]
    scaled = X.copy()
    scaled.data /= np.repeat(divisors, np.diff(X.indptr))
    return scaled
