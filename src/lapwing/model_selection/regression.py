"""Evidence for regressions, by leave-one-out errors."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri, ndtri
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from lapwing._arrays import Array
from lapwing._rows import PointsLike
from lapwing.estimators.lapsvm import LapRLSRegressor
from lapwing.estimators.path import PathEstimator, standard_error
from lapwing.estimators.prepared import SILENT
from lapwing.model_selection.candidates import LABELS_ALONE, Candidate, with_last
from lapwing.model_selection.evidence import PROBABILITY
from lapwing.model_selection.relevance_scaler import optimism_of
from lapwing.model_selection.trials import start

# Relative gain from which a method with a graph is preferred. On five sets of 400 rows with 20, 40
# and 80 targets and four draws, the mean error relative to that of the best supervised method in
# hindsight is 1.01; with the one-standard-error rule (Breiman, Friedman, Olshen and Stone 1984,
# section 3.4.3) it is 1.04, as with 20 targets errors half as large are within one standard error.
_GAIN = 0.02
# Relative to the largest target: smaller errors are rounding.
_ROUNDING = 1e-12
# Explained variance below which predictions are hardly better than the mean of the targets.
_EXPLAINED = 0.1


@dataclass(frozen=True, eq=False)
class RegressionEvidence:
    """Evidence for a regression among the candidates of `compare`.

    Parameters
    ----------
    name : str
        Name in the table.
    estimator : estimator
        Unfitted estimator, with the parameters that it selected if it has parameter selection.
    assumption : str
        Assumption about the values, in words; 'labels alone' if the rows without a target are not
        used, also as a result of parameter selection.
    error : float
        Weighted root mean square of `residuals`, in the units of y.
    error_interval : tuple of float
        Interval that contains the error on other rows with probability 0.9: the wider of those by
        the normal distribution of the mean square, which accounts for heavy tails, and by the
        chi-squared distribution of normal residuals, which accounts for few residuals.
    explained : float
        1 minus the mean square relative to that of the mean of the other targets: at most 1, and 0
        or less if the fit is no better than the mean.
    rows : ndarray of int of shape (n_left_out,)
        Rows of X whose targets were left out in turn.
    residuals : ndarray of shape (n_left_out,)
        Leave-one-out residuals of the targets, multiplied by `RelevanceScaler.optimism_` if the
        columns were scaled with all targets.
    weights : ndarray of shape (n_left_out,)
        Weights of the targets, with sum 1.
    seconds : float
        Time of the trial.
    """

    regression: ClassVar[bool] = True
    admitted: ClassVar[bool] = True  # only classifiers can be rejected
    objection: ClassVar[str] = ""
    HEADER: ClassVar[tuple[str, ...]] = (
        "candidate", "assumption", "off by (90 % interval)", "explained", "left out", "seconds",
    )  # fmt: skip
    FIGURES: ClassVar[tuple[str, ...]] = ("explained", "n_left_out", "seconds")

    name: str
    estimator: Any
    assumption: str
    error: float
    error_interval: tuple[float, float]
    explained: float
    rows: Array
    residuals: Array
    weights: Array
    seconds: float

    @property
    def n_left_out(self) -> int:
        """Number of targets that were left out."""
        return len(self.residuals)

    def cells(self) -> tuple[str, ...]:
        """Format the row of the table.

        Returns
        -------
        tuple of str
            A text for each column of the table.
        """
        low, high = self.error_interval
        return (
            self.name,
            self.assumption,
            f"{self.error:.3g} ({low:.3g}-{high:.3g})",
            "-" if math.isnan(self.explained) else f"{100 * self.explained:.0f} %",
            str(self.n_left_out),
            f"{self.seconds:.1f}",
        )


def try_out_regression(
    candidate: Candidate, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> RegressionEvidence:
    """Gather the evidence for a regression by exact leave-one-out.

    Parameter selection is done once with all targets, as there are few parameters. Errors after
    column scaling, which has a parameter per column, are corrected for it.

    Raises
    ------
    ValueError
        As for `fit`, and if there is only one target.
    """
    begun = time.perf_counter()
    tried, optimism = candidate.estimator, 1.0
    if isinstance(tried, Pipeline):
        steps = clone(tried[:-1])
        X = steps.fit_transform(X, y) if len(steps) else X
        tried, optimism = tried[-1], optimism_of(steps.steps)
    refits: Any = start(tried, X, y, sample_weight).refits
    if isinstance(refits.estimator, PathEstimator):
        refits = refits.estimator._solve(refits.prepared, SILENT).refits()
    problem = refits.prepared.problem
    if len(problem.targets) < 2:
        raise ValueError("y contains one target, and none can be left out. Give at least two.")
    residuals = optimism * (problem.targets - refits.left_out())[:, 0]
    weights = problem.weights / problem.weights.sum()
    least = (_ROUNDING * np.abs(problem.targets).max(initial=0.0)) ** 2
    squares = weights @ residuals**2
    squares = squares if squares > least else 0.0
    others = 1 - weights  # total weight of the other targets
    of_mean = weights @ ((problem.targets[:, 0] - weights @ problem.targets[:, 0]) / others) ** 2
    low, high = _interval(squares, residuals**2, weights)
    last = clone(refits.estimator)
    # Only the dual solver has the leave-one-out values that intervals need.
    if isinstance(last, LapRLSRegressor) and (last.kernel, last.solver) == ("linear", "auto"):
        last.set_params(solver="dual")
    return RegressionEvidence(
        name=candidate.name,
        estimator=with_last(clone(candidate.estimator), last),
        assumption=candidate.assumption if last._wants_graph() else LABELS_ALONE,
        error=math.sqrt(squares),
        error_interval=(math.sqrt(low), math.sqrt(high)),
        explained=float(1 - squares / of_mean) if of_mean > least else math.nan,
        rows=problem.observed,
        residuals=residuals,
        weights=weights,
        seconds=time.perf_counter() - begun,
    )


def _interval(squares: float, each: Array, weights: Array) -> tuple[float, float]:
    """Compute the interval of the mean square on other rows."""
    half = float(ndtri((1 + PROBABILITY) / 2)) * standard_error(each, weights)
    tail = (1 - PROBABILITY) / 2
    low, high = (squares * len(each) / chdtri(len(each), p) for p in (tail, 1 - tail))
    return max(0.0, min(squares - half, float(low))), max(squares + half, float(high))


def clearly_better(row: RegressionEvidence, other: RegressionEvidence) -> bool:
    """Return whether a row's errors are smaller by a standard error of the difference.

    The differences are those on the same targets, which may be hard for both.
    """
    _, mine, its = np.intersect1d(row.rows, other.rows, return_indices=True)
    worse = other.residuals[its] ** 2 - row.residuals[mine] ** 2
    weights = row.weights[mine] / row.weights[mine].sum()
    return bool(weights @ worse > standard_error(worse, weights))


def simplest_first(table: Sequence[RegressionEvidence]) -> list[RegressionEvidence]:
    """Sort rows by their error, with the selected one first.

    This is the best supervised candidate, unless the best of all is better by 2 % or more.
    """
    rows = sorted(table, key=attrgetter("error"))
    alone = next((row for row in rows if row.assumption == LABELS_ALONE), rows[0])
    if alone is not rows[0] and rows[0].error >= (1 - _GAIN) * alone.error:
        rows = [alone, *(row for row in rows if row is not alone)]
    return rows


def regression_verdict(table: Sequence[RegressionEvidence], *, all_labeled: bool = False) -> str:
    """Return whether the rows without a target help, and which estimator to use.

    Parameters
    ----------
    table : sequence of RegressionEvidence
        Rows, the selected one first.
    all_labeled : bool, default=False
        Whether every row has a target.
    """
    chosen, use = table[0], f"Use {table[0].name}."
    alone = [row for row in table if row.assumption == LABELS_ALONE]
    if all_labeled:
        return f"Every row has a target, so there are no other rows to learn from. {use}"
    if not chosen.explained > _EXPLAINED:
        return (
            "Nothing here follows the targets: give more targets, or use other features. The best "
            f"is {chosen.name}, and it is hardly better than the mean of the targets."
        )
    if chosen.assumption == LABELS_ALONE:
        return (
            "The unlabelled rows do not help: no method that uses them does better than the labels "
            f"alone. {use}"
        )
    if not alone:
        return f"Of these candidates {chosen.name} is the best: {chosen.assumption}. {use}"
    rival = min(alone, key=attrgetter("error"))
    missed = (
        f"Targets left out are missed by {chosen.error:.3g}, and by {rival.error:.3g} from the "
        "labels alone (root mean square)"
    )
    if not clearly_better(chosen, rival):
        return (
            f"The unlabelled rows seem to help: {chosen.assumption}. {use} {missed}. The "
            "difference is within chance. More targets would tell."
        )
    return f"The unlabelled rows help: {chosen.assumption}. {use} {missed}."
