"""Losses on unlabelled scores; see `lapwing.losses.base` for the protocol.

`smoothed(v)` is the convolution with a Gaussian of variance v in the score, for the continuation
method. `bend` = (kappa, q) bounds the concavity of a smoothed loss: its second derivative is at
least -kappa / v^q, which determines the first smoothing of that method (errata C4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from lapwing._arrays import Array
from lapwing.losses.base import Kind, UnlabeledLoss
from lapwing.losses.labeled import Hinge
from lapwing.losses.smoothed import smooth_pulse, smooth_ramp, smooth_step


@dataclass(frozen=True, eq=False)
class GaussianBump(UnlabeledLoss):
    """exp(-s f^2 / a) / sqrt(a): the loss of both papers for a = 1 and s = 3.

    Its convolution with a Gaussian of variance v has a + 2 s v in place of a (continuation paper,
    (8)).

    Parameters
    ----------
    s : float, default=3.0
        Inverse squared width > 0.
    a : float or ndarray, default=1.0
        1 + 2 s v if smoothed by v; one for all scores, or one for each.
    """

    s: float = 3.0
    a: Array | float = 1.0
    kind: ClassVar[Kind] = Kind.SMOOTH
    name: ClassVar[str] = "gaussian"
    formula: ClassVar[str] = "exp(-s f^2)"

    def value(self, f: Array) -> Array:
        return np.exp(f * f * (-self.s / self.a)) / np.sqrt(self.a)

    def derivative(self, f: Array) -> Array:
        return self.value_and_derivative(f)[1]

    def value_and_derivative(self, f: Array) -> tuple[Array, Array]:
        value = self.value(f)
        return value, value * f * (-2 * self.s / self.a)

    def curvature(self, f: Array) -> Array:
        narrow = 2 * self.s / self.a
        bump = np.exp(f * f * (-narrow / 2)) / np.sqrt(self.a)
        return bump * narrow * (narrow * f * f - 1)

    @property
    def steepness(self) -> float:
        return self.s

    @property
    def bend(self) -> tuple[float, float]:
        # at f = 0, -2 s / a^(3/2) with a > 2 s v
        return 1 / math.sqrt(2 * self.s), 1.5

    def smoothed(self, variance: Array | float) -> GaussianBump:
        return replace(self, a=self.a + 2 * self.s * variance)


class _NearerHinge:
    """Hinge for the nearer label, convolved with a Gaussian unless the variance is 0.

    With r(t) = max(0, t) it is r(1 + f) - 2 r(f) + r(f - 1), so its smoothing is that of r.
    """

    variance: Array | float = 0.0

    def value(self, f: Array) -> Array:
        return _second_difference(smooth_ramp, f, self.variance)

    def derivative(self, f: Array) -> Array:
        return -np.sign(f) * _second_difference(smooth_step, f, self.variance)

    def curvature(self, f: Array) -> Array:
        return _second_difference(smooth_pulse, f, self.variance)


@dataclass(frozen=True)
class SymmetricHinge(_NearerHinge, UnlabeledLoss):
    """max(0, 1 - |f|): the hinge for the nearer label."""

    kind: ClassVar[Kind] = Kind.KINKED
    formula: ClassVar[str] = "max(0, 1 - abs(f))"

    @property
    def label_loss(self) -> Hinge:
        return Hinge()

    @property
    def bend(self) -> tuple[float, float]:
        return 2 / math.sqrt(2 * math.pi), 0.5

    def smoothed(self, variance: Array | float) -> SmoothedSymmetricHinge:
        return SmoothedSymmetricHinge(variance)

    def stand_in(self) -> GaussianBump:
        return GaussianBump()  # QN-S3VM paper, Section 3.1


@dataclass(frozen=True, eq=False)
class SmoothedSymmetricHinge(_NearerHinge, UnlabeledLoss):
    """Symmetric hinge convolved with a Gaussian, without smoothing if the variance is 0."""

    variance: Array | float
    kind: ClassVar[Kind] = Kind.SMOOTH

    def smoothed(self, variance: Array | float) -> SmoothedSymmetricHinge:
        return SmoothedSymmetricHinge(self.variance + variance)


def _second_difference(function: Any, f: Array, variance: Array | float) -> Array:
    # The function is even. At -|f| the terms vanish for large |f|; at |f| they would cancel.
    t = -np.abs(f)
    return function(t + 1, variance) - 2 * function(t, variance) + function(t - 1, variance)
