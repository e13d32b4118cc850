"""Limited-memory BFGS, by SciPy, on the objective of semi-supervised SVMs.

QN-S3VM paper, Algorithm 1 and Section 3.3.1. The coordinates are orthonormal in the function space,
so SciPy's plain inner products are those of the function space, and the two-loop recursion costs
O(r) a pair beside the two products of an evaluation. The Wolfe line search keeps the curvature
condition that a non-convex objective would break (errata Q9). Bounds on the bias are SciPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import minimize

from lapwing._arrays import Array
from lapwing.objectives.low_density import Function, LowDensityObjective
from lapwing.solvers.base import Status

__all__ = ["Minimum", "OnStep", "descend", "projected_gradient", "reference"]

OnStep: TypeAlias = Callable[[Function], bool]
"""Called after every iteration; True asks to stop."""

# Pairs kept. Measured on Text and Uspst pairs: 5 need a quarter more evaluations, 50 (the QN paper)
# hardly fewer, at a recursion that costs as much as the products of a sparse X.
_PAIRS = 15


@dataclass(frozen=True)
class Minimum:
    """Where a minimisation ended.

    Attributes
    ----------
    function : Function
    value : float
        Of the objective that was minimised.
    n_iter, n_evaluations : int
    status : Status
    optimality : float
        Norm of the (projected) gradient over that at zero; for kinked losses the largest of this
        and of the violations of the margins.
    """

    function: Function
    value: float
    n_iter: int
    n_evaluations: int
    status: Status
    optimality: float

    def after(self, earlier: Minimum | None) -> Minimum:
        """The same, with an earlier one's iterations counted in."""
        if earlier is None:
            return self
        return replace(
            self,
            n_iter=self.n_iter + earlier.n_iter,
            n_evaluations=self.n_evaluations + earlier.n_evaluations,
        )


class _Problem:
    """An objective as SciPy sees it: a vector in, value and gradient out."""

    def __init__(self, objective: LowDensityObjective, start: Function) -> None:
        self.objective = objective
        self.fixed = start.intercept
        self.n_evaluations = 0
        self.last = np.array(self.pack(start))
        self.value, self.gradient = self.evaluate(self.last)

    def pack(self, function: Function) -> Array:
        if not self.objective.free_bias:
            return function.coef
        return np.append(function.coef, function.intercept)

    def unpack(self, z: Array) -> Function:
        if not self.objective.free_bias:
            return Function(z, self.fixed)
        return Function(z[:-1], float(z[-1]))

    def bounds(self, size: int) -> list[tuple[float | None, float | None]] | None:
        if not self.objective.free_bias or not np.isfinite(self.objective.bias).any():
            return None
        lower, upper = (bound if np.isfinite(bound) else None for bound in self.objective.bias)
        return [(None, None)] * (size - 1) + [(lower, upper)]

    def evaluate(self, z: Array) -> tuple[float, Array]:
        self.n_evaluations += 1
        value, w, b = self.objective.value_and_gradient(self.unpack(z))
        return value, np.append(w, b) if self.objective.free_bias else w

    def __call__(self, z: Array) -> tuple[float, Array]:
        if not np.array_equal(z, self.last):  # start and end are asked for twice
            self.value, self.gradient = self.evaluate(z)
            self.last = z.copy()
        return self.value, self.gradient


def descend(
    objective: LowDensityObjective,
    start: Function,
    *,
    tol: float,
    max_iter: int,
    scale: float | None = None,
    on_step: OnStep | None = None,
) -> Minimum:
    """Go down to a local minimum of a differentiable objective.

    Parameters
    ----------
    objective : LowDensityObjective
    start : Function
    tol : float
        Norm of the projected gradient to stop at, relative to `scale`.
    max_iter : int
    scale : float, optional
        `reference(objective)`, if it is known.
    on_step : function, optional
    """
    problem = _Problem(objective, start)
    scale = reference(objective) if scale is None else scale
    state = {"status": Status.CONVERGED}
    left = projected_gradient(objective, start, problem.gradient) / scale
    if left <= tol:
        return Minimum(start, problem.value, 0, 1, Status.CONVERGED, left)

    def watch(intermediate_result: Any) -> None:
        function = problem.unpack(intermediate_result.x)
        if projected_gradient(objective, function, problem.gradient) <= tol * scale:
            # The one way out that SciPy takes for an end and not for an error.
            raise StopIteration
        if on_step is not None and on_step(function):
            state["status"] = Status.CALLBACK
            raise StopIteration

    found = minimize(
        problem,
        problem.last,
        jac=True,
        method="L-BFGS-B",
        bounds=problem.bounds(len(problem.last)),
        callback=watch,
        options={
            "maxcor": _PAIRS,
            "maxiter": max_iter,
            "maxfun": 10 * max_iter,
            # SciPy's own tolerances are off: they are relative to the value (ftol) or to no scale
            # at all (gtol). `watch` stops by the gradient relative to the pull of the labels.
            "ftol": 0.0,
            "gtol": 0.0,
        },
    )
    function = problem.unpack(np.asarray(found.x))
    value, _ = problem(np.asarray(found.x))
    left = projected_gradient(objective, function, problem.gradient) / scale
    status = state["status"]
    if status != Status.CALLBACK and left > tol:
        # SciPy stops by itself at max_iter, or where rounding ends the line search
        status = Status.MAX_ITER if found.status == 1 else Status.PRECISION
    return Minimum(function, value, int(found.nit), problem.n_evaluations, status, left)


def projected_gradient(
    objective: LowDensityObjective, function: Function, gradient: Array
) -> float:
    """Norm of a gradient (r,) or (r + 1,), without what a bound on the bias holds back."""
    if not objective.free_bias:
        return float(np.linalg.norm(gradient))
    lower, upper = objective.bias
    b = function.intercept
    step = b - min(max(b - float(gradient[-1]), lower), upper)
    return float(np.hypot(np.linalg.norm(gradient[:-1]), step))


def reference(objective: LowDensityObjective) -> float:
    """What gradients are measured by: the pull of the labelled points, all on the wrong side."""
    return max(objective.pull, 1.0)
