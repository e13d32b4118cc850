r"""Posterior variances and leave-one-out fits of LapERLS, as a Gaussian process.

The objective is :math:`-\sigma^2` times the logarithm of a density of the function f and the
virtual labels g = basis z: a joint normal prior, and normal errors of variance
:math:`\sigma^2 / \Lambda_i` of targets about g (Rasmussen and Williams 2006, section 2.7). With
f eliminated (`KernelSide`), z given the targets has the covariance :math:`\sigma^2 (H + S)^{-1}`,
and f(x) given z has the mean a'z. The variance of f(x) is the sum of the variances of a'z and of
f(x) given z.
"""

from __future__ import annotations

import numpy as np

from lapwing._arrays import Array
from lapwing.linalg import FREE_CONSTANT, column_dot, spd_halves
from lapwing.objectives.embedded import GraphSide
from lapwing.solvers.base import Covariance, Posterior
from lapwing.solvers.embedded.systems import KernelSide
from lapwing.solvers.penalized import ALONE


def posterior(kernel: KernelSide, side: GraphSide, rows: Array, given_labels: Array) -> Posterior:
    r"""Compute posterior variances of f, with the noise variance of restricted maximum likelihood.

    :math:`\sigma^2` is twice the minimum of the objective over l, or over l - 1 if neither the norm
    nor the graph penalises constants; it is the variance of a target with :math:`\Lambda_i = 1`.

    Parameters
    ----------
    kernel : KernelSide
    side : GraphSide
        With one column of targets.
    rows : ndarray of shape (q, r)
        Rows that map virtual labels to the mean of f at the points of the result.
    given_labels : ndarray of shape (q,)
        Variances of f given the virtual labels, in units of the noise variance.
    """
    forward, backward = spd_halves(kernel.system(side))
    z = backward(forward(side.pull))
    twice = 2 * side.energy(z)[0] + column_dot(z, kernel.curvature @ z)[0]
    noise = float(max(twice, 0.0) / max(len(side.index) - _constant_is_free(kernel, side), 1))
    half = forward(rows.T)
    variance = np.maximum(given_labels, 0) + column_dot(half, half)
    return Posterior(noise * variance, noise)


def covariance(kernel: KernelSide, side: GraphSide, points: Array, lam: float) -> Covariance:
    """Compute the posterior covariance of the virtual labels of all points with those of some.

    Parameters
    ----------
    kernel : KernelSide
    side : GraphSide
    points : ndarray of int of shape (q,)
    lam : float
        Value of Lambda_i for a target of weight 1.
    """
    forward, backward = spd_halves(kernel.system(side))
    return Covariance(side.values(backward(forward(side.rows(points).T))), 1 / lam)


def _constant_is_free(kernel: KernelSide, side: GraphSide) -> bool:
    """Return whether adding a constant to f and g leaves the regularisers unchanged."""
    H, r = kernel.curvature, len(side.curvature)
    n = r if side.basis is None else len(side.basis)
    ones = side.adjoint(np.ones((n, 1)))
    cost = column_dot(ones, H @ ones + side.smoothness(ones))[0]
    return bool(cost <= FREE_CONSTANT * np.trace(H) / r * column_dot(ones, ones)[0])


def left_out_coefficients(kernel: KernelSide, side: GraphSide) -> Array:
    r"""Compute left-out coefficients z (r, l) of the virtual labels, by one factorisation.

    With the row :math:`u_i` of the basis at target i and its leverage :math:`h_i = \Lambda_i
    u_i'(H + S)^{-1} u_i`, the fit without the target equals the fit with the target replaced by
    :math:`y_i - (y_i - g_i) / (1 - h_i)`. NaN if no other target or term determines the value.

    Parameters
    ----------
    kernel : KernelSide
    side : GraphSide
        With one column of targets.
    """
    forward, backward = spd_halves(kernel.system(side))
    root = np.sqrt(side.weights)
    half = forward(side.rows(side.index).T * root)
    z, leverage = backward(forward(side.pull)), column_dot(half, half)
    free = np.where(1 - leverage >= ALONE, 1 - leverage, np.nan)
    return np.asarray(z - backward(half) * (root * side.misfit(z)[:, 0] / free))
