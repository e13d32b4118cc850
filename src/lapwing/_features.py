"""Checks that X is a table of finite numbers, with errors that name the place and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, time, timedelta
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from lapwing._arrays import is_sparse, refuse_masked
from lapwing._words import quoted

_ENCODE = (
    "Put lapwing.TableEncoder before the estimator, make_pipeline(TableEncoder(), ...): it makes "
    "numbers of the columns of a data frame. Or leave them out."
)
_CURES = {
    "NaN": (
        "Fill the gaps first, e.g. make_pipeline(SimpleImputer(), ...) of scikit-learn or "
        "lapwing.TableEncoder() for a data frame, or leave these rows out. Only y may have missing "
        "values: they mark rows without a label."
    ),
    "infinity": "Replace it by a number, or leave these rows out.",
}
_KERNEL_CURE = (
    "X is a kernel matrix (kernel='precomputed'): mend the points that it comes from and compute "
    "it again, or leave these points out of its rows and columns."
)
_MASK_CURE = "Fill them first, e.g. SimpleImputer().fit_transform(X.filled(numpy.nan))."
_TEXT_SHOWN = 40  # characters
_TIME_DTYPES = ("date", "time", "duration", "period")  # names of these types in pandas and polars
# First words of the errors of NumPy, SciPy and scikit-learn for values that are not numbers.
_CONVERSION_ERRORS = (
    "could not convert string to float",
    "float() argument must be",
    "setting an array element with a sequence",
    "Cannot cast array data",
    "Complex data not supported",
    "Expected 2D array, got 1D array",
    "Expected 2D array, got scalar array",
    "Expected a 2-dimensional container",
    "fill value must be 0",
)


@contextmanager
def reading_features(X: object) -> Iterator[None]:
    """Re-raise errors of the conversion of X to numbers with the names of the columns.

    Values that NumPy would silently convert to wrong numbers raise an error first: masked values,
    and dates and times, which would become nanoseconds.

    Raises
    ------
    ValueError
        The message names the columns and what to do.
    TypeError
        For objects that are neither numbers nor strings.
    """
    refuse_masked(X, "X", _MASK_CURE)
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        raise _times_error([])
    refuse_query(X)
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        names = [str(name) for name in X.columns]
        refuse_repeated(names)
        times = [
            name
            for name, dtype in zip(names, X.dtypes, strict=True)
            if str(dtype).lower().startswith(_TIME_DTYPES)
        ]
        if times:
            raise _times_error(times)
    try:
        yield
    except (TypeError, ValueError) as error:
        if not str(error).startswith(_CONVERSION_ERRORS):
            raise
        raise _explained(X, error) from error


def read_features(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    header: Any = None,
    pairwise: bool = False,
    accept_sparse: Any = "csr",
) -> Any:
    """Convert X to finite numbers in float64 or float32, by scikit-learn's checks and ours.

    Parameters
    ----------
    estimator : estimator
        Estimator whose feature names and number of features are set (`reset`) or compared.
    X : array-like
    reset : bool
    header : object, optional
        Result of `header_of`, if X is an array that was read from a file.
    pairwise : bool, default=False
        Whether X is a kernel matrix.
    accept_sparse : str or bool, default='csr'
    """
    checks: dict[str, Any] = {
        "dtype": (np.float64, np.float32),
        "ensure_min_samples": 2 if reset else 1,
        "ensure_all_finite": False,  # `refuse_gaps` says where, and what to do
        "accept_sparse": accept_sparse,
    }
    with reading_features(X):
        if header is None:
            X = validate_data(estimator, X, reset=reset, **checks)
        else:
            validate_data(estimator, header, reset=reset, skip_check_array=True)
            X = check_array(X, estimator=estimator, input_name="X", **checks)
    refuse_gaps(X, getattr(estimator, "feature_names_in_", None), pairwise=pairwise)
    return canonical(X)


def canonical(X: Any) -> Any:
    """Convert CSR points to the form that scikit-learn's compiled loops expect; others are kept.

    They compute squared norms entry by entry, wrongly for duplicate entries, and some of them take
    32-bit indices only.
    """
    if not is_sparse(X):
        return X
    # `sum_duplicates` works in place, and the user's matrix must not change.
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.indices.dtype != np.int32 and max(X.nnz, *X.shape) <= np.iinfo(np.int32).max:
        parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
        X = type(X)(parts, shape=X.shape)
    return X


def refuse_gaps(X: Any, names: Any = None, *, pairwise: bool = False) -> None:
    """Raise ValueError for missing or infinite values.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, n_features)
    names : sequence of str, default=None
        Names of the features.
    pairwise : bool, default=False
        Whether X is a kernel matrix.

    Raises
    ------
    ValueError
        The message names the first such entry and what to do.
    """
    values = X.data if is_sparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return  # all values are finite; takes one pass and no mask
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


def _explained(X: Any, error: TypeError | ValueError) -> TypeError | ValueError:
    """Return the error to raise instead of NumPy's."""
    reason = str(error).partition("\n")[0]
    shape = getattr(X, "shape", None) or np.shape(np.asarray(X, dtype=object))
    if reason.startswith("Complex"):
        return ValueError(f"{reason}: X contains complex numbers. Give real and imaginary parts.")
    if reason.startswith("fill value"):
        return ValueError(
            "X is a frame of sparse columns whose fill value is not 0. Give X.sparse.to_dense()."
        )
    if len(shape) == 0:
        return type(error)(
            f"X is of type {type(X).__name__}. Give the points as a table of shape (n_samples, "
            f"n_features): an array, a sparse matrix or a data frame ({reason.rstrip(':')})."
        )
    found = _not_numeric(X)
    if not found:
        if len(shape) == 1 and hasattr(X, "to_frame"):
            return ValueError(
                f"X is one column of {shape[0]} values. Features are a table: give X.to_frame()."
            )
        return type(error)(str(error))
    value = found[0][1]
    names = [name for name, other in found if name is not None and _kind(other) == _kind(value)]
    where = _in_columns(names)
    match _kind(value):
        case "text":
            return _texts_error(value, where)
        case "time":
            return _times_error(names)
        case "gap":
            return ValueError(f"X contains {value!r}{where}, a missing value. {_CURES['NaN']}")
        case "sequence":
            return ValueError(
                f"X contains {type(value).__name__}s{where} where one number per cell is required. "
                "Give rows of equal length, with a column for each entry."
            )
    return TypeError(
        f"X contains objects of type {type(value).__name__}{where}, and features are numbers. Make "
        f"numbers of them, or leave them out ({reason})."
    )


def _not_numeric(X: Any) -> list[tuple[str | None, Any]]:
    """Return the first value that is not a number, of each column of a frame or of an array."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        columns: list[tuple[str | None, Any]] = [(str(name), X[name]) for name in X.columns]
    else:
        columns = [(None, X)]
    found: list[tuple[str | None, Any]] = []
    for name, column in columns:
        cells = np.asarray(column, dtype=object)
        if name is not None and cells.ndim > 1:
            found.append((name, cells[0]))
            continue
        try:
            cells.astype(np.float64)
        except (TypeError, ValueError):
            found += [(name, cell) for cell in cells.flat if not _is_numeric(cell)][:1]
    return found


def _is_numeric(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return cell is None  # None becomes NaN
    return True


def _kind(value: Any) -> str:
    if isinstance(value, (str, bytes)):
        return "text"
    if type(value).__name__ in ("NAType", "NaTType"):
        return "gap"
    times = (date, time, timedelta, np.datetime64, np.timedelta64)
    if isinstance(value, times) or type(value).__name__ == "Period":
        return "time"
    return "sequence" if np.ndim(value) or type(value).__name__ == "Series" else "object"


def _texts_error(text: str | bytes, where: str) -> ValueError:
    text = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
    shown = repr(text) if len(text) < _TEXT_SHOWN else f"{repr(text)[:_TEXT_SHOWN]}...'"
    return ValueError(
        f"X contains texts{where}, such as {shown}, and features are numeric. {_ENCODE} For "
        "documents only, use TfidfVectorizer."
    )


def _times_error(names: list[str]) -> ValueError:
    return ValueError(
        f"X contains dates or times{_in_columns(names)}, and features are numbers. {_ENCODE}"
    )


def refuse_query(X: object) -> None:
    """Raise ValueError for a query of polars.

    It is not computed, as a search or a comparison would compute it for each fit.
    """
    if hasattr(X, "collect") and not hasattr(X, "to_numpy"):
        raise ValueError(
            f"X is a {type(X).__name__}, a query that has no values yet. Give X.collect()."
        )


def refuse_repeated(names: list[str]) -> None:
    """Raise ValueError for columns with the same name."""
    if len(set(names)) < len(names):
        double, count = Counter(names).most_common(1)[0]
        raise ValueError(
            f"X has {count} columns with the name {double!r}. Give each a unique name, or drop "
            "the duplicates."
        )


def _in_columns(names: list[str]) -> str:
    return f" in {quoted(names)}" if names else ""
