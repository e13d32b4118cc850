"""Protocol of points on disk, which are read in blocks of rows.

    shape, dtype     (n, d), and float32 or float64
    blocks(n_rows)   one pass over X in blocks of n_rows rows, the last one may have fewer
    take(index)      rows by index, in any order, with repetitions

Blocks and rows are C-contiguous arrays of `dtype` in native byte order, for any stored type. Blocks
have exactly the requested height, so that sums over them have the same rounding errors as sums over
an array in the blocks of `blocks_of`.

A format is one file in this folder and one entry in `lapwing._rows.registry`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from lapwing._arrays import BLOCK_BYTES, Array, Matrix, SparseMatrix, is_sparse, row_blocks
from lapwing._host.memory import require_memory
from lapwing._host.warn import warn

if TYPE_CHECKING:
    from typing_extensions import TypeIs

_PASS_BYTES = 2**24  # of a block in float64, several copies of which exist at a time
_SLOW_BYTES = 2**28  # of shuffled rows, from which reading them is slow


@runtime_checkable
class Rows(Protocol):
    """Points that are read in blocks of rows, see the module docstring."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of points and of features."""

    @property
    def dtype(self) -> Any:
        """Precision of the values: float32 or float64."""

    def blocks(self, n_rows: int) -> Iterator[tuple[slice, Array]]:
        """Iterate over blocks in order, with their slices of rows.

        Parameters
        ----------
        n_rows : int
            Rows of each block; the last one may have fewer.
        """

    def take(self, index: Array) -> Array:
        """Return the values (len(index), d) of rows in the order of the index."""


PointData: TypeAlias = Matrix | Rows
"""Points for fits and functions: an array, a sparse matrix, or rows on disk."""

PointsLike: TypeAlias = ArrayLike | SparseMatrix | Rows | os.PathLike[str]
"""Points as users give them: also data frames, and files that `as_rows` opens."""


def is_rows(X: object) -> TypeIs[Rows]:
    """Return whether X is read in blocks instead of being an array or a sparse matrix."""
    # Arrays first, because isinstance with a protocol takes a tenth of a millisecond.
    return not (isinstance(X, np.ndarray) or is_sparse(X)) and isinstance(X, Rows)


def block_height(bytes_per_row: int, budget: int = BLOCK_BYTES) -> int:
    """Return the rows of a block of at most `budget` bytes, at least one."""
    return max(1, budget // max(1, bytes_per_row))


def blocks_of(
    X: PointData, bytes_per_row: int | None = None, budget: int = BLOCK_BYTES
) -> Iterator[tuple[slice, Any]]:
    """Iterate over row blocks of arrays or of rows on disk, with their slices of rows.

    Parameters
    ----------
    X : ndarray or sparse of shape (n, d), or Rows
        Blocks of an array are views of it.
    bytes_per_row : int, optional
        Memory for each row while a block is processed; by default its bytes in X.
    budget : int, optional
        Maximum number of bytes of a block.
    """
    if bytes_per_row is None:
        bytes_per_row = X.shape[1] * X.dtype.itemsize
    if is_rows(X):
        yield from X.blocks(block_height(bytes_per_row, budget))
        return
    for rows in row_blocks(X.shape[0], bytes_per_row, budget):
        yield rows, X[rows]


def cut_to_blocks(pieces: Iterable[Array], n_rows: int) -> Iterator[tuple[slice, Array]]:
    """Cut consecutive pieces of rows to blocks of exactly n_rows rows, but for the last one."""
    begin = 0
    rest: Array | None = None
    for piece in pieces:
        at = 0
        if rest is not None:  # the first block begins with the rest of the piece before
            at = n_rows - len(rest)
            rest = np.concatenate([rest, piece[:at]])
            if len(rest) < n_rows:
                continue
            yield slice(begin, begin + n_rows), rest
            begin, rest = begin + n_rows, None
        while len(piece) - at >= n_rows:
            yield slice(begin, begin + n_rows), piece[at : at + n_rows]
            begin, at = begin + n_rows, at + n_rows
        if at < len(piece):
            rest = piece[at:].copy()
    if rest is not None:
        yield slice(begin, begin + len(rest)), rest


def all_of(X: Rows) -> Array:
    """Read all points into an array."""
    values = np.empty(X.shape, dtype=X.dtype)
    for some, block in blocks_of(X):
        values[some] = block
    return values


def key_of(X: Rows) -> Any:
    """Return a key that identifies points: files, their states, and rows.

    Rows of other classes are their own key.
    """
    return getattr(X, "key", X)


def rows_of(X: Any, index: Any) -> Any:
    """Return rows of an array or of rows on disk by an array of indices."""
    return X.take(index) if is_rows(X) else X[index]


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """(x - mean) / scale of each column, in the precision of the rows.

    Attributes
    ----------
    source : Rows
    mean, scale : ndarray of shape (d,), float64
    """

    source: Rows
    mean: Array
    scale: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape

    @property
    def dtype(self) -> Any:
        return self.source.dtype

    @property
    def key(self) -> Any:
        return key_of(self.source), self.mean, self.scale

    def blocks(self, n_rows: int) -> Iterator[tuple[slice, Array]]:
        for rows, block in self.source.blocks(n_rows):
            yield rows, self._scaled(block)

    def take(self, index: Array) -> Array:
        return self._scaled(self.source.take(index))

    def _scaled(self, block: Array) -> Array:
        # In two steps, with the rounding of `sklearn.preprocessing.StandardScaler`.
        values = np.subtract(block, self.mean, dtype=self.dtype, casting="same_kind")
        values /= self.scale.astype(self.dtype)
        return values


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of the columns of points, summed in float64.

    Attributes
    ----------
    mean, variances : ndarray of shape (d,), float64
    low, high : ndarray of shape (d,)
        Minimum and maximum, in the precision of the points.
    not_finite : tuple of int, or None
        Row and column of the first NaN or infinite value; the other moments are then invalid.
    """

    mean: Array
    variances: Array
    low: Array
    high: Array
    not_finite: tuple[int, int] | None = None

    @property
    def largest(self) -> float:
        """Largest absolute value."""
        return float(max(self.high.max(), -self.low.min()))


# Changes of files are detected, so that moments can be cached.
_KNOWN: WeakKeyDictionary[Rows, Moments] = WeakKeyDictionary()


def moments_of(X: Rows) -> Moments:
    """Return the moments of rows, computed in one pass and cached."""
    if X not in _KNOWN:
        _KNOWN[X] = _pass_over(X)
    return _KNOWN[X]


def _pass_over(X: Rows) -> Moments:
    d, n = X.shape[1], 0
    mean, squares = np.zeros(d), np.zeros(d)
    low, high = np.full(d, np.inf, dtype=X.dtype), np.full(d, -np.inf, dtype=X.dtype)
    for rows, block in blocks_of(X, 8 * d, _PASS_BYTES):
        if not np.isfinite(block.sum(dtype=np.float64)) and not np.isfinite(block).all():
            i, j = np.argwhere(~np.isfinite(block))[0]
            return Moments(mean, squares, low, high, (rows.start + int(i), int(j)))
        b = len(block)
        with np.errstate(over="ignore", invalid="ignore"):  # `check_magnitude` reports it
            own = block.mean(axis=0, dtype=np.float64)
            centred = block - own
            # Combine the moments of both parts, because the mean of the squares minus the square of
            # the mean cancels for columns far from 0.
            step = own - mean
            squares += np.einsum("ij,ij->j", centred, centred) + step**2 * (n * b / (n + b))
            mean += step * (b / (n + b))
        np.minimum(low, block.min(axis=0), out=low)
        np.maximum(high, block.max(axis=0), out=high)
        n += b
    return Moments(mean, np.where(low == high, 0.0, squares / n), low, high)


class IndexedRows:
    """Indexing and conversion to an array, which scikit-learn needs to hold out rows."""

    def __len__(self: Any) -> int:
        n, _ = self.shape
        return int(n)

    def __getitem__(self: Any, key: Any) -> Any:
        """Return one row as an array, or several as rows that are not read yet."""
        whole_rows = isinstance(key, tuple) and key[1:] in ((Ellipsis,), (slice(None),))
        rows = key[0] if whole_rows else key
        if isinstance(rows, tuple) or rows is Ellipsis or rows is None:
            raise IndexError(
                f"X[{key!r}] is not supported for files: select rows of X by indices, a slice or "
                "a mask, and columns of Parquet files by open_rows(..., columns=[...])."
            )
        index = np.arange(len(self))[rows]
        if index.ndim == 0:
            return self.take(index[None])[0]
        return PickedRows(self, index)

    def __iter__(self: Any) -> Iterator[Array]:
        """Iterate over rows, read in blocks."""
        for _, block in self.blocks(max(1, 2**20 // max(1, self.shape[1]))):
            yield from block

    def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError(
                "X is on disk, so that copy=False is not possible. Use copy=None or copy=True."
            )
        n, d = self.shape
        require_memory(
            float(n) * d * self.dtype.itemsize,
            f"An array of {n} x {d} points of a file",
            "Use an estimator of lapwing that reads row blocks, such as LapERLSClassifier, or "
            "fewer rows.",
        )
        return all_of(self).astype(dtype or self.dtype, copy=False)


@dataclass(frozen=True, eq=False, repr=False)
class PickedRows(IndexedRows):
    """Selected rows of other rows.

    Rows in ascending order are read in one pass. In other orders, each block reads its rows by
    index.

    Attributes
    ----------
    source : Rows
    index : ndarray of int of shape (n,)
    """

    source: Rows
    index: Array

    def __post_init__(self) -> None:
        size = len(self.index) * self.source.shape[1] * self.dtype.itemsize
        if size > _SLOW_BYTES and np.count_nonzero(np.diff(self.index) < 0) > len(self.index) // 4:
            warn(
                f"{len(self.index)} rows of a file are read in shuffled order: each block of them "
                "reads much of the file. Keep the order of the file, as the splitters of "
                "lapwing.model_selection and KFold() do."
            )

    def __repr__(self) -> str:
        return f"<{len(self.index)} rows of {self.source!r}>"

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.index), self.source.shape[1]

    @property
    def dtype(self) -> Any:
        return self.source.dtype

    @property
    def key(self) -> Any:
        return key_of(self.source), self.index

    def blocks(self, n_rows: int) -> Iterator[tuple[slice, Array]]:
        if (np.diff(self.index) < 0).any():
            for start in range(0, len(self.index), n_rows):
                rows = slice(start, min(start + n_rows, len(self.index)))
                yield rows, self.source.take(self.index[rows])
            return
        yield from cut_to_blocks(map(self._picked, self.source.blocks(n_rows)), n_rows)

    def _picked(self, read: tuple[slice, Array]) -> Array:
        rows, block = read
        low, high = np.searchsorted(self.index, [rows.start, rows.stop])
        return np.asarray(block[self.index[low:high] - rows.start])

    def take(self, index: Array) -> Array:
        return self.source.take(self.index[index])
