"""Which setting of a grid leave-one-out takes, by its definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing.estimators.template import prepare, solve
from tests.helpers.answers import labeled_rows


def usual_of(settings: Sequence[Mapping[str, Any]], defaults: Mapping[str, float]) -> int:
    """The setting nearest to the defaults, each by its ratio, with the first graph."""
    left = list(range(len(settings)))
    for name, default in defaults.items():
        away = [abs(np.log(max(settings[i][name], 1e-300) / default)) for i in left]
        left = [i for i, distance in zip(left, away, strict=True) if distance == min(away)]
    return left[0]


def chosen_of(losses: Array, weights: Array, usual: int) -> int:
    """The least weighted mean (of rows), unless a one-sided test at 5 % keeps the usual one."""
    best = int(np.argmin(losses @ weights))
    worse = losses[usual] - losses[best]
    mean = np.average(worse, weights=weights)
    part, l = weights / weights.sum(), len(weights)
    variance = l / (l - 1) * np.sum(part**2 * (worse - mean) ** 2)
    return usual if mean <= 1.645 * np.sqrt(variance) else best


def left_out_solutions(estimator: Any, X: Any, y: Any, w: Any) -> Iterator[tuple[int, int, Any]]:
    """Each labelled row with its point, and the solution of the estimator without its label.

    The points are prepared once: `test_prepare` compares such solutions with fits from scratch.
    """
    prepared = prepare(estimator, X, y, w)
    for row in np.flatnonzero(labeled_rows(y)):
        rest = y.copy()
        rest[row] = np.nan if y.dtype.kind == "f" else -1
        solution = solve(estimator, prepared.relabeled(estimator._read_targets(rest), w))
        yield row, prepared.problem.vertex[row], solution
