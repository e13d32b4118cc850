"""One suite for every space; a new space is one entry of `MAKERS`. Then what is particular."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sla
import scipy.sparse as sp
from lapwing.spaces.parts import KernelParts, SpaceParts

from lapwing.kernels import make_kernel
from lapwing.linalg import column_dot, pivoted_cholesky, spd_factor, to_host
from lapwing.spaces import (
    FullKernelSpace,
    Landmarks,
    Linear,
    LinearSpace,
    MappedSpace,
    Space,
    check_space,
    deformed,
    full_map,
    landmark_map,
)
from lapwing.spaces.systems import FeatureSystem
from tests.helpers.problems import GRAPHS, affinity, laplacian, rbf, sweep

N, N_NEW, C = 14, 5, 3
GAMMA = 0.4


@dataclass(frozen=True)
class Known:
    """A space, with all that it should know written out."""

    space: Space
    Phi: Any  # design on the training points (n, m)
    G: Any  # Gram matrix of the basis (m, m)
    k: Any  # kernel between the training points (n, n)
    X: Any
    X_new: Any  # as `function` takes it
    Phi_new: Any  # (n_new, m)


def _full(container: Callable[[Any], Any]) -> Known:
    X, X_new = _points(4)
    K = rbf(X, X, GAMMA)
    kernel = make_kernel("rbf", container(X), gamma=GAMMA)
    space = FullKernelSpace(kernel.gram(container(X)), kernel, container(X))
    return Known(space, K, K, K, X, container(X_new), rbf(X_new, X, GAMMA))


def _precomputed(container: Callable[[Any], Any]) -> Known:
    X, X_new = _points(4)
    B, B_new = rbf(X, X, GAMMA), rbf(X_new, X, GAMMA)
    B, B_new = B * (B > 0.4), B_new * (B_new > 0.2)
    K, K_new = B @ B.T, B_new @ B.T
    kernel = make_kernel("precomputed", K)
    return Known(FullKernelSpace(container(K), kernel), K, K, K, X, container(K_new), K_new)


def _linear(d: int, container: Callable[[Any], Any]) -> Known:
    X, X_new = _points(d)
    return Known(LinearSpace(container(X)), X, np.eye(d), X @ X.T, X, container(X_new), X_new)


def _mapped(space: Any, psi: Callable[[Any], Any], X: Any, X_new: Any, shown: Any) -> Known:
    """A space in orthonormal coordinates psi, G = I."""
    Phi = psi(X)
    return Known(space, Phi, np.eye(Phi.shape[1]), Phi @ Phi.T, X, shown, psi(X_new))


def _full_map(container: Callable[[Any], Any]) -> Known:
    """The coordinates are some basis; their kernel and their lift are known."""
    X, X_new = _points(4)
    given = container(X)
    kernel = make_kernel("rbf", given, gamma=GAMMA)
    space = full_map(kernel, kernel.gram(given), given)
    basis = X[space.pivots]
    known = _mapped(space, lambda Z: rbf(Z, basis, GAMMA) @ space.lift, X, X_new, container(X_new))
    K = rbf(X, X, GAMMA)
    np.testing.assert_allclose(known.k, K, atol=1e-11)
    return Known(space, known.Phi, known.G, K, X, known.X_new, known.Phi_new)


def _full_map_precomputed() -> Known:
    X, X_new = _points(4)
    K, K_new = rbf(X, X, GAMMA), rbf(X_new, X, GAMMA)
    space = full_map(make_kernel("precomputed", K), K)
    return Known(space, K @ space.lift, np.eye(N), K, X, K_new, K_new @ space.lift)


def _landmark_map(container: Callable[[Any], Any]) -> Known:
    """k(x, Z) k(Z, Z)^-1 k(Z, x') is the kernel of the subset of regressors."""
    X, X_new = _points(4)
    Z = X[[1, 4, 5, 8, 12]]
    kernel = make_kernel("rbf", container(X), gamma=GAMMA)
    space = landmark_map(kernel, container(X), container(Z))
    assert space.basis.shape == Z.shape
    basis = space.basis if container is np.asarray else space.basis.toarray()
    known = _mapped(space, lambda P: rbf(P, basis, GAMMA) @ space.lift, X, X_new, container(X_new))
    K_Z = rbf(X, Z, GAMMA)
    k = K_Z @ np.linalg.solve(rbf(Z, Z, GAMMA), K_Z.T)
    return Known(space, known.Phi, known.G, k, X, known.X_new, known.Phi_new)


def _deformed(linear: bool) -> Known:
    """(I + K S)^-1 K on the training points: errata-free form of the deformed kernel."""
    X, X_new = _points(4)
    S = 0.6 * laplacian(affinity(X), normalized=True)
    if linear:
        space = deformed(LinearSpace(X), lambda F: S @ F)
        K, psi = X @ X.T, lambda Z: Z @ space.lift
    else:
        kernel = make_kernel("rbf", X, gamma=GAMMA)
        space = deformed(full_map(kernel, kernel.gram(X), X), lambda F: S @ F)
        K, basis = rbf(X, X, GAMMA), X[space.pivots]
        psi = lambda Z: rbf(Z, basis, GAMMA) @ space.lift  # noqa: E731
    known = _mapped(space, psi, X, X_new, X_new)
    k = np.linalg.solve(np.eye(N) + K @ S, K)
    return Known(space, known.Phi, known.G, k, X, X_new, known.Phi_new)


def _points(d: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((N + N_NEW, d)) * (rng.random((N + N_NEW, d)) < 0.8)
    return X[:N], X[N:]


MAKERS: dict[str, Callable[[], Known]] = {
    "full": lambda: _full(np.asarray),
    "full of sparse points": lambda: _full(sp.csr_array),
    "full precomputed": lambda: _precomputed(np.asarray),
    "full precomputed sparse": lambda: _precomputed(sp.csr_array),
    "linear": lambda: _linear(4, np.asarray),
    "linear sparse": lambda: _linear(4, sp.csr_array),
    "linear, d = n": lambda: _linear(N, np.asarray),
    "linear wide": lambda: _linear(40, np.asarray),
    "linear wide sparse": lambda: _linear(40, sp.csr_array),
    "full map": lambda: _full_map(np.asarray),
    "full map of sparse points": lambda: _full_map(sp.csr_array),
    "full map precomputed": _full_map_precomputed,
    "landmarks": lambda: _landmark_map(np.asarray),
    "landmarks of sparse points": lambda: _landmark_map(sp.csr_array),
    "deformed": lambda: _deformed(linear=False),
    "deformed linear": lambda: _deformed(linear=True),
}


@pytest.fixture(params=MAKERS)
def known(request: pytest.FixtureRequest) -> Known:
    return MAKERS[request.param]()


def random(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


# --- the suite ------------------------------------------------------------------------------------


def test_sizes(known):
    assert known.space.n_points == N
    assert known.space.n_coef == known.Phi.shape[1]
    assert known.space.dtype == np.float64


def test_values_are_the_design_times_coefficients(known):
    a = random(known.space.n_coef, C)
    np.testing.assert_allclose(known.space.values(a), known.Phi @ a, atol=1e-12)


def test_represent_is_the_adjoint_of_values(known):
    """<represent(u), h> = u' values(h) in the metric of the function space."""
    u, h = random(N, C), random(known.space.n_coef, C, seed=1)
    left = np.einsum("ij,ij->j", known.space.represent(u), known.G @ h)
    np.testing.assert_allclose(left, np.einsum("ij,ij->j", u, known.Phi @ h), rtol=1e-11)


def test_represent_is_the_sum_of_kernel_functions(known):
    u = random(N, C)
    values = known.space.values(known.space.represent(u))
    np.testing.assert_allclose(values, known.k @ u, atol=1e-11)


def test_dot_is_the_inner_product(known):
    a, b = random(known.space.n_coef, C), random(known.space.n_coef, C, seed=1)
    dot = known.space.dot(a, b, known.Phi @ b)
    assert dot.shape == (C,)
    assert dot.dtype == np.float64
    np.testing.assert_allclose(dot, np.einsum("ij,ij->j", a, known.G @ b), rtol=1e-11)
    np.testing.assert_allclose(dot, known.space.dot(b, a, known.Phi @ a), rtol=1e-11)


def test_functions_of_new_points(known):
    a, b = random(known.space.n_coef, C), random(C, seed=1)
    values = known.space.function(a, b)(known.X_new)
    assert isinstance(values, np.ndarray)
    np.testing.assert_allclose(values, known.Phi_new @ a + b, atol=1e-12)


def test_functions_of_the_training_points_are_the_values(known):
    a, b = random(known.space.n_coef, C), random(C, seed=1)
    kernel = getattr(known.space, "kernel", None)
    points = known.k if kernel is not None and kernel.precomputed else known.X
    container = type(known.X_new)
    again = points if container is np.ndarray else container(points)
    values = known.space.function(a, b)(again)
    np.testing.assert_allclose(values, known.space.values(a) + b, atol=1e-12)


SYSTEMS = [
    tuple(axes.values())
    for axes in sweep(graph=GRAPHS, bias=(False, True), weights=("none", "some", "all"))
    # A constant that neither the weights nor the graph see has no minimiser.
    if not (axes["bias"] and axes["weights"] == "none" and not axes["graph"].startswith("norm"))
]


@pytest.mark.parametrize(("graph", "fit_intercept", "weights"), SYSTEMS)
def test_system_minimises_the_quadratic_model(known, graph, fit_intercept, weights, monkeypatch):
    """argmin 1/2 [f'(D + S) f + gamma_A a'G a] - u'f with f = Phi a + b: its gradient, densely."""
    # Well conditioned: the way out of errata L14 would hide a wrong system here.
    monkeypatch.setattr(FeatureSystem, "__init__", no_way_out)
    S = penalty(known, graph)
    gamma_A, D = 0.07, point_weights(weights)
    system = known.space.system(applied(S), gamma_A, fit_intercept)
    u = random(N, C)
    solution = system.factor(None if D is None else D)(u)
    check_stationary(known, solution, S, D, gamma_A, u, fit_intercept)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("graph", ["no graph", "normalized", "unnormalized^3"])
def test_factorisations_of_a_system_do_not_disturb_each_other(
    known, graph, fit_intercept, monkeypatch
):
    monkeypatch.setattr(FeatureSystem, "__init__", no_way_out)
    S, gamma_A, u = penalty(known, graph), 0.07, random(N, C)
    system = known.space.system(applied(S), gamma_A, fit_intercept)
    weights = [point_weights("some"), point_weights("all"), np.eye(N)[3]]
    weights += [None] if graph == "normalized" else []
    quadratics = [system.factor(D) for D in weights]
    before = u.copy()
    for D, quadratic in [*zip(weights, quadratics, strict=True)] * 2:
        check_stationary(known, quadratic(u), S, D, gamma_A, u, fit_intercept)
    np.testing.assert_array_equal(u, before)


def test_a_system_leaves_the_space_alone(known):
    a = random(known.space.n_coef, C)
    before = known.space.values(a)
    system = known.space.system(applied(penalty(known, "normalized")), 0.1, True)
    system.factor(point_weights("all"))(random(N, C))
    np.testing.assert_array_equal(known.space.values(a), before)


def no_way_out(*_: Any) -> None:
    raise AssertionError("a well-conditioned system lost digits")


def penalty(known: Known, graph: str) -> Any:
    kind = GRAPHS[graph]
    if kind is None:
        return np.zeros((N, N))
    return 0.6 * laplacian(affinity(known.X), normalized=kind[0], power=kind[1])


def applied(S: Any) -> Any:
    return (lambda F: S @ F) if S.any() else None


def point_weights(which: str) -> Any:
    D = np.random.default_rng(3).uniform(0.5, 3, N)
    if which == "some":
        D[np.random.default_rng(4).permutation(N)[: N - 4]] = 0
    return None if which == "none" else D


def check_stationary(known, solution, S, D, gamma_A, u, fit_intercept, tol=1e-9):
    coef, intercept, values = solution
    f = known.Phi @ coef + intercept
    np.testing.assert_allclose(values, f, atol=tol * np.abs(f).max())
    v = S @ f - u + (0 if D is None else D[:, None] * f)
    gradient = known.Phi.T @ v + gamma_A * known.G @ coef
    scale = np.abs(known.Phi.T @ u).max()
    assert np.abs(gradient).max() < tol * scale
    if fit_intercept:
        assert np.abs(v.sum(axis=0)).max() < tol * scale
    else:
        np.testing.assert_array_equal(intercept, 0)


# --- precision ------------------------------------------------------------------------------------


@pytest.mark.parametrize("graph", ["no graph", "normalized"])
@pytest.mark.parametrize("name", ["full", "linear", "linear wide"])
def test_float32_spaces_keep_products_and_solve_in_float64(name, graph):
    known = MAKERS[name]()
    X = known.X.astype(np.float32)
    space = FullKernelSpace(known.k.astype(np.float32)) if name == "full" else LinearSpace(X)
    assert space.dtype == np.float32
    a, u = random(space.n_coef, C).astype(np.float32), random(N, C).astype(np.float32)
    assert space.values(a).dtype == np.float32
    assert space.represent(u).dtype == np.float32
    np.testing.assert_allclose(space.values(a), known.Phi @ a, rtol=1e-4, atol=1e-4)
    S, D = penalty(known, graph), point_weights("some")
    solution = space.system(applied(S), 0.07, True).factor(D)(u.astype(np.float64))
    reference = known.space.system(applied(S), 0.07, True).factor(D)(u.astype(np.float64))
    assert solution.values.dtype == np.float64
    np.testing.assert_allclose(solution.values, reference.values, atol=1e-4)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("graph", ["no graph", "normalized^2"])
def test_low_rank_kernels_with_tiny_gamma_a_are_solved_in_feature_coordinates(
    graph, fit_intercept, monkeypatch
):
    """Errata L14: alpha = -v / gamma_A cancels in K alpha, so 1e-8 leaves the LU no digits."""
    taken = []
    original = FeatureSystem.factor
    monkeypatch.setattr(
        FeatureSystem,
        "factor",
        lambda self, weights=None: taken.append(1) or original(self, weights),
    )
    kind, gamma_A, worst, worst_plain = GRAPHS[graph], 1e-8, 0.0, 0.0
    for seed in range(40):
        X = random(12, 2, seed=seed) * 5
        K = X @ X.T
        S = 0 * K
        if kind is not None:
            S = 0.5 * laplacian(affinity(X), normalized=kind[0], power=kind[1])
        D = np.where(np.arange(12) < 5, 2.0, 0.0)
        u = D[:, None] * np.sign(random(12, 2, seed=seed + 1000))
        solution = FullKernelSpace(K).system(applied(S), gamma_A, fit_intercept).factor(D)(u)
        of_coef = K @ solution.coef + solution.intercept
        np.testing.assert_allclose(of_coef, solution.values, atol=1e-6)
        plain = bordered_lu(K, S, D, gamma_A, u, fit_intercept)
        problem = (X, S, D, gamma_A, u, fit_intercept)
        worst = max(worst, low_rank_residual(solution, *problem))
        worst_plain = max(worst_plain, low_rank_residual(plain, *problem))
    assert worst < 1e-6
    assert worst_plain > 1e-6  # the problems are as hard as the errata say
    assert taken


def low_rank_residual(solution, X, S, D, gamma_A, u, fit_intercept):
    """Gradient in the coordinates w = X'alpha, from the values that the coefficients give."""
    w = X.T @ solution[0]
    f = X @ w + solution[1]
    v = S @ f + D[:, None] * f - u
    gradient = X.T @ v + gamma_A * w
    bias = np.abs(v.sum(axis=0)).max() if fit_intercept else 0.0
    return max(np.abs(gradient).max(), bias) / np.abs(X.T @ u).max()


def bordered_lu(K, S, D, gamma_A, u, fit_intercept):
    """The system of errata L4 as it stands."""
    n, H = len(K), S + np.diag(D)
    M = H @ K + gamma_A * np.eye(n)
    if not fit_intercept:
        return np.linalg.solve(M, u), np.zeros(1)
    M = np.block([[M, H.sum(axis=1)[:, None]], [np.ones((1, n)), np.zeros((1, 1))]])
    z = np.linalg.solve(M, np.vstack([u, np.zeros((1, u.shape[1]))]))
    return z[:n], z[n]


@pytest.mark.parametrize("graph", ["no graph", "normalized"])
@pytest.mark.parametrize("gamma_A", [1e-8, 1.0])
def test_a_smooth_rbf_of_duplicates_is_solved(graph, gamma_A):
    """Numerically singular in another way: eigenvalues fall off without a gap."""
    X = np.repeat(random(8, 2), 2, axis=0)
    K = rbf(X, X, 1e-3)
    S = 0.5 * laplacian(affinity(X), normalized=True) if graph != "no graph" else np.zeros((16, 16))
    D, u = np.zeros(16), np.zeros((16, 1))
    D[[0, 5, 9]], u[[0, 5, 9], 0] = 1, [1, -1, 1]
    solution = FullKernelSpace(K).system(applied(S), gamma_A, False).factor(D)(u)
    f = K @ solution.coef
    np.testing.assert_allclose(f, solution.values, atol=1e-6)
    gradient = K @ (S @ f + D[:, None] * f - u + gamma_A * solution.coef)
    assert np.abs(gradient).max() < 1e-6


def test_feature_coordinates_serve_points_without_weight_too():
    """u off the weighted points, bias free: the model that Newton never asks for."""
    X = random(12, 2) * 5
    D = np.where(np.arange(12) < 5, 2.0, 0.0)
    u = random(12, 2, seed=1)
    solution = FullKernelSpace(X @ X.T).system(None, 1e-8, True).factor(D)(u)
    assert low_rank_residual(solution, X, 0 * X @ X.T, D, 1e-8, u, True) < 1e-6


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("graph", ["no graph", "normalized", "unnormalized"])
@pytest.mark.parametrize("space", ["full", "linear"])
def test_a_kernel_of_zeros_has_the_zero_function(space, graph, fit_intercept):
    X = np.zeros((6, 3))
    S = (
        laplacian(np.ones((6, 6)) - np.eye(6), normalized=True)
        if graph != "no graph"
        else np.zeros((6, 6))
    )
    made = FullKernelSpace(X @ X.T) if space == "full" else LinearSpace(X)
    D, u = np.array([1.0, 1, 1, 0, 0, 0]), np.array([[1.0], [1], [-1], [0], [0], [0]])
    solution = made.system(applied(S), 0.1, fit_intercept).factor(D)(u)
    expected = 1 / 3 if fit_intercept else 0.0  # the constant is all there is to fit
    np.testing.assert_allclose(solution.values, expected, atol=1e-12)


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "alternative"),
    [
        ("full", "pcg"),
        ("full precomputed sparse", "pcg"),
        ("linear", "pcg"),
        ("linear wide", "pcg"),
    ],
)
def test_systems_forecast_their_memory(name, alternative, monkeypatch):
    known = MAKERS[name]()
    S = penalty(known, "normalized")
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "100")
    with pytest.raises(MemoryError, match=r"direct solver .*Use solver='pcg'"):
        known.space.system(applied(S), 0.1, False)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "1m")
    known.space.system(applied(S), 0.1, False)


def test_a_space_without_a_kernel_knows_its_own_points_only():
    with pytest.raises(ValueError, match="without a kernel"):
        FullKernelSpace(np.eye(3)).function(np.ones((3, 1)), np.zeros(1))


# --- the algebra beneath --------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
def test_spd_factor(order):
    A = random(6, 6)
    H, u = A @ A.T + np.eye(6), random(6, 2, seed=1)
    np.testing.assert_allclose(H @ spd_factor(np.array(H, order=order))(u), u, atol=1e-10)


@pytest.mark.parametrize("order", ["C", "F"])
def test_spd_factor_of_a_matrix_that_rounding_made_indefinite(order):
    Q = sla.qr(random(6, 6))[0]
    H = Q @ np.diag([5, 4, 3, 2, -1e-16, -1e-17]) @ Q.T
    H = (H + H.T) / 2
    H[5, 5] -= 1e-15  # the last pivot fails, after the others have been overwritten
    u = H @ random(6, 2, seed=1)
    z = spd_factor(np.array(H, order=order))(u)
    np.testing.assert_allclose(H @ z, u, atol=1e-12)
    np.testing.assert_allclose(z, sla.pinvh(H, rtol=1e-12) @ u, atol=1e-10)


@pytest.mark.parametrize("rank", [0, 1, 3, 8])
def test_pivoted_cholesky_has_as_many_columns_as_the_rank(rank):
    B = random(8, rank)
    K = B @ B.T
    F, pivots = pivoted_cholesky(K.copy(), 1e-12 * max(1.0, np.diag(K).max()))
    assert F.shape == (8, rank)
    assert len(set(pivots.tolist())) == rank
    np.testing.assert_allclose(F @ F.T, K, atol=1e-12)
    np.testing.assert_allclose(np.triu(F[pivots], 1), 0)


def test_column_dot_sums_float32_in_float64():
    a = np.full((10**6, 2), np.float32(0.1))
    expected = 10**6 * float(np.float32(0.1)) ** 2
    np.testing.assert_allclose(column_dot(a, a), expected, rtol=1e-9)


def test_arrays_of_other_namespaces_come_to_the_host():
    import array_api_strict as strict

    a = random(4, 2)
    on_host = to_host(strict.asarray(a))
    assert isinstance(on_host, np.ndarray)
    np.testing.assert_array_equal(on_host, a)
    np.testing.assert_allclose(
        column_dot(strict.asarray(a), strict.asarray(a)), (a * a).sum(axis=0), rtol=1e-14
    )
    assert to_host(a) is a


# --- explicit coordinates -------------------------------------------------------------------------


def test_all_points_as_landmarks_are_the_full_kernel():
    X, X_new = _points(4)
    kernel, K = make_kernel("rbf", X, gamma=GAMMA), rbf(X, X, GAMMA)
    for space in (
        landmark_map(kernel, X, X),
        Landmarks(N).space(kernel, X),
        Landmarks(10 * N).space(kernel, X),
        full_map(kernel, K, X),
    ):
        np.testing.assert_allclose(space.features @ space.features.T, K, atol=1e-11)
        psi_new = space.function(np.eye(space.n_coef), np.zeros(space.n_coef))(X_new)
        np.testing.assert_allclose(psi_new @ space.features.T, rbf(X_new, X, GAMMA), atol=1e-9)


def _deficient(which: str) -> tuple[Any, int]:
    X = random(10, 3, seed=2)
    if which == "duplicates":
        X = np.repeat(X[:5], 2, axis=0)
        return rbf(X, X, GAMMA), 5
    if which == "linear of rank 3":
        return X @ X.T, 3
    K = rbf(X, X, GAMMA)
    H = np.eye(10) - 0.1
    return H @ K @ H, 9  # centred on all points: never of full rank (errata C8)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("which", ["duplicates", "linear of rank 3", "centred"])
def test_null_directions_of_a_kernel_are_dropped(which, dtype):
    """A'KA = I and A A' a generalised inverse, whatever the rank (errata C8)."""
    K, rank = _deficient(which)
    space = full_map(make_kernel("precomputed", K), K.astype(dtype))
    assert space.n_coef == rank
    assert space.dtype == dtype
    A, tol = space.lift, 1e-9 if dtype == np.float64 else 2e-4
    np.testing.assert_allclose(A.T @ K @ A, np.eye(rank), atol=tol)
    np.testing.assert_allclose(K @ A @ A.T @ K, K, atol=tol)
    np.testing.assert_allclose(space.features, K @ A, atol=tol)


def test_landmarks_that_are_one_point_are_one():
    X, _ = _points(4)
    kernel = make_kernel("rbf", X, gamma=GAMMA)
    twice = landmark_map(kernel, X, X[[3, 5, 3, 5, 5]])
    once = landmark_map(kernel, X, X[[3, 5]])
    assert twice.n_coef == 2
    np.testing.assert_allclose(
        twice.features @ twice.features.T, once.features @ once.features.T, atol=1e-12
    )


def test_float32_landmarks():
    X, _ = _points(4)
    wide = landmark_map(make_kernel("rbf", X, gamma=GAMMA), X, X[:6])
    X = X.astype(np.float32)
    narrow = landmark_map(make_kernel("rbf", X, gamma=GAMMA), X, X[:6])
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(
        narrow.features @ narrow.features.T, wide.features @ wide.features.T, atol=1e-4
    )


def test_a_deformation_by_nothing_changes_nothing():
    X, _ = _points(4)
    space = deformed(LinearSpace(X), lambda F: 0 * F)
    np.testing.assert_allclose(space.features, X, atol=1e-14)
    np.testing.assert_allclose(space.lift, np.eye(4), atol=1e-14)


@pytest.mark.parametrize("make", ["full", "landmarks"])
def test_maps_forecast_their_memory(make, monkeypatch):
    X, _ = _points(4)
    kernel, K = make_kernel("rbf", X, gamma=GAMMA), rbf(X, X, GAMMA)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "100")
    if make == "full":
        with pytest.raises(MemoryError, match=r"full kernel at n = 14 .*space=Landmarks"):
            full_map(kernel, K, X)
    else:
        with pytest.raises(MemoryError, match=r"14 points by 5 landmarks.*Use fewer landmarks"):
            landmark_map(kernel, X, X[:5])


# --- recipes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_random_landmarks_are_training_points(make):
    X, _ = _points(4)
    one, two = (Landmarks(5, random_state=3).select(make(X)) for _ in range(2))
    one, two = (Z if make is np.asarray else Z.toarray() for Z in (one, two))
    np.testing.assert_array_equal(one, two)
    assert all((z == X).all(axis=1).any() for z in one)
    assert len(np.unique(one, axis=0)) == 5


def test_kmeans_landmarks_are_centres_in_the_precision_of_the_points():
    blobs = np.repeat(np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]]), 20, axis=0)
    X = (blobs + 0.1 * random(60, 2)).astype(np.float32)
    Z = Landmarks(3, method="kmeans").select(X)
    assert Z.dtype == np.float32
    means = np.array([X[20 * k : 20 * (k + 1)].mean(axis=0) for k in range(3)])
    distances = np.linalg.norm(Z[:, None] - means, axis=2).min(axis=0)
    assert distances.max() < 0.5


def test_given_centres_need_not_be_points():
    X, _ = _points(4)
    kernel, Z = make_kernel("rbf", X, gamma=GAMMA), random(3, 4)
    space = Landmarks(centers=Z.tolist(), n_components=-1).space(kernel, X)
    K_Z = rbf(X, Z, GAMMA)
    np.testing.assert_allclose(
        space.features @ space.features.T, K_Z @ np.linalg.solve(rbf(Z, Z, GAMMA), K_Z.T), atol=1e-9
    )


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (Landmarks(0), r"n_components=0 must be a whole number of landmarks, at least 1"),
        (Landmarks(2.5), r"n_components=2.5 must be"),
        (Landmarks(True), r"n_components=True must be"),
        (
            Landmarks(3, method="grid"),
            r"method='grid' is not known\. Use one of 'random', 'kmeans'",
        ),
        (Landmarks(centers=np.ones((2, 3))), r"centers have 3 features where X has 4"),
        (Landmarks(centers=sp.csr_array(np.ones((2, 4)))), r"both be dense or both be sparse"),
    ],
)
def test_landmarks_that_cannot_be(recipe, message):
    X, _ = _points(4)
    with pytest.raises(ValueError, match=message):
        recipe.space(make_kernel("rbf", X, gamma=GAMMA), X)


def test_landmarks_want_a_kernel_function_and_kmeans_dense_points():
    X, _ = _points(4)
    with pytest.raises(ValueError, match=r"needs a kernel.*Use space=None"):
        Landmarks(3).space(None, X)
    with pytest.raises(ValueError, match=r"a precomputed kernel does not offer"):
        Landmarks(3).space(make_kernel("precomputed", X @ X.T), X @ X.T)
    with pytest.raises(ValueError, match=r"takes dense points.*Use method='random'"):
        Landmarks(3, method="kmeans").select(sp.csr_array(X))


def test_the_linear_recipe_does_not_ask_for_a_kernel():
    X, _ = _points(4)
    for kernel in (None, make_kernel("rbf", X, gamma=GAMMA)):
        space = Linear().space(kernel, X)
        assert isinstance(space, LinearSpace)
        assert space.X is X


def test_what_is_no_space_is_refused():
    for fine in (None, Landmarks(), Linear()):
        check_space(fine)
    with pytest.raises(TypeError, match=r"space='linear' is no space\. Use None"):
        check_space("linear")
    with pytest.raises(TypeError, match=r"Did you mean space=Landmarks\(\)\?"):
        check_space(Landmarks)


# --- parts ----------------------------------------------------------------------------------------

ROWS = np.array([1, 2, 5, 9, 13])


def _parts(which: str) -> tuple[Any, Any]:
    """Parts, and the kernel matrix of all points."""
    X, _ = _points(4)
    kernel, K = make_kernel("rbf", X, gamma=GAMMA), rbf(X, X, GAMMA)
    if which == "kernel":
        return KernelParts(kernel, X), K
    if which == "kernel of sparse points":
        return KernelParts(kernel, sp.csr_array(X)), K
    if which == "precomputed":
        return KernelParts(make_kernel("precomputed", K), K), K
    if which == "sparse precomputed":
        return KernelParts(make_kernel("precomputed", K), sp.csr_array(K)), K
    if which == "linear":
        return SpaceParts(LinearSpace(X)), X @ X.T
    if which == "linear sparse":
        return SpaceParts(LinearSpace(sp.csr_array(X))), X @ X.T
    if which == "map":
        return SpaceParts(full_map(kernel, K, X)), K
    wide = random(N, 60, seed=4)
    return SpaceParts(MappedSpace(wide, np.eye(60), LinearSpace(wide).function)), wide @ wide.T


PARTS = [
    "kernel",
    "kernel of sparse points",
    "precomputed",
    "sparse precomputed",
    "linear",
    "linear sparse",
    "map",
    "wide map",
]


@pytest.mark.parametrize("which", PARTS)
def test_parts_are_the_whole_on_their_points(which):
    """The kernel of a part is the block of the kernel, and a gathered function is the same one."""
    parts, K = _parts(which)
    part = parts.part(ROWS)
    assert part.n_points == len(ROWS)
    Phi = np.asarray(part.values(np.eye(part.n_coef)))
    np.testing.assert_allclose(Phi @ Phi.T, K[np.ix_(ROWS, ROWS)], atol=1e-9)
    # sum_i u_i k(x_i, .) over the part's points is known everywhere
    u = random(len(ROWS))
    coef = part.represent(u)
    gathered = parts.gather(part, ROWS, coef)
    assert gathered.shape == (parts.n_coef,)
    values = parts.values(np.stack([gathered, 2 * gathered], axis=1))
    np.testing.assert_allclose(values[:, 0], K[:, ROWS] @ u, atol=1e-8)
    np.testing.assert_allclose(values[:, 1], 2 * values[:, 0])
    np.testing.assert_allclose(values[ROWS, 0], Phi @ coef, atol=1e-8)


@pytest.mark.parametrize("which", PARTS)
def test_a_part_of_all_points_is_the_whole(which):
    parts, K = _parts(which)
    every = np.arange(N)
    part = parts.part(every)
    u = random(N)
    gathered = parts.gather(part, every, part.represent(u))
    np.testing.assert_allclose(parts.values(gathered[:, None])[:, 0], K @ u, atol=1e-8)


@pytest.mark.parametrize("which", PARTS)
def test_attributes_predict_as_the_values_do(which):
    parts, K = _parts(which)
    part = parts.part(ROWS)
    gathered = parts.gather(part, ROWS, part.represent(random(len(ROWS))))[:, None]
    kept = parts.attributes(gathered)
    X = getattr(parts, "X", None)
    X = getattr(parts.space, "X", parts.space.features) if X is None else X
    if "coef" in kept:
        values = np.asarray(X @ kept["coef"].T)
    elif kept["basis"] is None:
        values = K @ kept["alpha"]
    else:
        points, basis = _points(4)[0], kept["basis"]
        basis = basis.toarray() if sp.issparse(basis) else basis
        values = rbf(points, basis, GAMMA) @ kept["alpha"]
    np.testing.assert_allclose(values, parts.values(gathered), atol=1e-8)


def test_a_small_part_of_many_coordinates_is_factored():
    """Products then cost its own size; solutions lie in the span of its points."""
    parts, _ = _parts("wide map")
    assert parts.part(ROWS).n_coef == len(ROWS)
    assert parts.part(np.arange(N)) is parts.space
    alike, _ = _parts("map")
    assert alike.part(ROWS).n_coef == alike.n_coef


def test_a_part_of_equal_points():
    """Rank below the number of points: still the same functions."""
    wide = random(N, 60, seed=4)
    wide[5] = wide[2]
    parts = SpaceParts(MappedSpace(wide, np.eye(60), LinearSpace(wide).function))
    part = parts.part(ROWS)
    assert part.n_coef == len(ROWS) - 1
    u = random(len(ROWS))
    gathered = parts.gather(part, ROWS, part.represent(u))
    np.testing.assert_allclose(gathered, wide[ROWS].T @ u, atol=1e-9)
