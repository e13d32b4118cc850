"""Streaming quantiles of columns.

A pass counts the numbers in cells between two bounds. The next pass collects and sorts the numbers
in the cells with the wanted ranks if they are few; otherwise it computes the minimum and maximum in
the cell, which are equal or the bounds of the next cells. The results are those of sorting all
numbers, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lapwing._arrays import Array

_CELLS = 512  # cells of equal width, and as many with equal numbers of floating-point numbers
_FEW = 2**14  # maximum number of numbers in a cell that are collected


class Columns(Protocol):
    """Row blocks of the same columns, in memory, on disk or on a cluster.

    Tasks are functions of a module, as they may run in other processes.
    """

    def total(self, task: Callable[..., Array], *arguments: object) -> Array:
        """Sum ``task(block, *arguments)`` over the blocks."""

    def collect(self, task: Callable[..., Any], *arguments: object) -> list[Any]:
        """Return ``task(block, *arguments)`` for each block."""


class ViewedColumns(Columns, Protocol):
    """Columns, such as the features of points, from which others are computed."""

    def view(self, function: Callable[..., Array], *arguments: Any) -> Columns:
        """Return the columns ``function(block, *arguments)``, computed in each pass."""


@dataclass(frozen=True)
class StreamedColumns:
    """Columns whose blocks are computed in each pass.

    Attributes
    ----------
    blocks : callable
        () -> row blocks (b, q), the same in each pass.
    """

    blocks: Callable[[], Iterable[Array]]

    def total(self, task: Callable[..., Array], *arguments: object) -> Array:
        return np.asarray(sum(task(block, *arguments) for block in self.blocks()))

    def collect(self, task: Callable[..., Any], *arguments: object) -> list[Any]:
        return [task(block, *arguments) for block in self.blocks()]

    def view(self, function: Callable[..., Array], *arguments: Any) -> StreamedColumns:
        return StreamedColumns(lambda: (function(block, *arguments) for block in self.blocks()))


def quantiles(columns: Columns, n: int, shares: list[float]) -> tuple[Array, tuple[Array, Array]]:
    """Compute quantiles of columns, interpolated linearly as by `numpy.quantile`.

    Parameters
    ----------
    columns : Columns
        q columns of finite numbers.
    n : int
        Number of rows of all blocks.
    shares : list of float
        Quantiles to compute, between 0 and 1.

    Returns
    -------
    quantiles : ndarray of shape (len(shares), q)
    ends : tuple of ndarray of shape (q,)
        Minima and maxima.
    """
    found = [ends for ends in columns.collect(_ends) if ends is not None]
    least = np.min([low for low, _ in found], axis=0).astype(np.float64)
    largest = np.max([high for _, high in found], axis=0).astype(np.float64)
    position = np.array(shares) * (n - 1)
    below = np.floor(position).astype(np.int64)
    ranks = np.unique([below, np.minimum(below + 1, n - 1)])
    values = _ranked(columns, n, least, largest, ranks)
    first = values[np.searchsorted(ranks, below)]
    second = values[np.searchsorted(ranks, np.minimum(below + 1, n - 1))]
    part = (position - below)[:, None]
    # From the nearer end, as in NumPy, so that equal ends give their value.
    step = second - first
    between = np.where(part < 0.5, first + step * part, second - step * (1 - part))
    return between, (least, largest)


def _ranked(columns: Columns, n: int, least: Array, largest: Array, ranks: Array) -> Array:
    """Find the numbers (len(ranks), q) with given ranks, from 0, in each column."""
    q = len(least)
    column, rank = np.tile(np.arange(q), len(ranks)), np.repeat(ranks, q)
    # A wanted number is in a bracket, low < key <= high, and `before` numbers are <= low.
    low, high = _keys(least)[column] - 1, _keys(largest)[column]
    before, inside = np.zeros(len(rank), dtype=np.int64), np.full(len(rank), n)
    while len(left := np.flatnonzero(low + 1 < high)):
        wide = left[inside[left] > _FEW]
        if len(wide):
            brackets, own = _distinct(column[wide], low[wide], high[wide])
            edges = np.array([_edges(a, b) for a, b in brackets[1:].T.tolist()], dtype=np.int64)
            counts = columns.total(_counts, brackets[0], _numbers(edges))[own]
            upto = before[wide, None] + np.cumsum(counts, axis=1)
            cell = np.argmax(upto > rank[wide, None], axis=1)
            inside[wide] = np.take_along_axis(counts, cell[:, None], 1)[:, 0]
            before[wide] = np.take_along_axis(upto, cell[:, None], 1)[:, 0] - inside[wide]
            low[wide], high[wide] = edges[own, cell], edges[own, cell + 1]
        brackets, own = _distinct(column[left], low[left], high[left])
        few = np.zeros(brackets.shape[1], dtype=bool)
        few[own] = inside[left] <= _FEW
        parts = columns.collect(_seen, brackets[0], *_numbers(brackets[1:]), few)
        held = [np.sort(np.concatenate(some)) for some in zip(*parts, strict=True)]
        for i, bracket in zip(left, own, strict=True):
            numbers = held[bracket]
            if few[bracket]:
                numbers = numbers[[rank[i] - before[i]]]
            low[i], high[i] = _keys(numbers[[0, -1]]) - [1, 0]
    return _numbers(high).reshape(len(ranks), q)


def _distinct(*brackets: Array) -> tuple[Array, Array]:
    """Return the distinct brackets (3, k) of columns and bounds, and the index of each."""
    found, own = np.unique(np.stack(brackets), axis=1, return_inverse=True)
    return found, own


def _edges(low: int, high: int) -> list[int]:
    """Return keys that divide a bracket into cells; narrow brackets repeat some.

    Half of them are evenly spaced as numbers. The other half are evenly spaced as keys, as numbers
    near 0, or with distant outliers, would remain in one cell of equal width after many divisions.
    """
    span = high - low  # Python integers: the span of all keys exceeds int64
    by_key = [low + span * j // _CELLS for j in range(_CELLS + 1)]
    first, last = _numbers(np.array([low + 1, high]))
    part = np.arange(1, _CELLS) / _CELLS
    by_number = _keys(first * (1 - part) + last * part)
    return sorted(by_key + np.clip(by_number, low, high).tolist())


def _keys(values: Array) -> Array:
    """Map floating-point numbers to consecutive integers in the same order."""
    bits = np.ascontiguousarray(values + 0.0, dtype=np.float64).view(np.int64)  # -0 is 0
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


def _numbers(keys: Array) -> Array:
    """Undo `_keys`."""
    bits = np.where(keys < 0, np.int64(-(2**63)) - keys, keys)
    return bits.view(np.float64)


def _ends(block: Array) -> tuple[Array, Array] | None:
    return (block.min(axis=0), block.max(axis=0)) if len(block) else None


def _counts(block: Array, columns: Array, edges: Array) -> Array:
    """Count the numbers in each cell (k, cells), which includes its upper edge."""
    brackets = zip(_within(block, columns, edges[:, 0], edges[:, -1]), edges, strict=True)
    upto = [np.searchsorted(np.sort(numbers), own, side="right") for numbers, own in brackets]
    return np.diff(upto, axis=1)


def _within(block: Array, columns: Array, low: Array, high: Array) -> list[Array]:
    """Return the numbers of columns (k,) within brackets, which include their upper bounds."""
    found, values = [], np.ascontiguousarray(block.T)  # columns are read several times
    for column, a, b in zip(columns, low, high, strict=True):
        numbers = values[column]
        found.append(numbers[(numbers > a) & (numbers <= b)])
    return found


def _seen(block: Array, columns: Array, low: Array, high: Array, few: Array) -> list[Array]:
    """Return the numbers within brackets if they are few, otherwise their extremes."""
    found = _within(block, columns, low, high)
    return [
        numbers if whole or not len(numbers) else np.array([numbers.min(), numbers.max()])
        for numbers, whole in zip(found, few, strict=True)
    ]
