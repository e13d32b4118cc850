r"""Losses with kinks on a reduced problem: libsvm, and the method of multipliers with Newton steps.

The augmented loss (`lapwing.losses.augmented`) of a loss with kinks is differentiable and is
minimised by Newton's method; then the multipliers are updated. They are the dual variables of the
problem: with beta = -lambda / 2, where lambda are the slopes of sum w 2l, the duality gap of
f = T beta + b

.. math:: \sum_i \big[ w_i\, \ell(y_i, f_i) - w_i\, \ell(y_i, z_i)
          - \tfrac12 \lambda_i (f_i - z_i) \big]

is a sum of terms >= 0 without cancellation, as lambda_i is a slope of w 2l at z_i by the
construction of z_i. For piecewise linear losses the method ends after finitely many rounds
(R. T. Rockafellar, SIAM Journal on Control and Optimization 14, 1976).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR

from lapwing._arrays import Array
from lapwing.losses.augmented import ROUNDS, AugmentedLoss
from lapwing.losses.labeled import EpsilonInsensitive
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.base import Status
from lapwing.solvers.manifold.newton import newton
from lapwing.solvers.manifold.settings import ManifoldResult, ManifoldSettings, exact_result
from lapwing.spaces.linear import LinearSpace
from lapwing.spaces.systems import Lift, kernel_coordinates

# Limits against endless work. Fits of 60 points have the same scores with 10 Newton steps in a
# round, 1e4 times the first penalty, and two rounds without a smaller gap, which is then rounding
# error.
_STEPS = 100
_LARGEST_PENALTY = 1e8
_MAX_STALLED = 5

_C = 0.5  # bound of the dual variables for weight 1, as losses are halved
# Distance from the bound, relative to it, within which coefficients are at the bound: values from
# 1e-12 to 1e-4 give the same solutions of 32 fits of 60 points.
_EDGE = 1e-6
# Most steps of libsvm per label; it need not terminate: with 170 two of 24 fits of 60 points stop
# far from the optimum. The method of multipliers then takes over, in time in proportion to the cube
# of the number of labels. With 10**7 steps in all, LapSVR takes 3 to 10 times as long with gamma_A
# from 1e-8 to 1e-4 and 60 to 500 labels, to the same gaps.
_STEPS_PER_LABEL = 5000


class _Certified(NamedTuple):
    """Function of a column, with its relative duality gap."""

    state: State
    gap: float


def _by_columns(
    objective: Objective,
    settings: ManifoldSettings,
    solve: Callable[[Objective], tuple[_Certified, bool]],
) -> ManifoldResult:
    """Solve one column after the other; `solve` also returns whether it did not give up."""
    c = objective.n_columns
    coef, intercept, gap = np.zeros((objective.space.n_coef, c)), np.zeros(c), np.full(c, np.inf)
    status, done = Status.CONVERGED, 0
    for j in range(c):
        found, finished = solve(objective.columns(np.array([j])))
        coef[:, j], intercept[j] = found.state.coef[:, 0], found.state.intercept[0]
        gap[j] = found.gap
        if not (finished or found.gap <= settings.tol):
            status = Status.MAX_ITER
        done += 1
        if settings.on_iteration(lambda: objective.state(coef, intercept)):
            status = Status.CALLBACK
            break
    return exact_result(objective, objective.state(coef, intercept), gap, done, status)


def multipliers(objective: Objective, settings: ManifoldSettings) -> ManifoldResult:
    """Minimise an objective with any convex loss, one column after the other.

    Parameters
    ----------
    objective : Objective
        Supervised problem on a full-kernel space with gamma_A = 1, such as a reduced problem.
    settings : ManifoldSettings
        `tol` is the tolerance of the duality gap relative to the objective; `on_iteration` is
        called after every column.

    Returns
    -------
    Result
        Its optimality is the relative duality gap.
    """
    return _by_columns(objective, settings, partial(_column, tol=settings.tol))


def _column(objective: Objective, tol: float) -> tuple[_Certified, bool]:
    """Solve a column; also return whether it stopped before the limit of rounds.

    The rounds of `lapwing.solvers.low_density.cccp.minimize` share the loss and its penalties, but
    not this loop: that objective need not be convex and has no duality gap, so they are inexact
    descents that end by the gradient and the violation, and the last one is the result.
    """
    shape = objective.targets.shape
    weights = np.broadcast_to(objective.weights[:, None], shape)
    first = _penalty(objective)
    loss = AugmentedLoss(weights, np.zeros(shape), first, objective.loss)
    inner, _ = in_coordinates(objective)
    state = inner.zero()
    best = _Certified(objective.zero(), np.inf)
    before, stalled = np.inf, 0
    for _ in range(ROUNDS):
        smooth = replace(inner, loss=loss, weights=np.ones(len(weights)))
        state = newton(smooth, ManifoldSettings(start=state, max_iter=_STEPS)).state
        scores = objective.labeled(state.values)
        slopes = loss.updated(objective.targets, scores)
        seen, _ = loss.nearest(objective.targets, scores)
        found = _certified(objective, -slopes / 2, state.intercept, seen)
        stalled = 0 if found.gap < best.gap else stalled + 1
        best = found if found.gap < best.gap else best
        if best.gap <= tol or stalled == _MAX_STALLED:
            return best, True
        loss = loss.next_round(slopes, found.gap, before, _LARGEST_PENALTY * first)
        before = found.gap
    return best, False


def _certified(objective: Objective, beta: Array, intercept: Array, kinks: Array) -> _Certified:
    """Return the function of dual variables (l, 1), with its relative duality gap.

    `kinks` (l, 1) are scores z at which -2 beta are slopes of the losses; see the module docstring.
    """
    state = objective.state(objective.scatter(beta), intercept)
    y, w, f = objective.targets, objective.weights[:, None], objective.labeled(state.values)
    rise = w * (objective.loss.value(y, f) - objective.loss.value(y, kinks))
    gap = float((rise + beta * (f - kinks)).sum())
    if objective.fit_intercept:  # sum beta = 0 is the dual's constraint
        gap += abs(float(beta.sum() * intercept[0]))
    value = float(objective.value(state)[0])
    return _Certified(state, abs(gap) / value if value > 0 else abs(gap))  # < 0 by rounding


def _penalty(objective: Objective) -> float:
    """Return the penalty 1 / mean T_ii, so that a unit of slope changes scores by about a unit."""
    mean = float(np.mean(np.diag(objective.space.gram())[objective.index]))
    return 1 / mean if mean > 0 else 1.0


def libsvm(objective: Objective, settings: ManifoldSettings) -> ManifoldResult:
    """Minimise with the hinge or the epsilon-insensitive loss; see `multipliers`."""
    T = objective.space.gram()[np.ix_(objective.index, objective.index)]
    return _by_columns(objective, settings, partial(_by_libsvm, T, settings.tol))


def _by_libsvm(T: Array, tol: float, column: Objective) -> tuple[_Certified, bool]:
    """Solve a column by libsvm, or by multipliers where that stops far from the optimum."""

    def certified(beta: Array, intercept: float) -> _Certified:
        kinks = _kinks(column, beta)[:, None]
        return _certified(column, beta[:, None], np.array([intercept]), kinks)

    most = _STEPS_PER_LABEL * len(T)
    options = {"C": _C, "kernel": "precomputed", "tol": tol, "max_iter": most}
    loss = column.loss
    tube = isinstance(loss, EpsilonInsensitive)
    machine = SVR(epsilon=loss.epsilon, **options) if tube else SVC(**options)
    rough, b, finished = _fit(column, machine, T)
    # libsvm's tolerance is not a duality gap, and the polished solution is not always better.
    found = [certified(rough, b), *(certified(*one) for one in _polished(column, T, rough))]
    if not min(one.gap for one in found) <= tol:
        # With a large bound the matrix of libsvm is numerically singular, and it stops far from
        # the optimum or not at all.
        other, finished = _column(column, tol)
        found.append(other)
    return min(found, key=lambda one: one.gap), finished


def _kinks(column: Objective, beta: Array) -> Array:
    """Return the kinks of the losses, at which scores are if |beta| is between 0 and its bound."""
    y, loss = column.targets[:, 0], column.loss
    return y - loss.epsilon * np.sign(beta) if isinstance(loss, EpsilonInsensitive) else y


def _fit(objective: Objective, machine: Any, T: Array) -> tuple[Array, float, bool]:
    """Fit by libsvm; return the dual variables, the bias, and whether it converged."""
    n, y, weights = len(T), objective.targets[:, 0], objective.weights
    if not objective.fit_intercept:
        T = np.block([[T, -T], [-T, T]])
        y, weights = np.concatenate([y, -y]), np.concatenate([weights, weights]) / 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # reported by the status
        machine.fit(T, y, sample_weight=weights)
    coef = np.zeros(len(T))
    coef[machine.support_] = machine.dual_coef_[0]
    finished = bool(np.max(machine.n_iter_) < machine.max_iter)
    if objective.fit_intercept:
        return coef, float(machine.intercept_[0]), finished
    return coef[:n] - coef[n:], 0.0, finished


def _polished(objective: Objective, T: Array, beta: Array) -> list[tuple[Array, float]]:
    """Solve exactly on libsvm's active set; an empty list if that is not optimal.

    libsvm stops at a tolerance, so its last digits depend on the order of the points. With the
    coefficients at bounds fixed, the condition that the other scores are at kinks is a linear
    system in the other coefficients and the bias.
    """
    bound = _C * objective.weights
    size = np.abs(beta)
    # Without a tube scores are at the kink for beta = 0 as well.
    kink_at_zero = objective.loss == EpsilonInsensitive(0.0)
    # With a large bound all coefficients may be far below it.
    least = -1.0 if kink_at_zero else _EDGE * np.minimum(bound, size.max())
    free = (size > least) & (size < (1 - _EDGE) * bound)
    fixed = np.where(size >= (1 - _EDGE) * bound, np.sign(beta) * bound, 0.0)
    n_free = int(free.sum())
    if not n_free:
        return []
    right = (_kinks(objective, beta) - T @ fixed)[free]
    system = T[np.ix_(free, free)]
    if objective.fit_intercept:
        ones = np.ones((n_free, 1))
        system = np.block([[system, ones], [ones.T, np.zeros((1, 1))]])
        right = np.append(right, -fixed.sum())
    solution = np.linalg.lstsq(system, right, rcond=None)[0]
    exact = fixed.copy()
    exact[free] = solution[:n_free]
    same_sign = kink_at_zero or (exact * beta >= 0).all()
    # A coefficient at its bound may exceed it by the rounding errors of the system.
    if not (same_sign and (np.abs(exact) <= bound * (1 + 1e-9)).all()):
        return []
    return [(exact, float(solution[n_free]) if objective.fit_intercept else 0.0)]


def in_coordinates(objective: Objective) -> tuple[Objective, Lift]:
    """Convert a problem on a full-kernel space, without a graph, to coordinates."""
    F, lift = kernel_coordinates(objective.space.gram())
    return replace(objective, space=LinearSpace(F)), lift


def newton_in_coordinates(objective: Objective, *, max_iter: int) -> ManifoldResult:
    """Minimise an objective by Newton's method in coordinates.

    Parameters
    ----------
    objective : Objective
        Problem on a full-kernel space, without a graph, with a differentiable loss.
    max_iter : int

    Returns
    -------
    Result
        Its state has expansion coefficients.
    """
    inside, lift = in_coordinates(objective)
    inner = newton(inside, ManifoldSettings(max_iter=max_iter))
    state = objective.state(lift @ inner.state.coef, inner.state.intercept)
    measure = objective.optimality(state)
    return exact_result(objective, state, measure, inner.n_iter, inner.status)
