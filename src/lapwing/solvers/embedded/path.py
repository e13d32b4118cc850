r"""Leave-one-out of LapERLS on grids of mu, lambda, numbers of eigenvectors and powers of L.

With f and b eliminated the virtual labels are ridge regression on the labels,

.. math:: \tfrac12 z^T P z + \tfrac{\lambda}{2} \sum_i w_i (y_i - v_i^T z)^2, \qquad
          P = H + \mu\, \mathrm{diag}(\sigma^p),

v_i the rows of the eigenvectors V at the labels. H does not depend on mu, lambda and p, and for the
first r eigenvectors it is the leading block. One elimination is therefore needed for each kernel
width and C, one matrix of order r for each setting of mu, r and p, and one eigendecomposition of
V_l P^-1 V_l', of order l, for all lambda.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lapwing._arrays import Array
from lapwing.linalg import FREE_CONSTANT, spd_factor
from lapwing.objectives.embedded import limited_weights
from lapwing.solvers.ridge import Observations, ridge_path


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
