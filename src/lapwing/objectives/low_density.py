r"""Objective of semi-supervised SVMs.

.. math:: J(w, b) = \tfrac12 \|w\|^2 + \sum_{i \in L} C_i\, \ell(y_i f_i)
                    + \sum_{j \in U} C^*_j\, \ell_u(f_j), \qquad f = \Phi w - (\mu' w) 1 + b 1

(continuation paper, (2); QN-S3VM paper, (5), by errata Q8), for one column, in coordinates in which
the norm of the function space is that of w. mu is the weighted mean of the features of the
unlabelled points, so that **b is the mean decision value on them**: the balance constraint (3) is
lower <= b <= upper, which is satisfied exactly for any w, and a sparse X is not modified by the
translation of the points (errata C7).

n points, l observations, r coordinates; one evaluation costs one product with Phi, one with Phi'
and O(n).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from sklearn.utils.extmath import row_norms

from lapwing._arrays import Array, is_sparse
from lapwing._host.threads import matvec, rmatvec
from lapwing.losses.base import Loss, UnlabeledLoss
from lapwing.losses.smoothed import smooth
from lapwing.spaces.base import CoordinateSpace
from lapwing.spaces.block_operator import is_on_disk
from lapwing.spaces.linear import LinearSpace

_DOUBLED_BYTES = 2**28  # limit of a copy of the features in the other precision
_CACHED_BYTES = 2**20  # of features that fit into a core's cache
# Least |phi(x) - mu|^2 over |phi(x)|^2 + |mu|^2 for single precision, which leaves four digits.
_CENTERED = 1e-3


class Function(NamedTuple):
    """Function on the points: coordinates w (r,) and the bias b."""

    coef: Array
    intercept: float


@dataclass(frozen=True, eq=False)
class CenteredFeatures:
    """Features phi(x) - mu of the points; mu is 0 without a centre.

    Attributes
    ----------
    space : CoordinateSpace
        `LinearSpace` or `MappedSpace`.
    center : ndarray of shape (r,) or None
    """

    space: CoordinateSpace
    center: Array | None = None

    @classmethod
    def on(cls, space: CoordinateSpace, shares: Array) -> CenteredFeatures:
        """Centre on a weighted mean of the points, with weights `shares` (n,) of sum 1."""
        mean = space.represent(shares.astype(space.dtype)[:, None])
        return cls(space, np.asarray(mean, dtype=np.float64).ravel())

    def rows(self, rows: Array) -> CenteredFeatures:
        """Select the features of some points, with the same centre."""
        # The norm is that of w, so that rows of the features are those of a linear space.
        features = self.space.features
        points = LinearSpace(features.X).points(rows) if is_on_disk(features) else features[rows]
        return replace(self, space=LinearSpace(points))

    def in_double(self) -> CenteredFeatures:
        """Convert to float64 if the features are few."""
        features = self.space.features
        if is_on_disk(features):
            return self
        size = features.nnz if is_sparse(features) else features.size
        if self.space.dtype == np.float64 or 8 * size > _DOUBLED_BYTES:
            return self
        return replace(self, space=LinearSpace(features.astype(np.float64)))

    def in_single(self) -> CenteredFeatures:
        """Convert to float32 if that halves the time and is precise enough.

        Products with dense features are limited by memory bandwidth, unless the features fit into
        the cache. Far from the origin the digits of phi(x) - mu would be lost, and a copy of many
        features would take too much memory.
        """
        features = self.space.features
        if is_on_disk(features) or is_sparse(features) or self.space.dtype != np.float64:
            return self
        if not _CACHED_BYTES < features.nbytes <= _DOUBLED_BYTES:
            return self
        left = self.squared_norms
        if not np.all((left == 0) | (left > _CENTERED * self._sizes)):
            return self
        return replace(self, space=LinearSpace(features.astype(np.float32)))

    @property
    def n_points(self) -> int:
        return self.space.n_points

    @property
    def n_coef(self) -> int:
        return self.space.n_coef

    def values(self, coef: Array) -> Array:
        """Compute w'(phi(x) - mu) on the points, in float64."""
        # Products are in the precision of the features, which is that of X; their sums are in
        # float64, as the line search compares values that differ little.
        features, coef = self.space.features, coef.astype(np.float64, copy=False)
        w = coef.astype(self.space.dtype, copy=False)
        values = matvec(features, w) if self._dense else features @ w
        values = values.astype(np.float64, copy=False)
        return values if self.center is None else values - self.center @ coef

    def represent(self, u: Array) -> Array:
        """Compute sum_i u_i (phi(x_i) - mu), in float64; the adjoint of `values`."""
        features, slopes = self.space.features, u.astype(self.space.dtype, copy=False)
        w = rmatvec(features, slopes) if self._dense else features.T @ slopes
        w = w.astype(np.float64, copy=False)
        return w if self.center is None else w - self.center * u.sum()

    @cached_property
    def _dense(self) -> bool:
        """Whether the features are an array; cached, as it is used in every product."""
        features = self.space.features
        return not (is_sparse(features) or is_on_disk(features))

    @property
    def _norms(self) -> Array:
        features = self.space.features
        if not is_on_disk(features):
            return np.asarray(row_norms(features, squared=True), dtype=np.float64)
        norms = np.empty(self.n_points)
        for rows, block in features.blocks():
            norms[rows] = row_norms(block, squared=True)
        return norms

    @cached_property
    def _sizes(self) -> Array:
        """Compute |phi(x)|^2 + |mu|^2, the scale of the rounding errors of |phi(x) - mu|^2."""
        return self._norms if self.center is None else self._norms + self.center @ self.center

    @cached_property
    def squared_norms(self) -> Array:
        """Compute |phi(x) - mu|^2 of the points; 0 if it is only rounding error (errata C5)."""
        size = self._sizes
        if self.center is None:
            return size
        overlap = np.asarray(self.space.values(self.center.astype(self.space.dtype)))
        centered = size - 2 * overlap
        rounding = 100 * np.finfo(self.space.dtype).eps * size
        return np.asarray(np.where(centered > rounding, centered, 0.0))


@dataclass(frozen=True, eq=False)
class LowDensityObjective:
    """Objective J of one column, see the module docstring.

    Attributes
    ----------
    features : CenteredFeatures
    loss : Loss
        With the factor 1/2 of `lapwing.losses`; J has twice its value.
    unlabeled_loss : UnlabeledLoss
    index : ndarray of int of shape (l,)
        Point of each observation.
    targets : ndarray of shape (l,)
        -1 or +1.
    weights : ndarray of shape (l,)
        C_i.
    unlabeled : ndarray of int of shape (u,)
    unlabeled_weights : ndarray of shape (u,)
        C*_j.
    bias : (float, float)
        Bounds of b; equal ones fix it.
    """

    features: CenteredFeatures
    loss: Loss
    unlabeled_loss: UnlabeledLoss
    index: Array
    targets: Array
    weights: Array
    unlabeled: Array
    unlabeled_weights: Array
    bias: tuple[float, float] = (0.0, 0.0)

    @property
    def free_bias(self) -> bool:
        return self.bias[0] < self.bias[1]

    def zero(self) -> Function:
        """Return the function with w = 0 and the admissible b nearest to 0."""
        lower, upper = self.bias
        return Function(np.zeros(self.features.n_coef), float(min(max(0.0, lower), upper)))

    @property
    def labeled_norms(self) -> Array:
        """Return |phi(x) - mu|^2 of the point of each observation."""
        return np.asarray(self.features.squared_norms[self.index])

    @property
    def largest_norm(self) -> float:
        """Return the largest |phi(x) - mu|^2 of the unlabelled points; 0 if there are none."""
        return float(np.max(self.features.squared_norms[self.unlabeled], initial=0.0))

    @property
    def pull(self) -> float:
        """Norm of the gradient of the hinge losses if all labelled points were misclassified."""
        u = np.zeros(self.features.n_points)
        np.add.at(u, self.index, self.weights * self.targets)
        return float(np.linalg.norm(self.features.represent(u)))

    def values(self, function: Function) -> Array:
        """Compute the decision values f (n,) on the points."""
        return self.features.values(function.coef) + function.intercept

    def labeled_values(self, function: Function) -> Array:
        """Compute the decision values f (l,) at the observations."""
        return np.asarray(self.values(function)[self.index])

    def ranks(self, function: Function, held: Array, mass: Array) -> Array:
        """Compute the weighted fraction of the unlabelled points below given observations."""
        f = self.values(function)
        return weighted_ranks(f[self.index[held]], f[self.unlabeled], mass)

    def smoothed(self, gamma: float) -> LowDensityObjective:
        """Convolve the objective with a Gaussian of variance gamma in every coordinate of w.

        The constant gamma r / 2 that the norm contributes is left out, as it depends on the rank r
        (errata C8).
        """
        variances = gamma * self.features.squared_norms
        return replace(
            self,
            loss=smooth(self.loss, variances[self.index]),
            unlabeled_loss=smooth(self.unlabeled_loss, variances[self.unlabeled]),
        )

    def value(self, function: Function) -> float:
        """Compute J."""
        f = self.values(function)
        fit = self.loss.value(self.targets, f[self.index])
        return self._sum(function.coef, fit, self.unlabeled_loss.value(f[self.unlabeled]))

    def value_and_gradient(self, function: Function) -> tuple[float, Array, float]:
        """Compute J, dJ/dw (r,) and dJ/db (subgradients at kinks) from one evaluation of f."""
        f = self.values(function)
        fit, slopes = self.loss.value_and_derivative(self.targets, f[self.index])
        density, pushes = self.unlabeled_loss.value_and_derivative(f[self.unlabeled])
        u = np.zeros(len(f))
        u[self.unlabeled] = self.unlabeled_weights * pushes
        # A point may have several observations, of which `+=` on an index would add only one.
        np.add.at(u, self.index, self._whole_weights * slopes)
        gradient = self.features.represent(u) + function.coef
        return self._sum(function.coef, fit, density), gradient, float(u.sum())

    def _sum(self, w: Array, fit: Array, density: Array) -> float:
        return float(w @ w / 2 + (self._whole_weights @ fit + self.unlabeled_weights @ density))

    @cached_property
    def _whole_weights(self) -> Array:
        """Return the weights of the losses with the factor 1/2 (`lapwing.losses`): twice C_i."""
        return 2 * self.weights

    def supervised(self) -> LowDensityObjective:
        """Remove the unlabelled term and points, and keep the balance.

        An evaluation uses l rows of the features instead of n.
        """
        rows, position = np.unique(self.index, return_inverse=True)
        none = np.zeros(0, dtype=self.unlabeled.dtype)
        return replace(
            self,
            features=self.features.rows(rows),
            index=position,
            unlabeled=none,
            unlabeled_weights=np.zeros(0),
        )

    def in_double(self) -> LowDensityObjective:
        """Convert the features to float64, if they are few."""
        return replace(self, features=self.features.in_double())

    def in_single(self) -> LowDensityObjective:
        """Convert the features to float32 if that is precise enough to come near a minimum."""
        return replace(self, features=self.features.in_single())

    def weighted(self, factor: float) -> LowDensityObjective:
        """Multiply C* by a factor."""
        return replace(self, unlabeled_weights=factor * self.unlabeled_weights)


def weighted_ranks(scores: Array, among: Array, mass: Array) -> Array:
    """Compute the weighted fraction of the points below each score, with half of ties."""
    order = np.argsort(among, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(mass[order])]) / mass.sum()
    return mean_ranks(scores, among[order], below)


def mean_ranks(scores: Array, among: Array, below: Array) -> Array:
    """Compute the fraction of other points below each score, with half of ties.

    Parameters
    ----------
    scores : ndarray of shape (k,)
    among : ndarray of shape (u,)
        Scores of the other points, ascending.
    below : ndarray of shape (u + 1,)
        Fraction of the first j of them, j = 0, ..., u.
    """
    sides = [np.searchsorted(among, scores, side) for side in ("left", "right")]
    return np.asarray((below[sides[0]] + below[sides[1]]) / 2)
