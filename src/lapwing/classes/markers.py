"""What marks a row as unlabelled.

``unlabeled='auto'`` takes as no label

- missing values of any kind: None, NaN, NaT, pandas.NA, and texts that are empty or blank;
- and the number -1, as in scikit-learn.

There is one exception. Where -1 and +1 are all the numbers that y holds, both are classes, since a
classifier needs two: then missing values alone mark, and where there are none, every row is
labelled.

Any other marker is one value, and nothing else marks; None, NaN and '' all stand for missing values
of any kind, as data frames turn one into the other. `lapwing.classes.slips` finds where a marker
cannot be meant so.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.column import is_missing, kind_of, missing_mask, plain

AUTO = "auto"


@dataclass(frozen=True)
class Unlabeled:
    """The unlabelled rows of y.

    Attributes
    ----------
    mask : ndarray of bool of shape (n_samples,)
    found : tuple
        What marked them, each value once: -1, None for missing values, '' for empty texts, or the
        marker that was given. Empty if no row is unlabelled.
    """

    mask: Array
    found: tuple[Any, ...]


def is_auto(marker: Any) -> bool:
    """Whether a marker is 'auto'."""
    return isinstance(marker, str) and marker == AUTO


def find_unlabeled(y: Array, marker: Any) -> Unlabeled:
    """The unlabelled rows of a column.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        As `lapwing.classes.column.read_column` gives it.
    marker : 'auto', number, str, None or NaN
        See the module.

    Raises
    ------
    ValueError
        If `marker` is something else.
    """
    if not is_auto(marker):
        mask = unlabeled_mask(y, marker)
        if is_missing(marker):
            return Unlabeled(mask, _missing_values(y, mask))
        return Unlabeled(mask, (plain(marker),) if mask.any() else ())
    missing = missing_mask(y)
    found = _missing_values(y, missing)
    minus = unlabeled_mask(y, -1)
    if not minus.any() or _all_plus_one(y[~missing & ~minus]):
        return Unlabeled(missing, found)
    return Unlabeled(missing | minus, (-1, *found))


def unlabeled_among(y: Array, marker: Any, classes: Array) -> Array:
    """Mask of the unlabelled rows of a column whose classes are known from a fit.

    There -1 is a class or it is none, whatever else this y holds.
    """
    if not is_auto(marker):
        return unlabeled_mask(y, marker)
    missing = missing_mask(y)
    if any(kind_of(label) == "number" and label == -1 for label in classes.tolist()):
        return missing
    return np.asarray(missing | unlabeled_mask(y, -1))


def unlabeled_mask(y: Array, marker: Any) -> Array:
    """Mask of the entries of a column that are one marker; None, NaN and '' are any missing value.

    Raises
    ------
    ValueError
        If `marker` is no number, text, None or NaN.
    """
    if not (is_missing(marker) or isinstance(marker, (str, numbers.Real, np.generic))):
        raise ValueError(
            f"unlabeled={marker!r} cannot mark unlabelled points: give 'auto', a number, a string, "
            "None or NaN (any missing value)."
        )
    if is_missing(marker):
        return missing_mask(y)
    # True == 1 in Python; a label is the marker only if it is of the marker's kind as well.
    kind = kind_of(plain(marker))
    if y.dtype.kind == "O":
        return np.fromiter(
            (kind_of(value) == kind and bool(value == marker) for value in y),
            dtype=bool,
            count=len(y),
        )
    if {"U": "str", "b": "bool", "i": "number", "u": "number", "f": "number"}.get(
        y.dtype.kind
    ) != kind:
        return np.zeros(len(y), dtype=bool)
    return np.asarray(y == marker)


def _missing_values(y: Array, mask: Array) -> tuple[Any, ...]:
    """What missing values a column holds: None for those that are none, '' for empty texts."""
    if not mask.any():
        return ()
    empty = {isinstance(value, str) for value in y[mask]}
    return (*((None,) if False in empty else ()), *(("",) if True in empty else ()))


def _all_plus_one(values: Array) -> bool:
    """Whether there are values, and all are the number +1."""
    if not len(values):
        return False
    return bool(unlabeled_mask(values, 1).all())
