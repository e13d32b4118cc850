"""Points made ready for a neighbour search, and exact lengths of candidate edges.

Searches by matrix products are fast but round: |x - z|^2 = |x|^2 - 2 x'z + |z|^2 cancels for close
points, the more the farther they lie from the origin. So a search only proposes candidates, on
centred points, and the lengths of the candidate edges are computed here from differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from lapwing.graphs.base import Array

__all__ = ["DIFFERENCE_METRICS", "Points", "row_blocks"]

DIFFERENCE_METRICS = ("euclidean", "cosine")
_BLOCK_BYTES = 2**24  # of differences in memory at a time: 16 MB, several copies of it are alive


def row_blocks(n_rows: int, bytes_per_row: int) -> Iterator[slice]:
    """Slices that cut n_rows rows into blocks of bounded memory."""
    step = max(1, _BLOCK_BYTES // max(1, bytes_per_row))
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


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
    """

    search: Any
    source: Any
    metric: str

    @classmethod
    def prepare(cls, X: Any, metric: str) -> Points:
        """Points of X (n, d), dense or sparse; sparse ones are not centred."""
        if metric == "cosine":
            unit = _unit_rows(X)
            return cls(unit, unit, metric)
        if sp.issparse(X):
            return cls(X, X, metric)
        return cls(X - X.mean(axis=0, dtype=np.float64).astype(X.dtype), X, metric)

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.search.shape[0])

    def distances(self, lengths: Array) -> Array:
        """Euclidean lengths of `source` in the metric asked for."""
        return lengths**2 / 2 if self.metric == "cosine" else lengths

    def nearest(self, rows: Array, candidates: Array, k: int) -> tuple[Array, Array]:
        """Best k of the candidates, by length and then by index.

        Parameters
        ----------
        rows : ndarray of int of shape (b,)
            Points of which neighbours are looked for.
        candidates : ndarray of int of shape (b, m), m > k
            Different candidates for each, the point itself possibly among them; -1 for none.
        k : int

        Returns
        -------
        lengths : ndarray of shape (b, k), float64
            Euclidean, ascending; inf where there were too few candidates.
        indices : ndarray of shape (b, k)
        """
        candidates = np.sort(candidates, axis=1)
        lengths = self.lengths(rows, candidates)
        # By index, not by distance 0: a point's duplicates are its neighbours.
        lengths[(candidates == rows[:, None]) | (candidates < 0)] = np.inf
        order = np.argsort(lengths, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(lengths, order, 1), np.take_along_axis(candidates, order, 1)

    def lengths(self, rows: Array, ends: Array) -> Array:
        """Euclidean lengths |x_i - x_j| for i of rows (b,) and j of ends (b, m), float64."""
        m, d = ends.shape[1], self.source.shape[1]
        sparse = sp.issparse(self.source)
        mean_row = self.source.nnz / self.n * 2 if sparse else d
        lengths = np.empty(ends.shape)
        compute = _sparse_lengths if sparse else _dense_lengths
        for block in row_blocks(len(rows), int(m * mean_row + 1) * self.source.dtype.itemsize):
            lengths[block] = compute(self.source, rows[block], ends[block])
        if not np.isfinite(lengths).all():
            raise ValueError("Distances between the points overflow: scale the features of X.")
        return lengths


def _dense_lengths(X: Array, rows: Array, ends: Array) -> Array:
    difference = X[ends]
    difference -= X[rows][:, None, :]
    return np.asarray(np.sqrt(np.einsum("bmd,bmd->bm", difference, difference)))


def _sparse_lengths(X: Any, rows: Array, ends: Array) -> Array:
    difference = X[np.repeat(rows, ends.shape[1])] - X[ends.ravel()]
    squared = difference.multiply(difference).sum(axis=1)
    return np.sqrt(np.asarray(squared, dtype=np.float64)).reshape(ends.shape)


def _unit_rows(X: Any) -> Any:
    """Rows of unit length; zero rows get a direction of their own, all of them the same one.

    A zero row has no angle. So it is taken as equal to other zero rows and orthogonal to
    everything else (distance 1); left at the origin, it would lie closer to every point than an
    orthogonal one does and become a hub.
    """
    unit = normalize(normalize(X, norm="max", copy=True), copy=False)  # no overflow in the squares
    sparse = sp.issparse(unit)
    empty = (abs(unit).max(axis=1).toarray().ravel() if sparse else np.abs(unit).max(axis=1)) == 0
    if not empty.any():
        return unit
    extra = empty[:, None].astype(unit.dtype)
    return (
        sp.hstack([unit, sp.csr_array(extra)], format="csr") if sparse else np.hstack([unit, extra])
    )
