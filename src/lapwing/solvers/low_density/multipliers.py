r"""Exact minimisation with the hinge: the method of multipliers over L-BFGS.

The hinge is c max(0, 1 - m) = max over 0 <= beta <= c of beta (1 - m). A proximal term around
multipliers beta_k makes it differentiable in the margin m = y f,

.. math:: \psi(m) = \max_{0 \le \beta \le c} \beta (1 - m) - \frac{(\beta - \beta_k)^2}{2 \rho},
          \qquad \beta = \mathrm{clip}(\beta_k + \rho (1 - m), 0, c),

and every L-BFGS run on that is followed by the update of the multipliers. Unlike smoothing, which
is exact only where its width vanishes and its condition blows up, this converges to the kinks
themselves for a fixed rho: at the end points sit at m = 1 exactly, the multipliers are the dual
variables of the SVM, and w = sum_i beta_i y_i phi(x_i) - (the slope of the rest). A convex SVM with
any offset, margins at points that occur twice, and the hinge beside the non-convex loss of
unlabelled points are one case to it; libsvm's solver has none of the three.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from lapwing._arrays import Array
from lapwing.objectives.low_density import Function, LowDensityObjective
from lapwing.solvers.base import Status
from lapwing.solvers.low_density.lbfgs import Minimum, OnStep, descend, reference

__all__ = ["ShiftedHinge", "minimize"]

_ROUNDS = 60
_FIRST_PENALTY = 10.0  # over the mean squared norm of the observations' points
_SLOW = 0.25  # a round that leaves more than this of the violation makes the next one stiffer
_STIFFER = 5.0
_STIFFEST = 1e6  # times the first
_EXHAUSTED = 3  # slow rounds that rounding has ended: there are no more digits
_INNER = 0.1  # least gradient of a round, relative to the one wanted: its error goes into beta
_LOOSE = 0.1  # gradient of a round, relative to the violation that it is to improve


@dataclass(frozen=True, eq=False)
class ShiftedHinge:
    """psi of the module, halved; the weights of the observations are in its bounds."""

    bounds: Array  # c
    multipliers: Array  # beta_k
    penalty: float  # rho
    name: ClassVar[str] = "shifted_hinge"
    piecewise_quadratic: ClassVar[bool] = False
    objective_scale: ClassVar[float] = 2.0

    def updated(self, y: Array, f: Array) -> Array:
        """The maximising beta at scores f."""
        return np.clip(self.multipliers + self.penalty * (1 - y * f), 0, self.bounds)

    def value(self, y: Any, f: Any) -> Any:
        beta = self.updated(y, f)
        moved = beta - self.multipliers
        return (beta * (1 - y * f) - moved * moved / (2 * self.penalty)) / 2

    def derivative(self, y: Any, f: Any) -> Any:
        return -y * self.updated(y, f) / 2

    def curvature(self, y: Any, f: Any) -> Any:
        beta = self.multipliers + self.penalty * (1 - y * f)
        return np.where((beta > 0) & (beta < self.bounds), self.penalty / 2, 0.0)

    def switch_steps(self, y: Any, f: Any, df: Any) -> Any:
        raise NotImplementedError("The shifted hinge is for L-BFGS.")


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
        With the hinge, or with any differentiable loss, which L-BFGS minimises as it is.
    start : Function
    tol : float
        Relative norm of the gradient, and margins' distance from where they belong, to stop at.
    max_iter : int
        L-BFGS iterations in all.
    multipliers : ndarray of shape (l,), optional
        First beta, if something is known of them.
    on_step : function, optional
    """
    if objective.loss.name != "hinge":
        return descend(objective, start, tol=tol, max_iter=max_iter, on_step=on_step)
    scale = reference(objective)
    smooth = _shifted(objective, multipliers)
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
        loss = smooth.loss
        assert isinstance(loss, ShiftedHinge)
        beta = loss.updated(smooth.targets, objective.values(minimum.function)[objective.index])
        before = violation
        violation = float(np.max(np.abs(beta - loss.multipliers), initial=0.0)) / loss.penalty
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
        smooth = replace(smooth, loss=replace(loss, multipliers=beta, penalty=penalty))
        tolerance = _LOOSE * min(tolerance, violation)
    else:
        minimum = replace(minimum, status=Status.MAX_ITER) if minimum else None
    assert minimum is not None
    return replace(minimum, value=objective.value(minimum.function))


def _shifted(objective: LowDensityObjective, multipliers: Array | None) -> LowDensityObjective:
    bounds = objective.weights
    if multipliers is None:
        multipliers = np.zeros(len(bounds))
    loss = ShiftedHinge(bounds, multipliers, _penalty(objective))
    return replace(objective, loss=loss, weights=np.ones(len(bounds)))


def _size(objective: LowDensityObjective, function: Function) -> float:
    """What a gradient g is small against: at a convex optimum J is at most g^2 / 2 too high.

    With many points or a large C the pull of all labels is orders above what is left of it at the
    solution, where nearly all of it cancels.
    """
    return float(np.sqrt(2 * max(objective.value(function), np.finfo(np.float64).tiny)))


def _penalty(objective: LowDensityObjective) -> float:
    norms = objective.features.squared_norms[objective.index]
    mean = float(np.mean(norms)) if len(norms) else 0.0
    return _FIRST_PENALTY / mean if mean > 0 else _FIRST_PENALTY
