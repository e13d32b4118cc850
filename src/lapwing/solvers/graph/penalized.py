r"""Weighted least squares with a quadratic penalty, in few coordinates and for all columns at once.

.. math:: \min_a \sum_i w_i (y_i - \phi_i^T a)^2 + a^T P a

is solved by (F'diag(w)F + P) a = F'diag(w)y, F the design with the rows phi_i and P positive
semi-definite. Where the matrix is singular the solution of least norm is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sla

from lapwing._arrays import Array, is_sparse

# Beyond so many observations a coordinate, leaving all of them out would take longer than the fit.
_FEW = 500
_ALONE = 1e-8  # of 1 - h: what an observation leaves to all others


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Solution of a penalised least squares problem.

    Attributes
    ----------
    coef : ndarray of shape (m, c), float64
    objective : ndarray of shape (c,)
        Minimum, a column.
    rank : int
        Rank of the system in its arithmetic; m unless it is singular.
    inverse : callable (m, k) -> (m, k)
        Of the system, on its range.
    """

    coef: Array
    objective: Array
    rank: int
    inverse: Callable[[Array], Array]


def penalized_least_squares(
    design: Any, targets: Array, weights: Array, penalty: Array
) -> LeastSquares:
    """Solve in O(l m^2 + m^3), l labelled points and m coordinates.

    Parameters
    ----------
    design : ndarray or sparse of shape (l, m)
    targets : ndarray of shape (l, c)
    weights : ndarray of shape (l,)
        Not negative.
    penalty : ndarray of shape (m, m)
        Symmetric positive semi-definite. It is not modified.
    """
    weighted = (
        design.multiply(weights[:, None]).tocsr()
        if is_sparse(design)
        else (design * weights[:, None])
    )
    gram = weighted.T @ design
    system = penalty + (gram.toarray() if is_sparse(gram) else gram)
    system = (system + system.T) / 2
    inverse, rank = _inverse_of(system)
    coef = inverse(np.asarray(weighted.T @ targets, dtype=np.float64))
    residual = targets - design @ coef
    objective = weights @ residual**2 + np.einsum("mc,mc->c", coef, penalty @ coef)
    return LeastSquares(coef, np.asarray(objective), rank, inverse)


def left_out_values(fit: LeastSquares, design: Any, targets: Array, weights: Array) -> Array:
    """Values (l, c) at each observation by the fit without it, exactly.

    With h_i = w_i phi_i' H^-1 phi_i they are (f_i - h_i y_i) / (1 - h_i). NaN where an observation
    alone decides the value at its place, and for some where there are far more of them than
    coordinates.

    Parameters
    ----------
    fit : LeastSquares
    design : ndarray or sparse of shape (l, m)
    targets : ndarray of shape (l, c)
    weights : ndarray of shape (l,)
        What it was fitted to.
    """
    n, m = design.shape
    some = np.unique(np.linspace(0, n - 1, min(n, max(m, _FEW))).round().astype(np.intp))
    rows = design[some]
    dense = rows.toarray() if is_sparse(rows) else np.asarray(rows)
    leverage = weights[some] * np.einsum("lm,ml->l", dense, fit.inverse(dense.T))
    leverage[1 - leverage < _ALONE] = np.nan
    values = np.full(targets.shape, np.nan)
    pull = leverage[:, None]
    values[some] = (dense @ fit.coef - pull * targets[some]) / (1 - pull)
    return values


def _inverse_of(H: Array) -> tuple[Callable[[Array], Array], int]:
    """H^-1 by Cholesky, or on the range of H where that has too few digits; and the rank.

    Cholesky's factorisation of a singular H may go through, with pivots of rounding; its
    reciprocal condition number tells. (LDL' and QR would not give the least norm.)
    """
    m = len(H)
    eps = float(np.finfo(H.dtype).eps)
    try:
        factor, lower = sla.cho_factor(H, lower=True, check_finite=False)
    except sla.LinAlgError:
        pass
    else:
        norm = float(np.abs(H).sum(axis=0).max())
        rcond, _ = sla.lapack.dpocon(factor, norm, uplo="L")
        if rcond > 10 * m * eps:
            return lambda B: np.asarray(sla.cho_solve((factor, lower), B, check_finite=False)), m
    values, vectors = sla.eigh(H, check_finite=False)
    keep = values > 10 * m * eps * values[-1]
    vectors, values = vectors[:, keep], values[keep]
    return lambda B: np.asarray(vectors @ ((vectors.T @ B) / values[:, None])), len(values)
