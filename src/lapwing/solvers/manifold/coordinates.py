"""Supervised problems on a kernel matrix, solved in coordinates of its rank.

In coordinates w with T = F F' nothing lives in the null space of T, where the coefficients of an
expansion cancel (errata L14): the steeper a loss bends, the more digits they lose. The expansion
is found again from the slopes of the losses: at the optimum T (beta + scatter(w l')) = 0.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lapwing.linalg import pivoted_cholesky
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.base import Result, optimality, verdict
from lapwing.solvers.manifold.newton import newton
from lapwing.spaces import LinearSpace
from lapwing.spaces.base import Array

__all__ = ["expansion", "in_coordinates", "newton_in_coordinates"]


def in_coordinates(objective: Objective) -> Objective:
    """The same problem on the rows of F.

    Parameters
    ----------
    objective : Objective
        On a full-kernel space, with gamma_A = 1 and without a graph.
    """
    T = objective.space.values(np.eye(objective.space.n_points))
    tol = 4 * np.finfo(np.float64).eps * float(np.max(np.diag(T), initial=0))
    F, _ = pivoted_cholesky(np.array(T, dtype=np.float64), tol)
    return replace(objective, space=LinearSpace(F))


def expansion(objective: Objective, slopes: Array, intercept: Array) -> State:
    """The function that slopes (l, c) of sum w l at the observations make, if they are optimal."""
    return objective.state(objective.scatter(-slopes), intercept)


def newton_in_coordinates(objective: Objective, *, max_iter: int = 100) -> Result:
    """Newton in coordinates.

    Parameters
    ----------
    objective : Objective
        On a full-kernel space, with gamma_A = 1 and without a graph; its loss without kinks.
    max_iter : int, default=100

    Returns
    -------
    Result
        Of the expansion.
    """
    inner = newton(in_coordinates(objective), max_iter=max_iter)
    scores = objective.labeled(inner.state.values)
    slopes = objective.weights[:, None] * objective.loss.derivative(objective.targets, scores)
    state = expansion(objective, slopes, inner.state.intercept)
    measure = optimality(objective, state)
    return Result(state, inner.n_iter, verdict(inner.status, measure), measure)
