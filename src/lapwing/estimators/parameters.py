"""Checks of constructor parameters; each message names the parameter, its value and what to do."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

from lapwing.estimators.choice import SOLVERS
from lapwing.estimators.early import STOPPING

__all__ = ["check_parameters"]


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _one_of(*allowed: Any) -> tuple[Callable[[Any], bool], str]:
    names = ", ".join(map(repr, allowed))
    return (
        lambda value: isinstance(value, (str, type(None))) and value in allowed,
        f"one of {names}",
    )


_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "gamma_A": (
        lambda v: _number(v) and v > 0,
        "a number > 0: the ambient norm is what makes the problem well posed",
    ),
    "gamma_I": (lambda v: _number(v) and v >= 0, "a number >= 0; 0 means no graph"),
    "epsilon": (lambda v: _number(v) and v >= 0, "a number >= 0, in the units of y"),
    "tol": (lambda v: _number(v) and v > 0, "a number > 0"),
    "max_iter": (
        lambda v: isinstance(v, Integral) and not isinstance(v, bool) and v >= 1,
        "a whole number >= 1",
    ),
    "validation_fraction": (
        lambda v: v is None or (_number(v) and 0 < v < 1),
        "a number between 0 and 1, or None",
    ),
    "loss": _one_of("squared_hinge", "hinge"),
    "solver": _one_of(*SOLVERS),
    "stopping": _one_of(*STOPPING),
}


def check_parameters(estimator: Any) -> None:
    """Refuse parameters out of range.

    Raises
    ------
    ValueError
        For the first parameter that is out of range.
    """
    for name, value in estimator.get_params(deep=False).items():
        holds, wanted = _RULES.get(name, (None, ""))
        if holds is not None and not holds(value):
            raise ValueError(f"{name}={value!r} must be {wanted}.")
