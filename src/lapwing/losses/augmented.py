r"""Augmented losses: losses with kinks, made differentiable by multipliers with the same minima.

The method of multipliers introduces a copy z of the score f of an observation in its loss, and
couples both by a multiplier lambda and a penalty rho. With the weight c of the observation,

.. math:: \psi(f) = \min_z\, c\, 2\ell(y, z) + \lambda (f - z) + \tfrac{\rho}{2} (f - z)^2

has the derivative lambda + rho (f - z), which is continuous and is the next multiplier. If the
multiplier equals the slope of c 2l at the solution, psi and the loss have the same minimum for any
rho, whereas smoothing is exact only in the limit of zero width.

z is a proximal point, z = argmin t l(y, z) + (z - v)^2 / 2 at v = f + lambda / rho, where t is
2 c / rho. There is a formula for the hinge; for other losses z is a break, or the root of an
increasing function between two breaks.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self, TypeAlias

import numpy as np

from lapwing._arrays import Array
from lapwing.losses.base import Kind, Loss
from lapwing.losses.labeled import Hinge

# Rounds of the multipliers: a column that needs more has not converged. Of 72 fits of 60 points
# with kinked losses, 10 rounds leave half without convergence; 20 suffice for gamma_A from 1e-4 on.
ROUNDS = 60
# A round is slow if it leaves more than this fraction of the violation; the penalty is then
# multiplied by the factor. 0.1 and 0.5, or a factor of 2, give the same objectives to 1e-8 in 0.8
# to 1.1 times the time.
SLOW = 0.25
_STIFFER = 5.0
# Relative distance from a break at which scores on its two sides are distinct.
_BESIDE = 16 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Augmented(Loss):
    """The function psi of the module docstring, halved, including the weights.

    Attributes
    ----------
    weights : ndarray
        c of each observation.
    multipliers : ndarray
        lambda.
    penalty : float
        rho.
    """

    kind: ClassVar[Kind] = Kind.SMOOTH
    weights: Array
    multipliers: Array
    penalty: float

    @abstractmethod
    def updated(self, y: Array, f: Array) -> Array:
        """Compute the next multipliers, at scores f."""

    def derivative(self, y: Array, f: Array) -> Array:
        return self.updated(y, f) / 2

    def next_round(self, multipliers: Array, left: float, before: float, stiffest: float) -> Self:
        """Create the loss of the next round, with a larger penalty after a slow round.

        Parameters
        ----------
        multipliers : ndarray
        left, before : float
            Violations, or gaps, after this round and the previous one.
        stiffest : float
            Largest penalty.
        """
        stiffer = left > SLOW * before and self.penalty < stiffest
        penalty = self.penalty * (_STIFFER if stiffer else 1.0)
        return replace(self, multipliers=multipliers, penalty=penalty)


@dataclass(frozen=True, eq=False)
class ShiftedHinge(Augmented):
    r"""Augmented hinge c max(0, 1 - m) in the margin m = y f, with the dual variable -y lambda.

    .. math:: \psi = \max_{0 \le \beta \le c} \beta (1 - m) - \frac{(\beta - \beta_k)^2}{2 \rho},
              \qquad \beta = \mathrm{clip}(\beta_k + \rho (1 - m), 0, c)
    """

    signs: Array

    @cached_property
    def _duals(self) -> Array:
        return np.asarray(-self.signs * self.multipliers)

    def _dual(self, y: Array, f: Array) -> Array:
        # `np.clip` takes three times as long with few points.
        return np.minimum(np.maximum(self._duals + self.penalty * (1 - y * f), 0), self.weights)

    def updated(self, y: Array, f: Array) -> Array:
        return np.asarray(-y * self._dual(y, f))

    def value(self, y: Array, f: Array) -> Array:
        return self.value_and_derivative(y, f)[0]

    def value_and_derivative(self, y: Array, f: Array) -> tuple[Array, Array]:
        beta = self._dual(y, f)
        moved = beta - self._duals
        value = (beta * (1 - y * f) - moved * moved / (2 * self.penalty)) / 2
        return value, -y * beta / 2

    def curvature(self, y: Array, f: Array) -> Array:
        beta = self._duals + self.penalty * (1 - y * f)
        return np.where((beta > 0) & (beta < self.weights), self.penalty / 2, 0.0)


@dataclass(frozen=True, eq=False)
class AugmentedLoss(Augmented):
    """Augmented form of any convex loss, by its proximal points."""

    loss: Loss

    def nearest(self, y: Array, f: Array) -> tuple[Array, Array]:
        """Compute the copy z of the scores, and its derivative with respect to f."""
        step = 2 * self.weights / self.penalty
        return proximal_point(self.loss, y, f + self.multipliers / self.penalty, step)

    def updated(self, y: Array, f: Array) -> Array:
        z, _ = self.nearest(y, f)
        return np.asarray(self.multipliers + self.penalty * (f - z))

    def value(self, y: Array, f: Array) -> Array:
        z, _ = self.nearest(y, f)
        gap = f - z
        return (
            self.weights * self.loss.value(y, z)
            + (self.multipliers * gap + self.penalty * gap * gap / 2) / 2
        )

    def curvature(self, y: Array, f: Array) -> Array:
        _, rate = self.nearest(y, f)
        return self.penalty * (1 - rate) / 2


def augmented(
    loss: Loss, targets: Array, weights: Array, multipliers: Array, penalty: float
) -> Augmented:
    """Augment a loss: by its formula if there is one, otherwise by its proximal points.

    Parameters
    ----------
    loss : Loss
    targets, weights, multipliers : ndarray
        y, c and lambda of each observation.
    penalty : float
        rho > 0.
    """
    if type(loss) is Hinge:
        return ShiftedHinge(weights, multipliers, penalty, targets)
    return AugmentedLoss(weights, multipliers, penalty, loss)


def proximal_point(loss: Loss, y: Array, v: Array, step: Array | float) -> tuple[Array, Array]:
    """Compute the argmin of step * l(y, z) + (z - v)^2 / 2 over z, and its derivative in v.

    Parameters
    ----------
    loss : Loss
    y, v : ndarray
    step : float or ndarray
        >= 0.

    Returns
    -------
    z, rate : ndarray
        `rate` is 0 where z is at a kink, and 1 / (1 + step * curvature) elsewhere.
    """
    y, v = np.broadcast_arrays(np.asarray(y, dtype=np.float64), np.asarray(v, dtype=np.float64))

    def gradient(z: Array) -> Array:
        return np.asarray(z - v + step * loss.derivative(y, z))

    # The gradient is increasing. At v it has the sign of the slope of the loss, and at the end of a
    # gradient step from v the opposite sign, so that these points are a bracket.
    down = v - step * loss.derivative(y, v)
    low, high = np.minimum(v, down), np.maximum(v, down)
    held = np.zeros(v.shape, dtype=bool)
    z_held, rate_held = np.zeros(v.shape), np.zeros(v.shape)
    for at in loss.breaks(y):
        beside = _BESIDE * (1 + np.abs(at) + np.abs(y))
        left, right = gradient(at - beside), gradient(at + beside)
        here = (left <= 0) & (right >= 0)
        held |= here
        z_held = np.where(here, at, z_held)
        # The rate is about 0 at kinks, where the gradient jumps, but not at jumps of the curvature.
        rate_held = np.where(
            here, np.minimum(2 * beside / np.maximum(right - left, beside), 1), rate_held
        )
        low, high = (
            np.where(right < 0, np.maximum(low, at + beside), low),
            np.where(left > 0, np.minimum(high, at - beside), high),
        )

    def between(z: Array) -> tuple[Array, Array]:
        return gradient(z), np.asarray(1 + step * loss.curvature(y, z))

    low, high = np.where(held, z_held, low), np.where(held, z_held, high)
    z = increasing_root(between, low, np.maximum(low, high))
    z = np.where(held, z_held, z)
    rate = np.where(held, rate_held, 1 / (1 + step * loss.curvature(y, z)))
    return z, rate


Increasing: TypeAlias = Callable[[Array], tuple[Array, Array]]
"""x -> values and slopes; elementwise, values not decreasing in x, slopes >= 0."""

_EPSILON = float(np.finfo(np.float64).eps)
_MAX_STEPS = 200  # bisection of a bracket needs about 60, and 1000 doublings would overflow


def increasing_root(function: Increasing, low: Array, high: Array) -> Array:
    """Find where increasing functions cross zero.

    Parameters
    ----------
    function : callable
        x -> (values, slopes).
    low, high : ndarray
        Brackets; `high` may be infinite.

    Returns
    -------
    ndarray
        `low` where the function is >= 0 at it, and `high` where it is negative at it.

    Notes
    -----
    Newton steps are used as long as they stay in the bracket and at least halve the value, and
    otherwise bisection (doubling for infinite brackets). This always terminates, after a few steps
    for functions with few linear pieces.
    """
    low, high = low.astype(np.float64), np.broadcast_to(high, low.shape).astype(np.float64)
    x, before = low, np.full(low.shape, np.inf)
    # Relative to the bracket, as a root at 0 has no relative accuracy.
    size = np.where(np.isfinite(high), np.maximum(np.abs(low), np.abs(high)), 0.0)
    for _ in range(_MAX_STEPS):
        value, slope = function(x)
        rising = value < 0
        low, high = np.where(rising, x, low), np.where(rising, high, x)
        step = np.divide(-value, slope, out=np.full_like(x, np.inf), where=slope > 0)
        ahead = x + step
        middle = np.where(np.isfinite(high), (low + high) / 2, 2 * np.maximum(x, 0) + 1)
        inside = (ahead > low) & (ahead <= high) & np.isfinite(ahead)
        newton = inside & (np.abs(value) <= before / 2)
        before = np.abs(value)
        tiny = _EPSILON * np.maximum(np.abs(x), size)
        found = (np.abs(step) <= tiny) | (value == 0) | (high - low <= tiny)
        new = np.where(found, x, np.where(newton, ahead, middle))
        done = found | (new == x)
        x = new
        if done.all():
            break
    return x
