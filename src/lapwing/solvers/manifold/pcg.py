"""Preconditioned conjugate gradient on the primal, for all columns at once.

Algorithm 1 of the LapSVM paper with errata L16 (initial direction), L17 (line search) and L18 (the
metric): Polak-Ribiere directions in the metric of the function space, restarted if the formula is
negative, with exact line search. An iteration takes one product with the space's `values` and p
products with the graph for all active columns; the values and smooth parts of the iterate are
updated by recurrence. Columns that have converged are left out of the products.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.decoding import predict_codes
from lapwing.linalg import column_dot
from lapwing.losses.labeled import Squared
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.base import Result, Status, bias_unit
from lapwing.solvers.manifold.line_search import exact_line_search
from lapwing.solvers.manifold.settings import DEFAULTS, ManifoldResult, ManifoldSettings

# A column has converged if its recomputed gradient is within this factor of the limit. Of 16 fits
# of 60 points 10 converge with 1 and 2, and 11 with 10.
_DRIFT = 2.0
# Gradients within this factor of their expected rounding error are noise. With a kernel matrix of
# rank 2, steps along noise end at relative gradients of up to 20 with 0 and 1, and at 2e-4 with 4
# and 64.
_NOISE = 4.0
# The mean of targets is far from zero if it exceeds all deviations from it by this factor. Other
# targets have errors up to as many times larger than if they were centred.
_FAR = 10.0
_NORMS = 8  # points whose norms give the unit of the bias, in one product with the space


def pcg(objective: Objective, settings: ManifoldSettings = DEFAULTS) -> ManifoldResult:
    """Minimise a differentiable objective by preconditioned conjugate gradient.

    Parameters
    ----------
    objective : Objective
        With a differentiable loss.
    settings : ManifoldSettings, optional
        A column has converged when the norm of its gradient is `tol` times that at zero, or at the
        start of `far_from_zero`. The run stops earlier if rounding prevents this
        (`Status.PRECISION`).

    Returns
    -------
    Result
        Its history has for each iteration ``objective`` (with the factor 1/2) and the norms
        ``gradient`` (Euclidean, of the expansion coefficients in the full-kernel space),
        ``preconditioned`` and ``mixed``, the quantities of Figures 4, 13 and 14.
    """
    objective = _with_bias_unit(objective)
    run, start = _Run(objective, settings), settings.start
    state = objective.zero()
    gradient = objective.descent(state)
    reference = largest = objective.norm(gradient)
    means = far_from_zero(objective)
    if means.any():
        state = state._replace(intercept=state.intercept + means, values=state.values + means)
        gradient = objective.descent(state)
        reference = objective.norm(gradient)
    if start is not None:
        state, gradient = start, objective.descent(start)
    limit, last, previous = settings.tol * reference, state, None
    # The limit of a run is at least its rounding error, even if tol is smaller; the gradient is
    # then recomputed.
    reachable = np.maximum(limit, _epsilon(state) * largest)
    while True:
        state, stop, norm = _descend(run, state, gradient, reachable)
        # The values by recurrence drift away from those of the coefficients, which are the result.
        state = objective.state(state.coef, state.intercept)
        if stop is not None:
            break
        gradient = objective.descent(state)
        norm = objective.norm(gradient)
        unfinished = norm > _DRIFT * limit
        if not unfinished.any():
            stop = Status.CONVERGED
            break
        # If a restart from the coefficients does not halve the norm, it is their rounding error,
        # and another restart would not help.
        if previous is not None and not (unfinished & (norm < previous / 2)).any():
            stop = Status.PRECISION
            # The last run may have increased the norm.
            if norm.max() > previous.max():
                state, norm = last, previous
            break
        last, previous = state, norm
    optimality = norm / np.where(reference > 0, reference, 1.0)
    value = objective.reported(state)
    return Result(state, value, optimality, run.n_iter, stop, run.history)


def far_from_zero(objective: Objective) -> Array:
    """Return the means of the targets that are far from zero; 0 for other columns.

    With the squared loss and a free bias, a constant that is added to the targets adds to the
    minimum. Relative to the gradient at zero, the error would grow with it. Constant targets have
    no other scale.
    """
    y, w = objective.targets, objective.weights
    means = w @ y / w.sum()
    size, largest = np.abs(means), np.abs(y - means).max(axis=0)
    far = (_FAR * largest < size) & (largest > len(y) * np.finfo(y.dtype).eps * size)
    shifts = type(objective.loss) is Squared and objective.free_bias
    return np.where(far & shifts, means, 0).astype(y.dtype)


def _with_bias_unit(objective: Objective) -> Objective:
    """Set the unit of the bias, by the norms of a few labelled points."""
    if not objective.fit_intercept:
        return objective
    some = np.unique(objective.index[:: max(1, len(objective.index) // _NORMS)])
    space = objective.space
    unit = np.zeros((space.n_points, len(some)), dtype=space.dtype)
    unit[some, np.arange(len(some))] = 1
    coef = space.represent(unit)
    norms = space.dot(coef, coef, space.values(coef))
    return replace(objective, bias_unit=bias_unit(np.maximum(norms, 0)))


@dataclass
class _Run:
    """State of a call that is kept over restarts."""

    objective: Objective
    settings: ManifoldSettings
    n_iter: int = 0
    stretch: float = 0.0
    history: dict[str, list[Array]] = field(default_factory=dict)

    def interrupted(self, state: Callable[[], State]) -> Status | None:
        """Count an iteration; return the status if a stopping rule or a callback ends the run."""
        self.n_iter += 1
        asked = self.settings.on_iteration(state)
        rule = self.settings.rule
        if rule is not None and self.n_iter % rule.every == 0 and rule.check(state()):
            return Status.EARLY
        return Status.CALLBACK if asked else None

    def in_noise(self, z: _ActiveColumns) -> Array:
        """Return the mask of the columns whose gradient is rounding error.

        For kernels of low rank g keeps a component in the null space (errata L18), and g'Kg
        decreases to the rounding error of K g, of size eps |K| |g| / sqrt(n): steps along g would
        be noise. |K| is estimated by the largest |K g| / |g| so far.
        """
        size, image = (z.euclidean(part) for part in (z.gradient.coef, z.ambient))
        self.stretch = max(self.stretch, float(np.max(image / np.where(size > 0, size, 1.0))))
        rounding = _epsilon(z.state) * self.stretch / math.sqrt(z.state.values.shape[0])
        return np.asarray(z.norm**2 <= _NOISE * rounding * size**2)

    def record(self, z: _ActiveColumns) -> None:
        entry = {
            "objective": z.objective.value(z.state),
            "gradient": z.euclidean(z.ambient),
            "preconditioned": z.euclidean(z.gradient.coef),
            "mixed": z.norm,
        }
        for name, value in entry.items():
            row = np.full(self.objective.n_columns, np.nan)
            row[z.which] = value
            self.history.setdefault(name, []).append(row)


class _ActiveColumns(NamedTuple):
    """Columns that have not converged, with the state of their conjugate gradient iteration."""

    which: Array
    objective: Objective
    state: State
    gradient: State
    norm: Array
    direction: State

    def take(self, index: Array) -> _ActiveColumns:
        return _ActiveColumns(
            self.which[index],
            self.objective.columns(index),
            self.state.columns(index),
            self.gradient.columns(index),
            self.norm[index],
            self.direction.columns(index),
        )

    @property
    def ambient(self) -> Array:
        """Values of the gradient without its bias."""
        return np.asarray(self.gradient.values - self.gradient.intercept)

    def euclidean(self, part: Array) -> Array:
        """Compute the norm of a part of the gradient with the derivative in the bias."""
        slope = self.gradient.intercept / self.objective.bias_unit**2
        return np.asarray(np.sqrt(column_dot(part, part) + slope**2))


def _descend(
    run: _Run, state: State, gradient: State, limit: Array
) -> tuple[State, Status | None, Array]:
    """Run conjugate gradient from a state until all columns converge or the run is stopped.

    Returns the state, the reason for stopping (None if all columns are done) and the last norms.
    """
    objective = run.objective
    index = np.arange(objective.n_columns)
    norm = objective.norm(gradient)
    norms = norm.copy()
    z = _ActiveColumns(index, objective, state, gradient, norm, _negative(gradient))
    whole = state  # of the columns that are done
    steepest = np.ones(len(index), dtype=bool)
    stuck = np.zeros(len(index), dtype=bool)
    while True:
        finished = (z.norm <= limit[z.which]) | stuck | run.in_noise(z)
        if finished.any():
            gone, keep = np.flatnonzero(finished), np.flatnonzero(~finished)
            whole = whole.with_columns(z.which[gone], z.state.columns(gone))
            z, steepest = z.take(keep), steepest[keep]
        if len(z.which) == 0:
            return whole, None, norms
        if run.n_iter >= run.settings.max_iter:
            return whole.with_columns(z.which, z.state), Status.MAX_ITER, norms
        run.record(z)
        s = exact_line_search(z.objective.loss, z.objective.line(z.state, z.direction))
        z = z._replace(state=z.state.step(s, z.direction))
        known = partial(whole.with_columns, z.which, z.state)
        stop = run.interrupted(known)
        if stop is not None:
            return known(), stop, norms
        # If not even the gradient is a descent direction, the precision is exhausted.
        stuck = (s <= 0) & steepest
        z, steepest = _turn(z, restart=s <= 0)
        norms[z.which] = z.norm


def _turn(z: _ActiveColumns, restart: Array) -> tuple[_ActiveColumns, Array]:
    """Compute gradients, Polak-Ribiere directions, and the mask of steepest descents."""
    gradient = z.objective.descent(z.state)
    norm = z.objective.norm(gradient)
    # In the metric of the space (errata L18): 32 iterations to 1e-9, where the Euclidean product
    # takes 188.
    overlap = z.objective.inner(gradient, z.gradient)
    rho = (norm**2 - overlap) / np.where(z.norm > 0, z.norm, 1.0) ** 2
    # A negative rho restarts (PR+): the plain formula need not converge if the objective is not
    # quadratic.
    steepest = restart | ~(rho > 0)
    direction = _negative(gradient).step(np.where(steepest, 0.0, rho), z.direction)
    return z._replace(gradient=gradient, norm=norm, direction=direction), steepest


def _negative(state: State) -> State:
    return State(*(-part for part in state))


def _epsilon(state: State) -> float:
    return float(np.finfo(state.values.dtype).eps)


def check_interval(n_points: int) -> int:
    """Return theta = sqrt(n) / 2, rounded to the nearest integer, at least 1 (errata L20)."""
    return max(1, round(math.sqrt(n_points) / 2))


def changed_fraction(new: Array, old: Array) -> float:
    """Return the fraction of points whose class changed (the authors' code, errata L21)."""
    return float(np.mean(predict_codes(new) != predict_codes(old)))


def relative_change(new: Array, old: Array, origin: Array | float = 0.0) -> float:
    """Return the change of values relative to their distance from an origin, for regression."""
    size = float(np.linalg.norm(new - origin))
    return float(np.linalg.norm(new - old)) / size if size > 0 else 0.0


@dataclass
class StabilityRule:
    """Stop when predictions on the unlabelled points have settled (Algorithm 2).

    Attributes
    ----------
    unlabeled : ndarray of shape (u,)
    every : int
        theta.
    threshold : float, default=0.015
        eta, the change of the predictions below which to stop.
    change : callable (new, old) -> float
        `changed_fraction` for classification, `relative_change` for regression.
    """

    unlabeled: Array
    every: int
    threshold: float = 0.015
    change: Callable[[Array, Array], float] = changed_fraction
    _seen: Array | None = field(default=None, init=False)

    def check(self, state: State) -> bool:
        scores = state.values[self.unlabeled]
        seen, self._seen = self._seen, scores
        # The first check only stores the scores, as the paper's d_old = 0 is not a prediction
        # (errata L21).
        return seen is not None and self.change(scores, seen) < self.threshold


@dataclass
class ValidationRule:
    """Stop when the error on validation labels no longer falls (Algorithm 3).

    Attributes
    ----------
    error : callable (state) -> number
        Validation error: the *number* of errors for classification, as comparing error rates in
        floating point is unreliable (errata L22); the squared error for regression.
    every : int
        theta.
    """

    error: Callable[[State], float]
    every: int
    _seen: float = field(default=np.inf, init=False)

    def check(self, state: State) -> bool:
        error = self.error(state)
        seen, self._seen = self._seen, error
        return error >= seen


@dataclass
class MixedRule:
    """Stop when both rules would stop at the same check (errata L23)."""

    stability: StabilityRule
    validation: ValidationRule

    @property
    def every(self) -> int:
        return self.stability.every

    def check(self, state: State) -> bool:
        # Both rules see every check, as each compares with the previous one.
        verdicts = [self.stability.check(state), self.validation.check(state)]
        return all(verdicts)
