"""Rows with their columns standardised whenever they are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing._rows.base import Rows, key_of


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """(x - mean) / scale of each column, in the precision of the rows.

    Attributes
    ----------
    source : Rows
    mean, scale : ndarray of shape (d,), float64
    """

    source: Rows
    mean: Array
    scale: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape

    @property
    def dtype(self) -> Any:
        return self.source.dtype

    @property
    def key(self) -> Any:
        return key_of(self.source), self.mean, self.scale

    def blocks(self, n_rows: int) -> Iterator[tuple[slice, Array]]:
        for rows, block in self.source.blocks(n_rows):
            yield rows, self._scaled(block)

    def take(self, index: Array) -> Array:
        return self._scaled(self.source.take(index))

    def _scaled(self, block: Array) -> Array:
        # In two steps, as `sklearn.preprocessing.StandardScaler` rounds.
        values = np.subtract(block, self.mean, dtype=self.dtype, casting="same_kind")
        values /= self.scale.astype(self.dtype)
        return values
