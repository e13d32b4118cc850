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

from collections.abc import Callable

import numpy as np

from lapwing._arrays import Array
from lapwing.linalg import column_dot
from lapwing.objectives.embedded import EmbeddedObjective
from lapwing.solvers.conjugate_gradient import conjugate_gradient
from lapwing.solvers.embedded.systems import EmbeddedResult
from lapwing.solvers.regression import FunctionRegression


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
    kernel = FunctionRegression.factor(objective.space, C, objective.fit_intercept)
    right = np.zeros((n, targets.shape[1]))
    np.add.at(right, index, weights[:, None] * targets)
    held = np.bincount(index, weights, minlength=n)

    def apply(g: Array) -> Array:
        return kernel.inverse(g) + objective.smoothness(g) + held[:, None] * g

    # The diagonal of P^-1 is at most C, which is near enough for a preconditioner: the exact one
    # would take another pass over the features.
    diagonal = C + held + np.maximum(objective.smoothness.diagonal(), 0)
    g, optimality, n_iter, status, _ = conjugate_gradient(
        apply, right, diagonal, tol=tol, max_iter=max_iter, on_iteration=on_iteration
    )
    w, b = kernel.regress(g)
    loss = C * kernel.squares(g, w, b)
    misfit = targets - g[index]
    # g'L^p g is not negative: below 0 it is rounding.
    smooth = np.maximum(column_dot(g, objective.smoothness(g)), 0)
    value = (column_dot(w, w) + loss + weights @ misfit**2 + smooth) / 2
    return EmbeddedResult(w, b, g, value, optimality, n_iter, status)
