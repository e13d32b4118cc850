"""Quantiles of coordinates that are computed in passes and never held for all points.

A pass counts the values within equal cells between two bounds; the next one collects the values of
the cells that hold the wanted ranks, which are few, and sorts them. A cell that holds too many is
cut into cells itself. So the values are those that sorting everything would give, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from lapwing._arrays import Array

__all__ = ["quantiles"]

_CELLS = 2**12
_COLLECTED = 2**17  # values of a cell that are collected instead of being cut again


def quantiles(
    passes: Callable[[], Iterable[Array]], low: Array, high: Array, n: int, shares: list[float]
) -> Array:
    """Quantiles of columns, interpolated linearly between two values as by `numpy.quantile`.

    Parameters
    ----------
    passes : callable
        () -> row blocks (b, q) of the columns, the same ones each time.
    low, high : ndarray of shape (q,)
        Least and largest value of each column.
    n : int
        Rows of all blocks.
    shares : list of float
        Between 0 and 1.

    Returns
    -------
    ndarray of shape (len(shares), q)
    """
    position = np.array(shares) * (n - 1)
    below = np.floor(position).astype(np.int64)
    ranks = np.unique([below, np.minimum(below + 1, n - 1)])
    values = _ranked(passes, low, high, ranks)
    first = values[np.searchsorted(ranks, below)]
    second = values[np.searchsorted(ranks, np.minimum(below + 1, n - 1))]
    part = (position - below)[:, None]
    # From the nearer end, as numpy does: it rounds less.
    step = second - first
    return np.asarray(np.where(part < 0.5, first + step * part, second - step * (1 - part)))


@dataclass(eq=False)
class _Cell:
    """Values of a column between two bounds, which some of the wanted ranks are among.

    Attributes
    ----------
    column : int
    low, high : float
        Least and largest of the values.
    before : int
        Values of the column that are less.
    ranks : list of int
    """

    column: int
    low: float
    high: float
    before: int
    ranks: list[int]
    counts: Array = field(default_factory=lambda: np.zeros(_CELLS, dtype=np.int64))

    def cells_of(self, values: Array) -> Array:
        """Where values lie among the cells; it never falls where they rise, rounding included."""
        scale = _CELLS / (self.high - self.low)
        return np.clip(((values - self.low) * scale).astype(np.int64), 0, _CELLS - 1)

    def count(self, values: Array) -> None:
        inside = values[(values >= self.low) & (values <= self.high)]
        self.counts += np.bincount(self.cells_of(inside), minlength=_CELLS)

    def wanted(self) -> dict[int, list[int]]:
        """Cells that hold ranks, with these."""
        total = self.before + np.cumsum(self.counts)
        found: dict[int, list[int]] = {}
        for rank in self.ranks:
            found.setdefault(int(np.searchsorted(total, rank, side="right")), []).append(rank)
        return found


def _ranked(passes: Callable[[], Iterable[Array]], low: Array, high: Array, ranks: Array) -> Array:
    """The values (len(ranks), q) of given ranks, from 0, in each column."""
    found = np.empty((len(ranks), len(low)))
    order = {int(rank): i for i, rank in enumerate(ranks)}
    cut = [_Cell(j, float(low[j]), float(high[j]), 0, [*order]) for j in range(len(low))]
    while cut:
        for cell in cut:
            if cell.low == cell.high:
                found[[order[rank] for rank in cell.ranks], cell.column] = cell.low
        cut = [cell for cell in cut if cell.low < cell.high]
        if not cut:
            break
        for block in passes():
            for cell in cut:
                cell.count(block[:, cell.column])
        cut = _look_closer(passes, cut, found, order)
    return found


def _look_closer(
    passes: Callable[[], Iterable[Array]], cut: list[_Cell], found: Array, order: dict[int, int]
) -> list[_Cell]:
    """Find the ranks in cells of few values; those of many are returned, to be cut again."""
    held: dict[tuple[int, int], list[Array]] = {}
    for block in passes():
        for i, cell in enumerate(cut):
            values = block[:, cell.column]
            values = values[(values >= cell.low) & (values <= cell.high)]
            cells = cell.cells_of(values)
            for number in cell.wanted():
                some = values[cells == number]
                if cell.counts[number] > _COLLECTED and len(some):
                    some = np.array([some.min(), some.max()])
                held.setdefault((i, number), []).append(some)
    again = []
    for (i, number), parts in held.items():
        cell, values = cut[i], np.concatenate(parts)
        before = cell.before + int(cell.counts[:number].sum())
        ranks = cell.wanted()[number]
        if cell.counts[number] > _COLLECTED:
            again.append(
                _Cell(cell.column, float(values.min()), float(values.max()), before, ranks)
            )
            continue
        values.sort()
        for rank in ranks:
            found[order[rank], cell.column] = values[rank - before]
    return again
