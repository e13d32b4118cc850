"""Smallest eigenpairs of Laplacians, against dense eigendecompositions and closed forms."""

from __future__ import annotations

import logging
import re
import tracemalloc
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.linalg as sla
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from lapwing.graphs import KNNGraph, Laplacian, smallest_eigenpairs, spectral
from lapwing.graphs.chebyshev import block_width
from tests.helpers.data import gaussian_points, mixture_points


def knn(n: int, **options: Any) -> Laplacian:
    recipe = KNNGraph(8, **{"normalized": True} | options)
    W = recipe.affinity(mixture_points(n, 5))
    return Laplacian.from_affinity(W, normalized=recipe.normalized)


def path(n: int) -> sp.csr_array:
    i = np.arange(n - 1)
    W = sp.csr_array((np.ones(n - 1), (i, i + 1)), shape=(n, n))
    return W + W.T


def ring(n: int) -> sp.csr_array:
    W = path(n).tolil()
    W[0, n - 1] = W[n - 1, 0] = 1
    return W.tocsr()


def product(*graphs: sp.csr_array) -> sp.csr_array:
    """The Cartesian product: its eigenvalues of D - W are all sums of those of the graphs."""
    W = sp.csr_array((1, 1))
    for graph in graphs:
        W = sp.kron(W, sp.eye_array(graph.shape[0])) + sp.kron(sp.eye_array(W.shape[0]), graph)
    return sp.csr_array(W)


def cube(dimensions: int) -> sp.csr_array:
    """The hypercube, whose D - W has the eigenvalue 2 j binom(dimensions, j) times."""
    return product(*[path(2)] * dimensions)


def disconnected() -> sp.csr_array:
    """Two equal components of 100, one of 150, one of 30 and five isolated points, mixed up."""
    large = [KNNGraph(8).affinity(gaussian_points(n, 3, seed=n)) for n in (100, 100, 150, 30)]
    W = sp.block_diag([*large, sp.csr_array((5, 5))], format="csr")
    order = np.random.default_rng(0).permutation(W.shape[0])
    return sp.csr_array(W[order][:, order])


# Each large enough for 60 iterated vectors, and small enough for a dense solver to be the oracle.
GRAPHS = {
    "knn": lambda: KNNGraph(8).affinity(mixture_points(420, 5)),
    "weak": lambda: KNNGraph(8).affinity(mixture_points(420, 5)) * 1e-6,
    "disconnected": disconnected,
    "ring": lambda: ring(400),
    "cube": lambda: cube(9),
    "grid": lambda: product(path(21), path(20)),
}
either = pytest.mark.parametrize("normalized", [True, False])


@lru_cache(maxsize=20)
def eigh(matrix: bytes, n: int) -> tuple[np.ndarray, np.ndarray]:
    return sla.eigh(np.frombuffer(matrix).reshape(n, n))


def check(L: Laplacian, found: Any, k: int) -> None:
    """Eigenvalues, orthonormality, residuals and spaces, all recomputed densely."""
    M = L.matrix.toarray().astype(float)
    s, V = eigh(M.tobytes(), len(M))
    norm = 2.0 if L.normalized else 2 * L.degrees.max()
    assert found.values.shape == (k,)
    assert found.values.dtype == np.float64
    assert found.vectors.shape == (len(M), k)
    assert found.vectors.dtype == L.dtype
    U = found.vectors.astype(float)
    rounding = 1e3 * np.finfo(L.dtype).eps
    assert (U.max(axis=0) == np.abs(U).max(axis=0)).all()
    assert_allclose(U.T @ U, np.eye(k), atol=rounding)
    lengths = np.linalg.norm(M @ U - U * found.values, axis=0)
    assert lengths.max() <= 1.01 * found.tolerance + rounding * norm
    assert_allclose(found.residual, lengths.max(), atol=10 * rounding * norm)
    # Eigenvalues are second-order in the residual, but only first-order in a crowd.
    assert_allclose(found.values, s[:k], atol=2 * found.tolerance)
    zeros = min(k, L.n_components)
    assert found.n_components == L.n_components
    assert_array_equal(found.values[:zeros], 0)
    assert (found.values[zeros:] > 0).all()
    assert (np.diff(found.values) >= 0).all()
    # Davis-Kahan: the space is off by at most the residual over the gap.
    gap = s[k] - s[k - 1] if k < len(s) else np.inf
    relative = 1.0 if k == len(s) else 1 - found.values[-1] / max(s[k], 1e-300)
    if zeros < k:
        assert_allclose(found.gap, max(relative, 0), atol=4 * found.tolerance / s[k - 1])
    if gap > 1e-3 * norm and zeros < k:
        outside = U - V[:, :k] @ (V[:, :k].T @ U)
        assert np.linalg.norm(outside) <= 2 * np.sqrt(k) * found.tolerance / gap + 10 * rounding


@pytest.mark.parametrize("graph", GRAPHS)
@either
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pairs_are_those_of_a_dense_solver(
    dtype: Any, normalized: bool, graph: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spectral, "DENSE_POINTS", 300)
    L = Laplacian.from_affinity(GRAPHS[graph](), normalized=normalized, dtype=dtype)
    tolerance = max(1e-6, 40 * np.finfo(dtype).eps) * (2 if normalized else 2 * L.degrees.max())
    for k in (1, 4, 23, 60, 150):
        found = smallest_eigenpairs(L, k)
        assert found.converged
        assert_allclose(found.tolerance, tolerance)
        iterated = "dense" if k == 150 else "chebyshev"  # so many vectors are dense as well
        assert found.method == ("components" if k <= L.n_components else iterated)
        check(L, found, k)
    if not normalized:  # a tolerance at the rounding is reached as well
        assert smallest_eigenpairs(L, 20, tol=1e-15).converged


def test_the_power_is_left_out_and_the_components_are_kept() -> None:
    L = knn(60)
    power, plain = replace(L, power=3), smallest_eigenpairs(L, 7)
    found = smallest_eigenpairs(power, 7)
    assert_array_equal(found.vectors, plain.vectors)
    assert found.residual == plain.residual
    assert "component_labels" in vars(power)  # of ten million points they take 2 GB to find


@given(
    n=st.integers(1, 30),
    density=st.floats(0, 1),
    normalized=st.booleans(),
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_pairs_of_small_graphs_are_computed_densely(
    n: int, density: float, normalized: bool, seed: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(0.1, 1, (n, n)) * (rng.uniform(size=(n, n)) < density), 1)
    L = Laplacian.from_affinity(W + W.T, normalized=normalized)
    k = data.draw(st.integers(1, n))
    found = smallest_eigenpairs(L, k)
    check(L, found, k)
    assert found.residual <= 1e-12 * (2 if normalized else 2 * L.degrees.max())
    assert found.method == ("components" if k <= L.n_components else "dense")


# --- zeros --------------------------------------------------------------------------------------


@either
def test_null_vectors_are_component_indicators(normalized: bool) -> None:
    L = Laplacian.from_affinity(disconnected(), normalized=normalized)
    found = smallest_eigenpairs(L, 20)
    assert found.n_components == L.n_components >= 9
    # The largest first, and of equal components the one with the earliest point.
    order = np.argsort(-np.bincount(L.component_labels), kind="stable")
    weights = np.sqrt(L.degrees) if normalized else np.ones(L.n_points)
    weights[L.degrees == 0] = 1
    expected = weights[:, None] * (L.component_labels[:, None] == order)
    expected /= np.linalg.norm(expected, axis=0)
    assert_allclose(found.vectors[:, : L.n_components], expected, rtol=1e-14)


def test_more_components_than_vectors(caplog: pytest.LogCaptureFixture) -> None:
    L = Laplacian.from_affinity(disconnected())
    sizes = np.sort(np.bincount(L.component_labels))[::-1]
    with caplog.at_level(logging.WARNING, "lapwing"):
        found = smallest_eigenpairs(L, 3)
        assert f"{L.n_components} connected components, but 3 eigenvectors are" in caplog.text
        caplog.clear()
        two = Laplacian.from_affinity(sp.block_diag([ring(5), ring(4)]), normalized=False)
        enough = smallest_eigenpairs(two, 2)
    assert (found.gap, found.method, found.residual) == (0.0, "components", 0.0)
    assert_array_equal((found.vectors != 0).sum(axis=0), sizes[:3])
    check(L, found, 3)
    assert (enough.gap, enough.n_components, caplog.text) == (1.0, 2, "")


def test_null_vectors_of_tiny_and_huge_weights() -> None:
    for scale in (1e-300, 1e300):
        found = smallest_eigenpairs(Laplacian.from_affinity(ring(5) * scale), 2)
        assert_allclose(found.vectors[:, 0], 5**-0.5, rtol=1e-14)
        assert_allclose(found.values[1], 1 - np.cos(2 * np.pi / 5), rtol=1e-12)


# --- invariances --------------------------------------------------------------------------------


def test_the_same_call_gives_the_same_bits() -> None:
    for dtype in (np.float32, np.float64):
        L = knn(1100).astype(dtype)
        a, b = smallest_eigenpairs(L, 12), smallest_eigenpairs(L, 12)
        assert_array_equal(a.vectors, b.vectors)
        assert_array_equal(a.values, b.values)
        other = smallest_eigenpairs(L, 12, random_state=1)
        assert (other.vectors != a.vectors).any()
        assert_allclose(other.vectors, a.vectors, atol=0.01)  # the signs agree


# --- precision ----------------------------------------------------------------------------------


def test_the_tolerance_is_reached() -> None:
    L = knn(1100)
    for tol in (1e-2, 1e-4, 1e-8, 1e-12):
        found = smallest_eigenpairs(L, 15, tol=tol)
        assert found.residual <= found.tolerance == 2 * tol
        check(L, found, 15)
        assert tol < 1e-2 or found.residual > 1e-4  # it does not work for nothing
    assert smallest_eigenpairs(L, 15, tol=1e-30).tolerance == 80 * np.finfo(float).eps


def test_slack_stops_at_a_share_of_the_largest_eigenvalue() -> None:
    L = knn(1100)
    exact, loose = smallest_eigenpairs(L, 15), smallest_eigenpairs(L, 15, slack=0.02)
    assert loose.tolerance == 0.02 * loose.values[-1]
    assert exact.tolerance < loose.residual <= loose.tolerance
    assert exact.residual < loose.residual / 100
    check(L, loose, 15)
    assert_allclose(loose.values, exact.values, rtol=5e-3)  # the square of that over the gap
    # One that asks for less than the tolerance changes nothing.
    assert_array_equal(smallest_eigenpairs(L, 15, slack=1e-9).vectors, exact.vectors)


def test_too_few_iterations_are_reported(tmp_path: Path) -> None:
    L = knn(1100)
    for _ in range(2):  # cached pairs as well
        with pytest.warns(ConvergenceWarning, match=r"residual of .* after 2 iterat.*Raise max"):
            found = smallest_eigenpairs(L, 15, max_iter=2, memory=str(tmp_path))
        assert not found.converged
        assert found.n_iter == 2
        assert found.residual > found.tolerance
        U = found.vectors
        assert_allclose(U.T @ U, np.eye(15), atol=1e-12)  # what there is is still a basis
        lengths = np.linalg.norm(L.matrix @ U - U * found.values, axis=0)
        assert_allclose(found.residual, lengths.max())


@pytest.mark.parametrize("n", [40, 1200])  # the dense and the iterative way
def test_logs_a_cut_between_equal_eigenvalues(n: int, caplog: pytest.LogCaptureFixture) -> None:
    L = Laplacian.from_affinity(ring(n))  # pairs of equal eigenvalues
    with caplog.at_level(logging.WARNING, "lapwing"):
        assert smallest_eigenpairs(L, 5, tol=1e-9).gap > 0.1
        assert caplog.text == ""
        assert smallest_eigenpairs(L, 4, tol=1e-9).gap < 1e-6
    assert "Eigenvalues 4 and 5 of the Laplacian agree" in caplog.text


# --- arguments, memory, progress ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("k", (0, -1, 61, 2.0, True, None, "3"), "a whole number from 1 to the number of points"),
        ("tol", (0, -1.0, 1, np.nan, "small", True), "a number between 0 and 1"),
        ("slack", (-0.1, 1, np.nan, "small", True), "a number of at least 0 and less than 1"),
        ("max_iter", (0, 1.5, True), "a whole number of at least 1"),
    ],
)
def test_rejects_arguments_out_of_range(name: str, values: tuple[Any, ...], message: str) -> None:
    for value in values:
        with pytest.raises(ValueError, match=re.escape(f"{name}={value!r} must be {message}")):
            smallest_eigenpairs(knn(60), **{"k": 3, name: value})


def test_the_memory_is_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    L = knn(1100)
    needed = 1100 * (2 * block_width(29) + 29 + 1) * 8 + 3 * L.matrix.nnz * 12
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", str(needed))
    assert smallest_eigenpairs(L, 30).converged
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", str(needed - 1))
    with pytest.raises(MemoryError, match=r"29 eigenvectors of a graph of 1100 .*Use fewer"):
        smallest_eigenpairs(L, 30)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "20m")
    with pytest.raises(MemoryError, match=r"dense method.* Use fewer than 183 eigenvectors"):
        smallest_eigenpairs(L, 700)


def test_the_dense_method_takes_no_more_memory_than_its_forecast() -> None:
    n, m = 900, 200
    L = knn(n)
    tracemalloc.start()
    assert smallest_eigenpairs(L, m).method == "dense"
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < (2 * n * n + 2 * n * m) * 8


def test_pairs_are_cached(tmp_path: Path) -> None:
    calls: list[int] = []

    def tick() -> None:
        calls.append(1)

    def found(L: Laplacian, k: int = 12, memory: Any = str(tmp_path), **options: Any) -> Any:
        return smallest_eigenpairs(L, k, memory=memory, callback=tick, **options)

    W = KNNGraph(8).affinity(mixture_points(1100, 5))
    first = found(Laplacian.from_affinity(W))
    n_iter = len(calls)
    assert n_iter == first.n_iter > 0
    L = Laplacian.from_affinity(W, power=4)
    L.apply(np.ones(1100, dtype=np.float32))  # fills caches, which must not change the key
    _ = L.component_labels, L.degrees
    _ = L.affinity.has_canonical_format
    again = found(L)
    assert len(calls) == n_iter
    for name in ("vectors", "values", "residual"):
        assert_array_equal(getattr(again, name), getattr(first, name))
    found(L, memory=joblib.Memory(str(tmp_path), verbose=0))
    smallest_eigenpairs(L, 12, memory=str(tmp_path))  # nor does the callback
    assert len(calls) == n_iter
    V = W.copy()
    V.data[0] *= 1.5
    different: list[tuple[Laplacian, dict[str, Any]]] = [
        (Laplacian.from_affinity(V.maximum(V.T)), {}),
        (Laplacian.from_affinity(W, normalized=False), {}),
        (L.astype(np.float32), {}),
        (L, {"k": 13}),
        (L, {"tol": 1e-7}),
        (L, {"random_state": 1}),
    ]
    for other, options in different:
        before = len(calls)
        found(other, **options)
        assert len(calls) > before
