r"""Objective of Laplacian embedded regression for a function and virtual labels.

The problem ([1]_, (14), (23), (33)) has two unknowns, a function f of a kernel space and virtual
labels g on the points of a graph,

.. math:: \tfrac12 \|h\|^2 + \sum_i C \ell(f_i - g_i)
          + \tfrac12 (g - y)^T \Lambda (g - y) + \tfrac{\mu}{2} g^T L^p g, \qquad f = h + b .

With g = basis z, graph and labels enter as 1/2 z'S z - h'z + constant (`GraphSide`). The basis
consists of a few eigenvectors of L (`spectral_side`, (23)-(29) of the paper), or is None for
unrestricted g (`graph_side`, (14)).

References
----------
.. [1] L. Chen, I. W. Tsang and D. Xu, "Laplacian embedded regression for scalable manifold
   regularization", IEEE Transactions on Neural Networks and Learning Systems 23(6), 902-915, 2012.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from lapwing._arrays import Array
from lapwing.linalg import column_dot, product
from lapwing.losses.base import Loss
from lapwing.losses.labeled import EpsilonInsensitive, Squared
from lapwing.spaces.base import Space

# Largest ratio of weights, which leaves half of the digits of float64 to the smallest weight.
_DIGITS = 1e8
_SQUARED = Squared()


class GraphTerm(Protocol):
    """mu L^p as an operator on values."""

    def __call__(self, F: Array, /) -> Array: ...

    def diagonal(self) -> Array:
        """Compute an approximate diagonal (n,) for a preconditioner."""


class Units(NamedTuple):
    """Units in which targets are centred and scaled to about one.

    The solution for level + scale y is level + scale (f, g), with scale^2 times the objective, if f
    has a bias and the graph term of constants is 0. For other losses than the squared loss C and
    epsilon are divided by the scale.
    """

    level: Array  # (c,)
    scale: float  # a power of 2, so that scaling is exact

    @classmethod
    def of(cls, targets: Array, weights: Array, *, centred: bool) -> Units:
        """Compute the weighted mean, or 0 unless `centred`, and the size of the deviations."""
        level = np.zeros(targets.shape[1])
        if centred:
            share = weights / weights.max()
            level = share @ targets / share.sum()
            level = np.where(np.ptp(targets, axis=0) > 0, level, targets[0])
        size = float(np.abs(targets - level).max())
        return cls(level, 2.0 ** (math.frexp(size)[1] - 1) if size > 0 else 1.0)

    def measure(self, targets: Array) -> Array:
        """Convert targets to these units."""
        return np.asarray((targets - self.level) / self.scale)

    def plain(self, values: Array) -> Array:
        """Convert values to the units of the targets."""
        return np.asarray(values * self.scale + self.level)


_PLAIN = Units(np.zeros(1), 1.0)


@dataclass(frozen=True, eq=False)
class EmbeddedObjective:
    """Objective, see the module docstring.

    Attributes
    ----------
    space : Space
        Function space of h.
    index : ndarray of shape (l,)
        Point of each observation.
    weights : ndarray of shape (l,)
        Lambda of each observation.
    targets : ndarray of shape (l, c)
    smoothness : GraphTerm
        mu L^p.
    C : float
        Weight > 0 of the loss.
    fit_intercept : bool
    basis : ndarray of shape (n, r) or None
        Eigenvectors whose span contains g; None for unrestricted g.
    penalties : ndarray of shape (r,) or None
        mu sigma^p of each eigenvector.
    loss : Loss, default=Squared()
        Loss between f and g.
    units : Units
        Units of the targets, of C and of the loss.
    """

    space: Space
    index: Array
    weights: Array
    targets: Array
    smoothness: GraphTerm
    C: float
    fit_intercept: bool = False
    basis: Array | None = None
    penalties: Array | None = None
    loss: Loss = _SQUARED
    units: Units = _PLAIN

    @property
    def n_points(self) -> int:
        return self.space.n_points

    @cached_property
    def side(self) -> GraphSide:
        """Form the quadratic form of g."""
        if self.basis is None:
            return graph_side(
                self.smoothness, self.n_points, self.index, self.weights, self.targets
            )
        assert self.penalties is not None
        return spectral_side(self.basis, self.penalties, self.index, self.weights, self.targets)

    def with_space(self, space: Space) -> EmbeddedObjective:
        """Replace the space; for the same space it is the same objective, with its graph side."""
        return self if space is self.space else replace(self, space=space)

    def measured(self, units: Units) -> EmbeddedObjective:
        """Convert the targets to other units."""
        loss, C = self.loss, self.C
        if isinstance(loss, EpsilonInsensitive):
            # This loss is linear in the residual and the other terms are quadratic, so both of its
            # parameters are divided.
            loss, C = replace(loss, epsilon=loss.epsilon / units.scale), C / units.scale
        return replace(self, targets=units.measure(self.targets), C=C, loss=loss, units=units)


@dataclass(frozen=True, eq=False)
class GraphSide:
    """Quadratic form of g = basis z: 1/2 z'S z - h'z + constant.

    Attributes
    ----------
    basis : ndarray of shape (n, r) or None
        None is the identity, r = n, for unrestricted g.
    curvature : ndarray of shape (r, r)
        S = basis' (Lambda + mu L^p) basis; singular if labels do not determine g.
    pull : ndarray of shape (r, c)
        h = basis' Lambda y.
    smoothness : callable
        z -> basis' mu L^p basis z, the term of the graph in S z.
    index, weights, targets : ndarray
        Point (l,), Lambda (l,) and targets (l, c) of the observations.
    """

    basis: Array | None
    curvature: Array
    pull: Array
    smoothness: Callable[[Array], Array]
    index: Array
    weights: Array
    targets: Array

    @property
    def n_columns(self) -> int:
        return int(self.pull.shape[1])

    @property
    def constant(self) -> Array:
        """Constant 1/2 y' Lambda y of each column."""
        return np.asarray(self.weights @ self.targets**2 / 2, dtype=np.float64)

    def column(self, j: int) -> GraphSide:
        """Select a column of the targets."""
        return replace(self, pull=self.pull[:, [j]], targets=self.targets[:, [j]])

    def values(self, coef: Array) -> Array:
        """Compute the values g on the points."""
        values: Array = coef if self.basis is None else product(self.basis, coef)
        return values

    def rows(self, points: Array) -> Array:
        """Return rows of the basis."""
        if self.basis is None:
            return np.eye(len(self.curvature))[points]
        return np.asarray(self.basis[points], dtype=np.float64)

    def values_at(self, points: Array | slice, coef: Array) -> Array:
        """Compute the values g on some points."""
        return coef[points] if self.basis is None else np.asarray(self.basis[points] @ coef)

    def adjoint(self, u: Array) -> Array:
        """Compute the products basis' u."""
        return u if self.basis is None else np.asarray(self.basis.T @ u)

    def missing(self, coef: Array, alpha: Array) -> Array:
        """Compute the residual of basis' alpha + S z = pull."""
        return np.asarray(self.pull - self.curvature @ coef - self.adjoint(alpha))

    def misfit(self, coef: Array) -> Array:
        """Compute the residuals y - g at the observations."""
        return np.asarray(self.targets - self.values_at(self.index, coef))

    def energy(self, coef: Array) -> Array:
        """Compute the quadratic form of each column, as a sum of non-negative terms.

        1/2 z'S z - h'z + constant is the same, but loses all digits if targets are large and the
        misfit is small.
        """
        fit = self.weights @ self.misfit(coef) ** 2
        smooth = column_dot(coef, self.smoothness(coef))
        return np.asarray((fit + np.maximum(smooth, 0)) / 2)


def limited_weights(lam: float, weights: Array, C: float, mu: float) -> Array:
    """Return Lambda = lam weights, limited to 1e8 times the maximum of C and mu.

    On a few eigenvectors labels, loss and graph are added in one matrix, in which a weight of 1e16
    leaves no digits to a weight of 1. At the limit the relative misfit of a label is about 1e-8.
    """
    with np.errstate(over="ignore"):
        return np.minimum(lam * weights, _DIGITS * max(C, mu))


def spectral_side(
    basis: Array, penalties: Array, index: Array, weights: Array, targets: Array
) -> GraphSide:
    """Return the graph side for virtual labels in the span of eigenvectors ((23)-(29)).

    Parameters
    ----------
    basis : ndarray of shape (n, r)
        Orthonormal eigenvectors.
    penalties : ndarray of shape (r,)
        mu sigma^p; negative values, due to rounding, are set to 0 (errata E8).
    index : ndarray of shape (l,)
        Point of each observation.
    weights : ndarray of shape (l,)
        Lambda of each observation.
    targets : ndarray of shape (l, c)

    Returns
    -------
    GraphSide
        With a curvature of shape (r, r), computed in O(r^2 l) (errata E15).
    """
    rows = basis[index].astype(np.float64)
    weighted = rows.T * weights
    penalties = np.maximum(penalties, 0.0)
    curvature = weighted @ rows + np.diag(penalties)
    return GraphSide(
        basis,
        curvature,
        weighted @ targets,
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
    """Return the graph side for unrestricted virtual labels ((14)), with the dense Lambda + mu L^p.

    Parameters
    ----------
    smoothness : callable
        F -> mu L^p F on blocks (n, c).
    n_points : int
    index, weights, targets : ndarray
        As for `spectral_side`.
    """
    curvature = smoothness(np.eye(n_points))
    # The p products round symmetric entries differently, and factorisations read one half only.
    curvature = (curvature + curvature.T) / 2
    # A point may have several observations, of which `+=` on an index would add only one.
    np.add.at(curvature, (index, index), weights)
    pull = np.zeros((n_points, targets.shape[1]))
    np.add.at(pull, index, weights[:, None] * targets)
    return GraphSide(None, curvature, pull, smoothness, index, weights, targets)
