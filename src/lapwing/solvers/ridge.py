r"""Ridge regression on the features of a space, factored once for many targets.

.. math:: \min_{w, b} \tfrac12 |w|^2 + \tfrac C2 |Z w + b - g|^2

with features Z (n x m) and values g on all points: O(n m^2) for the factorisation, then one pass
over Z for each block of values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg as sla

from lapwing._arrays import Array
from lapwing.linalg import Solve, column_dot, spd_factor
from lapwing.spaces.base import Space
from lapwing.spaces.block_operator import Design

_EPS = float(np.finfo(np.float64).eps)


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
    rank = int(np.count_nonzero(values > _rounding(values)))
    lost = digits_lost(values.sum() / gammas) & (rank < l)
    U = U * root[:, None]
    exact = np.tile(np.maximum(values, 0), (len(gammas), 1))
    exact[lost, : l - rank] = 0
    gains = gammas[:, None] / (exact + gammas[:, None])  # (a, l)
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
        left_out = np.asarray(y - beta / diagonal[:, :, None])
    if lost.any():
        F, _ = _features(values, U, observations.weights)
        for i, (w, b) in enumerate(_refits(F, gammas[lost], observations, bias=bias)):
            left_out[lost, i] = F[i] @ w + b
    return RidgePath(left_out, np.asarray(-each.sum(axis=1) / 2))


def digits_lost(trace: Array) -> Array:
    """Return whether the inverse of T + W^-1 may have lost more than half of the digits.

    Parameters
    ----------
    trace : ndarray
        Trace of W T, a bound of the condition number of W^1/2 T W^1/2 + I.
    """
    return np.asarray(trace * _EPS > np.sqrt(_EPS))


def ridge_left_out_fits(T: Array, observations: Observations, *, bias: bool) -> tuple[Array, Array]:
    """Solve without each observation in turn, for one column.

    Parameters
    ----------
    T : ndarray of shape (l, l)
        Kernel matrix of the observations.
    observations : Observations
        `index` and `wanted` are ignored.
    bias : bool

    Returns
    -------
    tuple of ndarray
        Expansion coefficients (l, l) and intercepts (l,), a column for each solution.
    """
    root = np.sqrt(observations.weights)
    values, U = sla.eigh(T * np.outer(root, root), check_finite=False)
    F, lift = _features(values, U * root[:, None], observations.weights)
    fits = [(w[0, :, 0], b[0, 0]) for w, b in _refits(F, np.ones(1), observations, bias=bias)]
    coef, intercepts = zip(*fits, strict=True)
    return lift @ np.stack(coef, axis=1), np.array(intercepts)


def _rounding(values: Array) -> float:
    """Return the size of eigenvalues or singular values that are rounding errors."""
    return float(len(values) * _EPS * values.max(initial=0))


def _features(values: Array, U: Array, weights: Array) -> tuple[Array, Array]:
    """Factor T = F F' by the eigenvectors W^-1/2 U of W^1/2 T W^1/2, ascending.

    Returns F (l, r), where r is the rank, and the matrix (l, r) from coefficients of F to those of
    expansions.
    """
    kept = values > _rounding(values)
    sizes = np.sqrt(values[kept])
    return U[:, kept] * sizes / weights[:, None], U[:, kept] / sizes


def _refits(
    F: Array, gammas: Array, observations: Observations, *, bias: bool
) -> Iterator[tuple[Array, Array]]:
    """Yield coefficients (a, r, c) and intercepts (a, c) without each observation in turn.

    The condition number is the root of that of T + W^-1, and the rank is that of the other rows.
    """
    y = observations.targets
    for i in range(len(F)):
        rest = np.arange(len(F)) != i
        w = observations.weights[rest]
        shares = w / w.sum() if bias and len(w) else np.zeros(len(w))
        mean, offset, root = shares @ F[rest], shares @ y[rest], np.sqrt(w)[:, None]
        U, s, V = sla.svd((F[rest] - mean) * root, full_matrices=False, check_finite=False)
        s = np.where(s > _rounding(s), s, 0)
        gains = s / (s**2 + gammas[:, None])
        coef = V.T @ (gains[:, :, None] * (U.T @ ((y[rest] - offset) * root)))
        yield coef, offset - mean @ coef
