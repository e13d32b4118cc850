"""Types and predicates of arrays that every module needs, and how their rows are cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from lapwing._words import quoted

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_CURES = {
    "NaN": (
        "Fill the gaps first, e.g. make_pipeline(SimpleImputer(), ...) of scikit-learn, or leave "
        "these rows out. Only y may have missing values: they mark rows without a label."
    ),
    "infinity": "Replace it by a number, or leave these rows out.",
}
_KERNEL_CURE = (
    "X is a kernel matrix (kernel='precomputed'): mend the points that it comes from and compute "
    "it again, or leave these points out of its rows and columns."
)
_TEXT_SHOWN = 40  # characters
_TIMES = ("date", "time", "duration", "period")  # as pandas and polars call these types

BLOCK_BYTES = 2**26  # 64 MB: what a loop over rows holds at a time unless it says otherwise


# of masked points
_MASK_CURE = "Fill them first, e.g. SimpleImputer().fit_transform(X.filled(numpy.nan))."


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


def refuse_gaps(X: Any, names: Any = None, *, pairwise: bool = False) -> None:
    """Refuse points with values that are missing or infinite.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, n_features)
    names : sequence of str, default=None
        Of the features.
    pairwise : bool, default=False
        Whether X is a kernel matrix.

    Raises
    ------
    ValueError
        Naming the first place and what to do.
    """
    values = X.data if is_sparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return  # one pass, and no mask
    missing = np.isnan(values)
    kind, wrong = ("NaN", missing) if missing.any() else ("infinity", np.isinf(values))
    if not wrong.any():
        return
    place = np.argwhere(wrong)[0]
    if is_sparse(X):
        place = (np.searchsorted(X.indptr, place[0], side="right") - 1, X.indices[place[0]])
    row, column = map(int, place)
    called = "" if names is None else f", {str(names[column])!r},"
    count = int(wrong.sum())
    cure = _KERNEL_CURE if pairwise else _CURES[kind]
    raise ValueError(
        f"Input X contains {kind} in {count} place{'s' * (count > 1)}, first in row {row}, column "
        f"{column}{called} (counted from 0). {cure}"
    )


def refuse_misread(X: Any) -> None:
    """Refuse points that would be read as other numbers than they are.

    Those under a mask would count as known, and dates and times as nanoseconds.

    Raises
    ------
    ValueError
        Naming the columns and what to do; for columns of a frame with the same name, too.
    """
    refuse_masked(X, "X", _MASK_CURE)
    if isinstance(X, np.ndarray):
        where = "" if X.dtype.kind in "mM" else None
    else:
        columns = [str(name) for name in getattr(X, "columns", ())]
        _refuse_doubles(columns)
        dtypes = zip(columns, getattr(X, "dtypes", ()), strict=False)
        where = _among([name for name, dtype in dtypes if str(dtype).lower().startswith(_TIMES)])
    if where is not None:
        raise ValueError(
            f"X holds dates or times{where}, and it takes numbers. Make such numbers of them as "
            "tell the rows apart, e.g. days since the first or the month, or leave them out."
        )


@contextmanager
def texts_told(X: Any) -> Iterator[None]:
    """Tell of points that are texts where they are and what to do, in place of `float`'s words."""
    try:
        yield
    except ValueError as error:
        said, _, text = str(error).partition(": ")
        if said != "could not convert string to float":
            raise
        text = text.removeprefix("np.str_(").removesuffix(")")
        shown = text if len(text) <= _TEXT_SHOWN else f"{text[:_TEXT_SHOWN]}...'"
        names = [str(name) for name in getattr(X, "columns", ()) if _holds_texts(X[name])]
        raise ValueError(
            f"X holds texts{_among(names) or ''}, such as {shown}, and features are numeric. Make "
            "numbers of them first, by TfidfVectorizer of documents and by OneHotEncoder of "
            "categories (make_column_transformer does it to some columns), or leave them out."
        ) from error


def _refuse_doubles(names: list[str]) -> None:
    if len(set(names)) < len(names):
        double, count = Counter(names).most_common(1)[0]
        raise ValueError(
            f"X has {count} columns with the name {double!r}. Give each a name of its own, or "
            "leave out those that are too many."
        )


def _holds_texts(column: Any) -> bool:
    try:
        np.asarray(column).astype(np.float64)
    except (TypeError, ValueError):
        return True
    return False


def _among(names: list[str]) -> str | None:
    return f" in {quoted(names)}" if names else None


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
