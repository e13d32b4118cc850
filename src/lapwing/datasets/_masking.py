"""Functions that hide labels and group classes of labelled data sets."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch, check_random_state

from lapwing._parameters import check, count
from lapwing.classes.markers import is_auto, is_missing, missing_mask, read_column, unlabeled_mask


def mask_labels(
    y: ArrayLike,
    n_labeled_per_class: int | None = None,
    *,
    labeled_indices: ArrayLike | None = None,
    unlabeled: object = -1,
    random_state: int | np.random.RandomState | None = None,
) -> NDArray[Any]:
    """Keep the labels of some points and replace all others by the unlabelled marker.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of all points; they are not changed.
    n_labeled_per_class : int, default=None
        Keep this many labels of every class, drawn at random without replacement. Give either
        this or `labeled_indices`.
    labeled_indices : array-like, default=None
        Keep the labels of these points: distinct row indices from 0, or a boolean mask
        of shape (n_samples,). Nothing is drawn.
    unlabeled : int, float, str or None, default=-1
        Marker of unlabelled points; must not be a label. Estimators recognise -1 and None by
        default; pass other markers to them as ``unlabeled``.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw; an int gives the same labelled points in every call.

    Returns
    -------
    ndarray of shape (n_samples,)
        A copy of `y` with the marker on all points that are not labelled. If its type cannot
        represent the marker, it is converted: numbers to a wider type (float for NaN), strings to
        longer strings, and other mixtures to object.

    Raises
    ------
    ValueError
        If both or none of `n_labeled_per_class` and `labeled_indices` are given, a class has too
        few points, labels to draw from are missing or of several types, an index is out of range or
        repeated, or the marker is one of the labels.

    Examples
    --------
    >>> from lapwing.datasets import mask_labels
    >>> mask_labels([0, 0, 1, 1, 2], labeled_indices=[1, 4])
    array([-1,  0, -1, -1,  2])
    """
    labels = read_column(y)
    if is_auto(unlabeled):
        raise ValueError(
            "unlabeled='auto' is an option of estimators; give the marker to write, such as -1 or "
            "None."
        )
    if unlabeled_mask(labels, unlabeled).any():
        other = -1 if is_missing(unlabeled) else None
        raise ValueError(
            f"unlabeled={unlabeled!r} is already in y, so that unlabelled points would look "
            f"labelled; choose a marker that is not a label, such as {other}."
        )
    if (n_labeled_per_class is None) == (labeled_indices is None):
        raise ValueError("give either n_labeled_per_class or labeled_indices, and not both.")
    if labeled_indices is None:
        count = check_count("n_labeled_per_class", n_labeled_per_class)
        labeled = _draw(labels, count, check_random_state(random_state))
    else:
        labeled = _mask_of(np.asarray(labeled_indices), labels.size)
    masked = labels.astype(_common_type(labels, unlabeled))
    masked[~labeled] = unlabeled
    return masked


def check_count(name: str, value: Any, *, least: int = 1) -> int:
    """Check an integer parameter, and return it as int."""
    check({name: value}, {name: count(least)})
    return int(value)


def _draw(labels: NDArray[Any], count: int, rng: np.random.RandomState) -> NDArray[np.bool_]:
    missing = np.flatnonzero(missing_mask(labels))
    if len(missing):
        raise ValueError(
            f"y has no label in row {missing[0]}, and labels are drawn from those of all points. "
            "Leave such rows out, or give labeled_indices."
        )
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        raise ValueError("y mixes labels of several types. Give all labels one type.") from None
    labeled = np.zeros(labels.size, dtype=bool)
    # By class, because a class without a label cannot be learnt.
    for code, name in enumerate(classes):
        members = np.flatnonzero(codes == code)
        if members.size < count:
            raise ValueError(
                f"n_labeled_per_class={count}, but class {name} has {members.size} points; "
                "ask for fewer labels."
            )
        labeled[rng.choice(members, size=count, replace=False)] = True
    return labeled


def _mask_of(indices: NDArray[Any], n: int) -> NDArray[np.bool_]:
    if indices.dtype.kind == "b":
        if indices.shape != (n,):
            raise ValueError(
                f"labeled_indices is a mask of shape {indices.shape}; y has shape ({n},)."
            )
        return indices
    if indices.ndim != 1 or (indices.dtype.kind not in "iu" and indices.size):
        raise ValueError(
            "labeled_indices must be a one-dimensional array of integers or a boolean mask; "
            f"it has shape {indices.shape} and type {indices.dtype}."
        )
    # Negative indices are refused, because -1, the usual marker, would mean the last point.
    if indices.size and not (indices.min() >= 0 and indices.max() < n):
        raise ValueError(
            f"labeled_indices from {indices.min()} to {indices.max()} is out of range; "
            f"the {n} points have the indices 0 to {n - 1}."
        )
    labeled = np.zeros(n, dtype=bool)
    labeled[indices.astype(np.intp)] = True
    if labeled.sum() != indices.size:
        raise ValueError(
            "labeled_indices names a point more than once; every index may occur once."
        )
    return labeled


def _common_type(labels: NDArray[Any], marker: object) -> np.dtype[Any]:
    """Return a type that represents labels and marker exactly."""
    mark = np.asarray(marker)
    kinds = {labels.dtype.kind, mark.dtype.kind}
    # NumPy would convert numbers beside strings to strings, and True to 1.
    if kinds <= set("iuf") or kinds == {"U"}:
        return np.result_type(labels.dtype, mark.dtype)
    return np.dtype(object)


def group_classes(data: Bunch, groups: Sequence[Sequence[int]]) -> Bunch:
    """Join classes of a data set, and leave out the others.

    This gives the binary problems of the papers: ``[[3], [8]]`` of MNIST is MNIST3VS8,
    ``[[2], [5]]`` of USPS is USPS(2,5), and ``[range(5), range(5, 10)]`` are the digits 0 to 4
    against 5 to 9.

    Parameters
    ----------
    data : Bunch
        Data set of `load_mnist` or `load_usps`. It is not changed.
    groups : sequence of sequences of int
        The codes in ``data.target`` of each new class. Points whose class is in no group are left
        out.

    Returns
    -------
    Bunch
        The same fields for the remaining points, in their order.

    Raises
    ------
    ValueError
        If there are fewer than two groups, or a group is empty, contains an unknown class, or
        shares a class with another group.

    Examples
    --------
    >>> from lapwing.datasets import group_classes, load_usps
    >>> two_and_five = group_classes(load_usps(), [[2], [5]])  # doctest: +SKIP
    """
    target = _group_codes(data.target, groups, len(data.target_names))
    rows = np.flatnonzero(target >= 0)
    names = [", ".join(str(data.target_names[code]) for code in group) for group in groups]
    return Bunch(
        **{
            **data,
            "data": data.data if rows.size == target.size else data.data[rows],
            "target": target[rows],
            "target_names": np.array(names),
            "is_test": None if data.is_test is None else data.is_test[rows],
            "DESCR": f"{data.DESCR}\nClasses here: {' against '.join(names)}",
        }
    )


def _group_codes(
    target: NDArray[np.int64], groups: Sequence[Sequence[int]], n_classes: int
) -> NDArray[np.int64]:
    """Return the group of the class of each point, or -1."""
    if len(groups) < 2:
        raise ValueError(f"groups={groups!r}: at least two classes are needed.")
    new = np.full(n_classes, -1, dtype=np.int64)
    for number, group in enumerate(groups):
        if len(group) == 0:
            raise ValueError(f"groups[{number}] is empty; name the classes that form it.")
        for code in group:
            if not isinstance(code, numbers.Integral) or code not in range(n_classes):
                raise ValueError(
                    f"groups[{number}] holds {code!r}; the classes are 0 to {n_classes - 1}."
                )
            if new[code] >= 0:
                raise ValueError(f"class {code} is named twice in groups; it can be in one group.")
            new[code] = number
    return new[target]
