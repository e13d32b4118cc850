r"""Leave-one-out of LapERLS along mu, lambda, the eigenvectors and the powers of a graph.

With f and b eliminated the virtual labels are ridge regression on the labels,

.. math:: \tfrac12 z^T P z + \tfrac{\lambda}{2} \sum_i w_i (y_i - v_i^T z)^2, \qquad
          P = H + \mu\, \mathrm{diag}(\sigma^p),

v_i the rows of the eigenvectors V at the labels. H knows none of mu, lambda and p, and on the first
r eigenvectors it is its own leading block. So a kernel width and C take one elimination, a setting
of mu, r and p one matrix of order r, and all lambda one eigendecomposition of V_l P^-1 V_l' of the
labels' size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lapwing._arrays import Array
from lapwing.linalg import spd_factor
from lapwing.objectives.embedded import limited_weights
from lapwing.solvers.ridge import Observations, ridge_path

_FREE = 1e-12  # relative: below this a bias takes constants for nothing


@dataclass(frozen=True, eq=False)
class SpectralPath:
    """Kernel side of one width and C on the eigenvectors of one graph.

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
        """Compute left-out virtual labels of the observations.

        Parameters
        ----------
        n_eigenvectors : int
        power : int
        mu : float
        lams : ndarray of shape (a,)

        Returns
        -------
        ndarray of shape (a, l, c)
            NaN where not wanted, and where a problem has no solution.
        """
        observations, l = self.observations, len(self.rows)
        T, free = self._kernel(n_eigenvectors, power, mu)
        values = np.full((len(lams), *observations.targets.shape), np.nan)
        if not np.isfinite(T).all():
            return values
        # T is of the observations, of which a point may have several.
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
        free = bool(c @ P @ c <= _FREE * size * (c @ c))
        if free:
            # Any weight of constants will do where they are free (P c = 0 only if V c is constant).
            P += np.outer(c, c) * (size / (c @ c))
        rows = self.rows[:, :r]
        T = rows @ spd_factor(P)(rows.T)
        return (T + T.T) / 2, free


def _left_out(T: Array, gammas: Array, observations: Observations, free: bool) -> Array:
    return ridge_path(T, gammas, observations, bias=free, constant=free).left_out
