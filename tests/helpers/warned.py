"""Warnings of a call."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import reduce
from typing import Any

import pytest


def warned(act: Callable[[], Any], *categories: type[Warning]) -> list[warnings.WarningMessage]:
    """The warnings of a call in order, all or those of some categories."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [each for each in caught if issubclass(each.category, categories or Warning)]


def texts(act: Callable[[], Any], *categories: type[Warning]) -> list[str]:
    """The texts of these warnings."""
    return [str(each.message) for each in warned(act, *categories)]


def ignoring(*names: str) -> Callable[[Any], Any]:
    """A decorator of tests in which warnings of these names, less their ending, are no errors."""
    marks = [
        pytest.mark.filterwarnings(f"ignore::lapwing.exceptions.{name}Warning") for name in names
    ]
    return lambda test: reduce(lambda marked, mark: mark(marked), marks, test)
