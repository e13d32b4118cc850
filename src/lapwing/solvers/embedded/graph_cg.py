r"""LapERLS with the exact graph kernel on many points: nothing of order n^2, no eigenvectors.

With features Z, K = Z Z' and f eliminated, the virtual labels solve

.. math:: \big(P^{-1} + \Lambda + \mu L^p\big)\, g = \Lambda y, \qquad P = Z Z^T + I / C

(errata E6, in g instead of alpha = P^-1 g), symmetric and positive definite whatever the
components of the graph. P^-1 = C I - C^2 Z (I + C Z'Z)^-1 Z' takes two products with the features
and L^p p sparse ones. The paper's matrix Lambda + mu L is never inverted: the factors of a graph of
neighbours in many dimensions fill up.

Conjugate gradient with the diagonal as preconditioner, all columns together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from lapwing._arrays import Array
from lapwing.linalg import Solve, column_dot, normal_matrix, spd_factor
from lapwing.objectives.embedded import EmbeddedObjective
from lapwing.solvers.conjugate_gradient import conjugate_gradient
from lapwing.solvers.embedded.systems import EmbeddedResult
from lapwing.spaces.base import Space

__all__ = ["graph_least_squares"]


@dataclass(frozen=True, eq=False)
class _Kernel:
    """P^-1 and the ridge regression of values on features, with an unpenalised bias."""

    space: Space
    C: float
    fit_intercept: bool
    solve: Solve

    @classmethod
    def factor(cls, space: Space, C: float, fit_intercept: bool) -> _Kernel:
        m = space.n_coef
        gram = normal_matrix(space.blocks(), m, bias=fit_intercept)
        gram *= C
        gram.flat[: m * (len(gram) + 1) : len(gram) + 1] += 1
        return cls(space, C, fit_intercept, spd_factor(gram))

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


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # told by the optimality
def graph_least_squares(
    objective: EmbeddedObjective,
    *,
    tol: float = 1e-8,
    max_iter: int = 20_000,
    on_iteration: Callable[[], bool] = lambda: False,
) -> EmbeddedResult:
    """Minimise (33) by conjugate gradient, the graph as an operator.

    Parameters
    ----------
    objective : EmbeddedObjective
        Without a basis of g, in a space with G = I.
    tol : float, default=1e-8
        Of the residual, relative to the right-hand side.
    max_iter : int, default=20000
    on_iteration : callable, optional
        Called after every iteration; True stops.
    """
    C, n = objective.C, objective.n_points
    index, weights, targets = objective.index, objective.weights, objective.targets
    kernel = _Kernel.factor(objective.space, C, objective.fit_intercept)
    right = np.zeros((n, targets.shape[1]))
    np.add.at(right, index, weights[:, None] * targets)
    held = np.bincount(index, weights, minlength=n)

    def apply(g: Array) -> Array:
        return kernel.inverse(g) + objective.smoothness(g) + held[:, None] * g

    # The diagonal of P^-1 is at most C, which is near enough for a preconditioner: the exact one
    # would take another pass over the features.
    scale = 1 / (C + held + np.maximum(objective.smoothness.diagonal(), 0))
    g, optimality, n_iter, status, _ = conjugate_gradient(
        apply, right, scale[:, None], tol=tol, max_iter=max_iter, on_iteration=on_iteration
    )
    w, b = kernel.regress(g)
    loss = C * kernel.squares(g, w, b)
    misfit = targets - g[index]
    # g'L^p g is not negative: below 0 it is rounding.
    smooth = np.maximum(column_dot(g, objective.smoothness(g)), 0)
    value = (column_dot(w, w) + loss + weights @ misfit**2 + smooth) / 2
    return EmbeddedResult(w, b, g, value, optimality, n_iter, status)
