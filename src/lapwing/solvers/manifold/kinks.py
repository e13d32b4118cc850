r"""Any convex loss on a reduced problem, kinks and all: the method of multipliers over Newton.

With the multipliers of `lapwing.losses.augmented` a loss with kinks is a differentiable one, which
Newton minimises; then the multipliers are updated. They are the dual variables of the problem: with
beta = -lambda / 2 for the slopes lambda of sum w 2l, f = T beta + b is a function whose distance
from the optimum is known, as its duality gap

.. math:: \sum_i \big[ w_i\, \ell(y_i, f_i) - w_i\, \ell(y_i, z_i)
          - \tfrac12 \lambda_i (f_i - z_i) \big]

is a sum of terms >= 0, of which none cancels: lambda_i is a slope of w 2l at z_i by the
construction of z_i. On losses of linear pieces the method ends after finitely many rounds
(Rockafellar 1976).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lapwing._arrays import Array
from lapwing.losses.augmented import AugmentedLoss
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.base import Iteration, OnIteration, Result, Status, carry_on, verdict
from lapwing.solvers.manifold.coordinates import Coordinates
from lapwing.solvers.manifold.newton import newton

_ROUNDS = 60
_STEPS = 100  # of Newton, a round
_SLOW = 0.25  # a round that leaves more than this of the gap makes the next one stiffer
_STIFFER = 5.0
_STIFFEST = 1e8  # times the first penalty
_EXHAUSTED = 5  # rounds without a lower gap: there are no more digits


class _Certified(NamedTuple):
    """A function and how far it is from the optimum, relative to the objective."""

    state: State
    gap: float


def multipliers(
    objective: Objective, *, tol: float, on_iteration: OnIteration = carry_on
) -> Result:
    """Minimise an objective with any convex loss, one column after the other.

    Parameters
    ----------
    objective : Objective
        A supervised problem on a full-kernel space with gamma_A = 1, such as the dual's.
    tol : float
        Duality gap to stop at, relative to the objective.
    on_iteration : callable, optional
        Called after every column; may ask to stop.

    Returns
    -------
    Result
        With the relative duality gaps for its optimality.
    """
    c = objective.n_columns
    state, gap = objective.zero(), np.full(c, np.inf)
    coef, intercept = np.array(state.coef, dtype=np.float64), np.zeros(c)
    status, done = Status.CONVERGED, 0
    for j in range(c):
        found, rounds_left = _column(objective.columns(np.array([j])), tol)
        coef[:, j], intercept[j] = found.state.coef[:, 0], found.state.intercept[0]
        gap[j] = found.gap
        if found.gap > tol and not rounds_left:
            status = Status.MAX_ITER
        done += 1
        if on_iteration(Iteration(done, lambda: objective.state(coef, intercept))):
            status = Status.CALLBACK
            break
    return Result(objective.state(coef, intercept), done, verdict(status, gap), gap)


def _column(objective: Objective, tol: float) -> tuple[_Certified, bool]:
    """The best function found, and whether it was not for want of rounds."""
    shape = objective.targets.shape
    weights = np.broadcast_to(objective.weights[:, None], shape)
    first = _penalty(objective)
    loss = AugmentedLoss(objective.loss, weights, np.zeros(shape), first)
    inner = Coordinates.of(objective).objective
    state = inner.zero()
    best = _Certified(objective.zero(), np.inf)
    before, without = np.inf, 0
    for _ in range(_ROUNDS):
        smooth = replace(inner, loss=loss, weights=np.ones(len(weights)))
        state = newton(smooth, state, max_iter=_STEPS).state
        scores = objective.labeled(state.values)
        slopes = loss.updated(objective.targets, scores)
        seen, _ = loss.nearest(objective.targets, scores)
        found = _certified(objective, state, slopes, seen)
        without = 0 if found.gap < best.gap else without + 1
        best = found if found.gap < best.gap else best
        if best.gap <= tol or without == _EXHAUSTED:
            return best, True
        stiffer = found.gap > _SLOW * before and loss.penalty < _STIFFEST * first
        before = found.gap
        loss = loss.moved(slopes, loss.penalty * (_STIFFER if stiffer else 1.0))
    return best, False


def _certified(objective: Objective, state: State, slopes: Array, seen: Array) -> _Certified:
    """The function of the dual variables, and its gap."""
    made = objective.state(objective.scatter(-slopes / 2), state.intercept)
    y, w, f = objective.targets, objective.weights[:, None], objective.labeled(made.values)
    rise = w * (objective.loss.value(y, f) - objective.loss.value(y, seen))
    gap = float((rise - slopes / 2 * (f - seen)).sum())
    if objective.fit_intercept:  # sum beta = 0 is the dual's constraint
        gap += float(abs(slopes.sum() / 2 * made.intercept[0]))
    value = float(objective.value(made)[0])
    return _Certified(made, abs(gap) / value if value > 0 else abs(gap))


def _penalty(objective: Objective) -> float:
    """One at which half a unit of slope moves scores by about as much as the space lets them."""
    T = objective.space.values(np.eye(objective.space.n_points))
    mean = float(np.mean(np.diag(T)[objective.index]))
    return 1 / mean if mean > 0 else 1.0
