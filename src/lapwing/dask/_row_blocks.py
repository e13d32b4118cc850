"""Matrices in row blocks on the workers of a cluster.

They support the array operations that solvers need: products A B with small B, products A'B, sums,
and selection of a few rows. Only such small results are sent to the client.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from operator import add, getitem, matmul, mul, sub
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing._arrays import Array, is_sparse
from lapwing.dask._session import ClusterSession, PerPart


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """Matrix of shape (n, n_columns) in row blocks.

    Attributes
    ----------
    session : ClusterSession
    parts : tuple of Future
        The blocks.
    sizes : tuple of int
        Numbers of rows of the blocks, which may be 0.
    n_columns : int
    dtype : dtype
    """

    session: ClusterSession
    parts: tuple[Any, ...]
    sizes: tuple[int, ...]
    n_columns: int
    dtype: Any

    @property
    def shape(self) -> tuple[int, int]:
        return sum(self.sizes), self.n_columns

    @property
    def T(self) -> Transposed:  # noqa: N802
        return Transposed(self)

    @cached_property
    def starts(self) -> Array:
        """First row of each block, followed by n."""
        return np.concatenate([[0], np.cumsum(self.sizes, dtype=np.int64)])

    @property
    def first_rows(self) -> PerPart:
        """First row of each block, as an argument of tasks."""
        return PerPart(self.starts[:-1].tolist())

    def map(
        self,
        task: Callable[..., Any],
        *others: Any,
        n_columns: int | None = None,
        dtype: Any = None,
    ) -> RowBlocks:
        """Apply a task to each block.

        Parameters
        ----------
        task : callable (block, *others) -> block
        *others : RowBlocks, PerPart or any
            Matrices with the same row blocks, values for each block, or constants.
        n_columns : int, optional
        dtype : dtype, optional
        """
        return replace(
            self,
            parts=self._each(task, *others),
            n_columns=self.n_columns if n_columns is None else n_columns,
            dtype=np.dtype(self.dtype if dtype is None else dtype),
        )

    def total(self, task: Callable[..., Any], *others: Any) -> Any:
        """Sum the results of a task over the blocks, see `map`."""
        return self.session.total(self._each(task, *others))

    def collect(self, task: Callable[..., Any], *others: Any) -> list[Any]:
        """Apply a task to each block, and fetch the small results, see `map`."""
        return self.session.gather(self._each(task, *others))

    def view(self, function: Callable[..., Any], *others: Any) -> RowView:
        """Return the results of a task for each block, computed in each pass, see `map`."""
        as_it_is = (RowBlocks, PerPart, type(None))
        sent = [o if isinstance(o, as_it_is) else self.session.constant(o) for o in others]
        return RowView(self, function, tuple(sent))

    def _each(self, task: Callable[..., Any], *others: Any) -> tuple[Any, ...]:
        arguments = [PerPart(o.parts) if isinstance(o, RowBlocks) else o for o in others]
        return self.session.each(task, PerPart(self.parts), *arguments)

    def __getitem__(self, index: Any) -> Any:
        """Fetch some rows, in the order of the index."""
        found = zip(self.parts, self.at(np.asarray(index)).values, strict=True)
        used = [(part, *at) for part, at in found if len(at[0])]
        if not used:
            return np.empty((0, self.n_columns), dtype=self.dtype)
        parts, places, rows = zip(*used, strict=True)
        blocks = self.session.gather(self.session.each(getitem, PerPart(parts), PerPart(rows)))
        stacked = sp.vstack(blocks, format="csr") if is_sparse(blocks[0]) else np.vstack(blocks)
        return stacked[np.argsort(np.concatenate(places), kind="stable")]

    def at(self, index: Array) -> PerPart:
        """Split an index by block: positions in the index, and rows within the block."""
        part = np.searchsorted(self.starts, index, side="right") - 1
        found = [np.flatnonzero(part == i) for i in range(len(self.parts))]
        return PerPart([(f, index[f] - self.starts[i]) for i, f in enumerate(found)])

    def __matmul__(self, small: Array) -> RowBlocks:
        dtype = np.result_type(self.dtype, small.dtype)
        return self.map(matmul, self.session.constant(small), n_columns=small.shape[1], dtype=dtype)

    def __mul__(self, row: Any) -> RowBlocks:
        return self._with(mul, row)

    def __add__(self, row: Any) -> RowBlocks:
        return self._with(add, row)

    def __sub__(self, other: Any) -> RowBlocks:
        return self._with(sub, other)

    def _with(self, operation: Callable[..., Any], other: Any) -> RowBlocks:
        kind = other.dtype if isinstance(other, RowBlocks) else np.asarray(other)
        dtype = np.result_type(self.dtype, kind)
        return self.map(operation, other, dtype=dtype)

    def astype(self, dtype: Any, copy: bool = False) -> RowBlocks:
        """Convert the entries to another precision."""
        if np.dtype(dtype) == self.dtype:
            return self
        return self.map(as_type, np.dtype(dtype), dtype=dtype)

    def sum(self, axis: int) -> Array:
        """Sum the columns."""
        assert axis == 0
        return np.asarray(self.total(_column_sums))

    def finite(self) -> bool:
        """Return whether all entries are finite."""
        return int(self.total(_count_nonfinite)) == 0


@dataclass(frozen=True, eq=False)
class Transposed:
    """Transpose, which supports products only."""

    matrix: RowBlocks

    def __matmul__(self, other: RowBlocks) -> Any:
        return self.matrix.total(_inner, other)

    def tocsr(self) -> Transposed:
        return self


def _inner(left: Any, right: Any) -> Any:
    return left.T @ right


def as_type(block: Any, dtype: Any) -> Any:
    """Convert a block, without a copy if it has the precision already."""
    return block.astype(dtype, copy=False)


def _column_sums(block: Any) -> Array:
    return np.asarray(block.sum(axis=0))


def _count_nonfinite(block: Any) -> int:
    values = block.data if is_sparse(block) else block
    return int(values.size - np.count_nonzero(np.isfinite(values)))


@dataclass(frozen=True, eq=False)
class RowView:
    """Matrix of which each pass computes the row blocks.

    Attributes
    ----------
    rows : RowBlocks
    function : callable (block, *others) -> block
    others : tuple
        As for `RowBlocks.map`.
    """

    rows: RowBlocks
    function: Callable[..., Any]
    others: tuple[Any, ...]

    def total(self, task: Callable[..., Any], *arguments: Any) -> Any:
        return self.rows.total(_of_view, self.function, task, arguments, *self.others)

    def collect(self, task: Callable[..., Any], *arguments: Any) -> list[Any]:
        return self.rows.collect(_of_view, self.function, task, arguments, *self.others)


def _of_view(
    block: Any,
    function: Callable[..., Any],
    task: Callable[..., Any],
    arguments: tuple[Any, ...],
    *others: Any,
) -> Any:
    return task(function(block, *others), *arguments)
