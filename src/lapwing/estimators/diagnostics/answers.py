"""Warnings about answers that say nothing: one class for all, constants, overflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing._host.warn import warn
from lapwing.exceptions import ConstantFitWarning, LapwingWarning, SingleClassWarning

# Share of the targets' spread below which a regression does not follow them. Decision values may be
# small and right (2.6e-7 with scikit-learn's check of class weights); of a null solution they are
# rounding.
_FOLLOWS, _NULL = 0.05, 1e-8
_WEIGHTS = ("gamma_A", "gamma_I", "C", "C_star", "lam", "mu")  # of terms of objectives


def warn_single_class(predicted: Array) -> bool:
    """Warn if all of at least two unlabelled rows are given the same class, and tell whether."""
    given = np.unique(predicted)
    single = len(predicted) >= 2 and len(given) == 1
    if single:
        tell_single_class(len(predicted), given.tolist()[0])
    return single


def tell_single_class(n: int, label: Any) -> None:
    """Warn that n unlabelled rows are all given the same class."""
    warn(
        f"All {n} unlabelled points were given class {label!r}. "
        "Usual causes: a kernel or graph on the wrong scale (standardise the features, or "
        "change gamma), labels of one class far outnumbering the others "
        "(class_weight='balanced'), rows that are all alike, or too much smoothing (a smaller "
        "gamma_I or mu).",
        SingleClassWarning,
    )


def warn_single_class_of_function(predicted: Array, classes: Array) -> None:
    """Warn if `predict` gives all labelled points one class, whatever `transduction_` has.

    Parameters
    ----------
    predicted : ndarray of int of shape (l,)
        Numbers of the classes that the function gives to labelled points.
    classes : ndarray of shape (n_classes,)
    """
    if len(predicted) >= 2 and (predicted == predicted[0]).all():
        warn(
            "`predict` gives all labelled points, of every class, class "
            f"{classes.tolist()[predicted[0]]!r}: its function does not follow the virtual labels, "
            "which `transduction_` rests on. Usual causes: features of a very small or large scale "
            "(standardise them), or a kernel or gamma that does not suit them.",
            SingleClassWarning,
        )


def warn_lost_class(predicted: Array, nothing_unlabeled: bool) -> None:
    """Warn if labelled points of both classes are given one class, unless there is no other."""
    given = np.unique(predicted)
    if len(given) == 1 and not nothing_unlabeled:
        warn(
            f"All labelled points, of both classes, were given class {given.tolist()[0]!r}. Usual "
            "causes: an outlier or features of different scales, which set the width of the "
            "kernel or the balance (standardise the features, or give gamma and balance), or a "
            "large C_star.",
            SingleClassWarning,
        )


def warn_outvoted_classes(held: Array, classes: Array) -> None:
    """Warn of classes all of whose labels are at points where other labels have more weight.

    Parameters
    ----------
    held : ndarray of int
        Numbers of the classes that labelled points are held to.
    classes : ndarray of shape (n_classes,)
    """
    outvoted = classes[np.setdiff1d(np.arange(len(classes)), held)].tolist()
    if outvoted:
        warn(
            f"All labels of the class {outvoted[0]!r} are at rows that equal others with other "
            "labels, which outvote them: nothing holds this class. Correct these labels, or label "
            "another row of it.",
            LapwingWarning,
        )


def hardly_vary(values: Array, targets: Array, *, regression: bool) -> bool:
    """Whether values at labelled points are all but constant where their targets are not."""
    follows, wanted = _FOLLOWS if regression else _NULL, _spread(targets)
    few = len(targets) < (3 if regression else 2)
    return not few and wanted > 0 and _spread(values) < follows * wanted


def _spread(part: Array) -> float:
    return float(np.std(part, axis=0).max())


def warn_constant_values(
    values: Array, targets: Array, parameters: Mapping[str, Any], *, regression: bool, what: str
) -> bool:
    """Warn if values at labelled points hardly vary where their targets do, and tell whether.

    Parameters
    ----------
    values : ndarray of shape (l, c)
    targets : ndarray of shape (l, k)
        For classifiers -1 and +1.
    parameters : mapping of str
        The estimator's, of which the warning tells the weights.
    regression : bool
    what : str
        The subject of the warning, in the plural.
    """
    if not hardly_vary(values, targets, regression=regression):
        return False
    spread, wanted = _spread(values), _spread(targets)
    if regression:
        text = (
            f"vary by {spread:.2g} where the targets vary by {wanted:.2g} (standard deviations at "
            "the labelled points): the fit is nearly constant. Usual causes: targets on the wrong "
            "scale (scale y to about one; LapSVR's epsilon is in units of y), or"
        )
    else:
        text = (
            f"vary by {spread:.2g} where the labels are -1 and 1 (standard deviations at the "
            "labelled points): the fit is constant but for rounding, which may decide its classes. "
            "Usual causes: sample weights near 0, a kernel to which all points look alike (another "
            "gamma), or"
        )
    weights = [f"{name}={parameters[name]!r}" for name in _WEIGHTS if name in parameters]
    warn(
        f"{what} {text} weights of the objective that are too far apart ({', '.join(weights)}): "
        "take values nearer to the defaults.",
        ConstantFitWarning,
    )
    return True


def warn_empty_expansion(columns: Array, epsilon: float) -> None:
    """Warn of columns all of whose virtual labels are in the tube around a constant.

    Parameters
    ----------
    columns : ndarray of bool of shape (c,)
        Which columns have no alpha that is not 0 though their targets vary.
    epsilon : float
    """
    if columns.any():
        cause, cure = "their virtual labels hardly vary", "Use"
        if epsilon > 0:
            cause = f"their virtual labels vary by less than epsilon={epsilon:g} around it"
            cure = "Use a smaller epsilon (0 is the default), or"
        warn(
            f"{int(columns.sum())} of {len(columns)} fitted functions are constant: {cause}, so "
            f"that no alpha is non-zero. {cure} less smoothing (a smaller mu or a larger lam).",
            ConstantFitWarning,
        )


def check_finite_answers(*arrays: Array) -> None:
    """Refuse a solution that is not finite."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError(
            "The solution is not finite: the weights C, lam and mu, the sample weights or the "
            "kernel's values overflow float64. Use weights of moderate size, and scaled features."
        )
