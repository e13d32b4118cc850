"""The traps of errata section 1 that solvers could fall into."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lapwing.losses.labeled import Squared, SquaredHinge
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.base import Status
from lapwing.solvers.manifold import pcg as descent
from lapwing.solvers.manifold.dual import dual
from lapwing.solvers.manifold.newton import newton
from lapwing.solvers.manifold.pcg import pcg
from lapwing.solvers.manifold.settings import ManifoldSettings
from lapwing.spaces.full import FullKernelSpace
from lapwing.spaces.linear import LinearSpace
from tests.helpers.counts import Counts
from tests.helpers.problems import (
    DenseTerm,
    affinity,
    laplacian,
    make_case,
    relative_gradient,
)


def supervised(space, y, gamma_A, *, fit_intercept=True):
    y = np.asarray(y, dtype=float).reshape(-1, 1)
    index, ones = np.arange(len(y)), np.ones(len(y))
    return Objective(space, SquaredHinge(), index, y, ones, gamma_A, None, fit_intercept)


# --- L12, L13: starts that trap full steps --------------------------------------------------------


STARTS = {
    "empty E": lambda rng, case: (40.0 * signed(case), np.zeros(2)),
    "one class in E": lambda rng, case: (np.zeros((case.n, 2)), np.array([-3.0, 5.0])),
    "no alpha, b on a margin": lambda rng, case: (np.zeros((case.n, 2)), np.array([1.0, -1.0])),
    "far away": lambda rng, case: (100 * rng.standard_normal((case.n, 2)), np.array([50.0, -70])),
}


def signed(case):
    """Coefficients with y f > 0 on all labelled points: interpolation."""
    J = np.eye(case.n)[:, case.index]
    return J @ np.linalg.solve(case.K[np.ix_(case.index, case.index)], case.y)


@pytest.mark.parametrize("solve", [newton, pcg])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("graph", ["normalized", "unnormalized"])
@pytest.mark.parametrize("start", STARTS)
def test_any_start_leads_to_the_optimum(start, graph, fit_intercept, solve):
    options = {"n": 24, "n_labels": 16, "unit_weights": True}
    case = make_case(graph=graph, fit_intercept=fit_intercept, **options)
    problem = case.objective()
    coef, intercept = STARTS[start](np.random.default_rng(0), case)
    begun = problem.state(coef, intercept * fit_intercept)
    result = solve(problem, ManifoldSettings(start=begun))
    assert result.status == Status.CONVERGED
    assert relative_gradient(case, result.state) < (1e-8 if solve is newton else 1e-5)
    optimum = newton(problem).state
    np.testing.assert_allclose(problem.value(result.state), problem.value(optimum), rtol=1e-8)


@pytest.mark.parametrize("solve", [newton, pcg, dual])
@pytest.mark.parametrize("graph", ["no graph", "unnormalized"])
def test_labels_of_one_class_with_a_free_bias(graph, solve):
    """Optimal is alpha = 0 with any y b >= 1 (errata L13)."""
    case = make_case(graph=graph, fit_intercept=True)
    case = replace(case, y=-np.ones_like(case.y))
    result = solve(case.objective())
    assert result.status == Status.CONVERGED
    assert (result.state.values < -1 + 1e-4).all()
    np.testing.assert_allclose(np.ptp(result.state.values, axis=0), 0, atol=1e-2)
    np.testing.assert_allclose(case.objective().value(result.state), 0, atol=1e-7)


def test_random_tiny_problems_all_converge():
    """Cycles, one-class and empty sets (L11 to L13), points on the margin and half steps (L15)."""
    rng = np.random.default_rng(0)
    for trial in range(250):
        n = int(rng.integers(2, 9))
        X = np.round(rng.standard_normal((n, 2)) * 10, 1)
        y = rng.choice([-1.0, 1.0], n)
        y[:2] = 1, -1
        gamma_A = 10.0 ** rng.uniform(-4, 1)
        problem = supervised(LinearSpace(X), y, gamma_A)
        if trial % 2:
            W = affinity(X, 2)
            L = laplacian(W, normalized=bool(trial % 4 == 1))
            problem = replace(problem, graph_term=DenseTerm(10.0 ** rng.uniform(-3, 1) * L))
        start = None
        if trial % 3:
            scale = 10.0 ** rng.uniform(-2, 2)
            start = problem.state(
                scale * rng.standard_normal((2, 1)), scale * rng.standard_normal(1)
            )
        result = newton(problem, ManifoldSettings(start=start))
        S = np.zeros((n, n)) if problem.graph_term is None else problem.graph_term.matrix
        f = X @ result.state.coef + result.state.intercept
        v = S @ f + np.where(y[:, None] * f < 1, f - y[:, None], 0)
        gradient = np.append(X.T @ v + gamma_A * result.state.coef, v.sum())
        scale = np.abs(np.append(X.T @ y, y.sum())).max() + np.abs(X).max()
        assert result.status == Status.CONVERGED
        assert np.abs(gradient).max() < 1e-9 * scale, trial


# --- L14, L18: singular kernels -------------------------------------------------------------------


@pytest.mark.parametrize("solve", [newton, dual])
@pytest.mark.parametrize("graph", [False, True])
def test_low_rank_kernels_with_tiny_gamma_a(graph, solve):
    """Residuals below 1e-6 in coordinates w = X'alpha, where alpha is of the size 1 / gamma_A."""
    rng = np.random.default_rng(0)
    for trial in range(30):
        X = 5 * rng.standard_normal((10, 2))
        y = np.sign(X[:6, :1] + 3 * rng.standard_normal((6, 1)))
        y[:2, 0] = 1, -1
        L = laplacian(affinity(X), normalized=True)
        gamma_A = 10.0 ** rng.uniform(-9, -5)
        problem = supervised(FullKernelSpace(X @ X.T), y, gamma_A, fit_intercept=bool(trial % 2))
        if graph:
            problem = replace(problem, graph_term=DenseTerm(0.3 * L))
        state = solve(problem).state
        w = np.linalg.lstsq(X, state.values - state.intercept)[0]
        f = X @ w + state.intercept
        np.testing.assert_allclose(f, state.values, atol=1e-6)
        v = 0.3 * graph * (L @ f)
        v[:6] += np.where(y * f[:6] < 1, f[:6] - y, 0)
        gradient = X.T @ v + gamma_A * w
        assert np.abs(gradient).max() < 1e-6 * np.abs(X[:6].T @ y).max(), trial
        if trial % 2:
            assert abs(v.sum()) < 1e-6


# --- L16, L17, L18: the first direction, the cost and the speed of PCG ----------------------------


def test_directions_are_those_of_polak_and_ribiere_if_positive():
    """The metric is that of the space (L18); a negative rho restarts, and so does the caller."""
    problem = make_case(fit_intercept=True).objective()
    rng = np.random.default_rng(0)
    state, d = (problem.state(rng.normal(size=(40, 2)), rng.normal(size=2)) for _ in range(2))
    g = problem.descent(state)
    for factor, rho in ((2.0, 0.0), (0.5, 2.0)):  # rho = -1/4, 2
        before, norm = State(*(factor * part for part in g)), factor * problem.norm(g)
        columns = descent._ActiveColumns(np.arange(2), problem, state, before, norm, d)
        turned, steepest = descent._turn(columns, restart=np.array([False, True]))
        assert steepest.tolist() == [rho == 0, True]
        for part, its, old in zip(turned.direction, g, d, strict=True):
            np.testing.assert_allclose(part, -its + [rho, 0] * old, rtol=1e-9, atol=1e-12)


def test_a_run_ends_if_no_direction_descends(monkeypatch):
    monkeypatch.setattr(descent, "exact_line_search", lambda loss, line: np.zeros(2))
    result = pcg(make_case(fit_intercept=True).objective(), ManifoldSettings(max_iter=100))
    assert (result.status, result.n_iter) == (Status.PRECISION, 2)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_on_a_quadratic_conjugate_gradient_ends_after_the_rank(fit_intercept):
    """J'JK + gamma_A I has l + 1 distinct eigenvalues: any wrong metric takes far longer (L18)."""
    case = make_case(
        graph="no graph", loss=Squared(), fit_intercept=fit_intercept, n=60, n_labels=6, c=1
    )
    result = pcg(case.objective(), ManifoldSettings(tol=1e-8))
    assert result.status == Status.CONVERGED
    assert result.n_iter <= 6 + 2 * fit_intercept + 1


def test_an_iteration_costs_one_product_with_the_kernel_and_one_with_the_graph(monkeypatch):
    counts = Counts(monkeypatch)
    counts.watch(FullKernelSpace, "values")
    counts.watch(DenseTerm, "__call__")
    problem = make_case(n=30, n_labels=12, c=3, fit_intercept=True).objective()
    result = pcg(problem, ManifoldSettings(tol=1e-8))
    assert result.n_iter > 10
    # The start, the end, and checks at restarts.
    assert max(counts.calls.values()) <= result.n_iter + 6
