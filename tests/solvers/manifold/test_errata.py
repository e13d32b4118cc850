"""The traps of errata section 1 that solvers could fall into."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

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
from tests.helpers.problems import (
    DenseTerm,
    affinity,
    laplacian,
    make_case,
    relative_gradient,
    sweep,
)


def supervised(space, y, gamma_A, *, fit_intercept=True):
    y = np.asarray(y, dtype=float).reshape(-1, 1)
    return Objective(
        space,
        SquaredHinge(),
        np.arange(len(y)),
        y,
        np.ones(len(y)),
        gamma_A,
        None,
        fit_intercept,
    )


# --- L11: full steps cycle ------------------------------------------------------------------------

CYCLING_X = np.array([(6.1, 6.4), (22.5, -3), (6.2, 9.4), (-2.4, 15.1), (6.4, -8.6), (1.2, -13.1)])
CYCLING_Y = np.array([1.0, -1, -1, 1, 1, 1])


@pytest.mark.parametrize("space", ["full", "linear"])
def test_newton_converges_on_the_example_of_errata_l11(space):
    made = FullKernelSpace(CYCLING_X @ CYCLING_X.T) if space == "full" else LinearSpace(CYCLING_X)
    problem = supervised(made, CYCLING_Y, 0.18)
    result = newton(problem)
    assert result.status == Status.CONVERGED
    assert result.n_iter <= 6
    assert problem.value(result.state)[0] == pytest.approx(0.0719, abs=5e-5)
    assert result.optimality[0] < 1e-9


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
@pytest.mark.parametrize(
    ("start", "graph", "fit_intercept"),
    [
        tuple(axes.values())
        for axes in sweep(
            start=STARTS,
            graph=("normalized", "unnormalized"),
            fit_intercept=(True, False),
        )
    ],
)
def test_any_start_leads_to_the_optimum(start, graph, fit_intercept, solve):
    sizes = {"n": 24, "n_labels": 16}
    case = make_case(graph=graph, fit_intercept=fit_intercept, unit_weights=True, **sizes)
    problem = case.objective()
    coef, intercept = STARTS[start](np.random.default_rng(0), case)
    begun = problem.state(coef, intercept * fit_intercept)
    if start == "empty E":
        assert (problem.targets * problem.labeled(begun.values) >= 1).all()
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


def test_with_a_singular_kernel_only_the_mixed_norm_vanishes():
    """The preconditioned gradient does not go to zero at the optimum (errata L18)."""
    X = np.random.default_rng(0).standard_normal((30, 3))
    y = np.sign(X[:20, 0] + 0.5 * np.sin(np.arange(20)))
    result = pcg(
        supervised(FullKernelSpace(X @ X.T), y, 1e-2, fit_intercept=False),
        ManifoldSettings(tol=1e-9),
    )
    assert result.status == Status.CONVERGED
    first, last = ({k: v[i][0] for k, v in result.history.items()} for i in (0, -1))
    assert last["mixed"] < 1e-6 * first["mixed"]
    assert last["gradient"] < 1e-5 * first["gradient"]
    assert last["preconditioned"] > 1e-2 * first["preconditioned"]


# --- L16, L17, L18: the first direction, the cost and the speed of PCG ----------------------------


@pytest.mark.parametrize("y", [(1, 1, 1, 1, -1), (-1, -1, -1, -1, 1), (1, 1, -1, -1, 1)])
def test_the_first_direction_with_unbalanced_labels(y):
    """d = [1'y, y']', and it descends where the printed one ascends (errata L16)."""
    y = np.array(y, dtype=float)
    X = np.random.default_rng(0).standard_normal((5, 2))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    problem = supervised(FullKernelSpace(K), y, 0.1)
    printed_slope = y.sum() ** 2 - y @ K @ y
    assert (printed_slope > 0) == (abs(y.sum()) == 3)  # the misprint shows in these only
    result = pcg(problem, ManifoldSettings(max_iter=1))
    step = result.state.coef[0, 0] * y[0]
    assert step > 0
    np.testing.assert_allclose(result.state.coef[:, 0], step * y, rtol=1e-12)
    np.testing.assert_allclose(result.state.intercept, step * y.sum(), rtol=1e-12)
    steps = np.linspace(0, 2 * step, 2001)
    along = [
        problem.value(problem.state(s * y[:, None], np.array([s * y.sum()])))[0] for s in steps
    ]
    assert along[1000] == min(along)
    assert along[1000] < along[0]


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


@dataclass(frozen=True)
class Counting:
    """A space or an operator that counts the columns it is applied to."""

    inner: Any
    calls: list[int] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def values(self, coef: Any) -> Any:
        self.calls.append(coef.shape[1])
        return self.inner.values(coef)

    def __call__(self, F: Any) -> Any:
        self.calls.append(F.shape[1])
        return self.inner(F)


def test_an_iteration_costs_one_product_with_the_kernel_and_one_with_the_graph():
    case = make_case(n=30, n_labels=12, c=3, fit_intercept=True)
    problem = case.objective()
    space, graph = Counting(problem.space), Counting(problem.graph_term)
    result = pcg(replace(problem, space=space, graph_term=graph), ManifoldSettings(tol=1e-8))
    assert result.n_iter > 10
    for calls in (space.calls, graph.calls):
        assert len(calls) <= result.n_iter + 6  # the start, the end, and checks at restarts
    # Columns that are done leave the products: their iterations differ.
    assert sum(space.calls) < 3 * (result.n_iter + 6)
