"""Leave-one-out by one Newton step: exact where the losses are quadratic, else close."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing.losses import Squared, SquaredHinge
from lapwing.solvers.manifold import leave_one_out
from lapwing.solvers.manifold.deformed import DeformedKernel
from lapwing.solvers.manifold.dual import solve_reduced
from lapwing.solvers.manifold.leave_one_out import left_out_values, one_step_values
from lapwing.solvers.manifold.settings import ManifoldSettings
from tests.helpers.outside import Logistic, RoundedHinge
from tests.helpers.problems import GRAPHS, make_case


def both(loss, graph="normalized", fit_intercept=False):
    """One step, exactly, and the scores with all labels."""
    case = make_case(graph=graph, loss=loss, fit_intercept=fit_intercept, c=2)
    objective = case.objective()
    columns = DeformedKernel.of(objective).at(objective.index)
    reduced = columns.reduce(objective)
    state = solve_reduced(reduced, ManifoldSettings(max_iter=100, tol=1e-10)).state
    every = np.ones(len(objective.index), dtype=bool)
    scores = reduced.labeled(state.values)
    return (
        one_step_values(reduced, columns.block(), scores),
        left_out_values(reduced, state, every),
        scores,
    )


@pytest.mark.parametrize("fit_intercept", [False, True], ids=["no bias", "bias"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_squared_loss_is_exact(graph, fit_intercept):
    found, exact, scores = both(Squared(), graph, fit_intercept)
    np.testing.assert_allclose(found, exact, atol=1e-8 * np.abs(exact).max())
    assert np.abs(found - scores).max() > 1e-3


@pytest.mark.parametrize("fit_intercept", [False, True], ids=["no bias", "bias"])
@pytest.mark.parametrize("loss", [SquaredHinge(), RoundedHinge(0.5), Logistic()], ids=str)
def test_other_losses_are_close(loss, fit_intercept):
    found, exact, scores = both(loss, fit_intercept=fit_intercept)
    changed = np.abs(exact - scores)
    assert changed.max() > 1e-3
    assert np.median(np.abs(found - exact)) < 0.1 * np.median(changed[changed > 1e-6])


def test_points_beyond_the_margin_change_nothing():
    found, exact, scores = both(SquaredHinge())
    beyond = exact == scores
    np.testing.assert_array_equal(found[beyond], scores[beyond])


def test_a_matrix_without_an_inverse_gives_no_values():
    case = make_case(loss=Squared(), c=2)
    objective = case.objective()
    columns = DeformedKernel.of(objective).at(objective.index)
    scores = np.zeros(objective.targets.shape)
    found = one_step_values(columns.reduce(objective), -1e3 * np.eye(len(columns.points)), scores)
    assert np.isnan(found).all()


def test_a_single_label_with_a_bias_has_no_left_out_value():
    found = leave_one_out._inverse_diagonal(np.ones((1, 1)), np.ones(1), bias=True)
    assert np.isnan(found).all()
