r"""Leave-one-out values of the supervised problem on labelled points.

With piecewise quadratic losses the solution is, on the pieces that the scores are in, that of
ridge regression: with the observations E that are pulled at, z their parabolas' minima and d their
curvatures,

.. math:: \begin{pmatrix} T_{EE} + D^{-1} & 1 \\ 1^T & 0 \end{pmatrix}
          \begin{pmatrix} \beta \\ b \end{pmatrix} = \begin{pmatrix} z \\ 0 \end{pmatrix},
          \qquad \beta^{(-i)} = \beta - A^{-1}_{\cdot i} \beta_i / A^{-1}_{ii}

(the block inverse; Cawley and Talbot, "Fast exact leave-one-out cross-validation of sparse
least-squares support vector machines", Neural Networks 17, 2004). That is exact where all scores
stay on their pieces; there, and where an observation is not pulled at, nothing is fitted again.
Everything else is, on l - 1 labels.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg as sla

from lapwing.losses.base import Kind
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.manifold.reduced import solve_reduced
from lapwing.spaces.base import Array

__all__ = ["left_out_values"]

_SAME = 1e-10  # of the slopes: a score at a break may be on either piece to rounding


def left_out_values(
    reduced: Objective,
    solution: State,
    wanted: Array,
    *,
    max_iter: int = 100,
    tol: float = 1e-8,
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
    max_iter : int, default=100
    tol : float, default=1e-8
        Of the solver, where a problem has to be solved again.

    Returns
    -------
    ndarray of shape (l, c)
        NaN where not wanted.
    """
    values = reduced.labeled(solution.values).astype(np.float64)
    open_ones = np.broadcast_to(wanted[:, None], values.shape).copy()
    if reduced.loss.kind is Kind.PIECEWISE_QUADRATIC:
        values, open_ones = _on_the_same_pieces(reduced, values, open_ones)
    for i in np.flatnonzero(open_ones.any(axis=1)).tolist():
        columns = np.flatnonzero(open_ones[i])
        values[i, columns] = _again(reduced, i, columns, max_iter=max_iter, tol=tol)
    return np.where(wanted[:, None], values, np.nan)


def _again(reduced: Objective, i: int, columns: Array, *, max_iter: int, tol: float) -> Array:
    kept = np.arange(len(reduced.index)) != i
    rest = replace(
        reduced,
        index=reduced.index[kept],
        targets=reduced.targets[np.ix_(kept, columns)],
        weights=reduced.weights[kept],
    )
    found = solve_reduced(rest, max_iter=max_iter, tol=tol)
    return np.asarray(found.state.values[reduced.index[i]])


def _on_the_same_pieces(reduced: Objective, scores: Array, wanted: Array) -> tuple[Array, Array]:
    """Values that need no new fit, and which are left to fit."""
    y, w, loss = reduced.targets, reduced.weights[:, None], reduced.loss
    slopes, curvatures = w * loss.derivative(y, scores), w * loss.curvature(y, scores)
    values, left = scores.copy(), wanted.copy()
    straight = ((curvatures == 0) & (slopes != 0)).any(axis=0)  # a pull that does not give way
    patterns, group = np.unique(curvatures, axis=1, return_inverse=True)
    T = reduced.space.values(np.eye(reduced.space.n_points))[np.ix_(reduced.index, reduced.index)]
    for number, d in enumerate(patterns.T):
        columns = np.flatnonzero((group.ravel() == number) & ~straight)
        E = np.flatnonzero(d)
        if not len(columns) or not len(E):
            continue
        change, diagonal = _removals(T, E, d[E], bias=reduced.fit_intercept)
        for column in columns.tolist():
            beta = -slopes[E, column]
            found = scores[:, [column]] - change * (beta / diagonal)  # (l, E): without each of E
            values[E, column] = found[E, np.arange(len(E))]
            held = _hold(reduced, column, slopes, curvatures, scores, found)
            held[E, np.arange(len(E))] = True  # the one that is left out pulls no more
            moved = np.flatnonzero(~held.all(axis=0))
            left[:, column] = False
            left[E[moved], column] = wanted[E[moved], column]
    return values, left


def _removals(T: Array, E: Array, d: Array, *, bias: bool) -> tuple[Array, Array]:
    """Change of all scores (l, E) by the removal of each of E, times diag / beta; the diagonal."""
    e = len(E)
    A = np.zeros((e + bias, e + bias))
    A[:e, :e] = T[np.ix_(E, E)]
    A.flat[: e * (e + bias) : e + bias + 1] += 1 / d
    A[e:, :e] = A[:e, e:] = 1.0
    inverse = sla.inv(A, overwrite_a=True, check_finite=False)[:, :e]
    rows = T[:, E]
    change = rows @ inverse[:e] + (inverse[e] if bias else 0.0)
    return change, np.diag(inverse).copy()


def _hold(
    reduced: Objective, column: int, slopes: Array, curvatures: Array, scores: Array, found: Array
) -> Array:
    """Where losses have at other scores (l, e) the slopes that their parabolas say."""
    y, w = reduced.targets[:, [column]], reduced.weights[:, None]
    slope, curvature, before = (part[:, [column]] for part in (slopes, curvatures, scores))
    said = slope + curvature * (found - before)
    there = w * reduced.loss.derivative(y, found)
    size = np.abs(slope) + curvature * (np.abs(found) + np.abs(before) + 1)
    held: Array = np.abs(there - said) <= _SAME * np.maximum(size, np.abs(there))
    return held
