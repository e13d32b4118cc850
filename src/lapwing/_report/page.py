"""Report of a fit: one HTML page that needs no network and no script.

`collect` computes the figures of the page, a `ReportData` whose size does not grow with the number
of rows, so that it can be stored with a model; `render` writes the page. Neither contains a time or
a date: the same data and seed give the same bytes.
"""

from __future__ import annotations

import html
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache, cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator

from lapwing._arrays import is_sparse
from lapwing._host.files import atomic_write
from lapwing._host.modules import require
from lapwing._report import charts, text
from lapwing._report.association import BinnedColumns
from lapwing._report.findings import (
    choice_table,
    describe_choice,
    estimate_words,
    next_step,
    parameters,
    sure_words,
    trust_words,
    versions,
    write_notes,
)
from lapwing._report.program import python_lines
from lapwing._report.record import FitRecord, ReportData
from lapwing._report.rows import ClassRows, NumberRows, histogram, records, row_columns
from lapwing._report.text import NAME_LENGTH, clean, finite_or_none, label_text, plural
from lapwing._report.words import class_words, words_of
from lapwing._tables.tables import Table
from lapwing.graphs import KNNGraph
from lapwing.plotting.drawing import word_of
from lapwing.plotting.path import PathDisplay, errors_along_path

_DRAWN = 3000  # largest number of rows on the map; from more rows a sample is drawn
_LISTED = 10  # rows in each list
_FEATURES_NAMED = 40
_COLUMNS_KEPT = 500
_COLUMNS_SHOWN = 6  # largest number of columns that separate the classes
_LEAST_SHARE = 0.05  # smallest association of a listed column with the classes
_CLASSES_BESIDE = 6  # largest number of classes in their table

_SUFFIXES = (".html", ".htm")
_HEIGHT = 720  # pixels in a notebook; the page scrolls inside


def collect(
    fit: FitRecord,
    *,
    truth: Sequence[Any] | None = None,
    embedding: ArrayLike | None = None,
) -> ReportData:
    """Compute the figures of the report of a fit.

    Parameters
    ----------
    fit : FitRecord
        The fit, with its table and predictions.
    truth : sequence of length n, default=None
        True classes or numbers, which the fit did not use; None, NaN and blanks are unknown. None
        means those of the fit's table, if it has any.
    embedding : array-like of shape (n, 2), default=None
        Coordinates of the rows on the map; None means the table's layout, or else the first two
        principal components of the transformed features.

    Returns
    -------
    ReportData
        Its size does not grow with n.

    Raises
    ------
    ValueError
        If `truth` or `embedding` does not have an entry for every row.
    """
    table, answers, origin = fit.table, fit.predictions, fit.origin
    n = len(answers.label)
    truth = fit.truth if truth is None else truth
    embedding = table.layout if embedding is None else embedding
    if truth is not None and len(truth) != n:
        raise ValueError(f"truth must have an entry for each of the {n} rows, got {len(truth)}.")
    estimator = fit.estimator
    X = fit.points.tocsr() if is_sparse(fit.points) else np.asarray(fit.points)
    twin = None if fit.twin is None else fit.twin.answers
    rows: ClassRows | NumberRows
    if answers.classes is None:
        rows = NumberRows.read(answers, table.y, twin, truth)
        classes = groups = least_certain = None
        volumes = of_all_classes = rows.volumes()
        listed = rows.list_rows(_LISTED, getattr(estimator, "left_out_residuals_", None))
    else:
        rows = ClassRows.read(answers, table.y, twin, truth)
        classes, groups = rows.names[: rows.n_classes], rows.predicted
        prior = getattr(estimator, "class_prior_", None)
        volumes, of_all_classes = rows.volumes(prior), rows.volumes(prior, most=None)
        least_certain = rows.least_certain(_LISTED)
        listed = rows.list_rows(_LISTED, fit.next_rows)
        tested = getattr(estimator, "left_out_rows_", None)  # estimators for Dask have none
        if tested is not None:
            listed["left_out"] = rows.compare_left_out(tested, estimator.left_out_proba_)
    drawn = charts.choose_rows(rows.labeled, _DRAWN, least_certain)
    sections: dict[str, Any] = {
        "kind": "regression" if classes is None else "classification",
        "volumes": volumes,
        "rows": listed,
        "twin": rows.compare_with_twin(_LISTED),
        "truth": rows.compare_with_truth(text.clean(origin.truth)),
        "fitted": _describe_fit(fit, rows.labeled, classes),
        "map": charts.place(X, drawn, embedding, origin.layout or None)
        | {
            "index": drawn.tolist(),
            "ids": [text.clean(rows.ids[i], NAME_LENGTH) for i in drawn],
            "labeled": rows.labeled[drawn].tolist(),
        }
        | rows.signs(drawn),
        "graph": graph_health(estimator, fit.vertex, rows.labeled, rows.ids, groups),
        "convergence": convergence(estimator, fit.method.solver, classes),
        "repeat": {
            "command": text.clean(origin.command, longest=4000),
            "plain_command": text.clean(origin.plain_command, longest=4000),
            "python": python_lines(fit.pipeline, table.unlabeled),
            "parameters": parameters(estimator),
            "versions": versions(),
        },
        "choice": describe_choice(fit.choice),
        "path": _describe_path(
            estimator, repeated=_repeated(fit.vertex[rows.labeled], table.y[rows.labeled])
        ),
    }
    if groups is not None:
        volumes["trust"] = None if fit.trust is None else fit.trust.to_dict()
        volumes["class_words"] = _describe_texts(fit, X, groups, volumes)
        volumes["associations"] = _describe_columns(table, groups, volumes)
    _add_cells(sections["rows"], table)
    notes = write_notes(sections | {"volumes": of_all_classes})
    sections["fitted"]["next_step"] = next_step(sections, notes, origin.hints)
    return ReportData(notes=notes, **sections)


def _describe_texts(
    fit: FitRecord, X: Any, codes: NDArray[np.intp], volumes: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return distinctive words and typical texts of the listed classes; none without text."""
    words = words_of(fit.pipeline, X.shape[1])
    if words is None or not is_sparse(X):
        return []
    listed = volumes["classes"]
    described = class_words(X, words, codes, [one["code"] for one in listed])
    names = words.texts or list(fit.table.feature_names)
    found = []
    for one, about in zip(listed, described, strict=True):
        cells = row_columns(fit.table, about.rows, texts=names)
        rows = [
            {
                "id": text.clean(fit.predictions.ids[row], NAME_LENGTH),
                "text": " · ".join(filter(None, (cells[name][k] for name in names))),
            }
            for k, row in enumerate(about.rows)
        ]
        shown = [text.clean(word) for word in about.words]
        found.append({"name": one["name"], "code": one["code"], "words": shown, "rows": rows})
    return found


def _describe_columns(
    table: Table, codes: NDArray[np.intp], volumes: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the columns that separate the classes best, with a typical value for each class."""
    columns = BinnedColumns.of(table)
    shares = columns.association(codes)
    best = [k for k in np.argsort(-shares, kind="stable") if shares[k] >= _LEAST_SHARE]
    largest = sorted(volumes["classes"], key=lambda one: -one["n_rows"])[:_CLASSES_BESIDE]
    shown = {one["code"]: one["name"] for one in sorted(largest, key=itemgetter("code"))}
    mine = codes[columns.rows]
    return {
        "classes": records(code=[*shown], name=[*shown.values()]),
        "columns": [
            {
                "name": text.clean(columns.names[k]),
                "association": float(shares[k]),
                "typical": [_typical(columns.values[k][mine == c]) for c in shown],
            }
            for k in best[:_COLUMNS_SHOWN]
        ],
    }


def _typical(values: NDArray[Any]) -> str:
    """Return the median of numbers, or the most frequent text; empty if all are missing."""
    if values.dtype == object:
        found, counts = np.unique(values[values != ""].astype(str), return_counts=True)
        return text.clean(str(found[counts.argmax()]), NAME_LENGTH) if len(found) else ""
    known = values[np.isfinite(values)]
    return text.number(float(np.median(known))) if known.size else ""


def _repeated(vertex: NDArray[np.intp], labels: NDArray[Any]) -> bool:
    """Return whether equal rows have different labels."""
    pairs = set(zip(vertex.tolist(), labels.tolist(), strict=True))
    return len(pairs) > len(np.unique(vertex))


def _add_cells(lists: dict[str, Any], table: Table) -> None:
    """Add columns of the table to the listed rows, as many as a page can hold."""
    shown = lists.get("least_certain") or lists.get("largest_residuals") or []
    rows = [row["index"] for row in shown]
    columns = {}
    if rows:
        texts = table.features.legible
        columns = row_columns(table, rows, most=_COLUMNS_KEPT + 1, texts=texts)
    lists["columns"] = [text.clean(name) for name in columns][:_COLUMNS_KEPT]
    lists["has_more_columns"] = len(columns) > _COLUMNS_KEPT
    for number, row in enumerate(shown):
        row["cells"] = [cells[number] for cells in columns.values()][:_COLUMNS_KEPT]


def _describe_fit(
    fit: FitRecord, labeled: NDArray[np.bool_], classes: list[str] | None
) -> dict[str, Any]:
    names = [text.clean(name) for name in fit.table.feature_names]
    method, seed = fit.method, fit.origin.seed
    return {
        "estimator": type(fit.estimator).__name__,
        "method": text.clean(method.name),
        "source": text.clean(fit.table.source),
        "n": len(labeled),
        "n_labeled": int(np.count_nonzero(labeled)),
        "n_features": len(names),
        "n_columns": int(fit.points.shape[1]),
        "features": names[:_FEATURES_NAMED],
        "classes": classes,
        "scaling": text.clean(fit.scaling),
        "seed": None if seed is None else int(seed),
        "unlabeled_use": text.clean(method.unlabeled_use),
        "remedies": asdict(method.remedies),
        "margin_note": method.margin_note if classes is not None else "",
        "twin": method.twin,
    }


def render(data: ReportData) -> str:
    """Render the report as a self-contained HTML page.

    Parameters
    ----------
    data : ReportData
        Result of `collect`.

    Returns
    -------
    str
        The page; the same for the same data.

    Raises
    ------
    ValueError
        If the data are damaged.
    ImportError
        If jinja2 is not installed.
    """
    jinja2 = require("jinja2", extra="report", purpose="The report")
    try:
        words = {"estimate": estimate_words(data.choice)}
        if data.kind == "classification":
            words |= {
                "sure_words": sure_words(data.volumes),
                "trust_words": trust_words(data.volumes["trust"]),
            }
        page: str = _templates().get_template("page.html").render(asdict(data) | words)
    except (TypeError, KeyError, IndexError, AttributeError, jinja2.UndefinedError) as error:
        # The figures may come from a damaged file.
        raise ValueError(f"the figures of the report are damaged: {error}") from error
    return page


def render_comparison(summary: Mapping[str, Any]) -> str:
    """Render the page of a comparison: its table, the verdict, and the commands.

    Parameters
    ----------
    summary : mapping
        Result of `describe_comparison`, with `source`, and `command` and `seconds` of each method.

    Raises
    ------
    ImportError
        If jinja2 is not installed.
    """
    require("jinja2", extra="report", purpose="A comparison as .html")
    page: str = _templates().get_template("choice.html").render(summary)
    return page


@cache
def _templates() -> Any:
    """Return the environment of the templates, each of which is compiled once."""
    jinja2 = require("jinja2", extra="report", purpose="The report")
    found = jinja2.Environment(
        loader=jinja2.PackageLoader("lapwing._report", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for show in (text.count, text.number, text.percent, text.cut_middle):
        found.filters[show.__name__] = show
    found.filters["share"] = lambda share: f"{100 * float(share):.2f}"

    found.globals |= {"charts": charts, "plural": text.plural, "choice_table": choice_table}
    return found


class Report:
    """Report of a fit, one HTML page that needs no network and no script.

    Notebooks display it if it is the last value of a cell.

    Parameters
    ----------
    data : ReportData
        Its figures.
    """

    def __init__(self, data: ReportData) -> None:
        self._data = data

    def __repr__(self) -> str:
        fitted = self._data.fitted
        n_free = fitted["n"] - fitted["n_labeled"]
        return (
            f"<Report of {fitted['estimator']}: {plural(fitted['n'], 'row')}, {n_free} without a "
            "label; .save('report.html') writes it>"
        )

    @cached_property
    def html(self) -> str:
        """The page."""
        return render(self._data)

    def _repr_html_(self) -> str:
        # In a frame, to isolate the styles of page and notebook from each other.
        page = html.escape(self.html, quote=True)
        return (
            f'<iframe title="lapwing report" sandbox="" srcdoc="{page}" width="100%" '
            f'height="{_HEIGHT}" style="border: 1px solid #8888; border-radius: 6px"></iframe>'
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file atomically.

        Parameters
        ----------
        path : path-like
            Path with the extension .html or .htm.

        Raises
        ------
        ValueError
            If the extension is another one, or the path cannot be written.
        OSError
            If writing fails; an existing file is left unchanged.
        """
        if Path(path).suffix.lower() not in _SUFFIXES:
            raise ValueError(f"cannot write {os.fspath(path)}: the extension must be .html.")
        with atomic_write(path) as temporary:
            temporary.write_text(self.html, encoding="utf-8", newline="\n")


_COMPONENTS_LISTED = 8
_HISTORY_POINTS = 400
_SETTINGS_LISTED = 8


def graph_health(
    estimator: BaseEstimator,
    vertex: NDArray[np.intp],
    labeled: NDArray[np.bool_],
    ids: NDArray[Any],
    groups: NDArray[np.intp] | None,
) -> dict[str, Any]:
    """Find rows without information from labels: components without labels, isolated points.

    Parameters
    ----------
    estimator : fitted estimator
        Has `affinity_` if it used a graph.
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
    _, first = np.unique(vertex, return_index=True)  # one row of each vertex
    known = np.bincount(vertex, labeled, minlength=W.shape[0]) > 0  # if any of its rows is labelled
    component = np.asarray(connected_components(W, directed=False)[1])
    sizes = np.bincount(component)
    labels = np.bincount(component, known, minlength=len(sizes)).astype(int)
    degree = np.diff(W.indptr)
    without = np.flatnonzero(labels == 0)
    isolated = np.flatnonzero(degree == 0)
    order = np.argsort(-sizes, kind="stable")
    largest = order[:_COMPONENTS_LISTED]
    unlabeled = order[labels[order] == 0][:_COMPONENTS_LISTED]
    examples = [first[np.flatnonzero(component == k)[:4]] for k in unlabeled]
    return {
        "n_points": int(W.shape[0]),
        "n_rows": len(vertex),
        "n_edges": int(W.nnz // 2),
        "n_components": len(sizes),
        "n_components_unlabeled": len(without),
        "n_points_unlabeled": int(sizes[without].sum()),
        "n_isolated": len(isolated),
        "degree": _degrees(degree),
        "share_between_classes": None
        if groups is None
        else _share_between_classes(W, groups[first]),
        "components": records(n_points=sizes[largest], n_labels=labels[largest]),
        "unlabeled_components": records(
            n_points=sizes[unlabeled], ids=[[clean(ids[i]) for i in rows] for rows in examples]
        ),
        "construction": clean(_graph_construction(estimator)),
    }


def _graph_construction(estimator: BaseEstimator) -> str:
    graph = getattr(estimator, "graph", None)
    if graph is None:
        return "the default: nearest neighbours with heat weights, chosen by the points"
    return "a given affinity" if is_sparse(graph) else " ".join(repr(graph).split())


def _degrees(degree: NDArray[Any]) -> dict[str, Any]:
    low, middle, high = np.quantile(degree, [0.0, 0.5, 1.0])
    bins = int(min(24, max(1, high - low + 1)))
    # With few distinct counts the bins are integers, so that every count is a bar.
    shape = histogram(degree, bins)
    if high - low + 1 <= 24:
        shape["low"], shape["high"] = float(low) - 0.5, float(high) + 0.5
    return {"min": int(low), "median": float(middle), "max": int(high), **shape}


def _share_between_classes(W: sp.csr_array, groups: NDArray[np.intp]) -> float | None:
    """Return the fraction of edge weight between points of different predicted classes."""
    if not W.nnz:
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
    """Return the worst column of each iteration, or of evenly spaced ones if there are many."""
    if not len(records):
        return []
    table = np.asarray(records, dtype=float).reshape(len(records), -1)
    worst = np.where(np.isnan(table), -np.inf, table).max(axis=1)
    if len(worst) > _HISTORY_POINTS:
        worst = worst[np.linspace(0, len(worst) - 1, _HISTORY_POINTS).astype(int)]
    return [finite_or_none(v) for v in worst]


def _plain(value: Any) -> float | None:
    return None if value is None else float(value)


def _describe_path(estimator: BaseEstimator, *, repeated: bool = False) -> dict[str, Any]:
    """Return the errors along the path of an estimator that chose its own parameters.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    repeated : bool, default=False
        Whether equal rows have different labels. Then the other labels of a row determine the one
        that is left out, and its error does not estimate that of other rows.

    Returns
    -------
    dict
        Empty if there was nothing to choose; otherwise the section `path` of a `ReportData`.
    """
    results = getattr(estimator, "cv_results_", None)
    if results is None:
        return {}
    chosen = {name: _parameter_text(value) for name, value in estimator.best_params_.items()}
    found: dict[str, Any] = {"chosen": chosen, "left_out_rmse": None, "kept_default": True}
    if not results:  # some class, or the whole table, has a single label, which cannot be left out
        return found | {"n_settings": 0, "varied": [*chosen], "settings": []}
    path = errors_along_path(PathDisplay, estimator)
    errors = results["left_out_squared_error"]
    missed = results.get("left_out_error")
    likelihood = results.get("log_likelihood")  # by which regressions choose
    ranks = errors if likelihood is None else -likelihood
    order = sorted(range(len(ranks)), key=lambda k: (not math.isfinite(ranks[k]), ranks[k], k))
    varied = [
        name for name in chosen if len({repr(params[name]) for params in results["params"]}) > 1
    ]
    if missed is None and not repeated:
        found["left_out_rmse"] = finite_or_none(math.sqrt(-estimator.best_score_))
    return found | {
        "n_settings": len(errors),
        "varied": varied,
        "by_likelihood": likelihood is not None,
        "kept_default": repr(results["params"][order[0]]) != repr(estimator.best_params_),
        "settings": [
            {
                "values": [_parameter_text(results["params"][k][name]) for name in varied],
                "squared_error": finite_or_none(errors[k]),
                "error_rate": None if missed is None else finite_or_none(missed[k]),
            }
            for k in order[:_SETTINGS_LISTED]
        ],
        "parameters": [clean(name) for name in path.parameters],
        "values": [[_parameter_text(value) for value in axis] for axis in path.values],
        "squared_errors": [finite_or_none(v) for v in path.errors.ravel()],
        "chosen_index": list(path.best),
    }


def _parameter_text(value: Any) -> str:
    if isinstance(value, KNNGraph):  # its repr is too long for a table
        kind = ", not normalised" if value.normalized is False else ""
        return f"{value.n_neighbors} neighbours, power {value.power}{kind}"
    return clean(word_of(value))
