"""Supervised least squares on a kernel matrix: one linear system, no steps.

The squared loss is its own parabola, so that the first step of Newton is the solution. Where labels
are drawn again and again, what Newton asks around that step (slopes here and there, whether they
agree, how far to go) takes three times as long as the system of l labels itself.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.base import (
    Iteration,
    OnIteration,
    Result,
    Status,
    carry_on,
    optimality,
    verdict,
)


def closed_form(objective: Objective, *, on_iteration: OnIteration = carry_on) -> Result:
    """Minimise an objective with the squared loss, all columns in one system.

    Parameters
    ----------
    objective : Objective
        With the squared loss.
    on_iteration : callable, optional
        Told of the one step.

    Returns
    -------
    Result
    """
    weights = objective.weights.astype(np.float64)
    on_points = np.bincount(objective.index, weights, minlength=objective.space.n_points)
    pull = objective.scatter(weights[:, None] * objective.targets.astype(np.float64))
    solution = objective.system().factor(on_points)(pull)
    state = objective.state(solution.coef, solution.intercept)
    on_iteration(Iteration(1, partial(State, *state)))
    residual = optimality(objective, state)
    return Result(state, 1, verdict(Status.CONVERGED, residual), residual)
