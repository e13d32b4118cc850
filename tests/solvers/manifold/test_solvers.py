"""All solvers reach the optimum: gradients and duals written out, subgradients, other libraries.

Errata and details of runs are tested in test_errata.py and test_runs.py.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from lapwing.losses.labeled import EpsilonInsensitive, Hinge, Squared
from lapwing.objectives.manifold import Objective
from lapwing.solvers.base import Status
from lapwing.solvers.manifold import dual as of_reduced
from lapwing.solvers.manifold.deformed import DeformedKernel
from lapwing.solvers.manifold.dual import dual, solve_reduced
from lapwing.solvers.manifold.newton import newton
from lapwing.solvers.manifold.pcg import pcg
from lapwing.solvers.manifold.settings import ManifoldSettings
from lapwing.spaces.full import FullKernelSpace
from lapwing.spaces.linear import LinearSpace
from tests.helpers.outside import Huber, Logistic, Pinball, RoundedHinge, SteepHinge
from tests.helpers.problems import (
    ALL_LOSSES,
    DIFFERENTIABLE_LOSSES,
    GRAPHS,
    KINKED_LOSSES,
    SPACES,
    DenseTerm,
    column,
    loss_slope,
    make_case,
    primal_value,
    relative_gradient,
    relative_subgradient,
    sweep,
)

SOLVERS = {
    "newton": newton,
    "pcg": partial(pcg, settings=ManifoldSettings(tol=1e-10)),
    "dual": dual,
}
BY_NAME = {"ids": lambda loss: loss.name}


def has_bias(space, graph, spaces=tuple(SPACES)):
    """Return whether to fit a bias: every second combination of space and graph."""
    return (spaces.index(space) + [*GRAPHS].index(graph)) % 2 == 0


# --- optimality, recomputed -----------------------------------------------------------------------


# The library's losses on everything, those of users on a part of it.
OPTIMA = [
    *sweep(loss=DIFFERENTIABLE_LOSSES, space=SPACES, graph=GRAPHS),
    *sweep(
        loss=(RoundedHinge(0.05), RoundedHinge(3.0), Logistic(), Huber()),
        space=("full", "linear wide"),
        graph=("no graph", "normalized^2"),
    ),
]


@pytest.mark.parametrize(
    "axes", OPTIMA, ids=lambda axes: f"{axes['loss'].name}-{axes['space']}-{axes['graph']}"
)
def test_the_gradient_vanishes_and_all_solvers_agree(axes):
    fit_intercept = has_bias(axes["space"], axes["graph"])
    case = make_case(fit_intercept=fit_intercept, **axes, n=24, n_labels=16)
    problem = case.objective()
    results = {name: solve(problem) for name, solve in SOLVERS.items()}
    reference = results["newton"].state
    optimum = primal_value(case, reference.coef, reference.intercept)
    for name, result in results.items():
        state = result.state
        assert relative_gradient(case, state) < (1e-6 if name == "pcg" else 1e-9), name
        assert result.status == Status.CONVERGED
        assert (result.optimality < 1e-8).all()
        # Stored values of a state agree with its coefficients.
        f = case.design @ state.coef + state.intercept
        np.testing.assert_allclose(state.values, f, atol=1e-9)
        np.testing.assert_allclose(state.smooth, case.penalty @ f, atol=1e-9)
        value = primal_value(case, state.coef, state.intercept)
        np.testing.assert_allclose(value, optimum, rtol=1e-8)
        np.testing.assert_allclose(f, reference.values, atol=1e-6)
        if not fit_intercept:
            np.testing.assert_array_equal(state.intercept, 0)


class Renamed(Hinge):
    """Not the hinge by its class: the general solver takes it."""

    name = "hinge"


@pytest.mark.parametrize(
    "loss",
    [*KINKED_LOSSES, Renamed(), SteepHinge(), Pinball(0.2), Pinball(0.5)],
    ids=repr,
)
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("space", ["full", "linear wide"])
def test_losses_with_kinks_by_their_optimality_conditions(space, graph, fit_intercept, loss):
    options = {"n_labels": 25, "c": 3, "gamma_A": 0.1, "noise": 1}
    case = make_case(space=space, graph=graph, fit_intercept=fit_intercept, loss=loss, **options)
    result = dual(case.objective())
    assert result.status == Status.CONVERGED
    assert relative_subgradient(case, result.state) < 1e-6
    f = case.design @ result.state.coef + result.state.intercept
    low, high = (loss_slope(loss, case.y, f[case.index] + side) for side in (-1e-6, 1e-6))
    # Else the kinks, or the rest, would not be tested; wide features have nearly all at kinks.
    assert 0.03 < (low < high).mean() < (0.97 if space == "full" else 1.01)


@pytest.mark.parametrize("loss", ALL_LOSSES, **BY_NAME)
def test_columns_of_the_deformed_kernel_serve_other_labels_losses_and_weights(loss):
    case = make_case(fit_intercept=True)
    columns = DeformedKernel.of(case.objective()).at(case.index)
    weights = np.linspace(0.5, 2, len(case.y))
    other = replace(case.objective(), loss=loss, targets=-case.y[:, :1], weights=weights)
    again, fresh = dual(other, ManifoldSettings(columns=columns)), dual(other)
    np.testing.assert_allclose(again.state.values, fresh.state.values, atol=1e-9)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_squared_loss_takes_one_step_and_reports_it(fit_intercept):
    reports = []
    asked = ManifoldSettings(on_iteration=lambda state: bool(reports.append(state())))
    problem = make_case(loss=Squared(), fit_intercept=fit_intercept, c=4).objective()
    found = newton(problem, asked)
    assert found.n_iter == 1
    np.testing.assert_allclose(reports.pop().values, found.state.values)
    assert not reports


def test_newton_in_coordinates_is_not_preferred_if_it_is_worse(monkeypatch):
    problem, settings = make_case(graph="no graph").objective(), ManifoldSettings(max_iter=1)
    first = newton(problem, settings)
    assert solve_reduced(problem, settings).optimality.max() < first.optimality.max()
    worse = replace(first, optimality=2 * first.optimality)
    monkeypatch.setattr(of_reduced, "newton_in_coordinates", lambda *_, **__: worse)
    np.testing.assert_array_equal(solve_reduced(problem, settings).optimality, first.optimality)


# --- identities -----------------------------------------------------------------------------------

EVERY_LOSS_AND_SOLVER = [
    pytest.param(loss, solve, id=f"{loss.name}-{name}")
    for loss in ALL_LOSSES
    for name, solve in SOLVERS.items()
    if loss.kind.differentiable or name == "dual"
]
FOR_EVERY_LOSS_AND_SOLVER = pytest.mark.parametrize(("loss", "solve"), EVERY_LOSS_AND_SOLVER)


@FOR_EVERY_LOSS_AND_SOLVER
def test_columns_together_are_columns_alone(loss, solve):
    case = make_case(loss=loss, fit_intercept=True, c=3, n=24, n_labels=12)
    together = solve(case.objective()).state
    for j in range(3):
        alone = solve(column(case, j).objective()).state
        np.testing.assert_allclose(together.values[:, [j]], alone.values, atol=1e-6)
        np.testing.assert_allclose(together.intercept[j], alone.intercept[0], atol=1e-6)


@FOR_EVERY_LOSS_AND_SOLVER
def test_a_point_with_conflicting_labels(loss, solve):
    case = make_case(loss=loss, fit_intercept=True, n=9, n_labels=4, c=1)
    case = replace(
        case,
        index=np.append(case.index, case.index[0]),
        y=np.vstack([case.y, -case.y[:1]]),
        weights=np.append(case.weights, 0.7),
    )
    assert relative_subgradient(case, solve(case.objective()).state) < 1e-6


@FOR_EVERY_LOSS_AND_SOLVER
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_kernel_of_rank_three_is_the_linear_space(fit_intercept, loss, solve):
    """Coefficients are one choice of many, f is not (errata L14)."""
    case = make_case(loss=loss, fit_intercept=fit_intercept, space="linear")
    X = case.X[:, :3]
    K, graph_term = X @ X.T, DenseTerm(0.3 * case.L)
    parts = (loss, case.index, case.y, case.weights, 0.05, graph_term, fit_intercept)
    kernel, linear = Objective(FullKernelSpace(K), *parts), Objective(LinearSpace(X), *parts)
    a, b, exact = solve(kernel).state, solve(linear).state, dual(linear).state
    np.testing.assert_allclose(a.values, b.values, atol=1e-6)
    np.testing.assert_allclose(a.values, exact.values, atol=1e-6)
    np.testing.assert_allclose(kernel.value(a), linear.value(b), rtol=1e-8)


@pytest.mark.parametrize("loss", [Squared(), EpsilonInsensitive(5.0)], **BY_NAME)
def test_targets_without_loss_give_the_zero_function(loss):
    """Targets of zero, or within epsilon: no gradient at the start, no 0/0 in the report."""
    case = make_case(loss=loss, fit_intercept=True)
    if loss.name == "squared":
        case = replace(case, y=0 * case.y)
    for solve in SOLVERS.values() if loss.kind.differentiable else (dual,):
        result = solve(case.objective())
        assert result.status == Status.CONVERGED
        np.testing.assert_allclose(result.optimality, 0, atol=1e-12)
        np.testing.assert_allclose(result.state.coef, 0, atol=1e-12)


# --- wide boxes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma_A", [1e-5, 1e-6, 1e-7])
@pytest.mark.parametrize("loss", [EpsilonInsensitive(0.0), EpsilonInsensitive(0.02), Hinge()])
def test_coefficients_far_below_their_bound(loss, gamma_A):
    """The duality gap written out, where libsvm alone stops up to one half above the optimum."""
    for seed in (3, 11, 17, 19):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-2, 2, (12, 2))
        y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(12)
        y = np.where(y > 0, 1.0, -1.0) if isinstance(loss, Hinge) else y
        T = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2)) / gamma_A
        problem = Objective(
            FullKernelSpace(T), loss, np.arange(12), y[:, None], np.ones(12), gamma_A=1.0
        )
        result = dual(problem)
        beta, primal = result.state.coef[:, 0], float(problem.value(result.state)[0])
        f = T @ beta
        if isinstance(loss, Hinge):
            feasible = y * np.clip(y * beta, 0, 0.5)
            gain, misfit = y @ feasible, np.maximum(0, 1 - y * f).sum()
        else:
            feasible = np.clip(beta, -0.5, 0.5)
            gain = y @ feasible - loss.epsilon * np.abs(feasible).sum()
            misfit = np.maximum(0, np.abs(y - f) - loss.epsilon).sum()
        np.testing.assert_allclose(primal, (misfit + beta @ f) / 2, rtol=1e-6)
        assert primal - (gain - feasible @ T @ feasible / 2) <= 1e-6 * primal
        assert result.optimality[0] <= 1e-6
        assert result.status == Status.CONVERGED


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.3), EpsilonInsensitive(0.0)])
def test_solutions_of_libsvm_need_no_multipliers(loss, monkeypatch):
    def refuse(*_):
        raise AssertionError("the gap of libsvm's solution is too large")

    monkeypatch.setattr("lapwing.solvers.manifold.kinks._column", refuse)
    result = dual(make_case(fit_intercept=True, loss=loss, c=2).objective())
    assert result.status == Status.CONVERGED


def test_multipliers_continue_if_libsvm_stops_early(monkeypatch):
    case = make_case(fit_intercept=True, loss=Hinge(), c=2)
    expected = dual(case.objective())
    monkeypatch.setattr("lapwing.solvers.manifold.kinks._STEPS_PER_LABEL", 1)
    monkeypatch.setattr("lapwing.solvers.manifold.kinks._polished", lambda *_: [])
    found = dual(case.objective())
    assert found.status == Status.CONVERGED
    np.testing.assert_allclose(found.state.values, expected.state.values, atol=1e-6)
