"""The losses on labelled scores that the library brings; `lapwing.losses.base` says what one is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from array_api_compat import array_namespace

from lapwing.losses.base import Kind, Loss, TargetKind
from lapwing.losses.smoothed import ModifiedLogistic, SmoothedHinge, SmoothedSquaredHinge


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """1/2 max(0, 1 - y f)^2 for y in {-1, +1}: the L2 hinge of the LapSVM paper, (7)."""

    kind: ClassVar[Kind] = Kind.PIECEWISE_QUADRATIC
    formula: ClassVar[str] = "max(0, 1 - y f)^2"
    objective_scale: ClassVar[float] = 1.0

    def value(self, y: Any, f: Any) -> Any:
        xp = array_namespace(f)
        slack = xp.maximum(1 - y * f, xp.zeros_like(f))
        return slack * slack / 2

    def derivative(self, y: Any, f: Any) -> Any:
        xp = array_namespace(f)
        return xp.where(y * f < 1, f - y, xp.zeros_like(f))  # y^2 = 1

    def curvature(self, y: Any, f: Any) -> Any:
        xp = array_namespace(f)
        return xp.astype(y * f < 1, f.dtype)

    def breaks(self, y: Any) -> tuple[Any, ...]:
        return (y,)

    def smoothed(self, variance: Any) -> SmoothedSquaredHinge:
        return SmoothedSquaredHinge(variance)


@dataclass(frozen=True)
class Squared(Loss):
    """1/2 (y - f)^2: LapRLS, LapSVM paper (14)."""

    kind: ClassVar[Kind] = Kind.PIECEWISE_QUADRATIC
    formula: ClassVar[str] = "(y - f)^2"
    targets: ClassVar[TargetKind] = TargetKind.VALUES

    def value(self, y: Any, f: Any) -> Any:
        return (f - y) * (f - y) / 2

    def derivative(self, y: Any, f: Any) -> Any:
        return f - y

    def curvature(self, y: Any, f: Any) -> Any:
        return array_namespace(f).ones_like(f)

    def breaks(self, y: Any) -> tuple[Any, ...]:
        return ()


@dataclass(frozen=True)
class Hinge(Loss):
    """1/2 max(0, 1 - y f) for y in {-1, +1}: half the hinge of the LapSVM paper, (4)."""

    kind: ClassVar[Kind] = Kind.KINKED
    formula: ClassVar[str] = "max(0, 1 - y f)"

    def value(self, y: Any, f: Any) -> Any:
        xp = array_namespace(f)
        return xp.maximum(1 - y * f, xp.zeros_like(f)) / 2

    def derivative(self, y: Any, f: Any) -> Any:
        xp = array_namespace(f)
        return xp.where(y * f < 1, -y / 2, xp.zeros_like(f))

    def curvature(self, y: Any, f: Any) -> Any:
        return array_namespace(f).zeros_like(f)

    def breaks(self, y: Any) -> tuple[Any, ...]:
        return (y,)

    def smoothed(self, variance: Any) -> SmoothedHinge:
        return SmoothedHinge(variance)

    def stand_in(self) -> ModifiedLogistic:
        return ModifiedLogistic()  # QN-S3VM paper, Section 3.1


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """1/2 max(0, |y - f| - epsilon): support vector regression, half the usual loss.

    Parameters
    ----------
    epsilon : float, default=0.1
        Half the width of the tube, >= 0, in which errors cost nothing.
    """

    epsilon: float = 0.1
    kind: ClassVar[Kind] = Kind.KINKED
    formula: ClassVar[str] = "max(0, abs(y - f) - epsilon)"
    targets: ClassVar[TargetKind] = TargetKind.VALUES

    def value(self, y: Any, f: Any) -> Any:
        xp = array_namespace(f)
        return xp.maximum(xp.abs(y - f) - self.epsilon, xp.zeros_like(f)) / 2

    def derivative(self, y: Any, f: Any) -> Any:
        xp = array_namespace(f)
        outside = xp.abs(y - f) > self.epsilon
        return xp.where(outside, xp.sign(f - y) / 2, xp.zeros_like(f))

    def curvature(self, y: Any, f: Any) -> Any:
        return array_namespace(f).zeros_like(f)

    def breaks(self, y: Any) -> tuple[Any, ...]:
        return y - self.epsilon, y + self.epsilon
