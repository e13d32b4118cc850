"""What X is where it is not an array: rows that are read in blocks, and never all at once.

    shape, dtype     (n, d), and float32 or float64
    blocks(n_rows)   blocks of so many rows in order, the last one less: one pass over X
    take(index)      some rows, in any order, repeated ones too

Blocks and rows come as C-contiguous arrays of `dtype` in the machine's byte order, whatever is
stored. As blocks are as high as asked for, sums over them round as those over an array do that is
cut alike: `blocks_of` cuts both.

A member is one file of this folder and one line in `lapwing._rows.registry`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np

from lapwing._arrays import BLOCK_BYTES, Array, is_sparse, row_blocks


@runtime_checkable
class Rows(Protocol):
    """Points that are read in blocks of rows; see the module."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of points and of features."""

    @property
    def dtype(self) -> Any:
        """Precision of what is read: float32 or float64."""

    def blocks(self, n_rows: int) -> Iterator[tuple[slice, Array]]:
        """One pass in order: which rows, and their values.

        Parameters
        ----------
        n_rows : int
            Height of all blocks but the last, which has what is left.
        """

    def take(self, index: Array) -> Array:
        """Values (len(index), d) of some rows, in any order; they are read in ascending order."""


def is_rows(X: Any) -> bool:
    """Whether X is read in blocks: no array and no sparse matrix."""
    # These first: to look for the methods of a protocol takes a tenth of a millisecond, and solvers
    # ask at every step.
    return not (isinstance(X, np.ndarray) or is_sparse(X)) and isinstance(X, Rows)


def block_height(bytes_per_row: int, budget: int = BLOCK_BYTES) -> int:
    """Rows of a block of at most `budget` bytes, and at least one."""
    return max(1, budget // max(1, bytes_per_row))


def blocks_of(
    X: Any, bytes_per_row: int | None = None, budget: int = BLOCK_BYTES
) -> Iterator[tuple[slice, Any]]:
    """Row blocks of points, whatever holds them: which rows, and their values.

    Parameters
    ----------
    X : ndarray or sparse of shape (n, d), or Rows
        Blocks of an array are views of it.
    bytes_per_row : int, optional
        What a row takes where it is worked on; by default what it takes in X.
    budget : int, optional
        Bytes of a block at most.
    """
    if bytes_per_row is None:
        bytes_per_row = X.shape[1] * X.dtype.itemsize
    if is_rows(X):
        yield from X.blocks(block_height(bytes_per_row, budget))
        return
    for rows in row_blocks(X.shape[0], bytes_per_row, budget):
        yield rows, X[rows]


def all_of(X: Rows) -> Array:
    """An array of all points, for which there must be the memory."""
    values = np.empty(X.shape, dtype=X.dtype)
    for some, block in blocks_of(X):
        values[some] = block
    return values


def key_of(X: Rows) -> Any:
    """What tells points from others without reading them: files, their states, which rows.

    Rows of a user's own are their own key, as they are pickled.
    """
    return getattr(X, "key", X)


def rows_of(X: Any, index: Any) -> Any:
    """Some points by an array of their numbers, whatever holds them."""
    return X.take(index) if is_rows(X) else X[index]
