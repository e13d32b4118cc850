"""Leave-one-out against fits without the observation, on all points and with the graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lapwing.losses import EpsilonInsensitive, Hinge, Squared, SquaredHinge
from lapwing.solvers import dual
from lapwing.solvers.manifold import leave_one_out
from lapwing.solvers.manifold.deformed import DeformedKernel
from lapwing.solvers.manifold.leave_one_out import left_out_values
from lapwing.solvers.manifold.reduced import solve_reduced
from tests.helpers.outside import HuberHinge, Logistic
from tests.helpers.problems import GRAPHS, make_case

LOSSES = [
    Squared(),
    SquaredHinge(),
    Hinge(),
    EpsilonInsensitive(0.3),
    HuberHinge(0.5),
    Logistic(),
]


def left_out(objective, wanted=None):
    columns = DeformedKernel.of(objective).at(objective.index)
    reduced = columns.reduce(objective)
    solution = solve_reduced(reduced, max_iter=100, tol=1e-10)
    wanted = np.ones(len(objective.index), dtype=bool) if wanted is None else wanted
    return left_out_values(reduced, solution.state, wanted, tol=1e-10)


def by_refits(objective):
    rows = []
    for i in range(len(objective.index)):
        kept = np.arange(len(objective.index)) != i
        rest = replace(
            objective,
            index=objective.index[kept],
            targets=objective.targets[kept],
            weights=objective.weights[kept],
        )
        rows.append(dual(rest, tol=1e-10).state.values[objective.index[i]])
    return np.array(rows)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["no bias", "bias"])
def test_values_are_those_of_fits_without_the_observation(loss, graph, fit_intercept):
    case = make_case(graph=graph, loss=loss, fit_intercept=fit_intercept, c=2)
    objective = case.objective()
    found, expected = left_out(objective), by_refits(objective)
    exact = loss.kind.differentiable
    np.testing.assert_allclose(found, expected, atol=1e-7 if exact else 2e-4)
    full = dual(objective).state.values[objective.index]
    assert np.abs(found - full).max() > 1e-3  # each label matters to its own score


@pytest.mark.parametrize("loss", [Squared(), SquaredHinge()], ids=lambda loss: loss.name)
def test_the_closed_form_spares_nearly_all_fits(monkeypatch, loss):
    again = []
    solve = leave_one_out._again
    monkeypatch.setattr(
        leave_one_out, "_again", lambda *args, **kwargs: again.append(1) or solve(*args, **kwargs)
    )
    case = make_case(loss=loss, c=3)
    left_out(case.objective())
    assert len(again) == 0 if loss.name == "squared" else len(again) < len(case.y)


def test_observations_that_are_not_wanted_are_nan_and_cost_nothing(monkeypatch):
    monkeypatch.setattr(leave_one_out, "_on_the_same_pieces", lambda _, *parts: parts)
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
