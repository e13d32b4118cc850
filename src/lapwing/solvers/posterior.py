r"""Posterior variances of a fit, and greedy choice of the points to label by them.

A target at point i with noise of variance :math:`s^2` reduces the sum of the posterior variances of
all points by :math:`\|C_{\cdot i}\|^2 / (C_{ii} + s^2)`, where C is their covariance (D. Cohn,
Z. Ghahramani and M. Jordan, "Active learning with statistical models", Journal of Artificial
Intelligence Research 4, 1996). This does not depend on the value of the target. C can therefore be
updated before the target is known, and the points of a batch are not redundant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lapwing._arrays import Array
from lapwing.linalg import column_dot

_ROUNDING = 1e-9  # relative: smaller differences between gains are rounding errors


class Covariance(NamedTuple):
    r"""Posterior covariance of the values on the points of a fit, in units of :math:`\sigma^2`.

    Attributes
    ----------
    values : ndarray of shape (n, q)
        Covariance of all n points with q of them.
    noise_variance : float
        Variance of a target of weight 1, in the same units.
    """

    values: Array
    noise_variance: float


def reduce_variance(
    covariance: Array, points: Array, noise_variance: float, counts: Array, k: int
) -> Array:
    """Choose k points in O(n q) each, by rank-one updates; the largest reduction first.

    Parameters
    ----------
    covariance : ndarray of shape (n, q)
        Covariance of all points with the candidates; it is overwritten.
    points : ndarray of int of shape (q,)
        The candidates, at least k.
    noise_variance : float
        Variance > 0 of a target's noise.
    counts : ndarray of shape (n,)
        Number of rows at each point.
    k : int

    Returns
    -------
    ndarray of int of shape (k,)
        Chosen points; among equal gains the first.
    """
    C, chosen = covariance, np.zeros(k, dtype=np.intp)
    free, places = np.ones(len(points), dtype=bool), np.arange(len(points))
    for step in range(k):
        explained = column_dot(C, C * counts[:, None])
        gain = explained / (np.maximum(C[points, places], 0) + noise_variance)
        gain[~free] = -1.0
        best = int(np.argmax(gain >= gain.max() * (1 - _ROUNDING)))
        chosen[step], free[best] = points[best], False
        column, own = C[:, best].copy(), max(float(C[points[best], best]), 0.0)
        C -= np.outer(column / (own + noise_variance), column[points])
    return chosen
