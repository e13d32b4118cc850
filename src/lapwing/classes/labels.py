"""Conversion of y to class codes or regression targets, and of codes to labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import check_classification_targets

from lapwing._arrays import Array
from lapwing._words import quoted
from lapwing.classes.label_checks import check_labels, label_warning
from lapwing.classes.markers import (
    AUTO,
    find_unlabeled,
    is_auto,
    is_missing,
    kind_of,
    markers_among,
    missing_mask,
    plain,
    read_column,
    settle,
    unlabeled_mask,
)
from lapwing.exceptions import LapwingWarning

_LARGEST = 1e100  # largest regression target, as products of larger ones overflow


@dataclass(frozen=True)
class ClassLabels:
    """Coded class labels.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Sorted labels.
    codes : ndarray of shape (n_samples,)
        Indices into `classes`; -1 if unlabelled.
    unlabeled : tuple
        Markers of unlabelled rows that were found: -1, None (missing values), '' (empty strings) or
        the given marker. Empty if every row is labelled.
    warning : LapwingWarning or None
        Warning about the labels, to be issued by the caller.
    """

    classes: Array
    codes: Array
    unlabeled: tuple[Any, ...] = ()
    warning: LapwingWarning | None = None

    @property
    def labeled(self) -> Array:
        return self.codes >= 0


def read_known(y: ArrayLike, marker: object, classes: Array) -> tuple[Array, Array]:
    """Read labels for scoring, given the classes of a fit.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    marker : 'auto', number, str, None or NaN
    classes : ndarray of shape (n_classes,)
        With 'auto', -1 is a label if it is one of these.

    Returns
    -------
    labels : ndarray of shape (n_labeled,)
    labeled : ndarray of bool of shape (n_samples,)
        Mask of the labelled rows of y.
    """
    y = read_column(y)
    labeled = ~find_unlabeled(y, marker, classes)
    return settle(y[labeled]), labeled


def code_classes(y: ArrayLike, marker: object = AUTO) -> ClassLabels:
    """Read class labels of any type.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    marker : 'auto', number, str, None or NaN, default='auto'
        Marker of unlabelled points, see `lapwing.classes.markers`.

    Raises
    ------
    ValueError
        If there is no label or only one class, the marker is ambiguous, or labels are not classes.
    """
    y = read_column(y)
    mask = find_unlabeled(y, marker)
    if mask.all():
        raise ValueError(
            f"y contains no label: all {len(y)} entries are the unlabelled marker "
            f"unlabeled={marker!r}. Label at least one point of each class."
        )
    known = _labels(y[~mask], marker)
    classes, codes, counts = np.unique(known, return_inverse=True, return_counts=True)
    n_unlabeled, found = int(mask.sum()), markers_among(y[mask], marker)
    check_labels(classes, counts, n_unlabeled, found, marker)
    if len(classes) < 2:
        raise ValueError(
            f"y contains one class only, {plain(classes[0])!r}, besides the unlabelled marker "
            f"unlabeled={marker!r}: a classifier needs labels of at least 2 classes. "
            f"{_collision_hint(plain(classes[0]), found, marker)}"
        )
    coded = np.full(len(y), -1, dtype=np.intp)
    coded[~mask] = codes
    return ClassLabels(
        classes, coded, found, label_warning(classes, counts, n_unlabeled, found, marker)
    )


def code_known(y: ArrayLike, classes: Array, marker: object = AUTO) -> Array:
    """Code labels, which must be known classes.

    Raises
    ------
    ValueError
        If an entry is of another class, or unlabelled.
    """
    y = read_column(y)
    refuse_unlabeled(missing_mask(y) | find_unlabeled(y, marker, classes))
    # Compared by kind and value, as True == 1 in Python.
    known = classes.tolist()
    position = {(kind_of(label), label): code for code, label in enumerate(known)}
    labels = [(kind_of(label), label) for label in y.tolist()]
    strangers = {repr(label[1]) for label in labels if label not in position}
    if strangers:
        raise ValueError(
            f"y has labels that are not among the training labels: {', '.join(sorted(strangers))}. "
            f"Give labelled points of the classes {', '.join(map(repr, known))}."
        )
    return np.array([position[label] for label in labels], dtype=np.intp)


def refuse_unlabeled(mask: Array) -> None:
    """Raise ValueError if an entry of the labels to validate on is unlabelled."""
    if mask.any():
        raise ValueError(
            f"{mask.sum()} of the {len(mask)} entries of y are unlabelled, first in row "
            f"{mask.argmax()}. Leave such rows out."
        )


def check_class_weights(weights: dict[Any, Any], classes: Array) -> None:
    """Raise ValueError for class weights that are not > 0, or of an unknown class.

    Raises
    ------
    ValueError
        If there are any; the message lists them.
    """
    if not all(kind_of(w) == "number" and 0 < w < np.inf for w in weights.values()):
        raise ValueError(
            f"class_weight={weights!r} must give every class a finite weight > 0. To leave a class "
            "out, remove its rows."
        )
    known = classes.tolist()
    strangers = [label for label in weights if label not in known]
    bare = [label for label in known if label not in weights]
    # A class without labels is not an error by itself: it may be missing from a fold.
    if strangers and bare:
        raise ValueError(
            f"class_weight has a weight for {strangers[0]!r}, which is not a class of y, but none "
            f"for {bare[0]!r}. Give weights to classes of y: {quoted(known)}."
        )


def read_targets(y: ArrayLike) -> tuple[Array, Array]:
    """Read regression targets, and return the mask of known targets.

    Raises
    ------
    ValueError
        If there are infinite values, values that are not numbers, or no labelled point.
    """
    targets = as_targets(y)
    labeled = ~np.isnan(targets)
    if not labeled.any():
        raise ValueError(
            f"y contains no label: all {len(targets)} entries are NaN or missing otherwise, which "
            "marks unlabelled points. Give at least one target."
        )
    return targets, labeled


def as_targets(y: ArrayLike) -> Array:
    """Convert y to regression targets, with NaN for all kinds of missing values.

    Raises
    ------
    ValueError
        If y has several columns, or entries that are not numbers or infinite.
    """
    y = read_column(y)
    if y.dtype.kind in "fiub":
        targets = y.astype(np.float64)
    else:
        targets = np.array([_target(row, y) for row in range(len(y))], dtype=np.float64)
    if np.isinf(targets).any():
        raise ValueError(
            f"Input y contains infinity, first at row {np.flatnonzero(np.isinf(targets))[0]}. "
            "Only missing values mark an unlabelled point."
        )
    largest = float(np.nanmax(np.abs(targets), initial=0.0))
    if largest > _LARGEST:
        raise ValueError(
            f"y contains values up to {largest:.3g}, whose squares overflow in the fit. Scale y to "
            "about one."
        )
    return np.asarray(targets)


def known_targets(y: ArrayLike, marker: object) -> tuple[Array, Array]:
    """Read regression targets with a marker of unlabelled rows.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    marker : 'auto', number, str, None or NaN
        Rows with missing values have no target in any case. 'auto' means these rows only, as -1
        may be a target.

    Returns
    -------
    targets : ndarray of shape (n_labeled,)
    labeled : ndarray of bool of shape (n_samples,)
        Mask of the rows of these targets.
    """
    column = read_column(y)
    labeled = ~unlabeled_mask(column, None if is_auto(marker) else marker) & ~missing_mask(column)
    return as_targets(column[labeled]), labeled


def has_fractions(column: Array) -> bool:
    """Return whether all known values of a column are numbers, and some are not whole."""
    values = settle(column[~missing_mask(column)])
    return values.dtype.kind == "f" and bool((values != np.floor(values)).any())


def _target(row: int, y: Array) -> float:
    value = y[row]
    if is_missing(value):
        return np.nan
    try:
        if not isinstance(value, (str, bytes)):  # although float("1.5") works
            return float(value)
    except (TypeError, ValueError):
        pass
    must = "y must be numbers for a regression, with NaN where unlabelled"
    if isinstance(value, str) and _is_number(value):
        # Strings of numbers: name the string that is not a number.
        strange = [k for k in range(len(y)) if isinstance(y[k], str) and not _is_number(y[k])]
        strange = [k for k in strange if not is_missing(y[k])]
        if strange:
            raise ValueError(
                f"{must}; it holds texts, and that of row {strange[0]} is not a number: "
                f"{plain(y[strange[0]])!r}. Correct it, or set it to NaN, and convert y to numbers."
            )
        raise ValueError(f"{must}; it holds {plain(value)!r}, a text. Convert y to numbers.")
    raise ValueError(f"{must}; it holds {plain(value)!r} in row {row}.")


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _labels(known: Array, marker: object) -> Array:
    """Convert labelled entries to one comparable type."""
    if missing_mask(known).any():
        what = "NaN" if known.dtype.kind == "f" else "missing values (None, NaN or empty texts)"
        raise ValueError(
            f"Input y contains {what} besides the unlabelled marker unlabeled={marker!r}. If that "
            "marks unlabelled points, leave unlabeled='auto', or write the marker in its place."
        )
    if known.dtype.kind == "O":
        # np.unique cannot sort mixed types, and its TypeError does not name a label.
        kinds = {kind_of(value) for value in known}
        if len(kinds) > 1:
            raise ValueError(
                f"Unknown label type: y mixes labels of types {', '.join(sorted(kinds))}. "
                "Give all labels one type."
            )
        if kinds == {"other"}:
            raise ValueError(
                f"Unknown label type: y contains labels of type {type(known[0]).__name__}; use "
                "numbers, strings or booleans."
            )
        if kinds == {"str"}:
            return known
        known = settle(known)
    if known.dtype.kind == "f" and np.isinf(known).any():
        wrong = plain(known[np.isinf(known)][0])
        raise ValueError(f"Input y contains infinity ({wrong}); class labels must be finite.")
    if known.dtype.kind == "f" and (known % 1 != 0).any():
        raise ValueError(
            "Unknown label type: y contains fractions, such as "
            f"{plain(known[known % 1 != 0][0])!r}, which are not classes. To predict "
            "numbers use a regressor, such as FewLabelRegressor; if they are classes, "
            "convert them to strings."
        )
    # Labels are repeated three times, as scikit-learn suspects a regression if most of them occur
    # once, while many classes with one label each are usual here.
    if known.dtype.kind not in "biu":  # whole numbers are classes, and the check takes 0.3 ms
        check_classification_targets(np.concatenate([known] * 3))
    return known


def _collision_hint(label: object, found: tuple[Any, ...], marker: object) -> str:
    if not found or is_missing(found[0]):
        return "Label points of the other classes."
    if is_auto(marker):
        return (
            f"If {found[0]!r} is a class and no row is unlabelled, or missing values mark those "
            "that are, pass unlabeled=None; else label points of the other classes."
        )
    other = "" if label == 0 else " or unlabeled=0"
    return (
        f"If {marker!r} is a class and not the marker, choose another marker for unlabelled "
        f"points, such as unlabeled=None (missing values){other}, and mark them with it."
    )
