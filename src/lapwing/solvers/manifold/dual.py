r"""The labelled-size dual: any loss on an l x l problem.

The regularisers gamma_A |h|^2 + gamma_I f'L^p f are the squared norm of a space of functions on
the points whose kernel is the *deformed* kernel (Sindhwani, Niyogi and Belkin 2005; LapSVM paper,
Section 2.1, with errata L7 and L8). Only its labelled columns T = [1 K] M^-1 [0; J'] are needed:
one factorisation with l right-hand sides, shared by all classes, losses and weights. By the
representer theorem f = T beta (+ b), and beta minimises

.. math:: \tfrac12 \big[\textstyle\sum_i w_i 2\ell(y_i, (T_{ll} \beta + b)_i)
          + \beta^T T_{ll} \beta\big],

the supervised problem of the kernel T_ll with gamma_A = 1. The bias is part of T where the
intrinsic norm sees a constant (then there is no equality constraint, errata L8), else it is free.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.base import Iteration, OnIteration, Result, carry_on, optimality, verdict
from lapwing.solvers.manifold.newton import FREE_CONSTANT
from lapwing.solvers.manifold.reduced import reduced_solver
from lapwing.spaces.base import Array
from lapwing.spaces.full import FullKernelSpace

__all__ = ["Representers", "dual", "representers"]


class Representers(NamedTuple):
    """Columns of the deformed kernel at the labelled points."""

    points: Array  # (q,) distinct labelled points
    position: Array  # (l,) where each observation's point is among them
    coef: Array  # (m, q)
    intercept: Array  # (q,)
    values: Array  # (n, q)
    free_intercept: bool


def representers(objective: Objective) -> Representers:
    """Solve for the labelled columns of the deformed kernel: the one step of order n^3."""
    points, position = np.unique(objective.index, return_inverse=True)
    free = objective.fit_intercept and objective.constant_energy <= FREE_CONSTANT
    unit = np.zeros((objective.space.n_points, len(points)))
    unit[points, np.arange(len(points))] = 1
    system = objective.system(fit_intercept=objective.fit_intercept and not free)
    coef, intercept, values = system.factor()(unit)
    return Representers(points, position.ravel(), coef, intercept, values, free)


def reduce(objective: Objective, columns: Representers) -> Objective:
    """The supervised problem on the labelled points with the deformed kernel."""
    T = columns.values[columns.points]
    return Objective(
        space=FullKernelSpace((T + T.T) / 2),
        loss=objective.loss,
        index=columns.position,
        targets=objective.targets.astype(np.float64),
        weights=objective.weights.astype(np.float64),
        gamma_A=1.0,
        fit_intercept=columns.free_intercept,
    )


def dual(
    objective: Objective,
    *,
    max_iter: int = 100,
    tol: float = 1e-8,
    on_iteration: OnIteration = carry_on,
    columns: Representers | None = None,
) -> Result:
    """Minimise an objective with any loss by its problem of the size of the labels.

    Parameters
    ----------
    objective : Objective
    max_iter : int, default=100
        Newton steps (losses without kinks).
    tol : float, default=1e-8
        Losses with kinks: of libsvm's optimality conditions, or the relative duality gap.
    on_iteration : callable, optional
    columns : Representers, optional
        Those of an objective with the same space, graph, index, gamma_A and gamma_I, to be used
        again for other losses, targets or weights.

    Returns
    -------
    Result
    """
    if columns is None:
        columns = representers(objective)
    solver = reduced_solver(objective.loss)

    def lifted(iteration: Iteration) -> bool:
        number, reduced = iteration.number, iteration.state
        return on_iteration(Iteration(number, lambda: _lift(objective, columns, reduced())))

    inner = solver.solve(
        reduce(objective, columns), max_iter=max_iter, tol=tol, on_iteration=lifted
    )
    state = _lift(objective, columns, inner.state)
    # The reduced problem does not know what was lost on the way to it; the gradient does, of
    # losses that have one.
    smooth = objective.loss.kind.differentiable
    measure = optimality(objective, state) if smooth else inner.optimality
    return Result(state, inner.n_iter, verdict(inner.status, measure), measure, inner.history)


def _lift(objective: Objective, columns: Representers, reduced: State) -> State:
    """The function on all points that a solution of the reduced problem stands for."""
    beta = reduced.coef
    values = columns.values @ beta + reduced.intercept
    intercept = columns.intercept @ beta + reduced.intercept
    return State(columns.coef @ beta, intercept, values, objective.smoothness(values))
