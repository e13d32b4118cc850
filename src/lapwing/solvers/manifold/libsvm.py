"""Hinge and epsilon-insensitive losses on a reduced problem, by scikit-learn's libsvm.

The reduced problem is 1/2 [sum w 2 loss + beta' T beta] on the points of a full-kernel space T with
gamma_A = 1: libsvm's problem with C = 1/2 (errata L9: C = 1/(2 gamma_A) for the undeformed norm).

libsvm always fits a free bias. A problem without one is given twice, once as it is and once
mirrored (-phi(x), -y), each at half the weight: if (f, b) is optimal then (f, -b) is, by symmetry,
so (f, 0) is, and f is unique. Its dual has the equality constraint, which then holds by symmetry
and binds nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR

from lapwing._arrays import Array
from lapwing.losses.labeled import EpsilonInsensitive
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.base import Iteration, OnIteration, Result, Status, carry_on

_C = 0.5
_EDGE = 1e-6  # of the bound: nearer coefficients are at it
_MAX_STEPS = 10**7  # of libsvm's own kind: a cap against endless runs


class _Dual(NamedTuple):
    """What tells the duals of the two losses apart.

    The dual of a column is max gain(y, beta) - 1/2 beta' T beta over |beta_i| <= w_i / 2 (of the
    sign of y for the hinge); where beta_i is strictly inside, the score is at a kink of the loss.
    """

    machine: Callable[[float], Any]
    gain: Callable[[Array, Array], float]
    kink: Callable[[Array, Array], Array]


def solve_hinge(
    objective: Objective, *, tol: float, on_iteration: OnIteration = carry_on
) -> Result:
    """Minimise with the hinge, one column after the other."""
    return _solve_columns(
        objective,
        _Dual(
            machine=lambda tol: SVC(C=_C, kernel="precomputed", tol=tol, max_iter=_MAX_STEPS),
            gain=lambda y, beta: float(y @ beta),
            kink=lambda y, beta: y,
        ),
        tol,
        on_iteration,
    )


def solve_epsilon_insensitive(
    objective: Objective, *, tol: float, on_iteration: OnIteration = carry_on
) -> Result:
    """Minimise with the epsilon-insensitive loss, one column after the other."""
    epsilon = cast(EpsilonInsensitive, objective.loss).epsilon
    return _solve_columns(
        objective,
        _Dual(
            machine=lambda tol: SVR(
                C=_C, kernel="precomputed", epsilon=epsilon, tol=tol, max_iter=_MAX_STEPS
            ),
            gain=lambda y, beta: float(y @ beta - epsilon * np.abs(beta).sum()),
            kink=lambda y, beta: y - epsilon * np.sign(beta),
        ),
        tol,
        on_iteration,
    )


def _solve_columns(
    objective: Objective, dual: _Dual, tol: float, on_iteration: OnIteration
) -> Result:
    """Fit every column, and measure it by its duality gap."""
    c = objective.n_columns
    T = objective.space.values(np.eye(objective.space.n_points))
    T = T[np.ix_(objective.index, objective.index)]
    beta, intercept, gap = np.zeros((len(T), c)), np.zeros(c), np.full(c, np.inf)
    status, done = Status.CONVERGED, 0
    for j in range(c):
        y = objective.targets[:, j]
        column = objective.columns(np.array([j]))
        rough, b, finished = _fit(objective, dual.machine(tol), T, y)
        candidates = [(rough, b), *_polished(objective, dual, T, y, rough)]
        gaps = [_gap(column, dual, T, y, *candidate) for candidate in candidates]
        # libsvm ends at a tolerance of its own, and the polished end is not always the better one:
        # the duality gap of the whole problem decides.
        best = int(np.argmin(gaps))
        (beta[:, j], intercept[j]), gap[j] = candidates[best], gaps[best]
        status = status if finished or gap[j] < tol else Status.MAX_ITER
        done += 1
        if on_iteration(Iteration(done, lambda: _state(objective, beta, intercept))):
            status = Status.CALLBACK
            break
    return Result(_state(objective, beta, intercept), done, status, gap)


def _fit(objective: Objective, machine: Any, T: Array, y: Array) -> tuple[Array, float, bool]:
    """Expansion coefficients at the observations, bias, and whether libsvm finished."""
    n, weights = len(T), objective.weights
    if not objective.fit_intercept:
        T = np.block([[T, -T], [-T, T]])
        y, weights = np.concatenate([y, -y]), np.concatenate([weights, weights]) / 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # told by the status instead
        machine.fit(T, y, sample_weight=weights)
    coef = np.zeros(len(T))
    coef[machine.support_] = machine.dual_coef_[0]
    finished = bool(np.max(machine.n_iter_) < _MAX_STEPS)
    if objective.fit_intercept:
        return coef, float(machine.intercept_[0]), finished
    return coef[:n] - coef[n:], 0.0, finished


def _polished(
    objective: Objective, dual: _Dual, T: Array, y: Array, beta: Array
) -> list[tuple[Array, float]]:
    """The exact solution on libsvm's active set, if it is one: none or one candidate.

    libsvm stops at a tolerance, so its digits depend on the order of the points. With the bounded
    coefficients held, scores at the kinks are linear equations for the free ones (and the bias).
    """
    bound = _C * objective.weights
    size = np.abs(beta)
    free = (size > _EDGE * bound) & (size < (1 - _EDGE) * bound)
    fixed = np.where(size >= (1 - _EDGE) * bound, np.sign(beta) * bound, 0.0)
    n_free = int(free.sum())
    if not n_free:
        return []
    right = (dual.kink(y, beta) - T @ fixed)[free]
    system = T[np.ix_(free, free)]
    if objective.fit_intercept:
        ones = np.ones((n_free, 1))
        system = np.block([[system, ones], [ones.T, np.zeros((1, 1))]])
        right = np.append(right, -fixed.sum())
    solution = np.linalg.lstsq(system, right, rcond=None)[0]
    exact = fixed.copy()
    exact[free] = solution[:n_free]
    same_sign = (exact * beta >= 0).all()
    if not (same_sign and (np.abs(exact) <= bound * (1 + 1e-9)).all()):
        return []
    return [(exact, float(solution[n_free]) if objective.fit_intercept else 0.0)]


def _gap(
    column: Objective, dual: _Dual, T: Array, y: Array, beta: Array, intercept: float
) -> float:
    """Relative duality gap of a column; its size where rounding makes it negative."""
    primal = float(column.value(_state(column, beta[:, None], np.array([intercept])))[0])
    gap = primal - (dual.gain(y, beta) - beta @ T @ beta / 2)
    return float(abs(gap) / primal if primal > 0 else abs(gap))


def _state(objective: Objective, beta: Array, intercept: Array) -> State:
    return objective.state(objective.scatter(beta), intercept)
