"""Rows of an array in memory, for code that knows rows only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lapwing._arrays import Array


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """An array as it is; blocks are views of it.

    Attributes
    ----------
    values : ndarray of shape (n, d)
        float32 or float64.
    """

    values: Array

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.values.shape
        return n, d

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    def blocks(self, n_rows: int) -> Iterator[tuple[slice, Array]]:
        for start in range(0, len(self.values), n_rows):
            rows = slice(start, min(start + n_rows, len(self.values)))
            yield rows, self.values[rows]

    def take(self, index: Array) -> Array:
        return self.values[index]
