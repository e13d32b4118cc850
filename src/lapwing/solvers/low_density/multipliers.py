"""Exact minimisation with losses that have kinks: the method of multipliers over L-BFGS.

A loss with kinks is made differentiable by multipliers (`lapwing.losses.augmented`), and every
L-BFGS run on that is followed by the update of the multipliers. Unlike smoothing, which is exact
only where its width vanishes and its condition blows up, this converges to the kinks themselves for
a fixed penalty: with the hinge, end points sit at y f = 1 exactly and the multipliers are
-y times the dual variables beta of the SVM, w = sum_i beta_i y_i phi(x_i) - (the slope of the
rest). A convex SVM with any offset, margins at points that occur twice, and the hinge beside the
non-convex loss of unlabelled points are one case to it; libsvm's solver has none of the three.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lapwing._arrays import Array
from lapwing.losses.augmented import Augmented, augmented
from lapwing.objectives.low_density import Function, LowDensityObjective
from lapwing.solvers.base import Status
from lapwing.solvers.low_density.lbfgs import Minimum, OnStep, descend, reference

_ROUNDS = 60
_FIRST_PENALTY = 10.0  # over the mean squared norm of the observations' points
_SLOW = 0.25  # a round that leaves more than this of the violation makes the next one stiffer
_STIFFER = 5.0
_STIFFEST = 1e6  # times the first
_EXHAUSTED = 3  # slow rounds that rounding has ended: there are no more digits
_INNER = 0.1  # least gradient of a round, relative to the one wanted: its error goes into beta
_LOOSE = 0.1  # gradient of a round, relative to the violation that it is to improve


def minimize(
    objective: LowDensityObjective,
    start: Function,
    *,
    tol: float,
    max_iter: int,
    multipliers: Array | None = None,
    on_step: OnStep | None = None,
) -> Minimum:
    """Go down to a local minimum of an objective, kinks included.

    Parameters
    ----------
    objective : LowDensityObjective
        Its loss may have kinks; L-BFGS minimises one without as it is. The loss on unlabelled
        points must have none.
    start : Function
    tol : float
        Relative norm of the gradient, and scores' distance from where they belong, to stop at.
    max_iter : int
        L-BFGS iterations in all.
    multipliers : ndarray of shape (l,), optional
        The first ones, if something is known of them: slopes of the losses at the solution.
    on_step : function, optional
    """
    if objective.loss.kind.differentiable:
        return descend(objective, start, tol=tol, max_iter=max_iter, on_step=on_step)
    scale = reference(objective)
    loss = _augmented(objective, multipliers)
    # the weights are in the loss
    smooth = replace(objective, loss=loss, weights=np.ones(len(objective.weights)))
    minimum: Minimum | None = None
    violation, tolerance, exhausted = np.inf, 1e-2, 0
    for _ in range(_ROUNDS):
        budget = max_iter - (minimum.n_iter if minimum else 0)
        minimum = descend(
            smooth,
            minimum.function if minimum else start,
            tol=max(tolerance, _INNER * tol),
            max_iter=max(1, budget),
            scale=scale,
            on_step=on_step,
        ).after(minimum)
        slopes = loss.updated(smooth.targets, objective.labeled_values(minimum.function))
        before = violation
        violation = float(np.max(np.abs(slopes - loss.multipliers), initial=0.0)) / loss.penalty
        left = minimum.optimality
        if max(left, violation) <= tol:  # by the pull of all labels: a rough measure
            size = min(_size(objective, minimum.function), scale)
            left, scale = left * scale / size, size
        minimum = replace(minimum, optimality=max(left, violation))
        if minimum.status == Status.CALLBACK:
            break
        if minimum.optimality <= tol:
            minimum = replace(minimum, status=Status.CONVERGED)
            break
        exhausted += minimum.status == Status.PRECISION and violation > _SLOW * before
        if exhausted == _EXHAUSTED:
            break
        if minimum.n_iter >= max_iter:
            minimum = replace(minimum, status=Status.MAX_ITER)
            break
        stiffer = violation > _SLOW * before and loss.penalty < _STIFFEST * _penalty(objective)
        penalty = loss.penalty * (_STIFFER if stiffer else 1.0)
        loss = loss.moved(slopes, penalty)
        smooth = replace(smooth, loss=loss)
        tolerance = _LOOSE * min(tolerance, violation)
    else:
        minimum = replace(minimum, status=Status.MAX_ITER) if minimum else None
    assert minimum is not None
    return replace(minimum, value=objective.value(minimum.function))


def _augmented(objective: LowDensityObjective, multipliers: Array | None) -> Augmented:
    if multipliers is None:
        multipliers = np.zeros(len(objective.weights))
    return augmented(
        objective.loss, objective.targets, objective.weights, multipliers, _penalty(objective)
    )


def _size(objective: LowDensityObjective, function: Function) -> float:
    """What a gradient g is small against: at a convex optimum J is at most g^2 / 2 too high.

    With many points or a large C the pull of all labels is orders above what is left of it at the
    solution, where nearly all of it cancels.
    """
    return float(np.sqrt(2 * max(objective.value(function), np.finfo(np.float64).tiny)))


def _penalty(objective: LowDensityObjective) -> float:
    norms = objective.labeled_norms
    mean = float(np.mean(norms)) if len(norms) else 0.0
    return _FIRST_PENALTY / mean if mean > 0 else _FIRST_PENALTY
