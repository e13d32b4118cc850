"""Losses on unlabelled scores: definitions, convolutions, differences, and their bend."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing.losses import UNLABELED_LOSSES, GaussianBump, SymmetricHinge
from tests.helpers.members import check_examples
from tests.losses.test_smoothed import convolved

VARIANCES = (1e-4, 0.02, 0.5, 9.0)
# name in UNLABELED_LOSSES -> examples, and the definition as (loss, f) to a value.
EXAMPLES = {
    "gaussian": (GaussianBump(), GaussianBump(0.7), GaussianBump(3.0, 2.0)),
    "symmetric_hinge": (SymmetricHinge(),),
}
DEFINITIONS = {
    "gaussian": lambda loss, f: np.exp(-loss.s * f**2 / loss.a) / loss.a**0.5,
    "symmetric_hinge": lambda loss, f: max(0.0, 1 - abs(f)),
}
KINKED = ("symmetric_hinge",)
PLAIN = {repr(loss): loss for examples in EXAMPLES.values() for loss in examples}
SMOOTH = {
    **{f"{name}, {v}": loss.smoothed(v) for name, loss in PLAIN.items() for v in VARIANCES},
    **{name: loss for name, loss in PLAIN.items() if loss.name not in KINKED},
}
SCORES = np.concatenate([np.linspace(-3, 3, 61) + 0.0071, [-20.0, 20.0]])


def definition(loss, f):
    return DEFINITIONS[loss.name](loss, f)


def test_the_registry_holds_all_by_name():
    for name, suite in {"EXAMPLES": EXAMPLES, "DEFINITIONS": DEFINITIONS}.items():
        check_examples(
            suite,
            UNLABELED_LOSSES,
            registry="UNLABELED_LOSSES in lapwing.losses.unlabeled",
            place=f"{name} in tests/losses/test_unlabeled.py",
        )
    assert all(kind.name == name for name, kind in UNLABELED_LOSSES.items())
    for name, examples in EXAMPLES.items():
        assert all(type(loss) is UNLABELED_LOSSES[name] for loss in examples)
    assert (GaussianBump().s, GaussianBump().a) == (3, 1)


@pytest.mark.parametrize("loss", PLAIN.values(), ids=PLAIN)
def test_value_is_the_definition(loss):
    expected = [definition(loss, f) for f in SCORES]
    np.testing.assert_allclose(loss.value(SCORES), expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("loss", PLAIN.values(), ids=PLAIN)
def test_smoothed_losses_are_convolutions(loss, variance):
    """Continuation paper, (8), and the same for the symmetric hinge."""
    smoothed = loss.smoothed(variance)
    for f in (-2.5, -1.0, -0.3, 0.0, 0.1, 0.95, 1.0, 4.0):
        kinks = (-1, 0, 1)
        expected = convolved(lambda t: definition(loss, t), f, variance, kinks=kinks)
        assert smoothed.value(f) == pytest.approx(expected, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("loss", PLAIN.values(), ids=PLAIN)
def test_smoothing_twice_adds_variances(loss):
    twice, once = loss.smoothed(0.2).smoothed(0.3), loss.smoothed(0.5)
    np.testing.assert_allclose(twice.value(SCORES), once.value(SCORES), rtol=1e-13)
    np.testing.assert_allclose(loss.smoothed(0.0).value(SCORES), loss.value(SCORES), rtol=1e-15)


@pytest.mark.parametrize("loss", SMOOTH.values(), ids=SMOOTH)
def test_derivatives_by_central_differences(loss):
    h = 1e-4 * min(1.0, np.sqrt(getattr(loss, "variance", 1.0)))
    slope = (loss.value(SCORES + h) - loss.value(SCORES - h)) / (2 * h)
    np.testing.assert_allclose(loss.derivative(SCORES), slope, atol=2e-7)
    curvature = loss.curvature(SCORES)
    bend = (loss.derivative(SCORES + h) - loss.derivative(SCORES - h)) / (2 * h)
    np.testing.assert_allclose(curvature, bend, atol=1e-6 * max(1, np.abs(curvature).max()))


@pytest.mark.parametrize("variance", [0.0, 1e-300, *VARIANCES])
@pytest.mark.parametrize("name", UNLABELED_LOSSES)
def test_tails_vanish_without_overflow(name, variance):
    loss = UNLABELED_LOSSES[name]().smoothed(variance)
    for size in (1e3, 1e6):
        f = np.array([-size, size])
        for function in (loss.value, loss.derivative, loss.curvature):
            np.testing.assert_allclose(function(f), 0, atol=1e-12)


@pytest.mark.parametrize("variance", [0.0, *VARIANCES])
@pytest.mark.parametrize("name", UNLABELED_LOSSES)
def test_losses_are_even_to_the_last_digit(name, variance):
    """Swapping the classes changes nothing."""
    loss = UNLABELED_LOSSES[name]().smoothed(variance)
    f = np.concatenate([SCORES, [0.0, 1.0, -1.0, 0.5, 1e4 + 0.1]])
    np.testing.assert_array_equal(loss.value(f), loss.value(-f))
    np.testing.assert_array_equal(loss.curvature(f), loss.curvature(-f))
    np.testing.assert_array_equal(loss.derivative(f), -loss.derivative(-f))


def test_the_symmetric_hinge_at_its_kinks():
    """Values exact; slopes within those of both sides."""
    loss, kinks = SymmetricHinge(), np.array([-1.0, 0.0, 1.0])
    np.testing.assert_array_equal(loss.value(kinks), [0, 1, 0])
    slopes = loss.derivative(kinks)
    assert 0 <= slopes[0] <= 1
    assert -1 <= slopes[1] <= 1
    assert -1 <= slopes[2] <= 0
    np.testing.assert_array_equal(loss.curvature(kinks), 0)


@pytest.mark.parametrize("variance", [1e-6, *VARIANCES, 100.0])
@pytest.mark.parametrize("loss", PLAIN.values(), ids=PLAIN)
def test_bend_bounds_the_least_curvature(loss, variance):
    """Errata C4: second derivatives of the smoothed loss are at least -kappa / v^q."""
    kappa, q = loss.bend
    smoothed = loss.smoothed(variance)
    f = np.sqrt(variance) * np.linspace(-6, 6, 2001)
    f = np.concatenate([f, np.linspace(-3, 3, 2001)])
    assert smoothed.curvature(f).min() >= -kappa / variance**q * (1 + 1e-12)


def test_bend_is_attained():
    """In the limits of large and small variances: no smaller kappa would do."""
    kappa, q = GaussianBump().bend
    assert GaussianBump().smoothed(1e6).curvature(0.0) == pytest.approx(-kappa / 1e6**q, rel=1e-5)
    kappa, q = SymmetricHinge().bend
    assert SymmetricHinge().smoothed(1e-3).curvature(0.0) == pytest.approx(-kappa / 1e-3**q)
    assert (kappa, q) == (pytest.approx(np.sqrt(2 / np.pi)), 0.5)


def test_variances_of_each_score():
    f, v = np.array([0.1, -0.4, 0.9]), np.array([0.0, 0.3, 2.0])
    for loss in (GaussianBump(), SymmetricHinge()):
        together = loss.smoothed(v)
        for k in range(3):
            alone = loss.smoothed(v[k])
            assert together.value(f)[k] == alone.value(f[k])
            assert together.derivative(f)[k] == alone.derivative(f[k])
