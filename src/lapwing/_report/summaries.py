"""Summaries of a fit: its graph, its solver, and the figures of a regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.stats import wilcoxon

from lapwing._arrays import is_sparse
from lapwing._report.rows import histogram
from lapwing._report.text import clean, label_text

_COMPONENTS_LISTED = 8
_HISTORY_POINTS = 400

N_SHADES = 7
_SCATTERED = 1500
_ID = 40  # letters of a name in a picture


def graph_health(
    estimator: Any,
    vertex: NDArray[np.intp],
    labeled: NDArray[np.bool_],
    ids: NDArray[Any],
    groups: Any,
) -> dict[str, Any]:
    """Look for rows that no label reaches: components without labels, isolated points.

    Parameters
    ----------
    estimator : fitted estimator
        With `affinity_` where it had a graph.
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
        Empty where there was no graph.
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
        "cut": _cut(W, None if groups is None else np.asarray(groups)[first]),
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


def _recipe(estimator: Any) -> str:
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


def _cut(W: Any, groups: NDArray[Any] | None) -> float | None:
    """Share of the edges' weight between points that were given different classes."""
    if groups is None or not W.nnz:
        return None
    edges = W.tocoo()
    across = groups[edges.row] != groups[edges.col]
    return float(edges.data[across].sum() / edges.data.sum())


def convergence(estimator: Any, solver: str, names: list[str] | None) -> dict[str, Any]:
    """Say how the solver ended: status, iterations, optimality a column, history if it was kept.

    An estimator without a status has solved a linear system, which ends as it should or not at all.
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
        "optimality": [_finite(v) for v in optimality],
        "objective": [_finite(v) for v in objective],
        "columns": columns,
        "history": {clean(k): _trace(v) for k, v in sorted(history.items())},
    }


def _trace(records: Any) -> list[float | None]:
    """Give the worst column at each iteration; of long histories evenly spaced ones."""
    table = np.array([np.atleast_1d(np.asarray(r, dtype=float)) for r in records])
    if not table.size:
        return []
    worst = np.where(np.isnan(table), -np.inf, table).max(axis=1)
    if len(worst) > _HISTORY_POINTS:
        worst = worst[np.linspace(0, len(worst) - 1, _HISTORY_POINTS).astype(int)]
    return [_finite(v) for v in worst]


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _plain(value: Any) -> float | None:
    return None if value is None else float(value)


@dataclass(frozen=True)
class NumberRows:
    """Numbers of n rows; NaN is unknown.

    Attributes
    ----------
    ids : ndarray of shape (n,)
        What the user calls the rows.
    labeled : ndarray of bool of shape (n,)
        Which rows had a number to learn from.
    given, predicted : ndarray of shape (n,)
        The labels and the answers.
    twin, truth : ndarray of shape (n,) or None
        The supervised twin's answers and the true numbers, where there are any.
    """

    ids: NDArray[Any]
    labeled: NDArray[np.bool_]
    given: NDArray[np.float64]
    predicted: NDArray[np.float64]
    twin: NDArray[np.float64] | None
    truth: NDArray[np.float64] | None

    @classmethod
    def read(cls, predictions: Any, y: Any, twin: Any = None, truth: Any = None) -> NumberRows:
        """Read the numbers of a table's rows; a truth that is no number is unknown."""
        labeled = np.asarray(predictions.was_labeled, dtype=bool)
        return cls(
            np.asarray(predictions.ids),
            labeled,
            np.where(labeled, np.asarray(y, dtype=np.float64), np.nan),
            np.asarray(predictions.label, dtype=np.float64),
            None if twin is None else np.asarray(twin, dtype=np.float64),
            None if truth is None else np.array([_to_float(v) for v in truth]),
        )

    def shades(self) -> tuple[NDArray[np.intp], list[float]]:
        """Sort labels and other rows' predictions into shades.

        They are equally wide between the 2nd and the 98th percentile of the predictions.
        """
        low, high = np.quantile(self.predicted, [0.02, 0.98])
        edges = np.linspace(low, high, N_SHADES + 1) if high > low else np.full(N_SHADES + 1, low)
        shown = np.where(self.labeled, self.given, self.predicted)
        group = np.clip(np.searchsorted(edges, shown, "right") - 1, 0, N_SHADES - 1)
        return group, edges.tolist()

    def volumes(self) -> dict[str, Any]:
        """Compare the distribution of the labels with that of the predictions."""
        given = self.given[self.labeled]
        return {
            "histogram": histogram(given, 20, self.predicted),
            "labels": _summary(given),
            "rows": _summary(self.predicted),
        }

    def list_rows(self, n_listed: int) -> dict[str, Any]:
        """Name labelled rows with the largest residuals, and extreme answers."""
        known = np.flatnonzero(self.labeled)
        residual = np.abs(self.given - self.predicted)
        worst = known[np.argsort(-residual[known], kind="stable")][:n_listed]
        free = np.flatnonzero(~self.labeled)
        order = free[np.argsort(self.predicted[free], kind="stable")]
        few = min(n_listed, len(order) // 2)
        return {
            "residuals": [self._describe(i) for i in worst],
            "lowest": [self._describe(i) for i in order[:few]],
            "highest": [self._describe(i) for i in order[len(order) - few :][::-1]],
            "rms": float(np.sqrt(np.mean(residual[known] ** 2))),
        }

    def compare_with_twin(self, n_listed: int) -> dict[str, Any]:
        """Find where the supervised twin gives another number."""
        free = np.flatnonzero(~self.labeled)
        if self.twin is None or not len(free):
            return {}
        apart = np.abs(self.twin - self.predicted)
        order = free[np.argsort(-apart[free], kind="stable")]
        spread = float(np.std(self.predicted))
        return {
            "n_unlabeled": len(free),
            "rms": float(np.sqrt(np.mean(apart[free] ** 2))),
            "median": float(np.median(apart[free])),
            "spread": spread,
            "rows": [self._describe(i) for i in order[:n_listed]],
        }

    def compare_with_truth(self, name: str) -> dict[str, Any]:
        """Measure errors on the unlabelled rows whose true number is known."""
        if self.truth is None:
            return {}
        known = np.flatnonzero(~self.labeled & np.isfinite(self.truth))
        if not len(known):
            return {"name": name, "n": 0}
        result = {"name": name, "n": len(known), **self._errors(self.predicted, known)}
        result["twin"] = {} if self.twin is None else self._errors(self.twin, known)
        result["p_value"] = None
        if self.twin is not None:
            ours, twins = (np.abs(a - self.truth)[known] for a in (self.predicted, self.twin))
            result["p_value"] = _signed_rank(ours - twins)
        drawn = known
        if len(known) > _SCATTERED:
            drawn = np.sort(np.random.default_rng(0).choice(known, _SCATTERED, replace=False))
        result["ids"] = [clean(self.ids[i], _ID) for i in drawn]
        result["truth"] = self.truth[drawn].tolist()
        result["predicted"] = self.predicted[drawn].tolist()
        worst = known[np.argsort(-np.abs(self.truth - self.predicted)[known], kind="stable")]
        result["rows"] = [self._describe(i) for i in worst[:8]]
        return result

    def _errors(self, answers: NDArray[np.float64], known: NDArray[Any]) -> dict[str, Any]:
        assert self.truth is not None
        residual = answers[known] - self.truth[known]
        variance = float(np.var(self.truth[known]))
        return {
            "rmse": float(np.sqrt(np.mean(residual**2))),
            "mae": float(np.mean(np.abs(residual))),
            "r2": 1 - float(np.mean(residual**2)) / variance if variance > 0 else None,
        }

    def _describe(self, i: int) -> dict[str, Any]:
        def value(numbers: NDArray[np.float64] | None) -> float | None:
            return None if numbers is None or not np.isfinite(numbers[i]) else float(numbers[i])

        return {
            "row": int(i),
            "id": clean(self.ids[i]),
            "label": value(self.given),
            "predicted": value(self.predicted),
            "twin": value(self.twin),
            "truth": value(self.truth),
        }


def _signed_rank(difference: NDArray[np.float64]) -> float:
    """How probable so unequal errors are if neither is better: Wilcoxon's test of paired values."""
    if not difference.any():
        return 1.0
    return float(wilcoxon(difference, zero_method="zsplit").pvalue)


def _to_float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _summary(values: NDArray[np.float64]) -> dict[str, float]:
    low, middle, high = np.quantile(values, [0.0, 0.5, 1.0])
    return {
        "n": int(values.size),
        "mean": float(values.mean()),
        "std": float(values.std()),
        "min": float(low),
        "median": float(middle),
        "max": float(high),
    }
