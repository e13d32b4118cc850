"""Some of the rows of others: what is left of X where equal rows are one point."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing._rows.base import Rows, key_of

__all__ = ["PickedRows"]


@dataclass(frozen=True, eq=False)
class PickedRows:
    """Rows by their numbers in others, which a pass reads in order.

    Attributes
    ----------
    source : Rows
    index : ndarray of int of shape (n,)
        Ascending.
    """

    source: Rows
    index: Array

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.index), self.source.shape[1]

    @property
    def dtype(self) -> Any:
        return self.source.dtype

    @property
    def key(self) -> Any:
        return key_of(self.source), self.index

    def blocks(self, n_rows: int) -> Iterator[tuple[slice, Array]]:
        kept = [np.empty((0, self.shape[1]), dtype=self.dtype)]
        held = begin = 0
        for rows, block in self.source.blocks(n_rows):
            low, high = np.searchsorted(self.index, [rows.start, rows.stop])
            kept.append(block[self.index[low:high] - rows.start])
            held += high - low
            if held >= n_rows:  # never twice as many: a block of the source has no more
                gathered = np.concatenate(kept)
                yield slice(begin, begin + n_rows), gathered[:n_rows]
                begin += n_rows
                kept, held = [gathered[n_rows:].copy()], held - n_rows
        if held:
            yield slice(begin, begin + held), np.concatenate(kept)

    def take(self, index: Array) -> Array:
        return self.source.take(self.index[index])
