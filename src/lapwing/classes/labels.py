"""Labels: the unlabelled marker, class coding, decoding."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from lapwing._arrays import Array

__all__ = [
    "ClassLabels",
    "code_classes",
    "code_known",
    "decode",
    "labeled_rows",
    "read_targets",
    "unlabeled_mask",
]


@dataclass(frozen=True)
class ClassLabels:
    """Class labels, coded.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Sorted labels.
    codes : ndarray of shape (n_samples,)
        Positions in `classes`; -1 where unlabelled.
    """

    classes: Array
    codes: Array

    @property
    def labeled(self) -> Array:
        return self.codes >= 0


def is_missing(value: Any) -> bool:
    """Whether a scalar means "no value": None, NaN, or the missing value of a data frame."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, numbers.Real) and value != value


def unlabeled_mask(y: Array, marker: Any) -> Array:
    """Mask of the entries of y that carry the unlabelled marker.

    None and NaN are one marker: both mean every missing value, as data frames turn one into the
    other.
    """
    if not (marker is None or isinstance(marker, (str, numbers.Real, np.generic))):
        raise ValueError(
            f"unlabeled={marker!r} cannot mark unlabelled points: give a number, a string, None or "
            "NaN (any missing value)."
        )
    if is_missing(marker):
        if y.dtype.kind == "f":
            return np.isnan(y)
        if y.dtype.kind in "mM":
            return np.isnat(y)
        if y.dtype.kind == "O":
            return np.fromiter((is_missing(value) for value in y), dtype=bool, count=len(y))
        return np.zeros(len(y), dtype=bool)
    # True == 1 in Python; a label is the marker only if it is of the marker's kind as well.
    boolean = isinstance(marker, (bool, np.bool_))
    if y.dtype.kind == "O":
        return np.fromiter(
            (
                not is_missing(value)
                and isinstance(value, (bool, np.bool_)) == boolean
                and isinstance(value, str) == isinstance(marker, str)
                and bool(value == marker)
                for value in y
            ),
            dtype=bool,
            count=len(y),
        )
    if (y.dtype.kind in "US") != isinstance(marker, str) or (y.dtype.kind == "b") != boolean:
        return np.zeros(len(y), dtype=bool)
    return np.asarray(y == marker)


def labeled_rows(y: Any, marker: Any) -> Array:
    """Mask of the entries of y, of any type, that do not carry the unlabelled marker."""
    return ~unlabeled_mask(_column(y), marker)


def code_classes(y: Any, marker: Any) -> ClassLabels:
    """Read class labels of any type.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    marker : number, str, None or NaN
        What marks unlabelled points.

    Raises
    ------
    ValueError
        No label, one class only, the marker collides with a class, labels that are not classes.
    """
    y = _column(y)
    if y.dtype.kind == "O":
        y = _objects(map(_plain, y))
    mask = unlabeled_mask(y, marker)
    if mask.all():
        raise ValueError(
            f"y holds no label: all {len(y)} entries are the unlabelled marker "
            f"unlabeled={marker!r}. Label at least one point of each class."
        )
    known = _labels(y[~mask], marker)
    _refuse_collisions(known, mask, marker)
    classes, codes = np.unique(known, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class only, {_plain(classes[0])!r}, beside the unlabelled marker "
            f"unlabeled={marker!r}: a classifier needs labels of at least 2 classes. "
            f"{_collision_hint(_plain(classes[0]), mask, marker)}"
        )
    coded = np.full(len(y), -1, dtype=np.intp)
    coded[~mask] = codes
    return ClassLabels(classes, coded)


def code_known(y: Any, classes: Array) -> Array:
    """Codes of labels that must all be among known classes.

    Raises
    ------
    ValueError
        Naming those that are not.
    """
    position = {label: code for code, label in enumerate(classes.tolist())}
    labels = _column(y).tolist()
    strangers = {repr(label) for label in labels if position.get(label, -1) < 0}
    if strangers:
        raise ValueError(
            f"validation_data holds labels that the training labels do not: "
            f"{', '.join(sorted(strangers))}. Give labelled points of the classes "
            f"{', '.join(map(repr, position))}."
        )
    return np.array([position[label] for label in labels], dtype=np.intp)


def decode(codes: Array, classes: Array) -> Array:
    """Labels from class codes."""
    return classes[codes]


def read_targets(y: Any) -> tuple[Array, Array]:
    """Targets of a regression and the mask of the labelled ones; NaN is unlabelled.

    Raises
    ------
    ValueError
        Not numbers, infinite values, or no labelled point.
    """
    y = _column(y)
    if y.dtype.kind in "fiub":
        targets = y.astype(np.float64)
    else:
        targets = np.array([_target(value) for value in y], dtype=np.float64)
    if np.isinf(targets).any():
        raise ValueError(
            f"Input y contains infinity, first at row {np.flatnonzero(np.isinf(targets))[0]}. "
            "Only NaN marks an unlabelled point."
        )
    labeled = ~np.isnan(targets)
    if not labeled.any():
        raise ValueError(
            f"y holds no label: all {len(y)} entries are NaN, which marks unlabelled points. "
            "Give at least one target."
        )
    return targets, labeled


def _target(value: Any) -> float:
    if is_missing(value):
        return np.nan
    try:
        if not isinstance(value, (str, bytes)):  # float("1.5") works, but a text is no measurement
            return float(value)
    except (TypeError, ValueError):
        pass
    raise ValueError(
        "y must be numbers for a regression, with NaN where unlabelled; it holds "
        f"{_plain(value)!r}."
    )


def _column(y: Any) -> Array:
    if hasattr(y, "to_numpy"):
        values = y.to_numpy()  # a frame's own way keeps its missing values
        whole = str(getattr(y, "dtype", "")).lower().startswith(("int", "uint"))
        # Whole numbers with gaps come as floats, and 2.0 is not the label that was given.
        y = _objects(y.to_list()) if whole and values.dtype.kind == "f" else values
    elif isinstance(y, (list, tuple)) and _is_mixed(y):
        y = _objects(y)
    return np.asarray(column_or_1d(y, dtype=None, warn=True))


def _objects(values: Iterable[Any]) -> Array:
    """An array of the values as they are, whatever NumPy would make of them."""
    return np.array([*values, None], dtype=object)[:-1]


def _is_mixed(values: Any) -> bool:
    """Whether NumPy would change values: [True, -1] into [1, -1], ['a', -1, None] into texts."""
    texts = {isinstance(value, str) for value in values}
    return len(texts) > 1 or any(is_missing(v) or isinstance(v, bool) for v in values)


def _plain(label: Any) -> Any:
    """A label as the user wrote it: 1 and not np.int64(1) in a message."""
    return label.item() if isinstance(label, np.generic) else label


def _labels(known: Array, marker: Any) -> Array:
    """Labelled entries as one comparable type."""
    if known.dtype.kind == "O":
        missing = np.fromiter((is_missing(value) for value in known), dtype=bool, count=len(known))
        kinds = {_kind(value) for value in known[~missing]}
        if missing.any():
            raise ValueError(
                f"y holds missing values (None or NaN) that are not the unlabelled marker "
                f"unlabeled={marker!r}. If they mark unlabelled points, pass unlabeled=None."
            )
        if len(kinds) > 1:
            raise ValueError(
                f"Unknown label type: y mixes labels of types {', '.join(sorted(kinds))}. "
                "Give all labels one type."
            )
        if kinds == {"other"}:
            raise ValueError(
                f"Unknown label type: y holds labels of type {type(known[0]).__name__}; use "
                "numbers, strings or booleans."
            )
        if kinds == {"str"}:
            return known
        known = np.array(known.tolist())
    if known.dtype.kind == "f" and np.isnan(known).any():
        raise ValueError(
            f"Input y contains NaN, which is not the unlabelled marker unlabeled={marker!r}. "
            "If NaN marks unlabelled points, pass unlabeled=None."
        )
    if known.dtype.kind == "f" and np.isinf(known).any():
        raise ValueError("Input y contains infinity; class labels must be finite.")
    check_classification_targets(known)
    return known


def _kind(value: Any) -> str:
    for name, types in (
        ("bool", (bool, np.bool_)),
        ("number", (numbers.Real,)),
        ("str", (str,)),
    ):
        if isinstance(value, types):
            return name
    return "other"


_MISSING_TEXTS = frozenset({"", "nan", "NaN", "None", "<NA>"})


def _refuse_collisions(known: Array, mask: Array, marker: Any) -> None:
    """Refuse texts that look like unlabelled ones where nothing else is unlabelled."""
    if known.dtype.kind not in "UO" or isinstance(marker, str) or mask.any():
        return
    texts = {str(label) for label in np.unique(known.astype(str))}
    if not is_missing(marker) and str(marker) in texts:
        raise ValueError(
            f"y holds the text {str(marker)!r}, while the unlabelled marker is the number "
            f"{marker!r}. Pass unlabeled={str(marker)!r} if it marks unlabelled points "
            "(NumPy turns numbers between strings into texts), or unlabeled=None if it is a "
            "class."
        )
    blanks = sorted(text for text in texts if text.strip() in _MISSING_TEXTS)
    if blanks:
        raise ValueError(
            f"y holds the text {blanks[0]!r}, which would be one more class, and no row is "
            f"unlabelled by the marker unlabeled={marker!r}. Pass unlabeled={blanks[0]!r} if it "
            "marks unlabelled points; if it is a class, give it another name."
        )


def _collision_hint(label: Any, mask: Array, marker: Any) -> str:
    if not mask.any():
        return "Label points of the other classes."
    other = "" if is_missing(marker) or label == 0 else " or unlabeled=0"
    return (
        f"If {marker!r} is a class and not the marker, choose another marker for unlabelled "
        f"points, such as unlabeled=None (missing values){other}, and mark them with it."
    )
