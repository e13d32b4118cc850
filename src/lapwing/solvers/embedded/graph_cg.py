r"""LapERLS with the exact graph kernel on many points: nothing of order n^2, no eigenvectors.

With features Z, K = Z Z' and f eliminated, the virtual labels solve

.. math:: \big(P^{-1} + \Lambda + \mu L^p\big)\, g = \Lambda y, \qquad P = Z Z^T + I / C

(errata E6, in g instead of alpha = P^-1 g), symmetric and positive definite whatever the
components of the graph. P^-1 = C I - C^2 Z (I + C Z'Z)^-1 Z' takes two products with the features
and L^p p sparse ones. The paper's matrix Lambda + mu L is never inverted: the factors of a graph of
neighbours in many dimensions fill up.

Conjugate gradient with the diagonal as preconditioner, all columns together; converged columns
leave.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from lapwing._arrays import Array
from lapwing.linalg import Solve, column_dot, spd_factor
from lapwing.solvers.base import Status
from lapwing.solvers.embedded.systems import EmbeddedResult, Features

__all__ = ["GraphSystem", "graph_least_squares"]

Apply: TypeAlias = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class _Kernel:
    """P^-1 and the ridge regression of values on features, with the bias as one more feature."""

    features: Features
    C: float
    fit_intercept: bool
    solve: Solve

    @classmethod
    def factor(cls, features: Features, C: float, fit_intercept: bool) -> _Kernel:
        m = features.n_features
        gram = np.zeros((m + fit_intercept, m + fit_intercept))
        for _, Z in _design(features, fit_intercept):
            gram += Z.T @ Z
        gram *= C
        gram.flat[: m * (len(gram) + 1) : len(gram) + 1] += 1
        return cls(features, C, fit_intercept, spd_factor(gram))

    def regress(self, g: Array) -> Array:
        """Coefficients of min 1/2 |w|^2 + C/2 |Z w + b - g|^2."""
        right = 0.0
        for rows, Z in _design(self.features, self.fit_intercept):
            right = right + Z.T @ g[rows]
        return self.solve(self.C * np.asarray(right))

    def inverse(self, g: Array) -> Array:
        """P^-1 g = C (g - f) for the regression f of g."""
        theta = self.regress(g)
        image = np.empty_like(g)
        for rows, Z in _design(self.features, self.fit_intercept):
            image[rows] = self.C * (g[rows] - Z @ theta)
        return image

    def squares(self, g: Array, theta: Array) -> Array:
        """Sum of squared residuals of a regression, a column."""
        total = np.zeros(g.shape[1])
        for rows, Z in _design(self.features, self.fit_intercept):
            residual = g[rows] - Z @ theta
            total += column_dot(residual, residual)
        return total


def _design(features: Features, fit_intercept: bool) -> Any:
    for rows, block in features.blocks():
        Z = np.asarray(block, dtype=np.float64)
        yield rows, np.hstack([Z, np.ones((len(Z), 1))]) if fit_intercept else Z


@dataclass(frozen=True, eq=False)
class GraphSystem:
    """The problem (33) with the graph as an operator.

    Attributes
    ----------
    features : Features
    smoothness : callable
        F -> mu L^p F on blocks (n, c).
    diagonal : ndarray of shape (n,)
        About the diagonal of mu L^p: the preconditioner's, which any positive numbers may be.
    index, weights, targets : ndarray
        Point, Lambda and targets (l, c) of each observation.
    fit_intercept : bool
    """

    features: Features
    smoothness: Apply
    diagonal: Array
    index: Array
    weights: Array
    targets: Array
    fit_intercept: bool = False


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # told by the optimality
def graph_least_squares(
    system: GraphSystem,
    C: float,
    *,
    tol: float = 1e-8,
    max_iter: int = 20_000,
    on_iteration: Callable[[], bool] = lambda: False,
) -> EmbeddedResult:
    """Minimise (33) by conjugate gradient.

    Parameters
    ----------
    system : GraphSystem
    C : float
    tol : float, default=1e-8
        Of the residual, relative to the right-hand side.
    max_iter : int, default=20000
    on_iteration : callable, optional
        Called after every iteration; True stops.
    """
    features, weights, targets = system.features, system.weights, system.targets
    kernel = _Kernel.factor(features, float(C), bool(system.fit_intercept))
    right = np.zeros((features.n_points, targets.shape[1]))
    np.add.at(right, system.index, weights[:, None] * targets)
    held = np.bincount(system.index, weights, minlength=features.n_points)

    def apply(g: Array) -> Array:
        return kernel.inverse(g) + system.smoothness(g) + held[:, None] * g

    scale = 1 / (C + held + np.maximum(system.diagonal, 0))
    g, optimality, n_iter, status = _conjugate_gradient(
        apply, right, scale[:, None], tol, max_iter, on_iteration
    )
    theta, m = kernel.regress(g), features.n_features
    loss = C * kernel.squares(g, theta)
    misfit = targets - g[system.index]
    smooth = np.maximum(column_dot(g, system.smoothness(g)), 0)
    objective = (column_dot(theta[:m], theta[:m]) + loss + weights @ misfit**2 + smooth) / 2
    intercept = theta[m] if system.fit_intercept else np.zeros(g.shape[1])
    return EmbeddedResult(theta[:m], intercept, g, objective, optimality, n_iter, status)


def _conjugate_gradient(
    apply: Apply,
    right: Array,
    scale: Array,
    tol: float,
    max_iter: int,
    on_iteration: Callable[[], bool],
) -> tuple[Array, Array, int, Status]:
    x = np.zeros_like(right)
    r = right.copy()
    size = np.sqrt(column_dot(right, right))
    size = np.where(size > 0, size, 1.0)
    z = scale * r
    p, rz = z, column_dot(r, z)
    relative = np.sqrt(column_dot(r, r)) / size
    n_iter, status = 0, Status.CONVERGED
    while (active := np.flatnonzero(~(relative <= tol))).size:
        if n_iter == max_iter:
            status = Status.MAX_ITER
            break
        if not np.isfinite(relative).all():
            status = Status.PRECISION
            break
        direction = p[:, active]
        image = apply(direction)
        step = rz[active] / column_dot(direction, image)
        x[:, active] += step * direction
        r[:, active] -= step * image
        z = scale * r[:, active]
        new = column_dot(r[:, active], z)
        p[:, active] = z + (new / rz[active]) * direction
        rz[active] = new
        relative[active] = np.sqrt(column_dot(r[:, active], r[:, active])) / size[active]
        n_iter += 1
        if on_iteration():
            status = Status.CALLBACK
            break
    return x, relative, n_iter, status
