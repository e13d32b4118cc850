"""One suite for every space; a new space is one entry of `MAKERS`. Then what is particular."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sla
import scipy.sparse as sp
from problems import GRAPHS, affinity, laplacian, rbf, sweep

from lapwing.kernels import make_kernel
from lapwing.linalg import column_dot, pivoted_cholesky, spd_factor, to_host
from lapwing.spaces import FullKernelSpace, LinearSpace, Space
from lapwing.spaces.systems import FeatureSystem

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
