"""Fit of a table, on one machine or a cluster: its predictions, and the rows to label next."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor
from sklearn.pipeline import Pipeline

from lapwing import dask as on_cluster
from lapwing._app.choosing import MethodChoice, choose, command_of
from lapwing._app.methods import COMMAND_METHODS, CommandMethod
from lapwing._app.options import LearningRequest
from lapwing._app.reading import points_of
from lapwing._app.requests import FitRequest, SuggestRequest, TuneRequest
from lapwing._app.settings import dotted_parameters, format_setting, make_estimator
from lapwing._arrays import is_sparse
from lapwing._host.modules import require
from lapwing._host.terminal import current_line
from lapwing._host.warn import collect_warnings
from lapwing._report.page import collect
from lapwing._report.record import FitRecord, FittedTwin, Origin, ReportData, Trust
from lapwing._rows.base import is_rows
from lapwing._tables.encoders import Encoding
from lapwing._tables.predictions import Predictions
from lapwing._tables.preprocessing import Preprocessed
from lapwing._tables.tables import Table
from lapwing.classes.decoding import as_columns, of_each_class, predict_codes
from lapwing.classes.label_checks import label_warnings_ignored
from lapwing.classes.probabilities import class_probabilities
from lapwing.estimators import LapERLSClassifier
from lapwing.estimators.diagnostics import warn_suggested_labels
from lapwing.estimators.path import PathEstimator
from lapwing.estimators.regressor import GaussianRegressor
from lapwing.exceptions import LapwingWarning
from lapwing.graphs import default_graph
from lapwing.model_selection.next_rows import informative_rows, rows_to_label
from lapwing.model_selection.probabilities import (
    probability_right,
    sharpen_untested,
    sharpness_of,
    sure_rows,
)
from lapwing.model_selection.relevance_scaler import correct_left_out
from lapwing.problem import distinct_rows

N_NEXT = 10  # rows to label next
COVERAGE = 0.9  # of prediction intervals
_KEPT_ROWS = 5000  # up to this number, two more n x n matrices need little memory
_GRAPH_ROWS = 20_000  # up to this number, a second graph takes a few seconds

# Precisions of sure predictions, the best first: few labels cannot support 99 %.
LEVELS = (0.99, 0.95, 0.9)
_ROUNDING = 1e-9

_CHUNKS = 4  # per worker, to balance their loads
_CONNECT = 10  # seconds


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome(FitRecord):
    """Fit of the command line.

    Attributes
    ----------
    request : FitRequest
        Options of the verb.
    seconds : float
        Time of fit and prediction.
    impute : {'none', 'median', 'mean'}
        Replacement of missing numbers.
    encoding : Encoding or None
        The encoder whose vectors the pipeline takes.
    """

    request: FitRequest
    seconds: float = 0.0
    impute: str = "none"
    encoding: Encoding | None = None

    @cached_property
    def figures(self) -> ReportData | None:
        """Figures of the report; None for points on disk, which have none."""
        return None if is_rows(self.table.X) else collect(self)

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the estimator for JSON, those of its parts as ``graph.name``."""
        own = dotted_parameters(self.estimator).items()
        return {k: _plain(v) for k, v in own if k not in ("unlabeled", "warm_start")}


@dataclass(frozen=True, eq=False)
class Suggestion:
    """Rows to label next.

    Attributes
    ----------
    request : SuggestRequest
        Options of the verb.
    table : Table
        Training table.
    rows : ndarray of int
        The rows, the most informative first.
    name : str
        Name of the method.
    fitted : bool
        Whether there were labels of two classes for a fit; otherwise the rows cover the table.
    chosen_by : {'graph', 'graph and answers', 'variance'}
        Criterion of the choice.
    scaling : str
        Description of the preprocessing.
    seconds : float
        Time of the fit and the choice.
    """

    request: SuggestRequest
    table: Table
    rows: NDArray[np.intp]
    name: str
    fitted: bool
    chosen_by: str
    scaling: str
    seconds: float


def origin_of(request: FitRequest, chosen: MethodChoice, points: Any) -> Origin:
    """Describe the request of a fit; the estimator of `chosen` is fitted."""
    plain = ""
    # No option scales columns by their relevance.
    if (request.automatic or isinstance(request, TuneRequest)) and chosen.scaler is None:
        best = chosen.estimator
        if isinstance(best, PathEstimator):
            best = best._estimator(**best.best_params_)
        plain = command_of(best, request, points)
    truth = request.truth or ""
    return Origin(request.seed, request.hints, request.command, plain, truth, request.layout)


def fit(table: Table, request: FitRequest) -> Outcome:
    """Fit an estimator to a table and predict all its rows.

    Parameters
    ----------
    table : Table
        Rows with and without labels.
    request : FitRequest
        Method, parameters, scaling, seed; a report needs the supervised twin too.

    Returns
    -------
    Outcome
        Model and predictions.

    Raises
    ------
    ValueError, MemoryError
        As the estimator raises.
    """
    start = time.perf_counter()
    warn_suggested_labels(table.n_suggested, table.n_labeled)
    keeps_graph, in_blocks = request.next_rows is not None, is_rows(table.X)
    prepared, chosen = _fit_method(table, request, keeps_graph=keeps_graph)
    estimator, method = chosen.estimator, chosen.method
    next_rows = None
    if keeps_graph:
        # With many rows, classifiers fall back to the least certain; regressors have no such order.
        if table.n <= _GRAPH_ROWS or is_regressor(estimator) or _has_graph(estimator):
            next_rows = rows_to_label_next(estimator, prepared.points, N_NEXT)
        if hasattr(estimator, "suggest"):
            # A copy lacks the data kept for this, which are of order n^2 and no part of the model.
            estimator = copy(estimator).set_params(updatable=False)
    # The twin would be fitted here and not on the cluster; points on disk have no report.
    elsewhere = request.distributed or in_blocks
    wants_twin = request.wants_report and not elsewhere
    answers = predict_fitted_rows(estimator, method, prepared.points, table)
    answers, trust = trust_rows(estimator, answers)
    return Outcome(
        method=method.facts(estimator),
        origin=origin_of(request, replace(chosen, estimator=estimator), prepared.points),
        table=table,
        pipeline=Pipeline([*prepared.steps, ("estimator", estimator)]),
        points=prepared.points,
        # The estimators merge equal rows in the same way, but do not keep the result.
        vertex=np.empty(0, np.intp) if in_blocks else distinct_rows(prepared.points)[1],
        predictions=answers,
        scaling=prepared.words,
        twin=fit_twin(estimator, method, prepared.points, table) if wants_twin else None,
        trust=trust,
        choice=chosen.choice,
        next_rows=next_rows,
        request=request,
        seconds=time.perf_counter() - start,
        impute=prepared.impute,
        encoding=prepared.encoding,
    )


def _fit_method(
    table: Table, request: LearningRequest, *, keeps_graph: bool
) -> tuple[Preprocessed, MethodChoice]:
    """Choose the method of a request, and fit it to the points of a table."""
    prepared = points_of(table, request)
    chosen = choose(table, request, prepared.points)
    prepared, estimator = chosen.scaled(prepared, table), chosen.estimator
    if keeps_graph and hasattr(estimator, "suggest"):
        small = table.n <= _KEPT_ROWS or isinstance(estimator, LapERLSClassifier)
        estimator.set_params(updatable=small)
    if isinstance(request, FitRequest) and request.distributed:
        local = fit_on_cluster(estimator, prepared.points, table.y, table.labeled, request)
        return prepared, replace(chosen, estimator=local)
    fit_estimator(estimator, prepared.points, table.y, request)
    if chosen.sharpness is not None:
        sharpen_untested(estimator, chosen.sharpness)
    correct_left_out(estimator, prepared.steps)
    return prepared, chosen


def suggest(table: Table, request: SuggestRequest) -> Suggestion:
    """Choose the most informative rows of a table to label next.

    Parameters
    ----------
    table : Table
        Rows with and without labels; there may be no label at all.
    request : SuggestRequest
        Method, parameters, scaling, seed, and how many rows.

    Returns
    -------
    Suggestion
        Rows and method.

    Raises
    ------
    ValueError
        If every row has a label, or the fit fails.
    """
    if table.labeled.all():
        raise ValueError(f"{table.source}: every row has a label. There is none to label next.")
    start = time.perf_counter()
    asked, request = request, request.decided(numeric=table.numeric)
    known = len(np.unique(table.y[table.labeled]))
    fitted, name, by = known >= (1 if table.numeric else 2), request.method, "graph"
    if fitted:
        prepared, chosen = _fit_method(table, request, keeps_graph=True)
        name, by = chosen.method.name, chosen_by(chosen.estimator)
        rows = rows_to_label_next(chosen.estimator, prepared.points, request.n_rows)
    else:
        prepared = points_of(table, request)
        rows = informative_rows(
            prepared.points,
            table.labeled,
            request.n_rows,
            _graph_of(request, prepared.points),
            regression=table.numeric,
        )
    if not len(rows):
        raise ValueError(
            f"{table.source}: the rows without a label are equal to labelled rows. There is none "
            "to label next."
        )
    seconds = time.perf_counter() - start
    return Suggestion(asked, table, rows, name, fitted, by, prepared.words, seconds)


def _graph_of(request: SuggestRequest, points: Any) -> Any:
    """Return the graph of the request, or the default graph."""
    estimator = make_estimator(request.chosen, request.parameters, request.seed, points)
    usual = default_graph(points, regression=request.chosen.regression)
    return getattr(estimator, "graph", None) or usual


def rows_to_label_next(estimator: Any, points: Any, n_wanted: int) -> NDArray[np.intp]:
    """Choose the rows to label next by what the fit kept, else by a new graph."""
    numbers = isinstance(estimator, GaussianRegressor)  # by posterior variances, without a graph
    if getattr(estimator, "updatable", False) and (numbers or _has_graph(estimator)):
        return np.asarray(estimator.suggest(n_wanted))
    return np.asarray(rows_to_label(points, k=n_wanted, model=estimator))


def chosen_by(estimator: Any) -> str:
    """Return the criterion of `rows_to_label_next`: graph, graph and answers, or variance."""
    if not is_regressor(estimator):
        return "graph and answers"
    kept = getattr(estimator, "updatable", False)
    return "variance" if kept and estimator._has_posterior() else "graph"


def _has_graph(estimator: Any) -> bool:
    """Return whether a fit, or the best one of a grid, has a graph."""
    return getattr(estimator, "affinity_", None) is not None


def fit_estimator(estimator: Any, points: Any, y: NDArray[Any], request: LearningRequest) -> None:
    """Fit an estimator, with errors in terms of the command line."""
    # The steps are fitted one by one and joined afterwards, because Pipeline.fit shows two more
    # progress bars.
    try:
        with label_warnings_ignored():  # reading the table already warned, in terms of options
            estimator.set_callbacks(*current_line().callbacks).fit(points, y)
    except (TypeError, AttributeError, ArithmeticError, RuntimeError) as error:
        if not request.parameters:
            raise
        # Metrics and kernels of other libraries may have requirements that are unknown here.
        given = " ".join(
            f"--set {name}={format_setting(value)}" for name, value in request.parameters.items()
        )
        raise ValueError(f"{given} does not work: {error}") from error
    finally:
        estimator.set_callbacks()


def fit_twin(estimator: Any, method: CommandMethod, points: Any, table: Table) -> FittedTwin | None:
    """Fit the supervised twin: the same estimator without the term of the unlabelled rows.

    None if the method has none. A twin of the labelled rows alone needs two of them, and cannot be
    fitted to the rows of a kernel matrix.
    """
    given = estimator.get_params(deep=False).get("kernel")
    precomputed = isinstance(given, str) and given == "precomputed"
    too_few = np.count_nonzero(table.labeled) < 2
    if method.twin is None or (method.twin.labeled_only and (precomputed or too_few)):
        return None
    twin = clone(estimator).set_params(**method.twin.parameters)
    kernel: Any = getattr(estimator, "kernel_", None)  # a linear function has none
    if kernel is not None and kernel.gamma is not None:
        _fix_parameters(twin, gamma=kernel.gamma)  # 'scale' would depend on other points
    labeled_only = method.twin.labeled_only
    rows = table.labeled if labeled_only else slice(None)
    if labeled_only:
        _fix_parameters(twin, graph=None)  # few rows may not support it
    with warnings.catch_warnings():
        # The twin has no unlabelled rows by design.
        warnings.simplefilter("ignore", LapwingWarning)
        twin.fit(points[rows], table.y[rows])
    return FittedTwin(twin, twin.predict(points) if labeled_only else twin.transduction_)


def _fix_parameters(estimator: Any, **values: Any) -> None:
    """Set parameters; the grid of an estimator that chooses them becomes this value."""
    known = estimator.get_params(deep=False)
    for name, value in values.items():
        several = {f"{name}s": None if value is None else (value,)}
        estimator.set_params(**({name: value} if name in known else several))


def predict_fitted_rows(
    estimator: Any, method: CommandMethod, points: Any, table: Table
) -> Predictions:
    """Predict the rows of the fit."""
    if not method.virtual:
        return predict_rows(estimator, points, table, regression=method.regression)
    values = estimator.virtual_labels_
    if method.regression:  # intervals belong to the function, not to virtual labels
        return Predictions(table.ids, values[:, 0], table.labeled)
    return _predicted_classes(estimator, values, table)


def predict_rows(estimator: Any, points: Any, table: Table, *, regression: bool) -> Predictions:
    if not regression:
        return _predicted_classes(estimator, estimator.decision_function(points), table)
    try:
        ends = estimator.predict_interval(points, COVERAGE)
    except ValueError:  # too few targets, or no left-out values in closed form
        ends = None
    return Predictions(table.ids, estimator.predict(points), table.labeled, interval=ends)


def _predicted_classes(estimator: Any, scores: NDArray[Any], table: Table) -> Predictions:
    columns = as_columns(scores)
    labels = estimator.classes_[predict_codes(columns)]  # `predict` would compute the kernel again
    classes, scores = estimator.classes_, of_each_class(columns)
    return Predictions(table.ids, labels, table.labeled, classes, scores)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "get_params"):
        return type(value).__name__
    return value.item() if isinstance(value, np.generic) else str(value)


def trust_rows(estimator: Any, answers: Predictions) -> tuple[Predictions, Trust | None]:
    """Add probabilities to the predictions of a fit, and decide which are sure.

    Parameters
    ----------
    estimator : classifier of lapwing or regressor
        Fitted.
    answers : Predictions
        Predictions for the rows of the fit.

    Returns
    -------
    Predictions
        With probabilities; unchanged for regression.
    Trust or None
        None for regression.
    """
    if is_regressor(estimator):
        return answers, None
    with collect_warnings():  # the summary reports the numbers of labels left out and required
        found = [(level, sure_rows(estimator, precision=level)) for level in LEVELS]
    level, best = next((one for one in found if one[1].sure.any()), found[0])
    n_tests, n_needed = int(estimator.probability_n_labels_), _n_labels_needed(estimator, LEVELS[0])
    trust = Trust(level, None, None, None, None, n_tests, n_needed)
    if best.sure.any():
        (low, high), threshold = best.interval, float(best.threshold)
        trust = replace(trust, threshold=threshold, expected=best.precision, low=low, high=high)
    return with_probabilities(estimator, answers, trust.threshold), trust


def with_probabilities(
    estimator: Any, answers: Predictions, threshold: float | None
) -> Predictions:
    if answers.scores is None:
        return answers
    sharpness = sharpness_of(estimator)
    shares = class_probabilities(answers.scores, sharpness.value)
    sure = np.zeros(len(shares), dtype=bool)
    if threshold is not None:
        # Scores of the same rows differ by rounding between the fit and a later prediction.
        sure = probability_right(shares, sharpness) >= (1 - _ROUNDING) * threshold
    return replace(answers, probabilities=shares, sure=sure)


def _n_labels_needed(estimator: Any, level: float) -> int:
    """Return how many labels a level needs: n without error give 1 - (1/2) / (n + 1)."""
    if not estimator.probability_n_labels_:
        return 0
    return int(np.ceil(0.5 / (1 - level) - 1 - 1e-9)) + len(estimator.classes_)


def fit_on_cluster(
    estimator: Any, points: Any, y: NDArray[Any], labeled: NDArray[np.bool_], request: FitRequest
) -> Any:
    """Fit the counterpart of an estimator on a cluster.

    Parameters
    ----------
    estimator : estimator
        Not fitted.
    points : ndarray or CSR of shape (n, d)
        Transformed features.
    y : ndarray of shape (n,)
        Labels.
    labeled : ndarray of bool of shape (n,)
        Rows with a label.
    request : FitRequest
        With the address of a cluster, or a number of workers.

    Returns
    -------
    estimator
        Fitted in-memory estimator, with the predictions for all rows.

    Raises
    ------
    ValueError
        If the method with these parameters does not run on a cluster, or there is no scheduler at
        the address.
    """
    flag = request.cluster_flag
    model = _counterpart(estimator, flag)
    sparse = is_sparse(points)
    if sparse and not isinstance(model, on_cluster.DaskS3VC):
        raise ValueError(
            f"{flag}: the table is a sparse matrix, because of free text or the format of its "
            "file. On a cluster use --method s3vc --set kernel=linear --set multi_class=ovr, or "
            "leave out columns of text with --drop."
        )
    array = require("dask.array", extra="dask", purpose=flag)
    config = require("dask", extra="dask", purpose=flag).config
    rows = np.flatnonzero(labeled)
    with _client(request) as client:
        n_chunks = _CHUNKS * max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
        height = -(-points.shape[0] // n_chunks)
        # The table has to be sent, because only this process has it.
        with config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            chunks, asarray = (height, points.shape[1]), False if sparse else None
            X = array.from_array(points, chunks=chunks, asarray=asarray).persist()
        with label_warnings_ignored():
            model.set_params(client=client).fit(X, (rows, y[rows]))
        local = model.to_local()
        for name in model._lazy:
            setattr(local, name, getattr(model, name).compute())
        local.labeled_ = labeled
    return local


def _counterpart(estimator: Any, flag: str) -> Any:
    """Return the estimator for clusters with the same parameters."""
    made = getattr(on_cluster, f"Dask{type(estimator).__name__}", None)
    if made is None:
        known = [
            name
            for name, method in COMMAND_METHODS.items()
            if hasattr(on_cluster, f"Dask{method.estimator.__name__}")
        ]
        raise ValueError(
            f"{flag}: {type(estimator).__name__} does not run on a cluster. Use --method with one "
            f"of {', '.join(known)}."
        )
    given = estimator.get_params(deep=False)
    usual = type(estimator)().get_params(deep=False) | made._fixed
    own = made().get_params(deep=False)
    for name, value in given.items():
        if name not in own and repr(value) != repr(usual[name]) and name != "random_state":
            raise ValueError(
                f"{flag}: {name}={value} is not supported on a cluster. Use "
                f"--set {name}={usual[name]}."
            )
    return made(**{name: value for name, value in given.items() if name in own})


@contextmanager
def _client(request: FitRequest) -> Iterator[Any]:
    distributed = require("distributed", extra="dask", purpose=request.cluster_flag)
    if request.cluster is None:
        cluster = distributed.LocalCluster(
            n_workers=request.workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # any port of the loopback interface
            scheduler_kwargs={"dashboard": False},
            silence_logs="CRITICAL",  # errors are raised as exceptions
        )
        with cluster, distributed.Client(cluster, timeout=_CONNECT) as client:
            yield client
        return
    try:
        client = distributed.Client(request.cluster, timeout=_CONNECT)
    except (OSError, TimeoutError, ValueError) as error:
        raise ValueError(
            f"{request.cluster_flag} {request.cluster}: no Dask scheduler answers there ({error}). "
            "Start one by `dask scheduler`, or use --workers 2 for this machine alone."
        ) from error
    with client:
        yield client
