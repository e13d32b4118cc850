"""Budget of a comparison of methods: the evidence that its time allows.

What is left out must not depend on the machine, or the same table would get other answers on
another one: the times by which it is decided are those of a machine of reference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from lapwing._app.forecast import (
    REFERENCE,
    FitSize,
    Forecast,
    Speed,
    forecast_balanced,
    forecast_embedded_squared,
    forecast_low_density,
    forecast_manifold,
)

# Seconds of the machine of reference, for the methods that are fitted again. With ten or thirty
# classes volumes are what helps most, and no method that is quicker stands for them: they have
# more. From some sixty classes on it is not enough for them either.
BUDGET, VOLUMES_BUDGET = 10.0, 40.0
_FEWEST = 500  # rows: from fewer, the sheets and clusters of most tables cannot be seen
_STEPS = (1.0, 0.7, 0.5, 0.35, 0.25)  # of the rows; finer ones would be finer than the forecast
_FEW_DRAWS, _FEW_LEFT_OUT = 2, 6  # the least evidence; verdicts want five left-out labels
_AT_ONCE = 4  # fits that a method takes all in all whose labels are left out at once
_MATRIX = 12_000  # rows beyond which no method holds a matrix of all pairs
_Forecaster: TypeAlias = Callable[[FitSize, Speed | None], Forecast]


@dataclass(frozen=True)
class Effort:
    """Amount of evidence that a comparison gathers.

    Attributes
    ----------
    n_draws : int
        Draws of labels out of a method's own answer.
    max_left_out : int
        Most labels that are left out of a method that is fitted again for each.
    max_samples : int
        Most rows of the evidence.
    """

    n_draws: int = 5
    max_left_out: int = 16
    max_samples: int = 2000


class Rounds(NamedTuple):
    """Evidence of a candidate that is fitted again for each draw and round of left-out labels."""

    n_draws: int
    max_left_out: int


@dataclass(frozen=True)
class Plan:
    """Amount of evidence that a comparison can afford.

    Attributes
    ----------
    rows : int
        Rows of the evidence at most.
    clusters, volumes : Rounds or None
        Evidence of S3VC and of BalancedGraphClassifier; None where even the least takes too long.
    """

    rows: int
    clusters: Rounds | None
    volumes: Rounds | None


def affordable(size: FitSize, effort: Effort) -> Plan:
    """Plan fewer draws and rounds, then fewer rows; leave out what is too long even so.

    Parameters
    ----------
    size : Size
        Of the whole table.
    effort : Effort
        What is asked for.
    """
    steps = [max(min(effort.max_samples, _FEWEST), round(s * effort.max_samples)) for s in _STEPS]
    for clusters in (True, False):  # with many classes S3VC takes most of the time
        for rows in steps:
            plan = Plan(
                rows,
                _longest(forecast_low_density, BUDGET, size, effort, rows) if clusters else None,
                _longest(_forecast_volumes, VOLUMES_BUDGET, size, effort, rows),
            )
            if plan.volumes is not None and (plan.clusters is not None or not clusters):
                return plan
    return Plan(effort.max_samples, None, None)


def _longest(
    forecast: _Forecaster, budget: float, size: FitSize, effort: Effort, rows: int
) -> Rounds | None:
    """Choose the most evidence of a method within a budget of seconds."""
    few = min(effort.n_draws, _FEW_DRAWS)
    for rounds in (
        Rounds(effort.n_draws, effort.max_left_out),
        Rounds(few, effort.max_left_out),
        Rounds(few, min(effort.max_left_out, _FEW_LEFT_OUT)),
    ):
        if _seconds(forecast, size, rows, rounds, REFERENCE) <= budget:
            return rounds
    return None


def _forecast_volumes(size: FitSize, speed: Speed | None = None) -> Forecast:
    """Forecast BalancedGraphClassifier, which is not tried with two classes."""
    return forecast_balanced(size, speed) if size.n_columns > 1 else Forecast(0, 0.0, "")


def seconds_of_refits(size: FitSize, plan: Plan, speed: Speed | None = None) -> float:
    """Time of the methods that are fitted again for each label and draw."""
    seconds = 0.0
    for forecast, rounds in (
        (forecast_low_density, plan.clusters),
        (_forecast_volumes, plan.volumes),
    ):
        if rounds is not None:
            seconds += _seconds(forecast, size, plan.rows, rounds, speed)
    return seconds


def _seconds(
    forecast: _Forecaster, size: FitSize, rows: int, rounds: Rounds, speed: Speed | None
) -> float:
    # One label of each class is left out at a time.
    n_rounds = -(-min(rounds.max_left_out, size.n_labels) // max(2, size.n_columns))
    return (1 + rounds.n_draws + n_rounds) * forecast(_used(size, rows), speed).seconds


def forecast_comparison(
    size: FitSize, effort: Effort | None = None, *, limited: bool = True
) -> Forecast:
    """Forecast a comparison of the usual methods, and the fit of one of them.

    Parameters
    ----------
    size : Size
        Of the table.
    effort : Effort, default=None
        What is asked for; None means the usual.
    limited : bool, default=True
        Whether only what is `affordable` is compared.

    Returns
    -------
    Forecast
        The times of the methods together; the memory of the largest.
    """
    effort = Effort() if effort is None else effort
    full = Rounds(effort.n_draws, effort.max_left_out)
    plan = affordable(size, effort) if limited else Plan(effort.max_samples, full, full)
    used = _used(size, plan.rows)
    tried = [forecast_manifold(used), forecast_embedded_squared(used)]
    seconds = _AT_ONCE * sum(one.seconds for one in tried)
    seconds += seconds_of_refits(size, plan)
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
    """The size of the rows of the evidence: labelled ones, and at least as many others."""
    n = min(size.n, max(rows, 2 * size.n_labels))
    stored = None if size.n_stored is None else round(size.n_stored * n / max(1, size.n))
    return replace(size, n=n, n_stored=stored)
