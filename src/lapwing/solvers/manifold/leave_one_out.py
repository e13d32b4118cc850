"""Leave-one-out values of the supervised problem on labelled points.

With piecewise quadratic losses they follow from the solution (`lapwing.solvers.manifold.pieces`).
Everything else is fitted again, on l - 1 labels.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lapwing._arrays import Array
from lapwing.losses.base import Kind
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.manifold.pieces import follow_pieces
from lapwing.solvers.manifold.reduced import solve_reduced


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
        values, open_ones = follow_pieces(reduced, values, open_ones)
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
