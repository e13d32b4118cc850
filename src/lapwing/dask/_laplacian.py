"""Laplacian of a graph on a cluster, and its smallest eigenpairs.

In a product, each block receives the rows of its halo from other blocks (`HaloMatrix`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from operator import matmul
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from lapwing._arrays import Array, row_blocks
from lapwing.dask._halos import GraphRows, HaloMatrix, products, stacked_halo
from lapwing.dask._placement import Placement
from lapwing.dask._row_blocks import RowBlocks
from lapwing.dask._session import PerPart
from lapwing.graphs import Eigenpairs, Laplacian, ScaledLaplacian, smallest_eigenpairs
from lapwing.graphs.chebyshev import (
    ROWS,
    Filter,
    advance,
    appended,
    block_width,
    columns_from,
    filtered,
    gram,
    residual_squares,
    ritz,
    whitening,
)
from lapwing.graphs.laplacian import laplacian_matrix, normalized_weights
from lapwing.graphs.spectral import (
    DENSE_POINTS,
    limits_of,
    nothing_but_null,
    warn_eigenpairs,
    with_null,
)


@dataclass(frozen=True, eq=False)
class ClusterLaplacian:
    """Counterpart of `lapwing.graphs.Laplacian` in blocks of rows.

    Attributes
    ----------
    affinity : HaloMatrix
        W.
    placement : Placement
        Blocks of W.
    normalized : bool
    power : int
    dtype : dtype
        Precision of L.
    """

    affinity: HaloMatrix
    placement: Placement
    normalized: bool
    power: int
    dtype: Any

    @property
    def n_points(self) -> int:
        return self.affinity.rows.shape[0]

    @cached_property
    def degrees(self) -> RowBlocks:
        """Degrees of the points, shape (n, 1)."""
        return self.affinity.rows.map(_degrees, n_columns=1, dtype=np.float64)

    @cached_property
    def matrix(self) -> HaloMatrix:
        """L, in the blocks of W."""
        rows = self.affinity.rows.map(
            _laplacian_rows,
            self.degrees,
            self.affinity.halo(self.degrees),
            self.normalized,
            np.dtype(self.dtype),
            dtype=self.dtype,
        )
        return replace(self.affinity, rows=rows)

    @cached_property
    def largest_degree(self) -> float:
        """Largest degree of a point."""
        return float(max(self.degrees.collect(_largest)))

    @property
    def norm_bound(self) -> float:
        """Upper bound of the norm of L^p."""
        norm = np.float64(2.0) if self.normalized else 2.0 * np.float64(self.largest_degree)
        with np.errstate(over="ignore"):
            return float(norm**self.power)

    def apply(self, F: RowBlocks) -> RowBlocks:
        """Compute L^p F."""
        for _ in range(self.power):
            F = self.matrix.product(F)
        return F

    def scaled(self, gamma: float) -> ScaledLaplacian:
        """Return gamma L^p."""
        return ScaledLaplacian(cast("Any", self), gamma)

    @cached_property
    def components(self) -> Components:
        """Connected components of the graph."""
        return _components(self)


@dataclass(frozen=True, eq=False)
class Components:
    """Connected components, numbered by their first points in the user's order.

    Attributes
    ----------
    labels : RowBlocks
        Component of each point, shape (n, 1).
    sizes : ndarray of shape (n_components,)
    first : ndarray of shape (n_components,)
        First point of each component in the user's order.
    """

    labels: RowBlocks
    sizes: Array
    first: Array


class _Parts(NamedTuple):
    """Components of the edges within a block."""

    ids: Array  # first row of each component, numbered over all blocks, ascending
    sizes: Array
    first: Array  # first point of each in the user's order


def _components(laplacian: ClusterLaplacian) -> Components:
    """Find the components of each block, and merge them by the edges between blocks."""
    W = laplacian.affinity
    own = W.rows.map(_own_components, W.rows.first_rows, n_columns=1, dtype=np.int64)
    blocks = own.collect(_parts, laplacian.placement.origins)
    pairs = np.concatenate(W.rows.collect(_joined_pairs, own, W.halo(own)))
    ids, sizes, first = (np.concatenate(each) for each in zip(*blocks, strict=True))
    ends = np.searchsorted(ids, pairs)
    a, b = ends.T
    graph = sp.csr_array((np.ones(len(a)), (a, b)), shape=(len(ids), len(ids)))
    n_components, merged = connected_components(graph, directed=False)
    firsts = np.full(n_components, np.iinfo(np.int64).max)
    np.minimum.at(firsts, merged, first)
    order = np.argsort(firsts)
    number = np.argsort(order)[merged]
    cuts = np.cumsum([len(block.ids) for block in blocks])[:-1]
    labels = own.map(
        _renumbered, PerPart([block.ids for block in blocks]), PerPart(np.split(number, cuts))
    )
    return Components(labels, np.bincount(number, sizes).astype(np.int64), firsts[order])


def _own_components(W: GraphRows, start: int) -> Array:
    """Return the first row, numbered over all blocks, of the own component of each row."""
    _, labels = connected_components(W.own, directed=False)
    first = np.unique(labels, return_index=True)[1]
    return np.asarray(start + first[labels])[:, None]


def _parts(own: Array, origins: Array) -> _Parts:
    """Return the components of a block by the first row of that of each row."""
    ids, part, sizes = np.unique(own[:, 0], return_inverse=True, return_counts=True)
    first = np.full(len(ids), np.iinfo(np.int64).max)
    np.minimum.at(first, part, origins)
    return _Parts(ids, sizes, first)


def _joined_pairs(W: GraphRows, own: Array, packed: list[Array]) -> Array:
    """Find the distinct pairs of components that edges between blocks join, shape (k, 2)."""
    row, column = W.far.nonzero()
    ends = [own[row, 0], stacked_halo(packed, own)[column, 0]]
    return np.unique(np.stack(ends, axis=1), axis=0)


def _renumbered(own: Array, ids: Array, number: Array) -> Array:
    return number[np.searchsorted(ids, own)]


def _degrees(W: GraphRows) -> Array:
    return W.row_sums()[:, None]


def _largest(degrees: Array) -> float:
    return float(degrees.max(initial=0.0))


def _laplacian_rows(
    W: GraphRows, degrees: Array, packed: list[Array], normalized: bool, dtype: np.dtype[Any]
) -> GraphRows:
    own, far = degrees[:, 0], W.far
    if normalized:
        far = normalized_weights(far, own, stacked_halo(packed, degrees)[:, 0], dtype)
    return replace(
        W, own=laplacian_matrix(W.own, own, normalized, dtype), far=sp.csr_array(-far.astype(dtype))
    )


def eigenpairs_on_cluster(
    laplacian: ClusterLaplacian,
    k: int,
    *,
    tol: float = 1e-6,
    slack: float = 0.0,
    max_iter: int = 100,
    seed: int = 0,
) -> Eigenpairs:
    """Compute the k smallest eigenpairs, with vectors in blocks.

    Parameters
    ----------
    laplacian : ClusterLaplacian
    k : int
    tol, slack, max_iter
        As for `smallest_eigenpairs`.
    seed : int, default=0
        Seed of the start.
    """
    n, dtype = laplacian.n_points, np.dtype(laplacian.dtype)
    zeros = len(laplacian.components.sizes)
    m = k - min(k, zeros)
    if n <= DENSE_POINTS or (m and block_width(m) > n - zeros):
        return _gathered(laplacian, k)
    limits = limits_of(laplacian.normalized, laplacian.largest_degree, dtype, tol)
    null = _null(laplacian)
    found, method, signs = nothing_but_null(None, k, zeros), "components", np.empty(0)
    if m:
        L, method = _ClusterOperator(laplacian, null), "chebyshev"
        found = filtered(L, L.start(seed, block_width(m)), m, *limits, slack, max_iter)
        signs = _signs(found.vectors)
    order = np.argsort(found.values, kind="stable")
    vectors = null.map(
        _with_null, found.vectors, order, signs[order], k, dtype, n_columns=k, dtype=dtype
    )
    found = found._replace(values=found.values[order])
    pairs = with_null(found, vectors, zeros, limits.tolerance, slack, method)
    warn_eigenpairs(pairs, k)
    return pairs


def _gathered(laplacian: ClusterLaplacian, k: int) -> Eigenpairs:
    """Compute the eigenpairs of few points on the client."""
    W = laplacian.affinity.rows
    local = Laplacian.from_affinity(
        whole_matrix(W.session.gather(W.parts)),
        normalized=laplacian.normalized,
        power=laplacian.power,
        dtype=laplacian.dtype,
    )
    pairs = smallest_eigenpairs(local, k)
    parts = tuple(W.session.constant(pairs.vectors[a:z]) for a, z in pairwise(W.starts))
    vectors = RowBlocks(W.session, parts, W.sizes, k, np.dtype(laplacian.dtype))
    return replace(pairs, vectors=cast("Any", vectors))


def whole_matrix(blocks: list[GraphRows]) -> Any:
    """Join the rows of all blocks into one matrix."""
    own = sp.block_diag([rows.own for rows in blocks], format="coo")
    far = sp.block_diag([rows.far for rows in blocks], format="coo")
    column = np.concatenate([rows.halo for rows in blocks])[far.col]
    return sp.csr_array(own) + sp.csr_array((far.data, (far.row, column)), shape=own.shape)


def _null(laplacian: ClusterLaplacian) -> RowBlocks:
    """Compute orthonormal null vectors in sparse blocks, with the largest component first."""
    labels, sizes = laplacian.components.labels, laplacian.components.sizes
    place = np.empty(len(sizes), dtype=np.intp)
    place[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    weights = laplacian.degrees.map(_null_weights, laplacian.normalized)
    squares = np.asarray(labels.total(_sums_by_component, weights, len(sizes)))
    return labels.map(_null_rows, weights, squares, place, n_columns=len(sizes), dtype=np.float64)


def _null_weights(degrees: Array, normalized: bool) -> Array:
    return np.where(degrees > 0, degrees, 1.0) if normalized else np.ones_like(degrees)


def _sums_by_component(labels: Array, weights: Array, n: int) -> Array:
    return np.bincount(labels[:, 0], weights[:, 0], minlength=n)


def _null_rows(labels: Array, weights: Array, squares: Array, place: Array) -> Any:
    own = labels[:, 0]
    entries = np.sqrt(weights[:, 0] / squares[own]), place[own], np.arange(len(own) + 1)
    # A matrix, as Dask does not know the bytes of sparse arrays.
    return sp.csr_matrix(entries, shape=(len(own), len(place)))


def _with_null(
    null: Any, others: Array | None, order: Array, signs: Array, k: int, dtype: np.dtype[Any]
) -> Array:
    """Join the first null vectors and the others in their order."""
    vectors, known = np.empty((null.shape[0], k), dtype), k - len(order)
    for rows in row_blocks(len(vectors), 1, ROWS):
        vectors[rows, :known] = null[rows, :known].toarray()
        if others is not None:
            vectors[rows, known:] = others[rows][:, order] * signs.astype(dtype)
    return vectors


@dataclass(frozen=True, eq=False)
class _ClusterOperator:
    """Operations of the filtered iteration on vectors in `RowBlocks`."""

    laplacian: ClusterLaplacian
    null: RowBlocks

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = np.dtype(self.laplacian.dtype)
        return dtype

    def start(self, seed: int, width: int) -> RowBlocks:
        seeds = np.random.SeedSequence(seed).spawn(len(self.null.parts))
        return self.null.map(
            _random, PerPart(seeds), width, self.dtype, n_columns=width, dtype=self.dtype
        )

    def filter(self, p: Filter, X: RowBlocks) -> RowBlocks:
        c, e = self.dtype.type(p.centre), self.dtype.type(p.half)
        matrix = self.laplacian.matrix
        if not any(matrix.neighbors):  # no edges between blocks: one task without transfers
            return X.map(_all_steps, matrix.rows, c, e, p.degree)
        before: RowBlocks | None = None
        for _ in range(p.degree):
            before, X = X, X.map(_step, matrix.rows, matrix.halo(X), before, c, e)
        return X

    def orthonormal(self, X: RowBlocks, locked: RowBlocks | None) -> RowBlocks:
        for _ in range(2):
            for basis in (self.null, locked):
                if basis is not None:
                    X = X.map(_subtract_projection, basis, X.session.constant(basis.total(gram, X)))
            G = np.asarray(X.total(gram, X))
            U = whitening(G)
            if U is None:  # Householder QR would need all rows on one worker
                s, V = sla.eigh(G, check_finite=False)
                U = V / np.sqrt(np.maximum(s, s[-1] * np.finfo(np.float64).eps * len(s)))
            X = X @ U.astype(self.dtype)
        return X

    def rayleigh_ritz(self, X: RowBlocks) -> tuple[Array, Array, RowBlocks]:
        Z = self.laplacian.matrix.product(X)
        s, U = ritz(X.total(gram, Z))
        rotation = X.session.constant(U.astype(self.dtype))
        # Computed before X is multiplied, so that Z need not be, which saves a block of vectors.
        squares = X.total(_residual_squares, Z, rotation, s.astype(self.dtype))
        return s, np.sqrt(squares), X.map(matmul, rotation)

    def lock(
        self, locked: RowBlocks | None, X: RowBlocks, good: int
    ) -> tuple[RowBlocks, RowBlocks]:
        done = good if locked is None else locked.n_columns + good
        return (
            X.map(appended, locked, good, n_columns=done),
            X.map(columns_from, good, n_columns=X.n_columns - good),
        )


def _random(null: Any, seed: Any, width: int, dtype: np.dtype[Any]) -> Array:
    return np.random.default_rng(seed).standard_normal((null.shape[0], width), dtype=dtype)


def _step(
    now: Array,
    L: GraphRows,
    packed: list[Array],
    before: Array | None,
    c: Any,
    e: Any,
    after: Array | None = None,
) -> Array:
    """Compute T_{j+1} = 2 (c - L) / e T_j - T_{j-1} in `after`, which may be T_{j-1}.

    Without T_{j-1}, compute T_1 = (c - L) / e T_0.
    """
    after = np.empty_like(now) if after is None else after
    for rows, y in products(L, now, packed):
        advance(y, now[rows], c, e)
        if before is None:
            np.divide(y, 2, out=after[rows])
        else:
            np.subtract(y, before[rows], out=after[rows])
    return after


def _all_steps(now: Array, L: GraphRows, c: Any, e: Any, degree: int) -> Array:
    """Compute T_degree for a block without a halo."""
    before: Array | None = None
    for step in range(degree):
        # T_0 is the result of another task and must not be overwritten.
        before, now = now, _step(now, L, [], before, c, e, before if step > 1 else None)
    return now


def _subtract_projection(X: Array, basis: Any, along: Array) -> Array:
    """Subtract the components along some orthonormal vectors."""
    out, along = np.empty_like(X), along.astype(X.dtype)
    for rows in row_blocks(len(X), 1, ROWS):
        np.subtract(X[rows], basis[rows] @ along, out=out[rows], casting="same_kind")
    return out


def _residual_squares(X: Array, LX: Array, U: Array, values: Array) -> Array:
    """Sum the squares of the residuals of X U."""
    total = np.zeros(len(values))
    for rows in row_blocks(len(X), 1, ROWS):
        total += residual_squares(X[rows] @ U, LX[rows] @ U, values)
    return total


def _signs(X: RowBlocks) -> Array:
    """Return the signs for which the entry of largest magnitude of each column is positive."""
    found = np.stack(X.collect(_largest_entries))
    largest = np.take_along_axis(found, np.argmax(np.abs(found), axis=0)[None], 0)[0]
    return np.where(largest < 0, -1.0, 1.0)


def _largest_entries(X: Array) -> Array:
    if not len(X):
        return np.zeros(X.shape[1])
    return np.asarray(X[np.argmax(np.abs(X), axis=0), np.arange(X.shape[1])], dtype=np.float64)
