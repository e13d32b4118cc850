r"""Weighted least squares with a quadratic penalty, for few coordinates and many columns.

.. math:: \min_a \sum_i w_i (y_i - \phi_i^T a)^2 + a^T P a

is solved by (F'diag(w)F + P) a = F'diag(w)y, where the rows of the design F are phi_i and P is
positive semi-definite. If the matrix is singular, the solution of minimum norm is returned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from lapwing._arrays import Array, Matrix, as_dense, is_sparse
from lapwing.classes.decoding import of_each_class
from lapwing.linalg import spd_factor

# Maximum number of observations to leave out, or m if it is larger: leaving out all of many
# observations would take longer than the fit.
_MOST_LEFT_OUT = 500
# Least 1 - h, which leaves half of the digits of float64. Below it the observation alone determines
# the value at its point.
ALONE = 1e-8


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Solution of a penalised least-squares problem.

    Attributes
    ----------
    coef : ndarray of shape (m, c), float64
    objective : ndarray of shape (c,)
        Minimum of each column.
    inverse : callable (m, k) -> (m, k)
        Inverse of the system, on its range.
    """

    coef: Array
    objective: Array
    inverse: Callable[[Array], Array]


def penalized_least_squares(
    design: Matrix, targets: Array, weights: Array, penalty: Array
) -> LeastSquares:
    """Solve the problem in O(l m^2 + m^3) for l labelled points and m coordinates.

    Parameters
    ----------
    design : ndarray or sparse of shape (l, m)
    targets : ndarray of shape (l, c)
    weights : ndarray of shape (l,)
        Weights >= 0.
    penalty : ndarray of shape (m, m)
        Symmetric positive semi-definite. It is not modified.
    """
    weighted = (
        design.multiply(weights[:, None]).tocsr()
        if is_sparse(design)
        else (design * weights[:, None])
    )
    gram = weighted.T @ design
    system = penalty + as_dense(gram)
    system = (system + system.T) / 2
    inverse = spd_factor(system, may_be_singular=True)
    coef = inverse(np.asarray(weighted.T @ targets, dtype=np.float64))
    residual = targets - design @ coef
    objective = weights @ residual**2 + np.einsum("mc,mc->c", coef, penalty @ coef)
    return LeastSquares(coef, np.asarray(objective), inverse)


def left_out_values(fit: LeastSquares, design: Matrix, targets: Array, weights: Array) -> Array:
    """Compute left-out values (l, c) of each observation, exactly.

    With h_i = w_i phi_i' H^-1 phi_i they are (f_i - h_i y_i) / (1 - h_i). NaN if an observation
    alone determines the value at its point. If l is larger than m and 500, the values of a subset
    of max(m, 500) observations are computed, and the others are NaN.

    Parameters
    ----------
    fit : LeastSquares
    design : ndarray or sparse of shape (l, m)
    targets : ndarray of shape (l, c)
    weights : ndarray of shape (l,)
        The arguments of the fit.
    """
    n, m = design.shape
    some = np.unique(np.linspace(0, n - 1, min(n, max(m, _MOST_LEFT_OUT))).round().astype(np.intp))
    rows = design[some]
    dense = as_dense(rows)
    leverage = weights[some] * np.einsum("lm,ml->l", dense, fit.inverse(dense.T))
    leverage[1 - leverage < ALONE] = np.nan
    values = np.full(targets.shape, np.nan)
    pull = leverage[:, None]
    values[some] = (dense @ fit.coef - pull * targets[some]) / (1 - pull)
    return values


@dataclass(frozen=True, eq=False)
class AnchorValues:
    """Values at the anchors.

    Attributes
    ----------
    values : ndarray of shape (m, c)
        Values for each column of the targets.
    objective : ndarray of shape (c,)
        Minimum of sum_i w_i (y_i - (Za)_i)^2 + gamma a'Z'LZ a.
    left_out : callable () -> ndarray of shape (l, c)
        Value at each labelled point by the fit without its label; NaN if there is no such fit.
    """

    values: Array
    objective: Array
    left_out: Callable[[], Array]


def anchor_values(
    labeled_rows: Array,
    targets: Array,
    weights: Array,
    smoothness: Array,
    gamma_I: float,
    reached: Array,
) -> AnchorValues:
    """Fit values at the anchors to the labels.

    Parameters
    ----------
    labeled_rows : csr_array of shape (l, m)
        Z at the labelled points.
    targets : ndarray of shape (l, c)
        Labels, -1 and +1.
    weights : ndarray of shape (l,)
        Weights > 0.
    smoothness : ndarray of shape (m, m)
        Z'LZ.
    gamma_I : float
        gamma.
    reached : ndarray of bool of shape (m,)
        Anchors of components with a labelled point. The others, a null space of the system, are
        left out of it, and their value is the weighted mean of the targets.
    """
    values = np.tile(weights @ targets / weights.sum(), (len(reached), 1))
    part = np.flatnonzero(reached)
    rows = labeled_rows[:, part]
    fit = penalized_least_squares(rows, targets, weights, gamma_I * smoothness[np.ix_(part, part)])
    values[part] = fit.coef
    left_out = partial(left_out_values, fit, rows, targets, weights)
    return AnchorValues(values, fit.objective, left_out)


def mass_scales(values: Array, masses: Array, targets: Array) -> Array:
    """Compute factors that give the classes equal masses.

    Only anchors of components with a labelled point are used.

    Parameters
    ----------
    values : ndarray of shape (m, c)
        Values at the anchors for labels -1 and +1; one column for two classes.
    masses : ndarray of shape (m,)
        Z'1.
    targets : ndarray of shape (l, c)
        Labels, -1 and +1.

    Returns
    -------
    ndarray of shape (k,)
        (n / k) / sum_i (Z M)_ij with the memberships M of the k classes; 1 for equal masses.
    """
    members, labels = (1 + of_each_class(values)) / 2, (1 + of_each_class(targets)) / 2
    mass = masses @ members
    # Memberships may be negative, and so may their sum over all points. The mass is then the
    # number of labels of the class, to which the memberships of the labelled points sum.
    mass = np.where(mass > 0, mass, labels.sum(axis=0))
    return np.asarray(masses.sum() / len(mass) / mass)


def normalize_masses(values: Array, scales: Array) -> Array:
    """Divide memberships by the masses of their classes.

    Parameters
    ----------
    values : ndarray of shape (m, c)
        Values for labels -1 and +1; one column for two classes.
    scales : ndarray of shape (k,)
        Result of `mass_scales`.

    Returns
    -------
    ndarray of shape (m, c)
        Values 2 s - 1, where s is membership times scale; for two classes the difference of the
        two s.
    """
    members = (1 + of_each_class(values)) / 2
    shares = members * scales
    if members.shape[1] > values.shape[1]:  # one column for two classes
        return np.asarray(shares[:, 1:] - shares[:, :1])
    return np.asarray(2 * shares - 1)
