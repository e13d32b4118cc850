"""Generalised Newton on the primal: LapSVM paper, Section 3.1, with errata L10 to L15.

At a state the loss of every observation is replaced by a parabola with its slope and curvature;
the space solves the quadratic model directly, and the exact line search prevents cycles of full
steps (errata L11, L12). If the slopes of the losses after a full step equal those of the model, the
minimum of the model is that of the objective. A piecewise quadratic loss equals its model on the
pieces of the present scores, so this happens after finitely many steps; any other differentiable
loss converges quadratically.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from lapwing._arrays import Array
from lapwing.linalg import equal_columns
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.base import Status
from lapwing.solvers.manifold.line_search import exact_line_search
from lapwing.solvers.manifold.settings import (
    DEFAULTS,
    ManifoldResult,
    ManifoldSettings,
    exact_result,
)
from lapwing.spaces.base import QuadraticSystem

# Relative: nine roundings of float64. In 288 fits of 60 points values from 2e-16 to 2e-14 give the
# same optimality; with 0, iterations end without a decrease at gradients of up to 4e-4.
_ROUNDING = 2e-15
# Successive steps without a decrease after which a column stops. In the same fits scores differ by
# 1e-5 with 1, and not at all with 3 and 6.
_IDLE = 2
# Mean curvature of the losses, relative to that by `_with_chords`, below which a bias counts as
# undetermined: steps are long in proportion to its reciprocal. Values from 1e-12 to 1e-2 give the
# same optima on 60 points.
_FLAT = 1e-6


def newton(objective: Objective, settings: ManifoldSettings = DEFAULTS) -> ManifoldResult:
    """Minimise an objective exactly.

    Parameters
    ----------
    objective : Objective
        With a differentiable loss; for the squared loss the first step from zero is exact.
    settings : ManifoldSettings, optional
        `start`, `max_iter` and `on_iteration`.

    Returns
    -------
    ManifoldResult

    Notes
    -----
    A step takes one factorisation for each distinct set of curvatures: columns with equal
    curvatures, as all columns in the first step from zero, share it.
    """
    system = objective.system()
    state = objective.zero() if settings.start is None else settings.start
    value: Array | None = None  # not computed if the first step ends at the minimum
    open_columns = np.arange(objective.n_columns)
    idle = np.zeros(objective.n_columns, dtype=int)
    n_iter, stop = 0, Status.CONVERGED
    while len(open_columns):
        if n_iter == settings.max_iter:
            stop = Status.MAX_ITER
            break
        part = objective.columns(open_columns)
        before = state.columns(open_columns)
        after, settled = _step(part, system, before)
        if not settled.all():
            value = objective.value(state) if value is None else value
            new_value = part.value(after)
            # A score that is at a break up to rounding may flip for ever (errata L15), so steps
            # without a decrease end the iteration too. One such step is not enough: values lose
            # their digits before slopes do.
            lower = new_value < value[open_columns] * (1 - _ROUNDING)
            idle[open_columns] = np.where(lower, 0, idle[open_columns] + 1)
            value[open_columns] = new_value
        state = state.with_columns(open_columns, after)
        open_columns = open_columns[~(settled | (idle[open_columns] == _IDLE))]
        n_iter += 1
        if settings.on_iteration(partial(State, *state)) and len(open_columns):
            stop = Status.CALLBACK
            break
    state = objective.state(state.coef, state.intercept)
    residual = objective.optimality(state)
    return exact_result(objective, state, residual, n_iter, stop)


class _Parabolas(NamedTuple):
    """Second-order expansion of the losses at a state, each (l, c)."""

    scores: Array
    slopes: Array
    curvatures: Array

    @classmethod
    def at(cls, objective: Objective, state: State) -> _Parabolas:
        scores = objective.labeled(state.values)
        loss, y = objective.loss, objective.targets
        parts = (scores, loss.derivative(y, scores), loss.curvature(y, scores))
        return cls(*(part.astype(np.float64) for part in parts))

    def is_exact_at(self, objective: Objective, state: State) -> Array:
        """Return the mask of columns whose expansion has the exact slopes at another state."""
        other = _Parabolas.at(objective, state)
        predicted = self.slopes + self.curvatures * (other.scores - self.scores)
        size = np.abs(self.slopes) + self.curvatures * (np.abs(other.scores) + np.abs(self.scores))
        size += np.abs(other.slopes).max(axis=0)
        return np.asarray((np.abs(other.slopes - predicted) <= _ROUNDING * size).all(axis=0))

    def pull(self, y: Array) -> Array:
        """Compute the right-hand side of the model, without rounding for (f - y)^2 / 2."""
        return self.curvatures * y + (self.curvatures * (self.scores - y) - self.slopes)


def _step(objective: Objective, system: QuadraticSystem, state: State) -> tuple[State, Array]:
    """Take a Newton step with line search in every column; return the mask of optimal columns."""
    model = _Parabolas.at(objective, state)
    if objective.free_bias:
        model = _with_chords(objective, model)
    target = _model_minimum(objective, system, state, model)
    settled = model.is_exact_at(objective, target) | _close(target, state)
    direction = State(*(new - old for new, old in zip(target, state, strict=True)))
    # If the model is exact, take the full step, without rounding errors of the search. At the
    # minimum of the model the direction is only rounding error, and must not be searched.
    if settled.all():
        return state.step(np.ones(len(settled)), direction), settled
    s = exact_line_search(objective.loss, objective.line(state, direction))
    return state.step(np.where(settled, 1.0, s), direction), settled


def _close(a: State, b: State) -> Array:
    """Return the mask of columns whose values agree to rounding."""
    size = np.abs(b.values).max(axis=0, initial=0)
    close: Array = np.abs(a.values - b.values).max(axis=0, initial=0) <= _ROUNDING * size
    return close


def _model_minimum(
    objective: Objective, system: QuadraticSystem, state: State, model: _Parabolas
) -> State:
    """Minimise the quadratic models, grouped by equal curvatures."""
    c = objective.n_columns
    coef = np.zeros_like(state.coef, dtype=np.float64)
    values = np.zeros_like(state.values, dtype=np.float64)
    intercept = np.zeros(c)
    pull = objective.weights[:, None] * model.pull(objective.targets)
    for pattern, columns in equal_columns(model.curvatures):
        if not pattern.any() and objective.free_bias:
            # Only the regularisers are left, which do not determine a free bias (errata L13).
            intercept[columns] = state.intercept[columns]
            values[:, columns] = intercept[columns]
            continue
        weights = objective.weights * pattern
        on_points = np.bincount(objective.index, weights, minlength=objective.space.n_points)
        u = objective.scatter(pull[:, columns])
        solution = system.factor(on_points)(u.astype(np.float64))
        coef[:, columns], intercept[columns], values[:, columns] = solution
    return State(coef, intercept, values, objective.smoothness(values))


def _with_chords(objective: Objective, model: _Parabolas) -> _Parabolas:
    """Add curvatures that determine a bias without regularisation.

    If all losses are linear at their scores, or nearly, the model is unbounded in such a bias. The
    losses are then replaced by parabolas with the same slopes, so that the step still descends, and
    with minima at the distance mean |f - y| from the scores.
    """
    w = objective.weights
    away = w @ np.abs(model.scores - objective.targets) / w.sum()
    chords = np.abs(model.slopes) / np.where(away > 0, away, 1.0)
    flat = w @ model.curvatures <= _FLAT * (w @ chords)
    return model._replace(curvatures=np.where(flat, chords, model.curvatures))
