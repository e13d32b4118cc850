"""Solver inputs and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np

from lapwing._arrays import Array
from lapwing.objectives.manifold import Objective, State


class Status(StrEnum):
    """Why a solver stopped."""

    CONVERGED = "converged"
    PRECISION = "precision reached"  # no more digits in the arithmetic of the input
    EARLY = "stopped early"  # by a rule on the predictions
    CALLBACK = "stopped by a callback"
    MAX_ITER = "not converged"


@dataclass(frozen=True)
class Result:
    """Outcome of a solver.

    Attributes
    ----------
    state : State
        The solution, all columns.
    n_iter : int
        Iterations done; the largest over the columns.
    status : Status
    optimality : array of shape (c,)
        How far from optimal, relative: the norm of the gradient in the metric of the function
        space over its norm at zero; for the libsvm losses, the duality gap over the objective.
    history : mapping of str to list of arrays of shape (c,)
        What was recorded an iteration; NaN for columns that had finished.
    """

    state: State
    n_iter: int
    status: Status
    optimality: Any
    history: Mapping[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Iteration:
    """State of a solver after an iteration; `state` is computed only when asked for."""

    number: int
    state: Callable[[], State]


OnIteration: TypeAlias = Callable[[Iteration], bool]
"""Called after every iteration; True asks the solver to stop."""


# Relative gradient up to which an exact solution may be called one.
_OPTIMAL = 1e-6


def optimality(objective: Objective, state: State) -> Array:
    """Norm of the gradient in the metric of the function space over its norm at zero."""
    reference = objective.norm(objective.descent(objective.zero()))
    found = objective.norm(objective.descent(state))
    return np.asarray(found / np.where(reference > 0, reference, 1.0))


def verdict(status: Status, optimality: Array) -> Status:
    """The status of an exact solver, given how far from optimal its solution really is."""
    exact = bool(np.max(optimality, initial=0.0) <= _OPTIMAL)  # NaN is not
    return Status.PRECISION if status == Status.CONVERGED and not exact else status


def carry_on(_: Iteration) -> bool:
    """The `OnIteration` that does nothing."""
    return False
