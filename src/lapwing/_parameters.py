"""Constructor parameters, declared as fields and checked.

Each message of a check names the parameter, its value and what to do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, fields
from functools import cache
from inspect import Parameter, Signature, get_annotations, signature
from typing import Any, TypeAlias, TypeVar, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator

T = TypeVar("T", bound=type)

Rule: TypeAlias = tuple[Callable[[Any], bool], str | Callable[[], str]]
"""(holds, wanted): whether a value is allowed, and how the message ends: 'must be ...'."""


class Parametrized(BaseEstimator):
    """Base of estimators and recipes, which reads the names of the parameters once per class.

    scikit-learn reads them from the signature at every `get_params` and at every `clone`.
    """

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        names: list[str] = super()._get_param_names()
        return names


@dataclass_transform(eq_default=False)
def parameters(cls: T) -> T:
    """Generate an `__init__` that has the annotated attributes as parameters and stores them.

    Parameters of decorated base classes are inherited. Keyword-only parameters are in the order of
    the docstring in the signature, so `document` must have filled it before.

    For type checkers the class is a dataclass. In `help` and signatures it is like an estimator of
    scikit-learn: defaults without annotations, and no class attributes.
    """
    before, own = set(vars(cls)), get_annotations(cls)
    inherited: dict[str, Field[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited |= vars(base).get("_declared", {})
    inherited = {name: field for name, field in inherited.items() if name not in own}
    for name, field in inherited.items():
        setattr(cls, name, field)
    cls.__annotations__ = {name: field.type for name, field in inherited.items()} | own
    dataclass(eq=False, repr=False, match_args=False)(cls)
    declared = {field.name: field for field in fields(cls) if field.name in own}
    init = vars(cls)["__init__"]
    # Attributes that dataclass used or added: defaults, special methods, annotations.
    made = {*(vars(cls).keys() - before), *init.__annotations__, "__annotations__"} - {"__init__"}
    for name in made & vars(cls).keys():
        delattr(cls, name)
    init.__annotations__ = {}
    init.__signature__ = _as_documented(signature(init), cls.__doc__ or "")
    cls._declared = declared  # type: ignore[attr-defined]
    return cls


def _as_documented(given: Signature, docstring: str) -> Signature:
    """Sort the keyword-only parameters by their places in a docstring."""
    entries = re.findall(r"^ *(\w+(?:, \w+)*) : ", docstring, re.MULTILINE)
    documented = ", ".join(entries).split(", ")

    def place(parameter: Parameter) -> int:
        if parameter.kind is not Parameter.KEYWORD_ONLY:
            return -1
        return [*documented, parameter.name].index(parameter.name)

    return given.replace(parameters=sorted(given.parameters.values(), key=place))


def check(parameters: Mapping[str, Any], rules: Mapping[str, Rule]) -> None:
    """Raise ValueError for parameters out of range.

    Raises
    ------
    ValueError
        For the first parameter that is out of range.
    """
    for name, value in parameters.items():
        holds, wanted = rules.get(name, (None, ""))
        if holds is not None and not holds(value):
            text = wanted if isinstance(wanted, str) else wanted()
            raise ValueError(f"{name}={value!r} must be {text}.")


def changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the sorted names of values that are neither the same object nor equal plain values."""

    def same(one: Any, other: Any) -> bool:
        plain = all(np.isscalar(v) or isinstance(v, (tuple, dict)) for v in (one, other))
        return one is other or (plain and bool(one == other))

    return [name for name in sorted({*before, *now}) if not same(before.get(name), now.get(name))]


def is_number(value: object) -> bool:
    """Return whether a value is a finite number."""
    real = isinstance(value, (int, float, np.integer, np.floating))
    try:
        return real and not isinstance(value, bool) and math.isfinite(value)  # type: ignore[arg-type]
    except OverflowError:  # an integer out of the range of floats
        return False


def is_count(value: object, least: int = 1) -> bool:
    """Return whether a value is a whole number of at least `least`."""
    whole = isinstance(value, (int, np.integer))
    return whole and not isinstance(value, bool) and value >= least  # type: ignore[operator]


def is_seed(value: object) -> bool:
    """Return whether a value is a seed for `sklearn.utils.check_random_state`."""
    known = value is None or value is np.random or isinstance(value, np.random.RandomState)
    return known or (is_count(value, 0) and value < 2**32)  # type: ignore[operator]


def is_positive(value: Any) -> bool:
    """Return whether a value is a finite number > 0."""
    return is_number(value) and value > 0


def is_not_negative(value: Any) -> bool:
    """Return whether a value is a finite number >= 0."""
    return is_number(value) and value >= 0


def is_flag(value: object) -> bool:
    """Return whether a value is a bool; others are refused, as even the string "False" is true."""
    return isinstance(value, (bool, np.bool_))


def is_word_or(word: str, holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return the test for a word, or for values that are no strings and pass another test."""
    return lambda value: value == word if isinstance(value, str) else holds(value)


FLAG: Rule = is_flag, "True or False"
FLAG_OR_AUTO: Rule = is_word_or("auto", is_flag), "True, False or 'auto'"
SEED: Rule = is_seed, "None, a whole number from 0 to 2**32 - 1, or a numpy.random.RandomState"


def count(least: int = 1) -> Rule:
    """Return a rule for whole numbers of at least this one."""
    return lambda value: is_count(value, least), f"a whole number of at least {least}"


COUNT: Rule = count()


def one_of(*allowed: str | None) -> Rule:
    """Return a rule for one of a few names."""
    names = ", ".join(map(repr, allowed))
    return (
        lambda value: isinstance(value, (str, type(None))) and value in allowed,
        f"one of {names}",
    )


def named(names: Callable[[], Iterable[str]], otherwise: str, also: Callable[[Any], bool]) -> Rule:
    """Return a rule for a name in a registry, which is read at each check, or another value.

    Parameters
    ----------
    names : callable
        () -> names.
    otherwise : str
        Description of other allowed values in the message.
    also : callable
        (value) -> whether it is one of these values.
    """

    def wanted() -> str:
        return f"one of {', '.join(map(repr, names()))}, or {otherwise}"

    return (lambda value: value in names() if isinstance(value, str) else also(value), wanted)


def grid(holds: Callable[[Any], bool], wanted: str) -> Rule:
    """Return a rule for a sequence of values that satisfy another rule."""

    def all_hold(values: Any) -> bool:
        listed = isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, str)
        return listed and len(values) > 0 and all(holds(value) for value in values)

    return all_hold, f"a list of {wanted}, at least one"


def optional(rule: Rule, otherwise: str = "None") -> Rule:
    """Return a rule for None or a value that satisfies another rule."""
    holds, wanted = rule
    return lambda value: value is None or holds(value), f"{wanted}, or {otherwise}"
