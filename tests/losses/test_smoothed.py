"""Smoothed losses against numerical convolution, and all derivatives by differences."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from lapwing.losses import (
    LOSSES,
    GaussianBump,
    Hinge,
    Kind,
    ModifiedLogistic,
    SquaredHinge,
    SymmetricHinge,
)
from lapwing.losses.smoothed import (
    SmoothedHinge,
    SmoothedSquaredHinge,
    differentiable,
    smooth,
)
from lapwing.losses.unlabeled import SmoothedSymmetricHinge
from tests.helpers.members import check_examples
from tests.helpers.outside import CauchyBump, RoundedHinge, SteepHinge
from tests.helpers.problems import loss_value

VARIANCES = (1e-4, 0.03, 1.0, 25.0)
FUNCTIONS = {
    "modified logistic": ModifiedLogistic(),
    "steeper": ModifiedLogistic(50.0),
    **{f"hinge {v}": SmoothedHinge(v) for v in VARIANCES},
    **{f"squared hinge {v}": SmoothedSquaredHinge(v) for v in VARIANCES},
}
FOR_ALL = pytest.mark.parametrize("loss", FUNCTIONS.values(), ids=FUNCTIONS)
SHARP = {"hinge": Hinge(), "squared_hinge": SquaredHinge()}


def grid():
    scores = np.concatenate([np.linspace(-4, 4, 49) + 0.0137, [-1e3, -30.0, 30.0, 1e3]])
    y, f = (part.ravel() for part in np.meshgrid([-1.0, 1.0], scores))
    return y, f


def width(loss):
    """Length over which a loss bends."""
    return 1 / loss.slope if loss.name == "modified_logistic" else np.sqrt(loss.variance)


def convolved(function, f, variance, *, kinks):
    """E function(f + sqrt(v) Z) by adaptive quadrature between the kinks."""
    d = np.sqrt(variance)
    cuts = sorted({-12.0, 12.0, *((k - f) / d for k in kinks if abs(k - f) < 12 * d)})

    def integrand(z):
        return function(f + d * z) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)

    pieces = pairwise(cuts)
    return sum(quad(integrand, *piece, epsabs=1e-12, epsrel=1e-11)[0] for piece in pieces)


def test_every_loss_that_is_smoothed_is_tried():
    check_examples(
        SHARP,
        [name for name, loss in LOSSES.items() if loss().smoothed(1.0) is not None],
        registry="LOSSES in lapwing.losses",
        place="SHARP in tests/losses/test_smoothed.py",
    )


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("name", SHARP)
def test_smoothed_losses_are_convolutions(name, variance):
    """Errata C2, for the squared hinge too."""
    smoothed = SHARP[name].smoothed(variance)
    for y in (-1.0, 1.0):
        for f in (-3.0, -1.0, -0.2, 0.0, 0.9, 1.0, 1.1, 2.5):
            expected = convolved(
                lambda t, y=y: loss_value(SHARP[name], y, t), f, variance, kinks=[y]
            )
            assert smoothed.value(y, f) == pytest.approx(expected, rel=1e-9, abs=1e-13)


def test_the_modified_logistic_loss_is_that_of_the_paper():
    """log(1 + exp(g (1 - y f))) / g, QN-S3VM paper (5); its slope is errata Q3's a_i."""
    y, f = grid()
    near = np.abs(f) < 10
    y, f, loss = y[near], f[near], ModifiedLogistic()
    printed = np.log(1 + np.exp(20 * (1 - y * f))) / 20
    np.testing.assert_allclose(2 * loss.value(y, f), printed, rtol=1e-12, atol=1e-16)
    rise = np.exp(20 * (1 - y * f)) / (1 + np.exp(20 * (1 - y * f)))
    np.testing.assert_allclose(2 * loss.derivative(y, f), -rise * y, rtol=1e-12)
    assert 2 * loss.value(1.0, 1.0) == pytest.approx(np.log(2) / 20)


@pytest.mark.parametrize("name", SHARP)
def test_objective_scale_is_that_of_the_sharp_loss(name):
    assert SHARP[name].smoothed(0.1).objective_scale == SHARP[name].objective_scale


@FOR_ALL
def test_derivatives_by_central_differences(loss):
    y, f = grid()
    h = 1e-4 * width(loss)
    value = (loss.value(y, f + h) - loss.value(y, f - h)) / (2 * h)
    scale = np.maximum(1, np.abs(loss.value(y, f)))
    error = np.abs(loss.derivative(y, f) - value) / scale
    assert error[np.abs(f) < 10].max() < 1e-6
    slope = (loss.derivative(y, f + h) - loss.derivative(y, f - h)) / (2 * h)
    within = np.abs(f) < 10
    bend = max(np.abs(loss.curvature(y, f)).max(), 1.0)
    np.testing.assert_allclose(loss.curvature(y, f)[within], slope[within], atol=1e-6 * bend)


@FOR_ALL
@pytest.mark.parametrize("size", [1e3, 1e6])
def test_tails_are_those_of_the_sharp_loss(loss, size):
    """No overflow (errata Q4, C9): warnings are errors here."""
    y, f = np.array([1.0, 1.0, -1.0, -1.0]), size * np.array([1.0, -1.0, 1.0, -1.0])
    sharp = SHARP.get(loss.name.removeprefix("smoothed_"), Hinge())
    # the squared hinge keeps its variance: E (t - dZ)^2 = t^2 + v
    extra = loss.variance * (y * f < 0) / 2 if loss.name.endswith("squared_hinge") else 0.0
    np.testing.assert_allclose(loss.value(y, f), loss_value(sharp, y, f) + extra, rtol=1e-12)
    np.testing.assert_allclose(loss.derivative(y, f), sharp.derivative(y, f), rtol=1e-12)
    np.testing.assert_allclose(loss.curvature(y, f), sharp.curvature(y, f), atol=1e-12)


@pytest.mark.parametrize("name", SHARP)
def test_without_variance_it_is_the_sharp_loss(name):
    """Errata C9: a branch, where the formula is 0 inf; kinks included."""
    y, f = grid()
    y, f = np.append(y, [1.0, -1.0]), np.append(f, [1.0, -1.0])
    smoothed, sharp = SHARP[name].smoothed(0.0), SHARP[name]
    np.testing.assert_allclose(smoothed.value(y, f), sharp.value(y, f), rtol=1e-15)
    np.testing.assert_array_equal(smoothed.derivative(y, f), sharp.derivative(y, f))
    np.testing.assert_array_equal(smoothed.curvature(y, f), sharp.curvature(y, f))


@pytest.mark.parametrize("name", SHARP)
def test_variances_of_each_observation(name):
    """Also none for some: points at the origin (errata C5)."""
    y, f = grid()
    variances = np.resize([0.0, 1e-3, 0.5], len(f))
    together = SHARP[name].smoothed(variances)
    for v in (0.0, 1e-3, 0.5):
        of_v, alone = variances == v, SHARP[name].smoothed(v)
        for function in ("value", "derivative", "curvature"):
            np.testing.assert_array_equal(
                getattr(together, function)(y, f)[of_v],
                np.asarray(getattr(alone, function)(y[of_v], f[of_v])),
            )


@FOR_ALL
def test_they_are_differentiable_and_no_more_is_promised(loss):
    assert loss.kind is Kind.SMOOTH
    assert loss.breaks(np.ones(3)) == ()


# --- what has no formula --------------------------------------------------------------------------


@pytest.mark.parametrize("variance", [1e-4, 0.01, 0.3])
def test_averages_are_near_the_convolution(variance):
    """Of a loss with a continuous derivative; the error is that of the rule."""
    loss = RoundedHinge(0.5)
    made = smooth(loss, variance)
    for f in (-2.0, 0.3, 0.6, 0.9, 1.0, 1.3):
        exact = convolved(
            lambda t: float(loss.value(1.0, np.asarray(t))), f, variance, kinks=[0.5, 1.0]
        )
        value = float(made.value(np.array([1.0]), np.array([f]))[0])
        assert value == pytest.approx(exact, abs=3e-4)


@pytest.mark.parametrize("loss", [RoundedHinge(0.5), ModifiedLogistic()], ids=repr)
def test_averages_have_the_derivatives_that_they_say(loss):
    y, f = grid()
    variances = np.resize([0.0, 1e-3, 0.2], len(f))
    made, h = smooth(loss, variances), 1e-5
    near = np.abs(f) < 10
    slope = (made.value(y, f + h) - made.value(y, f - h)) / (2 * h)
    np.testing.assert_allclose(made.derivative(y, f)[near], slope[near], atol=1e-6)
    bend = (made.derivative(y, f + h) - made.derivative(y, f - h)) / (2 * h)
    agree = np.abs(made.curvature(y, f) - bend) < 1e-3
    assert agree[near].mean() > 0.95  # but where a node is on a break
    sharp = variances == 0
    np.testing.assert_allclose(made.value(y, f)[sharp], loss.value(y, f)[sharp], rtol=1e-12)


def test_averages_of_losses_on_unlabelled_scores():
    bump, f = CauchyBump(), np.linspace(-3, 3, 31)
    made = smooth(bump, 0.01)
    for at, value in zip(f, made.value(f), strict=True):
        exact = convolved(lambda t: float(bump.value(np.asarray(t))), at, 0.01, kinks=[])
        assert value == pytest.approx(exact, abs=1e-8)
    h = 1e-4
    slope = (made.value(f + h) - made.value(f - h)) / (2 * h)
    np.testing.assert_allclose(made.derivative(f), slope, atol=1e-6)
    bend = (made.derivative(f + h) - made.derivative(f - h)) / (2 * h)
    np.testing.assert_allclose(made.curvature(f), bend, atol=1e-5)


def test_formulas_come_before_averages():
    assert isinstance(smooth(Hinge(), 0.1), SmoothedHinge)
    assert isinstance(smooth(SymmetricHinge(), 0.1), SmoothedSymmetricHinge)
    assert smooth(RoundedHinge(), 0.1).kind is Kind.SMOOTH


def test_differentiable_losses_stand_for_themselves_and_others_have_a_stand_in():
    for loss in (SquaredHinge(), RoundedHinge(), GaussianBump()):
        assert differentiable(loss) is loss
    assert differentiable(Hinge()) == ModifiedLogistic()
    assert isinstance(differentiable(SymmetricHinge()), GaussianBump)
    near = differentiable(SteepHinge())
    assert near.kind is Kind.SMOOTH
    y, f = grid()
    close = np.abs(f) < 10
    np.testing.assert_allclose(near.value(y, f)[close], SteepHinge().value(y, f)[close], atol=0.05)
