"""Choice of a method: `--method auto` of ``lapwing fit``, and ``lapwing compare``."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from lapwing._app import forecast
from lapwing._app.forecast import EFFORT, ROWS, EffortPlan, FitSize, round_time
from lapwing._app.methods import COMMAND_METHODS, CommandMethod, method_of
from lapwing._app.options import LabeledRequest, LearningRequest
from lapwing._app.reading import points_of
from lapwing._app.requests import CompareRequest, FitRequest, TuneRequest, fit_command
from lapwing._app.settings import make_estimator, settings_of
from lapwing._arrays import is_sparse
from lapwing._host.terminal import StatusLine, current_line
from lapwing._host.warn import warn
from lapwing._report.record import Choice
from lapwing._rows.base import is_rows
from lapwing._tables.encoders import TEXT
from lapwing._tables.preprocessing import MAX_WORDS, Preprocessed
from lapwing._tables.tables import Table
from lapwing.classes.decoding import n_columns
from lapwing.classes.label_checks import label_warnings_ignored
from lapwing.classes.labels import code_classes
from lapwing.classes.probabilities import Sharpness
from lapwing.estimators.diagnostics import warn_suggested_labels
from lapwing.exceptions import LapwingWarning
from lapwing.model_selection.candidates import (
    CLUSTERS,
    Candidate,
    default_candidates,
    quick_candidates,
    with_sizes,
)
from lapwing.model_selection.comparison import (
    CompareSettings,
    Comparison,
    compared,
    warn_of_failures,
)
from lapwing.model_selection.evidence import Effort
from lapwing.model_selection.relevance_scaler import RelevanceScaler

_SIZES = "class_prior"  # the only setting of the comparison that is not an amount of evidence
_LONG = 60.0  # seconds of a comparison that are announced
# Rows up to which a grid with the full kernel takes about 5 s.
_PATH_ROWS = 2000
_MIN_TARGETS = 2
_WORDS_COUNTED = 200  # rows; enough for a forecast of one digit


@dataclass(frozen=True, eq=False)
class MethodChoice:
    """The method of a fit.

    Attributes
    ----------
    method : CommandMethod
    estimator : estimator
        Unfitted.
    choice : Choice or None
        How it was chosen; None where the user named it.
    sharpness : Sharpness or None
        Sharpness of its probabilities, by the labels that the comparison left out.
    scaler : RelevanceScaler or None
        Unfitted scaler of the columns.
    """

    method: CommandMethod
    estimator: Any
    choice: Choice | None = None
    sharpness: Sharpness | None = None
    scaler: RelevanceScaler | None = None

    def scaled(self, prepared: Preprocessed, table: Table) -> Preprocessed:
        """Return the points of the fit, with scaled columns if that was chosen."""
        if self.scaler is None:
            return prepared
        points = self.scaler.fit_transform(prepared.points, table.y)
        steps = [*prepared.steps, ("relevance", self.scaler)]
        words = f"{prepared.words}; columns scaled by their relevance to the targets"
        return replace(prepared, steps=steps, points=points, words=words)


@dataclass(frozen=True, eq=False)
class Compared:
    """Result of ``lapwing compare``.

    Attributes
    ----------
    request : CompareRequest
        Options of the verb.
    table : Table
        Table on which the methods were compared.
    comparison : Comparison
        The candidates in order.
    commands : tuple of str
        The command that fits each candidate; empty if there is none.
    scaling : str
        Description of the preprocessing.
    seconds : float
        Time of the comparison.
    """

    request: CompareRequest
    table: Table
    comparison: Comparison
    commands: tuple[str, ...]
    scaling: str
    seconds: float


def choose(table: Table, request: LearningRequest, points: Any) -> MethodChoice:
    """Return the method of a request with an unfitted estimator for `points`.

    Raises
    ------
    ValueError
        If the chosen method does not support the options of the request.
    """
    if not request.automatic:
        return _named_method(request.method, request.parameters, table, request, points)
    if table.numeric and request.parameters:
        names = ", ".join(request.parameters)
        raise ValueError(
            f"{table.source}: the labels are numbers with fractions. --set {names} applies to the "
            "comparison of methods for classes. Leave it out, or name a method for numbers, such "
            "as --method laprls-regressor."
        )
    sizes = {name: value for name, value in request.parameters.items() if name == _SIZES}
    if isinstance(request, TuneRequest):
        path = "laprls-cv" if table.n <= _PATH_ROWS else "laperls-cv"
        path = "laprls-regressor-cv" if table.numeric else path
        return _named_method(path, sizes, table, request, points)
    if table.numeric and table.n_labeled < _MIN_TARGETS:
        chosen = _named_method("laprls-regressor", {}, table, request, points)
        words = "Too few targets to compare methods by leaving them out"
        return replace(chosen, choice=Choice(reason=words))
    effort, max_rows = effort_of(request)
    settings = _compare_settings(table, points, request.seed, effort, max_rows)
    if settings.candidates is not None:
        candidates = tuple(settings.candidates)
        if isinstance(request, FitRequest) and request.onnx is not None:
            candidates = tuple(map(_exportable, candidates))
        labels = code_classes(table.y, table.unlabeled)
        settings = settings._replace(candidates=with_sizes(candidates, sizes.get(_SIZES), labels))
        if request.parameters.keys() <= {_SIZES}:  # unless an amount of evidence is set
            plan = forecast.affordable(size_of(table, points), effort, max_rows)
            settings = _limited(settings, plan)
    with warnings.catch_warnings():
        # The last fit warns of all rows.
        warnings.simplefilter("ignore", LapwingWarning)
        found, sharpness = _compare(table, points, settings)
    best, scaler = found.best, None
    if isinstance(best, Pipeline):  # the default candidates have pipelines only for scaled columns
        scaler, best = best
    known = method_of(best)
    assert known is not None
    return MethodChoice(known, best, Choice(found, tuple(settings.untried)), sharpness, scaler)


def compare_methods(table: Table, request: CompareRequest) -> Compared:
    """Compare the usual methods on a table."""
    start = time.perf_counter()
    warn_suggested_labels(table.n_suggested, table.n_labeled)
    prepared = points_of(table, request)
    settings = _compare_settings(table, prepared.points, request.seed, EFFORT, request.max_rows)
    with label_warnings_ignored():  # as in a fit
        found, _ = _compare(table, prepared.points, settings)
    return Compared(
        request,
        table,
        found,
        tuple(command_of(row.estimator, request, prepared.points) for row in found.table),
        prepared.words,
        time.perf_counter() - start,
    )


def warn_if_long(table: Table, request: CompareRequest) -> float:
    """Forecast the seconds of a comparison, and warn of a long one with a shorter alternative.

    Warns
    -----
    LapwingWarning
        If it takes so long that users should know in advance.
    """
    size, rows = size_of(table), request.max_rows
    if table.numeric:  # only the grid on all rows takes noticeable time
        seconds = forecast.manifold_path(replace(size, n=min(size.n, rows))).seconds
    else:
        seconds = forecast.comparison(size, EffortPlan(rows, EFFORT, EFFORT)).seconds
    if seconds > _LONG:
        warn(
            f"Comparing methods on {table.source} will take about {round_time(seconds)}. It takes "
            "less on fewer rows: --rows.",
        )
    return seconds


def effort_of(request: LearningRequest) -> tuple[Effort, int]:
    """Return the amount of evidence, and the largest number of rows, that `--set` requests."""
    given = {name: value for name, value in request.parameters.items() if name != _SIZES}
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"--set {name}={value}: this must be a whole number.")
    max_rows = given.pop("max_samples", ROWS)
    return EFFORT._replace(**given), max_rows


def size_of(table: Table, points: Any = None) -> FitSize:
    """Return the sizes that the time of a comparison depends on.

    Parameters
    ----------
    table : Table
    points : ndarray or CSR of shape (n, d), default=None
        Input of the estimators. With None, when the words of free text are not counted yet,
        their number is estimated from the first rows.
    """
    X = table.X if points is None else points
    n, p = X.shape
    stored = X.nnz if is_sparse(X) else None
    n_words = _words_per_row(table) if points is None else 0.0
    if n_words:
        p, stored = p + MAX_WORDS, int(n_words * n)
    columns = 1 if table.numeric else n_columns(len(np.unique(table.y[table.labeled])))
    return FitSize(n, p, columns, table.n_labeled, n_stored=stored, in_blocks=is_rows(table.X))


def _words_per_row(table: Table) -> float:
    """Return the mean number of words and word pairs in the first rows; 0 without free text."""
    columns = [table.X[name][:_WORDS_COUNTED] for name in table.features.named(TEXT)]
    return float(sum(2 * np.mean([len(text.split()) for text in texts]) for texts in columns))


def _named_method(
    name: str, parameters: Mapping[str, Any], table: Table, request: LearningRequest, points: Any
) -> MethodChoice:
    method = COMMAND_METHODS[name]
    made = make_estimator(method, parameters, request.seed, points, unlabeled=table.unlabeled)
    return MethodChoice(method, made)


def _exportable(candidate: Candidate) -> Candidate:
    """Return a candidate in a form that can be exported to ONNX."""
    known = method_of(candidate.estimator)
    if known is None or not known.onnx_with:
        return candidate
    changed = known.onnx_with
    estimator = clone(candidate.estimator).set_params(**changed)
    return replace(candidate, name=repr(known.estimator(**changed)), estimator=estimator)


def _compare_settings(
    table: Table, points: Any, seed: int, effort: Effort, max_rows: int
) -> CompareSettings:
    """Return the settings of a comparison of the default candidates."""
    if table.numeric:
        return CompareSettings(None, max_samples=max_rows, random_state=seed, regression=True)
    found = default_candidates(points, table.unlabeled, len(np.unique(table.y[table.labeled])))
    candidates = quick_candidates(found) if table.labeled.all() else found
    return CompareSettings(
        candidates, effort, max_rows, unlabeled=table.unlabeled, random_state=seed
    )


def _limited(settings: CompareSettings, plan: EffortPlan) -> CompareSettings:
    """Limit a comparison to what is affordable: fewer rows, less evidence, fewer candidates."""
    candidates = tuple(settings.candidates or ())
    quick = quick_candidates(candidates)
    planned = {
        one.name: plan.clusters if one.assumption == CLUSTERS else plan.volumes
        for one in candidates
        if one not in quick
    }
    efforts = {name: effort for name, effort in planned.items() if effort is not None}
    untried = tuple(name for name in planned if name not in efforts)
    tried = tuple(one for one in candidates if one.name not in untried)
    return settings._replace(
        candidates=tried, max_samples=plan.rows, efforts=efforts, untried=untried
    )


def _compare(
    table: Table, points: Any, settings: CompareSettings
) -> tuple[Comparison, Sharpness | None]:
    """Compare methods, and return the sharpness of the best classifier as well."""
    for one in settings.candidates or ():
        if "random_state" in one.estimator.get_params(deep=False):
            one.estimator.set_params(random_state=settings.random_state)
    found, sharpness = compared(points, table.y, None, settings, current_line())
    warn_of_failures(found.failed, stacklevel=2)
    return found, sharpness


def command_of(estimator: Any, request: LabeledRequest, points: Any) -> str:
    """Return the command that fits an estimator to a table; empty if no options express it."""
    method = method_of(estimator)
    if method is None:
        return ""
    settings = settings_of(estimator, method, points)
    return "" if settings is None else fit_command(request, method=method.name, settings=settings)


def status_of_fit(table: Table, request: LearningRequest) -> StatusLine:
    """Make the status line of a fit, with a forecast of its seconds."""
    title = "Choosing a method" if request.automatic else request.chosen.class_name
    return StatusLine(title, request.quiet, request.chosen.forecast(size_of(table)).seconds)
