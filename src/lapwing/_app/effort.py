"""Budget of a comparison of methods: the evidence that its time allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from lapwing._app.forecast import (
    FitSize,
    Forecast,
    forecast_balanced,
    forecast_embedded_squared,
    forecast_low_density,
    forecast_manifold,
)
from lapwing.model_selection.evidence import Effort

# Seconds, for methods that are fitted repeatedly. BalancedGraphClassifier has a larger budget: with
# ten or thirty classes it helps most, and no faster method replaces it. From about sixty classes on
# it exceeds this budget too.
BUDGET, VOLUMES_BUDGET = 10.0, 40.0
_FEWEST = 500  # rows; fewer do not show the manifolds and clusters of most tables
_STEPS = (1.0, 0.7, 0.5, 0.35, 0.25)  # of the rows, as precise as the forecast
_FEW_DRAWS, _FEW_LEFT_OUT = 2, 6  # minimum; verdicts need five left-out labels
_AT_ONCE = 4  # fits of a method that leaves out all labels in closed form
_MATRIX = 12_000  # rows; above, no method stores an n x n matrix
_Forecaster: TypeAlias = Callable[[FitSize], Forecast]


@dataclass(frozen=True)
class EffortLimits:
    """Amount of evidence that a comparison gathers.

    Attributes
    ----------
    n_draws : int
        Number of draws of labels from a method's own predictions.
    max_left_out : int
        Largest number of left-out labels for methods that are fitted again.
    max_samples : int
        Largest number of rows.
    """

    n_draws: int = 5
    max_left_out: int = 16
    max_samples: int = 2000


@dataclass(frozen=True)
class EffortPlan:
    """Amount of evidence that a comparison can afford.

    Attributes
    ----------
    rows : int
        Largest number of rows.
    clusters, volumes : Effort or None
        Evidence for S3VC and BalancedGraphClassifier; None if even the minimum takes too long.
    """

    rows: int
    clusters: Effort | None
    volumes: Effort | None


def affordable(size: FitSize, effort: EffortLimits) -> EffortPlan:
    """Reduce draws and rounds, then rows; leave out methods that still take too long.

    Parameters
    ----------
    size : FitSize
        Size of the whole table.
    effort : EffortLimits
        Evidence without a budget.
    """
    steps = [max(min(effort.max_samples, _FEWEST), round(s * effort.max_samples)) for s in _STEPS]
    for clusters in (True, False):  # with many classes S3VC takes most of the time
        for rows in steps:
            plan = EffortPlan(
                rows,
                _longest(forecast_low_density, BUDGET, size, effort, rows) if clusters else None,
                _longest(_forecast_volumes, VOLUMES_BUDGET, size, effort, rows),
            )
            if plan.volumes is not None and (plan.clusters is not None or not clusters):
                return plan
    return EffortPlan(effort.max_samples, None, None)


def _longest(
    forecast: _Forecaster, budget: float, size: FitSize, effort: EffortLimits, rows: int
) -> Effort | None:
    """Choose the most evidence of a method within a budget of seconds."""
    few = min(effort.n_draws, _FEW_DRAWS)
    for evidence in (
        Effort(effort.n_draws, effort.max_left_out),
        Effort(few, effort.max_left_out),
        Effort(few, min(effort.max_left_out, _FEW_LEFT_OUT)),
    ):
        if _seconds(forecast, size, rows, evidence) <= budget:
            return evidence
    return None


def _forecast_volumes(size: FitSize) -> Forecast:
    """Forecast BalancedGraphClassifier, which is not compared with two classes."""
    return forecast_balanced(size) if size.n_columns > 1 else Forecast(0, 0.0, "")


def _seconds(forecast: _Forecaster, size: FitSize, rows: int, evidence: Effort) -> float:
    # A round leaves out one label of each class.
    n_classes = max(2, size.n_columns)
    n_rounds = -(-min(evidence.max_left_out, size.n_labels) // n_classes)
    n_draws = evidence.of_refits(n_classes).n_draws
    return (1 + n_draws + n_rounds) * forecast(_used(size, rows)).seconds


def forecast_comparison(
    size: FitSize, effort: EffortLimits | None = None, *, limited: bool = True
) -> Forecast:
    """Forecast a comparison of the default methods, and the fit of one of them.

    Parameters
    ----------
    size : FitSize
        Size of the table.
    effort : EffortLimits, default=None
        Evidence; None means the default.
    limited : bool, default=True
        Whether the comparison keeps to what is `affordable`.

    Returns
    -------
    Forecast
        Sum of the times; largest memory.
    """
    effort = EffortLimits() if effort is None else effort
    full = Effort(effort.n_draws, effort.max_left_out)
    plan = affordable(size, effort) if limited else EffortPlan(effort.max_samples, full, full)
    used = _used(size, plan.rows)
    tried = [forecast_manifold(used), forecast_embedded_squared(used)]
    seconds = _AT_ONCE * sum(one.seconds for one in tried)
    refitted = ((forecast_low_density, plan.clusters), (_forecast_volumes, plan.volumes))
    for forecast, evidence in refitted:
        if evidence is not None:
            seconds += _seconds(forecast, size, plan.rows, evidence)
    last = [forecast_embedded_squared(size)]
    last += [_forecast_volumes(size)] if plan.volumes is not None else []
    if size.n <= _MATRIX:
        last.append(forecast_manifold(size))
        last += [forecast_low_density(size)] if plan.clusters is not None else []
    return Forecast(
        max(one.memory for one in (*tried, *last)),
        seconds + max(one.seconds for one in last),
        "of the chosen method",
    )


def _used(size: FitSize, rows: int) -> FitSize:
    """Return the size of a sample: labelled rows, and at least as many others."""
    n = min(size.n, max(rows, 2 * size.n_labels))
    stored = None if size.n_stored is None else round(size.n_stored * n / max(1, size.n))
    return replace(size, n=n, n_stored=stored)
