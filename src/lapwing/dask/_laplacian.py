"""Laplacian of a graph on a cluster, and its smallest eigenpairs.

In a product, each block receives the rows of its halo from other blocks (`HaloMatrix`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, cast

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
    Filter,
    advance,
    block_width,
    filtered,
    residual_squares,
    ritz,
    whitening,
)
from lapwing.graphs.laplacian import laplacian_matrix, normalized_weights
from lapwing.graphs.spectral import DENSE_POINTS, eigenvalue_gap, limits_of, warn_eigenpairs

_ROWS = 8192  # rows of a block that are converted at a time


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
        return self.affinity.with_rows(rows)

    @cached_property
    def largest_degree(self) -> float:
        return float(max(self.degrees.collect(_largest)))

    @property
    def norm_bound(self) -> float:
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


def _components(laplacian: ClusterLaplacian) -> Components:
    """Find the components of each block, and merge them by the edges between blocks."""
    W = laplacian.affinity
    session, n_blocks = W.rows.session, len(W.rows.parts)
    own = W.rows.map(_own_components, n_columns=1, dtype=np.int64)
    counts = own.collect(_n_components)
    starts = np.cumsum([0, *counts])
    numbered = own.map(_numbered, PerPart(starts[:-1].tolist()))
    joints = session.each(
        _joints, n_blocks, PerPart(W.rows.parts), PerPart(numbered.parts), W.halo(numbered)
    )
    merged = session.each(_merged, 1, list(joints), int(starts[-1]))[0]
    labels = numbered.map(_relabeled, merged)
    n_components = session.gather(session.each(_n_merged, 1, merged))[0]
    sizes = np.asarray(labels.total(_bincount, n_components))
    found = labels.collect(_first_points, laplacian.placement.origins, n_components)
    first = np.min(found, axis=0)
    order = np.argsort(first)
    place = np.argsort(order)
    return Components(labels.map(_relabeled, place), sizes[order], first[order])


def _own_components(W: GraphRows) -> Array:
    return np.asarray(connected_components(W.own, directed=False)[1]).astype(np.int64)[:, None]


def _n_components(own: Array) -> int:
    return int(own.max(initial=-1)) + 1


def _numbered(own: Array, start: int) -> Array:
    return own + start


def _joints(W: GraphRows, own: Array, packed: list[Array]) -> Array:
    """Find the distinct pairs of components that edges between blocks join, shape (k, 2)."""
    rows = np.repeat(W.border, np.diff(W.far.indptr))
    foreign = stacked_halo(W, packed, own)[W.far.indices, 0]
    pairs = np.stack([own[rows, 0], foreign], axis=1)
    return np.unique(pairs, axis=0)


def _merged(joints: list[Array], size: int) -> Array:
    """Return the component of the graph for each component of the blocks."""
    a, b = np.concatenate(joints).T
    graph = sp.csr_array((np.ones(len(a)), (a, b)), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1]).astype(np.int64)


def _relabeled(own: Array, merged: Array) -> Array:
    return np.asarray(merged[own])


def _n_merged(merged: Array) -> int:
    return int(merged.max(initial=-1)) + 1


def _bincount(labels: Array, n: int) -> Array:
    return np.bincount(labels[:, 0], minlength=n)


def _first_points(labels: Array, origins: Array, n: int) -> Array:
    first = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(first, labels[:, 0], origins)
    return first


def _degrees(W: GraphRows) -> Array:
    return W.row_sums()[:, None]


def _largest(degrees: Array) -> float:
    return float(degrees.max(initial=0.0))


def _laplacian_rows(
    W: GraphRows, degrees: Array, packed: list[Array], normalized: bool, dtype: np.dtype[Any]
) -> GraphRows:
    own, far = degrees[:, 0], W.far
    if normalized:
        foreign = stacked_halo(W, packed, degrees)[:, 0]
        far = normalized_weights(far, own[W.border], foreign, dtype)
    matrix = laplacian_matrix(W.own, own, normalized, dtype)
    return replace(W, own=matrix, far=sp.csr_array(-far.astype(dtype)))


def eigenpairs_on_cluster(
    laplacian: ClusterLaplacian,
    k: int,
    *,
    tol: float = 1e-6,
    slack: float = 0.0,
    max_iter: int = 100,
    seed: int = 0,
) -> Eigenpairs:
    """Compute the k smallest eigenpairs, with vectors in blocks, see `smallest_eigenpairs`."""
    n, dtype = laplacian.n_points, np.dtype(laplacian.dtype)
    sizes = laplacian.components.sizes
    zeros = len(sizes)
    known = min(k, zeros)
    m = k - known
    if n <= DENSE_POINTS or (m and block_width(m) > n - zeros):
        return _gathered(laplacian, k)
    limits = limits_of(laplacian.normalized, laplacian.largest_degree, dtype, tol)
    null = _null(laplacian)
    values, following, n_iter, method = np.empty(0), 0.0 if zeros > k else np.inf, 0, "components"
    others, residual = None, 0.0
    if m:
        L = _Products(laplacian, null)
        found, locked, following, n_iter = filtered(
            L, L.start(seed, block_width(m)), m, limits.upper, limits.tolerance, slack, max_iter
        )
        order = np.argsort(found, kind="stable")
        values, method = np.maximum(found[order], 0), "chebyshev"
        signs = _signs(locked)
        others = locked.map(_arranged, order, signs[order], n_columns=m, dtype=dtype)
        product = laplacian.matrix.product(others)
        whole = np.eye(m, dtype=dtype)
        squares = others.total(_residual_squares, product, whole, values.astype(dtype))
        residual = float(np.sqrt(squares.max(initial=0.0)))
    vectors = null.labels.map(
        _with_known, null.entries, null.place, known, others, dtype, n_columns=k, dtype=dtype
    )
    values = np.concatenate([np.zeros(known), values])
    tolerance = max(limits.tolerance, slack * float(values[-1]))
    gap = 1.0 if k == n or np.isinf(following) else eigenvalue_gap(values[-1], following)
    pairs = Eigenpairs(
        values, cast("Any", vectors), zeros, residual, tolerance, gap, method, n_iter
    )
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
    starts = np.cumsum([0, *(rows.own.shape[0] for rows in blocks)])
    joined = []
    for start, rows in zip(starts, blocks, strict=False):
        own, far = rows.own.tocoo(), rows.far.tocoo()
        row = np.concatenate([own.row, rows.border[far.row]])
        column = np.concatenate([own.col + start, rows.halo[far.col]])
        entries = (np.concatenate([own.data, far.data]), (row, column))
        joined.append(sp.csr_array(entries, shape=(rows.own.shape[0], int(starts[-1]))))
    return sp.vstack(joined, format="csr")


@dataclass(frozen=True, eq=False)
class _Null:
    """Null vectors, one for each component.

    Attributes
    ----------
    labels, entries : RowBlocks
        Component of each point, and its entry in the null vector, shape (n, 1).
    place : ndarray of shape (n_components,)
        Column of the null vector of each component; the largest component is first.
    """

    labels: RowBlocks
    entries: RowBlocks
    place: Array

    def remove(self, X: RowBlocks) -> RowBlocks:
        """Project X onto the complement of the null vectors."""
        n = len(self.place)
        along = X.total(_along_null, self.labels, self.entries, n)
        return X.map(_without_null, self.labels, self.entries, X.session.constant(along))


def _null(laplacian: ClusterLaplacian) -> _Null:
    components = laplacian.components
    labels, sizes = components.labels, components.sizes
    place = np.empty(len(sizes), dtype=np.intp)
    place[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    squares = np.asarray(
        labels.total(_squares, laplacian.degrees, len(sizes), laplacian.normalized)
    )
    entries = labels.map(
        _entries, laplacian.degrees, np.sqrt(squares), laplacian.normalized, dtype=np.float64
    )
    return _Null(labels, entries, place)


def _plain_entries(degrees: Array, normalized: bool) -> Array:
    own = degrees[:, 0]
    return np.sqrt(np.where(own > 0, own, 1.0)) if normalized else np.ones(len(own))


def _squares(labels: Array, degrees: Array, n: int, normalized: bool) -> Array:
    return np.bincount(labels[:, 0], _plain_entries(degrees, normalized) ** 2, minlength=n)


def _entries(labels: Array, degrees: Array, lengths: Array, normalized: bool) -> Array:
    return np.asarray((_plain_entries(degrees, normalized) / lengths[labels[:, 0]])[:, None])


def _along_null(X: Array, labels: Array, entries: Array, n: int) -> Array:
    along = np.zeros((n, X.shape[1]))
    for rows in row_blocks(len(X), 1, _ROWS):
        b = rows.stop - rows.start
        null = sp.csr_array((entries[rows, 0], labels[rows, 0], np.arange(b + 1)), shape=(b, n))
        along += null.T @ X[rows].astype(np.float64)
    return along


def _without_null(X: Array, labels: Array, entries: Array, along: Array) -> Array:
    out = np.empty_like(X)
    for rows in row_blocks(len(X), 1, _ROWS):
        np.subtract(
            X[rows], entries[rows] * along[labels[rows, 0]], out=out[rows], casting="same_kind"
        )
    return out


def _with_known(
    labels: Array,
    entries: Array,
    place: Array,
    known: int,
    others: Array | None,
    dtype: np.dtype[Any],
) -> Array:
    vectors = np.zeros((len(labels), known + (0 if others is None else others.shape[1])), dtype)
    where = place[labels[:, 0]]
    rows = np.flatnonzero(where < known)
    vectors[rows, where[rows]] = entries[rows, 0]
    if others is not None:
        vectors[:, known:] = others
    return vectors


@dataclass(frozen=True, eq=False)
class _Products:
    """Operations of the filtered iteration on vectors in `RowBlocks`."""

    laplacian: ClusterLaplacian
    null: _Null

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = np.dtype(self.laplacian.dtype)
        return dtype

    def start(self, seed: int, width: int) -> RowBlocks:
        labels = self.null.labels
        seeds = np.random.SeedSequence(seed).spawn(len(labels.parts))
        return labels.map(
            _random, PerPart(seeds), width, self.dtype, n_columns=width, dtype=self.dtype
        )

    def filter(self, p: Filter, X: RowBlocks) -> RowBlocks:
        c, e = self.dtype.type(p.centre), self.dtype.type(p.half)
        matrix = self.laplacian.matrix
        if not any(matrix.neighbors):  # no edges between blocks: one task without transfers
            return X.map(_all_steps, matrix.rows, c, e, p.degree)
        before, now = X, X.map(_first, matrix.rows, matrix.halo(X), c, e)
        for _ in range(p.degree - 1):
            before, now = now, now.map(_step, matrix.rows, matrix.halo(now), before, c, e)
        return now

    def orthonormal(self, X: RowBlocks, locked: RowBlocks | None, done: int) -> RowBlocks:
        for _ in range(2):
            X = self.null.remove(X)
            if locked is not None:
                on_locked = locked.total(_gram64, X)
                X = X.map(_less, locked, X.session.constant(on_locked.astype(self.dtype)))
            G = np.asarray(X.total(_gram64, X))
            U = whitening(G)
            if U is None:  # Householder QR would need all rows on one worker
                s, V = sla.eigh(G, check_finite=False)
                U = V / np.sqrt(np.maximum(s, s[-1] * np.finfo(np.float64).eps * len(s)))
            X = X @ U.astype(self.dtype)
        return X

    def rayleigh_ritz(self, X: RowBlocks) -> tuple[Array, Array, RowBlocks]:
        Z = self.laplacian.matrix.product(X)
        s, U = ritz(X.total(_gram64, Z))
        turn = X.session.constant(U.astype(self.dtype))
        # Computed before X is multiplied, so that Z need not be, which saves a block of vectors.
        squares = X.total(_residual_squares, Z, turn, s.astype(self.dtype))
        return s, np.sqrt(squares), X.map(_turned, turn)

    def room(self, k: int) -> RowBlocks | None:
        return None

    def lock(
        self, locked: RowBlocks | None, done: int, X: RowBlocks, good: int
    ) -> RowBlocks | None:
        if not good:
            return locked
        return X.map(_appended, locked, good, n_columns=done + good)

    def rest(self, X: RowBlocks, good: int) -> RowBlocks:
        return X.map(_columns_from, good, n_columns=X.n_columns - good) if good else X


def _random(labels: Array, seed: Any, width: int, dtype: np.dtype[Any]) -> Array:
    return np.random.default_rng(seed).standard_normal((len(labels), width), dtype=dtype)


def _first(now: Array, L: GraphRows, packed: list[Array], c: Any, e: Any) -> Array:
    """Compute T_1 = (c - L) / e T_0."""
    after = np.empty_like(now)
    for rows, y in products(L, now, packed):
        after[rows] = advance(y, now[rows], c, e)
    after /= 2
    return after


def _step(
    now: Array,
    L: GraphRows,
    packed: list[Array],
    before: Array,
    c: Any,
    e: Any,
    after: Array | None = None,
) -> Array:
    """Compute T_{j+1} = 2 (c - L) / e T_j - T_{j-1} in `after`, which may be T_{j-1}."""
    after = np.empty_like(now) if after is None else after
    for rows, y in products(L, now, packed):
        np.subtract(advance(y, now[rows], c, e), before[rows], out=after[rows])
    return after


def _all_steps(now: Array, L: GraphRows, c: Any, e: Any, degree: int) -> Array:
    """Compute T_degree for a block without a halo."""
    before, now = now, _first(now, L, [], c, e)
    for step in range(degree - 1):
        # T_0 is the result of another task and must not be overwritten.
        before, now = now, _step(now, L, [], before, c, e, before if step else None)
    return now


def _gram64(A: Array, B: Array) -> Array:
    """Compute A'B in float64, in row blocks, as converting all rows would double the memory."""
    total = np.zeros((A.shape[1], B.shape[1]))
    for rows in row_blocks(len(A), 1, _ROWS):
        total += A[rows].T.astype(np.float64) @ B[rows].astype(np.float64)
    return total


def _less(X: Array, locked: Array, along: Array) -> Array:
    out = np.matmul(locked, along)
    return np.subtract(X, out, out=out)


def _turned(X: Array, U: Array) -> Array:
    return np.asarray(X @ U)


def _residual_squares(X: Array, LX: Array, U: Array, values: Array) -> Array:
    """Sum the squares of the residuals of X U."""
    total = np.zeros(len(values))
    for rows in row_blocks(len(X), 1, _ROWS):
        total += residual_squares(X[rows] @ U, LX[rows] @ U, values)
    return total


def _appended(X: Array, locked: Array | None, good: int) -> Array:
    more = X[:, :good]
    return more.copy() if locked is None else np.hstack([locked, more])


def _columns_from(X: Array, good: int) -> Array:
    return np.ascontiguousarray(X[:, good:])


def _arranged(X: Array, order: Array, signs: Array) -> Array:
    return np.asarray(X[:, order] * signs.astype(X.dtype))


def _signs(X: RowBlocks) -> Array:
    """Return the signs for which the entry of largest magnitude of each column is positive."""
    found = np.stack(X.collect(_largest_entries))
    largest = np.take_along_axis(found, np.argmax(np.abs(found), axis=0)[None], 0)[0]
    return np.where(largest < 0, -1.0, 1.0)


def _largest_entries(X: Array) -> Array:
    if not len(X):
        return np.zeros(X.shape[1])
    return np.asarray(X[np.argmax(np.abs(X), axis=0), np.arange(X.shape[1])], dtype=np.float64)
