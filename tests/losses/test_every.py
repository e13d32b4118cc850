"""One suite for every pointwise loss: definitions, derivatives, smoothing, tails and precision."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from lapwing.losses import (
    LOSSES,
    UNLABELED_LOSSES,
    EpsilonInsensitive,
    GaussianBump,
    Hinge,
    Kind,
    Loss,
    ModifiedLogistic,
    Squared,
    SquaredHinge,
    SymmetricHinge,
    TargetKind,
)
from lapwing.losses.registry import check_loss, check_unlabeled_loss
from lapwing.losses.smoothed import differentiable, smooth
from tests.helpers.members import check_examples
from tests.helpers.outside import (
    CauchyBump,
    Logistic,
    NearerHuber,
    Pinball,
    RoundedHinge,
    SteepHinge,
)
from tests.helpers.problems import ALL_LOSSES, loss_slope, loss_value

METHODS = ("value", "derivative", "curvature")
VARIANCES = (1e-4, 0.03, 1.0, 25.0)
# Losses with a formula for their smoothing.
SMOOTHABLE: tuple[Any, ...] = (
    Hinge(),
    SquaredHinge(),
    GaussianBump(),
    GaussianBump(0.7),
    GaussianBump(3.0, 2.0),
    SymmetricHinge(),
)
UNLABELED = SMOOTHABLE[2:]
# (loss, targets, scores) -> values, of losses that are no parameters of an estimator by themselves.
PRINTED: dict[str, Any] = {
    "modified_logistic": lambda loss, y, f: np.logaddexp(0, loss.slope * (1 - y * f)) / loss.slope,
    "gaussian": lambda loss, y, f: np.exp(-loss.s * f**2 / loss.a) / loss.a**0.5,
    "symmetric_hinge": lambda loss, y, f: np.maximum(0.0, 1 - np.abs(f)),
}
PLAIN: tuple[Any, ...] = (*ALL_LOSSES, ModifiedLogistic(), ModifiedLogistic(50.0), *UNLABELED)
SMOOTHED = [loss.smoothed(v) for loss in SMOOTHABLE for v in VARIANCES]
OUTSIDE = [
    *(RoundedHinge(width) for width in (0.01, 0.29863, 0.5, 3.0)),
    *(Logistic(), SteepHinge(), Pinball(0.3), CauchyBump(), NearerHuber(0.2)),
]
every_plain = pytest.mark.parametrize("loss", PLAIN, ids=repr)
every_smoothable = pytest.mark.parametrize("loss", SMOOTHABLE, ids=repr)


def at(loss: Any, method: str, y: Any, f: Any) -> Any:
    """Return values of a method; unlabelled losses have no targets."""
    function = getattr(loss, method)
    return function(y, f) if isinstance(loss, Loss) else function(f)


def kinks(loss: Any, y: Any) -> tuple[Any, ...]:
    """Return the scores at which the derivative or the curvature jumps."""
    if isinstance(loss, Loss):
        return loss.breaks(y)
    return (y, 0 * y, -y) if loss.kind is Kind.KINKED else ()


def grid(loss: Any, far: float = 1e6) -> tuple[Any, Any]:
    """Targets, and scores in all regions of a loss, no kink nearer than 1e-3."""
    scores = np.concatenate([np.linspace(-4, 4, 49) + 0.0137, [-far, -20.0, 20.0, far]])
    values = isinstance(loss, Loss) and loss.targets is TargetKind.VALUES
    y, f = np.meshgrid([-1.0, 1.0, 0.0, 0.4, -2.5] if values else [-1.0, 1.0], scores)
    y, f = y.ravel(), f.ravel()
    near = np.min([np.full(f.shape, np.inf), *(np.abs(f - kink) for kink in kinks(loss, y))], 0)
    return y[near > 1e-3], f[near > 1e-3]


def width(loss: Any) -> float:
    """Return the length over which a loss bends."""
    slope = getattr(loss, "slope", None) if loss.kind is Kind.SMOOTH else None
    return float(1 / slope if slope else min(1.0, np.sqrt(getattr(loss, "variance", 0) or 1.0)))


def convolved(loss: Any, y: float, f: float, variance: float) -> float:
    """E loss(f + sqrt(v) Z) by adaptive quadrature between the kinks."""
    d, ends = np.sqrt(variance), [float(kink) for kink in kinks(loss, y)]
    cuts = sorted({-12.0, 12.0, *((k - f) / d for k in ends if abs(k - f) < 12 * d)})

    def integrand(z: float) -> Any:
        value = at(loss, "value", np.asarray(y), np.asarray(f + d * z))
        return value * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)

    return sum(quad(integrand, *piece, epsabs=1e-12, epsrel=1e-11)[0] for piece in pairwise(cuts))


# --- definitions ----------------------------------------------------------------------------------


def test_registries_have_examples() -> None:
    here = "tests/losses/test_every.py"
    for registry, losses, place in (
        (LOSSES, ALL_LOSSES, "ALL_LOSSES in tests/helpers/problems.py"),
        (UNLABELED_LOSSES, UNLABELED, f"UNLABELED in {here}"),
    ):
        examples = {loss.name: type(loss) for loss in losses}
        check_examples(examples, registry, registry="lapwing.losses", place=place)
        assert examples == registry
    with_formula = [n for n, loss in LOSSES.items() if loss().smoothed(1.0) is not None]
    smoothable = {loss.name for loss in SMOOTHABLE if isinstance(loss, Loss)}
    check_examples(
        smoothable, with_formula, registry="lapwing.losses", place=f"SMOOTHABLE in {here}"
    )
    assert (EpsilonInsensitive().epsilon, ModifiedLogistic().slope) == (0.1, 20)
    assert (GaussianBump().s, GaussianBump().a) == (3, 1)


@every_plain
def test_values_are_as_printed(loss: Any) -> None:
    y, f = grid(loss)
    if loss in ALL_LOSSES:
        np.testing.assert_allclose(loss.value(y, f), loss_value(loss, y, f), rtol=1e-15)
        np.testing.assert_allclose(loss.derivative(y, f), loss_slope(loss, y, f), rtol=1e-14)
    else:
        scale = loss.objective_scale if isinstance(loss, Loss) else 1.0
        printed = PRINTED[loss.name](loss, y, f)
        np.testing.assert_allclose(scale * at(loss, "value", y, f), printed, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("loss", [*ALL_LOSSES, *UNLABELED, *OUTSIDE, *SMOOTHED], ids=repr)
def test_declarations_are_right(loss: Any) -> None:
    """The derivative has no jump but at breaks, and there only of a loss with kinks."""
    if not isinstance(loss, Loss):
        check_unlabeled_loss(loss)
        return
    check_loss(loss)
    y, h = np.unique(grid(loss)[0]), 2.0**-20
    assert loss.kind is not Kind.SMOOTH or loss.breaks(y) == ()
    for kink in loss.breaks(y):
        jump = np.abs(loss.derivative(y, kink + h) - loss.derivative(y, kink - h))
        assert (jump < 1e-3).all() == loss.kind.differentiable
        bend = np.abs(loss.curvature(y, kink + h) - loss.curvature(y, kink - h))
        assert (np.maximum(jump, bend) > 1e-2).all()


# --- derivatives ----------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [*PLAIN, *SMOOTHED], ids=repr)
def test_derivatives_by_central_differences(loss: Any) -> None:
    y, f = grid(loss)
    y, f, h = y[np.abs(f) < 10], f[np.abs(f) < 10], 1e-4 * width(loss)
    for method, of in pairwise(METHODS):
        slope = (at(loss, method, y, f + h) - at(loss, method, y, f - h)) / (2 * h)
        found = at(loss, of, y, f)
        scale = 1 + np.abs(found).max() + np.abs(at(loss, "value", y, f)) * (of == "derivative")
        np.testing.assert_array_less(np.abs(found - slope), 1e-6 * scale)
    together = at(loss, "value_and_derivative", y, f)
    for method, found in zip(METHODS, together, strict=False):
        np.testing.assert_allclose(found, at(loss, method, y, f), rtol=1e-12)


@pytest.mark.parametrize("y", [-1.0, 1.0])
@pytest.mark.parametrize(
    "loss", [Hinge(), SquaredHinge(), EpsilonInsensitive(0.3), SymmetricHinge()]
)
def test_slopes_at_kinks_are_between_those_of_both_sides(loss: Any, y: float) -> None:
    h = 2.0**-20
    for kink in kinks(loss, np.array([y])):
        left, here, right = (at(loss, "value", y, kink + side * h) for side in (-1, 0, 1))
        low, high = np.sort([(here - left) / h, (right - here) / h], axis=0)
        slope = at(loss, "derivative", y, kink)
        assert low - 1e-6 <= slope <= high + 1e-6
        assert at(loss, "curvature", y, kink) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", ALL_LOSSES, ids=repr)
def test_losses_keep_precision_shape_and_input(loss: Any, dtype: Any) -> None:
    y, f = (part.astype(dtype).reshape(-1, 1) for part in grid(loss))
    before = y.copy(), f.copy()
    for method in METHODS:
        out = at(loss, method, y, f)
        assert (out.dtype, out.shape) == (dtype, f.shape)
    assert all(kink.dtype == dtype for kink in loss.breaks(y))
    np.testing.assert_array_equal((y, f), before)


@pytest.mark.parametrize("variance", [0.0, *VARIANCES])
@pytest.mark.parametrize("name", UNLABELED_LOSSES)
def test_unlabelled_losses_are_even_to_the_last_digit(name: str, variance: float) -> None:
    """Swapping the classes changes nothing."""
    loss = UNLABELED_LOSSES[name]().smoothed(variance)
    assert loss is not None
    f = np.append(grid(loss)[1], [0.0, 1.0, -1.0, 0.5, 1e4 + 0.1])
    for method, sign in zip(METHODS, (1, -1, 1), strict=True):
        function = getattr(loss, method)
        np.testing.assert_array_equal(function(f), sign * function(-f))


# --- smoothing by a formula -----------------------------------------------------------------------


@pytest.mark.parametrize("variance", VARIANCES)
@every_smoothable
def test_smoothed_losses_are_convolutions(loss: Any, variance: float) -> None:
    """Errata C2 and continuation paper, (8); the other losses alike."""
    smoothed = smooth(loss, variance)
    assert smoothed.kind is Kind.SMOOTH
    scale = getattr(loss, "objective_scale", None)
    assert getattr(smoothed, "objective_scale", None) == scale
    for y in (-1.0, 1.0):
        for f in (-3.0, -1.0, -0.2, 0.0, 0.95, 1.0, 2.5):
            expected = convolved(loss, y, f, variance)
            assert at(smoothed, "value", y, f) == pytest.approx(expected, rel=1e-8, abs=1e-10)


@every_smoothable
def test_each_score_has_its_own_variance(loss: Any) -> None:
    """Without variance it is the loss itself (errata C9), also at kinks and the origin (C5)."""
    y, f = grid(loss)
    y, f = np.append(y, [1.0, -1.0, 1.0]), np.append(f, [1.0, -1.0, 0.0])
    variances = np.resize([0.0, 1e-3, 0.5], len(f))
    together = loss.smoothed(variances)
    for v in (0.0, 1e-3, 0.5):
        of_v = variances == v
        for method in METHODS:
            found = at(together, method, y, f)[of_v]
            alone = at(loss.smoothed(v), method, y[of_v], f[of_v])
            np.testing.assert_array_equal(found, alone)
            if v == 0:
                plain = at(loss, method, y[of_v], f[of_v])
                np.testing.assert_allclose(found, plain, rtol=1e-15)


@pytest.mark.parametrize("size", [1e3, 1e6])
@pytest.mark.parametrize("variance", [1e-300, *VARIANCES])
@every_smoothable
def test_tails_are_those_of_the_plain_loss(loss: Any, variance: float, size: float) -> None:
    """No overflow (errata Q4, C9): warnings are errors here."""
    y, f = np.array([1.0, 1.0, -1.0, -1.0]), size * np.array([1.0, -1.0, 1.0, -1.0])
    smoothed = loss.smoothed(variance)
    # the squared hinge keeps its variance: E (t - dZ)^2 = t^2 + v
    extra = variance * (y * f < 0) / 2 if loss.name == "squared_hinge" else 0.0
    for method, more in zip(METHODS, (extra, 0.0, 0.0), strict=True):
        expected = at(loss, method, y, f) + more
        np.testing.assert_allclose(at(smoothed, method, y, f), expected, rtol=1e-12, atol=1e-12)


def test_tails_of_the_modified_logistic_loss_are_those_of_the_hinge() -> None:
    y, f = np.array([1.0, 1.0, -1.0, -1.0]), 1e6 * np.array([1.0, -1.0, 1.0, -1.0])
    for method in METHODS:
        expected = at(Hinge(), method, y, f)
        np.testing.assert_allclose(at(ModifiedLogistic(), method, y, f), expected, rtol=1e-12)


@pytest.mark.parametrize("loss", UNLABELED, ids=repr)
def test_smoothing_twice_adds_variances(loss: Any) -> None:
    scores = grid(loss)[1]
    twice, once = loss.smoothed(0.2).smoothed(0.3), loss.smoothed(0.5)
    np.testing.assert_allclose(twice.value(scores), once.value(scores), rtol=1e-13)


@pytest.mark.parametrize("variance", [1e-6, *VARIANCES, 100.0])
@pytest.mark.parametrize("loss", UNLABELED, ids=repr)
def test_bend_bounds_the_least_curvature(loss: Any, variance: float) -> None:
    """Errata C4: second derivatives of the smoothed loss are at least -kappa / v^q."""
    kappa, q = loss.bend
    f = np.outer([np.sqrt(variance), 0.5], np.linspace(-6, 6, 2001))
    assert loss.smoothed(variance).curvature(f).min() >= -kappa / variance**q * (1 + 1e-12)


@pytest.mark.parametrize(("loss", "limit"), [(GaussianBump(), 1e6), (SymmetricHinge(), 1e-3)])
def test_bend_is_attained(loss: Any, limit: float) -> None:
    """In the limits of large and small variances: no smaller kappa would do."""
    kappa, q = loss.bend
    assert loss.smoothed(limit).curvature(0.0) == pytest.approx(-kappa / limit**q, rel=1e-5)


# --- smoothing by quadrature ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "variance", "tolerance"),
    [*((RoundedHinge(0.5), v, 3e-4) for v in (1e-4, 0.01, 0.3)), (CauchyBump(), 0.01, 1e-8)],
)
def test_averages_are_near_the_convolution(loss: Any, variance: float, tolerance: float) -> None:
    """The error is that of the rule."""
    made = smooth(loss, variance)
    assert made.kind is Kind.SMOOTH
    for f in (-2.0, -0.4, 0.3, 0.6, 0.9, 1.0, 1.3):
        value = float(at(made, "value", np.array([1.0]), np.array([f]))[0])
        assert value == pytest.approx(convolved(loss, 1.0, f, variance), abs=tolerance)


@pytest.mark.parametrize("loss", [RoundedHinge(0.5), ModifiedLogistic(), CauchyBump()], ids=repr)
def test_derivatives_of_averages(loss: Any) -> None:
    y, f = grid(loss, far=9.0)
    variances, h = np.resize([0.0, 1e-3, 0.2], len(f)), 1e-5
    made = smooth(loss, variances)
    slope = (at(made, "value", y, f + h) - at(made, "value", y, f - h)) / (2 * h)
    np.testing.assert_allclose(at(made, "derivative", y, f), slope, atol=1e-6)
    bend = (at(made, "derivative", y, f + h) - at(made, "derivative", y, f - h)) / (2 * h)
    agree = np.abs(at(made, "curvature", y, f) - bend) < 1e-3
    assert agree.mean() > 0.95  # but where a node is on a break
    sharp = variances == 0
    plain = at(loss, "value", y, f)[sharp]
    np.testing.assert_allclose(at(made, "value", y, f)[sharp], plain, rtol=1e-12)


def test_losses_with_kinks_have_a_differentiable_surrogate() -> None:
    for loss in (Squared(), SquaredHinge(), RoundedHinge(), GaussianBump()):
        assert differentiable(loss) is loss  # type: ignore[call-overload]
    assert differentiable(Hinge()) == ModifiedLogistic()
    assert isinstance(differentiable(SymmetricHinge()), GaussianBump)
    near, (y, f) = differentiable(SteepHinge()), grid(SteepHinge(), far=9.0)
    assert near.kind is Kind.SMOOTH
    np.testing.assert_allclose(near.value(y, f), SteepHinge().value(y, f), atol=0.05)
