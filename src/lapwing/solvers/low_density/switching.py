"""Label switching with a fixed class ratio: Joachims' transductive SVM.

The unlabelled points are given labels, the highest decision values of the supervised SVM the
positive ones, in the wanted ratio. Their weight doubles ten times to C*; under each weight the SVM
of all points is fitted and pairs of one positive and one negative point swap labels wherever that
lowers the losses at the present scores, so that no refit goes up and the ratio never changes. All
such pairs swap at once (Sindhwani and Keerthi's multiple switching) where SVM-light swaps one a
refit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lapwing._arrays import Array
from lapwing.losses.base import Loss
from lapwing.objectives.low_density import Function, LowDensityObjective
from lapwing.solvers.base import Status
from lapwing.solvers.low_density.cccp import labeled_by
from lapwing.solvers.low_density.lbfgs import Minimum, OnStep
from lapwing.solvers.low_density.multipliers import minimize

DOUBLINGS = 10
_REFITS = 100  # a weight
# Swaps for less than rounding would go back and forth for ever.
_GAIN = 1e-9  # relative: swaps that gain less are ties


def assign(scores: Array, n_positive: int) -> Array:
    """Labels -1 and +1, the n_positive highest scores positive; the first of equals first."""
    labels = np.full(len(scores), -1.0)
    labels[np.argsort(-scores, kind="stable")[:n_positive]] = 1.0
    return labels


def switch(loss: Loss, labels: Array, scores: Array, weights: Array) -> Array:
    """Labels after swapping all pairs whose swap lowers the weighted losses."""
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
    *,
    n_positive: int,
    tol: float,
    max_iter: int,
    doublings: int = DOUBLINGS,
    on_step: OnStep | None = None,
) -> Minimum:
    """Anneal the weight of the switched labels up to C*.

    Parameters
    ----------
    objective : LowDensityObjective
        Its loss is that of all labels; its unlabelled loss is not looked at.
    start : Function
        What the first labels are by: the supervised solution.
    n_positive : int
        Unlabelled points that are to be positive, throughout.
    tol : float
        Of every SVM.
    max_iter : int
        L-BFGS iterations in all.
    doublings : int
        Of the weight up to C*; 0 begins there.
    on_step : function, optional
    """
    minimum: Minimum | None = None
    function = start
    labels = assign(objective.values(start)[objective.unlabeled], n_positive)
    for doubling in range(-doublings, 1):
        weights = 2.0**doubling * objective.unlabeled_weights
        for _ in range(_REFITS):
            minimum = minimize(
                labeled_by(objective, labels, weights),
                function,
                tol=tol,
                # One budget for all descents: `max_iter` bounds the fit, not each of its SVMs.
                max_iter=max(1, max_iter - (minimum.n_iter if minimum else 0)),
                on_step=on_step,
            ).after(minimum)
            function = minimum.function
            if minimum.status in (Status.CALLBACK, Status.MAX_ITER):
                return replace(minimum, value=objective.value(function))
            switched = switch(
                objective.loss, labels, objective.values(function)[objective.unlabeled], weights
            )
            if np.array_equal(switched, labels):
                break
            labels = switched
    assert minimum is not None
    return replace(minimum, value=objective.value(function))
