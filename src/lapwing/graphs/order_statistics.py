"""Quantiles of coordinates that are computed in passes and never held for all points.

A pass counts the values within fine cells of a bracket, and the cell that holds the wanted one is
the next bracket; what lies in a small bracket is collected and sorted. So the values are those that
sorting everything would give, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from lapwing._arrays import Array

__all__ = ["quantiles"]

_CELLS = 2**14
_COLLECTED = 2**18  # values of a bracket that are collected instead of counted again


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
    values = _ranked(passes, low, high, n, ranks)
    first = values[np.searchsorted(ranks, below)]
    second = values[np.searchsorted(ranks, np.minimum(below + 1, n - 1))]
    part = (position - below)[:, None]
    # From the nearer end, as numpy does: it rounds less.
    step = second - first
    return np.asarray(np.where(part < 0.5, first + step * part, second - step * (1 - part)))


class _Bracket:
    """Where the value of one rank of one column lies: low <= value <= high."""

    def __init__(self, column: int, rank: int, low: float, high: float, n: int) -> None:
        self.column, self.rank, self.low, self.high = column, rank, low, high
        self.before, self.inside = 0, n  # values below the bracket, and within it
        self._counts = np.zeros(_CELLS, dtype=np.int64)
        self._values: list[Array] = []

    @property
    def known(self) -> bool:
        return self.low == self.high

    def edges(self) -> Array:
        edges = np.linspace(self.low, self.high, _CELLS + 1)
        edges[-1] = self.high
        return edges

    def look(self, column: Array) -> None:
        some = column[(column >= self.low) & (column <= self.high)]
        if self.inside <= _COLLECTED:
            self._values.append(some)
            return
        cells = np.searchsorted(self.edges(), some, side="right") - 1
        self._counts += np.bincount(np.minimum(cells, _CELLS - 1), minlength=_CELLS)

    def narrow(self) -> None:
        wanted = self.rank - self.before
        if self.inside <= _COLLECTED:
            found = np.concatenate(self._values)
            self.low = self.high = float(np.partition(found, wanted)[wanted])
            return
        total = np.cumsum(self._counts)
        cell = int(np.searchsorted(total, wanted, side="right"))
        edges = self.edges()
        self.before += int(total[cell] - self._counts[cell])
        self.inside = int(self._counts[cell])
        # A cell holds its lower edge and not its upper one, but for the last.
        upper = edges[cell + 1] if cell == _CELLS - 1 else np.nextafter(edges[cell + 1], -np.inf)
        self.low, self.high = float(edges[cell]), float(max(upper, edges[cell]))
        self._counts = np.zeros(_CELLS, dtype=np.int64)


def _ranked(
    passes: Callable[[], Iterable[Array]], low: Array, high: Array, n: int, ranks: Array
) -> Array:
    """The values (len(ranks), q) of given ranks, from 0, in each column."""
    brackets = [
        _Bracket(j, int(rank), float(low[j]), float(high[j]), n)
        for rank in ranks
        for j in range(len(low))
    ]
    while True:
        open_ones = [bracket for bracket in brackets if not bracket.known]
        if not open_ones:
            break
        for block in passes():
            for bracket in open_ones:
                bracket.look(block[:, bracket.column])
        for bracket in open_ones:
            bracket.narrow()
    return np.array([bracket.low for bracket in brackets]).reshape(len(ranks), len(low))
