"""Losses against their definitions, by finite differences and by brute force."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.losses.labeled import LOSSES, EpsilonInsensitive, SquaredHinge
from tests.helpers.members import check_examples
from tests.helpers.problems import (
    ALL_LOSSES,
    KINKED_LOSSES,
    LOSS_SLOPES,
    LOSS_VALUES,
    QUADRATIC_LOSSES,
    loss_value,
)

EPSILON = 0.3  # of the epsilon-insensitive member of ALL_LOSSES
FOR_ALL = pytest.mark.parametrize("loss", ALL_LOSSES, ids=lambda loss: loss.name)


def grid(loss):
    """Targets and scores in all regions of a loss, tails included, no kink nearer than 1e-3."""
    scores = np.concatenate([np.linspace(-3, 3, 41) + 0.013, [-1e6, -50.0, 50.0, 1e6], [0.0, -0.0]])
    signs = [-1.0, 1.0]
    targets = signs if loss.name in ("squared_hinge", "hinge") else [*signs, 0.0, 0.4, -2.5]
    y, f = (part.ravel() for part in np.meshgrid(targets, scores))
    near = np.min([np.abs(f - kink) for kink in kinks(loss, y)], axis=0) if kinks(loss, y) else 1
    return y[near > 1e-3], f[near > 1e-3]


def kinks(loss, y):
    """Scores at which the derivative or its derivative jumps; for targets +-1, f = y is y f = 1."""
    if loss.name == "squared":
        return []
    return [y - EPSILON, y + EPSILON] if loss.name == "epsilon_insensitive" else [y]


def test_the_registry_holds_all_by_name():
    examples = {loss.name: type(loss) for loss in ALL_LOSSES}
    suites = {"ALL_LOSSES": examples, "LOSS_VALUES": LOSS_VALUES, "LOSS_SLOPES": LOSS_SLOPES}
    for name, suite in suites.items():
        check_examples(
            suite,
            LOSSES,
            registry="LOSSES in lapwing.losses.labeled",
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
    for kink in kinks(loss, y):
        left = (loss.value(y, kink) - loss.value(y, kink - h)) / h
        right = (loss.value(y, kink + h) - loss.value(y, kink)) / h
        slope = loss.derivative(y, kink)
        assert np.all(left - 1e-6 <= slope)
        assert np.all(slope <= right + 1e-6)
        np.testing.assert_array_equal(loss.curvature(y, kink), 0)


@FOR_ALL
def test_curvature_is_zero_or_one_and_says_which_observations_count(loss):
    """What Newton takes from a loss: 1/2 (f - y)^2 on the active observations, 0 elsewhere."""
    y, f = grid(loss)
    curvature = loss.curvature(y, f)
    assert set(np.unique(curvature)) <= {0.0, 1.0}
    if loss.piecewise_quadratic:
        np.testing.assert_allclose(loss.value(y, f), curvature * 0.5 * (f - y) ** 2, rtol=1e-12)
        np.testing.assert_allclose(loss.derivative(y, f), curvature * (f - y), rtol=1e-12)


@FOR_ALL
def test_losses_are_convex_and_not_negative(loss):
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-4, 4, (2, 500))
    y = rng.choice([-1.0, 1.0], 500)
    assert (loss.value(y, a) >= 0).all()
    assert (loss.value(y, (a + b) / 2) <= (loss.value(y, a) + loss.value(y, b)) / 2 + 1e-12).all()


@FOR_ALL
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_losses_keep_precision_shape_and_input(loss, dtype):
    y, f = (part.astype(dtype).reshape(-1, 1) for part in grid(loss))
    y_before, f_before = y.copy(), f.copy()
    for method in (loss.value, loss.derivative, loss.curvature):
        out = method(y, f)
        assert out.dtype == dtype
        assert out.shape == f.shape
    if loss.piecewise_quadratic:
        assert loss.switch_steps(y, f, f).dtype == dtype
    np.testing.assert_array_equal(y, y_before)
    np.testing.assert_array_equal(f, f_before)


@FOR_ALL
def test_losses_in_another_array_namespace(loss):
    """array-api-strict has nothing but the standard, so whatever has the standard will do."""
    y, f = (part.reshape(-1, 1) for part in grid(loss))
    strict_y, strict_f = (array_api_strict.asarray(part) for part in (y, f))
    methods = ["value", "derivative", "curvature"]
    arguments = [(y, f), (strict_y, strict_f)]
    for name in methods:
        plain, strict = (getattr(loss, name)(*pair) for pair in arguments)
        assert isinstance(strict, type(strict_f))
        np.testing.assert_array_equal(np.from_dlpack(strict), plain)
    if loss.piecewise_quadratic:
        plain, strict = (loss.switch_steps(*pair, pair[1]) for pair in arguments)
        np.testing.assert_array_equal(np.from_dlpack(strict), plain)


# --- the active set along a ray -------------------------------------------------------------------

scores = st.one_of(st.sampled_from([-1.0, 0.0, 1.0, 2.0]), st.floats(-4, 4, width=16))


@given(st.sampled_from([-1.0, 1.0]), scores, scores)
def test_switch_steps_of_the_squared_hinge_by_brute_force(y, f, df):
    """Errata L17 (b): no flip before the step, one there, none after; inf where there is none."""
    arrays = [np.array([[value]]) for value in (y, f, df)]
    step = float(SquaredHinge().switch_steps(*arrays)[0, 0])

    def active(s):
        return y * (f + s * df) < 1

    assert step >= 0
    assert not np.isnan(step)
    if np.isinf(step):
        # Scores are multiples of 2^-24 at least, so a flip would come before 2^30.
        probes = [2.0**k for k in range(-30, 31)]
        assert {active(s) for s in probes} == {active(0.0)}
        return
    margin = 1e-9 * max(1.0, step)
    if step > 2 * margin:
        assert {active(step * part) for part in np.linspace(0, 1 - 1e-9, 17)} == {active(0.0)}
    # Beyond the step, far enough for f + s df to differ from the break point in rounding.
    beyond = step + max(1e-6 * max(1.0, step), 1e-9 / abs(df))
    assert {active(beyond * factor) for factor in (1, 1.5, 10, 1e4)} == {not active(0.0)}


@pytest.mark.parametrize(
    ("f", "df", "expected"),
    [
        (1.0, 0.5, np.inf),  # on the margin and moving out: it is not in E and stays out
        (1.0, -0.5, 0.0),  # on the margin and moving in: enters E at once
        (1.0, 0.0, np.inf),  # 0/0
        (0.0, 0.0, np.inf),
        (0.0, -1.0, np.inf),  # in E, ever deeper
        (0.0, 2.0, 0.5),
        (3.0, -1.0, 2.0),
        (3.0, 1.0, np.inf),
    ],
)
def test_switch_steps_at_the_corners(f, df, expected):
    for y in (-1.0, 1.0):
        arrays = (np.array([[y]]), np.array([[y * f]]), np.array([[y * df]]))
        assert SquaredHinge().switch_steps(*arrays)[0, 0] == expected


def test_the_squared_loss_never_switches():
    squared = next(loss for loss in QUADRATIC_LOSSES if loss.name == "squared")
    f = np.random.default_rng(0).standard_normal((5, 2))
    np.testing.assert_array_equal(squared.switch_steps(f, f, -f), np.inf)


@pytest.mark.parametrize("loss", KINKED_LOSSES, ids=lambda loss: loss.name)
def test_losses_with_kinks_name_the_solver_to_use(loss):
    assert not loss.piecewise_quadratic
    with pytest.raises(NotImplementedError, match=r"not piecewise quadratic; use solver='dual'"):
        loss.switch_steps(np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)))
