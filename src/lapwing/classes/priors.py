"""Class priors as users give them: names, numbers in order, or parts by class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lapwing._arrays import Array

_NAMES = ("labels", "uniform", "unknown")
PRIOR_WISHES = "'labels', 'uniform', 'unknown', None, a dict or an array of one number a class"


def is_prior_like(value: Any) -> bool:
    """Whether `read_prior` may understand a value, whatever the classes are."""
    if value is None or isinstance(value, str):
        return value is None or value in _NAMES
    return hasattr(value, "__len__")


def read_prior(class_prior: Any, codes: Array, classes: Array) -> Array | None:
    """Class prior as a user gives it, as probabilities.

    Parameters
    ----------
    class_prior : {'labels', 'uniform', 'unknown'}, array-like, mapping, Series or None
        Frequencies of the classes among the labels; all equal; not known, as None is; or numbers in
        proportion to the volumes, such as probabilities or numbers of points: in the order of the
        classes, or by class.
    codes : ndarray of int of shape (n_samples,)
        Class of every point, negative where it has no label.
    classes : ndarray of shape (n_classes,)

    Returns
    -------
    ndarray of shape (n_classes,) or None
        Sums to 1; None where it is not known.

    Raises
    ------
    ValueError
        Another text, nothing of several parts, a wrong number of entries, a key that is no class,
        an entry that is negative or no number, or 0 for a class that has labels.
    """
    if not is_prior_like(class_prior):
        raise ValueError(f"class_prior={class_prior!r} must be {PRIOR_WISHES}.")
    if class_prior is None:
        return None
    counts = np.bincount(codes[codes >= 0], minlength=len(classes))
    if isinstance(class_prior, str):
        return _named(class_prior, counts)
    known = classes.tolist()
    prior = as_parts(_in_order(class_prior, known), len(known), "class_prior", known)
    empty = np.flatnonzero((prior == 0) & (counts > 0))
    if len(empty):
        raise ValueError(
            f"class_prior is 0 for the class {known[empty[0]]!r}, which has labels "
            f"({counts[empty[0]]}). Give it a part > 0, or remove its rows."
        )
    return prior


def as_parts(prior: Any, n_classes: int, name: str, classes: list[Any] | None = None) -> Array:
    """Numbers in proportion as parts that sum to 1.

    Parameters
    ----------
    prior : array-like of shape (n_classes,)
    n_classes : int
    name : str
        What errors call it.
    classes : list, optional
        What errors call its entries; by default their numbers, from 0.
    """
    try:
        parts = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError):
        parts = np.full(1, np.nan)
        wrong = f"{prior!r} is no array of numbers"
    else:
        wrong = ""
        if parts.shape != (n_classes,):
            wrong = f"its shape is {parts.shape}, and there are {n_classes} classes"
        elif not np.isfinite(parts).all():
            wrong = "it holds NaN or infinite entries"
        elif (parts < 0).any():
            k = int(parts.argmin())
            which = f"class number {k}" if classes is None else f"the class {classes[k]!r}"
            wrong = f"it holds {parts[k]:g} for {which}"
        elif not parts.any():
            wrong = "it is 0 for every class"
    if wrong:
        raise ValueError(f"{name} must be one number >= 0 a class, not all 0: {wrong}.")
    parts = parts / parts.max()  # whose sum does not overflow
    return np.asarray(parts / parts.sum())


def _named(name: str, counts: Array) -> Array | None:
    if name == "unknown":
        return None
    if name == "uniform":
        return np.full(len(counts), 1 / len(counts))
    if not counts.any():
        raise ValueError("class_prior='labels' counts labels, and no point has one.")
    return np.asarray(counts / counts.sum())


def _in_order(class_prior: Any, known: list[Any]) -> Any:
    """Parts in the order of the classes; what is not by class stays as it is."""
    parts = class_prior
    if not isinstance(parts, Mapping):
        # A Series, such as `value_counts`, whose order is that of the counts.
        if getattr(parts, "ndim", 0) != 1 or not hasattr(parts, "to_dict"):
            return class_prior
        parts = parts.to_dict()
        if list(parts) == list(range(len(parts))):
            return class_prior
    missing = [k for k in known if k not in parts]
    others = [k for k in parts if k not in known]
    if missing or others:
        which = f"has no part for {missing}" if missing else f"names {others}, which are none"
        raise ValueError(
            f"class_prior={dict(parts)!r} {which}. "
            f"Give every class a part. The classes are {known}."
        )
    return [parts[k] for k in known]
