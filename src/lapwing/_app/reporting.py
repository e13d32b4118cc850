"""`lapwing.report`: from a fitted estimator to the report that the command line writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from lapwing._app.fitting import answer_own, fit_twin, trust_rows
from lapwing._app.methods import CommandMethod, Twin, method_of
from lapwing._arrays import is_sparse
from lapwing._host.modules import require
from lapwing._report.page import Report, collect
from lapwing._report.record import Choice, FitRecord, Hints, Origin
from lapwing._tables.tables import Table
from lapwing.classes.labels import read_targets
from lapwing.classes.markers import read_column, unlabeled_among
from lapwing.graphs import AffinityGraph
from lapwing.model_selection.few_label import FewLabelClassifier
from lapwing.problem import distinct_rows

_OTHER = 0.1
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
    """Report on a fit: what was found, how sure it is, and what to do next.

    The page is that of ``lapwing fit --report``: rows of each class and how many are sure, a map,
    the rows to look at, the health of the graph, the solver's end. Needs jinja2 (the extra
    ``report``).

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator of lapwing, or a fitted Pipeline that ends in one. Of a
        `FewLabelClassifier` its comparison is shown, too.
    X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
        The points of the fit, in the same order; or what the pipeline makes them of, such as texts.
    y : array-like of shape (n_samples,)
        The labels of the fit, with its marker where there is none.
    truth : array-like of shape (n_samples,), default=None
        True classes or numbers, to count errors by; None, NaN and blanks are unknown.
    ids : sequence of length n_samples, default=None
        What the rows are called; None means the index of a dataframe, or else 0 to n - 1.
    embedding : array-like of shape (n_samples, 2), default=None
        Where the map draws the rows; None means principal components.
    twin : bool, default=True
        Whether to compare with the same estimator fitted to the labels alone, which costs one more
        fit (without the sample weights of the first).
    title : str, default=''
        What the rows are, for the headline.

    Returns
    -------
    Report
        Notebooks show it. ``.save(path)`` writes the page, whole or not at all; ``.html`` is the
        page as text.

    Raises
    ------
    TypeError
        If `model` is something else.
    sklearn.exceptions.NotFittedError
        If it is not fitted.
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
    choice = None
    if isinstance(model, FewLabelClassifier):
        check_is_fitted(model)
        choice, model = Choice(model.evidence_), model.best_estimator_
    pipeline = model if isinstance(model, Pipeline) else Pipeline([("estimator", model)])
    estimator = pipeline[-1]
    name, method = find_command_method(estimator, model)
    check_is_fitted(estimator)
    given = pipeline[:-1].transform(X) if len(pipeline) > 1 else X
    points = given if is_sparse(given) else np.asarray(given)
    check_consistent_length(points, y)
    if len(estimator.transduction_) != points.shape[0]:
        raise ValueError(
            f"X has {points.shape[0]} rows, and the model was fitted to "
            f"{len(estimator.transduction_)}. Give the X and the y of the fit."
        )
    table = _describe(estimator, method, X, points, y, ids, title)
    _check_labeled(table.labeled, estimator.labeled_)
    alone = None
    if twin and method.twin is not None and _can_be_alone(estimator, method.twin):
        alone = fit_twin(estimator, method, points, table)
    # A model that knows the names of its columns wants to see them again.
    named = given if hasattr(estimator, "feature_names_in_") else points
    answers = answer_own(estimator, method, named, table)
    _check_answers(answers.label, estimator, method)
    answers, trust = trust_rows(estimator, answers)
    seed = estimator.get_params(deep=False).get("random_state")
    fit = FitRecord(
        method.facts(name, estimator),
        Origin(seed if isinstance(seed, int) else None, _HINTS),
        table,
        pipeline,
        points,
        _vertices(estimator, points),
        answers,
        _steps(pipeline),
        alone,
        trust,
        choice,
    )
    known = None if truth is None else read_column(truth).tolist()
    place = None if embedding is None else np.asarray(embedding, dtype=np.float64)
    return Report(collect(fit, truth=known, embedding=place))


def find_command_method(estimator: Any, model: Any) -> tuple[str, CommandMethod]:
    """The method of an estimator, with its name on the command line.

    Raises
    ------
    TypeError
        If it is none of this library.
    """
    found = method_of(estimator)
    if found is not None:
        return found
    best = " Pass its best_estimator_." if hasattr(model, "best_estimator_") else ""
    raise TypeError(
        "report takes a fitted estimator of lapwing, or a Pipeline that ends in one; got "
        f"{type(estimator).__name__}.{best}"
    )


def _can_be_alone(estimator: Any, twin: Twin) -> bool:
    """Whether the labelled rows are points by themselves; those of a kernel matrix are not."""
    kernel = estimator.get_params(deep=False).get("kernel")
    return not (twin.labeled_only and isinstance(kernel, str) and kernel == "precomputed")


def _describe(
    estimator: Any,
    method: CommandMethod,
    X: Any,
    points: Any,
    y: ArrayLike,
    ids: Sequence[Any] | None,
    title: str,
) -> Table:
    """The rows as the command line has them."""
    if method.regression:
        targets, labeled = read_targets(y)
        marker: Any = float("nan")
    else:
        targets = read_column(y)
        labeled = ~unlabeled_among(targets, estimator.unlabeled, estimator.classes_)
        marker = next(iter(estimator.unlabeled_), -1)
    return table_of(X, points, targets, labeled, marker, ids, title)


def table_of(
    X: Any,
    points: Any,
    y: NDArray[Any],
    labeled: NDArray[np.bool_],
    marker: Any,
    ids: Sequence[Any] | None,
    title: str,
) -> Table:
    """Rows of Python as the command line has them.

    Parameters
    ----------
    X : {array-like, sparse matrix, dataframe} of shape (n, p), or n documents
        As the user gave them.
    points : {ndarray, CSR} of shape (n, d)
        What was made of them.
    y, labeled, marker
        As in `Table`.
    ids : sequence of length n or None
        What the rows are called; None means the index of a dataframe, or else 0 to n - 1.
    title : str
        What they are.
    """
    n = points.shape[0]
    if ids is None:
        ids = X.index if hasattr(X, "iloc") else range(n)
    check_consistent_length(points, ids)
    columns = getattr(X, "columns", None)
    rows = X if is_sparse(X) or columns is not None else np.asarray(X)
    if (
        columns is None and rows.ndim == 1
    ):  # documents, of which a step of the pipeline makes features
        rows, columns = rows[:, None], ["document"]
    names = [f"x{j}" for j in range(rows.shape[1])] if columns is None else columns
    named = np.empty(n, dtype=object)
    named[:] = list(ids)
    return Table(
        rows,
        tuple(map(str, names)),
        named,
        y,
        labeled,
        marker,
        source=title,
    )


def _check_labeled(labeled: NDArray[np.bool_], own: NDArray[np.bool_]) -> None:
    """Other labels than the fit's would be counted, and compared with, as if it had learnt them."""
    differ = np.flatnonzero(labeled != own)
    if differ.size:
        rows = "1 row is" if differ.size == 1 else f"{differ.size} rows are"
        raise ValueError(
            f"{rows} labelled in only one of y and the fit, first row {differ[0]} (counted from "
            "0). Give the y of the fit, with the labels that were added since; pass answers that "
            "the fit did not know as truth=."
        )


def _check_answers(labels: NDArray[Any], estimator: Any, method: CommandMethod) -> None:
    """Rows in another order get other answers than in the fit; a few differ by rounding."""
    own = estimator.transduction_
    if method.regression:
        apart = np.abs(labels - own)
        differ = apart > _OTHER * max(float(np.std(own)), np.finfo(float).tiny)
    else:
        differ = labels != own
    if differ.mean() > _OTHER:
        raise ValueError(
            f"The model gives other answers to {differ.sum()} of its {own.size} rows than in its "
            "fit. Give the X of the fit, with its rows in the same order."
        )


def _vertices(estimator: Any, points: Any) -> NDArray[np.intp]:
    """The vertex of each row: equal rows are one, unless the affinity was given."""
    vertex = distinct_rows(points)[1]
    affinity = getattr(estimator, "affinity_", None)
    if affinity is None or affinity.shape[0] == vertex.max() + 1:
        return vertex
    given = isinstance(estimator.graph, AffinityGraph) or is_sparse(estimator.graph)
    if given and affinity.shape[0] == points.shape[0]:
        return np.arange(points.shape[0])
    raise ValueError(
        f"X has {vertex.max() + 1} different rows, and the graph of the model has "
        f"{affinity.shape[0]} points. Give the X of the fit; rows of sample weight 0 cannot be "
        "reported on."
    )


def _steps(pipeline: Pipeline) -> str:
    names = [type(step).__name__ for _, step in pipeline.steps[:-1]]
    return f"columns made by {', '.join(names)}" if names else "columns as they are"
