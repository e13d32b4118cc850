"""How runs start, stop and report: warm starts, statuses, histories, early stopping, precision."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from lapwing.losses.labeled import Hinge, Squared, SquaredHinge
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.base import Status
from lapwing.solvers.manifold.dual import dual
from lapwing.solvers.manifold.newton import newton
from lapwing.solvers.manifold.pcg import (
    MixedRule,
    StabilityRule,
    ValidationRule,
    _with_bias_unit,
    check_interval,
    pcg,
    relative_change,
)
from lapwing.solvers.manifold.settings import ManifoldSettings
from lapwing.spaces.linear import LinearSpace
from tests.helpers.problems import (
    ALL_LOSSES,
    DIFFERENTIABLE_LOSSES,
    KINKED_LOSSES,
    column,
    make_case,
    primal_gradient,
    primal_value,
)

BY_NAME = {"ids": lambda loss: loss.name}


def metric_norm(case, state, bias_unit=1.0):
    """sqrt(g' G g) of the preconditioned gradient, with its own bias part: dense, per column."""
    of_coef, of_bias = primal_gradient(case, state.coef, state.intercept)
    preconditioned = np.linalg.lstsq(case.gram, of_coef)[0]
    squares = np.einsum("ij,ij->j", preconditioned, of_coef)
    squares += case.fit_intercept * (bias_unit * of_bias) ** 2
    return np.sqrt(np.maximum(squares, 0))


def stop_after(number, record):
    def on_iteration(known):
        record.append(known)
        return len(record) >= number

    return on_iteration


# --- starts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", DIFFERENTIABLE_LOSSES, **BY_NAME)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_start_at_the_optimum_ends_at_once(loss, fit_intercept):
    problem = make_case(loss=loss, fit_intercept=fit_intercept).objective()
    optimum = newton(problem).state
    again = pcg(problem, ManifoldSettings(start=optimum, tol=1e-6))
    assert again.n_iter == 0
    assert again.status == Status.CONVERGED
    np.testing.assert_array_equal(again.state.coef, optimum.coef)
    once = newton(problem, ManifoldSettings(start=optimum))
    assert once.n_iter == 1
    np.testing.assert_allclose(once.state.values, optimum.values, atol=1e-10)


@pytest.mark.parametrize("loss", ALL_LOSSES, **BY_NAME)
def test_objectives_and_starts_are_not_modified(loss):
    problem = make_case(loss=loss, fit_intercept=True).objective()
    rng = np.random.default_rng(0)
    start = problem.state(rng.standard_normal((40, 2)), rng.standard_normal(2))
    arrays = [problem.space.K, problem.index, problem.targets, problem.weights, *start]
    before = [array.copy() for array in arrays]
    for solve in (newton, pcg, dual) if loss.kind.differentiable else (dual,):
        solve(problem, ManifoldSettings(start=start, tol=1e-10))
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


# --- reports --------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", ["full", "linear"])
@pytest.mark.parametrize("graph", ["no graph", "normalized"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("solve", [newton, pcg, dual])
def test_optimality_is_the_relative_norm_of_the_gradient(solve, space, graph, fit_intercept):
    """Stopped short of the optimum, where the norm has digits."""
    case = make_case(space=space, graph=graph, fit_intercept=fit_intercept)
    result = solve(case.objective(), ManifoldSettings(max_iter=1))
    zero = case.objective().zero()
    unit = _with_bias_unit(case.objective()).bias_unit if solve is pcg else 1.0
    expected = metric_norm(case, result.state, unit) / metric_norm(case, zero, unit)
    assert expected.max() > 1e-3
    np.testing.assert_allclose(result.optimality, expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("loss", KINKED_LOSSES, **BY_NAME)
def test_optimality_of_the_dual_is_its_gap(loss):
    problem = make_case(loss=loss, fit_intercept=True).objective()
    exact, rough = dual(problem), dual(problem, ManifoldSettings(tol=1e-1))
    assert (exact.optimality < 1e-8).all()
    excess = 1 - problem.value(exact.state) / problem.value(rough.state)
    # The gap bounds how much better the optimum can be.
    assert (excess <= rough.optimality + 1e-9).all()


@pytest.mark.parametrize(
    ("solve", "n_iter"), [(pcg, 0), (pcg, 1), (pcg, 3), (newton, 0), (newton, 1), (dual, 1)]
)
def test_iterations_are_limited_or_stopped_by_a_callback(n_iter, solve):
    case, record = make_case(fit_intercept=True), []
    result = solve(case.objective(), ManifoldSettings(max_iter=n_iter))
    assert result.status == Status.MAX_ITER
    assert result.n_iter == n_iter < solve(case.objective()).n_iter
    f = case.design @ result.state.coef + result.state.intercept
    np.testing.assert_allclose(result.state.values, f, atol=1e-10)
    assert result.optimality.max() > 1e-6
    if n_iter > 0 and solve is not dual:
        asked = ManifoldSettings(on_iteration=stop_after(n_iter, record))
        stopped = solve(case.objective(), asked)
        assert (stopped.status, stopped.n_iter) == (Status.CALLBACK, n_iter)
        assert len(record) == n_iter
        for state in (record[-1](), stopped.state):
            np.testing.assert_array_equal(state.coef, result.state.coef)


@pytest.mark.parametrize("loss", DIFFERENTIABLE_LOSSES, **BY_NAME)
@pytest.mark.parametrize(
    ("graph", "fit_intercept"),
    [("no graph", False), ("normalized", True), ("unnormalized^3", True)],
)
def test_history_is_that_of_the_iterates_and_never_rises(graph, fit_intercept, loss):
    case = make_case(graph=graph, fit_intercept=fit_intercept, loss=loss, n=24, n_labels=12)
    seen: list[State] = [case.objective().zero()]

    def look(known):
        seen.append(known())
        return False

    result = pcg(case.objective(), ManifoldSettings(tol=1e-8, on_iteration=look))
    assert len(seen) == result.n_iter + 1
    history = {name: np.array(rows) for name, rows in result.history.items()}
    assert all(rows.shape == (result.n_iter, 2) for rows in history.values())
    objective = history["objective"]
    for before, after in pairwise(objective):
        both = ~np.isnan(after)
        assert (after[both] <= before[both] * (1 + 1e-12)).all()
    for state, rows in zip(seen[:4], range(4), strict=False):
        of_coef, of_bias = primal_gradient(case, state.coef, state.intercept)
        of_bias = of_bias * fit_intercept
        preconditioned = np.linalg.solve(case.K, of_coef)
        expected = {
            "objective": primal_value(case, state.coef, state.intercept),
            "gradient": np.sqrt((of_coef**2).sum(axis=0) + of_bias**2),
            "preconditioned": np.sqrt((preconditioned**2).sum(axis=0) + of_bias**2),
            "mixed": metric_norm(case, state),
        }
        for name, value in expected.items():
            np.testing.assert_allclose(history[name][rows], value, rtol=1e-5, err_msg=name)


def test_converged_columns_leave_the_run():
    """Their history is NaN from there on, their solution stays."""
    case = make_case(fit_intercept=True, c=3)
    together = pcg(case.objective(), ManifoldSettings(tol=1e-6))
    alone = [pcg(column(case, j).objective(), ManifoldSettings(tol=1e-6)) for j in range(3)]
    lengths = [result.n_iter for result in alone]
    assert len(set(lengths)) > 1  # else nothing leaves before the end
    assert together.n_iter == max(lengths)
    objective = np.array(together.history["objective"])
    assert np.isfinite(objective).sum(axis=0).tolist() == lengths
    for j, result in enumerate(alone):
        np.testing.assert_allclose(together.state.coef[:, [j]], result.state.coef, atol=1e-6)


# --- callbacks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [SquaredHinge(), Hinge()], **BY_NAME)
@pytest.mark.parametrize("graph", ["no graph", "normalized", "unnormalized"])
def test_a_callback_of_the_dual_sees_functions_on_all_points(graph, loss):
    """Callbacks get coefficients of the full problem, not of the reduced one."""
    case = make_case(graph=graph, fit_intercept=True, loss=loss)
    record: list[Any] = []
    result = dual(case.objective(), ManifoldSettings(on_iteration=stop_after(100, record)))
    for known in record:
        state = known()
        f = case.design @ state.coef + state.intercept
        np.testing.assert_allclose(state.values, f, atol=1e-8)
        np.testing.assert_allclose(state.smooth, case.penalty @ f, atol=1e-8)
    np.testing.assert_allclose(record[-1]().values, result.state.values, atol=1e-6)
    stopped = dual(case.objective(), ManifoldSettings(on_iteration=stop_after(1, [])))
    assert stopped.status == Status.CALLBACK


def test_a_callback_at_the_last_step_keeps_the_status_converged():
    problem = make_case(loss=Squared()).objective()
    assert newton(problem, ManifoldSettings(on_iteration=lambda _: True)).status == Status.CONVERGED


@pytest.mark.parametrize("loss", KINKED_LOSSES, **BY_NAME)
@pytest.mark.parametrize("solve", [newton, pcg])
def test_newton_and_pcg_reject_losses_with_kinks(solve, loss):
    with pytest.raises(ValueError, match=r"has kinks.* Use the solver 'dual' with it\."):
        solve(make_case(loss=loss).objective())


# --- early stopping -------------------------------------------------------------------------------


def showing(*scores):
    """A state that only has values: one column, or several."""
    values = np.array(scores, dtype=float)
    return State(None, None, values.reshape(len(scores), -1), None)


def test_theta_of_errata_l20():
    sizes = [364, 1040, 1408, 1459, 11902]
    assert [check_interval(n) for n in sizes] == [10, 16, 19, 19, 55]
    assert [check_interval(n) for n in (1, 2, 5)] == [1, 1, 1]
    assert isinstance(check_interval(364), int)


def changed(n):
    """Scores of 1000 points at two checks, of which n change their class."""
    new = np.ones(1000)
    new[:n] = -1
    return [np.ones(1000), new]


@dataclass
class Errors:
    """Validation errors of the checks, in order."""

    numbers: list[int]

    def __call__(self, state: State) -> float:
        return self.numbers.pop(0)


# A rule, the scores at its checks, and whether it stops at each.
RULES: dict[str, Any] = {
    # With d_old = 0 and labels 0/1 the printed rule may stop at once (errata L21).
    "the first check only stores": (
        StabilityRule(np.arange(4), 1),
        [(-1, -1, -1, -1), (-2, -1, -1, -3)],
        [False, True],
    ),
    # ||d - d_old||_1 counts a change of +-1 labels twice (errata L21): 1.5 % of 1000 points.
    "14 of 1000 changed": (StabilityRule(np.arange(1000), 1), changed(14), [False, True]),
    "15 of 1000 changed": (StabilityRule(np.arange(1000), 1), changed(15), [False, False]),
    "changed, changed back, labelled points only": (
        StabilityRule(np.array([1, 3]), 1),
        [(1, 1, 1, 1), (1, -1, 1, 1), (1, 1, 1, 1), (-1, 1, -1, 1)],
        [False, False, False, True],
    ),
    "the argmax moved, scores only": (
        StabilityRule(np.arange(2), 1),
        [([0.1, 0.2, 0.3], [1, 0, 0]), ([0.1, 0.4, 0.3], [1, 0, 0]), ([-5, 0.4, 0.3], [9, 8, 7])],
        [False, False, True],
    ),
    "relative change of a regression": (
        StabilityRule(np.arange(2), 1, change=relative_change),
        [(3, 4), (3, 4.2), (3, 4.21)],
        [False, False, True],
    ),
    "errors fall": (ValidationRule(Errors([7, 5, 4, 4]), 1), [(0,)] * 4, [False] * 3 + [True]),
    "errors rise": (ValidationRule(Errors([3, 5]), 1), [(0,)] * 2, [False, True]),
    # Both memories follow every check (errata L23): stores, changed, stable, changed, stable, and
    # errors that do not fall, fall, rise, do not fall.
    "both at the same check": (
        MixedRule(StabilityRule(np.arange(2), 4), ValidationRule(Errors([9, 9, 5, 6, 6]), 4)),
        [(1, 1), (1, -1), (1, -1), (1, 1), (1, 1)],
        [False, False, False, False, True],
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_stopping_rules_follow_the_algorithms(name):
    rule, scores, stops = RULES[name]
    assert [bool(rule.check(showing(*row))) for row in scores] == stops


def test_a_constant_of_the_targets_has_no_effect_on_the_accuracy():
    case = make_case(fit_intercept=True, loss=Squared(), n=24, n_labels=12)
    objective, settings = replace(case.objective(), graph_term=None), ManifoldSettings(tol=1e-4)
    shift = np.array([1e6, 0.0])
    far = replace(objective, targets=objective.targets + shift)
    found, plain, exact = pcg(far, settings), pcg(objective, settings), newton(objective).state
    np.testing.assert_allclose(found.state.values - shift, exact.values, rtol=0, atol=1e-2)
    np.testing.assert_array_equal(found.state.values[:, 1], plain.state.values[:, 1])
    constant = replace(objective, targets=np.full((12, 2), 0.7))
    found = pcg(constant, settings)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.state.values, 0.7, atol=1e-3)


def test_a_regression_of_zeros_has_not_changed():
    assert relative_change(np.zeros((2, 1)), np.ones((2, 1))) == 0.0  # not 0/0


@dataclass
class After:
    """Stops at its k-th look."""

    every: int
    looks: int
    seen: list[State] = field(default_factory=list)

    def check(self, state: State) -> bool:
        self.seen.append(state)
        return len(self.seen) >= self.looks


def test_pcg_shows_a_rule_all_columns_every_theta_iterations():
    case, rule = make_case(fit_intercept=True, c=3), After(every=3, looks=4)
    stopped = pcg(case.objective(), ManifoldSettings(tol=1e-12, rule=rule))
    assert (stopped.status, stopped.n_iter) == (Status.EARLY, 12)
    limited = pcg(case.objective(), ManifoldSettings(tol=1e-12, max_iter=12))
    np.testing.assert_array_equal(stopped.state.coef, limited.state.coef)
    always = After(every=1, looks=1000)
    lengths = np.isfinite(pcg(case.objective(), ManifoldSettings(rule=always)).history["mixed"])
    assert lengths[-1].sum() < 3  # some have converged
    for state in (*rule.seen, *always.seen):
        f = case.design @ state.coef + state.intercept
        np.testing.assert_allclose(state.values, f, atol=1e-8)


# --- precision and namespaces ---------------------------------------------------------------------


def cast(case, dtype):
    parts = {name: getattr(case, name).astype(dtype) for name in ("K", "L", "y", "weights")}
    return replace(case, **parts).objective()


@pytest.mark.parametrize("loss", DIFFERENTIABLE_LOSSES, **BY_NAME)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_pcg_in_float32(loss, fit_intercept):
    case = make_case(loss=loss, fit_intercept=fit_intercept, n=80, n_labels=30, c=3)
    single = pcg(cast(case, np.float32))
    exact = newton(case.objective())
    assert all(part.dtype == np.float32 for part in single.state)
    assert single.status in (Status.CONVERGED, Status.PRECISION)
    # Values have followed by recurrence, and drifted; the ones kept are those of the coefficients.
    again = case.K.astype(np.float32) @ single.state.coef + single.state.intercept
    np.testing.assert_allclose(single.state.values, again, atol=1e-6)
    scale = np.abs(exact.state.values).max()
    np.testing.assert_allclose(single.state.values, exact.state.values, atol=1e-3 * scale)


@pytest.mark.parametrize(
    ("dtype", "tol", "precision"),
    [(np.float64, 0.0, 1e-9), (np.float64, 1e-30, 1e-9), (np.float32, 1e-12, 1e-3)],
)
def test_tolerances_below_the_precision_end_the_run(dtype, tol, precision):
    case = make_case(fit_intercept=True, n=40, n_labels=20, gamma_A=1e-3)
    found = pcg(cast(case, dtype), ManifoldSettings(tol=tol, max_iter=5000))
    assert found.status == Status.PRECISION
    assert found.n_iter < 5000
    exact = newton(case.objective()).state.values
    np.testing.assert_allclose(found.state.values, exact, atol=precision * np.abs(exact).max())


@pytest.mark.parametrize("solve", [newton, dual])
def test_direct_solvers_of_float32_kernels(solve):
    case = make_case(fit_intercept=True, n=30, n_labels=12, c=3)
    single, exact = solve(cast(case, np.float32)), solve(case.objective())
    assert single.status == Status.CONVERGED
    assert single.state.coef.dtype == np.float64
    np.testing.assert_allclose(single.state.values, exact.state.values, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-6, 0.05, 20.0, 1e6])
def test_conjugate_gradient_with_a_bias_for_features_of_any_scale(scale):
    """The metric compares the bias with functions of the same size."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random((30, 1)) < 0.3, 1.0, -1.0)
    X = rng.standard_normal((30, 4)) + 0.8 * y
    labeled = np.arange(30), y, np.ones(30)
    space, gamma_A = LinearSpace(scale * X), 0.1 * scale**2
    problem = Objective(space, SquaredHinge(), *labeled, gamma_A, fit_intercept=True)
    found = pcg(problem, ManifoldSettings(max_iter=100))
    assert found.status == Status.CONVERGED
    np.testing.assert_allclose(found.state.values, newton(problem).state.values, atol=1e-5)
