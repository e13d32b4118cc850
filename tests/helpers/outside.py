"""Losses and a method as a user would add them: nothing of them is known to the library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing.losses import Kind, Loss, TargetKind, UnlabeledLoss
from lapwing.objectives.low_density import Function, LowDensityObjective
from lapwing.solvers.base import Settings, Status
from lapwing.solvers.low_density.lbfgs import Minimum
from lapwing.solvers.low_density.schedules import ScheduleStage


@dataclass
class RoundedHinge(Loss):
    """Half the hinge whose corner is a parabola of the given width; piecewise quadratic."""

    width: float = 0.5
    kind = Kind.PIECEWISE_QUADRATIC

    def value(self, y: Any, f: Any) -> Any:
        t = np.maximum(1 - y * f, 0)
        return np.where(t < self.width, t * t / (2 * self.width), t - self.width / 2) / 2

    def derivative(self, y: Any, f: Any) -> Any:
        return -y * np.clip((1 - y * f) / self.width, 0, 1) / 2

    def curvature(self, y: Any, f: Any) -> Any:
        t = 1 - y * f
        return np.where((t > 0) & (t < self.width), 1 / (2 * self.width), 0.0).astype(f.dtype)

    def breaks(self, y: Any) -> Any:
        return y, y * (1 - self.width)


class Huber(Loss):
    """Half the Huber loss of values: quadratic within 0.2."""

    kind = Kind.PIECEWISE_QUADRATIC
    targets = TargetKind.VALUES

    def value(self, y: Any, f: Any) -> Any:
        r = np.abs(f - y)
        return np.where(r < 0.2, r * r, 0.4 * r - 0.04) / 2

    def derivative(self, y: Any, f: Any) -> Any:
        return np.clip(f - y, -0.2, 0.2)

    def curvature(self, y: Any, f: Any) -> Any:
        return np.where(np.abs(f - y) < 0.2, 1.0, 0.0)

    def breaks(self, y: Any) -> Any:
        return y - 0.2, y + 0.2


@dataclass
class Logistic(Loss):
    """Half of log(1 + exp(-y f)): smooth, curved everywhere."""

    kind = Kind.SMOOTH

    def value(self, y: Any, f: Any) -> Any:
        return np.logaddexp(0, -y * f) / 2

    def derivative(self, y: Any, f: Any) -> Any:
        return -y / (1 + np.exp(np.clip(y * f, -500, 500))) / 2

    def curvature(self, y: Any, f: Any) -> Any:
        e = np.exp(-np.abs(f))
        return e / (1 + e) ** 2 / 2


@dataclass
class SteepHinge(Loss):
    """Half of max(0, 1 - y f, 1 - slope y f): two kinks, of which the second one may be seen."""

    slope: float = 3.0
    kind = Kind.KINKED

    def value(self, y: Any, f: Any) -> Any:
        m = y * f
        return np.maximum(0, np.maximum(1 - m, 1 - self.slope * m)) / 2

    def derivative(self, y: Any, f: Any) -> Any:
        m = y * f
        return -y * np.where(m < 0, self.slope, np.where(m < 1, 1.0, 0.0)) / 2

    def curvature(self, y: Any, f: Any) -> Any:
        return 0 * f

    def breaks(self, y: Any) -> Any:
        return y, 0 * y


@dataclass
class Pinball(Loss):
    """Half the pinball loss: the median for share=0.5, any quantile else."""

    share: float = 0.8
    kind = Kind.KINKED
    targets = TargetKind.VALUES

    def value(self, y: Any, f: Any) -> Any:
        return np.maximum(self.share * (y - f), (1 - self.share) * (f - y))

    def derivative(self, y: Any, f: Any) -> Any:
        return np.where(f < y, -self.share, 1 - self.share)

    def curvature(self, y: Any, f: Any) -> Any:
        return 0 * f

    def breaks(self, y: Any) -> Any:
        return (y,)


@dataclass
class CauchyBump(UnlabeledLoss):
    """1 / (1 + s f^2): differentiable; nothing is known of its smoothing."""

    s: float = 3.0
    kind = Kind.SMOOTH

    def value(self, f: Any) -> Any:
        return 1 / (1 + self.s * f * f)

    def derivative(self, f: Any) -> Any:
        return -2 * self.s * f / (1 + self.s * f * f) ** 2

    def curvature(self, f: Any) -> Any:
        return 2 * self.s * (3 * self.s * f * f - 1) / (1 + self.s * f * f) ** 3


@dataclass
class NearerHuber(UnlabeledLoss):
    """The rounded hinge of the nearer label: a kink at 0, where the label changes."""

    width: float = 0.5
    kind = Kind.KINKED

    @property
    def label_loss(self) -> RoundedHinge:
        return RoundedHinge(self.width)

    def value(self, f: Any) -> Any:
        return 2 * self.label_loss.value(1.0, np.abs(f))

    def derivative(self, f: Any) -> Any:
        return 2 * np.sign(f) * self.label_loss.derivative(1.0, np.abs(f))

    def curvature(self, f: Any) -> Any:
        return np.where(f == 0, 0.0, 2 * self.label_loss.curvature(1.0, np.abs(f)))


def halving(objective: LowDensityObjective) -> list[ScheduleStage]:
    """A schedule: half the weight of the unlabelled points, then all of it."""
    return [ScheduleStage(factor, objective.weighted(factor)) for factor in (0.5, 1.0)]


def flipped(
    objective: LowDensityObjective, start: Function, settings: Settings[Function], random: bool
) -> Minimum:
    """A method: the start itself if it is lower than its mirror image, else that."""
    best = min((start, start._replace(coef=-start.coef)), key=objective.value)
    return Minimum(best, objective.value(best), 0.0, 0, Status.CONVERGED, n_evaluations=2)
