"""Contrast of colours by the rule of WCAG 2.2."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def rgb_of(code: str) -> NDArray[Any]:
    """A colour #rrggbb as numbers from 0 to 1."""
    return np.array([int(code[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def linear(rgb: ArrayLike) -> NDArray[Any]:
    """Linear RGB of sRGB, both from 0 to 1."""
    values = np.asarray(rgb)
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: ArrayLike, other: ArrayLike) -> float:
    """Ratio of the luminances of two colours."""
    low, high = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (one, other))
    return (high + 0.05) / (low + 0.05)
