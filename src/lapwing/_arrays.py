"""Array types and predicates for all modules, and blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


class SparseMatrix(Protocol):
    """Protocol of SciPy's sparse arrays and matrices.

    The type to which ``scipy.sparse.issparse`` narrows has no arithmetic.
    """

    data: Any
    indices: Any
    indptr: Any
    format: str
    has_canonical_format: bool

    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def nnz(self) -> int: ...
    @property
    def T(self) -> Any: ...  # noqa: N802
    def __getitem__(self, key: Any, /) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any: ...
    def __rmatmul__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __abs__(self) -> Any: ...
    def astype(self, dtype: Any, *, copy: bool = ...) -> Any: ...
    def copy(self) -> Any: ...
    def diagonal(self) -> Any: ...
    def max(self) -> Any: ...
    def min(self) -> Any: ...
    def nonzero(self) -> tuple[Array, Array]: ...
    def multiply(self, other: Any, /) -> Any: ...
    def sum(self, axis: int | None = ...) -> Any: ...
    def sum_duplicates(self) -> None: ...
    def toarray(self) -> Array: ...
    def tocoo(self) -> Any: ...
    def tocsc(self) -> Any: ...
    def tocsr(self) -> Any: ...


Matrix: TypeAlias = Array | SparseMatrix
"""Points, features or a kernel in memory."""

RandomSource: TypeAlias = int | np.random.RandomState | None
"""Values of ``random_state=`` in scikit-learn."""

BLOCK_BYTES = 2**26  # 64 MB, the default memory for a block in a loop over rows
DISK_BLOCK_BYTES = 2**24  # for a block of rows on disk, as several arrays of its size are made


def is_sparse(X: object) -> TypeIs[SparseMatrix]:
    """Return whether X is a SciPy sparse array or matrix."""
    return bool(sp.issparse(X))


def as_dense(X: Any) -> Array:
    """Return an array or a sparse matrix as an array; arrays are not copied."""
    return X.toarray() if is_sparse(X) else np.asarray(X)


def times_power_of_2(X: Any, exponent: int) -> Any:
    """Compute X 2^exponent for a dense or sparse X, without rounding unless it leaves the range.

    The power itself may be out of the range of the precision.
    """
    if exponent == 0:
        return X
    if not is_sparse(X):
        return np.ldexp(X, exponent)
    scaled = X.copy()
    scaled.data = np.ldexp(X.data, exponent)
    return scaled


def refuse_masked(values: Any, name: str, cure: str) -> None:
    """Raise ValueError for an array with masked values, whose mask would be lost.

    Raises
    ------
    ValueError
        The message names the array and what to do.
    """
    masked = int(np.ma.getmaskarray(values).sum()) if isinstance(values, np.ma.MaskedArray) else 0
    if masked:
        raise ValueError(
            f"{name} is a masked array with {masked} masked values, which would be read as if they "
            f"were known. {cure}"
        )


def row_blocks(n_rows: int, bytes_per_row: int, budget: int = BLOCK_BYTES) -> Iterator[slice]:
    """Iterate over slices that divide n_rows rows into blocks of at most `budget` bytes."""
    step = max(1, budget // max(1, bytes_per_row))
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def even_blocks(indptr: Array, n_blocks: int) -> list[slice]:
    """Divide the rows of a CSR matrix into at most n_blocks slices of about equal work.

    Blocks of equal height would differ in work, as hubs of a graph have many edges.

    Parameters
    ----------
    indptr : ndarray of shape (n_rows + 1,)
        Offsets of the rows of the matrix.
    n_blocks : int
    """
    inner = np.searchsorted(indptr, np.linspace(0, indptr[-1], n_blocks + 1)[1:-1])
    cuts = np.unique([0, *inner, len(indptr) - 1]).tolist()
    return [slice(*cut) for cut in pairwise(cuts)]
