"""Weights and symmetrisation of edges, shared by all neighbour graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import scipy.sparse as sp

from lapwing._arrays import Array
from lapwing.graphs.base import CSR, tidy

WeightFunction: TypeAlias = Callable[[Array], Any]

# exp(-x) underflows to 0 from x = 745 on, in float32 from 103 on. The edge to a distant outlier
# would vanish silently, so weights are at least the smallest normal float32: the edge remains in
# both precisions, and the normalised Laplacian, which depends on ratios only, can still use it.
_SMALLEST = float(np.finfo(np.float32).tiny)


class Edges(NamedTuple):
    """Directed edges without loops."""

    rows: Array  # (m,) starts
    columns: Array  # (m,) ends
    values: Array  # (m,) lengths, or weights; float64, or float32

    @classmethod
    def to_nearest(cls, rows: Array, lengths: Array, indices: Array, tied: Array) -> Self:
        """Join points to their nearest neighbours and to the points tied with the last one.

        Parameters
        ----------
        rows : ndarray of int of shape (b,)
            Consecutive points.
        lengths, indices : ndarray of shape (b, k)
            Their neighbours.
        tied : ndarray of int of shape (t, 2)
            Further pairs (row, neighbour).
        """
        dtype, k = indices.dtype, indices.shape[1]
        starts, ends = tied.T.astype(dtype, copy=False)
        return cls(
            np.concatenate([np.repeat(rows.astype(dtype, copy=False), k), starts]),
            np.concatenate([indices.ravel(), ends]),
            np.concatenate([lengths.ravel(), lengths[tied[:, 0] - rows[0], -1]]),
        )


def _gaussian(squared_ratio: Array) -> Array:
    return np.maximum(np.exp(-squared_ratio), _SMALLEST)


def _heat(edges: Edges, n: int) -> Array:
    """Compute exp(-d^2 / (2 t^2)), with t the mean length of the directed edges (errata L6)."""
    # For points on disk lengths and weights are float32; sums are in float64.
    t = float(edges.values.mean(dtype=np.float64)) if len(edges.values) else 0.0
    return heat(edges.values, t)


def heat(lengths: Array, t: float) -> Array:
    """Compute exp(-d^2 / (2 t^2)) of lengths d; 1 for t = 0."""
    if t == 0:  # all points are duplicates
        return np.ones_like(lengths)
    return _gaussian((lengths / t) ** 2 / 2)


def _binary(edges: Edges, n: int) -> Array:
    return np.ones_like(edges.values)


def _self_tuning(edges: Edges, n: int, steepness: float = 1.0) -> Array:
    """Compute exp(-d^2 / (s_i s_j)), with s_i the longest edge from i (Zelnik-Manor and Perona).

    If s_i = 0 (at least k duplicates), it is replaced by the smallest positive scale of the graph:
    the limit s_i -> 0 would disconnect the duplicates from all other points.
    """
    rows, columns, lengths = edges
    scales = np.zeros(n)
    np.maximum.at(scales, rows, lengths)
    positive = scales[scales > 0]
    if not len(positive):
        return np.ones_like(lengths)
    scales = np.where(scales > 0, scales, positive.min())
    with np.errstate(over="ignore"):  # inf has the effect of any large exponent
        exponent = lengths / scales[rows] * (lengths / scales[columns])
        return _gaussian(steepness * exponent)


def _steep(edges: Edges, n: int) -> Array:
    """Compute exp(-4 d^2 / (s_i s_j)): e^-4 at the farthest neighbour, instead of e^-1."""
    return _self_tuning(edges, n, steepness=4.0)


WEIGHTS: dict[str, Callable[[Edges, int], Array]] = {
    "heat": _heat,
    "binary": _binary,
    "self-tuning": _self_tuning,
    "steep": _steep,
}


WEIGHT_FUNCTION = "a function from an array of distances to an array of weights"


def affinity_of_edges(
    edges: Edges, n: int, weights: str | WeightFunction, *, mutual: bool = False
) -> CSR:
    """Compute a symmetric affinity from directed edges.

    Parameters
    ----------
    edges : Edges
        Edges with finite lengths.
    n : int
        Number of points.
    weights : str or callable
        A name in `WEIGHTS`, or a function of the array (m,) of the lengths of all edges. A weight
        of exactly 0 from a function means no edge.
    mutual : bool, default=False
        Whether to keep only edges in both directions, with the smaller weight. Otherwise an edge in
        one direction suffices, and has the larger weight. Both are symmetric, as errata L2
        requires.

    Returns
    -------
    csr_array of shape (n, n), float64
    """
    values = _weigh(weights, edges.values) if callable(weights) else WEIGHTS[weights](edges, n)
    W = sp.csr_array((values, (edges.rows, edges.columns)), shape=(n, n))
    W = W.minimum(W.T.tocsr()) if mutual else W.maximum(W.T.tocsr())
    return tidy(sp.csr_array(W))


def _weigh(function: WeightFunction, lengths: Array) -> Array:
    values = np.asarray(function(lengths), dtype=np.float64)
    if values.shape != lengths.shape:
        raise ValueError(
            f"The weights function returned an array of shape {values.shape} for distances of "
            f"shape {lengths.shape}. It must return one weight for each distance."
        )
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(
            "The weights function returned negative, NaN or infinite weights. Weights are finite "
            "and not below 0; note that duplicates have distance 0."
        )
    return values
