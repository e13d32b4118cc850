"""Rules of the parameters of estimators, and the parameters of kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY
from functools import cache
from inspect import signature
from typing import Any

from sklearn.base import BaseEstimator

from lapwing._parameters import (
    FLAG,
    SEED,
    Rule,
    check,
    grid,
    is_count,
    is_not_negative,
    is_number,
    is_positive,
    is_word_or,
    named,
    one_of,
    optional,
    parameters,
)
from lapwing.classes.volumes import PRIOR_FORMS, is_prior_like
from lapwing.estimators.choice import SOLVERS, STOPPING
from lapwing.kernels import WIDTHS
from lapwing.losses.base import Loss, TargetKind, UnlabeledLoss
from lapwing.losses.registry import UNLABELED_LOSSES, loss_names
from lapwing.solvers.low_density.methods import METHODS as S3VM_METHODS
from lapwing.solvers.low_density.methods import Method
from lapwing.spaces.recipes import SpaceRecipe, check_space


@parameters
class KernelParameters:
    """Kernel of a function, with or without a bias."""

    kernel: Any = "rbf"
    _: KW_ONLY
    degree: float = 3
    coef0: float = 1.0
    fit_intercept: bool = False


def _registered(names: Callable[[], Iterable[str]], kind: type, shown: str) -> Rule:
    return named(names, f"an object of {shown}", lambda value: isinstance(value, kind))


_RULES: dict[str, Rule] = {
    "kernel": (
        lambda v: isinstance(v, str) or callable(v),
        "a name, such as 'rbf', or a function (X, Z) -> matrix",
    ),
    "gamma": (
        lambda v: isinstance(v, str) or is_positive(v),
        f"a finite number > 0, {', '.join(map(repr, WIDTHS))} or 'auto'",
    ),
    "coef0": (is_number, "a finite number"),
    "gamma_A": (
        is_positive,
        "a number > 0: the ambient norm is what makes the problem well posed",
    ),
    "gamma_I": (is_not_negative, "a number >= 0; 0 means no graph"),
    "gamma_Is": grid(is_not_negative, "finite numbers >= 0; 0 means no graph"),
    "gammas": optional(
        grid(is_word_or("scale", is_positive), "finite numbers > 0 or 'scale'"),
        "None for widths around 'scale'",
    ),
    "graphs": optional(
        (lambda v: isinstance(v, (list, tuple)) and len(v) > 0, "a list of graphs, at least one"),
        "None for graphs around the default one",
    ),
    **dict.fromkeys(("degree", "tol", "lam"), (is_positive, "a number > 0")),
    **dict.fromkeys(("C", "s"), (is_positive, "a finite number > 0")),
    **dict.fromkeys(("gamma_As", "Cs", "lams"), grid(is_positive, "finite numbers > 0")),
    "C_star": optional((is_not_negative, "a finite number >= 0"), "None for C l / u"),
    "mu": (is_not_negative, "a number >= 0"),
    "mus": grid(is_not_negative, "finite numbers >= 0"),
    "epsilon": (is_not_negative, "a number >= 0, in the units of y"),
    "loss": _registered(lambda: loss_names(TargetKind.SIGNS), Loss, "lapwing.losses.Loss"),
    "unlabeled_loss": _registered(
        lambda: ("auto", *UNLABELED_LOSSES), UnlabeledLoss, "lapwing.losses.UnlabeledLoss"
    ),
    "method": _registered(
        lambda: S3VM_METHODS, Method, "lapwing.solvers.low_density.methods.Method"
    ),
    "multi_class": one_of("auto", "ovo", "ovr"),
    "refine": one_of("cut", None),
    "solver": one_of(*SOLVERS),
    "stopping": one_of(*STOPPING),
    "validation_fraction": optional(
        (lambda v: is_number(v) and 0 < v < 1, "a number between 0 and 1")
    ),
    "class_weight": (
        is_word_or("balanced", lambda v: isinstance(v, dict)),
        "'balanced', a dict from classes to their weights, or None",
    ),
    "class_prior": (is_prior_like, PRIOR_FORMS),
    **dict.fromkeys(("max_iter", "n_components", "n_init"), (is_count, "a whole number >= 1")),
    "n_eigenfunctions": optional((is_count, "a whole number >= 1")),
    "n_eigenvectors": optional(
        (is_word_or("auto", is_count), "a whole number >= 1, 'auto'"),
        "None for the exact graph kernel",
    ),
    "n_votes": (
        lambda v: is_count(v, 0),
        "a whole number >= 0; 0 leaves the neighbours' vote out",
    ),
    "random_state": SEED,
    "n_bins": (lambda v: is_count(v, 3), "a whole number >= 3"),
    "bandwidth": optional((is_positive, "a number > 0 in the units of X")),
    "clip": (lambda v: is_number(v) and 0 <= v < 0.5, "a number >= 0 and less than 0.5"),
    **dict.fromkeys(("fit_intercept", "class_mass_normalization", "warm_start", "updatable"), FLAG),
}


def check_space_or_auto(space: SpaceRecipe | str | None) -> None:
    """Raise an error unless a value is a recipe of a space, None or 'auto'."""
    if not isinstance(space, str):
        check_space(space)
    elif space != "auto":
        raise ValueError(
            f"space={space!r} is not known. Use 'auto', None (the full kernel), Landmarks(...) or "
            "Linear()."
        )


def check_parameters(estimator: BaseEstimator) -> None:
    """Raise ValueError for the first parameter of an estimator that is out of range."""
    kind: type = type(estimator)
    none_by_default = _none_by_default(kind)
    given = {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if value is not None or name not in none_by_default
    }
    check(given, {**_RULES, **estimator._rules})


@cache
def _none_by_default(cls: type) -> frozenset[str]:
    parameters = signature(cls).parameters.items()
    return frozenset(name for name, parameter in parameters if parameter.default is None)
