"""The numerics of Laplacian embedded regression against dense oracles.

The oracles are the paper's dual formulas with their errata, (Lambda + mu L)^-1 and all; the code
under test works in the primal and never forms them. Notation: f = K alpha + b, g the virtual
labels, r = f - g.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from lapwing._host.threads import single_blas_thread
from lapwing.kernels import make_kernel
from lapwing.linalg import pivoted_cholesky
from lapwing.objectives.embedded import graph_side, spectral_side
from lapwing.solvers.base import Settings, Status
from lapwing.solvers.embedded import tube
from lapwing.solvers.embedded.systems import DenseSystem, FeatureSystem
from lapwing.solvers.embedded.tube import fit_tube, tube_regression
from lapwing.spaces.linear import LinearSpace
from lapwing.spaces.mapped import landmark_map
from tests.helpers.embedded import least_squares
from tests.helpers.problems import affinity, laplacian, rbf

LAM, MU = 30.0, 4.0


@dataclass(frozen=True)
class Toy:
    """A problem with all of its matrices dense."""

    K: Any
    L: Any
    index: Any
    weights: Any  # Lambda of the observations
    y: Any  # (l, c)
    mu: float
    null: Any  # (n, q) basis of the kernel of Lambda + mu L

    @property
    def n(self) -> int:
        return len(self.K)

    @property
    def pull(self) -> Any:
        """Lambda y."""
        pull = np.zeros((self.n, self.y.shape[1]))
        np.add.at(pull, self.index, self.weights[:, None] * self.y)
        return pull

    @property
    def graph_kernel(self) -> Any:
        """(Lambda + mu L)^-1, the pseudo-inverse where it is singular (errata E7)."""
        held = np.diag(np.bincount(self.index, self.weights, minlength=self.n))
        return np.linalg.pinv(held + self.mu * self.L, rcond=1e-12, hermitian=True)

    def energy(self, alpha: Any, g: Any) -> Any:
        """(14) and (33) without the loss, a column."""
        misfit = (self.weights[:, None] * (g[self.index] - self.y) ** 2).sum(axis=0)
        smooth = self.mu * np.einsum("ij,ij->j", g, self.L @ g)
        return (np.einsum("ij,ij->j", alpha, self.K @ alpha) + misfit + smooth) / 2

    def side(self) -> Any:
        return graph_side(lambda F: self.mu * self.L @ F, self.n, self.index, self.weights, self.y)

    def dense(self, *, bias: bool = False) -> DenseSystem:
        return DenseSystem(self.K, self.side(), bias)

    def spectral(self, k: int) -> Any:
        values, vectors = np.linalg.eigh(self.L)
        return spectral_side(vectors[:, :k], self.mu * values[:k], self.index, self.weights, self.y)

    def features(self) -> LinearSpace:
        return LinearSpace(pivoted_cholesky(self.K.copy(), 1e-13)[0])


def toy(
    seed: int = 0,
    *,
    n: int = 40,
    c: int = 2,
    normalized: bool = True,
    power: int = 1,
    lone: int = 0,
    mu: float = MU,
    lam: float = LAM,
) -> Toy:
    """Random points; `lone` of them are a component of the graph without a label."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    W = affinity(X)
    W[: n - lone, n - lone :] = W[n - lone :, : n - lone] = 0
    L = laplacian(W, normalized=normalized, power=power)
    index = rng.permutation(n - lone)[:9]
    index = np.append(index, index[0])  # one point is observed twice
    y = np.sign(X[index][:, :c]) + 0.1 * rng.standard_normal((len(index), c))
    degrees = W.sum(axis=1)
    # Without smoothness each point is by itself (errata E12).
    pieces = connected_components(W > 0)[1] if mu else np.arange(n)
    unreached = np.setdiff1d(pieces, pieces[index])
    level = np.where(degrees > 0, np.sqrt(degrees), 1.0) if normalized else np.ones(n)
    null = (pieces[:, None] == unreached) * level[:, None]
    weights = lam * rng.uniform(0.5, 2, len(index))
    return Toy(rbf(X, X, 0.4), L, index, weights, y, mu, null)


TOYS: dict[str, Callable[[], Toy]] = {
    "normalized": toy,
    "normalized^2": lambda: toy(1, power=2),
    "unnormalized": lambda: toy(2, normalized=False),
    "a component without a label": lambda: toy(3, lone=8),
    "the same, unnormalized": lambda: toy(4, normalized=False, lone=6),
    "no smoothness": lambda: toy(5, mu=0.0),
}
every_bias = pytest.mark.parametrize("bias", [False, True], ids=["", "bias"])


def bordered(case: Toy, C: float, *, bias: bool) -> tuple[Any, Any, Any]:
    """alpha, b and g of (K + K_G + I/C) alpha + b - N c = y~, N'alpha = 0, 1'alpha = 0 (E6, E7)."""
    n, q, kernel = case.n, case.null.shape[1], case.graph_kernel
    E = np.hstack([-case.null, np.ones((n, int(bias)))])
    A = np.block([[case.K + kernel + np.eye(n) / C, E], [E.T, np.zeros((E.shape[1], E.shape[1]))]])
    virtual = kernel @ case.pull
    right = np.vstack([virtual, np.zeros((E.shape[1], virtual.shape[1]))])
    solution = np.linalg.solve(A, right)
    alpha = solution[:n]
    intercept = solution[-1] if bias else np.zeros(virtual.shape[1])
    return alpha, intercept, virtual - kernel @ alpha + case.null @ solution[n : n + q]


# ---- LapERLS -----------------------------------------------------------------------------------


@every_bias
@pytest.mark.parametrize("C", [0.3, 20.0, 1e5])
@pytest.mark.parametrize("name", TOYS)
def test_least_squares_is_the_papers_dual(name: str, C: float, bias: bool) -> None:
    case = TOYS[name]()
    alpha, b, g = bordered(case, C, bias=bias)
    scale = np.abs(alpha).max() * max(1.0, C / 100)  # alpha is C times a difference
    residual = case.K @ alpha + b - g
    expected = case.energy(alpha, g) + C / 2 * (residual**2).sum(axis=0)
    for side in (case.side(), case.spectral(case.n)):  # all eigenvectors are any virtual labels
        result = least_squares(DenseSystem(case.K, side, bias), C)
        np.testing.assert_allclose(result.state.coef, alpha, atol=1e-9 * scale)
        np.testing.assert_allclose(case.K @ result.state.coef, case.K @ alpha, atol=1e-9)
        np.testing.assert_allclose(result.state.intercept, b, atol=1e-9)
        np.testing.assert_allclose(result.state.virtual, g, atol=1e-9)
        np.testing.assert_allclose(result.objective, expected, rtol=1e-9)
        assert result.status == Status.CONVERGED
        assert result.optimality.max() < 1e-11
        np.testing.assert_allclose(case.null.T @ result.state.coef, 0, atol=1e-9 * scale)


@every_bias
@pytest.mark.parametrize("near", [False, True])
def test_sums_of_kernel_values_are_lifted_where_they_keep_the_digits(
    monkeypatch: pytest.MonkeyPatch, near: bool, bias: bool
) -> None:
    """Of two landmarks that nearly agree the rows are lifted one by one."""
    monkeypatch.setattr("lapwing.spaces.mapped._PART_BYTES", 20 * 8 * 5)
    monkeypatch.setattr("lapwing.spaces.mapped._CACHED_BYTES", 0)
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 2))
    landmarks = np.vstack([X[:19], X[:1] + (1e-6 if near else 1.0)])
    space = landmark_map(make_kernel("rbf", X, gamma=0.5), X, landmarks)
    basis = np.linalg.qr(rng.standard_normal((60, 4)))[0]
    side = spectral_side(basis, np.ones(4), np.arange(3), np.ones(3), np.ones((3, 1)))
    q = rng.uniform(0.5, 1.5, 60) * 1e3
    assert (space.design().lifted(float(q.sum())).lift is None) == near
    Z = space.psi.array  # not before: features that are held are summed as they are
    B = np.hstack([Z, -basis, np.ones((60, int(bias)))])
    expected = B.T @ (q[:, None] * B) + np.diag(np.arange(len(B.T)) < Z.shape[1])
    replaced = FeatureSystem(landmark_map(space.psi.kernel, X, landmarks), side, bias)
    np.testing.assert_allclose(replaced.normal_matrix(q), expected, atol=1e-7)


# ---- LapESVR -----------------------------------------------------------------------------------


def fit_column(system: Any, j: int, *args: Any) -> Any:
    return fit_tube(replace(system, side=system.side.column(j)), *args)


def duality(case: Toy, fit: Any, alpha: Any, C: float, epsilon: float) -> Any:
    """Primal (14) at the fit and dual (18) at alpha, from their formulas."""
    g, a = fit.graph_coef, alpha[:, None]
    r = (case.K @ a + fit.intercept - g)[:, 0]
    primal = case.energy(a, g)[0] + C * np.maximum(np.abs(r) - epsilon, 0).sum()
    virtual = (case.graph_kernel @ case.pull)[:, 0]
    constant = (case.weights @ case.y[:, 0] ** 2 - case.pull[:, 0] @ virtual) / 2
    Q = case.K + case.graph_kernel
    dual = constant + virtual @ alpha - alpha @ Q @ alpha / 2 - epsilon * np.abs(alpha).sum()
    return primal, dual


PARAMETERS = [(0.05, 0.02), (0.05, 0.0), (1.0, 0.05), (1.0, 0.0), (30.0, 0.1), (1e4, 0.01)]


@every_bias
@pytest.mark.parametrize(("C", "epsilon"), PARAMETERS)
@pytest.mark.parametrize("name", TOYS)
def test_strong_duality(name: str, C: float, epsilon: float, bias: bool) -> None:
    """Primal = dual proves the optimum, whatever found it; feasibility is checked with it."""
    case = TOYS[name]()
    fit = fit_column(case.dense(bias=bias), 0, C, epsilon, Settings(1e-9, 200))
    assert fit.status == Status.CONVERGED
    alpha = fit.state.alpha
    assert np.abs(alpha).max() <= C
    scale = np.abs(alpha).max() + 1e-12
    np.testing.assert_allclose(case.null.T @ alpha, 0, atol=1e-6 * scale)
    if bias:
        assert abs(alpha.sum()) < 1e-6 * scale
    else:
        assert fit.state.fit.intercept == 0
    primal, dual = duality(case, fit.state.fit, alpha, C, epsilon)
    assert primal - dual < 1e-7 * primal
    assert primal - dual > -1e-7 * primal
    assert fit.objective == pytest.approx(primal, rel=1e-7)
    np.testing.assert_allclose(fit.state.fit.coef[:, 0], alpha, atol=1e-6 * scale)


@pytest.mark.parametrize("C", [0.02, 0.3, 3.0])
@pytest.mark.parametrize("epsilon", [0.02, 0.1])
@pytest.mark.parametrize("seed", range(4))
def test_alpha_is_exact_off_the_edge_of_the_tube(seed: int, C: float, epsilon: float) -> None:
    case = toy(seed, n=120, c=1, mu=0.5)
    fit = fit_column(case.dense(bias=True), 0, C, epsilon, Settings(1e-5, 200))
    assert fit.optimality < 1e-10  # though only 1e-5 was asked for
    alpha, found = fit.state.alpha, fit.state.fit
    r = (case.K @ alpha + found.intercept - found.graph_coef[:, 0]) / epsilon
    assert (alpha[np.abs(r) < 1 - 1e-5] == 0).all()
    assert (np.abs(alpha[np.abs(r) > 1 + 1e-5]) == C).all()


class Unpruned(DenseSystem):
    """A system whose functions are not expansions, so that zeros are not pruned."""

    expands = False


def test_without_an_active_set_small_alpha_are_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tube, "_REVISIONS", 0)
    case = toy(n=80, c=1)
    fit = fit_column(case.dense(bias=True), 0, 1.0, 0.15, Settings(1e-8, 200))
    exact = fit_column(Unpruned(case.K, case.side(), True), 0, 1.0, 0.15, Settings(1e-8, 200))
    assert (exact.state.alpha != 0).all()
    assert 0 < np.count_nonzero(fit.state.alpha) < 80
    np.testing.assert_allclose(fit.state.alpha, exact.state.alpha, atol=1e-6)
    assert fit.optimality <= 1e-6


def test_alpha_of_features_is_not_made_sparse() -> None:
    """Functions in coordinates are not, as no new point is put into an expansion of them."""
    case = toy(n=80, c=1)
    features = FeatureSystem(case.features(), case.spectral(80), True)
    for system in (Unpruned(case.K, case.side(), True), features):
        fit = fit_column(system, 0, 1.0, 0.15)
        assert (fit.state.alpha != 0).all()
        assert fit.optimality <= 1e-6
    assert (fit_column(case.dense(bias=True), 0, 1.0, 0.15).state.alpha == 0).any()


def test_targets_of_zero_are_met_at_once() -> None:
    case = toy(c=1)
    fit = fit_column(replace(case, y=0 * case.y).dense(bias=True), 0, 1.0, 0.1)
    assert not fit.state.alpha.any()
    assert (fit.objective, fit.status) == (0.0, Status.CONVERGED)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("C", [1e-5, 1e6])
@pytest.mark.parametrize("epsilon", [0.0, 1e-4, 10.0])
@pytest.mark.parametrize("mu", [0.0, 1e6])
def test_extreme_parameters_end_in_finite_answers(
    scale: float, C: float, epsilon: float, mu: float
) -> None:
    """No warning, no error of a factorisation, and no endless run: the status tells."""
    case = toy(3, lone=8, c=1, mu=mu, lam=30 * scale)
    singular = replace(case, K=np.ones_like(case.K))
    for system in (case.dense(bias=True), singular.dense(bias=False)):
        fit = fit_column(system, 0, C, epsilon)
        assert np.isfinite(fit.state.alpha).all()
        assert np.abs(fit.state.alpha).max() <= C
        assert np.isfinite(fit.objective)
        assert (fit.optimality <= 1e-6) == (fit.status == Status.CONVERGED)


def test_columns_are_fitted_one_by_one() -> None:
    case = toy()
    system = case.dense(bias=True)
    result = tube_regression(system, 1.0, 0.05)
    assert result.state.alpha is not None
    for j in range(2):
        alone = fit_column(system, j, 1.0, 0.05)
        fit = alone.state.fit
        # Their starts, which are solved together or alone, differ by rounding.
        np.testing.assert_allclose(result.state.alpha[:, j], alone.state.alpha, atol=1e-9)
        np.testing.assert_array_equal(result.state.alpha[:, j], result.state.coef[:, j])
        np.testing.assert_allclose(result.state.intercept[j], fit.intercept[0], atol=1e-9)
        np.testing.assert_allclose(result.state.virtual[:, j], fit.graph_coef[:, 0], atol=1e-9)
        assert result.objective[j] == pytest.approx(alone.objective, rel=1e-9)


@pytest.mark.parametrize("features", [False, True])
def test_threads_that_share_the_columns_change_nothing(features: bool) -> None:
    case = toy()
    system: Any = case.dense(bias=True)
    if features:
        system = FeatureSystem(case.features(), case.spectral(20), True)
    with single_blas_thread():
        alone = tube_regression(system, 1.0, 0.05)
        shared = tube_regression(system, 1.0, 0.05, n_threads=2)
    for one, other in zip(alone.state, shared.state, strict=True):
        np.testing.assert_array_equal(other, one)
    np.testing.assert_array_equal(shared.objective, alone.objective)


def test_threads_are_stopped_together_and_report_one_iteration_at_a_time() -> None:
    system = toy().dense(bias=True)
    telling, calls = Lock(), []

    def third(state: Any) -> bool:
        assert telling.acquire(blocking=False)
        calls.append(1)
        telling.release()
        return len(calls) == 3

    asked = tube_regression(system, 1.0, 0.05, Settings(1e-6, 200, third), n_threads=2)
    assert asked.status == Status.CALLBACK
    assert len(calls) == 3

    def fail(state: Any) -> bool:
        calls.append(1)
        raise RuntimeError("no disk")

    with pytest.raises(RuntimeError, match=r"no disk"):
        tube_regression(system, 1.0, 0.05, Settings(1e-6, 200, fail), n_threads=2)
    assert len(calls) < 3 + 2 * 2


@pytest.mark.parametrize(
    ("available", "n_columns", "n_bytes", "expected"),
    [(1, 30, 1e3, 1), (2, 1, 1e3, 1), (2, 30, 1e3, 2), (16, 7, 1e3, 1), (16, 8, 1e3, 8),
     (16, 300, 1e3, 16), (16, 300, 2.5e9, 3), (16, 300, 1e12, 1), (16, 300, 0.0, 16)],
)  # fmt: skip
def test_number_of_threads_by_columns_and_memory(
    available: int, n_columns: int, n_bytes: float, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tube, "available_threads", lambda: available)
    monkeypatch.setattr(tube, "available_memory", lambda: 8_000_000_000)
    assert tube.column_threads(n_columns, n_bytes) == expected
