"""Losses against their definitions, by finite differences and by brute force."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing.losses import LOSSES, EpsilonInsensitive, SquaredHinge, TargetKind
from lapwing.losses.registry import check_loss
from tests.helpers.members import check_examples
from tests.helpers.problems import ALL_LOSSES, FORMULAS, KINKED_LOSSES, loss_value

EPSILON = 0.3  # of the epsilon-insensitive member of ALL_LOSSES
FOR_ALL = pytest.mark.parametrize("loss", ALL_LOSSES, ids=lambda loss: loss.name)


def grid(loss):
    """Targets and scores in all regions of a loss, tails included, no kink nearer than 1e-3."""
    scores = np.concatenate([np.linspace(-3, 3, 41) + 0.013, [-1e6, -50.0, 50.0, 1e6], [0.0, -0.0]])
    signs = [-1.0, 1.0]
    targets = signs if loss.targets is TargetKind.SIGNS else [*signs, 0.0, 0.4, -2.5]
    y, f = (part.ravel() for part in np.meshgrid(targets, scores))
    near = np.min([np.full(f.shape, np.inf), *(np.abs(f - at) for at in loss.breaks(y))], axis=0)
    return y[near > 1e-3], f[near > 1e-3]


def test_the_registry_holds_all_by_name():
    examples = {loss.name: type(loss) for loss in ALL_LOSSES}
    suites = {"ALL_LOSSES": examples, "FORMULAS": FORMULAS}
    for name, suite in suites.items():
        check_examples(
            suite,
            LOSSES,
            registry="LOSSES in lapwing.losses",
            place=f"{name} in tests/helpers/problems.py",
        )
    assert examples == LOSSES
    assert EpsilonInsensitive().epsilon == 0.1


@FOR_ALL
def test_value_is_the_definition(loss):
    y, f = grid(loss)
    np.testing.assert_allclose(loss.value(y, f), loss_value(loss, y, f), rtol=1e-15)


@pytest.mark.parametrize(
    ("name", "as_printed"),
    [
        (
            "squared_hinge",
            lambda y, f: 0.5 * np.maximum(0, 1 - y * f) ** 2,
        ),  # (7), with its 1/2
        ("squared", lambda y, f: (y - f) ** 2),  # (14)
        ("hinge", lambda y, f: np.maximum(0, 1 - y * f)),  # (4): no 1/2, errata L9
        ("epsilon_insensitive", lambda y, f: np.maximum(0, np.abs(y - f) - EPSILON)),
    ],
)
def test_objective_scale_gives_the_papers_loss(name, as_printed):
    loss = next(loss for loss in ALL_LOSSES if loss.name == name)
    y, f = grid(loss)
    np.testing.assert_allclose(
        loss.objective_scale * loss.value(y, f), as_printed(y, f), rtol=1e-15
    )


@FOR_ALL
def test_derivative_by_central_differences(loss):
    y, f = grid(loss)
    h = 1e-4 * np.maximum(1, np.abs(f) * 1e-2)  # all pieces are quadratics: no truncation error
    numeric = (loss.value(y, f + h) - loss.value(y, f - h)) / (2 * h)
    np.testing.assert_allclose(loss.derivative(y, f), numeric, rtol=1e-6, atol=1e-6)


@FOR_ALL
def test_curvature_by_central_differences(loss):
    y, f = grid(loss)
    h = 1e-4 * np.maximum(1, np.abs(f) * 1e-2)
    numeric = (loss.derivative(y, f + h) - loss.derivative(y, f - h)) / (2 * h)
    np.testing.assert_allclose(loss.curvature(y, f), numeric, atol=1e-6)


@pytest.mark.parametrize("y", [-1.0, 1.0])
@pytest.mark.parametrize("loss", [*KINKED_LOSSES, SquaredHinge()], ids=lambda loss: loss.name)
def test_derivative_at_a_kink_is_a_subderivative(loss, y):
    y = np.array([y])
    h = 2.0**-20
    for kink in loss.breaks(y):
        left = (loss.value(y, kink) - loss.value(y, kink - h)) / h
        right = (loss.value(y, kink + h) - loss.value(y, kink)) / h
        slope = loss.derivative(y, kink)
        assert np.all(left - 1e-6 <= slope)
        assert np.all(slope <= right + 1e-6)
        np.testing.assert_array_equal(loss.curvature(y, kink), 0)


@FOR_ALL
def test_it_is_of_the_kind_that_it_declares(loss):
    """The derivative has no jump but at breaks, and there only of a loss with kinks."""
    check_loss(loss)
    y, h = np.unique(grid(loss)[0]), 2.0**-20
    for at in loss.breaks(y):
        jump = np.abs(loss.derivative(y, at + h) - loss.derivative(y, at - h))
        assert (jump < 1e-3).all() == loss.kind.differentiable
        bend = np.abs(loss.curvature(y, at + h) - loss.curvature(y, at - h))
        assert (np.maximum(jump, bend) > 1e-2).all()


@FOR_ALL
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_losses_keep_precision_shape_and_input(loss, dtype):
    y, f = (part.astype(dtype).reshape(-1, 1) for part in grid(loss))
    y_before, f_before = y.copy(), f.copy()
    for method in (loss.value, loss.derivative, loss.curvature):
        out = method(y, f)
        assert out.dtype == dtype
        assert out.shape == f.shape
    assert all(at.dtype == dtype for at in loss.breaks(y))
    np.testing.assert_array_equal(y, y_before)
    np.testing.assert_array_equal(f, f_before)
