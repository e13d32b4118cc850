"""Checks of the parameters of graph recipes, one rule a name; each message says what is allowed."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any, TypeAlias

import numpy as np

from lapwing.graphs.base import check_power, is_normalized

# Called with the name and the value of a parameter; raises ValueError.
Rule: TypeAlias = Callable[[str, Any], object]


def _rule(holds: Callable[[Any], bool], wanted: str) -> Rule:
    def check(name: str, value: Any) -> None:
        if not holds(value):
            raise ValueError(f"{name}={value!r} must be {wanted}.")

    return check


def one_of(
    names: Collection[str], otherwise: str = "", also: Callable[[Any], bool] | None = None
) -> Rule:
    """Rule for a name of a registry.

    Parameters
    ----------
    names : collection of str
    otherwise : str, default=""
        What else the parameter may be, as the message says it.
    also : callable, optional
        Whether a value is that.
    """

    def check(name: str, value: Any) -> None:
        if value in names if isinstance(value, str) else also is not None and also(value):
            return
        known = ", ".join(map(repr, names))
        more = f", or {otherwise}" if otherwise else ""
        raise ValueError(f"{name}={value!r} is not known. Use {known}{more}.")

    return check


def _is_flag(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_whole(value) and value >= 1


def _is_number(value: Any) -> bool:
    real = isinstance(value, (int, float, np.integer, np.floating))
    return real and not isinstance(value, bool) and math.isfinite(value)


_FLAG = _rule(_is_flag, "True or False")
_COUNT = _rule(_is_count, "a whole number of at least 1")

_RULES: dict[str, Rule] = {
    "normalized": lambda name, value: is_normalized(value),
    "power": lambda name, value: check_power(value),
    "mutual": _FLAG,
    "approximate": _rule(
        lambda v: _is_flag(v) or (isinstance(v, str) and v == "auto"), "True, False or 'auto'"
    ),
    "n_neighbors": _COUNT,
    "n_nearest": _COUNT,
    "n_anchors": _rule(
        lambda v: v is None or _is_count(v), "a whole number of at least 1, or None"
    ),
    "n_components": _rule(
        lambda v: v is None or _is_count(v), "None or a whole number of at least 1"
    ),
    "target_recall": _rule(lambda v: _is_number(v) and 0 < v <= 1, "a number in (0, 1]"),
    "bandwidth": _rule(
        lambda v: v is None or (_is_number(v) and v > 0),
        "a finite number > 0 in the units of X, or None",
    ),
    "n_jobs": _rule(
        lambda v: v is None or (_is_whole(v) and v != 0),
        "a number of threads, -1 for all cores, or None",
    ),
}


def check_recipe(recipe: Any, **rules: Rule) -> None:
    """Refuse parameters of a recipe that are out of range.

    Parameters
    ----------
    recipe : BaseEstimator
    **rules : callables
        For parameters whose choice is the recipe's own.

    Raises
    ------
    ValueError
        For the first parameter that is out of range.
    """
    known = _RULES | rules
    for name, value in recipe.get_params(deep=False).items():
        if name in known:
            known[name](name, value)
