"""The graph side of embedded regression: the quadratic form of the virtual labels g.

With g = basis z it is 1/2 (g - y)' Lambda (g - y) + mu/2 g'L^p g = 1/2 z'S z - h'z + constant, all
that a solver needs to know of a graph and its labels. The basis is a few eigenvectors of L
(`spectral_side`, (23)-(29) of the paper) or none, for any g (`graph_side`, (14)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lapwing._arrays import Array
from lapwing.linalg import column_dot

__all__ = ["GraphSide", "graph_side", "limited_weights", "spectral_side"]

_DIGITS = 1e8
_ALL = slice(None)


@dataclass(frozen=True, eq=False)
class GraphSide:
    """The quadratic form of g = basis z: 1/2 z'S z - h'z + constant.

    Attributes
    ----------
    basis : ndarray of shape (n, r) or None
        None is the identity, r = n: g is any vector.
    curvature : ndarray of shape (r, r)
        S = basis' (Lambda + mu L^p) basis; singular where no label holds g.
    pull : ndarray of shape (r, c)
        h = basis' Lambda y.
    constant : ndarray of shape (c,)
        1/2 y' Lambda y.
    smoothness : callable
        z -> basis' mu L^p basis z, the graph's part of S z.
    index, weights, targets : ndarray
        Point, Lambda and targets (l, c) of each observation.
    """

    basis: Array | None
    curvature: Array
    pull: Array
    constant: Array
    smoothness: Callable[[Array], Array]
    index: Array
    weights: Array
    targets: Array

    @property
    def n_columns(self) -> int:
        return int(self.pull.shape[1])

    def values(self, coef: Array) -> Array:
        """The values g on the points."""
        return coef if self.basis is None else np.asarray(self.basis @ coef)

    def adjoint(self, u: Array) -> Array:
        """The products basis' u."""
        return u if self.basis is None else np.asarray(self.basis.T @ u)

    def missing(self, coef: Array, alpha: Array, pull: Array) -> Array:
        """What is missing to basis' alpha + S z = pull."""
        return np.asarray(pull - self.curvature @ coef - self.adjoint(alpha))

    def misfit(self, coef: Array, columns: slice = _ALL) -> Array:
        """Residuals y - g at the observations, for coefficients of some columns."""
        rows = coef[self.index] if self.basis is None else self.basis[self.index] @ coef
        return np.asarray(self.targets[:, columns] - rows)

    def energy(self, coef: Array, columns: slice = _ALL) -> Array:
        """The quadratic form, a column, as a sum of what is not negative.

        1/2 z'S z - h'z + constant is the same, but loses all digits where targets are large and
        met closely.
        """
        fit = self.weights @ self.misfit(coef, columns) ** 2
        smooth = column_dot(coef, self.smoothness(coef))
        return np.asarray((fit + np.maximum(smooth, 0)) / 2)


def limited_weights(lam: float, weights: Array, C: float, mu: float) -> Array:
    """Lambda = lam weights, cut off at 1e8 times the least of it, C and mu.

    On a few eigenvectors the weights of all labels meet in one matrix, in which a weight of 1e16
    leaves no digit for one of 1. Beyond the limit g misses the label by a factor of some 1e-8.
    """
    with np.errstate(over="ignore"):
        Lambda = lam * weights
        return np.minimum(Lambda, _DIGITS * max(float(Lambda.min()), C, mu))


def spectral_side(
    basis: Array, penalties: Array, index: Array, weights: Array, targets: Array
) -> GraphSide:
    """Virtual labels in the span of eigenvectors of the Laplacian ((23)-(29)).

    Parameters
    ----------
    basis : ndarray of shape (n, r)
        Orthonormal eigenvectors.
    penalties : ndarray of shape (r,)
        mu sigma^p; rounding below zero is clipped (errata E8).
    index : ndarray of shape (l,)
        The point of each observation.
    weights : ndarray of shape (l,)
        Lambda of each observation.
    targets : ndarray of shape (l, c)

    Returns
    -------
    GraphSide
        With r x r curvature, O(r^2 l) (errata E15).
    """
    rows = basis[index].astype(np.float64)
    weighted = rows.T * weights
    penalties = np.maximum(penalties, 0.0)
    curvature = weighted @ rows + np.diag(penalties)
    return GraphSide(
        basis,
        curvature,
        weighted @ targets,
        np.asarray(weights @ targets**2 / 2, dtype=np.float64),
        lambda z: penalties[:, None] * z,
        index,
        weights,
        targets,
    )


def graph_side(
    smoothness: Callable[[Array], Array],
    n_points: int,
    index: Array,
    weights: Array,
    targets: Array,
) -> GraphSide:
    """Virtual labels of any values ((14)), with the dense n x n matrix Lambda + mu L^p.

    Parameters
    ----------
    smoothness : callable
        F -> mu L^p F on blocks (n, c).
    n_points : int
    index, weights, targets : ndarray
        As for `spectral_side`.
    """
    curvature = smoothness(np.eye(n_points))
    curvature = (curvature + curvature.T) / 2
    np.add.at(curvature, (index, index), weights)
    pull = np.zeros((n_points, targets.shape[1]))
    np.add.at(pull, index, weights[:, None] * targets)
    constant = np.asarray(weights @ targets**2 / 2)
    return GraphSide(None, curvature, pull, constant, smoothness, index, weights, targets)
