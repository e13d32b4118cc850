"""Order statistics of numbers that lie on many machines: exactly, in a few passes that count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing.dask._tall import Tall

__all__ = ["extremes", "median", "quantiles"]

_BINS = 128  # that a bracket is divided into by a pass
_FEW = 2048  # numbers in a bracket that come to the client


def quantiles(
    rows: Tall, view: Callable[..., Array], others: tuple[Any, ...], n: int, shares: list[float]
) -> tuple[list[Array], tuple[Array, Array]]:
    """Quantiles of the columns of what a view makes of the rows, as `numpy.quantile` has them.

    Parameters
    ----------
    rows : Tall
    view : callable (block, *others) -> ndarray of shape (b, q)
    others : tuple
    n : int
        Rows of the view in all.
    shares : list of float

    Returns
    -------
    quantiles : list of ndarray of shape (q,)
    ends : tuple of ndarray of shape (q,)
        Least and largest numbers.
    """
    least, largest = extremes(rows, view, others)
    q = len(least)
    positions = [share * (n - 1) for share in shares]
    ranks = sorted({int(np.floor(p)) for p in positions} | {int(np.ceil(p)) for p in positions})
    wanted = [(column, rank) for rank in ranks for column in range(q)]
    found = dict(zip(wanted, _select(rows, view, others, wanted, least, largest), strict=True))
    values = []
    for position in positions:
        below, above = (
            np.array([found[column, int(side(position))] for column in range(q)])
            for side in (np.floor, np.ceil)
        )
        part = position - np.floor(position)
        # As NumPy: from the nearer end, so that equal ends give themselves.
        step = above - below
        values.append(above - step * (1 - part) if part >= 0.5 else below + step * part)
    return values, (least, largest)


def median(rows: Tall, view: Callable[..., Array], others: tuple[Any, ...], n: int) -> float:
    """The median of a view of one column."""
    return float(quantiles(rows, view, others, n, [0.5])[0][0][0])


def extremes(
    rows: Tall, view: Callable[..., Array], others: tuple[Any, ...]
) -> tuple[Array, Array]:
    """The least and the largest number of each column."""
    found = [ends for ends in rows.collect(_ends, view, *others) if ends is not None]
    least = np.min([low for low, _ in found], axis=0)
    return least, np.max([high for _, high in found], axis=0)


def _select(
    rows: Tall,
    view: Callable[..., Array],
    others: tuple[Any, ...],
    wanted: list[tuple[int, int]],
    least: Array,
    largest: Array,
) -> Array:
    """The numbers of some ranks from 0, each of a column."""
    columns = np.array([column for column, _ in wanted])
    ranks = np.array([rank for _, rank in wanted])
    # A bracket holds low < key <= high, and `below` numbers are not above low. Keys and not
    # numbers are halved: there are as many numbers between 0 and 1e-300 as from there to 1.
    low, high = _keys(least)[columns] - 1, _keys(largest)[columns]
    below, inside = np.zeros(len(wanted), dtype=np.int64), np.full(len(wanted), _FEW + 1)
    while True:
        single = low + 1 >= high
        wide = np.flatnonzero((inside > _FEW) & ~single)
        if not len(wide):
            break
        edges = _edges(low[wide], high[wide])
        counts = rows.total(_counted, view, columns[wide], edges, *others)
        ends = below[wide, None] + np.cumsum(counts, axis=1)
        which = np.argmax(ends > ranks[wide, None], axis=1)
        each = np.arange(len(wide))
        inside[wide] = counts[each, which]
        below[wide] = ends[each, which] - counts[each, which]
        low[wide], high[wide] = edges[each, which], edges[each, which + 1]
    values = _numbers(high)  # of brackets of one number
    some = np.flatnonzero(~single)
    if len(some):
        parts = rows.collect(_within, view, columns[some], low[some], high[some], *others)
        for place, i in enumerate(some):
            numbers = np.sort(np.concatenate([part[place] for part in parts]))
            values[i] = numbers[ranks[i] - below[i]]
    return values


def _edges(low: Array, high: Array) -> Array:
    """Keys that divide brackets evenly (k, B + 1); some are equal in narrow ones."""
    # In Python's whole numbers: the span of all keys is no int64.
    spans = [(a, b - a) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    parts = [[a + span * j // _BINS for j in range(_BINS + 1)] for a, span in spans]
    return np.array(parts, dtype=np.int64)


def _keys(values: Array) -> Array:
    """Whole numbers in the order of the numbers, neighbours for neighbours."""
    bits = np.ascontiguousarray(values + 0.0, dtype=np.float64).view(np.int64)  # -0 is 0
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


def _numbers(keys: Array) -> Array:
    """Undo `_keys`."""
    bits = np.where(keys < 0, np.int64(-(2**63)) - keys, keys)
    return bits.view(np.float64).copy()


def _ends(block: Array, view: Callable[..., Array], *others: Any) -> tuple[Array, Array] | None:
    values = view(block, *others)
    return (values.min(axis=0), values.max(axis=0)) if len(values) else None


def _counted(
    block: Array, view: Callable[..., Array], columns: Array, edges: Array, *others: Any
) -> Array:
    """Numbers a bin (k, B): above its lower edge and not above its upper one."""
    keys = _keys(view(block, *others))
    counts = np.zeros((len(columns), edges.shape[1] - 1), dtype=np.int64)
    for i, column in enumerate(columns):
        bins = np.searchsorted(edges[i], keys[:, column], side="left")
        counts[i] = np.bincount(bins, minlength=edges.shape[1] + 1)[1:-1]
    return counts


def _within(
    block: Array, view: Callable[..., Array], columns: Array, low: Array, high: Array, *others: Any
) -> list[Array]:
    values = view(block, *others)
    keys = _keys(values)
    found = []
    for column, a, b in zip(columns, low, high, strict=True):
        within = (keys[:, column] > a) & (keys[:, column] <= b)
        found.append(values[within, column])
    return found
