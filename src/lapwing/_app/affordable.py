"""How much of a comparison of methods a fit can afford, and how long it will take.

What is left out must not depend on the machine, or the same table would get other answers on
another one: the times by which it is decided are those of a machine of reference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from lapwing._app.forecast import (
    REFERENCE,
    Forecast,
    Size,
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
    clusters, volumes : bool
        Whether S3VC and BalancedGraphClassifier are tried, which have to be fitted again for each
        label and draw.
    """

    rows: int
    clusters: bool
    volumes: bool


def affordable(size: Size, effort: Effort) -> Share:
    """Fewer rows where all are too many; fewer methods where few rows are too many still.

    Parameters
    ----------
    size : Size
        Of the whole table.
    effort : Effort
        What is asked for.
    """
    for clusters in (True, False):  # with many classes S3VC takes most of the time
        for step in _STEPS:
            rows = max(min(effort.max_samples, _FEWEST), round(step * effort.max_samples))
            share = Share(rows, clusters, True)
            taken = _taken(size, effort, share, REFERENCE)
            if taken.clusters <= BUDGET and taken.volumes <= VOLUMES_BUDGET:
                return share
    return Share(effort.max_samples, False, False)


def seconds_of_refits(
    size: Size, effort: Effort, share: Share, speed: Speed | None = None
) -> float:
    """Time of the methods that are fitted again for each label and draw."""
    return sum(_taken(size, effort, share, speed))


class _Taken(NamedTuple):
    """Seconds of the methods that are fitted again."""

    clusters: float
    volumes: float


def _taken(size: Size, effort: Effort, share: Share, speed: Speed | None) -> _Taken:
    # One label of each class is left out at a time.
    n_classes = max(2, size.n_columns)
    rounds = -(-min(effort.max_left_out, size.n_labels) // n_classes)
    fits = 1 + effort.n_draws + rounds
    used = _used(size, share.rows)
    clusters = forecast_low_density(used, speed).seconds if share.clusters else 0.0
    tried = _tries_volumes(size, share)
    volumes = forecast_balanced(used, speed).seconds if tried else 0.0
    return _Taken(fits * clusters, fits * volumes)


def _tries_volumes(size: Size, share: Share) -> bool:
    return share.volumes and size.n_columns > 1  # of two classes they are not tried


def forecast_comparison(
    size: Size, effort: Effort | None = None, *, limited: bool = True
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
    share = Share(effort.max_samples, True, True)
    if limited:
        share = affordable(size, effort)
    used = _used(size, share.rows)
    tried = [forecast_manifold(used), forecast_embedded_squared(used)]
    seconds = _AT_ONCE * sum(one.seconds for one in tried)
    seconds += seconds_of_refits(size, effort, share)
    last = [forecast_embedded_squared(size)]
    last += [forecast_balanced(size)] if _tries_volumes(size, share) else []
    if size.n <= _MATRIX:
        last.append(forecast_manifold(size))
        last += [forecast_low_density(size)] if share.clusters else []
    return Forecast(
        max(one.memory for one in (*tried, *last)),
        seconds + max(one.seconds for one in last),
        "of the chosen method",
    )


def _used(size: Size, rows: int) -> Size:
    """The size of the rows of the evidence: labelled ones, and at least as many others."""
    n = min(size.n, max(rows, 2 * size.n_labels))
    stored = None if size.n_stored is None else round(size.n_stored * n / max(1, size.n))
    return replace(size, n=n, n_stored=stored)
