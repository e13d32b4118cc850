"""Input of fits on a cluster: X and y as Dask arrays and frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp
from sklearn.utils.random import sample_without_replacement

from lapwing._arrays import Array, is_sparse, row_blocks
from lapwing._features import reading_features
from lapwing._host.modules import require
from lapwing._host.warn import warn
from lapwing.classes.labels import as_targets
from lapwing.classes.markers import (
    find_unlabeled,
    is_auto,
    objects,
    read_column,
    unlabeled_mask,
)
from lapwing.dask._row_blocks import RowBlocks, as_type
from lapwing.dask._session import ClusterSession, PerPart
from lapwing.exceptions import DaskWarning
from lapwing.problem import read_row_weights

_SAMPLE_BYTES = 2**22  # of a sample of rows
_PASS_BYTES = 2**22  # of a copy of rows in float64
_MARKERS = 1000  # entries of unlabelled rows for the checks of labels


@dataclass(frozen=True, eq=False)
class ClusterPoints:
    """Points with a summary computed in one pass.

    Attributes
    ----------
    rows : RowBlocks
        Blocks of shape (n, n_features), dense or CSR, float32 or float64, finite.
    names : ndarray of shape (n_features,) or None
        Names of the features, if they are strings.
    largest : float
        Largest magnitude of an entry.
    mean : ndarray of shape (n_features,)
        Means of the features, float64.
    stored : int or None
        Number of stored entries of sparse blocks; None if they are dense.
    """

    rows: RowBlocks
    names: Array | None
    largest: float
    mean: Array
    stored: int | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.shape

    @property
    def dtype(self) -> Any:
        return self.rows.dtype

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def sample(self, n_rows: int | None = None, random: Any = 0) -> Any:
        """Draw rows without replacement, in ascending order; all rows if there are not more."""
        n, d = self.shape
        if n_rows is None:
            width = d if self.stored is None else 2 * max(1, self.stored // n)
            n_rows = max(100, _SAMPLE_BYTES // (8 * width))
        if n_rows >= n:
            return self[np.arange(n)]
        drawn = sample_without_replacement(n, n_rows, random_state=random)
        return self[np.sort(drawn)]

    def variances(self) -> Array:
        """Compute the variances of the features in a second pass, without cancellation."""
        squares = self.rows.total(_squares_around, self.mean)
        return np.asarray(squares / self.shape[0])


def is_collection(X: Any) -> bool:
    """Return whether X is a Dask array, frame or series."""
    # Of the type, because a Delayed object has every attribute.
    return hasattr(X, "__dask_graph__") and hasattr(type(X), "ndim")


def is_array(X: Any) -> bool:
    """Return whether X is a Dask array."""
    return is_collection(X) and hasattr(X, "chunks") and hasattr(X, "numblocks")


def delayed(value: Any) -> Any:
    """Return a delayed function, or a value that is one key of task graphs."""
    return require("dask", extra="dask", purpose="lapwing.dask").delayed(value, pure=False)


def chunks_of(X: Any, name: str) -> list[Any]:
    """Return the chunks of an array or a frame as delayed objects.

    Raises
    ------
    TypeError
        If X is anything else.
    """
    if not is_collection(X):
        raise TypeError(
            f"{name} must be a Dask array or frame, not {type(X).__name__}. Make one, e.g. by "
            "dask.array.from_array(X, chunks=(100_000, -1)), or use the estimator of lapwing with "
            "the same name without Dask."
        )
    if is_array(X) and X.ndim == 2 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return list(np.ravel(X.to_delayed()))


def check_two_dimensions(X: Any) -> None:
    """Check that X is a frame or a matrix."""
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, with a point in each row; it has {X.ndim}.")


def read_points(session: ClusterSession, X: Any) -> ClusterPoints:
    """Read and check X in one pass.

    Raises
    ------
    TypeError, ValueError
        If X is not a table of finite numbers.

    Warns
    -----
    DaskWarning
        If X is not persisted, or its chunks have unknown sizes.
    """
    parts = chunks_of(X, "X")
    check_two_dimensions(X)
    names = _names(X)
    _warn_of_chunks(X)
    chunks = session.compute(parts)
    found = session.gather(session.each(_block_info, PerPart(chunks)))
    # A second result with the same array would be counted, and written to disk, twice.
    ready = all(f.ready for f in found)
    blocks = chunks if ready else session.each(_numbers, PerPart(chunks))
    widths = {f.shape[1] for f in found}
    if len(widths) > 1:
        raise ValueError(f"The chunks of X have different numbers of features, {sorted(widths)}.")
    if len({f.stored is None for f in found}) > 1:
        raise TypeError(
            "X has sparse and dense chunks. Make all of one kind, e.g. by "
            "X.map_blocks(scipy.sparse.csr_array)."
        )
    dtypes = {f.dtype for f in found if f.shape[0]} or {f.dtype for f in found}
    dtype = np.result_type(*dtypes)
    rows = RowBlocks(session, tuple(blocks), tuple(f.shape[0] for f in found), widths.pop(), dtype)
    if len(dtypes) > 1:
        rows = rows.map(as_type, dtype)
    n = rows.shape[0]
    if n < 2 or rows.n_columns < 1:
        raise ValueError(
            f"Found array with {n} sample(s) and {rows.n_columns} feature(s) in X, while a fit "
            "takes at least 2 samples and 1 feature."
        )
    for start, f in zip(rows.starts, found, strict=False):
        if f.wrong is not None:
            raise ValueError(
                f"Input X contains NaN or infinity, first in row {start + f.wrong}. Fill or remove "
                "such rows."
            )
    largest = max(f.largest for f in found)
    stored = None if found[0].stored is None else sum(f.stored or 0 for f in found)
    return ClusterPoints(rows, names, largest, np.asarray(sum(f.sums for f in found) / n), stored)


class _BlockInfo(NamedTuple):
    shape: tuple[int, int]
    dtype: Any
    wrong: int | None  # first row that is not finite
    largest: float
    sums: Array
    stored: int | None
    ready: bool  # whether the chunk can be used as the block


def _numbers(chunk: Any) -> Any:
    """Convert a chunk to a C-contiguous array, or a canonical CSR matrix, of floats."""
    block: Any
    if is_sparse(chunk):
        csr = isinstance(chunk, sp.csr_array)
        block = chunk if csr else sp.csr_array(cast("Any", chunk))
        if not block.has_canonical_format:
            block = block.copy()  # as the chunk belongs to the user
            block.sum_duplicates()
    else:
        with reading_features(chunk):
            block = chunk.to_numpy() if hasattr(chunk, "to_numpy") else np.asarray(chunk)
    if block.ndim != 2:
        raise ValueError(f"The chunks of X must have two dimensions; one has {block.ndim}.")
    if block.dtype.kind == "c":  # a cast would drop the imaginary parts
        raise ValueError("X must hold real numbers only, and it holds complex ones.")
    if block.dtype not in (np.float32, np.float64):
        try:
            with reading_features(chunk):
                block = block.astype(np.float64)
        except TypeError as error:
            raise ValueError(f"X must hold numbers only: {error}.") from error
    return block if is_sparse(block) else np.ascontiguousarray(block)


def _block_info(chunk: Any) -> _BlockInfo:
    block = _numbers(chunk)
    sparse = is_sparse(block)
    values = block.data if sparse else block
    wrong = None
    if not np.isfinite(values).all():
        first = int(np.argmin(np.isfinite(values).ravel()))
        ends = block.indptr[1:] if sparse else block.shape[1] * np.arange(1, len(block) + 1)
        wrong = int(np.searchsorted(ends, first, side="right"))
    largest = float(np.abs(values).max(initial=0.0)) if wrong is None else np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.asarray(block.sum(axis=0, dtype=np.float64))
    stored = block.nnz if sparse else None
    return _BlockInfo(block.shape, block.dtype, wrong, largest, sums, stored, block is chunk)


def _squares_around(block: Array, mean: Array) -> Array:
    total = np.zeros(block.shape[1])
    for rows in row_blocks(len(block), 8 * block.shape[1], _PASS_BYTES):
        total += ((block[rows] - mean) ** 2).sum(axis=0)
    return total


def _names(X: Any) -> Array | None:
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return np.asarray(list(columns), dtype=object)


def _warn_of_chunks(X: Any) -> None:
    futures_of = require("distributed", extra="dask", purpose="lapwing.dask").futures_of
    persisted = {future.key for future in futures_of(X)}
    keys = require("dask.core", extra="dask", purpose="lapwing.dask").flatten(X.__dask_keys__())
    if not persisted.issuperset(keys):
        warn(
            "X is not persisted: it is computed for this fit and again for every prediction. If "
            "it fits the memory of the workers, use X = X.persist() first.",
            DaskWarning,
        )
    if is_array(X) and any(np.isnan(size) for size in X.chunks[0]):
        warn(
            "The chunks of X have unknown sizes, so that results cannot be cut by rows before "
            "they are computed. Use X.compute_chunk_sizes() first.",
            DaskWarning,
        )


class Labels(NamedTuple):
    """Labelled rows.

    Attributes
    ----------
    rows : ndarray of int of shape (l,)
        Row numbers, ascending.
    column : ndarray of shape (l + s,)
        Labels of these rows, and then markers of some unlabelled rows, for the checks of labels.
    """

    rows: Array
    column: Array


class _LabelsOfChunk(NamedTuple):
    n_rows: int
    rows: Array
    labels: Array
    markers: Array  # of some unlabelled rows


def read_labels(
    session: ClusterSession, y: Any, marker: Any, n: int, *, regression: bool
) -> Labels:
    """Read y.

    Parameters
    ----------
    session : ClusterSession
    y : Dask array or series, or array-like, of shape (n,), or table (row, label)
        The table is a frame of two columns, or a pair of arrays: row numbers from 0, and labels.
        All other rows are unlabelled.
    marker : 'auto', number, str or None
        Marker of unlabelled rows.
    n : int
        Number of rows of X.
    regression : bool
        Whether labels are numbers.

    Raises
    ------
    TypeError, ValueError
        If y has none of these forms, or does not match X.
    """
    if (table := read_label_table(y, n)) is not None:
        others = [None if regression or is_auto(marker) else marker]
        others *= min(n - len(table.rows), _MARKERS)
        return table._replace(column=joined([table.column, objects(others)]))
    marker = None if regression else marker
    if is_collection(y):
        chunks = session.compute(chunks_of(one_column(y, "y"), "y"))
        found = session.gather(session.each(_labels_of_chunk, PerPart(chunks), marker, regression))
    else:
        found = [_labels_of_chunk(y, marker, regression)]
    labels, markers = joined([f.labels for f in found]), joined([f.markers for f in found])
    minus = is_auto(marker) and unlabeled_mask(markers, -1).any()
    if minus and len(labels) and unlabeled_mask(labels, 1).all():
        # All labels are -1 or +1, so that -1 is a class.
        return read_labels(session, y, None, n, regression=regression)
    _check_length("y", sum(f.n_rows for f in found), n)
    starts = np.cumsum([0, *(f.n_rows for f in found)])
    index = np.concatenate([f.rows + s for f, s in zip(found, starts, strict=False)])
    return Labels(index.astype(np.int64), joined([labels, _sample_markers(markers)]))


def _labels_of_chunk(chunk: Any, marker: Any, regression: bool) -> _LabelsOfChunk:
    y = as_targets(chunk) if regression else read_column(chunk)
    unlabeled = find_unlabeled(y, marker, np.empty(0))
    rows = np.flatnonzero(~unlabeled)
    return _LabelsOfChunk(len(y), rows, y[rows], _sample_markers(y[unlabeled]))


def _sample_markers(markers: Array) -> Array:
    """Return some of the markers, and each kind of them."""
    kinds = markers.astype(str) if markers.dtype.kind == "O" else markers
    first = np.unique(kinds, return_index=True)[1]
    return markers[np.union1d(first, np.arange(min(len(markers), _MARKERS)))]


def joined(columns: Sequence[Array]) -> Array:
    """Join columns without changing a value: as objects if NumPy would."""
    columns = [column for column in columns if len(column)] or [np.empty(0)]
    if len({column.dtype.kind for column in columns}) > 1:
        columns = [objects(column.tolist()) for column in columns]
    return np.concatenate(columns)


def _check_length(name: str, n_entries: int, n: int) -> None:
    """Raise ValueError for a column that does not match the n rows of X."""
    if n_entries != n:
        forms = ""
        if name == "y":
            forms = (
                ", a label or a marker, or a table of the labelled rows alone, as a pair of arrays "
                "(rows, labels)"
            )
        raise ValueError(f"X has {n} rows and {name} has {n_entries}: give one for each{forms}.")


def heights(session: ClusterSession, X: Any, chunks: list[Any]) -> list[int]:
    """Return the numbers of rows of the chunks of an array, a frame or a series."""
    if is_array(X) and not np.isnan(X.chunks[0]).any():
        return [int(size) for size in X.chunks[0]]
    height = delayed(_height)
    return session.gather(session.compute([height(chunk) for chunk in chunks]))


def _height(chunk: Any) -> int:
    return int(chunk.shape[0])


def by_chunks(session: ClusterSession, column: Any, name: str, sizes: Sequence[int]) -> list[Any]:
    """Divide a column by the chunks of X.

    Parameters
    ----------
    session : ClusterSession
    column : Dask array or series, or array-like, of shape (n,)
    name : str
        Name of the column in errors.
    sizes : sequence of int
        Numbers of rows of the chunks of X.

    Returns
    -------
    list of array or delayed array
        Entries of each chunk of X.
    """
    ends = np.cumsum([0, *sizes])
    if not is_collection(column):
        column = read_column(column)
        _check_length(name, len(column), ends[-1])
        return [column[start:stop] for start, stop in pairwise(ends)]
    column = one_column(column, name)
    columns = chunks_of(column, name)
    lengths = heights(session, column, columns)
    starts = np.cumsum([0, *lengths])
    _check_length(name, starts[-1], ends[-1])
    stacked, found = delayed(_stacked), []
    for start, stop in pairwise(ends):
        first = np.searchsorted(starts, start, side="right") - 1
        last = np.searchsorted(starts, stop, side="left")
        needed = [i for i in range(first, last) if lengths[i]]
        cut = [slice(max(start - starts[i], 0), stop - starts[i]) for i in needed]
        found.append(stacked([columns[i] for i in needed], cut))
    return found


def _stacked(columns: list[Any], slices: list[slice]) -> Array:
    return joined([read_column(each)[some] for each, some in zip(columns, slices, strict=True)])


def read_weights(session: ClusterSession, sample_weight: Any, rows: RowBlocks) -> RowBlocks | None:
    """Read the weights of all rows, in the chunks of X.

    Raises
    ------
    ValueError
        If they are not one finite number for each row.
    """
    if sample_weight is None:
        return None
    if not is_collection(sample_weight):
        sample_weight = read_row_weights(sample_weight, rows.shape[0])
    cut = by_chunks(session, sample_weight, "sample_weight", rows.sizes)
    if is_collection(sample_weight):
        cut = session.compute(cut)
    weights = rows.map(_weights, PerPart(cut), n_columns=1, dtype=np.float64)
    for start, info in zip(weights.starts, weights.collect(_block_info), strict=False):
        if info.wrong is not None:
            raise ValueError(
                f"sample_weight holds NaN or infinity, first at row {start + info.wrong}. Give "
                "every row a finite weight, unlabelled ones too, e.g. 1."
            )
    return weights


def _weights(block: Any, column: Array) -> Array:
    return column.astype(np.float64)[:, None]


def one_column(y: Any, name: str) -> Any:
    """Return the column of a collection of one or two dimensions.

    Raises
    ------
    ValueError
        If it has several columns.
    """
    if getattr(y, "ndim", 1) == 1:
        return y
    if (n_columns := int(y.shape[1])) > 1:
        raise ValueError(
            f"{name} has {n_columns} columns, and a cluster takes one. Give one column at a time."
        )
    return y[:, 0] if hasattr(y, "chunks") else y[y.columns[0]]


def read_label_table(y: Any, n: int) -> Labels | None:
    """Read a table of the labelled rows, without markers; None for an entry for each row of X.

    Raises
    ------
    TypeError, ValueError
        If y has neither form, or the table does not match n rows of X.
    """
    columns = None if is_collection(y) else _two_columns(y)
    if columns is None:
        if not (is_collection(y) or hasattr(y, "__len__")) or isinstance(y, str | bytes | dict):
            raise TypeError(
                "y must be an array or series, of Dask or in memory, with an entry for each row of "
                "X, or a table of labelled rows: a frame of two columns (row, label) or a pair of "
                f"arrays (rows, labels); it is {type(y).__name__}."
            )
        return None
    rows, labels = np.asarray(columns[0]), read_column(columns[1])
    if rows.size == 0:
        raise ValueError("The table of labels is empty. Label at least one point of each class.")
    if rows.ndim != 1 or len(rows) != len(labels):
        raise ValueError(
            f"The table of labels has {len(rows)} rows and {len(labels)} labels: give one for each."
        )
    if rows.dtype.kind not in "iu" or not 0 <= rows.min() <= rows.max() < n:
        raise ValueError(
            f"The first column of the table of labels must hold numbers of rows of X, from 0 to "
            f"{n - 1}."
        )
    unique, counts = np.unique(rows, return_counts=True)
    if (counts > 1).any():
        raise ValueError(
            f"The table of labels has row {unique[counts > 1][0]} more than once. Keep one "
            "label for each row."
        )
    order = np.argsort(rows)
    return Labels(rows[order].astype(np.int64), labels[order])


def _two_columns(table: Any) -> tuple[Any, Any] | None:
    names = getattr(table, "columns", None)
    if names is not None and len(names) == 2:
        return table[names[0]], table[names[1]]
    if isinstance(table, (tuple, list)) and len(table) == 2 and np.ndim(table[0]):
        return table[0], table[1]
    return None
