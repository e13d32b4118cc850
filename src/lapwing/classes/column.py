"""y of any container, read as one array whose values are those that the user wrote."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from lapwing._arrays import Array
from lapwing._words import BLANKS, visible


def read_column(y: Any) -> Array:
    """A list, array, series or frame of one column as an array of shape (n_samples,).

    NumPy and data frames change values where types mix: a column of whole numbers with gaps comes
    as floats, a list of texts and numbers as texts. Such columns are read as objects instead. The
    masked entries of a masked array are missing values.
    """
    if isinstance(y, np.ma.MaskedArray):
        y = _unmasked(y)
    if hasattr(y, "columns") and len(y.columns) == 1:
        column_or_1d(y.to_numpy(), dtype=None, warn=True)
        y = y[y.columns[0]]
    if hasattr(y, "to_numpy"):
        values = y.to_numpy()  # a frame's own way keeps its missing values
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
    """An array of the values as they are, whatever NumPy would make of them."""
    return np.array([*values, None], dtype=object)[:-1]


def settle(values: Array) -> Array:
    """Objects that are all numbers, or all booleans, as an array of such; others as they are."""
    kinds = {kind_of(value) for value in values} if values.dtype.kind == "O" else set()
    return np.array(values.tolist()) if kinds in ({"number"}, {"bool"}) else values


def plain(value: Any) -> Any:
    """A value as the user wrote it: 1 and not np.int64(1) in a message."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return value  # .item() may be a count of nanoseconds
    return value.item() if isinstance(value, np.generic) else value


def is_missing(value: Any) -> bool:
    """Whether a scalar means "no value": None, NaN, NaT, pandas.NA, a text of nothing or blanks."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return not visible(value)
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return isinstance(value, numbers.Number) and bool(value != value)


def missing_mask(y: Array) -> Array:
    """Mask of the missing values of a column."""
    if y.dtype.kind in "fc":
        return np.asarray(np.isnan(y))
    if y.dtype.kind in "mM":
        return np.asarray(np.isnat(y))
    if y.dtype.kind == "U":
        return np.asarray(np.char.strip(y, BLANKS) == "")
    if y.dtype.kind == "O":
        return np.fromiter((is_missing(value) for value in y), dtype=bool, count=len(y))
    return np.zeros(len(y), dtype=bool)


def kind_of(value: Any) -> str:
    """'bool', 'number', 'str' or 'other'; True is no number here, though True == 1 in Python."""
    for name, types in (
        ("bool", (bool, np.bool_)),
        ("number", (numbers.Real,)),
        ("str", (str,)),
    ):
        if isinstance(value, types):
            return name
    return "other"


def _unmasked(y: Any) -> Any:
    """A masked array as a plain one, with None where it is masked."""
    if not np.ma.is_masked(y):
        return y.data
    plain_values = y.data.astype(object)
    plain_values[np.ma.getmaskarray(y)] = None
    return plain_values


def _is_mixed(values: Any) -> bool:
    """Whether NumPy would change values: [True, -1] into [1, -1], ['a', -1, None] into texts."""
    texts = {isinstance(value, str) for value in values}
    return len(texts) > 1 or any(
        isinstance(v, (bool, np.bool_)) or (not isinstance(v, str) and is_missing(v))
        for v in values
    )
