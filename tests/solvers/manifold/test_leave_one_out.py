"""Leave-one-out, exact and by one Newton step, against fits without the observation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lapwing.losses import EpsilonInsensitive, Hinge, Kind, Loss, Squared, SquaredHinge
from lapwing.objectives.manifold import Objective
from lapwing.solvers.manifold import leave_one_out
from lapwing.solvers.manifold.deformed import DeformedKernel
from lapwing.solvers.manifold.dual import dual, solve_reduced
from lapwing.solvers.manifold.leave_one_out import (
    left_out_values,
    one_step_values,
    ridge_left_out_solutions,
)
from lapwing.solvers.manifold.settings import ManifoldSettings
from lapwing.solvers.ridge import Observations, ridge_path
from lapwing.spaces.full import FullKernelSpace
from tests.helpers.outside import Logistic, RoundedHinge
from tests.helpers.problems import GRAPHS, make_case

SMOOTH = (SquaredHinge(), RoundedHinge(0.5), Logistic())
LOSSES = (Squared(), Hinge(), EpsilonInsensitive(0.3), *SMOOTH)
FOR_BOTH = pytest.mark.parametrize("fit_intercept", [False, True], ids=["no bias", "bias"])


class TwoParabolas(Loss):
    """The squared hinge, steeper on the wrong side of 0."""

    kind = Kind.PIECEWISE_QUADRATIC

    def value(self, y, f):
        return np.maximum(1 - y * f, 0) ** 2 / 2 + 2 * np.maximum(-y * f, 0) ** 2

    def derivative(self, y, f):
        return -y * (np.maximum(1 - y * f, 0) + 4 * np.maximum(-y * f, 0))

    def curvature(self, y, f):
        return (y * f < 1) + 4.0 * (y * f < 0)

    def breaks(self, y):
        return y, np.zeros_like(y)


def solved(objective):
    """The reduced problem and its solution."""
    reduced = DeformedKernel.of(objective).at(objective.index).reduce(objective)
    state = solve_reduced(reduced, ManifoldSettings(max_iter=100, tol=1e-10)).state
    return reduced, state


def left_out(objective, wanted=None):
    reduced, state = solved(objective)
    wanted = np.ones(len(objective.index), dtype=bool) if wanted is None else wanted
    return left_out_values(reduced, state, wanted, ManifoldSettings(tol=1e-10))


def by_refits(objective):
    rows = []
    for i in range(len(objective.index)):
        kept = np.arange(len(objective.index)) != i
        parts = {name: getattr(objective, name)[kept] for name in ("index", "targets", "weights")}
        rest = replace(objective, **parts)
        rows.append(dual(rest, ManifoldSettings(tol=1e-10)).state.values[objective.index[i]])
    return np.array(rows)


@pytest.mark.parametrize(
    ("loss", "graph"),
    # The loss sees no more of the graph than the deformed kernel.
    [
        *((loss, "normalized^2") for loss in LOSSES),
        *((SquaredHinge(), graph) for graph in GRAPHS if graph != "normalized^2"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
@FOR_BOTH
def test_values_are_those_of_fits_without_the_observation(loss, graph, fit_intercept):
    sizes = {"n": 20, "n_labels": 9, "c": 2}
    objective = make_case(graph=graph, loss=loss, fit_intercept=fit_intercept, **sizes).objective()
    found, expected = left_out(objective), by_refits(objective)
    exact = loss.kind.differentiable
    np.testing.assert_allclose(found, expected, atol=1e-7 if exact else 2e-4)
    full = dual(objective).state.values[objective.index]
    assert np.abs(found - full).max() > 1e-3  # each label matters to its own score


@pytest.mark.parametrize("limit", ["_MAX_ROUNDS", "_MAX_CHANGES"])
def test_unsettled_observations_are_fitted_again(monkeypatch, limit):
    """The first round leaves some labels on other pieces: both limits are reached."""
    again = []
    solve = leave_one_out._refit
    monkeypatch.setattr(
        leave_one_out, "_refit", lambda *args, **kwargs: again.append(1) or solve(*args, **kwargs)
    )
    objective = make_case(loss=SquaredHinge(), c=3).objective()
    followed = left_out(objective)
    assert not again
    monkeypatch.setattr(leave_one_out, limit, 1)
    np.testing.assert_allclose(left_out(objective), followed, atol=1e-10)
    assert 0 < len(again) < len(objective.index)


@FOR_BOTH
def test_a_loss_of_several_parabolas(fit_intercept):
    """Scores that go from one parabola to another one are found by a fit."""
    case = make_case(loss=TwoParabolas(), c=2, fit_intercept=fit_intercept)
    objective = case.objective()
    np.testing.assert_allclose(left_out(objective), by_refits(objective), atol=1e-8)


def test_observations_that_are_not_wanted_are_nan_and_cost_nothing(monkeypatch):
    monkeypatch.setattr(leave_one_out, "follow_pieces", lambda _, *parts: parts)
    case = make_case(c=2)
    wanted = np.zeros(len(case.y), dtype=bool)
    wanted[3] = True
    found = left_out(case.objective(), wanted)
    assert np.isfinite(found[3]).all()
    assert np.isnan(found[~wanted]).all()


def test_repeated_points_keep_their_other_observations():
    """Two labels of one point: without the first the second is still there."""
    case = make_case(loss=Squared())
    objective = case.objective()
    twice = replace(
        objective,
        index=np.append(objective.index, objective.index[0]),
        targets=np.vstack([objective.targets, -objective.targets[:1]]),
        weights=np.append(objective.weights, 0.7),
    )
    np.testing.assert_allclose(left_out(twice), by_refits(twice), atol=1e-8)


@pytest.mark.parametrize("scale", [1e3, 1e9])
@pytest.mark.parametrize(
    ("loss", "n_features"),
    [(Squared(), 2), (Squared(), 8), (Squared(), 30), (SquaredHinge(), 2)],
    ids=lambda value: getattr(value, "name", value),
)
@FOR_BOTH
def test_large_kernels_of_low_rank(loss, n_features, scale, fit_intercept):
    """The limit of large kernels is least squares, where an inverse of T + 1/W has no digits."""
    rng = np.random.default_rng(0)
    X, w, l = rng.normal(size=(9, n_features)), rng.uniform(0.5, 2, 9), 9
    y = np.where(X[:, :1] + rng.normal(size=(9, 1)) > 0, 1.0, -1.0)
    if loss == SquaredHinge():  # all labels stay within the margin
        X, w, y, l = np.vstack([X, X]), np.tile(w, 2), np.vstack([y, -y]), 18
    T = scale**2 * (X @ X.T) * 1e3
    space = FullKernelSpace(T)
    reduced = Objective(space, loss, np.arange(l), y, w, 1.0, fit_intercept=fit_intercept)
    state = solve_reduced(reduced, ManifoldSettings()).state
    expected = np.empty((l, 1))
    for i in range(l):
        rest, root = np.arange(l) != i, np.sqrt(np.delete(w, i))[:, None]
        mean, shift = (
            np.average(part[rest], axis=0, weights=w[rest]) if fit_intercept else 0.0
            for part in (X, y)
        )
        part = np.linalg.lstsq(root * (X[rest] - mean), root * (y[rest] - shift), rcond=1e-12)[0]
        expected[i] = shift + (X[i] - mean) @ part
    everything = np.ones(l, dtype=bool)
    atol = 1e-6 * max(1, np.abs(expected).max())
    np.testing.assert_allclose(left_out_values(reduced, state, everything), expected, atol=atol)
    if loss == SquaredHinge():
        return
    np.testing.assert_allclose(one_step_values(reduced, state.values), expected, atol=atol)
    observations = Observations(np.arange(l), y, w, everything)
    path = ridge_path(T, np.ones(1), observations, bias=fit_intercept, constant=fit_intercept)
    np.testing.assert_allclose(path.left_out[0], expected, atol=atol)
    solutions = ridge_left_out_solutions(reduced)
    assert solutions is not None
    own = np.diag(T @ solutions[0] + solutions[1])
    np.testing.assert_allclose(own, expected[:, 0], atol=atol)


# --- by one Newton step ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "graph"),
    [
        *((Squared(), graph) for graph in GRAPHS),
        *((loss, "normalized") for loss in SMOOTH),
    ],
    ids=lambda value: getattr(value, "name", value),
)
@FOR_BOTH
def test_one_step_is_exact_for_the_squared_loss_and_close_for_others(loss, graph, fit_intercept):
    objective = make_case(loss=loss, graph=graph, fit_intercept=fit_intercept, c=2).objective()
    reduced, state = solved(objective)
    scores = reduced.labeled(state.values)
    found, exact = one_step_values(reduced, scores), left_out(objective)
    changed = np.abs(exact - scores)
    assert changed.max() > 1e-3
    assert np.median(np.abs(found - exact)) < 0.1 * np.median(changed[changed > 1e-6])
    if loss == Squared():
        np.testing.assert_allclose(found, exact, atol=1e-8 * np.abs(exact).max())
    beyond = exact == scores  # the margin
    np.testing.assert_array_equal(found[beyond], scores[beyond])


def test_a_matrix_without_an_inverse_gives_no_values():
    objective = make_case(loss=Squared(), c=2).objective()
    reduced, _ = solved(objective)
    scores = np.zeros(objective.targets.shape)
    indefinite = replace(reduced, space=FullKernelSpace(-1e3 * np.eye(reduced.space.n_points)))
    assert np.isnan(one_step_values(indefinite, scores)).all()
    one, label = np.ones((1, 1)), np.zeros(1, dtype=int)
    single = Objective(FullKernelSpace(one), Squared(), label, one, one[0], 1.0, fit_intercept=True)
    assert np.isnan(one_step_values(single, 0 * one)).all()
