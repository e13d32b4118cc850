"""Warnings of a call."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any


def warned(act: Callable[[], Any], *categories: type[Warning]) -> list[warnings.WarningMessage]:
    """The warnings of a call in order, all or those of some categories."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [each for each in caught if issubclass(each.category, categories or Warning)]


def texts(act: Callable[[], Any], *categories: type[Warning]) -> list[str]:
    """The texts of these warnings."""
    return [str(each.message) for each in warned(act, *categories)]
