"""Differentiable surrogates for losses with kinks, and Gaussian smoothing.

The half convention of `lapwing.losses.base` applies. Smoothing is convolution with a Gaussian of
*given variance* of each score; the Gaussian of variance gamma for each coordinate of w in the
continuation paper (errata C1) changes the score w'x by a Gaussian of variance gamma |x|^2.

Losses may have a formula for the convolution (`smoothed`); for others the mean over the nodes of a
Gauss-Hermite rule is used. This mean is a loss with exact derivatives, convex if the loss is; it is
close to the convolution if the loss hardly changes between nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, overload

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit, ndtr

from lapwing._arrays import Array
from lapwing.losses.base import Kind, Loss, UnlabeledLoss

# Variance of surrogates: a deviation of 0.05, similar to the width of the modified logistic loss.
_STAND_IN = 0.0025
# For the hinge the error of the mean is 0.005 deviations of the Gaussian, and halves with twice as
# many nodes.
_NODES, _WEIGHTS = hermegauss(32)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_ROOT = math.sqrt(2 * math.pi)


@dataclass
class ModifiedLogistic(Loss):
    """1/(2 g) log(1 + exp(g (1 - y f))): half the modified logistic loss of the QN-S3VM paper, (5).

    A differentiable surrogate for the hinge, log(2)/g = 0.035 above it at the margin and never zero
    (errata Q6). g = 20 is from the caption of a figure in the paper.

    Parameters
    ----------
    slope : float, default=20.0
        g > 0; the larger, the closer to the hinge.
    """

    slope: float = 20.0
    kind: ClassVar[Kind] = Kind.SMOOTH

    def value(self, y: Array, f: Array) -> Array:
        return np.logaddexp(0, self.slope * (1 - y * f)) / (2 * self.slope)  # errata Q4

    def derivative(self, y: Array, f: Array) -> Array:
        return -y * expit(self.slope * (1 - y * f)) / 2

    def curvature(self, y: Array, f: Array) -> Array:
        rise = expit(self.slope * (1 - y * f))
        return self.slope * rise * (1 - rise) / 2


@dataclass(frozen=True, eq=False)
class SmoothedHinge(Loss):
    """1/2 E max(0, 1 - y (f + sqrt(v) Z)), Z standard normal: the smoothed hinge of cS3VM.

    Continuation paper, (7), as corrected by errata C2, in the form t P(t) + v p(t) with t = 1 - y f
    and the distribution function P and density p of sqrt(v) Z. For v = 0 it is the hinge.
    """

    variance: Array | float = 0.1  # one for all observations, or one for each
    kind: ClassVar[Kind] = Kind.SMOOTH

    def value(self, y: Array, f: Array) -> Array:
        return smooth_ramp(1 - y * f, self.variance) / 2

    def derivative(self, y: Array, f: Array) -> Array:
        return -y * smooth_step(1 - y * f, self.variance) / 2

    def value_and_derivative(self, y: Array, f: Array) -> tuple[Array, Array]:
        ramp, step = _ramp_and_step(1 - y * f, self.variance)
        return ramp / 2, -y * step / 2

    def curvature(self, y: Array, f: Array) -> Array:
        return smooth_pulse(1 - y * f, self.variance) / 2


@dataclass(frozen=True, eq=False)
class SmoothedSquaredHinge(Loss):
    """1/2 E max(0, 1 - y (f + sqrt(v) Z))^2: the same smoothing of the squared hinge."""

    variance: Array | float = 0.1
    kind: ClassVar[Kind] = Kind.SMOOTH
    objective_scale: ClassVar[float] = 1.0

    def value(self, y: Array, f: Array) -> Array:
        return self.value_and_derivative(y, f)[0]

    def derivative(self, y: Array, f: Array) -> Array:
        return -y * smooth_ramp(1 - y * f, self.variance)

    def value_and_derivative(self, y: Array, f: Array) -> tuple[Array, Array]:
        # E max(0, t - dZ)^2 = t E max(0, t - dZ) + d^2 P(dZ < t), by parts
        t = 1 - y * f
        ramp, step = _ramp_and_step(t, self.variance)
        return (t * ramp + self.variance * step) / 2, -y * ramp

    def curvature(self, y: Array, f: Array) -> Array:
        return smooth_step(1 - y * f, self.variance)


def smooth_step(t: Array, variance: Array | float) -> Array:
    """Compute P(sqrt(v) Z < t), the smoothed step at 0; the step itself for v = 0."""
    return _StepArgument.of(t, variance).step(t)


def smooth_pulse(t: Array, variance: Array | float) -> Array:
    """Compute the density of sqrt(v) Z at t; 0 for v = 0."""
    return _StepArgument.of(t, variance).pulse()


def smooth_ramp(t: Array, variance: Array | float) -> Array:
    """Compute E max(0, t - sqrt(v) Z), the smoothed max(0, t); max(0, t) itself for v = 0."""
    return _ramp_and_step(t, variance)[0]


def _ramp_and_step(t: Array, variance: Array | float) -> tuple[Array, Array]:
    scaled = _StepArgument.of(t, variance)
    step = scaled.step(t)
    return t * step + variance * scaled.pulse(), step


class _StepArgument(NamedTuple):
    """Argument t / sqrt(v) of the smoothed step and its density; t itself where v = 0."""

    values: Any
    deviation: Any  # sqrt(v); 1 where v = 0
    exact: Any  # mask of v = 0

    @classmethod
    def of(cls, t: Array, variance: Array | float) -> _StepArgument:
        deviation = np.sqrt(variance)
        exact = deviation == 0
        safe = np.where(exact, 1.0, deviation)
        return cls(t / safe, safe, exact)

    def step(self, t: Array) -> Array:
        return np.where(self.exact, (t > 0) * 1.0, ndtr(self.values))

    def pulse(self) -> Array:
        z = np.minimum(np.abs(self.values), 40.0)  # beyond, exp is 0 and a square might overflow
        density = np.exp(-z * z / 2) / (self.deviation * _ROOT)
        return np.where(self.exact, 0.0, density)


class _Average:
    """Mean of a loss over the scores f + sqrt(v) z, with z the nodes of a quadrature rule."""

    kind: ClassVar[Kind] = Kind.SMOOTH
    loss: Any
    variance: Array | float

    def value(self, *scores: Array) -> Array:
        return self._mean(self.loss.value, *scores)

    def derivative(self, *scores: Array) -> Array:
        return self._mean(self.loss.derivative, *scores)

    def curvature(self, *scores: Array) -> Array:
        return self._mean(self.loss.curvature, *scores)

    def _mean(self, function: Callable[..., Array], *scores: Array) -> Array:
        """Average over the last argument, the scores; targets may come before them."""
        *targets, f = (np.asarray(part)[..., None] for part in scores)
        deviation = np.sqrt(np.asarray(self.variance, dtype=np.float64))
        return function(*targets, f + deviation[..., None] * _NODES) @ _WEIGHTS


@dataclass(frozen=True, eq=False)
class Averaged(_Average, Loss):
    """Mean of a loss over scores, by quadrature."""

    loss: Loss
    variance: Array | float


@dataclass(frozen=True, eq=False)
class AveragedUnlabeled(_Average, UnlabeledLoss):
    """Mean of an unlabelled loss over scores, by quadrature."""

    loss: UnlabeledLoss
    variance: Array | float


@overload
def smooth(loss: Loss, variance: Array | float) -> Loss: ...
@overload
def smooth(loss: UnlabeledLoss, variance: Array | float) -> UnlabeledLoss: ...
def smooth(loss: Loss | UnlabeledLoss, variance: Array | float) -> Loss | UnlabeledLoss:
    """Convolve a loss with a Gaussian: by its formula if it has one, otherwise by quadrature.

    Parameters
    ----------
    loss : Loss or UnlabeledLoss
    variance : float or ndarray
        One for all scores, or one for each.

    Returns
    -------
    Loss or UnlabeledLoss
        Differentiable, except that the quadrature of a loss with kinks leaves small ones.
    """
    known = loss.smoothed(variance)
    if known is not None:
        return known
    if isinstance(loss, Loss):
        return Averaged(loss, variance)
    return AveragedUnlabeled(loss, variance)


@overload
def differentiable(loss: Loss) -> Loss: ...
@overload
def differentiable(loss: UnlabeledLoss) -> UnlabeledLoss: ...
def differentiable(loss: Loss | UnlabeledLoss) -> Loss | UnlabeledLoss:
    """Return a differentiable loss: itself, its surrogate, or the loss smoothed slightly."""
    if loss.kind.differentiable:
        return loss
    return loss.stand_in() or smooth(loss, _STAND_IN)
