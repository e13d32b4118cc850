"""Choice and estimates of `compare` for each draw, with constants fitted to other sets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.stats import beta

from benchmarks.choosing.problems import SOURCES, Task
from benchmarks.choosing.records import Record, Row
from lapwing.model_selection.candidates import LABELS_ALONE
from lapwing.model_selection.comparison import in_order
from lapwing.model_selection.evidence import (
    CONSTANTS,
    Constants,
    Evidence,
    estimate_error,
    posterior,
)

_ROUNDS = 3  # of choosing and fitting constants to the choices
_BOUNDS = (0.003, 0.99)  # bounds of errors, as a beta distribution has no mass at 0 and 1


@dataclass(frozen=True)
class Outcome:
    """Choice on a draw, with estimated and true errors.

    Attributes
    ----------
    task : Task
    name : str
    error : float
        True error of the chosen candidate.
    estimate, low, high : float
    supervised : float
        True error of supervised learning.
    """

    task: Task
    name: str
    error: float
    estimate: float
    low: float
    high: float
    supervised: float

    @property
    def covered(self) -> bool:
        return self.low <= self.error <= self.high


def ordered(record: Record, constants: Constants) -> list[tuple[Row, Evidence]]:
    """Return the rows with their evidence in the order of `compare`."""
    rows = {row.name: row for row in record.rows}
    table = in_order([_evidence(row, constants) for row in record.rows], record.n_classes)
    return [(rows[evidence.name], evidence) for evidence in table]


def chosen(record: Record, constants: Constants) -> Row:
    """Return the choice of `compare`."""
    return ordered(record, constants)[0][0]


def family(row: Row) -> str:
    """Return the name of a candidate in tables, for any kernel."""
    return "SVM" if row.assumption == LABELS_ALONE else row.name.partition("(")[0]


def supervised(record: Record) -> Row:
    """Return the row of supervised learning."""
    return next(row for row in record.rows if row.assumption == LABELS_ALONE)


def larger_of_both(record: Record) -> Row:
    """Choose by the rule of the prototype: the larger of reproducibility and leave-one-out."""

    def size(row: Row) -> tuple[float, float]:
        left_out = sum(row.n_left_out)
        missed = sum(row.n_missed) / left_out if left_out else 0.0
        return max(row.reproducibility, missed), row.reproducibility

    return min([row for row in record.rows if not row.objection] or record.rows, key=size)


def fitted(records: Sequence[Record]) -> Constants:
    """Fit the constants by maximum likelihood; all sets have equal weight."""
    times = Counter(_cell(record.task) for record in records)
    weights = np.array([1 / times[_cell(record.task)] for record in records])
    constants = CONSTANTS
    for _ in range(_ROUNDS):
        rows = [chosen(record, constants) for record in records]
        constants = _likeliest(rows, weights, constants)
    return constants


def outcomes(records: Sequence[Record], more: Sequence[Record] = ()) -> list[Outcome]:
    """Apply `compare` to each set with constants fitted to sets of other origin.

    Parameters
    ----------
    records : sequence of Record
        Records to evaluate.
    more : sequence of Record
        Records with other numbers of points, used for the constants only.
    """
    found = []
    for origin in sorted({SOURCES[record.task.source].origin for record in records}):
        others = [r for r in (*records, *more) if SOURCES[r.task.source].origin != origin]
        constants = fitted(others) if others else CONSTANTS
        for record in records:
            if SOURCES[record.task.source].origin == origin:
                row, evidence = ordered(record, constants)[0]
                found.append(
                    Outcome(
                        record.task,
                        row.name,
                        row.error,
                        evidence.error,
                        *evidence.error_interval,
                        supervised(record).error,
                    )
                )
    return found


def _cell(task: Task) -> tuple[str, int, str]:
    return task.source, task.per_class, task.drawing


def _evidence(row: Row, constants: Constants) -> Evidence:
    n_left_out = np.array(row.n_left_out)
    estimate = estimate_error(
        _reproducibility(row),
        np.array(row.n_missed),
        n_left_out,
        constants,
        contradiction=row.contradiction,
    )
    return Evidence(
        name=row.name,
        estimator=None,
        assumption=row.assumption,
        error=estimate.error,
        error_interval=(estimate.low, estimate.high),
        left_out_error=math.nan,
        left_out_standard_error=math.nan,
        n_left_out=int(n_left_out.sum()),
        reproducibility=row.reproducibility,
        reproducibility_standard_error=math.nan,
        smallest_share=math.nan,
        fitted=math.nan,
        objection=row.objection,
        seconds=row.seconds,
        contradiction=row.contradiction,
    )


def _likeliest(rows: Sequence[Row], weights: np.ndarray, start: Constants) -> Constants:
    """Fit the constants of `lapwing.model_selection.evidence`."""
    errors = np.clip([row.error for row in rows], *_BOUNDS)

    def constants(parameters: np.ndarray) -> Constants:
        return Constants(*np.exp(parameters))

    def loss(parameters: np.ndarray) -> float:
        tried = constants(parameters)
        both = np.array([_posterior(row, tried) for row in rows])
        return float(-(weights * beta.logpdf(errors, both[:, 0], both[:, 1])).sum())

    return constants(minimize(loss, np.log(start), method="Nelder-Mead").x)


def _posterior(row: Row, constants: Constants) -> tuple[float, float]:
    return posterior(
        _reproducibility(row),
        np.array(row.n_missed),
        np.array(row.n_left_out),
        constants,
        row.contradiction,
    )


def _reproducibility(row: Row) -> float:
    """Return the reproducibility for the estimate; NaN for predictions with an objection."""
    return math.nan if row.objection else row.reproducibility


def mean_over_sets(values: Sequence[float], tasks: Sequence[Task]) -> float:
    """Return the mean over sets of the means over draws."""
    sets = np.array([task.source for task in tasks])
    return float(np.mean([np.mean(np.asarray(values)[sets == name]) for name in np.unique(sets)]))
