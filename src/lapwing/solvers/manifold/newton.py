"""Generalised Newton on the primal: LapSVM paper, Section 3.1, with errata L10 to L15.

On a set E of active observations a piecewise quadratic objective is a quadratic model, which the
space solves directly; the exact line search keeps full steps from cycling (errata L11, L12). A full
step that leaves E as it is has reached the optimum: finite termination.
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
from lapwing.solvers.manifold.line_search import exact_line_search
from lapwing.spaces.base import Array, QuadraticSystem

__all__ = ["newton"]

# Below this (errata L3) the intrinsic norm does not see a constant: the bias is free.
FREE_CONSTANT = 1e-12

_ROUNDING = 1e-13


def newton(
    objective: Objective,
    start: State | None = None,
    *,
    max_iter: int = 100,
    on_iteration: OnIteration = carry_on,
) -> Result:
    """Minimise a piecewise quadratic objective exactly.

    Parameters
    ----------
    objective : Objective
        With the squared hinge or the squared loss (for which one step is the closed form).
    start : State, optional
        Where to start; zero by default.
    max_iter : int, default=100
        Steps a column; the paper never needed more than 6.
    on_iteration : callable, optional
        Called after every round of steps; may ask to stop.

    Returns
    -------
    Result

    Notes
    -----
    One factorisation a step and distinct error set: columns that share their error set, as all
    do in the first step from zero, share the factorisation.
    """
    system = objective.system()
    state = objective.zero() if start is None else start
    value = objective.value(state)
    open_columns = np.arange(objective.n_columns)
    n_iter, stop = 0, Status.CONVERGED
    while len(open_columns):
        if n_iter == max_iter:
            stop = Status.MAX_ITER
            break
        part = objective.columns(open_columns)
        before = state.columns(open_columns)
        after, settled = _step(part, system, before)
        new_value = part.value(after)
        # A point at y f = 1 to rounding may flip for ever (errata L15): no decrease ends it too.
        stalled = ~settled & ~(new_value < value[open_columns] * (1 - 1e-15))
        state = _replace_columns(state, open_columns, after)
        value[open_columns] = new_value
        open_columns = open_columns[~(settled | stalled)]
        n_iter += 1
        if on_iteration(Iteration(n_iter, partial(State, *state))) and len(open_columns):
            stop = Status.CALLBACK
            break
    state = objective.state(state.coef, state.intercept)
    residual = optimality(objective, state)
    return Result(state, n_iter, verdict(stop, residual), residual)


def _step(objective: Objective, system: QuadraticSystem, state: State) -> tuple[State, Array]:
    """Line-searched Newton step of every column; which columns it has brought to the optimum."""
    active = objective.active(state)
    target = _model_minimum(objective, system, state, active)
    settled = (objective.active(target) == active).all(axis=0) | _close(target, state)
    direction = State(*(new - old for new, old in zip(target, state, strict=True)))
    s = exact_line_search(objective.loss, objective.line(state, direction))
    # With E unchanged the model is the objective: the full step, free of the search's rounding. A
    # state that is its model's minimum has no direction to search, only the rounding of one.
    return state.step(np.where(settled, 1.0, s), direction), settled


def _close(a: State, b: State) -> Array:
    """Columns whose values agree to rounding."""
    size = np.abs(b.values).max(axis=0, initial=0)
    close: Array = np.abs(a.values - b.values).max(axis=0, initial=0) <= _ROUNDING * size
    return close


def _model_minimum(
    objective: Objective, system: QuadraticSystem, state: State, active: Array
) -> State:
    """Minimisers of the quadratic models on the active sets, grouped by equal sets."""
    c = objective.n_columns
    coef = np.zeros_like(state.coef, dtype=np.float64)
    values = np.zeros_like(state.values, dtype=np.float64)
    intercept = np.zeros(c)
    patterns, group = np.unique(active, axis=1, return_inverse=True)
    for number, pattern in enumerate(patterns.T):
        columns = np.flatnonzero(group.ravel() == number)
        if not pattern.any():
            # Nothing to fit: the regularisers alone, which leave a free bias as it is (errata L13).
            if objective.fit_intercept and objective.constant_energy <= FREE_CONSTANT:
                intercept[columns] = state.intercept[columns]
                values[:, columns] = intercept[columns]
            continue
        weights = objective.weights * pattern
        on_points = np.bincount(objective.index, weights, minlength=objective.space.n_points)
        u = objective.scatter(weights[:, None] * objective.targets[:, columns])
        solution = system.factor(on_points)(u.astype(np.float64))
        coef[:, columns], intercept[columns], values[:, columns] = solution
    return State(coef, intercept, values, objective.smoothness(values))


def _replace_columns(state: State, columns: Array, new: State) -> State:
    merged = []
    for old, part in zip(state, new, strict=True):
        array = old.astype(np.float64)
        array[..., columns] = part
        merged.append(array)
    return State(*merged)
