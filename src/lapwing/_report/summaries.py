"""Summaries of a fit: its graph and the end of its solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator

from lapwing._arrays import is_sparse
from lapwing._report.rows import histogram
from lapwing._report.text import clean, finite_or_none, label_text

_COMPONENTS_LISTED = 8
_HISTORY_POINTS = 400


def graph_health(
    estimator: BaseEstimator,
    vertex: NDArray[np.intp],
    labeled: NDArray[np.bool_],
    ids: NDArray[Any],
    groups: NDArray[np.intp] | None,
) -> dict[str, Any]:
    """Find rows that no label reaches: components without labels, isolated points.

    Parameters
    ----------
    estimator : fitted estimator
        With `affinity_` if it used a graph.
    vertex : ndarray of int of shape (n,)
        The graph's vertex of each row.
    labeled : ndarray of bool of shape (n,)
        Rows with a label.
    ids : ndarray of shape (n,)
        Names of the rows.
    groups : ndarray of int of shape (n,) or None
        Predicted classes; None for numbers.

    Returns
    -------
    dict
        Empty if there was no graph.
    """
    affinity = getattr(estimator, "affinity_", None)
    if affinity is None:
        return {}
    W = affinity.tocsr()
    _, first = np.unique(vertex, return_index=True)  # a row of each vertex
    known = np.bincount(vertex, labeled, minlength=W.shape[0]) > 0  # labelled if one row is
    component = np.asarray(connected_components(W, directed=False)[1])
    sizes = np.bincount(component)
    labels = np.bincount(component, known, minlength=len(sizes)).astype(int)
    degree = np.diff(W.indptr)
    without = np.flatnonzero(labels == 0)
    isolated = np.flatnonzero(degree == 0)
    order = np.lexsort((np.arange(len(sizes)), -sizes))
    silent = [int(k) for k in order if labels[k] == 0][:_COMPONENTS_LISTED]
    return {
        "n_points": int(W.shape[0]),
        "n_rows": len(vertex),
        "n_edges": int(W.nnz // 2),
        "n_components": len(sizes),
        "n_without": len(without),
        "points_without": int(sizes[without].sum()),
        "isolated": len(isolated),
        "isolated_ids": [clean(ids[first[i]]) for i in isolated[:_COMPONENTS_LISTED]],
        "degree": _degrees(degree),
        "cut": _cut(W, None if groups is None else groups[first]),
        "components": [
            {"size": int(sizes[k]), "labels": int(labels[k])} for k in order[:_COMPONENTS_LISTED]
        ],
        "silent": [
            {
                "size": int(sizes[k]),
                "ids": [clean(ids[first[i]]) for i in np.flatnonzero(component == k)[:4]],
            }
            for k in silent
        ],
        "recipe": clean(_recipe(estimator)),
    }


def _recipe(estimator: BaseEstimator) -> str:
    graph = getattr(estimator, "graph", None)
    if graph is None:
        return "the default: nearest neighbours with heat weights, chosen by the points"
    return "a given affinity" if is_sparse(graph) else " ".join(repr(graph).split())


def _degrees(degree: NDArray[Any]) -> dict[str, Any]:
    low, middle, high = np.quantile(degree, [0.0, 0.5, 1.0])
    bins = int(min(24, max(1, high - low + 1)))
    # Bins of whole numbers where there are few, so that every count of neighbours is a bar.
    shape = histogram(degree, bins)
    if high - low + 1 <= 24:
        shape["low"], shape["high"] = float(low) - 0.5, float(high) + 0.5
    return {"min": int(low), "median": float(middle), "max": int(high), **shape}


def _cut(W: sp.csr_array, groups: NDArray[np.intp] | None) -> float | None:
    """Return the share of the edges' weight between points of different predicted classes."""
    if groups is None or not W.nnz:
        return None
    edges = W.tocoo()
    across = groups[edges.row] != groups[edges.col]
    return float(edges.data[across].sum() / edges.data.sum())


def convergence(estimator: BaseEstimator, solver: str, names: list[str] | None) -> dict[str, Any]:
    """Describe how the solver ended: status, iterations, optimality by column, and history.

    An estimator without a status solved a linear system directly, which succeeds or raises.
    """
    optimality = np.atleast_1d(np.asarray(getattr(estimator, "optimality_", []), dtype=float))
    pairs = getattr(estimator, "pairs_", None)
    if names is None or optimality.size == 1:
        columns = ["all"] * optimality.size
    elif pairs is not None:
        columns = [" or ".join(map(label_text, pair)) for pair in pairs.tolist()]
    else:
        columns = names[: optimality.size]
    objective = np.atleast_1d(np.asarray(getattr(estimator, "objective_", []), dtype=float))
    history = getattr(estimator, "history_", None) or {}
    return {
        "solver": clean(solver),
        "status": clean(getattr(estimator, "status_", "converged")),
        "n_iter": int(np.max(getattr(estimator, "n_iter_", 1))),
        "max_iter": _plain(getattr(estimator, "max_iter", None)),
        "tol": _plain(getattr(estimator, "tol", None)),
        "optimality": [finite_or_none(v) for v in optimality],
        "objective": [finite_or_none(v) for v in objective],
        "columns": columns,
        "history": {clean(k): _trace(v) for k, v in sorted(history.items())},
    }


def _trace(records: Any) -> list[float | None]:
    """Return the worst column at each iteration; of long histories, evenly spaced iterations."""
    table = np.array([np.atleast_1d(np.asarray(r, dtype=float)) for r in records])
    if not table.size:
        return []
    worst = np.where(np.isnan(table), -np.inf, table).max(axis=1)
    if len(worst) > _HISTORY_POINTS:
        worst = worst[np.linspace(0, len(worst) - 1, _HISTORY_POINTS).astype(int)]
    return [finite_or_none(v) for v in worst]


def _plain(value: Any) -> float | None:
    return None if value is None else float(value)
