"""Laplacian of a graph on a cluster, and its smallest eigenpairs.

A product is one task for each block of rows, which gets the values of all points: during it, a
worker holds all multiplied vectors.
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

from lapwing._arrays import Array
from lapwing.dask._row_blocks import RowBlocks
from lapwing.dask._session import PerPart
from lapwing.graphs import Eigenpairs, Laplacian, ScaledLaplacian, smallest_eigenpairs
from lapwing.graphs.base import CSR
from lapwing.graphs.chebyshev import Filter, block_width, filtered
from lapwing.graphs.spectral import DENSE_POINTS, Limits, eigenvalue_gap, limits_of, tell_eigenpairs


@dataclass(frozen=True, eq=False)
class ClusterLaplacian:
    """Counterpart of `lapwing.graphs.Laplacian` in blocks of rows.

    Attributes
    ----------
    affinity : RowBlocks
        W; each block is a list of CSR matrices, one for each block of columns.
    normalized : bool
    power : int
    dtype : dtype
        Precision of L.
    """

    affinity: RowBlocks
    normalized: bool
    power: int
    dtype: Any

    @property
    def n_points(self) -> int:
        return self.affinity.shape[0]

    @cached_property
    def degrees(self) -> RowBlocks:
        """Degrees of the points, shape (n, 1)."""
        return self.affinity.map(_degrees, n_columns=1, dtype=np.float64)

    @cached_property
    def matrix(self) -> RowBlocks:
        """L, in the blocks of W."""
        places = PerPart(list(range(len(self.affinity.parts))))
        every = list(self.degrees.parts)
        return self.affinity.map(
            _laplacian_rows, every, places, self.normalized, np.dtype(self.dtype), dtype=self.dtype
        )

    @cached_property
    def largest_degree(self) -> float:
        return float(max(self.degrees.collect(_largest)))

    @property
    def norm_bound(self) -> float:
        norm = np.float64(2.0) if self.normalized else 2.0 * np.float64(self.largest_degree)
        with np.errstate(over="ignore"):
            return float(norm**self.power)

    def product(self, F: RowBlocks) -> RowBlocks:
        """Compute L F."""
        return self.matrix.map(
            _multiplied, list(F.parts), n_columns=F.n_columns, dtype=np.dtype(F.dtype)
        )

    def apply(self, F: RowBlocks) -> RowBlocks:
        """Compute L^p F."""
        for _ in range(self.power):
            F = self.product(F)
        return F

    def scaled(self, gamma: float) -> ScaledLaplacian:
        """Return gamma L^p."""
        return ScaledLaplacian(cast("Any", self), gamma)

    @cached_property
    def components(self) -> Components:
        return _components(self)


@dataclass(frozen=True, eq=False)
class Components:
    """Connected components, numbered by their first points.

    Attributes
    ----------
    labels : RowBlocks
        Component of each point, shape (n, 1).
    sizes : ndarray of shape (n_components,)
    """

    labels: RowBlocks
    sizes: Array


def _components(laplacian: ClusterLaplacian) -> Components:
    """Find the components of each block, and join them by the edges between blocks."""
    W, session = laplacian.affinity, laplacian.affinity.session
    places = PerPart(list(range(len(W.parts))))
    own = W.map(_own_components, places, n_columns=1, dtype=np.int64)
    joints = W.map(_joints, list(own.parts), places)
    merged = session.each(_merged, 1, list(own.parts), list(joints.parts))[0]
    labels = own.map(_relabeled, merged, places)
    n_components = session.gather(session.each(_n_merged, 1, merged))[0]
    return Components(labels, np.asarray(labels.total(_bincount, n_components)))


def _own_components(W: list[CSR], place: int) -> Array:
    return np.asarray(connected_components(W[place], directed=False)[1]).astype(np.int64)[:, None]


def _joints(W: list[CSR], own: list[Array], place: int) -> Array:
    """Return the distinct pairs of (block, component) that edges join, shape (k, 4)."""
    found = [np.empty((0, 4), dtype=np.int64)]
    for j, block in enumerate(W):
        if j <= place or not block.nnz:
            continue
        rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
        pairs = np.stack([own[place][rows, 0], own[j][block.indices, 0]], axis=1)
        pairs = np.unique(pairs, axis=0)
        places = np.full(len(pairs), place), pairs[:, 0], np.full(len(pairs), j), pairs[:, 1]
        found.append(np.stack(places, axis=1))
    return np.concatenate(found)


def _merged(own: list[Array], joints: list[Array]) -> list[Array]:
    """Return the component of the graph for each component of each block."""
    counts = [int(labels.max(initial=-1)) + 1 for labels in own]
    starts = np.concatenate([[0], np.cumsum(counts)])
    pairs = np.concatenate(joints)
    a, b = starts[pairs[:, 0]] + pairs[:, 1], starts[pairs[:, 2]] + pairs[:, 3]
    size = int(starts[-1])
    graph = sp.csr_array((np.ones(len(a)), (a, b)), shape=(size, size))
    labels = np.asarray(connected_components(graph, directed=False)[1])
    return [labels[s:e] for s, e in pairwise(starts)]


def _relabeled(own: Array, merged: list[Array], place: int) -> Array:
    return np.asarray(merged[place][own[:, 0]].astype(np.int64)[:, None])


def _n_merged(merged: list[Array]) -> int:
    return max(int(labels.max(initial=-1)) + 1 for labels in merged)


def _bincount(labels: Array, n: int) -> Array:
    return np.bincount(labels[:, 0], minlength=n)


def _degrees(W: list[CSR]) -> Array:
    return np.asarray(sum(block.sum(axis=1, dtype=np.float64) for block in W))[:, None]


def _largest(degrees: Array) -> float:
    return float(degrees.max(initial=0.0))


def _laplacian_rows(
    W: list[CSR], degrees: list[Array], place: int, normalized: bool, dtype: np.dtype[Any]
) -> list[CSR]:
    own = degrees[place][:, 0]
    rows = []
    for j, block in enumerate(W):
        weights = block.astype(np.float64)
        if normalized:
            a = np.repeat(np.sqrt(own), np.diff(block.indptr))
            b = np.sqrt(degrees[j][:, 0])[block.indices]
            # As `lapwing.graphs.laplacian` divides: both mirrored entries round alike.
            weights.data = weights.data / np.maximum(a, b) / np.minimum(a, b)
        if j == place:
            diagonal = (own > 0).astype(np.float64) if normalized else own
            rows.append(sp.csr_array(sp.diags_array(diagonal, format="csr") - weights))
        else:
            rows.append(sp.csr_array(-weights))
    return [block.astype(dtype) for block in rows]


def _multiplied(L: list[CSR], values: list[Array]) -> Array:
    total = L[0] @ values[0]
    for block, part in zip(L[1:], values[1:], strict=True):
        total += block @ part
    return np.asarray(total)


def eigenpairs_on_cluster(
    laplacian: ClusterLaplacian,
    k: int,
    *,
    tol: float = 1e-6,
    slack: float = 0.0,
    max_iter: int = 100,
    seed: int = 0,
) -> Eigenpairs:
    """Compute the k smallest eigenpairs, their vectors in blocks; see `smallest_eigenpairs`."""
    n = laplacian.n_points
    sizes = laplacian.components.sizes
    zeros = len(sizes)
    m = k - min(k, zeros)
    if n <= DENSE_POINTS or (m and block_width(m) > n - zeros):
        return _gathered(laplacian, k)
    limits: Limits = limits_of(
        laplacian.normalized, laplacian.largest_degree, np.dtype(laplacian.dtype), tol
    )
    null = _null(laplacian)
    values, following, n_iter, method = np.empty(0), 0.0 if zeros > k else np.inf, 0, "components"
    others = None
    residual = 0.0
    if m:
        L = _Products(laplacian, null)
        X = L.start(seed, block_width(m))
        found, locked, following, n_iter = filtered(
            L, X, m, limits.upper, limits.tolerance, slack, max_iter
        )
        order = np.argsort(found, kind="stable")
        values, method = np.maximum(found[order], 0), "chebyshev"
        signs = _signs(locked)
        others = locked.map(
            _arranged, order, signs[order], n_columns=m, dtype=np.dtype(laplacian.dtype)
        )
        residual = _residual(laplacian, values, others)
    known = min(k, zeros)
    vectors = null.labels.map(
        _with_known,
        null.entries,
        null.place,
        known,
        others,
        np.dtype(laplacian.dtype),
        n_columns=k,
        dtype=np.dtype(laplacian.dtype),
    )
    values = np.concatenate([np.zeros(known), values])
    tolerance = max(limits.tolerance, slack * float(values[-1]))
    gap = 1.0 if k == n or np.isinf(following) else eigenvalue_gap(values[-1], following)
    pairs = Eigenpairs(
        values, cast("Any", vectors), zeros, residual, tolerance, gap, method, n_iter
    )
    tell_eigenpairs(pairs, k)
    return pairs


def _gathered(laplacian: ClusterLaplacian, k: int) -> Eigenpairs:
    """Compute the eigenpairs of few points at the client."""
    W = laplacian.affinity
    rows = [sp.hstack(blocks, format="csr") for blocks in W.session.gather(W.parts)]
    local = Laplacian.from_affinity(
        sp.vstack(rows, format="csr"),
        normalized=laplacian.normalized,
        power=laplacian.power,
        dtype=laplacian.dtype,
    )
    pairs = smallest_eigenpairs(local, k)
    cuts = [pairs.vectors[a:z] for a, z in zip(W.starts[:-1], W.starts[1:], strict=True)]
    parts = tuple(W.session.constant(cut) for cut in cuts)
    vectors = RowBlocks(W.session, parts, W.sizes, k, np.dtype(laplacian.dtype))
    return replace(pairs, vectors=cast("Any", vectors))


@dataclass(frozen=True, eq=False)
class _Null:
    """Null vectors, one for each component.

    Attributes
    ----------
    labels, entries : RowBlocks
        Component of each point, and its entry of that vector, shape (n, 1).
    place : ndarray of shape (n_components,)
        Column of each component's vector: the largest component comes first.
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
    b = len(X)
    null = sp.csr_array((entries[:, 0], labels[:, 0], np.arange(b + 1)), shape=(b, n))
    return np.asarray(null.T @ X.astype(np.float64))


def _without_null(X: Array, labels: Array, entries: Array, along: Array) -> Array:
    return np.asarray((X - entries * along[labels[:, 0]]).astype(X.dtype, copy=False))


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
        before: RowBlocks | None = None
        now = X
        for _ in range(p.degree):
            after = self.laplacian.matrix.map(
                _step, list(now.parts), now, before, c, e, n_columns=X.n_columns, dtype=self.dtype
            )
            before, now = now, after
        return now

    def orthonormal(self, X: RowBlocks, locked: RowBlocks | None, done: int) -> RowBlocks:
        for _ in range(2):
            X = self.null.remove(X)
            if locked is not None:
                on_locked = locked.total(_gram64, X)
                X = X.map(_less, locked, X.session.constant(on_locked.astype(self.dtype)))
            G = X.total(_gram64, X)
            lengths = np.sqrt(np.diag(G))
            try:
                R = sla.cholesky(G / lengths / lengths[:, None], check_finite=False)
            except sla.LinAlgError:
                values, vectors = sla.eigh(G, check_finite=False)
                kept = np.maximum(values, values[-1] * np.finfo(np.float64).eps * len(values))
                U = vectors / np.sqrt(kept)
            else:
                inverse = sla.solve_triangular(R, np.eye(len(R)), check_finite=False)
                U = inverse / lengths[:, None]
            X = X @ U.astype(self.dtype)
        return X

    def rayleigh_ritz(self, X: RowBlocks) -> tuple[Array, Array, RowBlocks]:
        Z = self.laplacian.product(X)
        H = X.total(_gram64, Z)
        s, U = sla.eigh((H + H.T) / 2, overwrite_a=True, check_finite=False)
        made = X.session.constant((U.astype(self.dtype), s.astype(self.dtype)))
        X = X.map(_turned, made)
        return s, np.sqrt(X.total(_residual_squares, Z, made)), X

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


def _step(
    L: list[CSR], values: list[Array], now: Array, before: Array | None, c: Any, e: Any
) -> Array:
    """T_{j+1} = 2 (c - L) / e T_j - T_{j-1}; the first step has no T_{j-1}."""
    y = c * now - _multiplied(L, values)
    if before is None:
        return np.asarray(y / e)
    y *= 2 / e
    return np.asarray(y - before)


def _gram64(A: Array, B: Array) -> Array:
    return np.asarray(A.T.astype(np.float64) @ B.astype(np.float64))


def _less(X: Array, locked: Array, along: Array) -> Array:
    return np.asarray(X - locked @ along)


def _turned(X: Array, made: tuple[Array, Array]) -> Array:
    return np.asarray(X @ made[0])


def _residual_squares(X: Array, Z: Array, made: tuple[Array, Array]) -> Array:
    R = Z @ made[0] - X * made[1]
    return np.asarray(np.einsum("ij,ij->j", R, R, dtype=np.float64))


def _appended(X: Array, locked: Array | None, good: int) -> Array:
    return X[:, :good] if locked is None else np.hstack([locked, X[:, :good]])


def _columns_from(X: Array, good: int) -> Array:
    return np.ascontiguousarray(X[:, good:])


def _arranged(X: Array, order: Array, signs: Array) -> Array:
    return np.asarray(X[:, order] * signs.astype(X.dtype))


def _signs(X: RowBlocks) -> Array:
    """Return the signs that make the entry of largest magnitude of each column positive."""
    found = np.stack(X.collect(_largest_entries))
    largest = np.take_along_axis(found, np.argmax(np.abs(found), axis=0)[None], 0)[0]
    return np.where(largest < 0, -1.0, 1.0)


def _largest_entries(X: Array) -> Array:
    if not len(X):
        return np.zeros(X.shape[1])
    return np.asarray(X[np.argmax(np.abs(X), axis=0), np.arange(X.shape[1])], dtype=np.float64)


def _residual(laplacian: ClusterLaplacian, values: Array, vectors: RowBlocks) -> float:
    identity = np.eye(len(values), dtype=vectors.dtype), values.astype(vectors.dtype)
    squares = vectors.total(_residual_squares, laplacian.product(vectors), identity)
    return float(np.sqrt(squares.max(initial=0.0)))
