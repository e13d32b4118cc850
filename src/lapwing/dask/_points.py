"""X of a cluster: Dask arrays and frames, read once into blocks of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.random import sample_without_replacement

from lapwing._arrays import Array, is_sparse
from lapwing._features import reading_features
from lapwing._host.optional import require
from lapwing._host.warn import warn
from lapwing.dask._session import Each, Session
from lapwing.dask._tall import Tall
from lapwing.exceptions import DaskWarning

_SAMPLE_BYTES = 2**22  # of rows that are looked at where all would tell no more


@dataclass(frozen=True, eq=False)
class Points:
    """Points and what is known of them after one pass.

    Attributes
    ----------
    rows : Tall
        Of shape (n, n_features), float32 or float64, finite.
    names : ndarray of shape (n_features,) or None
        Of the features, if they are texts.
    largest : float
        Largest magnitude of an entry.
    mean : ndarray of shape (n_features,)
        Float64.
    """

    rows: Tall
    names: Array | None
    largest: float
    mean: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.shape

    @property
    def dtype(self) -> Any:
        return self.rows.dtype

    def __getitem__(self, index: Any) -> Array:
        return np.asarray(self.rows[index])

    def sample(self, n_rows: int | None = None, random: Any = 0) -> Array:
        """Some rows, drawn without replacement, in their order; all if they are no more."""
        n, d = self.shape
        if n_rows is None:
            n_rows = max(100, _SAMPLE_BYTES // (8 * d))
        if n_rows >= n:
            return self[np.arange(n)]
        drawn = sample_without_replacement(n, n_rows, random_state=random)
        return self[np.sort(drawn)]

    def variances(self) -> Array:
        """Variances of the features, in a second pass that loses no digits."""
        squares = self.rows.total(_squares_around, self.mean)
        return np.asarray(squares / self.shape[0])


def is_collection(X: Any) -> bool:
    """Whether X is one of Dask's collections."""
    return hasattr(X, "__dask_graph__")


def is_array(X: Any) -> bool:
    """Whether it is an array and no frame."""
    return is_collection(X) and hasattr(X, "chunks") and hasattr(X, "numblocks")


def chunks_of(X: Any, name: str) -> list[Any]:
    """The chunks of an array or a frame, as delayed objects.

    Raises
    ------
    TypeError
        For anything else.
    """
    if not is_collection(X) or not hasattr(X, "to_delayed"):
        raise TypeError(
            f"{name} must be a Dask array or frame, not {type(X).__name__}. Make one, e.g. by "
            "dask.array.from_array(X, chunks=(100_000, -1)), or use the estimator of lapwing with "
            "the same name without Dask."
        )
    if not is_array(X):
        return list(np.ravel(X.to_delayed()))
    if X.ndim == 2 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return list(np.ravel(X.to_delayed()))


def read_points(session: Session, X: Any) -> Points:
    """Read X in one pass, and check it.

    Raises
    ------
    TypeError, ValueError
        For what is no table of finite numbers.

    Warns
    -----
    DaskWarning
        If it is not persisted, or its chunks have unknown sizes.
    """
    names = _names(X)
    delayed = chunks_of(X, "X")
    if is_array(X) and X.ndim != 2:
        raise ValueError(f"X must have two dimensions, one row a point; it has {X.ndim}.")
    _warn_of_chunks(X)
    chunks = session.client.compute(delayed)
    blocks = session.each(_numbers, len(chunks), Each(chunks))
    found = session.gather(session.each(_look, len(blocks), Each(blocks)))
    widths = {f.shape[1] for f in found}
    if len(widths) > 1:
        raise ValueError(f"The chunks of X have different numbers of features, {sorted(widths)}.")
    dtypes = {f.dtype for f in found if f.shape[0]} or {f.dtype for f in found}
    dtype = np.result_type(*dtypes)
    rows = Tall(session, tuple(blocks), tuple(f.shape[0] for f in found), widths.pop(), dtype)
    if len(dtypes) > 1:
        rows = rows.map(_as_type, dtype)
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
    return Points(rows, names, largest, np.asarray(sum(f.sums for f in found) / n))


class _Look(NamedTuple):
    shape: tuple[int, int]
    dtype: Any
    wrong: int | None  # first row that is not finite
    largest: float
    sums: Array


def _numbers(chunk: Any) -> Array:
    """A chunk as an array of floats, row after row."""
    if is_sparse(chunk):
        raise TypeError(
            "X has sparse chunks, which are not read on a cluster. Use X.map_blocks(lambda block: "
            "block.toarray()), or fewer features."
        )
    with reading_features(chunk):
        block = chunk.to_numpy() if hasattr(chunk, "to_numpy") else np.asarray(chunk)
    if block.ndim != 2:
        raise ValueError(f"The chunks of X must have two dimensions; one has {block.ndim}.")
    if block.dtype.kind == "c":  # a cast would leave out the imaginary parts
        raise ValueError("X must hold real numbers only, and it holds complex ones.")
    if block.dtype not in (np.float32, np.float64):
        try:
            with reading_features(chunk):
                block = block.astype(np.float64)
        except TypeError as error:
            raise ValueError(f"X must hold numbers only: {error}.") from error
    return np.ascontiguousarray(block)


def _look(block: Array) -> _Look:
    finite = np.isfinite(block).all(axis=1)
    wrong = None if finite.all() else int(np.argmin(finite))
    largest = float(np.abs(block).max(initial=0.0)) if wrong is None else np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        sums = block.sum(axis=0, dtype=np.float64)
    return _Look(block.shape, block.dtype, wrong, largest, sums)


def _squares_around(block: Array, mean: Array) -> Array:
    return np.asarray(((block - mean) ** 2).sum(axis=0))


def _as_type(block: Array, dtype: Any) -> Array:
    return block.astype(dtype, copy=False)


def _names(X: Any) -> Array | None:
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return np.asarray(list(columns), dtype=object)


def _warn_of_chunks(X: Any) -> None:
    futures_of = require("distributed", extra="dask", purpose="lapwing.dask").futures_of
    held = {future.key for future in futures_of(X)}
    keys = list(_flat(X.__dask_keys__()))
    if not all(key in held for key in keys):
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


def _flat(keys: Any) -> Any:
    for key in keys:
        if isinstance(key, list):
            yield from _flat(key)
        else:
            yield key
