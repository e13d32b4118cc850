"""Errors about losses whose declared properties are wrong."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from lapwing import LapSVC
from lapwing.losses import Kind, Loss, Squared, UnlabeledLoss, as_unlabeled_loss, registry
from lapwing.losses.registry import check_loss, check_unlabeled_loss
from tests.helpers.outside import CauchyBump, Logistic, RoundedHinge, SteepHinge


class Full(RoundedHinge):
    """The derivative of the whole loss, the value of half of it."""

    def derivative(self, y: Any, f: Any) -> Any:
        return 2 * super().derivative(y, f)


class WrongCurvature(RoundedHinge):
    def curvature(self, y: Any, f: Any) -> Any:
        return 1.0 * (y * f < 1)


class OneBreak(RoundedHinge):
    def breaks(self, y: Any) -> Any:
        return (y,)


class NoBreaks(Loss):
    kind = Kind.PIECEWISE_QUADRATIC
    value = RoundedHinge.value
    derivative = RoundedHinge.derivative
    curvature = RoundedHinge.curvature
    width = 0.5


class HiddenKink(SteepHinge):
    kind = Kind.SMOOTH


class Ramp(Loss):
    """min(1, max(0, 1 - y f)), halved: not convex."""

    kind = Kind.KINKED

    def value(self, y: Any, f: Any) -> Any:
        return np.clip(1 - y * f, 0, 1) / 2

    def derivative(self, y: Any, f: Any) -> Any:
        return np.where((y * f < 1) & (y * f > 0), -y / 2, 0.0)

    def curvature(self, y: Any, f: Any) -> Any:
        return 0 * f

    def breaks(self, y: Any) -> Any:
        return y, 0 * y


class Negative(Squared):
    def value(self, y: Any, f: Any) -> Any:
        return super().value(y, f) - 1


class Scalar(Squared):
    def curvature(self, y: Any, f: Any) -> Any:
        return 1.0


class Overflowing(Squared):
    def derivative(self, y: Any, f: Any) -> Any:
        return np.where(f > 30, np.inf, f - y)


class Listed(RoundedHinge):
    def breaks(self, y: Any) -> Any:
        return np.stack([y, y * (1 - self.width)])


class Curved(Logistic):
    kind = Kind.PIECEWISE_QUADRATIC

    def breaks(self, y: Any) -> Any:
        return ()


class Flipped(CauchyBump):
    def derivative(self, f: Any) -> Any:
        return -super().derivative(f)


class Bent(CauchyBump):
    def curvature(self, f: Any) -> Any:
        return 2 * super().curvature(f)


WRONG: list[tuple[Loss | UnlabeledLoss, str]] = [
    (Full(), r"derivative gives 1 at f = .*, for the target -1, where the differences of value"),
    (
        WrongCurvature(),
        r"curvature gives .* where the differences of derivative give .* Check both",
    ),
    (OneBreak(), "piecewise quadratic, but its curvature changes between .* Add it, or use kind"),
    (NoBreaks(), r"NoBreaks is piecewise quadratic and must implement breaks\(y\): a tuple of"),
    (
        HiddenKink(),
        "is declared smooth, but its derivative jumps by 1 at f = .* Use kind = Kind.KINKED",
    ),
    (Ramp(), "is not convex: its derivative falls between f = .* must be convex"),
    (Negative(), "must not be negative, but value is at f = "),
    (Scalar(), r"curvature must give an array of the shape of the scores, \(205,\), not \(\)"),
    (Overflowing(), "derivative is not finite at f = 31"),
    (Listed(), r"breaks\(y\) must give a tuple of arrays like y, one for each break, not ndarray"),
    (Curved(), "piecewise quadratic, but its curvature changes between"),
    (Flipped(), r"Flipped\(s=3.0\): derivative gives .* of value give"),
    (Bent(), r"Bent\(s=3.0\): curvature gives .* of derivative give"),
]


@pytest.mark.parametrize(("loss", "message"), WRONG, ids=lambda part: type(part).__name__)
def test_wrong_losses_are_refused(loss: Loss | UnlabeledLoss, message: str) -> None:
    error = NotImplementedError if isinstance(loss, NoBreaks) else ValueError
    with pytest.raises(error, match=message):
        check_loss(loss) if isinstance(loss, Loss) else as_unlabeled_loss(loss, {})


def test_a_wrong_loss_is_refused_before_any_work() -> None:
    def never(a: Any, b: Any) -> Any:
        raise AssertionError("the kernel was computed")

    X, y = np.arange(8.0)[:, None], [0, -1, -1, -1, -1, -1, -1, 1]
    with pytest.raises(ValueError, match=re.escape("Full(width=0.5): derivative gives")):
        LapSVC(never, loss=Full()).fit(X, y)


def test_jumps_beside_a_compared_score() -> None:
    """Smooth losses may have jumps of the curvature, and unlabelled losses kinks."""
    beside = float(registry._SCORES[np.argmin(np.abs(registry._SCORES - 0.5))]) + 5e-5

    class Undeclared(RoundedHinge):
        kind = Kind.SMOOTH

    class Tent(UnlabeledLoss):
        kind = Kind.KINKED

        def value(self, f: Any) -> Any:
            return np.abs(f - beside)

        def derivative(self, f: Any) -> Any:
            return np.sign(f - beside)

        def curvature(self, f: Any) -> Any:
            return 0 * f

    class SmoothTent(Tent):
        kind = Kind.SMOOTH

    check_loss(Undeclared(1 - beside))
    check_loss(RoundedHinge(0.0388))  # its parabola has one compared score, beside a break
    check_unlabeled_loss(Tent())
    with pytest.raises(ValueError, match=r"derivative gives -1 at f = .* of value give -0\.5"):
        check_unlabeled_loss(SmoothTent())


def test_requires_a_declared_kind() -> None:
    message = "Untold must declare its kind: kind = one of Kind.PIECEWISE_QUADRATIC, Kind.SM"
    with pytest.raises(TypeError, match=message):

        class Untold(Loss):
            pass
