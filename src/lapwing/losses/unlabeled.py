"""Pointwise losses on unlabelled scores: not convex, they push decision values away from zero.

As the labelled losses they never see X, and work elementwise. `smoothed(v)` is the convolution with
a Gaussian of variance v a score, which the continuation method runs on.

`bend` = (kappa, q) bounds how far a smoothed loss is from convex: its second derivative is at
least -kappa / v^q, from which the continuation method takes its first smoothing (errata C4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from lapwing.losses.smoothed import smooth_pulse, smooth_ramp, smooth_step

__all__ = ["UNLABELED_LOSSES", "GaussianBump", "SymmetricHinge", "UnlabeledLoss"]


class UnlabeledLoss(Protocol):
    """What objectives and schedules ask of a loss on unlabelled scores."""

    name: ClassVar[str]

    def value(self, f: Any) -> Any:
        """Loss of each score."""

    def derivative(self, f: Any) -> Any:
        """Derivative with respect to the score."""

    def curvature(self, f: Any) -> Any:
        """Second derivative, 0 at kinks."""

    @property
    def bend(self) -> tuple[float, float]:
        """(kappa, q): the loss smoothed by v has second derivatives >= -kappa / v^q."""

    def smoothed(self, variance: Any) -> UnlabeledLoss:
        """The loss convolved with a Gaussian of the given variance of each score."""


@dataclass(frozen=True, eq=False)
class GaussianBump:
    """exp(-s f^2 / a) / sqrt(a): both papers' loss for a = 1, with s = 3.

    Its convolution with a Gaussian of variance v is a bump of a + 2 s v (continuation paper, (8)).
    """

    s: float = 3.0
    a: Any = 1.0
    name: ClassVar[str] = "gaussian"

    def value(self, f: Any) -> Any:
        return np.exp(f * f * (-self.s / self.a)) / np.sqrt(self.a)

    def derivative(self, f: Any) -> Any:
        rate = -2 * self.s / (self.a * np.sqrt(self.a))
        return np.exp(f * f * (-self.s / self.a)) * f * rate

    def curvature(self, f: Any) -> Any:
        narrow = 2 * self.s / self.a
        bump = np.exp(f * f * (-narrow / 2)) / np.sqrt(self.a)
        return bump * narrow * (narrow * f * f - 1)

    @property
    def bend(self) -> tuple[float, float]:
        # at f = 0, -2 s / a^(3/2) with a > 2 s v
        return 1 / math.sqrt(2 * self.s), 1.5

    def smoothed(self, variance: Any) -> GaussianBump:
        return replace(self, a=self.a + 2 * self.s * variance)


@dataclass(frozen=True, eq=False)
class SymmetricHinge:
    """max(0, 1 - |f|), convolved with a Gaussian where the variance is not 0.

    With r(t) = max(0, t) it is r(1 + f) - 2 r(f) + r(f - 1), so its smoothing is that of r.
    """

    variance: Any = 0.0
    name: ClassVar[str] = "symmetric_hinge"

    def value(self, f: Any) -> Any:
        return self._second_difference(smooth_ramp, f)

    def derivative(self, f: Any) -> Any:
        return -np.sign(f) * self._second_difference(smooth_step, f)

    def curvature(self, f: Any) -> Any:
        return self._second_difference(smooth_pulse, f)

    def _second_difference(self, function: Any, f: Any) -> Any:
        # Even, so at -|f|: far from 0 the terms vanish, where those at |f| would have to cancel.
        t, v = -np.abs(f), self.variance
        return function(t + 1, v) - 2 * function(t, v) + function(t - 1, v)

    @property
    def bend(self) -> tuple[float, float]:
        return 2 / math.sqrt(2 * math.pi), 0.5

    def smoothed(self, variance: Any) -> SymmetricHinge:
        return replace(self, variance=self.variance + variance)


UNLABELED_LOSSES: dict[str, type[UnlabeledLoss]] = {
    loss.name: loss for loss in (GaussianBump, SymmetricHinge)
}
