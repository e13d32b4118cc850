"""Checks of constructor parameters; each message names the parameter, its value and what to do."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from inspect import signature
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from lapwing.classes.volumes import PRIOR_WISHES, is_prior_like
from lapwing.estimators.choice import SOLVERS, STOPPING
from lapwing.losses.base import Loss, TargetKind, UnlabeledLoss
from lapwing.losses.registry import UNLABELED_LOSSES, loss_names
from lapwing.solvers.low_density.methods import METHODS as S3VM_METHODS
from lapwing.solvers.low_density.methods import Method
from lapwing.spaces import check_space
from lapwing.spaces.recipes import SpaceRecipe

Rule: TypeAlias = tuple[Callable[[Any], bool], str | Callable[[], str]]


def _number(value: Any) -> bool:
    real = isinstance(value, (int, float, np.integer, np.floating))
    try:
        return real and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number beyond the floats
        return False


def is_count(value: Any) -> bool:
    """Whether a value is a whole number of 1 or more."""
    whole = isinstance(value, (int, np.integer))
    return whole and not isinstance(value, bool) and value >= 1


def _one_of(*allowed: Any) -> tuple[Callable[[Any], bool], str]:
    names = ", ".join(map(repr, allowed))
    return (
        lambda value: isinstance(value, (str, type(None))) and value in allowed,
        f"one of {names}",
    )


def _named(
    names: Callable[[], Iterable[str]], kind: type, shown: str
) -> tuple[Callable[[Any], bool], Callable[[], str]]:
    """A name in a registry, as it is when asked, or an object of its kind."""

    def wanted() -> str:
        return f"one of {', '.join(map(repr, names()))}, or an object of {shown}"

    return (
        lambda value: value in names() if isinstance(value, str) else isinstance(value, kind),
        wanted,
    )


def _grid(holds: Callable[[Any], bool], wanted: str) -> tuple[Callable[[Any], bool], str]:
    """Several values of a parameter, each of which its rule lets through."""

    def all_hold(values: Any) -> bool:
        listed = isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, str)
        return listed and len(values) > 0 and all(holds(value) for value in values)

    return all_hold, f"a list of {wanted}, at least one"


def _optional(
    rule: tuple[Callable[[Any], bool], str], otherwise: str
) -> tuple[Callable[[Any], bool], str]:
    holds, wanted = rule
    return lambda value: value is None or holds(value), f"{wanted}, or {otherwise}"


_FLAG = (lambda v: isinstance(v, (bool, np.bool_)), "True or False")


_RULES: dict[str, Rule] = {
    "kernel": (
        lambda v: isinstance(v, str) or callable(v),
        "a name, such as 'rbf', or a function (X, Z) -> matrix",
    ),
    "gamma": (
        lambda v: isinstance(v, str) or (_number(v) and v > 0),
        "a finite number > 0, or 'scale'",
    ),
    "degree": (lambda v: _number(v) and v > 0, "a number > 0"),
    "coef0": (_number, "a finite number"),
    "gamma_A": (
        lambda v: _number(v) and v > 0,
        "a number > 0: the ambient norm is what makes the problem well posed",
    ),
    "gamma_As": _grid(lambda v: _number(v) and v > 0, "finite numbers > 0"),
    "gamma_Is": _grid(lambda v: _number(v) and v >= 0, "finite numbers >= 0; 0 means no graph"),
    "Cs": _grid(lambda v: _number(v) and v > 0, "finite numbers > 0"),
    "lams": _grid(lambda v: _number(v) and v > 0, "finite numbers > 0"),
    "mus": _grid(lambda v: _number(v) and v >= 0, "finite numbers >= 0"),
    "gammas": _optional(
        _grid(
            lambda v: v == "scale" if isinstance(v, str) else _number(v) and v > 0,
            "finite numbers > 0 or 'scale'",
        ),
        "None for widths around 'scale'",
    ),
    "graphs": _optional(
        (lambda v: isinstance(v, (list, tuple)) and len(v) > 0, "a list of graphs, at least one"),
        "None for graphs around the default one",
    ),
    "C": (lambda v: _number(v) and v > 0, "a finite number > 0"),
    "C_star": (
        lambda v: v is None or (_number(v) and v >= 0),
        "a finite number >= 0, or None for C l / u",
    ),
    "s": (lambda v: _number(v) and v > 0, "a finite number > 0"),
    "method": _named(lambda: S3VM_METHODS, Method, "lapwing.solvers.low_density.methods.Method"),
    "unlabeled_loss": _named(
        lambda: ("auto", *UNLABELED_LOSSES), UnlabeledLoss, "lapwing.losses.UnlabeledLoss"
    ),
    "multi_class": _one_of("auto", "ovo", "ovr"),
    "n_init": (is_count, "a whole number of starts, at least 1"),
    "gamma_I": (lambda v: _number(v) and v >= 0, "a number >= 0; 0 means no graph"),
    "epsilon": (lambda v: _number(v) and v >= 0, "a number >= 0, in the units of y"),
    "tol": (lambda v: _number(v) and v > 0, "a number > 0"),
    "max_iter": (
        is_count,
        "a whole number >= 1",
    ),
    "validation_fraction": (
        lambda v: v is None or (_number(v) and 0 < v < 1),
        "a number between 0 and 1, or None",
    ),
    "loss": _named(lambda: loss_names(TargetKind.SIGNS), Loss, "lapwing.losses.Loss"),
    "class_weight": (
        lambda v: v == "balanced" if isinstance(v, str) else isinstance(v, dict),
        "'balanced', a dict from classes to their weights, or None",
    ),
    "class_prior": (is_prior_like, PRIOR_WISHES),
    "refine": _one_of("cut", None),
    "solver": _one_of(*SOLVERS),
    "stopping": _one_of(*STOPPING),
    "fit_intercept": _FLAG,
    "class_mass_normalization": _FLAG,
    "n_votes": (
        lambda v: is_count(v) or (_number(v) and v == 0),
        "a whole number >= 0; 0 leaves the neighbours' vote out",
    ),
    "n_eigenfunctions": (lambda v: v is None or is_count(v), "a whole number >= 1, or None"),
    "mu": (lambda v: _number(v) and v >= 0, "a number >= 0"),
    "n_eigenvectors": (
        lambda v: v is None or (isinstance(v, str) and v == "auto") or is_count(v),
        "a whole number >= 1, 'auto', or None for the exact graph kernel",
    ),
    "lam": (lambda v: _number(v) and v > 0, "a number > 0"),
    "n_components": (is_count, "a whole number >= 1"),
    "n_bins": (lambda v: is_count(v) and v >= 3, "a whole number >= 3"),
    "bandwidth": (
        lambda v: v is None or (_number(v) and v > 0),
        "a number > 0 in the units of X, or None",
    ),
    "clip": (lambda v: _number(v) and 0 <= v < 0.5, "a number >= 0 and less than 0.5"),
    "warm_start": _FLAG,
    "updatable": _FLAG,
}

# Where the name of one value holds several.
_TRIED: dict[str, Rule] = {
    "n_eigenvectors": _grid(
        lambda v: v == "auto" if isinstance(v, str) else is_count(v),
        "whole numbers >= 1 or 'auto'",
    ),
}


def check_space_or_auto(space: SpaceRecipe | str | None) -> None:
    """Refuse what is no recipe of a space, None or 'auto'."""
    if not isinstance(space, str):
        check_space(space)
    elif space != "auto":
        raise ValueError(
            f"space={space!r} is not known. Use 'auto', None (the full kernel), Landmarks(...) or "
            "Linear()."
        )


def check_parameters(estimator: BaseEstimator) -> None:
    """Refuse parameters out of range.

    Raises
    ------
    ValueError
        For the first parameter that is out of range.
    """
    defaults = signature(type(estimator)).parameters
    for name, value in estimator.get_params(deep=False).items():
        rules = _TRIED if name in estimator._tried else _RULES
        holds, wanted = estimator._rules.get(name, rules.get(name, (None, "")))
        left_open = value is None and name in defaults and defaults[name].default is None
        if holds is not None and not left_open and not holds(value):
            text = wanted if isinstance(wanted, str) else wanted()
            raise ValueError(f"{name}={value!r} must be {text}.")
