"""Warnings that point at the user's own line."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

# Frames that are nobody's code: lapwing itself, and what calls it on the user's behalf.
_INSIDE = ("lapwing", "sklearn", "joblib", "contextlib")

_LISTENER: ContextVar[list[Warning] | None] = ContextVar("_LISTENER", default=None)


@contextmanager
def heard() -> Iterator[list[Warning]]:
    """Gather lapwing's own warnings of the block, which nobody else gets.

    `warnings.catch_warnings` does so for the whole process, and would take those of other threads.
    """
    said: list[Warning] = []
    before = _LISTENER.set(said)
    try:
        yield said
    finally:
        _LISTENER.reset(before)


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the nearest caller outside lapwing and scikit-learn.

    A constant stacklevel would be one more thing that is wrong whenever a function is moved.

    Parameters
    ----------
    message : str
    category : type of Warning
    """
    listener = _LISTENER.get()
    if listener is not None:
        listener.append(category(message))
        return
    level, frame = 0, None
    while frame is None or _is_inside(frame.f_globals.get("__name__", "")):
        level += 1
        try:
            frame = sys._getframe(level)
        except ValueError:  # called from nowhere else
            break
    warnings.warn(message, category, stacklevel=level + 1)


def called_by(module: str) -> bool:
    """Whether a module of scikit-learn called lapwing, with nobody else's code in between."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_inside(name := frame.f_globals.get("__name__", "")):
        if name == module:
            return True
        frame = frame.f_back
    return False


def _is_inside(module: str) -> bool:
    return module.partition(".")[0] in _INSIDE
