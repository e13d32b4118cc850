"""Losses on labelled scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lapwing._arrays import Array
from lapwing.losses.base import Kind, Loss, TargetKind
from lapwing.losses.smoothed import ModifiedLogistic, SmoothedHinge, SmoothedSquaredHinge


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """1/2 max(0, 1 - y f)^2 for y in {-1, +1}: the L2 hinge of the LapSVM paper, (7)."""

    kind: ClassVar[Kind] = Kind.PIECEWISE_QUADRATIC
    formula: ClassVar[str] = "max(0, 1 - y f)^2"
    objective_scale: ClassVar[float] = 1.0

    def value(self, y: Array, f: Array) -> Array:
        slack = np.maximum(1 - y * f, 0)
        return slack * slack / 2

    def derivative(self, y: Array, f: Array) -> Array:
        return np.where(y * f < 1, f - y, 0)  # y^2 = 1

    def curvature(self, y: Array, f: Array) -> Array:
        return (y * f < 1).astype(f.dtype)

    def breaks(self, y: Array) -> tuple[Array, ...]:
        return (y,)

    def smoothed(self, variance: Array | float) -> SmoothedSquaredHinge:
        return SmoothedSquaredHinge(variance)


@dataclass(frozen=True)
class Squared(Loss):
    """1/2 (y - f)^2: LapRLS, LapSVM paper (14)."""

    kind: ClassVar[Kind] = Kind.PIECEWISE_QUADRATIC
    formula: ClassVar[str] = "(y - f)^2"
    targets: ClassVar[TargetKind] = TargetKind.VALUES

    def value(self, y: Array, f: Array) -> Array:
        return (f - y) * (f - y) / 2

    def derivative(self, y: Array, f: Array) -> Array:
        return f - y

    def curvature(self, y: Array, f: Array) -> Array:
        return np.ones_like(f)

    def breaks(self, y: Array) -> tuple[Array, ...]:
        return ()


@dataclass(frozen=True)
class Hinge(Loss):
    """1/2 max(0, 1 - y f) for y in {-1, +1}: half the hinge of the LapSVM paper, (4)."""

    kind: ClassVar[Kind] = Kind.KINKED
    formula: ClassVar[str] = "max(0, 1 - y f)"

    def value(self, y: Array, f: Array) -> Array:
        return np.maximum(1 - y * f, 0) / 2

    def derivative(self, y: Array, f: Array) -> Array:
        return np.where(y * f < 1, -y / 2, 0)

    def curvature(self, y: Array, f: Array) -> Array:
        return np.zeros_like(f)

    def breaks(self, y: Array) -> tuple[Array, ...]:
        return (y,)

    def smoothed(self, variance: Array | float) -> SmoothedHinge:
        return SmoothedHinge(variance)

    def stand_in(self) -> ModifiedLogistic:
        return ModifiedLogistic()  # QN-S3VM paper, Section 3.1


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """1/2 max(0, |y - f| - epsilon): support vector regression, half the usual loss.

    Parameters
    ----------
    epsilon : float, default=0.1
        Half width >= 0 of the tube in which residuals have no loss.
    """

    epsilon: float = 0.1
    kind: ClassVar[Kind] = Kind.KINKED
    formula: ClassVar[str] = "max(0, abs(y - f) - epsilon)"
    targets: ClassVar[TargetKind] = TargetKind.VALUES

    def value(self, y: Array, f: Array) -> Array:
        return np.maximum(np.abs(y - f) - self.epsilon, 0) / 2

    def derivative(self, y: Array, f: Array) -> Array:
        outside = np.abs(y - f) > self.epsilon
        return np.where(outside, np.sign(f - y) / 2, 0)

    def curvature(self, y: Array, f: Array) -> Array:
        return np.zeros_like(f)

    def breaks(self, y: Array) -> tuple[Array, ...]:
        return y - self.epsilon, y + self.epsilon
