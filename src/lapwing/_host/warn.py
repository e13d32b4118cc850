"""Warnings that point to the line of user code that caused them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

from lapwing.exceptions import LapwingWarning

# Packages whose frames are skipped in the search for user code.
_INSIDE = ("lapwing", "sklearn", "joblib", "contextlib")

_COLLECTED: ContextVar[list[Warning] | None] = ContextVar("_COLLECTED", default=None)


@contextmanager
def collect_warnings() -> Iterator[list[Warning]]:
    """Collect lapwing's warnings in the block instead of issuing them.

    `warnings.catch_warnings` affects the whole process, and would collect those of other threads.
    """
    caught: list[Warning] = []
    before = _COLLECTED.set(caught)
    try:
        yield caught
    finally:
        _COLLECTED.reset(before)


def warn(message: str, category: type[Warning] = LapwingWarning) -> None:
    """Warn at the nearest caller outside of lapwing and scikit-learn.

    A constant stacklevel would be wrong whenever a function is moved.

    Parameters
    ----------
    message : str
        Text of the warning.
    category : type of Warning, default=LapwingWarning
    """
    collected = _COLLECTED.get()
    if collected is not None:
        collected.append(category(message))
        return
    level, frame = 2, sys._getframe().f_back  # stacklevel 1 is this function
    while frame is not None and _is_inside(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def called_by(module: str) -> bool:
    """Return whether a module of scikit-learn called lapwing, without user code in between."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_inside(name := frame.f_globals.get("__name__", "")):
        if name == module:
            return True
        frame = frame.f_back
    return False


def _is_inside(module: str) -> bool:
    return module.partition(".")[0] in _INSIDE
