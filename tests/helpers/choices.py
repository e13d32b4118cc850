"""Which setting of a grid leave-one-out takes, by its definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lapwing._arrays import Array


def usual_of(settings: Sequence[Mapping[str, Any]], defaults: Mapping[str, float]) -> int:
    """The setting nearest to the defaults, each by its ratio, with the first graph."""
    left = list(range(len(settings)))
    for name, default in defaults.items():
        away = [abs(np.log(max(settings[i][name], 1e-300) / default)) for i in left]
        left = [i for i, distance in zip(left, away, strict=True) if distance == min(away)]
    return left[0]


def chosen_of(losses: Array, weights: Array, usual: int) -> int:
    """The least weighted mean (of rows), unless a one-sided test at 5 % keeps the usual one."""
    best = int(np.argmin(losses @ weights))
    worse = losses[usual] - losses[best]
    mean = np.average(worse, weights=weights)
    part, l = weights / weights.sum(), len(weights)
    variance = l / (l - 1) * np.sum(part**2 * (worse - mean) ** 2)
    return usual if mean <= 1.645 * np.sqrt(variance) else best
