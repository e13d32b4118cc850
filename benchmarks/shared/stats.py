"""Mean and standard deviation over splits, and their format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

import numpy as np

K = TypeVar("K")
V = TypeVar("V")


class Stat(NamedTuple):
    """Mean and sample standard deviation of a quantity over splits."""

    mean: float
    std: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Stat:
        """Summarise the values of splits; the deviation of a single value is 0.

        The denominator is one less than the number of splits, as in the paper: 1.67 (1.44) % on
        three validation sets of 80 points (Table 4, MNIST3VS8) can be 0, 2 and 2 errors with
        that denominator only.
        """
        data = np.asarray(list(values), dtype=float)
        if data.size == 0:
            raise ValueError("A statistic needs one value at least.")
        return cls(float(data.mean()), float(data.std(ddof=1)) if data.size > 1 else 0.0)

    def show(self, digits: int = 2) -> str:
        """Format as ``mean (std)``."""
        return f"{self.mean:.{digits}f} ({self.std:.{digits}f})"


def gathered(draws: Iterable[Mapping[K, V]]) -> dict[K, list[V]]:
    """Gather the values of several draws by their names."""
    found: dict[K, list[V]] = {}
    for draw in draws:
        for name, value in draw.items():
            found.setdefault(name, []).append(value)
    return found


def with_paper(ours: Stat | None, paper: Stat | None, digits: int = 2) -> str:
    """Format our result with that of the paper in brackets.

    Either may be missing.
    """
    left = "-" if ours is None else ours.show(digits)
    right = "" if paper is None else f" [{paper.show(digits)}]"
    return left + right
