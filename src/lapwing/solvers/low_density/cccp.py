r"""Concave-convex steps on the ramp loss of unlabelled points (Collobert et al.'s UniverSVM).

The loss on an unlabelled score is min(1 - S, max(0, 1 - |f|)), the symmetric hinge cut off at
height 1 - S: two ramp losses, one for each label, less a constant. Every step replaces it by a
convex bound that touches it at the present scores: the hinge of the present sign where |f| >= S,
the constant nearer to zero, where a point pulls at nothing until the others have moved it. The step
is then an SVM with all points labelled, and no step goes up. UniverSVM linearises the concave part
instead (two hinges a point and a slope); the bound here is below that one and costs half.

With S = 0 the loss is the symmetric hinge itself and the end point a local minimum of it: no sign
disagrees with its score. In place of the hinge any loss of the margin serves, whose value for the
nearer label the loss on unlabelled points then is (`UnlabeledLoss.label_loss`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lapwing._arrays import Array
from lapwing.objectives.low_density import Function, LowDensityObjective
from lapwing.solvers.base import Status
from lapwing.solvers.low_density.lbfgs import Minimum, OnStep
from lapwing.solvers.low_density.multipliers import minimize

RAMP = 0.3  # S, UniverSVM's option -S as the QN-S3VM paper sets it (Section 4.1.4)
_ROUNDS = 100


def labeled_by(
    objective: LowDensityObjective, labels: Array, weights: Array
) -> LowDensityObjective:
    """The SVM in which the unlabelled points carry labels -1 or +1 with the given weights."""
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
    *,
    ramp: float,
    tol: float,
    max_iter: int,
    on_step: OnStep | None = None,
) -> Minimum:
    """Concave-convex steps until no label changes.

    Parameters
    ----------
    objective : LowDensityObjective
        Its loss is that of all labels; its unlabelled loss is not looked at.
    start : Function
    ramp : float
        S >= 0.
    tol : float
        Of every SVM.
    max_iter : int
        L-BFGS iterations in all.
    on_step : function, optional
    """
    minimum: Minimum | None = None
    function = start
    seen: list[Array] = []
    for _ in range(_ROUNDS):
        f = objective.values(function)[objective.unlabeled]
        labels = np.where(f >= 0, 1.0, -1.0)
        weights = np.where(np.abs(f) >= ramp, objective.unlabeled_weights, 0.0)
        present = labels * (weights > 0)
        # Rounding at a kink can bring an earlier labelling back: its SVM is the present one.
        if any(np.array_equal(present, earlier) for earlier in seen):
            break
        seen.append(present)
        machine = labeled_by(objective, labels, weights)
        minimum = minimize(
            machine,
            function,
            tol=tol,
            max_iter=max(1, max_iter - (minimum.n_iter if minimum else 0)),
            on_step=on_step,
        ).after(minimum)
        function = minimum.function
        if minimum.status in (Status.CALLBACK, Status.MAX_ITER):
            break
    assert minimum is not None
    return replace(minimum, value=objective.value(function))
