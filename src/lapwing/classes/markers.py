"""Conversion of y to an array, and detection of the markers of unlabelled rows."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from lapwing._arrays import Array
from lapwing._words import BLANKS, visible

AUTO = "auto"
_KINDS: dict[str, Any] = {"bool": (bool, np.bool_), "number": numbers.Real, "str": str}


def read_column(y: Any) -> Array:
    """Convert a list, array, series or frame of one column to an array of shape (n_samples,).

    NumPy and data frames convert mixed types: integers with missing values to floats, strings and
    numbers to strings. Such columns are read as objects instead. Masked entries of a masked array
    are missing values.

    Raises
    ------
    ValueError
        If y has several columns, or more than two axes.
    """
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if isinstance(y, (list, tuple)) and len(y) and isinstance(y[0], (list, tuple)):
        shape = (len(y), len(y[0]))
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y has {shape[1]} columns, but must have one here. Give one at a time: for "
            "classification a column of labels (of one-hot classes y.argmax(axis=1)), for "
            "regression a target; only `fit` of regressors takes several targets at once."
        )
    if isinstance(y, np.ma.MaskedArray):
        y = unmasked(y)
    if hasattr(y, "columns") and len(y.columns) == 1:
        column_or_1d(y.to_numpy(), dtype=None, warn=True)
        y = y[y.columns[0]]
    if hasattr(y, "to_numpy"):
        values = y.to_numpy()  # conversion by the frame keeps its missing values
        named = str(getattr(y, "dtype", "float")).lower()
        if values.dtype.kind == "f" and not named.startswith("float"):
            values = objects(y.to_list() if hasattr(y, "to_list") else y.tolist())
        y = values
    elif isinstance(y, (list, tuple)) and _is_mixed(y):
        y = objects(y)
    column = np.asarray(column_or_1d(y, dtype=None, warn=True))
    if column.dtype.kind in "OT":
        return objects(map(plain, column))
    return column


def objects(values: Iterable[Any]) -> Array:
    """Return an object array of values without NumPy's conversions."""
    return np.array([*values, None], dtype=object)[:-1]


def settle(values: Array) -> Array:
    """Convert objects to an array of numbers or booleans if all are; return others unchanged."""
    found = {type(value): value for value in values} if values.dtype.kind == "O" else {}
    kinds = set(map(kind_of, found.values()))  # one value per type, so that added labels are fast
    return np.array(values.tolist()) if kinds in ({"number"}, {"bool"}) else values


def plain(value: object) -> Any:
    """Return a value as the user wrote it, for messages: 1 instead of np.int64(1)."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return value  # .item() of a datetime may be a number of nanoseconds
    return value.item() if isinstance(value, np.generic) else value


def is_missing(value: object) -> bool:
    """Return whether a scalar is missing: None, NaN, NaT, pandas.NA, an empty or blank text."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return not visible(value)
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return isinstance(value, numbers.Number) and bool(value != value)


def missing_mask(y: Array) -> Array:
    """Return the mask of the missing values of a column."""
    if y.dtype.kind in "fc":
        return np.asarray(np.isnan(y))
    if y.dtype.kind in "mM":
        return np.asarray(np.isnat(y))
    if y.dtype.kind == "U":
        return np.asarray(np.char.strip(y, BLANKS) == "")
    if y.dtype.kind == "O":
        return np.fromiter((is_missing(value) for value in y), dtype=bool, count=len(y))
    return np.zeros(len(y), dtype=bool)


def kind_of(value: object) -> str:
    """Return 'bool', 'number', 'str' or 'other'; booleans are not numbers here."""
    for name, types in _KINDS.items():
        if isinstance(value, types):
            return name
    return "other"


def unmasked(y: np.ma.MaskedArray) -> Any:
    """Convert a masked array to a plain one, with None where it is masked."""
    if not np.ma.is_masked(y):
        return y.data
    plain_values = y.data.astype(object)
    plain_values[np.ma.getmaskarray(y)] = None
    return plain_values


def _is_mixed(values: Any) -> bool:
    """Return whether NumPy would change values, such as [True, -1] to [1, -1]."""
    texts = {isinstance(value, str) for value in values}
    return len(texts) > 1 or any(
        isinstance(v, (bool, np.bool_)) or (not isinstance(v, str) and is_missing(v))
        for v in values
    )


def is_auto(marker: object) -> bool:
    """Return whether a marker is 'auto'."""
    return isinstance(marker, str) and marker == AUTO


def find_unlabeled(y: Array, marker: object, classes: Array | None = None) -> Array:
    """Return the mask of the unlabelled rows of a column.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Result of `read_column`.
    marker : 'auto', number, str, None or NaN
        See the parameter `unlabeled` of the estimators.
    classes : ndarray of shape (n_classes,), optional
        Classes of a fit, which determine whether -1 is a label. Without them it is if all labels
        are -1 or +1.

    Raises
    ------
    ValueError
        If `marker` is something else.
    """
    if not is_auto(marker):
        return unlabeled_mask(y, marker)
    missing, minus = missing_mask(y), unlabeled_mask(y, -1)
    if classes is None:
        others = y[~missing & ~minus]
        minus_is_a_class = bool(len(others) and unlabeled_mask(others, 1).all())
    else:
        minus_is_a_class = -1 in classes.tolist()
    return missing if minus_is_a_class else np.asarray(missing | minus)


def markers_among(unlabeled: Array, marker: object) -> tuple[Any, ...]:
    """Return the distinct markers of unlabelled rows.

    Parameters
    ----------
    unlabeled : ndarray of shape (n_unlabeled,)
        Entries of these rows, found by `marker`.
    marker : 'auto', number, str, None or NaN

    Returns
    -------
    tuple
        -1, None for missing values, '' for empty strings, or the given marker.
    """
    if not (is_auto(marker) or is_missing(marker)):
        return (plain(marker),) if len(unlabeled) else ()
    missing = missing_mask(unlabeled)
    empty = {isinstance(value, str) for value in unlabeled[missing]}
    found = ((-1, not missing.all()), (None, False in empty), ("", True in empty))
    return tuple(value for value, there in found if there)


def unlabeled_mask(y: Array, marker: object) -> Array:
    """Return the mask of the entries that equal a marker; None, NaN and '' match any missing value.

    Raises
    ------
    ValueError
        If `marker` is not a number, string, None or NaN.
    """
    if not (is_missing(marker) or isinstance(marker, (str, numbers.Real, np.generic))):
        raise ValueError(
            f"unlabeled={marker!r} cannot mark unlabelled points: give 'auto', a number, a string, "
            "None or NaN (any missing value)."
        )
    if is_missing(marker):
        return missing_mask(y)
    # True == 1 in Python: a label equals the marker only if it has the same kind.
    kind = kind_of(marker)
    if y.dtype.kind == "O":
        return np.fromiter(
            (kind_of(value) == kind and bool(value == marker) for value in y),
            dtype=bool,
            count=len(y),
        )
    if not len(y) or kind_of(y[0]) != kind:
        return np.zeros(len(y), dtype=bool)
    return np.asarray(y == marker)
