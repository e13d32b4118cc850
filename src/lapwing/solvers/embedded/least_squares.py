r"""LapERLS: the kernel side is eliminated once, and labels are a small system each.

With the squared loss C/2 r^2 ((33) with errata E6) the least over f and b,

.. math:: \min_{f, b} \tfrac12 \|h\|^2 + \tfrac{C}{2} \|f + b - g\|^2 = \tfrac12 z^T H z,
          \qquad g = \text{basis}\; z,

is a quadratic form that knows neither labels nor mu, and f and b are linear in z. With the graph
side 1/2 z'S z - h'z, (H + S) z = h is left: O(r^3) for r eigenvectors, after O(n^3) or O(n m^2)
once. Leave-one-out, added labels and labels drawn again and again stand on that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from lapwing._arrays import Array
from lapwing.linalg import column_dot, spd_factor
from lapwing.objectives.embedded import GraphSide
from lapwing.solvers.base import Status, verdict
from lapwing.solvers.embedded.systems import (
    DenseSystem,
    Elimination,
    EmbeddedResult,
    FeatureSystem,
    Fit,
)


@dataclass(frozen=True, eq=False)
class KernelSide(ABC):
    """All of LapERLS but its labels and mu.

    Attributes
    ----------
    eliminated : Elimination
        f and b.
    """

    eliminated: Elimination

    def system(self, side: GraphSide) -> Array:
        """The matrix H + S (r, r)."""
        return np.asarray(self.eliminated.curvature + side.curvature)

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")  # told by the optimality
    def graph_coef(self, side: GraphSide) -> Array:
        """The coefficients z (r, c) of the virtual labels."""
        return np.asarray(spd_factor(self.system(side))(side.pull))

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def minimize(self, side: GraphSide) -> EmbeddedResult:
        """The solution for the labels of a graph side, all columns at once."""
        z = self.graph_coef(side)
        fit = Fit(self.eliminated.coef @ z, self.eliminated.intercept @ z, z)
        cost, optimality = self._measure(fit, side)
        return EmbeddedResult(
            fit.coef,
            fit.intercept,
            side.values(z),
            cost / 2 + side.energy(z),
            optimality,
            1,
            verdict(Status.CONVERGED, optimality),
        )

    @abstractmethod
    def _measure(self, fit: Fit, side: GraphSide) -> tuple[Array, Array]:
        """|h|^2 + C r'r, and the relative residual of the linear equations; a column each."""


@dataclass(frozen=True, eq=False)
class MatrixSide(KernelSide):
    """With the kernel matrix.

    Attributes
    ----------
    problem : DenseSystem
        Its labels are not looked at.
    C : float
    """

    problem: DenseSystem
    C: float

    @classmethod
    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def of(cls, problem: DenseSystem, C: float) -> MatrixSide:
        """Eliminate: the one step of order n^3."""
        return cls(problem.eliminate(np.full(problem.n_points, float(C))), problem, float(C))

    def _measure(self, fit: Fit, side: GraphSide) -> tuple[Array, Array]:
        f, g = self.problem.K @ fit.coef, side.values(fit.graph_coef)
        residual = f + fit.intercept - g
        norm = np.maximum(column_dot(fit.coef, f), 0)
        cost = norm + self.C * column_dot(residual, residual)
        return cost, _relative(fit.coef / self.C + residual, g)


@dataclass(frozen=True, eq=False)
class FeatureSide(KernelSide):
    """With features, whose normal equations are summed in one pass over the points.

    Attributes
    ----------
    equations : ndarray of shape (m + r (+ 1), m + r (+ 1))
        Their matrix, for (w, z, b), without the graph side.
    """

    equations: Array

    @classmethod
    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def of(cls, problem: FeatureSystem, C: float) -> FeatureSide:
        """Eliminate: the one pass over the points."""
        H = problem.normal_matrix(np.full(problem.n_points, float(C)))
        return cls(problem.eliminate(H), H)

    def of_function(self) -> Array:
        """The equations of (w, b) alone, as of values that are given."""
        m, r = len(self.eliminated.coef), len(self.eliminated.curvature)
        own = np.r_[0:m, m + r : len(self.equations)]
        return np.asarray(self.equations[np.ix_(own, own)])

    def _measure(self, fit: Fit, side: GraphSide) -> tuple[Array, Array]:
        z = slice(len(fit.coef), len(fit.coef) + len(fit.graph_coef))
        theta = np.vstack([fit.coef, fit.graph_coef, fit.intercept[None]])[: len(self.equations)]
        defect = self.equations @ theta
        defect[z] += side.curvature @ fit.graph_coef - side.pull
        norm = column_dot(fit.coef, fit.coef)
        return norm + _loss_of_equations(fit, side), _relative(defect, side.pull)


def least_squares(problem: DenseSystem | FeatureSystem, C: float) -> EmbeddedResult:
    """LapERLS for the labels of a problem."""
    if isinstance(problem, DenseSystem):
        return MatrixSide.of(problem, C).minimize(problem.side)
    return FeatureSide.of(problem, C).minimize(problem.side)


def _loss_of_equations(fit: Fit, side: GraphSide) -> Array:
    """C r'r of a solution without a pass over the points, as r = Z w + b - basis z.

    w = -C Z'r, 1'r = 0 and C basis'r = S z - h give z'(h - S z) - |w|^2, in which h - S z is a sum
    over the residuals at the labels.
    """
    z = fit.graph_coef
    misfit, values = side.misfit(z), side.values_at(side.index, z)
    force = column_dot(values, side.weights[:, None] * misfit) - column_dot(z, side.smoothness(z))
    return np.asarray(np.maximum(force - column_dot(fit.coef, fit.coef), 0))


def _relative(defect: Array, reference: Array) -> Array:
    size = np.sqrt(column_dot(reference, reference))
    return np.asarray(np.sqrt(column_dot(defect, defect)) / np.where(size > 0, size, 1.0))
