r"""Ridge regression of values on features, in row blocks of the points.

.. math:: \min_{w, b} \tfrac12 |w|^2 + \tfrac{C}{2} |Z w + b - g|^2

and the matrix P^-1 of what it leaves, P = Z Z' + I / C.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lapwing._arrays import Array
from lapwing.linalg import Solve, column_dot, normal_matrix, spd_factor
from lapwing.spaces.base import Space

__all__ = ["FeatureRidge"]


@dataclass(frozen=True, eq=False)
class FeatureRidge:
    """Regressions of values on the features of one space, and P^-1.

    Attributes
    ----------
    space : Space
        With G = I; only its row blocks are looked at.
    C : float
    fit_intercept : bool
    solve : callable
        Of the normal equations of (w, b), whose matrix was factored once.
    """

    space: Space
    C: float
    fit_intercept: bool
    solve: Solve

    @classmethod
    def factor(cls, space: Space, C: float, fit_intercept: bool) -> FeatureRidge:
        """Sum the normal equations in one pass over the points, O(n m^2), and factor them."""
        m = space.n_coef
        gram = normal_matrix(space.blocks(), m, bias=fit_intercept)
        gram *= C
        gram.flat[: m * (len(gram) + 1) : len(gram) + 1] += 1
        return cls(space, C, fit_intercept, spd_factor(gram))

    @classmethod
    def of_equations(
        cls, space: Space, C: float, fit_intercept: bool, matrix: Array
    ) -> FeatureRidge:
        """The same where their matrix (m (+ 1), m (+ 1)) is known."""
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
