"""Early stopping by predictions: LapSVM paper, Section 4.1, Algorithms 2 and 3, errata L20 to L23.

A rule is made for one fit and remembers what it saw at its last check. All columns are judged
together, by the class that they elect: the paper asks for this at the end of Section 6.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.voting import elect
from lapwing.objectives.manifold import State


class StoppingRule(Protocol):
    """Looked at every `every` iterations."""

    @property
    def every(self) -> int: ...

    def check(self, state: State) -> bool:
        """Whether to stop at this state."""


def check_interval(n_points: int) -> int:
    """Theta = sqrt(n) / 2 rounded to nearest, at least 1 (errata L20)."""
    return max(1, round(math.sqrt(n_points) / 2))


def changed_fraction(new: Array, old: Array) -> float:
    """Fraction of points whose elected class changed: the authors' code, errata L21."""
    return float(np.mean(elect(new) != elect(old)))


def relative_change(new: Array, old: Array) -> float:
    """Relative change of values in the Euclidean norm: the stability of a regression."""
    size = float(np.linalg.norm(new))
    return float(np.linalg.norm(new - old)) / size if size > 0 else 0.0


@dataclass
class StabilityRule:
    """Stop when predictions on the unlabelled points have settled (Algorithm 2).

    Attributes
    ----------
    unlabeled : ndarray of shape (u,)
    every : int
        theta.
    threshold : float, default=0.015
        eta: the fraction of changed predictions below which to stop.
    change : callable (new, old) -> float
        `changed_fraction` for classes, `relative_change` for a regression.
    """

    unlabeled: Array
    every: int
    threshold: float = 0.015
    change: Callable[[Array, Array], float] = changed_fraction
    _seen: Array | None = field(default=None, init=False)

    def check(self, state: State) -> bool:
        scores = state.values[self.unlabeled]
        seen, self._seen = self._seen, scores
        # The first check only stores: the paper's d_old = 0 is no prediction (errata L21).
        return seen is not None and self.change(scores, seen) < self.threshold


@dataclass
class ValidationRule:
    """Stop when the error on validation labels no longer falls (Algorithm 3).

    Attributes
    ----------
    error : callable (state) -> number
        Validation error: the *number* of errors for classes, as differences of rates compare
        falsely in floating point (errata L22); the squared error for a regression.
    every : int
        theta.
    """

    error: Callable[[State], float]
    every: int
    _seen: float = field(default=np.inf, init=False)

    def check(self, state: State) -> bool:
        error = self.error(state)
        seen, self._seen = self._seen, error
        return error >= seen


@dataclass
class MixedRule:
    """Stop when both rules would at the same check (errata L23)."""

    stability: StabilityRule
    validation: ValidationRule

    @property
    def every(self) -> int:
        return self.stability.every

    def check(self, state: State) -> bool:
        # Both look at every check, so that both memories are of the last one.
        verdicts = [self.stability.check(state), self.validation.check(state)]
        return all(verdicts)
