"""`lapwing.report`: the report of the command line for a fitted estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from lapwing._app.fitting import fit_twin, predict_fitted_rows, trust_rows
from lapwing._app.methods import CommandMethod, method_of
from lapwing._arrays import is_sparse
from lapwing._host.modules import require
from lapwing._report.page import Report, collect
from lapwing._report.record import Choice, FitRecord, Hints, Origin
from lapwing._tables.encoders import Features
from lapwing._tables.tables import Table
from lapwing.classes.labels import read_targets
from lapwing.classes.markers import find_unlabeled, read_column
from lapwing.graphs import AffinityGraph
from lapwing.model_selection.few_label import FewLabelClassifier
from lapwing.problem import distinct_rows

# Fraction of predictions that may differ from those of the fit; for a regression, by more than
# this fraction of their standard deviation.
_MAX_DIFFERENT = 0.1
_HINTS = Hints("", "model.predict(X_new)")


def report(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    truth: ArrayLike | None = None,
    ids: Sequence[Any] | None = None,
    embedding: ArrayLike | None = None,
    twin: bool = True,
    title: str = "",
) -> Report:
    """Report on a fit: its predictions, their certainty, and the next step.

    The page is that of ``lapwing fit --report``: the numbers of rows and of confident rows of each
    class, a map, rows to inspect, components of the graph, and the convergence of the solver. Needs
    jinja2 (the extra ``report``).

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator of lapwing, or a fitted Pipeline that ends in one. The report of a
        `FewLabelClassifier` includes its comparison.
    X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
        Training points in the order of the fit, or the input of the pipeline, such as texts.
    y : array-like of shape (n_samples,)
        Labels of the fit, with its marker of unlabelled rows.
    truth : array-like of shape (n_samples,), default=None
        True classes or numbers, to measure errors; None, NaN and blanks are unknown.
    ids : sequence of length n_samples, default=None
        Names of the rows; None means the index of a dataframe, or else 0 to n - 1.
    embedding : array-like of shape (n_samples, 2), default=None
        Coordinates of the rows on the map; None means principal components.
    twin : bool, default=True
        Whether to compare with the same estimator fitted to the labelled rows only, which takes one
        more fit (without sample weights).
    title : str, default=''
        Name of the data, for the headline.

    Returns
    -------
    Report
        Notebooks display it. ``.save(path)`` writes the page atomically; ``.html`` is the page as
        text.

    Raises
    ------
    TypeError
        If `model` is anything else.
    sklearn.exceptions.NotFittedError
        If `model` is not fitted.
    ValueError
        If `X` and `y` are not those of the fit.
    ImportError
        If jinja2 is not installed.

    Examples
    --------
    >>> import lapwing
    >>> from lapwing.datasets import make_two_moons
    >>> X, y = make_two_moons(200, random_state=0)
    >>> model = lapwing.LapSVC().fit(X, y)
    >>> lapwing.report(model, X, y)
    <Report of LapSVC: 200 rows, 198 without a label; .save('report.html') writes it>
    """
    require("jinja2", extra="report", purpose="The report")
    fit = fit_record(model, X, y, ids=ids, twin=twin, title=title)
    known = None if truth is None else read_column(truth).tolist()
    place = None if embedding is None else np.asarray(embedding, dtype=np.float64)
    return Report(collect(fit, truth=known, embedding=place))


def fit_record(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    ids: Sequence[Any] | None = None,
    twin: bool = True,
    title: str = "",
) -> FitRecord:
    """Return the record of a fit in Python; parameters and errors as in `report`."""
    choice, pipeline = None, as_pipeline(model)
    if isinstance(few := pipeline[-1], FewLabelClassifier):
        check_is_fitted(few)
        choice, best = Choice(few.evidence_), as_pipeline(few.best_estimator_)
        pipeline = Pipeline([*pipeline.steps[:-1], *best.steps])
    estimator = pipeline[-1]
    method = find_command_method(estimator)
    check_is_fitted(estimator)
    if not hasattr(estimator, "transduction_"):  # to_local() of an estimator for clusters
        raise ValueError(
            f"This {type(estimator).__name__} has no predictions of its training rows, and a "
            "report is about these. Fit it in memory."
        )
    given = pipeline[:-1].transform(X) if len(pipeline) > 1 else X
    points = given.tocsr() if is_sparse(given) else np.asarray(given)
    check_consistent_length(points, y)
    if len(estimator.transduction_) != points.shape[0]:
        raise ValueError(
            f"X has {points.shape[0]} rows, and the model was fitted to "
            f"{len(estimator.transduction_)}. Give the X and the y of the fit."
        )
    if method.regression:
        targets, labeled = read_targets(y)
        marker: Any = float("nan")
    else:
        targets = read_column(y)
        labeled = ~find_unlabeled(targets, estimator.unlabeled, estimator.classes_)
        marker = next(iter(estimator.unlabeled_), -1)
    table = table_of(X, points, targets, labeled, marker, ids, title)
    _check_labeled(table.labeled, estimator.labeled_)
    # A model fitted with column names would warn about arrays without them.
    named = given if hasattr(estimator, "feature_names_in_") else points
    answers = predict_fitted_rows(estimator, method, named, table)
    _check_answers(answers.label, estimator, method)
    answers, trust = trust_rows(estimator, answers)
    seed = estimator.get_params(deep=False).get("random_state")
    steps = ", ".join(type(step).__name__ for _, step in pipeline.steps[:-1])
    return FitRecord(
        method=method.facts(estimator),
        origin=Origin(seed if isinstance(seed, int) else None, _HINTS),
        table=table,
        pipeline=pipeline,
        points=points,
        vertex=_vertices(estimator, points),
        predictions=answers,
        scaling=f"columns made by {steps}" if steps else "columns as they are",
        twin=fit_twin(estimator, method, points, table) if twin else None,
        trust=trust,
        choice=choice,
    )


def as_pipeline(model: Any) -> Pipeline:
    """Return a pipeline unchanged, and an estimator as its only step."""
    return model if isinstance(model, Pipeline) else Pipeline([("estimator", model)])


def find_command_method(estimator: Any) -> CommandMethod:
    """Return the method of an estimator.

    Raises
    ------
    TypeError
        If the estimator is not one of this library.
    """
    found = method_of(estimator)
    if found is not None:
        return found
    cure = " Pass its best_estimator_." if hasattr(estimator, "best_estimator_") else ""
    if hasattr(estimator, "estimators_"):
        cure = " A report is of a single target: pass its estimators_[j].best_estimator_."
    raise TypeError(
        "report takes a fitted estimator of lapwing, or a Pipeline that ends in one; got "
        f"{type(estimator).__name__}.{cure}"
    )


def table_of(
    X: Any,
    points: Any,
    y: NDArray[Any],
    labeled: NDArray[np.bool_],
    marker: Any,
    ids: Sequence[Any] | None,
    title: str,
) -> Table:
    """Make the table of rows given in Python.

    Parameters
    ----------
    X : {array-like, sparse matrix, dataframe} of shape (n, p), or n documents
        Input of the pipeline.
    points : {ndarray, CSR} of shape (n, d)
        Transformed features.
    y, labeled, marker
        As in `Table`.
    ids : sequence of length n or None
        Names of the rows; None means the index of a dataframe, or else 0 to n - 1.
    title : str
        Name of the data.
    """
    n = points.shape[0]
    if ids is None:
        ids = X.index if hasattr(X, "iloc") else range(n)
    check_consistent_length(points, ids)
    columns = getattr(X, "columns", None)
    rows = X if columns is not None else X.tocsr() if is_sparse(X) else np.asarray(X)
    if columns is None and rows.ndim == 1:  # documents, which a step of the pipeline encodes
        rows, columns = rows[:, None], ["document"]
    names = [f"x{j}" for j in range(rows.shape[1])] if columns is None else columns
    named = np.empty(n, dtype=object)
    named[:] = list(ids)
    features = Features(rows, tuple(map(str, names)))
    return Table(features, named, y, labeled, marker, source=title)


def _check_labeled(labeled: NDArray[np.bool_], fitted: NDArray[np.bool_]) -> None:
    """Check that the labelled rows are those of the fit."""
    differ = np.flatnonzero(labeled != fitted)
    if differ.size:
        rows = "1 row is" if differ.size == 1 else f"{differ.size} rows are"
        raise ValueError(
            f"{rows} labelled in only one of y and the fit, first row {differ[0]} (counted from "
            "0). Give the y of the fit, with the labels added since by update; pass labels that "
            "the fit did not use as truth=."
        )


def _check_answers(labels: NDArray[Any], estimator: Any, method: CommandMethod) -> None:
    """Check that the rows are those of the fit in the same order; few may differ by rounding."""
    fitted = estimator.transduction_
    if method.regression:
        tolerance = _MAX_DIFFERENT * max(float(np.std(fitted)), np.finfo(float).tiny)
        differ = np.abs(labels - fitted) > tolerance
    else:
        differ = labels != fitted
    if differ.mean() > _MAX_DIFFERENT:
        raise ValueError(
            f"The predictions of {differ.sum()} of {fitted.size} rows differ from those of the "
            "fit. Give the X of the fit, with its rows in the same order."
        )


def _vertices(estimator: Any, points: Any) -> NDArray[np.intp]:
    """Return the vertex of each row: equal rows share one, unless the affinity was given."""
    vertex = distinct_rows(points)[1]
    affinity = getattr(estimator, "affinity_", None)
    if affinity is None or affinity.shape[0] == vertex.max() + 1:
        return vertex
    graph = getattr(estimator, "graph", None)
    given = isinstance(graph, AffinityGraph) or is_sparse(graph)
    if given and affinity.shape[0] == points.shape[0]:
        return np.arange(points.shape[0])
    raise ValueError(
        f"X has {vertex.max() + 1} different rows, and the graph of the model has "
        f"{affinity.shape[0]} points. Give the X of the fit; rows of sample weight 0 cannot be "
        "reported on."
    )
