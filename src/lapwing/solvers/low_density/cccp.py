"""Methods of S3VC that fix the labels of unlabelled points in turn: CCCP and switching.

The concave-convex procedure, label switching, and the method of multipliers that solves the convex
problem between two changes of the labels under a balance constraint.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lapwing._arrays import Array
from lapwing.losses.augmented import ROUNDS, SLOW, augmented
from lapwing.losses.base import Loss
from lapwing.objectives.low_density import Function, LowDensityObjective
from lapwing.solvers.base import Settings, Status
from lapwing.solvers.low_density.lbfgs import Minimum, descend, reference

RAMP = 0.3  # S, UniverSVM's option -S as the QN-S3VM paper sets it (Section 4.1.4)
_MOST_REFITS = 100  # for each weight, against endless loops: labels usually settle in a few

DOUBLINGS = 10  # as many as in the schedule `gradient`
_GAIN = 1e-9  # least relative gain of a swap: smaller swaps could cycle by rounding

# Comparisons with other values: 8 fits of S3VC to 60 points, which take 1234 iterations in all.
# Objectives differ by at most the tolerance times their size.

# Times the reciprocal of the mean squared norm of the observed points; with 1 there are 1385
# iterations and with 100 there are 1266.
_FIRST_PENALTY = 10.0
# Largest penalty, relative to the first, and number of rounds without progress, due to rounding,
# after which the method stops. 1e4 and one round change nothing.
_LARGEST_PENALTY, _MAX_STALLED = 1e6, 3
# Least tolerance of a round over `tol`: its error enters the multipliers. With 1 there are 1470
# iterations.
_LEAST_TOL = 0.1
# Tolerance of a round over the present violation of the constraints; with 0.01 there are 1193
# iterations, and with 0.5 there are 1287.
_ROUND_TOL = 0.1


def labeled_by(
    objective: LowDensityObjective, labels: Array, weights: Array
) -> LowDensityObjective:
    """Return the objective of the SVM with labels -1 or +1 for the unlabelled points."""
    none = np.zeros(0, dtype=objective.unlabeled.dtype)
    return replace(
        objective,
        index=np.concatenate([objective.index, objective.unlabeled]),
        targets=np.concatenate([objective.targets, labels]),
        weights=np.concatenate([objective.weights, weights]),
        unlabeled=none,
        unlabeled_weights=np.zeros(0),
    )


def concave_convex(
    objective: LowDensityObjective,
    start: Function,
    settings: Settings[Function],
    *,
    ramp: float,
) -> Minimum:
    """Minimise by the concave-convex procedure: solve SVMs until no label changes.

    Parameters
    ----------
    objective : LowDensityObjective
        Its loss is used for all labels, and its unlabelled loss is not used.
    start : Function
        Initial function, whose signs are the first labels.
    settings : Settings
        `tol` applies to each SVM, `max_iter` to the sum over all SVMs.
    ramp : float
        S >= 0: unlabelled points with |f| < S have weight 0.
    """
    minimum = Minimum.begin(start)
    seen: list[Array] = []
    for _ in range(_MOST_REFITS):
        f = objective.values(minimum.state)[objective.unlabeled]
        labels = np.where(f >= 0, 1.0, -1.0)
        weights = np.where(np.abs(f) >= ramp, objective.unlabeled_weights, 0.0)
        present = labels * (weights > 0)
        # Rounding at a kink can lead back to an earlier labelling.
        if any(np.array_equal(present, earlier) for earlier in seen):
            break
        seen.append(present)
        minimum = _refit(labeled_by(objective, labels, weights), minimum, settings)
        if minimum.status in (Status.CALLBACK, Status.MAX_ITER):
            break
    return replace(minimum, objective=objective.value(minimum.state))


def _refit(machine: LowDensityObjective, earlier: Minimum, settings: Settings[Function]) -> Minimum:
    """Minimise from an earlier minimum, within the iterations that are left."""
    return minimize(machine, earlier.state, earlier.settings_left(settings)).after(earlier)


def assign(scores: Array, n_positive: int) -> Array:
    """Label the n_positive highest scores +1, of equal scores the first, and the others -1."""
    labels = np.full(len(scores), -1.0)
    labels[np.argsort(-scores, kind="stable")[:n_positive]] = 1.0
    return labels


def switch(loss: Loss, labels: Array, scores: Array, weights: Array) -> Array:
    """Swap the labels of all pairs for which this reduces the sum of weighted losses."""
    gain = weights * 2 * (loss.value(labels, scores) - loss.value(-labels, scores))
    positive, negative = np.flatnonzero(labels > 0), np.flatnonzero(labels < 0)
    positive = positive[np.argsort(-gain[positive], kind="stable")]
    negative = negative[np.argsort(-gain[negative], kind="stable")]
    pairs = min(len(positive), len(negative))
    together = gain[positive[:pairs]] + gain[negative[:pairs]]
    worth = int(np.count_nonzero(together > _GAIN * np.max(weights, initial=0.0)))
    switched = labels.copy()
    switched[positive[:worth]] = -1.0
    switched[negative[:worth]] = 1.0
    return switched


def switch_labels(
    objective: LowDensityObjective,
    start: Function,
    settings: Settings[Function],
    *,
    n_positive: int,
    doublings: int = DOUBLINGS,
) -> Minimum:
    """Switch labels while their weight increases to C*.

    Parameters
    ----------
    objective : LowDensityObjective
        Its loss is used for all labels, and its unlabelled loss is not used.
    start : Function
        The supervised solution, which gives the first labels.
    settings : Settings
        `tol` applies to each SVM, `max_iter` to the sum over all SVMs.
    n_positive : int
        Number of unlabelled points that are positive, the same in all rounds.
    doublings : int
        Number of times that the weight is doubled until it is C*; 0 starts at C*.
    """
    minimum = Minimum.begin(start)
    labels = assign(objective.values(start)[objective.unlabeled], n_positive)
    for doubling in range(-doublings, 1):
        weights = 2.0**doubling * objective.unlabeled_weights
        for _ in range(_MOST_REFITS):
            minimum = _refit(labeled_by(objective, labels, weights), minimum, settings)
            if minimum.status in (Status.CALLBACK, Status.MAX_ITER):
                return replace(minimum, objective=objective.value(minimum.state))
            f = objective.values(minimum.state)[objective.unlabeled]
            switched = switch(objective.loss, labels, f, weights)
            if np.array_equal(switched, labels):
                break
            labels = switched
    return replace(minimum, objective=objective.value(minimum.state))


def minimize(
    objective: LowDensityObjective,
    start: Function,
    settings: Settings[Function],
    *,
    multipliers: Array | None = None,
) -> Minimum:
    """Find a local minimum of an objective whose loss may have kinks.

    Parameters
    ----------
    objective : LowDensityObjective
        A differentiable loss is minimised by L-BFGS directly, one with kinks by the method of
        multipliers. The loss on unlabelled points must be differentiable.
    start : Function
    settings : Settings
        `tol` is the tolerance of the relative norm of the gradient and, for losses with kinks, of
        the violation of the constraints in scores; `max_iter` applies to the sum over all descents.
    multipliers : ndarray of shape (l,), optional
        Initial multipliers, estimates of the slopes of the losses at the solution; 0 by default.
    """
    if objective.loss.kind.differentiable:
        return descend(objective, start, settings)
    tol = settings.tol
    scale = reference(objective)
    if multipliers is None:
        multipliers = np.zeros(len(objective.weights))
    penalty = _penalty(objective)
    loss = augmented(objective.loss, objective.targets, objective.weights, multipliers, penalty)
    # the weights are in the loss
    smooth = replace(objective, loss=loss, weights=np.ones(len(objective.weights)))
    minimum = Minimum.begin(start)
    violation, tolerance, stalled = np.inf, 1e-2, 0
    for _ in range(ROUNDS):
        inner = replace(minimum.settings_left(settings), tol=max(tolerance, _LEAST_TOL * tol))
        minimum = descend(smooth, minimum.state, inner, scale=scale).after(minimum)
        slopes = loss.updated(smooth.targets, objective.labeled_values(minimum.state))
        before = violation
        violation = float(np.max(np.abs(slopes - loss.multipliers), initial=0.0)) / loss.penalty
        left = minimum.optimality
        if max(left, violation) <= tol:  # check again with `_size`, which is less rough
            size = min(_size(objective, minimum.state), scale)
            left, scale = left * scale / size, size
        minimum = replace(minimum, optimality=max(left, violation))
        if minimum.status == Status.CALLBACK:
            break
        if minimum.optimality <= tol:
            minimum = replace(minimum, status=Status.CONVERGED)
            break
        stalled += minimum.status == Status.PRECISION and violation > SLOW * before
        if stalled == _MAX_STALLED:
            break
        if minimum.n_iter >= settings.max_iter:
            minimum = replace(minimum, status=Status.MAX_ITER)
            break
        loss = loss.next_round(slopes, violation, before, _LARGEST_PENALTY * penalty)
        smooth = replace(smooth, loss=loss)
        tolerance = _ROUND_TOL * min(tolerance, violation)
    else:
        minimum = replace(minimum, status=Status.MAX_ITER)
    return replace(minimum, objective=objective.value(minimum.state))


def _size(objective: LowDensityObjective, function: Function) -> float:
    """Return the scale sqrt(2 J) of gradients: with a gradient g, J is at most |g|^2 / 2 too high.

    `reference` is too large with many points or a large C, as the gradients of the losses nearly
    cancel at the solution.
    """
    return float(np.sqrt(2 * max(objective.value(function), np.finfo(np.float64).tiny)))


def _penalty(objective: LowDensityObjective) -> float:
    norms = objective.labeled_norms
    mean = float(np.mean(norms)) if len(norms) else 0.0
    return _FIRST_PENALTY / mean if mean > 0 else _FIRST_PENALTY
