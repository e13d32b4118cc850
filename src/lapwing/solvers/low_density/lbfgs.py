"""Limited-memory BFGS (SciPy) for the objective of semi-supervised SVMs.

QN-S3VM paper, Algorithm 1 and Section 3.3.1. The coordinates are orthonormal in the function space,
so that Euclidean inner products are those of the function space, and the two-loop recursion costs
O(r) per pair besides the two products of an evaluation. The Wolfe line search ensures the curvature
condition, which a non-convex objective may violate (errata Q9). SciPy handles bounds on the bias.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize

from lapwing._arrays import Array
from lapwing.objectives.low_density import Function, LowDensityObjective
from lapwing.solvers.base import Result, Settings, Status, bias_unit

# Stored pairs of steps and changes of the gradient. On Text and pairs of Uspst classes, 5 need a
# quarter more evaluations, and 50 (the QN paper) hardly fewer, with a recursion as expensive as the
# products with a sparse X.
_MEMORY = 15


@dataclass(frozen=True)
class Minimum(Result[Function, float]):
    """Result of a minimisation of one column.

    Attributes
    ----------
    n_evaluations : int
        Number of evaluations of the objective and its gradient.
    """

    n_evaluations: int = 0

    @classmethod
    def begin(cls, start: Function) -> Minimum:
        """Return a start as the result of no iterations."""
        return cls(start, np.inf, np.inf, 0, Status.CONVERGED)

    def after(self, earlier: Minimum) -> Minimum:
        """Add the iterations and evaluations of an earlier result."""
        return replace(
            self,
            n_iter=self.n_iter + earlier.n_iter,
            n_evaluations=self.n_evaluations + earlier.n_evaluations,
        )

    def settings_left(self, settings: Settings[Function]) -> Settings[Function]:
        """Return settings with the iterations that are left after this result."""
        return replace(settings, max_iter=max(1, settings.max_iter - self.n_iter))


class _VectorObjective:
    """Objective as functions of one vector for SciPy; the last evaluation is cached.

    SciPy evaluates value and gradient separately, and evaluates the start and the end again. Its
    own cache (`jac=True`) takes a tenth of the time of a fit to few points.

    The bias is in a unit for which its gradient is comparable with that in w (`bias_unit`).
    """

    def __init__(self, objective: LowDensityObjective, start: Function) -> None:
        self.objective = objective
        self.fixed = start.intercept
        self.unit = bias_unit(objective.labeled_norms) if objective.free_bias else 1.0
        self.n_evaluations = 0
        self._evaluate(self.pack(start))

    def pack(self, function: Function) -> Array:
        """Return the coefficients, and the bias if it is free, as one vector."""
        if not self.objective.free_bias:
            return function.coef
        return np.append(function.coef, function.intercept / self.unit)

    def unpack(self, z: Array) -> Function:
        """Return the function of a vector; a bias that is not free is that of the start."""
        if not self.objective.free_bias:
            return Function(z, self.fixed)
        return Function(z[:-1], float(z[-1]) * self.unit)

    def bounds(self, size: int) -> list[tuple[float | None, float | None]] | None:
        """Return bounds for SciPy, only of the bias; None if there are none."""
        if not self.objective.free_bias or not np.isfinite(self.objective.bias).any():
            return None
        lower, upper = (
            bound / self.unit if np.isfinite(bound) else None for bound in self.objective.bias
        )
        return [(None, None)] * (size - 1) + [(lower, upper)]

    def value_at(self, z: Array) -> float:
        self._go_to(z)
        return self.value

    def gradient_at(self, z: Array) -> Array:
        self._go_to(z)
        return self.gradient

    def gradient_norm_at(self, z: Array) -> float:
        """Compute the norm of the gradient, projected to the bounds of the bias."""
        gradient = self.gradient_at(z)
        if not self.objective.free_bias:
            return _norm(gradient)
        lower, upper = (bound / self.unit for bound in self.objective.bias)
        b = float(z[-1])
        step = b - min(max(b - float(gradient[-1]), lower), upper)
        return math.hypot(_norm(gradient[:-1]), step)

    def _go_to(self, z: Array) -> None:
        if z.tobytes() != self.last:  # with few points `(z != last).any()` takes ten times as long
            self._evaluate(z)

    def _evaluate(self, z: Array) -> None:
        self.n_evaluations += 1
        self.value, w, b = self.objective.value_and_gradient(self.unpack(z))
        self.gradient = np.append(w, b * self.unit) if self.objective.free_bias else w
        self.last = z.tobytes()


def descend(
    objective: LowDensityObjective,
    start: Function,
    settings: Settings[Function],
    *,
    scale: float | None = None,
) -> Minimum:
    """Find a local minimum of a differentiable objective by L-BFGS.

    Parameters
    ----------
    objective : LowDensityObjective
    start : Function
    settings : Settings
        `tol` is the tolerance of the norm of the projected gradient relative to `scale`.
    scale : float, optional
        Default: `reference(objective)`.

    Returns
    -------
    Minimum
        With the status CONVERGED, CALLBACK, MAX_ITER or, if rounding errors make the line search
        fail, PRECISION.
    """
    tol = settings.tol
    problem = _VectorObjective(objective, start)
    z = problem.pack(start)
    scale = reference(objective) if scale is None else scale
    optimality = problem.gradient_norm_at(z) / scale
    if optimality <= tol:
        return Minimum(start, problem.value_at(z), optimality, 0, Status.CONVERGED, n_evaluations=1)
    state = {"status": Status.CONVERGED}

    def watch(intermediate_result: Any) -> None:
        if problem.gradient_norm_at(intermediate_result.x) <= tol * scale:
            # The only way to stop SciPy without an error.
            raise StopIteration
        if settings.on_iteration(partial(problem.unpack, intermediate_result.x)):
            state["status"] = Status.CALLBACK
            raise StopIteration

    found = minimize(
        problem.value_at,
        z,
        jac=problem.gradient_at,
        method="L-BFGS-B",
        bounds=problem.bounds(len(z)),
        callback=watch,
        options={
            "maxcor": _MEMORY,
            "maxiter": settings.max_iter,
            "maxfun": 10 * settings.max_iter,
            # SciPy's own tolerances, which are relative to the value (ftol) or absolute (gtol), are
            # disabled. `watch` stops by the norm of the gradient over `scale`.
            "ftol": 0.0,
            "gtol": 0.0,
        },
    )
    z = np.asarray(found.x)
    optimality = problem.gradient_norm_at(z) / scale
    status = state["status"]
    if status != Status.CALLBACK and optimality > tol:
        # SciPy stops by itself at max_iter, or if rounding errors make the line search fail.
        status = Status.MAX_ITER if found.status == 1 else Status.PRECISION
    function, value = problem.unpack(z), problem.value_at(z)
    n_evaluations = problem.n_evaluations
    return Minimum(function, value, optimality, int(found.nit), status, n_evaluations=n_evaluations)


def _norm(vector: Array) -> float:
    return math.sqrt(vector @ vector)


def reference(objective: LowDensityObjective) -> float:
    """Return the scale of gradients: the norm if all labelled points were misclassified.

    It is at least 1 or, for a small C, sqrt(2 J) of f = 0, an upper bound of |w|.
    """
    size = math.sqrt(2 * float(objective.weights.sum() + objective.unlabeled_weights.sum()))
    return max(objective.pull, min(1.0, size))
