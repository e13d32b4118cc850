"""Differentiable stand-ins for the hinges, and Gaussian smoothing.

In the half convention of `lapwing.losses.labeled`. Smoothing is convolution with a Gaussian of a
*given variance* a score; a Gaussian of variance gamma a coordinate of w, which the continuation
paper means (errata C1), moves the score w'x by a Gaussian of variance gamma |x|^2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, ndtr

from lapwing.losses.labeled import Loss

__all__ = [
    "SMOOTHED",
    "ModifiedLogistic",
    "SmoothedHinge",
    "SmoothedSquaredHinge",
    "smooth_pulse",
    "smooth_ramp",
    "smooth_step",
]


@dataclass(frozen=True)
class ModifiedLogistic:
    """1/(2 g) log(1 + exp(g (1 - y f))): half the modified logistic loss of the QN-S3VM paper, (5).

    A differentiable stand-in for the hinge: log(2)/g = 0.035 above it at the margin, never zero
    (errata Q6). The paper's g = 20 is in a figure's caption.
    """

    slope: float = 20.0
    name: ClassVar[str] = "modified_logistic"
    piecewise_quadratic: ClassVar[bool] = False
    objective_scale: ClassVar[float] = 2.0

    def value(self, y: Any, f: Any) -> Any:
        return np.logaddexp(0, self.slope * (1 - y * f)) / (2 * self.slope)  # errata Q4

    def derivative(self, y: Any, f: Any) -> Any:
        return -y * expit(self.slope * (1 - y * f)) / 2

    def curvature(self, y: Any, f: Any) -> Any:
        rise = expit(self.slope * (1 - y * f))
        return self.slope * rise * (1 - rise) / 2

    def switch_steps(self, y: Any, f: Any, df: Any) -> Any:
        raise NotImplementedError(_NOT_QUADRATIC.format("modified logistic"))


@dataclass(frozen=True, eq=False)
class SmoothedHinge:
    """1/2 E max(0, 1 - y (f + sqrt(v) Z)), Z standard normal: the smoothed hinge of cS3VM.

    Continuation paper, (7), as errata C2 corrects it, in the form t P(t) + v p(t) with t = 1 - y f,
    P and p the distribution and density of sqrt(v) Z. Where v = 0 it is the hinge.
    """

    variance: Any = 0.1  # one for all observations, or one each
    name: ClassVar[str] = "smoothed_hinge"
    piecewise_quadratic: ClassVar[bool] = False
    objective_scale: ClassVar[float] = 2.0

    def value(self, y: Any, f: Any) -> Any:
        return smooth_ramp(1 - y * f, self.variance) / 2

    def derivative(self, y: Any, f: Any) -> Any:
        return -y * smooth_step(1 - y * f, self.variance) / 2

    def curvature(self, y: Any, f: Any) -> Any:
        return smooth_pulse(1 - y * f, self.variance) / 2

    def switch_steps(self, y: Any, f: Any, df: Any) -> Any:
        raise NotImplementedError(_NOT_QUADRATIC.format("smoothed hinge"))


@dataclass(frozen=True, eq=False)
class SmoothedSquaredHinge:
    """1/2 E max(0, 1 - y (f + sqrt(v) Z))^2: the same smoothing of the squared hinge."""

    variance: Any = 0.1
    name: ClassVar[str] = "smoothed_squared_hinge"
    piecewise_quadratic: ClassVar[bool] = False
    objective_scale: ClassVar[float] = 1.0

    def value(self, y: Any, f: Any) -> Any:
        # E max(0, t - dZ)^2 = t E max(0, t - dZ) + d^2 P(dZ < t), by parts
        t = 1 - y * f
        ramp, step = smooth_ramp(t, self.variance), smooth_step(t, self.variance)
        return (t * ramp + self.variance * step) / 2

    def derivative(self, y: Any, f: Any) -> Any:
        return -y * smooth_ramp(1 - y * f, self.variance)

    def curvature(self, y: Any, f: Any) -> Any:
        return smooth_step(1 - y * f, self.variance)

    def switch_steps(self, y: Any, f: Any, df: Any) -> Any:
        raise NotImplementedError(_NOT_QUADRATIC.format("smoothed squared hinge"))


_NOT_QUADRATIC = "The {} loss is not piecewise quadratic; L-BFGS minimises it."


def smooth_step(t: Any, variance: Any) -> Any:
    """P(sqrt(v) Z < t): the step at 0, smoothed; the step itself where v = 0."""
    deviation = np.sqrt(variance)
    exact = deviation == 0
    scaled = t / np.where(exact, 1.0, deviation)
    return np.where(exact, (t > 0) * 1.0, ndtr(scaled))


def smooth_pulse(t: Any, variance: Any) -> Any:
    """Density of sqrt(v) Z at t; 0 where v = 0."""
    deviation = np.sqrt(variance)
    exact = deviation == 0
    safe = np.where(exact, 1.0, deviation)
    scaled = np.minimum(np.abs(t) / safe, 40.0)  # beyond, exp is 0 and a square might overflow
    return np.where(exact, 0.0, np.exp(-scaled * scaled / 2) / (safe * np.sqrt(2 * np.pi)))


def smooth_ramp(t: Any, variance: Any) -> Any:
    """E max(0, t - sqrt(v) Z): max(0, t), smoothed; itself where v = 0."""
    return t * smooth_step(t, variance) + variance * smooth_pulse(t, variance)


SMOOTHED: dict[str, Callable[[Any], Loss]] = {
    "hinge": SmoothedHinge,
    "squared_hinge": SmoothedSquaredHinge,
}
"""Losses to their convolution with a Gaussian, given the variance of every score."""
