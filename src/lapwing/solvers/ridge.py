r"""Ridge regression on the features of a space, factored once for many targets.

.. math:: \min_{w, b} \tfrac12 |w|^2 + \tfrac C2 |Z w + b - g|^2

with features Z (n x m) and values g on all points: O(n m^2) for the factorisation, then one pass
over Z for each block of values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg as sla

from lapwing._arrays import Array
from lapwing.linalg import Solve, column_dot, spd_factor
from lapwing.spaces.base import Space
from lapwing.spaces.block_operator import Design


@dataclass(frozen=True, eq=False)
class FunctionRegression:
    """Factored ridge regression of values on features, with or without an unpenalised bias."""

    space: Space
    C: float
    fit_intercept: bool
    design: Design
    solve: Solve

    @classmethod
    def factor(
        cls, space: Space, C: float, fit_intercept: bool, matrix: Array | None = None
    ) -> FunctionRegression:
        """Factor the normal equations; their matrix takes a pass over the points unless given."""
        n = space.n_points
        design = space.design().lifted(C * n)
        if matrix is None:
            matrix = design.normal_matrix(np.full(n, C), bias=fit_intercept)
        return cls(space, C, fit_intercept, design, spd_factor(matrix))

    def regress(self, g: Array) -> tuple[Array, Array]:
        """Solve min 1/2 |w|^2 + C/2 |Z w + b - g|^2 for coefficients w and bias b."""
        m = self.space.n_coef
        right = np.zeros((m + self.fit_intercept, g.shape[1]))
        right[:m] = self.design.adjoint(g)
        if self.fit_intercept:
            right[m] = g.sum(axis=0)
        theta = self.solve(self.C * right)
        return theta[:m], theta[m] if self.fit_intercept else np.zeros(g.shape[1])

    def inverse(self, g: Array) -> Array:
        """Compute P^-1 g = C (g - f), where f is the regression of g."""
        w, b = self.regress(g)
        image = np.empty_like(g)
        for rows, values in self.design.values(w):
            image[rows] = self.C * (g[rows] - values - b)
        return image

    def squares(self, g: Array, w: Array, b: Array) -> Array:
        """Sum the squared residuals of a regression for each column."""
        total = np.zeros(g.shape[1])
        for rows, values in self.design.values(w):
            residual = g[rows] - values - b
            total += column_dot(residual, residual)
        return total


@dataclass(frozen=True, eq=False)
class Observations:
    """Observations for training, and which of them to leave out.

    Attributes
    ----------
    index : ndarray of shape (l,)
        Point of each observation; a point may have several.
    targets : ndarray of shape (l, c)
    weights : ndarray of shape (l,)
    wanted : ndarray of bool of shape (l,)
        Observations to leave out.
    """

    index: Array
    targets: Array
    weights: Array
    wanted: Array


class RidgePath(NamedTuple):
    """Ridge regressions for several weights of the norm.

    Attributes
    ----------
    left_out : ndarray of shape (a, l, c)
        Score of each observation by the solution without it.
    log_likelihood : ndarray of shape (a,)
        Restricted log likelihood of the targets, summed over columns; see `ridge_path`.
    """

    left_out: Array
    log_likelihood: Array


def ridge_path(
    T: Array, gammas: Array, observations: Observations, *, bias: bool, constant: bool
) -> RidgePath:
    r"""Compute left-out scores and likelihoods for all weights by one eigendecomposition.

    The solution is the posterior mean of a Gaussian process of covariance
    :math:`\sigma^2 T / \gamma` observed with noise of variance :math:`\sigma^2 / w_i`. With
    :math:`A = T / \gamma + W^{-1}` and :math:`B = A^{-1} - A^{-1} 1 1' A^{-1} / 1' A^{-1} 1`,
    the log likelihood of all differences of the targets, with the maximum likelihood estimate
    :math:`\sigma^2 = y'By / (l - 1)`, is

    .. math:: -\tfrac12 \big[(l - 1) (1 + \log 2 \pi \sigma^2) + \log |A|
              + \log 1' A^{-1} 1 - \log l \big]

    (restricted maximum likelihood [1]_). It does not depend on the mean of the targets, so that
    kernels that include a bias can be compared with kernels used beside a free bias. Without a
    constant, B is :math:`A^{-1}`, l replaces l - 1, and the last two terms are dropped.

    Parameters
    ----------
    T : ndarray of shape (q, q)
        Kernel matrix of the points.
    gammas : ndarray of shape (a,)
        Weights > 0 of the norm: the kernels are T / gamma.
    observations : Observations
        `wanted` is ignored: all are left out.
    bias : bool
        Whether there is an unregularised bias.
    constant : bool
        Whether the functions include a constant, as a free bias or as part of the kernel.

    References
    ----------
    .. [1] D. A. Harville, "Maximum likelihood approaches to variance component estimation and to
       related problems", Journal of the American Statistical Association 72, 1977.
    """
    y, root = observations.targets, np.sqrt(observations.weights)
    at, l = observations.index, len(observations.index)
    values, U = sla.eigh(T[np.ix_(at, at)] * np.outer(root, root), check_finite=False)
    U = U * root[:, None]
    gains = gammas[:, None] / (np.maximum(values, 0) + gammas[:, None])  # (a, l)
    diagonal = gains @ (U**2).T
    beta = np.stack([(U * gain) @ (U.T @ y) for gain in gains])  # A^-1 y
    ones = np.stack([(U * gain) @ U.sum(axis=0) for gain in gains])  # A^-1 1
    total = ones.sum(axis=1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        without = beta - ones[:, :, None] * (ones @ y / total)[:, None, :]  # B y
        free, volume = l - constant, -np.log(gains).sum(axis=1) - 2 * np.log(root).sum()
        if constant:
            volume = volume + np.log(total[:, 0] / l)
        pull = np.einsum("lc,alc->ac", y, without if constant else beta)
        each = free * (1 + np.log(2 * np.pi * pull / max(free, 1))) + volume[:, None]
        if bias:
            diagonal, beta = diagonal - ones**2 / total, without
        return RidgePath(
            np.asarray(y - beta / diagonal[:, :, None]), np.asarray(-each.sum(axis=1) / 2)
        )
