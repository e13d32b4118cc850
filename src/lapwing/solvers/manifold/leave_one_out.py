"""Leave-one-out values of the supervised problem on labelled points.

With piecewise quadratic losses they follow from the solution (`lapwing.solvers.manifold.pieces`).
Everything else is fitted again, on l - 1 labels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from lapwing._arrays import Array
from lapwing.losses.base import Kind
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.manifold.dual import solve_reduced
from lapwing.solvers.manifold.pieces import follow_pieces
from lapwing.solvers.manifold.protocol import DEFAULTS, Settings


def left_out_values(
    reduced: Objective,
    solution: State,
    wanted: Array,
    settings: Settings = DEFAULTS,
) -> Array:
    """Score of every observation by the solution without it.

    Parameters
    ----------
    reduced : Objective
        On the kernel matrix of the labelled points, with gamma_A = 1, without a graph.
    solution : State
        Its minimum.
    wanted : ndarray of bool of shape (l,)
        Observations to be left out.
    settings : Settings, optional
        Of the solver, where a problem has to be solved again.

    Returns
    -------
    ndarray of shape (l, c)
        NaN where not wanted.
    """
    values = reduced.labeled(solution.values).astype(np.float64)
    open_ones = np.broadcast_to(wanted[:, None], values.shape).copy()
    if reduced.loss.kind is Kind.PIECEWISE_QUADRATIC:
        values, open_ones = follow_pieces(reduced, values, open_ones)
    for i in np.flatnonzero(open_ones.any(axis=1)).tolist():
        columns = np.flatnonzero(open_ones[i])
        values[i, columns] = _again(reduced, i, columns, settings)
    return np.where(wanted[:, None], values, np.nan)


def _again(reduced: Objective, i: int, columns: Array, settings: Settings) -> Array:
    kept = np.arange(len(reduced.index)) != i
    rest = replace(
        reduced,
        index=reduced.index[kept],
        targets=reduced.targets[np.ix_(kept, columns)],
        weights=reduced.weights[kept],
    )
    found = solve_reduced(rest, settings)
    return np.asarray(found.state.values[reduced.index[i]])


def one_step_values(reduced: Objective, kernel: Array, scores: Array) -> Array:
    """Score of every observation by a Newton step to the solution without it.

    Parameters
    ----------
    reduced : Objective
        On the labelled points, with gamma_A = 1, without a graph; of a loss with a derivative.
    kernel : ndarray of shape (q, q)
        The kernel matrix of its points.
    scores : ndarray of shape (l, c)
        Of the observations at its minimum.

    Returns
    -------
    ndarray of shape (l, c)
        NaN where a matrix has no inverse in double precision.
    """
    y, w, loss = reduced.targets, reduced.weights[:, None], reduced.loss
    scores = np.asarray(scores, dtype=np.float64)
    slopes, curvatures = w * loss.derivative(y, scores), w * loss.curvature(y, scores)
    T = kernel[np.ix_(reduced.index, reduced.index)]
    values = scores.copy()  # without a pull nothing changes
    patterns, group = np.unique(curvatures, axis=1, return_inverse=True)
    for number, d in enumerate(patterns.T):
        columns, E = np.flatnonzero(group.ravel() == number), np.flatnonzero(d)
        if not len(E):
            continue
        diagonal = _inverse_diagonal(T[np.ix_(E, E)], d[E], bias=reduced.fit_intercept)
        at = np.ix_(E, columns)
        values[at] = scores[at] - slopes[at] / d[E][:, None] + slopes[at] / diagonal[:, None]
    return values


class LeftOutSolutions(NamedTuple):
    """Solutions of a squared loss without each observation, one column each.

    Attributes
    ----------
    coef : ndarray of shape (q, l)
        Of the kernel's points.
    intercept : ndarray of shape (l,)
    """

    coef: Array
    intercept: Array


def ridge_left_out_solutions(reduced: Objective, kernel: Array) -> LeftOutSolutions | None:
    r"""All solutions with one observation less, by one inverse.

    With :math:`B` the inverse of :math:`T_{LL} + W^{-1}`, projected beside a free bias,
    :math:`\beta = B y` and :math:`r_i = \beta_i / B_{ii}` the left-out residual, the fit without i
    is that to :math:`y_i - r_i` in place of :math:`y_i`: :math:`\beta - r_i B e_i`.

    Parameters
    ----------
    reduced : Objective
        On the labelled points, with gamma_A = 1, without a graph; of the squared loss, one column.
    kernel : ndarray of shape (q, q)
        The kernel matrix of its points.

    Returns
    -------
    LeftOutSolutions or None
        None where there is one observation, or no inverse in double precision.
    """
    l, y = len(reduced.index), reduced.targets[:, 0]
    A = kernel[np.ix_(reduced.index, reduced.index)].copy()
    A.flat[:: l + 1] += 1 / reduced.weights
    factor, failed = lapack.dpotrf(A, lower=1, overwrite_a=1)
    if failed or l < 2:
        return None
    lower, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    B = np.tril(lower) + np.tril(lower, -1).T
    bias = np.zeros(l)
    if reduced.fit_intercept:
        sums = B.sum(axis=0)
        bias = sums / sums.sum()
        B = B - np.outer(sums, bias)
    beta, diagonal = B @ y, np.diag(B)
    if not (diagonal > 0).all():
        return None
    residuals = beta / diagonal
    coef = np.zeros((len(kernel), l))
    np.add.at(coef, reduced.index, beta[:, None] - B * residuals)
    return LeftOutSolutions(coef, bias @ y - bias * residuals)


def _inverse_diagonal(T: Array, d: Array, *, bias: bool) -> Array:
    """Of (T + 1/D)^-1, or of that with a row and column of ones for a free bias."""
    A = T.copy()
    A.flat[:: len(d) + 1] += 1 / d
    # A third of the work of `inv`, which a fit to nothing but labels would feel.
    factor, failed = lapack.dpotrf(A, lower=1, overwrite_a=1)
    if failed:
        return np.full(len(d), np.nan)
    lower, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    diagonal = np.diag(lower).copy()
    if bias:
        sums = np.tril(lower).sum(axis=1) + np.tril(lower, -1).sum(axis=0)
        diagonal -= sums**2 / sums.sum()
    return np.where(diagonal > 0, diagonal, np.nan)
