"""Proximal points and augmented losses against brute force, and the roots that they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.losses import EpsilonInsensitive, Hinge, Loss, ModifiedLogistic, Squared, SquaredHinge
from lapwing.losses.augmented import (
    AugmentedLoss,
    ShiftedHinge,
    augmented,
    increasing_root,
    proximal_point,
)
from tests.helpers.outside import Logistic, Pinball, RoundedHinge, SteepHinge

LOSSES: list[Loss] = [
    Hinge(),
    SquaredHinge(),
    Squared(),
    EpsilonInsensitive(0.3),
    ModifiedLogistic(),
    RoundedHinge(0.3),
    Logistic(),
    SteepHinge(),
    Pinball(0.3),
]
FOR_ALL = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def observations(n: int = 300) -> tuple[Any, Any, Any]:
    """Targets, points and steps; some points on breaks, where the derivative has two values."""
    rng = np.random.default_rng(0)
    y, v = rng.choice([-1.0, 1.0], n), 3 * rng.standard_normal(n)
    v[::10] = y[::10]
    v[1::10] = 0.0
    return y, v, 10.0 ** rng.uniform(-3, 2, n)


@FOR_ALL
def test_proximal_points_by_brute_force(loss: Loss) -> None:
    y, v, step = observations()
    z, rate = proximal_point(loss, y, v, step)

    def height(at: Any) -> Any:
        return step * loss.value(y, at) + (at - v) ** 2 / 2

    best = height(z)
    for move in (1e-4, 1e-2, 0.3, 2.0):
        assert (best <= height(z + move) + 1e-12 * (1 + np.abs(best))).all()
        assert (best <= height(z - move) + 1e-12 * (1 + np.abs(best))).all()
    assert ((rate >= 0) & (rate <= 1)).all()


@FOR_ALL
def test_augmented_losses_by_brute_force(loss: Loss) -> None:
    rng = np.random.default_rng(1)
    n = 60
    y, f, c = rng.choice([-1.0, 1.0], n), 2 * rng.standard_normal(n), rng.uniform(0.1, 3, n)
    slopes = rng.standard_normal(n)
    made = AugmentedLoss(c, slopes, 0.7, loss)
    z = np.linspace(-15, 15, 60_001)[:, None]
    psi = 2 * c * loss.value(y, z) + slopes * (f - z) + 0.35 * (f - z) ** 2
    np.testing.assert_allclose(2 * made.value(y, f), psi.min(axis=0), atol=1e-6)
    h = 1e-5
    numeric = (made.value(y, f + h) - made.value(y, f - h)) / (2 * h)
    np.testing.assert_allclose(made.derivative(y, f), numeric, atol=1e-6)
    np.testing.assert_allclose(made.updated(y, f), 2 * numeric, atol=1e-6)
    right, left = made.derivative(y, f + h), made.derivative(y, f - h)
    bend = (right - left) / (2 * h)
    smooth = np.abs(right - 2 * made.derivative(y, f) + left) < 1e-8
    assert smooth.mean() > 0.9
    np.testing.assert_allclose(made.curvature(y, f)[smooth], bend[smooth], atol=1e-3)


def test_formula_of_the_hinge_equals_the_general_one() -> None:
    rng = np.random.default_rng(2)
    n = 100
    y, f, c = rng.choice([-1.0, 1.0], n), 2 * rng.standard_normal(n), rng.uniform(0.1, 3, n)
    slopes = -y * rng.uniform(0, c)
    general, special = AugmentedLoss(c, slopes, 0.7, Hinge()), augmented(Hinge(), y, c, slopes, 0.7)
    assert isinstance(special, ShiftedHinge)
    for method in ("value", "derivative", "curvature", "updated"):
        np.testing.assert_allclose(
            getattr(special, method)(y, f), getattr(general, method)(y, f), atol=1e-9
        )

    class Changed(Hinge):
        """May be anything: its class is not the hinge's."""

    assert isinstance(augmented(Changed(), y, c, slopes, 0.7), AugmentedLoss)
    after = general.next_round(2 * slopes, left=1.0, before=1.0, stiffest=10.0)
    assert (after.penalty, after.loss) == (5 * 0.7, Hinge())
    np.testing.assert_array_equal(after.multipliers, 2 * slopes)
    for left, stiffest in ((0.1, 10.0), (1.0, 0.7)):  # after a fast round, and at the limit
        assert general.next_round(slopes, left, before=1.0, stiffest=stiffest).penalty == 0.7


# --- roots ----------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.floats(-5, 5), st.floats(1e-3, 1e3)), min_size=1, max_size=6),
    st.floats(-20, 20),
)
def test_roots_of_piecewise_linear_functions(pieces: Any, level: float) -> None:
    """Sums of ramps: increasing, with kinks anywhere."""

    def function(x: Any) -> Any:
        value = np.full(x.shape, level) + 1e-3 * x
        slope = np.full(x.shape, 1e-3)
        for at, tilt in pieces:
            value = value + tilt * np.maximum(x - at, 0)
            slope = slope + tilt * (x > at)
        return value, slope

    low, high = np.array([-1e6]), np.array([1e6])
    root = increasing_root(function, low, high)
    (value,), (slope,) = function(root)
    assert abs(value) <= 1e-9 * (1 + abs(level) + slope * abs(root[0]))


def test_roots_without_an_upper_end_and_at_the_ends() -> None:
    seen = []

    def cubic(x: Any) -> Any:
        seen.append(1)
        return x**3 - np.array([1e-9, 1.0, 1e12, -1.0, 0.0]), 3 * x**2

    # The last root, 0, has no relative accuracy.
    ends = np.array([0.0, 0, 0, 0, -1]), np.array([np.inf] * 4 + [2])
    root = increasing_root(cubic, *ends)
    np.testing.assert_allclose(root, [1e-3, 1.0, 1e4, 0.0, 0.0], rtol=1e-14, atol=1e-14)
    assert len(seen) < 100

    def line(x: Any) -> Any:
        return x - 7.0, np.ones_like(x)

    assert increasing_root(line, np.array([0.0]), np.array([3.0]))[0] == pytest.approx(3.0)
    assert increasing_root(line, np.array([9.0]), np.array([12.0]))[0] == 9.0
    assert increasing_root(line, np.array([0.0]), np.array([7.0]))[0] == 7.0


def test_bisects_where_newton_steps_cycle() -> None:
    """Nearly: the root of sign(x) |x|^0.51 throws a step to the other side, 4 % nearer."""

    def function(x: Any) -> Any:
        size = np.maximum(np.abs(x - 0.3), 1e-300)
        return np.sign(x - 0.3) * size**0.51, 0.51 * size**-0.49

    root = increasing_root(function, np.array([-0.7]), np.array([1.4]))
    assert root[0] == pytest.approx(0.3, abs=1e-12)
