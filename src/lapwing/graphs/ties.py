"""Neighbours that are equally far: all of them are kept, or some are drawn by lot from the values.

One-hot codes, binary features and grids have few different distances. Which of the points at the
k-th distance are neighbours must then not depend on the order of the rows: it would decide answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from lapwing._arrays import Array, is_sparse, row_blocks
from lapwing._rows import blocks_of, is_rows, moments_of

# Relative difference of float64 lengths up to which they are one: sums of the same squares in
# another order. Points of a continuous distribution never come that close.
TIE = 1e-12
_SINGLE_TIE = 1e-5  # float32 lengths beyond which float64 ones need no look
_FACTOR, _LEAST = 4, 64  # see `most_neighbors`
_BLOCK_BYTES = 2**25  # of distances of points with ties to all points
_SPREAD = 1e6  # makes lots of numbers that differ little; their rounding stays below _DIGITS
_DIGITS = 6
_COLUMN_DIGITS = 9  # of numbers for columns, which are around 1
_ROUNDS = 3  # after which columns of random one-hot codes were told apart


def most_neighbors(k: int) -> int:
    """Neighbours of a point at most, ties with the k-th included.

    Many enough that ties are mostly kept (up to 64, or 4 k), few enough that memory and products
    grow by a known factor where all points are equally far.
    """
    return max(_FACTOR * k, _LEAST)


class Nearest(NamedTuple):
    """The k nearest of some points, and what is known of ties with the k-th."""

    lengths: Array  # (b, k), ascending
    indices: Array  # (b, k)
    tied: Array  # (t, 2): further pairs (row, neighbour) as far apart as the row's k-th neighbour
    open: Array  # rows all of whose candidates beyond k tie: there may be more such points


class Tying(Protocol):
    """Points in which ties can be looked for."""

    @property
    def n(self) -> int:
        """Number of points."""

    @property
    def source(self) -> Any:
        """Their values (n, d), dense or sparse."""

    def as_far(self, rows: Array, ends: Array) -> Array:
        """Which points (b, n) are as far from rows (b,) as the points `ends` (b,) are."""


def nearest_of(
    rows: Array,
    candidates: Array,
    lengths: Array,
    k: int,
    n: int,
    exact: Callable[[Array, Array], Array] | None = None,
    slack: float = 0.0,
) -> Nearest:
    """Best k of the candidates, by length and then by index, and the ties among the others.

    Parameters
    ----------
    rows : ndarray of int of shape (b,)
    candidates : ndarray of int of shape (b, m), m >= k
        Ascending, different ones for each row.
    lengths : ndarray of shape (b, m)
        inf for what is no candidate.
    k : int
    n : int
        Number of points.
    exact : callable, optional
        (rows, ends) -> lengths in float64, where those given are of float32.
    slack : float
        What equal lengths may differ by because the points themselves are rounded.
    """
    order = np.argsort(lengths, axis=1, kind="stable")
    lengths = np.take_along_axis(lengths, order, 1)
    indices = np.take_along_axis(candidates, order, 1)
    last, others = lengths[:, k - 1 : k], lengths[:, k:]
    found = np.isfinite(others)
    tied = found & (others <= last * (1 + (TIE if exact is None else _SINGLE_TIE)) + slack)
    if exact is not None:
        look = np.flatnonzero(tied.any(axis=1))
        told = exact(rows[look], indices[look])
        tied[look] &= np.abs(told[:, k:] - told[:, k - 1 : k]) <= TIE * told[:, k:] + slack
    more = tied.any(axis=1) & (tied | ~found).all(axis=1) & (found.sum(axis=1) + k < n - 1)
    at, which = np.nonzero(tied)
    pairs = np.stack([rows[at], indices[:, k:][at, which]], axis=1)
    return Nearest(lengths[:, :k], indices[:, :k], pairs, rows[more])


def complete(points: Tying, found: Nearest, k: int) -> Nearest:
    """Look at all points for the rows that are open.

    Parameters
    ----------
    points : Tying
    found : Nearest
        Of all points.
    k : int
    """
    if not len(found.open):
        return found
    first, second = lots(points.source)
    lengths, indices = found.lengths, found.indices.copy()
    room, extra = most_neighbors(k), [found.tied[~np.isin(found.tied[:, 0], found.open)]]
    for block in row_blocks(len(found.open), 8 * points.n, _BLOCK_BYTES):
        rows = found.open[block]
        for i, tied in zip(rows, points.as_far(rows, indices[rows, -1]), strict=True):
            tied[i] = False
            closer = indices[i, ~tied[indices[i]]]
            among = np.flatnonzero(tied)
            if len(closer) + len(among) > room:
                key = np.round(_lot(first[i], first[among]), _DIGITS) % 1
                drawn = np.lexsort((_lot(second[i], second[among]), key))
                among = among[drawn[: room - len(closer)]]
            cut = k - len(closer)
            indices[i, len(closer) :] = among[:cut]
            extra.append(np.stack([np.full(len(among) - cut, i), among[cut:]], axis=1))
    return Nearest(lengths, indices, np.concatenate(extra), found.open[:0])


def _lot(one: float, others: Array) -> Array:
    """Numbers in [0, 1) for pairs of points, the same both ways.

    Of the pair, and not of the other point alone, which would be drawn by all points if by one.
    """
    return np.asarray((one + others) * _SPREAD % 1)


def lots(X: Any) -> tuple[Array, Array]:
    """Two numbers for each point, made of its values: the order of the rows has no part in them.

    Parameters
    ----------
    X : ndarray, sparse or Rows of shape (n, d)

    Returns
    -------
    first : ndarray of shape (n,)
        Nor has the order of the columns or a shift of all points, up to rounding. Points that
        become one another when columns that nothing tells apart are swapped have the same number.
    second : ndarray of shape (n,)
        Different for different points, by a fixed random direction.
    """
    n, d = X.shape
    # From the least value of each column on: a shift of all points changes nothing.
    least, largest = _ranges_of_columns(X)
    largest = np.where(largest > 0, largest, largest.max(initial=0.0) or 1.0)
    # Brought to one size, no column drowns another.
    scale, units = 1 / largest, _units(largest)
    start = least * scale
    first = np.zeros(n)
    # A column is told by the values in it, then by the rows that those are in, and so on.
    for _ in range(_ROUNDS):
        weights = _column_weights(X, scale, start, first)
        first = _along(X, scale, start, np.where(_alike(weights), units * weights, weights))
        first /= max(float(np.abs(first).max()), np.finfo(np.float64).tiny)
    return first, _along(X, scale, start, np.random.default_rng(0).normal(size=d))


def _ranges_of_columns(X: Any) -> tuple[Array, Array]:
    """Least value of each column, and how far the largest is above it."""
    if is_rows(X):
        moments = moments_of(X)
        least, largest = moments.low, moments.high
    else:
        least, largest = X.min(axis=0), X.max(axis=0)
        if is_sparse(least):
            least, largest = least.toarray().ravel(), largest.toarray().ravel()
    least = np.asarray(least, dtype=np.float64)
    return least, np.asarray(largest - least)


def _units(largest: Array) -> Array:
    """A number for each column, made of its size among the others: distances tell these apart.

    Logarithms of the parts of the numbers: a power of 2 for all of them changes no digit.
    """
    mantissas, exponents = np.frexp(np.append(largest, largest.max(initial=0.0)))
    logarithms = np.log2(mantissas)
    sizes = (logarithms[-1] - logarithms[:-1]) + (exponents[-1] - exponents[:-1])
    return np.asarray(1 + sizes)


def _alike(weights: Array) -> Array:
    """Which numbers are equal to another, rounding apart."""
    _, which, counts = np.unique(
        np.round(weights, _COLUMN_DIGITS), return_inverse=True, return_counts=True
    )
    return np.asarray(counts[which] > 1)


def _along(X: Any, scale: Array, start: Array, direction: Array) -> Array:
    projected = np.empty(X.shape[0])
    for rows, points in blocks_of(X, 8 * X.shape[1]):
        if is_sparse(points):
            projected[rows] = points @ (scale * direction) - start @ direction
        else:
            projected[rows] = (points * scale - start) @ direction
    return projected


def _column_weights(X: Any, scale: Array, start: Array, phases: Array) -> Array:
    """A number for each column, made of its values and the phases of their rows, in any order."""
    total = np.zeros(X.shape[1])
    for rows, points in blocks_of(X, 8 * X.shape[1]):
        phase = 5 * phases[rows]
        if is_sparse(points):
            # As if no value were stored, and then what the stored ones change.
            zeros = -3 * start
            total += (np.cos(zeros) - 1) * np.cos(phase).sum() - np.sin(zeros) * np.sin(phase).sum()
            values = (points @ sp.diags_array(scale)).tocsr()
            phase = np.repeat(phase, np.diff(values.indptr))
            zeros = zeros[values.indices]
            waves = np.cos(3 * values.data + zeros + phase) - np.cos(zeros + phase)
            total += np.bincount(values.indices, waves, X.shape[1])
        else:
            values = 3 * (points * scale - start)
            total += (np.cos(values + phase[:, None]) - np.cos(phase)[:, None]).sum(axis=0)
    return np.asarray(total / X.shape[0])
