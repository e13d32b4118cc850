"""Points on disk made ready for a neighbour search: `lapwing.graphs.points` for rows.

Blocks are centred, or brought to unit length, whenever they are read. A search keeps nothing of
them but what it is made of; lengths of candidate edges are computed from the stored values, in
float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lapwing._arrays import Array, row_blocks
from lapwing._rows import Rows, block_height, blocks_of, rows_of
from lapwing.graphs.points import DIFFERENCE_BYTES, unit_rows
from lapwing.graphs.ties import TIE, Nearest, nearest_of
from lapwing.linalg import center_of

# Of points that are held at a time while candidates among all others are looked at: each slab takes
# a pass over the file. A tenth of the points, within these bounds: what is kept of a slab is found
# again by its place.
_SHARE, _LEAST_BYTES, _MOST_BYTES = 10, 2**24, 2**28


@dataclass(frozen=True, eq=False)
class RowPoints:
    """Rows whose Euclidean neighbours are the neighbours that are looked for.

    Attributes
    ----------
    rows : Rows of shape (n, d)
    metric : str
        'euclidean', or 'cosine': rows are brought to unit length.
    """

    rows: Rows
    metric: str

    @property
    def n(self) -> int:
        """Number of points."""
        return self.rows.shape[0]

    @property
    def width(self) -> int:
        """Coordinates of a point that is made ready."""
        return self.rows.shape[1] + (self.metric == "cosine" and self._has_empty)

    @property
    def source(self) -> Any:
        """Their values, of which lots are drawn where points tie."""
        return self.rows

    @cached_property
    def _has_empty(self) -> bool:
        return any(bool((~block.any(axis=1)).any()) for _, block in blocks_of(self.rows))

    @cached_property
    def _center(self) -> Array | None:
        return None if self.metric == "cosine" else center_of(self.rows)

    @property
    def slab_height(self) -> int:
        """Points of a slab."""
        row = self.rows.shape[1] * self.rows.dtype.itemsize
        return block_height(row, min(max(self.n * row // _SHARE, _LEAST_BYTES), _MOST_BYTES))

    def slabs(self) -> Iterator[tuple[slice, Array]]:
        """Large blocks of rows as they are, each of which is searched for in a pass over all."""
        return self.rows.blocks(self.slab_height)

    def ready(self, values: Array, dtype: Any) -> Array:
        """Rows as a search by products gets them: centred, or of unit length."""
        if self._center is not None:
            return np.subtract(values, self._center, dtype=dtype)
        return np.asarray(self.exact(values), dtype=dtype)

    def exact(self, values: Array) -> Array:
        """Rows as lengths are computed from them, in float64."""
        if self.metric == "cosine":
            return np.asarray(unit_rows(values.astype(np.float64), extra=self._has_empty))
        return values

    def blocks(self, n_rows: int, dtype: Any) -> Iterator[tuple[slice, Array]]:
        """Row blocks that are made ready; one pass."""
        for which, values in self.rows.blocks(n_rows):
            yield which, self.ready(values, dtype)

    def distances(self, lengths: Array) -> Array:
        """Euclidean lengths in the metric that was asked for."""
        return lengths**2 / 2 if self.metric == "cosine" else lengths

    @property
    def slack(self) -> float:
        """Rounding of the lengths between rows that were divided by theirs."""
        return 8 * float(np.finfo(np.float64).eps) if self.metric == "cosine" else 0.0

    def nearest(self, index: Array, values: Array, candidates: Array, k: int) -> Nearest:
        """Best k of the candidates of some points, by one pass over all.

        Parameters
        ----------
        index : ndarray of int of shape (b,)
            Points of which neighbours are looked for.
        values : ndarray of shape (b, d)
            Their rows.
        candidates : ndarray of int of shape (b, m), m >= k
            Different ones for each point, itself possibly among them; -1 for none.
        k : int
        """
        candidates = np.sort(candidates, axis=1)
        lengths = np.full(candidates.shape, np.inf)
        own = self.exact(values)
        for which, block in self.rows.blocks(self.slab_height):
            # Candidates are sorted along the rows, and blocks come in order.
            found = np.flatnonzero((candidates >= which.start) & (candidates < which.stop))
            ends = self.exact(block)
            for some in row_blocks(len(found), 8 * ends.shape[1], DIFFERENCE_BYTES):
                place = found[some]
                step = ends[candidates.ravel()[place] - which.start].astype(np.float64)
                step -= own[place // candidates.shape[1]]
                lengths.ravel()[place] = np.sqrt(np.einsum("bd,bd->b", step, step))
        lengths[candidates == index[:, None]] = np.inf
        return nearest_of(index, candidates, lengths, k, self.n, None, self.slack)

    def as_far(self, rows: Array, ends: Array) -> Array:
        """Which points (b, n) are as far from rows (b,) as the points `ends` (b,) are."""
        own = self.exact(rows_of(self.rows, rows)).astype(np.float64)
        far = self.exact(rows_of(self.rows, ends)).astype(np.float64) - own
        radii = np.sqrt(np.einsum("bd,bd->b", far, far))
        equal = np.empty((len(rows), self.n), dtype=bool)
        for which, values in blocks_of(self.rows, 8 * self.width, DIFFERENCE_BYTES):
            block = self.exact(values).astype(np.float64)
            for i in range(len(rows)):
                step = block - own[i]
                lengths = np.sqrt(np.einsum("bd,bd->b", step, step))
                allowed = TIE * radii[i] + self.slack
                equal[i, which] = np.abs(lengths - radii[i]) <= allowed
        return equal
