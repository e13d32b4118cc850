"""Inspection of a table before a fit."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from lapwing._app.forecast import FitSize, round_time
from lapwing._app.methods import METHODS
from lapwing._app.preprocessing import scaling
from lapwing._app.requests import InfoRequest
from lapwing._arrays import is_sparse
from lapwing._host.memory import available_memory, format_bytes
from lapwing._tables.checks import bad_cells, check_ids, numeric_names, warn_of_quantities
from lapwing._tables.columns import RawTable, Selection
from lapwing._tables.matrices import read_labels
from lapwing._tables.summary import suggest_id, suggest_label, summary_lines
from lapwing._tables.tables import label_rows, read_raw
from lapwing.graphs import KNNGraph

_GRAPH_ROWS = 20_000  # a search in more takes longer than a look should
_CLASSES_LISTED = 40


def inspect(request: InfoRequest) -> dict[str, Any]:
    """Look at a table.

    Parameters
    ----------
    request : InfoRequest
        Files and columns; the seed is of the rows drawn for the graph, where there are many.

    Returns
    -------
    dict
        As JSON has it: source, rows, numeric, categorical (values by name), columns (what was done
        to each), summary (the same in lines), obstacles (to a fit), missing and infinite (counts),
        labels (rows by label, '' for none), scaling, graph, forecast by method, suggested_label,
        command (that fits the table).

    Raises
    ------
    OSError, ValueError, ImportError
        If the files cannot be read as a table. Cells and columns that could not be fitted are told
        and not raised.
    """
    raw = read_raw(request.data, Selection(request.read_options))
    marker = raw.default_marker
    if request.labels is not None:
        labels, marker = read_labels(request.labels, raw.X.shape[0])
        raw = replace(raw, labels=labels)
    check_ids(raw, request.source, request.id_column)
    names = numeric_names(raw)
    label = None
    if raw.labels is None:
        label = suggest_label(raw.cells)
    missing = bad_cells(raw.X, np.isnan, names)
    for name, column in raw.texts.items():
        gone = sum(v is None for v in column)
        missing |= {name: (gone, 0)} if gone else {}
    text = None
    if raw.labels is not None:
        raw = label_rows(replace(raw, default_marker=marker), request.read_options)
        text = np.asarray(raw.labels)
        warn_of_quantities(text[text != ""], f"{request.source}: the label column")
    chosen = scaling(raw.X, names, raw.texts, request.scale)
    classes = Counter([] if text is None else text.tolist())
    n_classes = len([name for name in classes if name])
    n_values = {name: len({v for v in raw.texts[name] if v is not None}) for name in raw.texts}
    size = FitSize(
        raw.X.shape[0],
        len(names) + sum(n_values.values()),
        1 if n_classes <= 2 else n_classes,
        0 if text is None else int(np.count_nonzero(text != "")),
        raw.X.dtype.itemsize,
        raw.X.nnz if is_sparse(raw.X) else None,
    )
    return {
        "source": request.source,
        "rows": size.n,
        "numeric": names,
        "categorical": n_values,
        "columns": [
            {"column": note.column, "used": note.used, "what": note.words} for note in raw.notes
        ],
        "summary": summary_lines(raw.notes, raw.remarks),
        "obstacles": list(raw.input_errors),
        "missing": {name: count for name, (count, _) in missing.items()},
        "infinite": {k: count for k, (count, _) in bad_cells(raw.X, np.isinf, names).items()},
        "labels": None if text is None else _counts(classes),
        "scaling": chosen.reason,
        "graph": _graph(raw, text, chosen.standardize, request.n_neighbors, request.seed),
        "forecast": _forecasts(size),
        "suggested_label": label,
        "command": request.fit_command(label, suggest_id(raw.notes, raw.cells)),
    }


def _counts(classes: Counter[str]) -> dict[str, int]:
    """Rows without a label first, then the labels; of numbers to be predicted only how many."""
    named = {name: classes[name] for name in sorted(classes) if name}
    if len(named) > _CLASSES_LISTED:
        named = {f"({len(named)} different values)": sum(named.values())}
    return {"": classes.get("", 0), **named}


def _graph(
    raw: RawTable, labels: NDArray[Any] | None, standardize: bool, n_neighbors: int, seed: int
) -> dict[str, Any] | None:
    n = raw.X.shape[0]
    rows = np.arange(n)
    if n > _GRAPH_ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(n, _GRAPH_ROWS, replace=False))
    points = _whole_points(raw, rows, standardize)
    if points is None or points.shape[0] < 3 or points.shape[1] == 0:
        return None
    k = min(n_neighbors, points.shape[0] - 1)
    n_components, component = connected_components(KNNGraph(k).affinity(points), directed=False)
    without = None
    if labels is not None:
        without = int(n_components - len(np.unique(component[labels[rows] != ""])))
    return {
        "rows": int(points.shape[0]),
        "n_neighbors": int(k),
        "components": int(n_components),
        "components_without_label": without,
        "largest_share": float(np.bincount(component).max() / points.shape[0]),
    }


def _whole_points(raw: RawTable, rows: NDArray[Any], standardize: bool) -> Any:
    """Rows as points; missing numbers at the median, so that one hole does not hide the graph."""
    X = raw.X[rows]
    if is_sparse(X):
        return X if np.isfinite(X.data).all() else None
    bad = ~np.isfinite(X)
    if bad.any():
        X = np.where(bad, np.nan, X)
        empty = np.isnan(X).all(axis=0)
        X = X[:, ~empty]
        X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    if standardize and X.size:
        X = StandardScaler().fit_transform(X)
    if raw.texts and len(rows):
        encoder = OneHotEncoder(sparse_output=False)
        columns = np.column_stack([raw.texts[name][rows] for name in raw.texts])
        X = np.hstack([X, encoder.fit_transform(columns)])
    return X


def _forecasts(size: FitSize) -> dict[str, dict[str, Any]]:
    free = available_memory()
    found = {}
    for name, method in METHODS.items():
        need = method.forecast(replace(size, n_columns=1) if method.regression else size)
        found[name] = {
            "memory_bytes": need.memory,
            "memory": format_bytes(need.memory),
            "seconds": need.seconds,
            "time": round_time(need.seconds),
            "solver": need.solver,
            "fits": free is None or need.memory <= free,
        }
    return found
