r"""LapERLS as a Gaussian process: posterior variances, and leave-one-out of one fit and of grids.

The objective is :math:`-\sigma^2` times the logarithm of a density of the function f and the
virtual labels g = basis z: a joint normal prior, and normal errors of variance
:math:`\sigma^2 / \Lambda_i` of targets about g (Rasmussen and Williams 2006, section 2.7). With
f eliminated (`KernelSide`), z given the targets has the covariance :math:`\sigma^2 (H + S)^{-1}`,
and f(x) given z has the mean a'z. The variance of f(x) is the sum of the variances of a'z and of
f(x) given z.

With f and b eliminated the virtual labels are ridge regression on the labels,

.. math:: \tfrac12 z^T P z + \tfrac{\lambda}{2} \sum_i w_i (y_i - v_i^T z)^2, \qquad
          P = H + \mu\, \mathrm{diag}(\sigma^p),

v_i the rows of the eigenvectors V at the labels. H does not depend on mu, lambda and p, and for the
first r eigenvectors it is the leading block. On a grid (`SpectralPath`) one elimination is
therefore needed for each kernel width and C, one matrix of order r for each setting of mu, r and p,
and one eigendecomposition of V_l P^-1 V_l', of order l, for all lambda.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lapwing._arrays import Array
from lapwing.linalg import FREE_CONSTANT, Solve, column_dot, spd_factor, spd_halves
from lapwing.objectives.embedded import GraphSide, limited_weights
from lapwing.solvers.embedded.systems import KernelSide
from lapwing.solvers.penalized import ALONE
from lapwing.solvers.posterior import Covariance
from lapwing.solvers.ridge import Observations, ridge_path

_LARGEST_LEVERAGE = 0.99  # larger ones lose more than two digits in the closed form


def posterior_variances(
    kernel: KernelSide, side: GraphSide, rows: Array, given_labels: Array
) -> Array:
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
    return np.asarray(noise * variance)


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


class LeftOutLabels(NamedTuple):
    """Left-out virtual labels of the observations."""

    values: Array  # (l, c)
    reliable: Array  # (l,) bool: whether digits are left


class _Leverages(NamedTuple):
    """Solution with the leverages of the observations."""

    coef: Array  # z (r, c)
    halves: Array  # (r, l): columns B u_i sqrt(Lambda_i) with (H + S)^-1 = B'B
    leverage: Array  # h_i = Lambda_i u_i'(H + S)^-1 u_i
    backward: Solve  # B'

    @classmethod
    def of(cls, kernel: KernelSide, side: GraphSide) -> _Leverages:
        forward, backward = spd_halves(kernel.system(side))
        halves = forward(side.rows(side.index).T * np.sqrt(side.weights))
        coef = backward(forward(side.pull))
        return cls(coef, halves, column_dot(halves, halves), backward)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # such values are not `reliable`
def left_out_values(kernel: KernelSide, side: GraphSide) -> LeftOutLabels:
    """Compute left-out virtual labels of all observations, in O(l r^2 + r^3)."""
    z, _, leverage, _ = _Leverages.of(kernel, side)
    reliable = leverage <= _LARGEST_LEVERAGE
    ratio = np.where(reliable, leverage / (1 - leverage), 0.0)
    values = side.values_at(side.index, z)
    return LeftOutLabels(values - ratio[:, None] * (side.targets - values), reliable)


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
    z, halves, leverage, backward = _Leverages.of(kernel, side)
    free = np.where(1 - leverage >= ALONE, 1 - leverage, np.nan)
    return z - backward(halves) * (np.sqrt(side.weights) * side.misfit(z)[:, 0] / free)


@dataclass(frozen=True, eq=False)
class SpectralPath:
    """Kernel side for one kernel width and C, on the eigenvectors of one graph.

    Attributes
    ----------
    curvature : ndarray of shape (r, r)
        H.
    eigenvalues : ndarray of shape (r,)
        sigma, ascending.
    rows : ndarray of shape (l, r)
        V at the observations.
    constants : ndarray of shape (r,)
        V'1.
    C : float
    observations : Observations
    """

    curvature: Array
    eigenvalues: Array
    rows: Array
    constants: Array
    C: float
    observations: Observations

    def left_out(self, n_eigenvectors: int, power: int, mu: float, lams: Array) -> Array:
        """Compute the virtual label of each observation by the fit without it.

        Parameters
        ----------
        n_eigenvectors : int
        power : int
        mu : float
        lams : ndarray of shape (a,)

        Returns
        -------
        ndarray of shape (a, l, c)
            NaN if not wanted, or if the problem has no solution.
        """
        observations, l = self.observations, len(self.rows)
        T, free = self._kernel(n_eigenvectors, power, mu)
        values = np.full((len(lams), *observations.targets.shape), np.nan)
        if not np.isfinite(T).all():
            return values
        # Rows of T are observations, not points: a point may have several.
        weights = observations.weights
        each = replace(observations, index=np.arange(l))
        limited = [limited_weights(lam, weights, self.C, mu) for lam in lams.tolist()]
        plain = np.array([(w == lam * weights).all() for lam, w in zip(lams, limited, strict=True)])
        if plain.any():
            values[plain] = _left_out(T, 1 / lams[plain], each, free)
        for a in np.flatnonzero(~plain).tolist():
            cut_off = replace(each, weights=limited[a])
            values[a] = _left_out(T, np.ones(1), cut_off, free)[0]
        return np.where(observations.wanted[:, None], values, np.nan)

    def _kernel(self, r: int, power: int, mu: float) -> tuple[Array, bool]:
        """Compute V_l P^-1 V_l' (l, l), and return whether constants are free."""
        P = np.array(self.curvature[:r, :r], dtype=np.float64, order="F")
        P.flat[:: r + 1] += mu * np.maximum(self.eigenvalues[:r], 0.0) ** power
        c, size = self.constants[:r], float(np.trace(P)) / r
        free = bool(c @ P @ c <= FREE_CONSTANT * size * (c @ c))
        if free:
            # If constants are free, any weight of them gives the same result (P c = 0 only if V c
            # is constant).
            P += np.outer(c, c) * (size / (c @ c))
        rows = self.rows[:, :r]
        T = rows @ spd_factor(P)(rows.T)
        return (T + T.T) / 2, free


def _left_out(T: Array, gammas: Array, observations: Observations, free: bool) -> Array:
    return ridge_path(T, gammas, observations, bias=free, constant=free).left_out
