r"""Leave-one-out of kernel ridge regression along all weights of the norm.

Of A = T / gamma + W^-1 the score without an observation is y_i - beta_i / A^-1_ii, and with
W^1/2 T W^1/2 = U diag(s) U' all A^-1 are W^1/2 U diag(gamma / (s + gamma)) U' W^1/2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from lapwing._arrays import Array


@dataclass(frozen=True, eq=False)
class Observations:
    """What is fitted and held out.

    Attributes
    ----------
    index : ndarray of shape (l,)
        Points that they belong to; a point may carry several.
    targets : ndarray of shape (l, c)
    weights : ndarray of shape (l,)
    wanted : ndarray of bool of shape (l,)
        Those to be left out.
    """

    index: Array
    targets: Array
    weights: Array
    wanted: Array


def ridge_left_out(T: Array, gammas: Array, observations: Observations, *, bias: bool) -> Array:
    """Scores of all observations by the solutions without them.

    Parameters
    ----------
    T : ndarray of shape (q, q)
        Kernel matrix of the points.
    gammas : ndarray of shape (a,)
        Weights > 0 of the norm: the kernels are T / gamma.
    observations : Observations
        Whether they are wanted is not looked at.
    bias : bool
        Whether there is an unregularised bias.

    Returns
    -------
    ndarray of shape (a, l, c)
    """
    y, root = observations.targets, np.sqrt(observations.weights)
    at = observations.index
    values, U = sla.eigh(T[np.ix_(at, at)] * np.outer(root, root), check_finite=False)
    U = U * root[:, None]
    gains = gammas[:, None] / (np.maximum(values, 0) + gammas[:, None])  # (a, l)
    diagonal = gains @ (U**2).T
    beta = np.stack([(U * gain) @ (U.T @ y) for gain in gains])
    if bias:
        ones = np.stack([(U * gain) @ U.sum(axis=0) for gain in gains])  # A^-1 1
        total = ones.sum(axis=1)[:, None]
        diagonal = diagonal - ones**2 / total
        beta = beta - ones[:, :, None] * (ones @ y / total)[:, None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(y - beta / diagonal[:, :, None])
