"""How much of a comparison of methods a fit can afford, and how long it will take.

What is left out must not depend on the machine, or the same table would get other answers on
another one: the times by which it is decided are those of a machine of reference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from lapwing._app.forecast import (
    REFERENCE,
    Forecast,
    Size,
    Speed,
    forecast_embedded_squared,
    forecast_low_density,
    forecast_manifold,
)

__all__ = ["BUDGET", "Effort", "Share", "affordable", "forecast_comparison", "seconds_of_refits"]

BUDGET = 10.0  # seconds of the machine of reference, for the methods that are fitted again
_FEWEST = 500  # rows: from fewer, the sheets and clusters of most tables cannot be seen
_STEPS = (1.0, 0.7, 0.5, 0.35, 0.25)  # of the rows; finer ones would be finer than the forecast
_AT_ONCE = 4  # fits that a method takes all in all whose labels are left out at once
_MATRIX = 12_000  # rows beyond which no method holds a matrix of all pairs


@dataclass(frozen=True)
class Effort:
    """What is asked of a comparison.

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


@dataclass(frozen=True)
class Share:
    """What of a comparison can be afforded.

    Attributes
    ----------
    rows : int
        Rows of the evidence at most.
    refits : bool
        Whether methods are tried that have to be fitted again for each label and draw.
    """

    rows: int
    refits: bool


def affordable(size: Size, effort: Effort, budget: float = BUDGET) -> Share:
    """Fewer rows where all are too many; fewer methods where few rows are too many still.

    Parameters
    ----------
    size : Size
        Of the whole table.
    effort : Effort
        What is asked for.
    budget : float
        Seconds of the machine of reference.
    """
    for step in _STEPS:
        rows = max(min(effort.max_samples, _FEWEST), round(step * effort.max_samples))
        if seconds_of_refits(size, replace(effort, max_samples=rows), REFERENCE) <= budget:
            return Share(rows, True)
    return Share(effort.max_samples, False)


def seconds_of_refits(size: Size, effort: Effort, speed: Speed | None = None) -> float:
    """Time of the methods that are fitted again for each label and draw."""
    fits = 1 + effort.n_draws + min(effort.max_left_out, size.n_labels)
    return fits * forecast_low_density(_used(size, effort), speed).seconds


def forecast_comparison(
    size: Size, effort: Effort | None = None, *, budget: float | None = BUDGET
) -> Forecast:
    """Forecast a comparison of the usual methods, and the fit of one of them.

    Parameters
    ----------
    size : Size
        Of the table.
    effort : Effort, default=None
        What is asked for; None means the usual.
    budget : float or None
        As for `affordable`; None means that nothing is left out.

    Returns
    -------
    Forecast
        The times of the methods together; the memory of the largest.
    """
    effort = Effort() if effort is None else effort
    share = Share(effort.max_samples, True)
    if budget is not None:
        share = affordable(size, effort, budget)
    effort = replace(effort, max_samples=share.rows)
    used = _used(size, effort)
    tried = [forecast_manifold(used), forecast_embedded_squared(used)]
    seconds = _AT_ONCE * sum(one.seconds for one in tried)
    seconds += seconds_of_refits(size, effort) if share.refits else 0.0
    last = [forecast_embedded_squared(size)]
    if size.n <= _MATRIX:
        last.append(forecast_manifold(size))
        last += [forecast_low_density(size)] if share.refits else []
    return Forecast(
        max(one.memory for one in (*tried, *last)),
        seconds + max(one.seconds for one in last),
        "of the chosen method",
    )


def _used(size: Size, effort: Effort) -> Size:
    """The size of the rows of the evidence: labelled ones, and at least as many others."""
    n = min(size.n, max(effort.max_samples, 2 * size.n_labels))
    stored = None if size.n_stored is None else round(size.n_stored * n / max(1, size.n))
    return replace(size, n=n, n_stored=stored)
