"""Annealing and continuation: the problem of every stage, and convexity of the first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lapwing.losses.labeled import SquaredHinge
from lapwing.losses.smoothed import ModifiedLogistic, SmoothedHinge, SmoothedSquaredHinge
from lapwing.losses.unlabeled import GaussianBump, SmoothedSymmetricHinge
from lapwing.objectives.low_density import Function
from lapwing.solvers.base import Settings
from lapwing.solvers.low_density import schedules
from lapwing.solvers.low_density.lbfgs import descend
from tests.helpers.low_density import make_tiny, translated

STAGES = Settings(schedules.STAGE_TOL, 1000)


SEEDS = range(12)


def hessian(objective, tiny, w):
    """I + sum of curvatures x x', in translated points."""
    Z, f = translated(tiny), objective.values(Function(w, tiny.bias[0]))
    D = np.zeros(len(Z))
    L, U = objective.index, objective.unlabeled
    D[L] = 2 * objective.weights * objective.loss.curvature(objective.targets, f[L])
    D[U] = objective.unlabeled_weights * objective.unlabeled_loss.curvature(f[U])
    return np.eye(Z.shape[1]) + Z.T @ (D[:, None] * Z)


def least_eigenvalue(tiny, gamma, count=400):
    """Of the Hessian at w from everywhere, 0 included."""
    objective = tiny.objective().smoothed(gamma)
    rng = np.random.default_rng(0)
    d = tiny.X.shape[1]
    W = rng.standard_normal((count, d)) * 10 ** rng.uniform(-2, 1, (count, 1))
    W = np.vstack([np.zeros(d), W])
    return min(np.linalg.eigvalsh(hessian(objective, tiny, w))[0] for w in W)


# --- continuation ---------------------------------------------------------------------------------


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("squared", [False, True])
def test_the_first_smoothing_makes_the_objective_convex(symmetric, squared):
    for seed in SEEDS:
        tiny = make_tiny(seed, symmetric=symmetric)
        tiny = replace(tiny, loss=SquaredHinge()) if squared else tiny
        gamma = schedules.first_smoothing(tiny.objective())
        assert least_eigenvalue(tiny, gamma, 100) >= -1e-9


def test_the_first_smoothing_is_the_papers_formula():
    """(C* lambda_max(M))^(2/3) / (2s)^(1/3), M = sum_U x x' / |x|^3."""
    for seed in SEEDS:
        tiny = make_tiny(seed)
        Z = translated(tiny)[tiny.l :]
        M = Z.T @ (Z / np.linalg.norm(Z, axis=1)[:, None] ** 3)
        largest = np.linalg.eigvalsh(tiny.C_star[0] * M)[-1]
        printed = largest ** (2 / 3) / 6 ** (1 / 3)
        found = schedules.first_smoothing(tiny.objective())
        assert printed * (1 - 1e-9) <= found <= printed * 1.02


def test_the_steps_are_geometric():
    """Eleven with both ends, 1 / (20 s max |x|^2) the last (errata C6)."""
    for seed in SEEDS:
        s = 3.0 + seed % 2
        tiny = replace(make_tiny(seed), unlabeled_loss=GaussianBump(s))
        objective = tiny.objective()
        stages = schedules.continuation(objective)
        gammas = np.array([stage.parameter for stage in stages])
        assert len(gammas) == 11
        np.testing.assert_allclose(np.diff(np.log(gammas)), np.log(gammas[1] / gammas[0]))
        assert gammas[0] == pytest.approx(schedules.first_smoothing(objective))
        largest = (translated(tiny)[tiny.l :] ** 2).sum(axis=1).max()
        assert gammas[-1] == pytest.approx(1 / (20 * s * largest))
        assert gammas[0] > gammas[-1]


@pytest.mark.parametrize("factor", [1e-6, 0.0])
def test_an_objective_that_is_convex_already_has_one_stage(factor):
    """C* small: gamma_0 < gamma_end, the printed sequence would rise (errata C6)."""
    tiny = make_tiny(0)
    tiny = replace(tiny, C_star=factor * tiny.C_star)
    objective = tiny.objective()
    first, last = schedules.first_smoothing(objective), schedules.last_smoothing(objective)
    assert 0 <= first < last
    assert (first == 0) == (factor == 0)
    (stage,) = schedules.continuation(objective)
    assert stage.parameter == last
    assert least_eigenvalue(tiny, last) > 0


def test_points_at_the_origin_are_left_out():
    """Errata C5: a constant, where x / |x|^3 is NaN."""
    tiny = make_tiny(1)
    X = tiny.X.copy()
    X[-1] = X[tiny.l : -1].mean(axis=0)
    with_origin = replace(tiny, X=X)
    without = replace(tiny, X=X[:-1], C_star=tiny.C_star[:-1])
    one, two = with_origin.objective(), without.objective()
    assert one.features.squared_norms[-1] == 0
    assert schedules.first_smoothing(one) == pytest.approx(schedules.first_smoothing(two))


def test_smoothing_is_a_gaussian_in_w():
    """E J(w + sqrt(gamma) Z), by sampling, less the norm's constant gamma r / 2 (errata C1, C8)."""
    tiny = make_tiny(3)
    objective, gamma = tiny.objective(), 0.35
    d = objective.features.n_coef
    w, b = np.full(d, 0.4), tiny.bias[0]
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((20_000, d))
    Z = np.vstack([Z, -Z]) * np.sqrt(gamma)
    values = np.array([objective.value(Function(w + z, b)) for z in Z[::10]])
    smoothed = objective.smoothed(gamma).value(Function(w, b))
    error = values.std() / np.sqrt(len(values))
    assert abs(values.mean() - gamma * d / 2 - smoothed) < 4 * error
    assert error < 0.02 * smoothed


@pytest.mark.parametrize("d", [1, 2, 3, 7, 120])
def test_the_largest_eigenvalue_is_bounded(d):
    """ARPACK wants three dimensions; below them it is dense, and in many it is an estimate."""
    rng = np.random.default_rng(d)
    tiny = make_tiny(0)
    tiny = replace(tiny, X=rng.standard_normal((300, d)), C_star=np.ones(300 - tiny.l))
    objective = tiny.objective()
    scales, Z = rng.uniform(0, 1, 300), translated(tiny)
    exact = np.linalg.eigvalsh(Z.T @ (scales[:, None] * Z))[-1]
    found = schedules._largest_eigenvalue(objective, scales)
    assert exact * (1 - 1e-12) <= found <= 1.03 * exact
    single = np.eye(300)[7]  # of rank one: the trace is the eigenvalue
    assert schedules._largest_eigenvalue(objective, single) == pytest.approx(Z[7] @ Z[7])


# --- annealing ------------------------------------------------------------------------------------


def test_quasi_newton_anneals_as_the_paper_says():
    objective = make_tiny(0).objective()
    stages = schedules.quasi_newton(objective)
    assert [stage.parameter for stage in stages] == [0.01, 0.1, 1.0]
    for stage in stages:
        assert isinstance(stage.objective.loss, ModifiedLogistic)
        assert isinstance(stage.objective.unlabeled_loss, GaussianBump)
        np.testing.assert_allclose(
            stage.objective.unlabeled_weights, stage.parameter * objective.unlabeled_weights
        )


def test_gradient_doubles_the_weight_ten_times():
    objective = make_tiny(0).objective()
    stages = schedules.gradient(objective)
    factors = [stage.parameter for stage in stages]
    assert factors[-1] == 1.0
    assert len(factors) == 11
    np.testing.assert_allclose(np.diff(np.log2(factors)), 1)
    end = schedules.continuation(objective)[-1].objective
    at = Function(np.full(objective.features.n_coef, 0.3), objective.bias[0])
    assert stages[-1].objective.value(at) == pytest.approx(end.value(at), rel=1e-13)
    np.testing.assert_allclose(
        stages[0].objective.unlabeled_weights, objective.unlabeled_weights / 1024
    )


@pytest.mark.parametrize("make", [schedules.continuation, schedules.gradient])
@pytest.mark.parametrize(
    ("loss", "smoothed"), [(None, SmoothedHinge), (SquaredHinge(), SmoothedSquaredHinge)]
)
def test_stages_change_only_losses_and_weights(make, loss, smoothed):
    tiny = make_tiny(0, symmetric=True)
    tiny = tiny if loss is None else replace(tiny, loss=loss)
    objective = tiny.objective()
    for stage in make(objective):
        assert isinstance(stage.objective.loss, smoothed)
        assert isinstance(stage.objective.unlabeled_loss, SmoothedSymmetricHinge)
        assert stage.objective.features is objective.features
        assert stage.objective.bias == objective.bias
        np.testing.assert_array_equal(stage.objective.weights, objective.weights)


# --- running --------------------------------------------------------------------------------------


def test_stages_start_where_the_one_before_ended():
    objective = make_tiny(0).objective()
    stages = schedules.gradient(objective)
    found = schedules.run_stages(stages, objective.zero(), STAGES)
    one, n_iter = objective.zero(), 0
    for stage in stages:
        scale = schedules.reference(stages[0].objective)
        minimum = descend(stage.objective, one, STAGES, scale=scale)
        one, n_iter = minimum.state, n_iter + minimum.n_iter
    np.testing.assert_array_equal(found.state.coef, one.coef)
    assert found.n_iter == n_iter
    assert found.objective == stages[-1].objective.value(one)
