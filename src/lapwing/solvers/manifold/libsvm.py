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
from lapwing.objectives.manifold import Objective
from lapwing.solvers.base import Iteration, OnIteration, Result, Status, carry_on, verdict
from lapwing.solvers.manifold.kinks import multipliers

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
    kink_at_zero: bool = False  # a tube without width: where beta_i = 0, too


class _End(NamedTuple):
    """A function of one column, and how far it is from the optimum."""

    coef: Array  # (n, 1)
    intercept: Array  # (1,)
    gap: float  # duality gap over the objective; its size where rounding makes it negative

    @classmethod
    def at(
        cls, column: Objective, dual: _Dual, T: Array, y: Array, beta: Array, intercept: float
    ) -> _End:
        """The function of the dual variables."""
        state = column.state(column.scatter(beta[:, None]), np.array([intercept]))
        primal = float(column.value(state)[0])
        gap = abs(primal - (dual.gain(y, beta) - beta @ T @ beta / 2))
        return cls(state.coef, state.intercept, float(gap / primal if primal > 0 else gap))


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
            kink_at_zero=epsilon == 0,
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
    coef, intercept, gap = np.zeros((objective.space.n_points, c)), np.zeros(c), np.full(c, np.inf)
    status, done = Status.CONVERGED, 0
    for j in range(c):
        y = objective.targets[:, j]
        column = objective.columns(np.array([j]))
        rough, b, finished = _fit(objective, dual.machine(tol), T, y)
        # libsvm ends at a tolerance of its own, and the polished end is not always the better one:
        # the duality gap of the whole problem decides.
        ends = [_End.at(column, dual, T, y, rough, b)]
        ends += [
            _End.at(column, dual, T, y, *each) for each in _polished(objective, dual, T, y, rough)
        ]
        if not min(end.gap for end in ends) <= tol:
            # Where the bound is wide, libsvm takes its steps in a matrix that is singular to
            # rounding: it stops far from the optimum or not at all.
            found = multipliers(column, tol=tol)
            ends.append(_End(*found.state[:2], float(found.optimality[0])))
            finished = found.status != Status.MAX_ITER
        best = min(ends, key=lambda end: end.gap)
        coef[:, j], intercept[j], gap[j] = best.coef[:, 0], best.intercept[0], best.gap
        status = status if finished or gap[j] <= tol else Status.MAX_ITER
        done += 1
        if on_iteration(Iteration(done, lambda: objective.state(coef, intercept))):
            status = Status.CALLBACK
            break
    return Result(objective.state(coef, intercept), done, verdict(status, gap), gap)


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
    # All coefficients may be far below a bound that is wide.
    least = -1.0 if dual.kink_at_zero else _EDGE * np.minimum(bound, size.max())
    free = (size > least) & (size < (1 - _EDGE) * bound)
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
    same_sign = dual.kink_at_zero or (exact * beta >= 0).all()
    if not (same_sign and (np.abs(exact) <= bound * (1 + 1e-9)).all()):
        return []
    return [(exact, float(solution[n_free]) if objective.fit_intercept else 0.0)]
