"""Supervised problems on a kernel matrix, solved in coordinates of its rank.

In coordinates w with T = F F' nothing lives in the null space of T, where the coefficients of an
expansion cancel (errata L14): the steeper a loss bends, the more digits they lose. F is a pivoted
Cholesky factor, so the function F w is an expansion over the pivots.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sla

from lapwing._arrays import Array
from lapwing.linalg import pivoted_cholesky
from lapwing.objectives.manifold import Objective
from lapwing.solvers.base import Result, optimality, verdict
from lapwing.solvers.manifold.newton import newton
from lapwing.spaces import LinearSpace


@dataclass(frozen=True, eq=False)
class Coordinates:
    """A supervised problem on the rows of F.

    Attributes
    ----------
    objective : Objective
    triangle : ndarray of shape (r, r)
        F[pivots], lower triangular.
    pivots : ndarray of shape (r,)
    """

    objective: Objective
    triangle: Array
    pivots: Array

    @classmethod
    def of(cls, objective: Objective) -> Coordinates:
        """Those of a problem on a full-kernel space, without a graph."""
        T = np.array(objective.space.values(np.eye(objective.space.n_points)), dtype=np.float64)
        tol = 4 * np.finfo(np.float64).eps * float(np.max(np.diag(T), initial=0))
        F, pivots = pivoted_cholesky(T, tol)
        return cls(replace(objective, space=LinearSpace(F)), F[pivots], pivots)

    def expansion(self, w: Array) -> Array:
        """Coefficients (q, c) with the function F w."""
        coef = np.zeros((self.objective.space.n_points, w.shape[1]))
        coef[self.pivots] = sla.solve_triangular(
            self.triangle, w, lower=True, trans=1, check_finite=False
        )
        return coef


def newton_in_coordinates(objective: Objective, *, max_iter: int = 100) -> Result:
    """Newton in coordinates.

    Parameters
    ----------
    objective : Objective
        On a full-kernel space, without a graph; its loss without kinks.
    max_iter : int, default=100

    Returns
    -------
    Result
        Of the expansion.
    """
    coordinates = Coordinates.of(objective)
    inner = newton(coordinates.objective, max_iter=max_iter)
    coef = coordinates.expansion(inner.state.coef)
    state = objective.state(coef, inner.state.intercept)
    measure = optimality(objective, state)
    return Result(state, inner.n_iter, verdict(inner.status, measure), measure)
