"""Weights and symmetrisation of edges, shared by all neighbour graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from lapwing._arrays import Array
from lapwing.graphs.base import CSR, tidy

WeightFunction: TypeAlias = Callable[[Array], Any]

# exp(-x) underflows to 0 from x = 745 on, in float32 from 103 on. The edge to a distant outlier
# would vanish silently, so weights are at least the smallest normal float32: the edge remains in
# both precisions, and the normalised Laplacian, which depends on ratios only, can still use it.
_SMALLEST = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class Edges:
    """Directed edges of a graph of n points, without loops."""

    rows: Array  # (m,) starts
    columns: Array  # (m,) ends
    lengths: Array  # (m,) float64, or float32
    n: int


def _gaussian(squared_ratio: Array) -> Array:
    return np.maximum(np.exp(-squared_ratio), _SMALLEST)


def _heat(edges: Edges) -> Array:
    """Compute exp(-d^2 / (2 t^2)), with t the mean length of the directed edges (errata L6)."""
    # For points on disk lengths and weights are float32; sums are in float64.
    t = float(edges.lengths.mean(dtype=np.float64)) if len(edges.lengths) else 0.0
    return heat(edges.lengths, t)


def heat(lengths: Array, t: float) -> Array:
    """Compute exp(-d^2 / (2 t^2)) of lengths d; 1 for t = 0."""
    if t == 0:  # all points are duplicates
        return np.ones_like(lengths)
    return _gaussian((lengths / t) ** 2 / 2)


def _binary(edges: Edges) -> Array:
    return np.ones_like(edges.lengths)


def _self_tuning(edges: Edges, steepness: float = 1.0) -> Array:
    """Compute exp(-d^2 / (s_i s_j)), with s_i the longest edge from i (Zelnik-Manor and Perona).

    If s_i = 0 (at least k duplicates), it is replaced by the smallest positive scale of the graph:
    the limit s_i -> 0 would disconnect the duplicates from all other points.
    """
    scales = np.zeros(edges.n)
    np.maximum.at(scales, edges.rows, edges.lengths)
    positive = scales[scales > 0]
    if not len(positive):
        return np.ones_like(edges.lengths)
    scales = np.where(scales > 0, scales, positive.min())
    with np.errstate(over="ignore"):  # inf has the effect of any large exponent
        exponent = edges.lengths / scales[edges.rows] * (edges.lengths / scales[edges.columns])
        return _gaussian(steepness * exponent)


def _steep(edges: Edges) -> Array:
    """Compute exp(-4 d^2 / (s_i s_j)): e^-4 at the farthest neighbour, instead of e^-1."""
    return _self_tuning(edges, steepness=4.0)


WEIGHTS: dict[str, Callable[[Edges], Array]] = {
    "heat": _heat,
    "binary": _binary,
    "self-tuning": _self_tuning,
    "steep": _steep,
}


WEIGHT_FUNCTION = "a function from an array of distances to an array of weights"


def affinity_of_edges(edges: Edges, weights: str | WeightFunction, *, mutual: bool = False) -> CSR:
    """Compute a symmetric affinity from directed edges.

    Parameters
    ----------
    edges : Edges
        Edges with finite lengths.
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
    values = _weigh(weights, edges.lengths) if callable(weights) else WEIGHTS[weights](edges)
    W = sp.csr_array((values, (edges.rows, edges.columns)), shape=(edges.n, edges.n))
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
