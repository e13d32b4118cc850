"""Types and predicates of arrays that every module needs, and blocks of their rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

BLOCK_BYTES = 2**26  # 64 MB: what a loop over rows holds at a time unless it says otherwise


def is_sparse(X: Any) -> bool:
    """Whether X is a SciPy sparse array or matrix.

    A plain bool: the type that ``scipy.sparse.issparse`` narrows to has no arithmetic.
    """
    return bool(sp.issparse(X))


def times_power_of_2(X: Any, exponent: int) -> Any:
    """X 2^exponent for a dense or sparse X, exact unless it leaves the range of its precision.

    Also for powers that the precision itself cannot hold.
    """
    if exponent == 0:
        return X
    if not is_sparse(X):
        return np.ldexp(X, exponent)
    scaled = X.copy()
    scaled.data = np.ldexp(X.data, exponent)
    return scaled


def refuse_masked(values: Any, name: str, cure: str) -> None:
    """Refuse a masked array of which something is masked: its mask would be lost without a sign.

    Raises
    ------
    ValueError
        Naming the array and what to do.
    """
    masked = int(np.ma.getmaskarray(values).sum()) if isinstance(values, np.ma.MaskedArray) else 0
    if masked:
        raise ValueError(
            f"{name} is a masked array with {masked} masked values, which would be read as if they "
            f"were known. {cure}"
        )


def row_blocks(n_rows: int, bytes_per_row: int, budget: int = BLOCK_BYTES) -> Iterator[slice]:
    """Slices that cut n_rows rows into blocks of at most `budget` bytes."""
    step = max(1, budget // max(1, bytes_per_row))
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def even_blocks(indptr: Array, n_blocks: int) -> list[slice]:
    """At most n_blocks slices of the rows of a CSR matrix, of equal work.

    Not of equal height: the hubs of a graph gather edges.

    Parameters
    ----------
    indptr : ndarray of shape (n_rows + 1,)
    n_blocks : int
    """
    inner = np.searchsorted(indptr, np.linspace(0, indptr[-1], n_blocks + 1)[1:-1])
    cuts = np.unique([0, *inner, len(indptr) - 1]).tolist()
    return [slice(*cut) for cut in pairwise(cuts)]
