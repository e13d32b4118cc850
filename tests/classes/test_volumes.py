"""Class volumes, against linear programs and counting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from lapwing.classes.transport import Plan, assign_two_classes, transport
from lapwing.classes.volumes import prior_offsets

SEEDS = st.integers(0, 10**6)


def volumes_at(F: Any, offsets: Any) -> Any:
    return np.bincount((F + offsets).argmax(axis=1), minlength=F.shape[1])


def dual(F: Any, offsets: Any, targets: Any) -> float:
    """The objective of the module's docstring, with the targets as the prior."""
    return float((F + offsets).max(axis=1).sum() - targets @ offsets)


def best_value(F: Any, targets: Any) -> float:
    """Value of the best transport plan, by linear programming."""
    n, c = F.shape
    sums = np.vstack([np.kron(np.eye(n), np.ones(c)), np.tile(np.eye(c), n)])
    found = linprog(-F.ravel(), A_eq=sums, b_eq=np.concatenate([np.ones(n), targets]))
    assert found.status == 0
    return float(-found.fun)


def random_values(rng: Any, n: int, c: int, skew: float = 1.0) -> Any:
    return rng.standard_normal((n, c)) + skew * rng.standard_normal(c)


@given(
    seed=SEEDS,
    n=st.integers(1, 400),
    c=st.integers(2, 12),
    skew=st.sampled_from([0.0, 1.0, 10.0]),
    digits=st.sampled_from([0, 6]),
    concentration=st.sampled_from([0.1, 1.0, 100.0]),
)
def test_volumes_are_the_rounded_prior(
    seed: int, n: int, c: int, skew: float, digits: int, concentration: float
) -> None:
    """Where the classes with the largest values have the volumes asked for, they are optimal."""
    rng = np.random.default_rng(seed)
    F, prior = random_values(rng, n, c, skew), rng.dirichlet(np.full(c, concentration))
    F *= 10.0 ** rng.uniform(-digits, digits, c)
    before = F.copy()
    found = prior_offsets(F, 7 * prior)
    assert_array_equal(F, before)
    assert (np.floor(n * prior + 1e-9) <= found.targets).all()
    assert (found.targets <= np.ceil(n * prior - 1e-9)).all()
    assert_array_equal(volumes_at(F, found.offsets), found.targets)
    assert_array_equal(found.volumes, found.targets)
    assert abs(found.offsets.sum()) < 1e-9 * (1 + np.abs(found.offsets).sum())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("c", [2, 3, 6])
def test_offsets_and_plans_reach_the_value_of_the_linear_program(seed: int, c: int) -> None:
    rng = np.random.default_rng(seed)
    F, prior = random_values(rng, 50, c), rng.dirichlet(np.ones(c))
    found = prior_offsets(F, prior)
    assert dual(F, found.offsets, found.targets) == pytest.approx(best_value(F, found.targets))
    ties = rng.integers(0, 3, (50, c)).astype(float)
    plan = transport(ties, np.ones(50), found.targets)
    assert_array_equal(np.bincount(plan.assignment(), minlength=c), found.targets)
    best = best_value(ties, found.targets)
    assert ties[np.arange(50), plan.assignment()].sum() == pytest.approx(best)
    assert dual(ties, plan.offsets, found.targets) == pytest.approx(best)


@given(seed=SEEDS, c=st.integers(2, 6))
def test_offsets_follow_shifts_scales_and_orders(seed: int, c: int) -> None:
    rng = np.random.default_rng(seed)
    F, prior = random_values(rng, 60, c), rng.dirichlet(np.ones(c))
    offsets = prior_offsets(F, prior).offsets
    classes, rows = rng.permutation(c), rng.permutation(60)
    shift = rng.standard_normal(c)
    shift -= shift.mean()
    for values, expected in (
        (F + rng.standard_normal((60, 1)), offsets),
        (F[rows], offsets),
        (F + shift, offsets - shift),
    ):
        assert_allclose(prior_offsets(values, prior).offsets, expected, atol=1e-10)
    renamed = prior_offsets(F[:, classes], prior[classes])
    assert_allclose(renamed.offsets, offsets[classes], atol=1e-10)
    assert_allclose(prior_offsets(1e9 * F, prior).offsets, 1e9 * offsets, rtol=1e-8, atol=0.1)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_a_class_of_all_points_is_met_at_any_scale(scale: float) -> None:
    F = scale * random_values(np.random.default_rng(0), 5, 3)
    for full in range(3):
        assert prior_offsets(F, np.eye(3)[full]).volumes[full] == 5
        codes = (F + prior_offsets(F, np.full(3, 0.01) + np.eye(3)[full]).offsets).argmax(axis=1)
        assert (codes == full).all()


def test_volumes_are_those_of_the_values_with_ties() -> None:
    for seed in range(40):
        F = np.random.default_rng(seed).integers(-2, 3, size=(8, 3)).astype(np.float64)
        found = prior_offsets(F, np.array([0.1, 0.3, 0.6]))
        shown = np.bincount((F + found.offsets).argmax(axis=1), minlength=3)
        assert_allclose(found.volumes, shown)


def test_offsets_are_in_the_middle_of_all_optimal_ones() -> None:
    # Points at the corners of a triangle, one a class.
    assert_allclose(prior_offsets(np.eye(3), np.ones(3)).offsets, 0, atol=1e-15)
    # Two classes, volumes 1 and 2: the cut lies between the differences 1 and 3.
    F = np.array([[5.0, 0.0], [1.0, 0.0], [3.0, 0.0]])
    assert_allclose(prior_offsets(F, np.array([1, 2])).offsets, [-2, 2])
    F = random_values(np.random.default_rng(0), 300, 4).astype(np.float32)
    top = np.sort(F + prior_offsets(F, np.ones(4)).offsets, axis=1)
    assert (top[:, -1] - top[:, -2]).min() > 1e-6


@pytest.mark.parametrize("prior", [[1, 0, 0], [0, 0.5, 0.5], [0, 0, 1], [1e-9, 1, 1]])
def test_a_class_of_prior_zero_gets_no_point(prior: list[float]) -> None:
    F = random_values(np.random.default_rng(0), 1000, 3)
    offsets = prior_offsets(F, np.array(prior)).offsets
    volumes = volumes_at(F, offsets)
    assert_allclose(volumes, 1000 * np.array(prior) / sum(prior), atol=1)
    gone = volumes == 0
    shifted = F + offsets
    # Well away: new points will hardly fall to it.
    assert (shifted[:, ~gone].max(axis=1)[:, None] - shifted[:, gone]).min() > 1


@pytest.mark.parametrize(
    ("F", "prior", "volumes"),
    [
        ([[0.0, 9.0]], [0.6, 0.4], [1, 0]),
        ([[0.0]] * 3, [0.3, 0.7], [0, 3]),
        # Equal values of one column fall to the nearer side.
        ([[-1.0]] * 4 + [[0.5]] * 5 + [[2.0]], [0.7, 0.3], [9, 1]),
        ([[-1.0]] * 4 + [[0.5]] * 5 + [[2.0]], [0.5, 0.5], [4, 6]),
        ([[1.0], [np.nextafter(1.0, 2.0)]], [0.5, 0.5], [1, 1]),
    ],
)
def test_volumes_of_few_or_equal_points_are_the_nearest(F: Any, prior: Any, volumes: Any) -> None:
    assert prior_offsets(np.array(F), np.array(prior)).volumes.tolist() == volumes


def test_equal_remainders_go_to_the_class_with_more_points() -> None:
    F = np.random.default_rng(0).standard_normal((10, 3)) + np.array([0.0, 0.0, 3.0])
    assert prior_offsets(F, np.ones(3)).volumes.tolist() == [3, 3, 4]
    assert prior_offsets(F[:, ::-1], np.ones(3)).volumes.tolist() == [4, 3, 3]
    # Rounding makes 50 * 0.29 - 14 larger than 50 * 0.57 - 28.
    F = np.random.default_rng(0).standard_normal((50, 3)) + np.array([0.0, 3.0, 0.0])
    assert prior_offsets(F, np.array([0.29, 0.57, 0.14])).volumes.tolist() == [14, 29, 7]


def test_equal_rows_move_together() -> None:
    rng = np.random.default_rng(0)
    F = random_values(rng, 40, 3)[np.repeat(np.arange(40), rng.integers(1, 8, 40))]
    found = prior_offsets(F, np.ones(3))
    assert_allclose(found.volumes, found.targets, atol=2 * 7)
    assert_array_equal(found.volumes, volumes_at(F, found.offsets))
    same = prior_offsets(np.zeros((10, 3)), np.array([0.2, 0.5, 0.3]))
    assert sorted(same.volumes) == [0, 0, 10]
    assert np.ptp(same.offsets) < 1e-8


@given(seed=SEEDS, n=st.integers(1, 100), part=st.floats(0, 1))
def test_one_column_is_cut_at_the_prior(seed: int, n: int, part: float) -> None:
    f, prior = np.random.default_rng(seed).standard_normal((n, 1)), np.array([1 - part, part])
    found = prior_offsets(f, prior)
    positive = int((f + found.offsets >= 0).sum())
    assert abs(positive - n * part) <= 0.5 + 1e-6
    assert found.volumes.tolist() == [n - positive, positive]
    two = prior_offsets(np.hstack([-f / 2, f / 2]), prior)
    assert_array_equal(two.volumes, found.volumes)
    if 0 < positive < n:
        assert found.offsets == pytest.approx(np.diff(two.offsets))


def test_values_must_be_finite() -> None:
    with pytest.raises(ValueError, match="F holds NaN or infinite"):
        prior_offsets(np.full((5, 3), np.nan), np.ones(3))


# --- transport ------------------------------------------------------------------------------------


def test_any_start_gives_the_same_plan() -> None:
    rng = np.random.default_rng(0)
    F, mass = rng.standard_normal((2000, 4)), np.ones(2000)
    targets = np.array([800.0, 600.0, 400.0, 200.0])
    cold = transport(F, mass, targets)
    warm = transport(F, mass, targets, start=cold.offsets)
    assert warm.n_paths < cold.n_paths < 20
    without_sweeps = Plan(F, mass, np.zeros(4), targets)
    without_sweeps.meet()
    for plan in (warm, without_sweeps):
        assert_array_equal(plan.assignment(), cold.assignment())


@pytest.mark.parametrize("missing", [1e-11, -1e-11])
def test_volumes_with_the_sum_of_the_weights_up_to_rounding_are_met(missing: float) -> None:
    F = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]])
    plan = transport(F, np.ones(3), np.array([1.0 - missing, 2.0]))
    assert_array_equal(plan.assignment(), [0, 1, 1])


@pytest.mark.parametrize("targets", [(1.0, 1.9), (2.0, 2.0), (np.nan, 2.0)])
def test_volumes_with_another_sum_are_refused(targets: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="must sum to 3, the weight of all points"):
        transport(np.eye(3, 2), np.ones(3), np.array(targets))


@pytest.mark.parametrize(("c", "scales"), [(40, (1, 1)), (10, (0.01, 10))])
@pytest.mark.parametrize("most", [2, 9])  # of the weights
def test_sweeps_leave_few_points_to_paths(c: int, scales: tuple[float, float], most: int) -> None:
    rng = np.random.default_rng(0)
    n = 4000
    F = random_values(rng, n, c) * np.geomspace(*scales, c)
    mass = rng.integers(1, most, n).astype(float)
    targets = np.floor(mass.sum() * rng.dirichlet(np.full(c, 3.0)))
    targets[0] += mass.sum() - targets.sum()
    plan = transport(F, mass, targets)
    assert plan.misplaced() == 0
    assert plan.n_paths <= 2 * np.sqrt(n)


@pytest.mark.parametrize("seed", range(4))
def test_two_classes_are_assigned_as_by_the_linear_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    second = int(rng.integers(1, 29))
    F, targets = rng.standard_normal((30, 2)), np.array([30.0 - second, second])
    codes = assign_two_classes(F, np.ones(30), targets)
    assert_array_equal(np.bincount(codes, minlength=2), targets)
    assert F[np.arange(30), codes].sum() == pytest.approx(best_value(F, targets))


@pytest.mark.parametrize(
    ("gains", "mass", "second", "codes"),
    [
        *(
            ([1.0, 2.0, 1.0, 1.0], [1.0, 1.0, 1.0, last], second, codes)
            for last in (1.0, 1 + 1e-12)  # partitioned and sorted
            for second, codes in ((2, [1, 1, 0, 0]), (0, [0] * 4), (4, [1] * 4))
        ),
        ([3.0, 2.0, 1.0], [1.0, 1.0, 1.0], 1.6, [1, 1, 0]),
        # A point that does not fit goes where the larger part of it does.
        ([3.0, 2.0, 1.0], [1.0, 4.0, 1.0], 4, [1, 1, 0]),
        ([3.0, 2.0, 1.0], [1.0, 4.0, 1.0], 2, [1, 0, 0]),
    ],
)
def test_the_first_of_equal_points_are_assigned_to_the_second_class(
    gains: list[float], mass: list[float], second: float, codes: list[int]
) -> None:
    F = np.column_stack([np.zeros(len(gains)), gains])
    targets = np.array([sum(mass) - second, second])
    assert_array_equal(assign_two_classes(F, np.array(mass), targets), codes)
