r"""Ridge regression of values of all points on features of a space, factored once.

.. math:: \min_{w, b} \tfrac12 |w|^2 + \tfrac C2 |Z w + b - g|^2

with features Z (n x m): O(n m^2) for the factors, then a pass over Z for any values g.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lapwing._arrays import Array
from lapwing.linalg import Solve, column_dot, normal_matrix, spd_factor
from lapwing.spaces.base import Space

__all__ = ["FunctionRegression"]


@dataclass(frozen=True, eq=False)
class FunctionRegression:
    """Ridge regression of values on features, with an unpenalised bias, and its P^-1."""

    space: Space
    C: float
    fit_intercept: bool
    solve: Solve

    @classmethod
    def factor(cls, space: Space, C: float, fit_intercept: bool) -> FunctionRegression:
        m = space.n_coef
        gram = normal_matrix(space.blocks(), m, bias=fit_intercept)
        gram *= C
        gram.flat[: m * (len(gram) + 1) : len(gram) + 1] += 1
        return cls(space, C, fit_intercept, spd_factor(gram))

    @classmethod
    def of_equations(
        cls, space: Space, C: float, fit_intercept: bool, matrix: Array
    ) -> FunctionRegression:
        """The same where the matrix (m (+ 1), m (+ 1)) of the equations is known."""
        return cls(space, C, fit_intercept, spd_factor(matrix))

    def regress(self, g: Array) -> tuple[Array, Array]:
        """Coefficients w and bias b of min 1/2 |w|^2 + C/2 |Z w + b - g|^2."""
        m = self.space.n_coef
        right = np.zeros((m + self.fit_intercept, g.shape[1]))
        for rows, Z in self._design():
            right[:m] += Z.T @ g[rows]
        if self.fit_intercept:
            right[m] = g.sum(axis=0)
        theta = self.solve(self.C * right)
        return theta[:m], theta[m] if self.fit_intercept else np.zeros(g.shape[1])

    def inverse(self, g: Array) -> Array:
        """P^-1 g = C (g - f) for the regression f of g."""
        w, b = self.regress(g)
        image = np.empty_like(g)
        for rows, Z in self._design():
            image[rows] = self.C * (g[rows] - Z @ w - b)
        return image

    def squares(self, g: Array, w: Array, b: Array) -> Array:
        """Sum of squared residuals of a regression, a column."""
        total = np.zeros(g.shape[1])
        for rows, Z in self._design():
            residual = g[rows] - Z @ w - b
            total += column_dot(residual, residual)
        return total

    def _design(self) -> Iterator[tuple[slice, Array]]:
        for rows, block in self.space.blocks():
            yield rows, np.asarray(block, dtype=np.float64)
