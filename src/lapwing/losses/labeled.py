r"""Pointwise losses on labelled scores.

A loss sees targets and scores, never X. All functions take arrays of shape (l, n_columns) and
work elementwise in the array namespace of their input. Losses are written in the *half*
convention, so that every objective of the library reads

.. math:: \tfrac12 \Big[\sum_i w_i\, 2\ell(y_i, f_i) + \gamma_A \|f\|^2 + \gamma_I f^T L^p f\Big]

and one solver serves them all: the squared hinge is 1/2 max(0, 1 - y f)^2 (LapSVM paper, (7)), the
hinge 1/2 max(0, 1 - y f) (half of (4)). `objective_scale` is the factor that turns this into the
objective as its paper prints it.

The squared losses are piecewise quadratic: on the active points (`curvature` = 1) they are
1/2 (f - y)^2, elsewhere 0. That is all that Newton and the exact line search use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from array_api_compat import array_namespace

__all__ = ["LOSSES", "EpsilonInsensitive", "Hinge", "Loss", "Squared", "SquaredHinge"]


class Loss(Protocol):
    """What solvers ask of a loss."""

    name: ClassVar[str]
    piecewise_quadratic: ClassVar[bool]
    objective_scale: ClassVar[float]

    def value(self, y: Any, f: Any) -> Any:
        """Loss of each score, in the half convention."""

    def derivative(self, y: Any, f: Any) -> Any:
        """Derivative (a subderivative at kinks) with respect to the score."""

    def curvature(self, y: Any, f: Any) -> Any:
        """Second derivative, 0 at break points."""

    def switch_steps(self, y: Any, f: Any, df: Any) -> Any:
        """Steps s > 0 at which f + s df enters or leaves the active set; inf where never."""


@dataclass(frozen=True)
class SquaredHinge:
    """1/2 max(0, 1 - y f)^2 for y in {-1, +1}: the L2 hinge of the LapSVM paper, (7)."""

    name: ClassVar[str] = "squared_hinge"
    piecewise_quadratic: ClassVar[bool] = True
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

    def switch_steps(self, y: Any, f: Any, df: Any) -> Any:
        # Errata L17 (b): a point switches for s > 0 iff it is active and its margin grows, or it
        # is not active and its margin shrinks; a margin that does not move never switches.
        xp = array_namespace(f)
        margin, growth = y * f, y * df
        switches = xp.where(margin < 1, growth > 0, growth < 0)
        safe = xp.where(switches, growth, xp.ones_like(growth))
        return xp.where(switches, (1 - margin) / safe, xp.full_like(growth, xp.inf))


@dataclass(frozen=True)
class Squared:
    """1/2 (y - f)^2: LapRLS, LapSVM paper (14)."""

    name: ClassVar[str] = "squared"
    piecewise_quadratic: ClassVar[bool] = True
    objective_scale: ClassVar[float] = 2.0

    def value(self, y: Any, f: Any) -> Any:
        return (f - y) * (f - y) / 2

    def derivative(self, y: Any, f: Any) -> Any:
        return f - y

    def curvature(self, y: Any, f: Any) -> Any:
        return array_namespace(f).ones_like(f)

    def switch_steps(self, y: Any, f: Any, df: Any) -> Any:
        xp = array_namespace(f)
        return xp.full_like(f, xp.inf)


@dataclass(frozen=True)
class Hinge:
    """1/2 max(0, 1 - y f) for y in {-1, +1}: half the hinge of the LapSVM paper, (4)."""

    name: ClassVar[str] = "hinge"
    piecewise_quadratic: ClassVar[bool] = False
    objective_scale: ClassVar[float] = 2.0

    def value(self, y: Any, f: Any) -> Any:
        xp = array_namespace(f)
        return xp.maximum(1 - y * f, xp.zeros_like(f)) / 2

    def derivative(self, y: Any, f: Any) -> Any:
        xp = array_namespace(f)
        return xp.where(y * f < 1, -y / 2, xp.zeros_like(f))

    def curvature(self, y: Any, f: Any) -> Any:
        return array_namespace(f).zeros_like(f)

    def switch_steps(self, y: Any, f: Any, df: Any) -> Any:
        raise NotImplementedError("The hinge is not piecewise quadratic; use solver='dual'.")


@dataclass(frozen=True)
class EpsilonInsensitive:
    """1/2 max(0, |y - f| - epsilon): support vector regression, half the usual loss."""

    epsilon: float = 0.1
    name: ClassVar[str] = "epsilon_insensitive"
    piecewise_quadratic: ClassVar[bool] = False
    objective_scale: ClassVar[float] = 2.0

    def value(self, y: Any, f: Any) -> Any:
        xp = array_namespace(f)
        return xp.maximum(xp.abs(y - f) - self.epsilon, xp.zeros_like(f)) / 2

    def derivative(self, y: Any, f: Any) -> Any:
        xp = array_namespace(f)
        outside = xp.abs(y - f) > self.epsilon
        return xp.where(outside, xp.sign(f - y) / 2, xp.zeros_like(f))

    def curvature(self, y: Any, f: Any) -> Any:
        return array_namespace(f).zeros_like(f)

    def switch_steps(self, y: Any, f: Any, df: Any) -> Any:
        raise NotImplementedError(
            "The epsilon-insensitive loss is not piecewise quadratic; use solver='dual'."
        )


LOSSES: dict[str, type[Loss]] = {
    loss.name: loss for loss in (SquaredHinge, Squared, Hinge, EpsilonInsensitive)
}
