"""Warnings that point at the user's own line, however deep inside they are raised."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn"]

# Frames that are nobody's code: lapwing itself, and what calls it on the user's behalf.
_INSIDE = ("lapwing", "sklearn", "joblib", "contextlib")


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the nearest caller outside lapwing and scikit-learn.

    A constant stacklevel would be one more thing that is wrong whenever a function is moved.

    Parameters
    ----------
    message : str
    category : type of Warning
    """
    level, frame = 0, None
    while frame is None or _is_inside(frame.f_globals.get("__name__", "")):
        level += 1
        try:
            frame = sys._getframe(level)
        except ValueError:  # called from nowhere else
            break
    warnings.warn(message, category, stacklevel=level + 1)


def _is_inside(module: str) -> bool:
    return module.partition(".")[0] in _INSIDE
