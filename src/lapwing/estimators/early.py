"""Early stopping as users ask for it: stopping, validation_data, validation_fraction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from lapwing._arrays import Array
from lapwing.classes.voting import elect
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.manifold.pcg import (
    MixedRule,
    StabilityRule,
    StoppingRule,
    ValidationRule,
    check_interval,
    relative_change,
)

STOPPING = (None, "stability", "validation", "mixed")


class Validation(NamedTuple):
    """Points with known answers that take no part in the fit.

    `scores` maps a state of the solver to their decision values (v, c).
    """

    scores: Callable[[State], Array]
    targets: Array  # class codes (v,), or targets (v, 1) of a regression


def stopping_rule(
    stopping: str | None,
    objective: Objective,
    validation: Validation | None,
    *,
    regression: bool,
) -> StoppingRule | None:
    """The rule that `stopping` names.

    Checks are every sqrt(n) / 2 iterations; stability is reached below 1.5 % of changed
    predictions (for a regression: relative change of the values).
    """
    if stopping is None:
        return None
    n = objective.space.n_points
    every = check_interval(n)
    unlabeled = np.setdiff1d(np.arange(n), objective.index)
    if stopping != "validation" and not len(unlabeled):
        raise ValueError(
            f"stopping={stopping!r} watches the unlabelled points, and there are none. Use "
            "stopping=None or 'validation'."
        )
    stability = StabilityRule(unlabeled, every)
    if regression:
        stability.change = relative_change
    if stopping == "stability":
        return stability
    if validation is None:
        raise ValueError(
            f"stopping={stopping!r} needs labels to validate on: pass validation_data=(X_val, "
            "y_val) to fit, or set validation_fraction to hold out some of the labels."
        )
    error = _squared_error if regression else _n_errors
    check = ValidationRule(lambda state: error(validation.scores(state), validation.targets), every)
    return check if stopping == "validation" else MixedRule(stability, check)


def _n_errors(scores: Array, codes: Array) -> float:
    return float(np.count_nonzero(elect(scores) != codes))


def _squared_error(scores: Array, targets: Array) -> float:
    return float(np.sum((scores - targets) ** 2))


def hold_out(
    objective: Objective, fraction: float, random_state: Any, *, regression: bool
) -> tuple[Objective, Validation]:
    """Take a fraction of the observations out of the loss, to validate on.

    The points stay in the problem as unlabelled ones, so their scores cost nothing. Of every class
    at least one observation is kept.

    Raises
    ------
    ValueError
        If not one observation can be spared.
    """
    rng = check_random_state(random_state)
    groups = np.zeros(len(objective.index), dtype=int) if regression else elect(objective.targets)
    held: list[Array] = []
    for group in np.unique(groups):
        members = rng.permutation(np.flatnonzero(groups == group))
        n_held = min(max(1, round(fraction * len(members))), len(members) - 1)
        held.append(members[:n_held])
    out = np.sort(np.concatenate(held))
    if not len(out):
        raise ValueError(
            f"validation_fraction={fraction} leaves no label to validate on: every class has a "
            "single one. Pass validation_data to fit, or use stopping='stability'."
        )
    points, targets = objective.index[out], objective.targets[out]
    kept = np.setdiff1d(np.arange(len(objective.index)), out)
    rest = replace(
        objective,
        index=objective.index[kept],
        targets=objective.targets[kept],
        weights=objective.weights[kept],
    )

    def scores(state: State) -> Array:
        values: Array = state.values[points]
        return values

    return rest, Validation(scores, targets if regression else elect(targets))
