"""Roots of many increasing functions at once, by Newton's method in a bracket."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from lapwing._arrays import Array

Increasing: TypeAlias = Callable[[Array], tuple[Array, Array]]
"""x -> values and slopes; elementwise, values not decreasing in x, slopes >= 0."""

_EPSILON = float(np.finfo(np.float64).eps)
_MAX_STEPS = 200  # bisection alone needs some 60 from a bracket, and 1000 doublings overflow


def increasing_root(function: Increasing, low: Array, high: Array) -> Array:
    """Find where increasing functions cross zero.

    Parameters
    ----------
    function : callable
        x -> (values, slopes).
    low, high : ndarray
        Brackets; `high` may be infinite.

    Returns
    -------
    ndarray
        `low` where the function is >= 0 there already, `high` where it is negative there still.

    Notes
    -----
    A Newton step is taken where it stays in the bracket and the value at least halves from step to
    step, else the middle (of an infinite bracket: one that doubles). So it ends in a few steps on
    functions of few linear pieces, and always.
    """
    low, high = low.astype(np.float64), np.broadcast_to(high, low.shape).astype(np.float64)
    x, before = low, np.full(low.shape, np.inf)
    # a root at 0 has no relative accuracy: that of the bracket then
    size = np.where(np.isfinite(high), np.maximum(np.abs(low), np.abs(high)), 0.0)
    for number in range(_MAX_STEPS):
        value, slope = function(x)
        if number == 0:
            high = np.where(value >= 0, low, high)
        rising = value < 0
        low, high = np.where(rising, x, low), np.where(rising, high, x)
        step = np.divide(-value, slope, out=np.full_like(x, np.inf), where=slope > 0)
        ahead = x + step
        middle = np.where(np.isfinite(high), (low + high) / 2, 2 * np.maximum(x, 0) + 1)
        inside = (ahead > low) & (ahead <= high) & np.isfinite(ahead)
        newton = inside & (np.abs(value) <= before / 2)
        before = np.abs(value)
        tiny = _EPSILON * np.maximum(np.abs(x), size)
        found = (np.abs(step) <= tiny) | (value == 0) | (high - low <= tiny)
        new = np.where(found, x, np.where(newton, ahead, middle))
        done = found | (new == x)
        x = new
        if done.all():
            break
    return x
