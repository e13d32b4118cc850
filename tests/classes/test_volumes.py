"""Class volumes, against linear programs, an assignment solver and counting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.optimize import linear_sum_assignment, linprog

from lapwing.classes.transport import _Leaders, parted_in_two
from lapwing.classes.transport import transport as exact_transport
from lapwing.classes.volumes import ClassOffsets, prior_offsets


def predict_codes(F: Any, offsets: Any) -> Any:
    shifted = np.asarray(F, dtype=float) + offsets
    return (shifted[:, 0] >= 0).astype(int) if shifted.shape[1] == 1 else shifted.argmax(axis=1)


def dual(F: Any, offsets: Any, targets: Any, w: Any) -> float:
    """The objective that the module's docstring defines, with the targets as the prior."""
    return float((w @ (F + offsets).max(axis=1) - targets @ offsets) / w.sum())


def transport(F: Any, targets: Any, w: Any) -> float:
    """Largest mean value of a transport plan, by linear programming."""
    n, c = F.shape
    rows = np.kron(np.eye(n), np.ones(c))
    columns = np.kron(np.ones(n), np.eye(c))
    found = linprog(-F.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([w, targets]))
    assert found.status == 0
    return float(-found.fun / w.sum())


def largest_remainders(prior: Any, n: int) -> Any:
    """Every way to round n prior to whole numbers of sum n misses each by less than one."""
    return np.floor(n * prior + 1e-9), np.ceil(n * prior - 1e-9)


def random_values(rng: Any, n: int, c: int, skew: float = 1.0) -> Any:
    return rng.standard_normal((n, c)) + skew * rng.standard_normal(c)


sizes = given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 400),
    c=st.integers(2, 12),
    skew=st.sampled_from([0.0, 1.0, 10.0]),
    concentration=st.sampled_from([0.1, 1.0, 100.0]),
)


@sizes
def test_volumes_are_the_prior_within_one_point(
    seed: int, n: int, c: int, skew: float, concentration: float
) -> None:
    rng = np.random.default_rng(seed)
    F, prior = random_values(rng, n, c, skew), rng.dirichlet(np.full(c, concentration))
    found = prior_offsets(F, prior)
    volumes = np.bincount(predict_codes(F, found.offsets), minlength=c)
    low, high = largest_remainders(prior, n)
    assert ((low <= volumes) & (volumes <= high)).all()
    np.testing.assert_array_equal(found.volumes, volumes)
    np.testing.assert_array_equal(found.targets, volumes)
    assert found.converged
    assert abs(found.offsets.sum()) < 1e-9 * (1 + np.abs(found.offsets).sum())
    assert abs(found.gap) < 1e-12 * (1 + skew)


@pytest.mark.parametrize("n", [257, 3000, 20_000])  # one, two and four sizes of samples
def test_samples_change_nothing(n: int) -> None:
    rng = np.random.default_rng(n)
    F = random_values(rng, n, 5)
    found = prior_offsets(F, [5, 4, 3, 2, 1])
    low, high = largest_remainders(np.array([5, 4, 3, 2, 1]) / 15, n)
    volumes = np.bincount(predict_codes(F, found.offsets), minlength=5)
    assert ((low <= volumes) & (volumes <= high)).all()
    assert abs(found.gap) < 1e-12
    # From any start the same assignment, and so the same middle: here without samples.
    again = prior_offsets(F[np.random.default_rng(1).permutation(n)], [5, 4, 3, 2, 1])
    np.testing.assert_allclose(again.offsets, found.offsets, atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("c", [2, 3, 6])
def test_optimal_value_of_the_linear_program(seed: int, c: int) -> None:
    rng = np.random.default_rng(seed)
    F, prior = random_values(rng, 50, c), rng.dirichlet(np.ones(c))
    found, mass = prior_offsets(F, prior), np.ones(50)
    best = transport(F, found.targets, mass)
    value = dual(F, found.offsets, found.targets, mass)
    assert value - found.gap == pytest.approx(best, abs=1e-9)
    assert -1e-12 < found.gap < 1e-12  # no point is parted
    assert np.abs(found.targets - 50 * prior).max() < 1


@pytest.mark.parametrize("seed", range(5))
def test_same_classes_as_an_assignment_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = np.array([3, 17, 40])
    F = random_values(rng, 60, 3)
    seats = np.repeat([0, 1, 2], sizes)
    _, seat = linear_sum_assignment(F[:, seats], maximize=True)
    found = prior_offsets(F, sizes)
    np.testing.assert_array_equal(predict_codes(F, found.offsets), seats[seat])


def test_no_point_lies_on_a_boundary() -> None:
    rng = np.random.default_rng(0)
    F = random_values(rng, 300, 4)
    found = prior_offsets(F, np.ones(4))
    top = np.sort(F + found.offsets, axis=1)
    assert (top[:, -1] - top[:, -2]).min() > 1e-6


@given(seed=st.integers(0, 10**6), c=st.integers(2, 6))
def test_invariances(seed: int, c: int) -> None:
    rng = np.random.default_rng(seed)
    n = 60
    F, prior = random_values(rng, n, c), rng.dirichlet(np.ones(c))
    found = prior_offsets(F, prior)
    classes, rows = rng.permutation(c), rng.permutation(n)
    level = prior_offsets(F + rng.standard_normal((n, 1)), prior)
    np.testing.assert_allclose(level.offsets, found.offsets, atol=1e-10)
    shuffled = prior_offsets(F[rows][:, classes], prior[classes])
    np.testing.assert_allclose(shuffled.offsets, found.offsets[classes], atol=1e-10)
    scaled = prior_offsets(1e9 * F, prior)
    np.testing.assert_allclose(scaled.offsets, 1e9 * found.offsets, rtol=1e-8, atol=0.1)
    shift = rng.standard_normal(c)
    moved = prior_offsets(F + shift - shift.mean(), prior)
    np.testing.assert_allclose(moved.offsets, found.offsets - shift + shift.mean(), atol=1e-10)


def test_columns_of_very_different_scales() -> None:
    rng = np.random.default_rng(3)
    F = rng.standard_normal((700, 5)) * 10.0 ** np.array([-6, -3, 0, 3, 6])
    found = prior_offsets(F, np.ones(5))
    np.testing.assert_array_equal(np.bincount(predict_codes(F, found.offsets)), np.full(5, 140))


def test_middle_is_the_same_for_any_order_of_three_classes_with_a_known_answer() -> None:
    # Points at the corners of a triangle, one a class: boundaries half way, so no offsets.
    found = prior_offsets(np.eye(3), np.ones(3))
    np.testing.assert_allclose(found.offsets, 0, atol=1e-15)
    # Two classes, volumes 1 and 2: the cut lies between the differences 1 and 3.
    found = prior_offsets([[5.0, 0.0], [1.0, 0.0], [3.0, 0.0]], [1, 2])
    np.testing.assert_allclose(found.offsets, [-2, 2])


# --- a prior that is wrong, and extreme ones ----------------------------------------------------


def test_a_wrong_prior_gives_these_wrong_volumes() -> None:
    F = np.repeat(np.eye(2), [90, 10], axis=0) * 5 + np.linspace(0, 1, 200).reshape(100, 2)
    assert np.bincount(F.argmax(axis=1)).tolist() == [90, 10]
    F[:, 0] += np.random.default_rng(0).standard_normal(100)
    found = prior_offsets(F, [0.25, 0.75])
    assert np.bincount(predict_codes(F, found.offsets)).tolist() == [25, 75]


@pytest.mark.parametrize("prior", [[1, 0, 0], [0, 0.5, 0.5], [0, 0, 1], [1e-9, 1, 1]])
def test_a_class_of_prior_zero_gets_no_point(prior: list[float]) -> None:
    rng = np.random.default_rng(0)
    F = random_values(rng, 1000, 3)
    found = prior_offsets(F, prior)
    volumes = np.bincount(predict_codes(F, found.offsets), minlength=3)
    np.testing.assert_allclose(volumes, 1000 * np.array(prior) / sum(prior), atol=1)
    assert np.isfinite(found.offsets).all()
    gone = np.flatnonzero(volumes == 0)
    margin = np.delete(F + found.offsets, gone, axis=1).max(axis=1)[:, None] - (
        F[:, gone] + found.offsets[gone]
    )
    assert margin.min() > 1  # well away: new points will hardly fall to it


def test_one_point_falls_to_the_largest_part() -> None:
    assert prior_offsets([[0.0, 9.0]], [0.6, 0.4]).volumes.tolist() == [1, 0]


# --- ties ---------------------------------------------------------------------------------------


def test_equal_rows_move_together() -> None:
    rng = np.random.default_rng(0)
    F = random_values(rng, 40, 3)[np.repeat(np.arange(40), rng.integers(1, 8, 40))]
    found = prior_offsets(F, np.ones(3))
    assert found.converged
    np.testing.assert_allclose(found.volumes, found.targets, atol=2 * 7)
    np.testing.assert_array_equal(
        found.volumes, np.bincount(predict_codes(F, found.offsets), minlength=3)
    )


def test_all_rows_equal() -> None:
    found = prior_offsets(np.zeros((10, 3)), [0.2, 0.5, 0.3])
    assert sorted(found.volumes.tolist()) == [0, 0, 10]
    assert np.isfinite(found.offsets).all()
    assert found.gap == pytest.approx(0, abs=1e-8)


def test_whole_valued_rows_are_optimal_though_ties_cannot_be_parted() -> None:
    rng = np.random.default_rng(0)
    F = rng.integers(0, 3, (80, 4)).astype(float)
    found = prior_offsets(F, np.ones(4))
    best = transport(F, found.targets, np.ones(80))
    assert dual(F, found.offsets, found.targets, np.ones(80)) == pytest.approx(best, abs=1e-9)


def test_equal_remainders_go_to_the_class_with_more_points() -> None:
    F = np.random.default_rng(0).standard_normal((10, 3)) + np.array([0.0, 0.0, 3.0])
    assert prior_offsets(F, np.ones(3)).volumes.tolist() == [3, 3, 4]
    assert prior_offsets(F[:, ::-1], np.ones(3)).volumes.tolist() == [4, 3, 3]


# --- two classes in one column ------------------------------------------------------------------


@given(seed=st.integers(0, 10**6), n=st.integers(1, 100), part=st.floats(0, 1))
def test_one_column_is_cut_at_the_prior(seed: int, n: int, part: float) -> None:
    f = np.random.default_rng(seed).standard_normal((n, 1))
    found = prior_offsets(f, [1 - part, part])
    assert found.offsets.shape == (1,)
    positive = int((f + found.offsets >= 0).sum())
    assert abs(positive - n * part) <= 0.5 + 1e-6
    assert found.volumes.tolist() == [n - positive, positive]
    assert found.gap == pytest.approx(0, abs=1e-12)


def test_one_column_equals_two() -> None:
    f = np.random.default_rng(0).standard_normal((51, 1))
    one = prior_offsets(f, [0.3, 0.7])
    two = prior_offsets(np.hstack([-f / 2, f / 2]), [0.3, 0.7])
    assert one.offsets[0] == pytest.approx(two.offsets[1] - two.offsets[0])
    np.testing.assert_allclose(one.volumes, two.volumes)


def test_one_column_with_ties_takes_the_nearer_side() -> None:
    f = np.repeat([-1.0, 0.5, 2.0], [4, 5, 1])[:, None]
    assert prior_offsets(f, [0.7, 0.3]).volumes.tolist() == [9, 1]
    assert prior_offsets(f, [0.5, 0.5]).volumes.tolist() == [4, 6]
    neighbours = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    assert prior_offsets(neighbours, [0.5, 0.5]).volumes.tolist() == [1, 1]


# --- stopping before the end --------------------------------------------------------------------


def test_same_input_same_output() -> None:
    F = random_values(np.random.default_rng(0), 3000, 4)
    first, second = (prior_offsets(F, np.ones(4)) for _ in range(2))
    np.testing.assert_array_equal(first.offsets, second.offsets)


def test_input_is_not_changed() -> None:
    F = random_values(np.random.default_rng(0), 300, 3)
    before = F.copy()
    prior_offsets(F, np.ones(3))
    np.testing.assert_array_equal(F, before)


def test_single_precision_and_lists() -> None:
    F = random_values(np.random.default_rng(0), 30, 3).astype(np.float32)
    found = prior_offsets(F.tolist(), [1, 1, 1])
    assert isinstance(found, ClassOffsets)
    np.testing.assert_array_equal(prior_offsets(F, [1, 1, 1]).offsets, found.offsets)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"F": np.zeros(5)}, "decision values"),
        ({"F": np.zeros((0, 3))}, "decision values"),
        ({"F": np.full((5, 3), np.nan)}, "F holds NaN or infinite"),
        ({"prior": [1, 1]}, r"prior must be one number >= 0 per class.*shape is \(2,\)"),
    ],
)
def test_wrong_arguments(changes: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"F": np.eye(5, 3), "prior": np.ones(3)} | changes
    with pytest.raises(ValueError, match=message):
        prior_offsets(**arguments)


def test_transport_from_offsets_of_values_nearby_is_the_same() -> None:
    rng = np.random.default_rng(0)
    F, mass = rng.standard_normal((2000, 4)), np.ones(2000)
    targets = np.array([800.0, 600.0, 400.0, 200.0])
    before, _, _ = exact_transport(F + 0.001 * rng.standard_normal(F.shape), mass, targets)
    cold, _, _ = exact_transport(F, mass, targets)
    warm, paths, converged = exact_transport(F, mass, targets, start=before.offsets)
    assert converged
    np.testing.assert_allclose(warm.value(), cold.value())
    # Far fewer than points that a start from 0 misplaces.
    assert paths <= np.sqrt(len(F))


@pytest.mark.parametrize("missing", [1e-11, -1e-11])
def test_volumes_with_the_sum_of_the_weights_up_to_rounding_are_met(missing: float) -> None:
    F = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]])
    plan, _, converged = exact_transport(F, np.ones(3), np.array([1.0 - missing, 2.0]))
    assert converged
    assert_array_equal(plan.assignment(), [0, 1, 1])


@pytest.mark.parametrize("targets", [(1.0, 1.9), (2.0, 2.0), (np.nan, 2.0)])
def test_volumes_with_another_sum_are_refused(targets: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="must sum to 3, the weight of all points"):
        exact_transport(np.eye(3, 2), np.ones(3), np.array(targets))


def test_leaders_know_the_largest_value_of_the_other_classes_at_all_times() -> None:
    rng = np.random.default_rng(0)
    F, offsets = rng.standard_normal((500, 7)), rng.standard_normal(7)
    mass, targets = rng.uniform(1, 2, 500), np.full(7, 50.0)
    leaders = _Leaders(F, offsets)
    for turn, k in enumerate([0, 3, 6, 3, 1, 5, 0]):
        shifted = F + offsets
        surplus = np.bincount(shifted.argmax(axis=1), mass, 7) - targets
        assert leaders.misplaced(mass, targets) == surplus[surplus > 0].sum()
        for j in range(7):
            expected = np.delete(shifted, j, axis=1).max(axis=1)
            np.testing.assert_array_equal(leaders.among_others(j), expected)
        # Up, down, and so that points tie with the class that led them.
        moves = {0: offsets[k] + 0.7, 1: offsets[k] - 0.7}
        offsets[k] = moves.get(turn % 3, leaders.among_others(k)[turn] - F[turn, k])
        leaders.move(k, F[:, k], offsets[k])


def test_many_classes_leave_few_points_to_paths() -> None:
    rng = np.random.default_rng(1)
    n, c = 3000, 40
    F = rng.standard_normal((n, c)) + rng.standard_normal(c)
    _, paths, converged = exact_transport(F, np.ones(n), np.full(c, n / c))
    assert converged
    assert paths <= 2 * np.sqrt(n)


@pytest.mark.parametrize("sizes", [(1, 2), (1, 9)])
def test_few_points_are_left_to_paths_whatever_the_scales_of_columns(
    sizes: tuple[int, int],
) -> None:
    rng = np.random.default_rng(0)
    n, c = 4000, 10
    F = rng.standard_normal((n, c)) * np.geomspace(0.01, 10, c)
    mass = rng.integers(*sizes, n).astype(float)
    targets = np.floor(mass.sum() * rng.dirichlet(np.ones(c)))
    targets[0] += mass.sum() - targets.sum()
    _, paths, converged = exact_transport(F, mass, targets)
    assert converged
    assert paths <= 2 * np.sqrt(n)


@pytest.mark.parametrize("seed", range(4))
def test_two_classes_are_parted_as_the_linear_programme_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, second = 30, int(rng.integers(1, 29))
    F, mass = rng.standard_normal((n, 2)), np.ones(n)
    targets = np.array([n - second, second], dtype=float)
    sums = np.vstack([np.kron(np.eye(n), np.ones(2)), np.tile(np.eye(2), n)])
    best = linprog(-F.ravel(), A_eq=sums, b_eq=np.concatenate([mass, targets]), bounds=(0, 1))
    codes = parted_in_two(F, mass, targets)
    assert_array_equal(np.bincount(codes, minlength=2), targets)
    assert F[np.arange(n), codes].sum() == pytest.approx(-best.fun)


def test_of_equal_gains_the_first_points_are_parted() -> None:
    F = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 1.0], [0.0, 1.0]])
    for mass in (np.ones(4), np.array([1.0, 1.0, 1.0, 1.0 + 1e-12])):  # partitioned and sorted
        assert_array_equal(parted_in_two(F, mass, np.array([2.0, 2.0])), [1, 1, 0, 0])
        assert_array_equal(parted_in_two(F, mass, np.array([4.0, 0.0])), np.zeros(4))
        assert_array_equal(parted_in_two(F, mass, np.array([0.0, 4.0])), np.ones(4))


def test_a_point_that_does_not_fit_goes_where_more_of_it_does() -> None:
    F = np.array([[0.0, 3.0], [0.0, 2.0], [0.0, 1.0]])
    mass = np.array([1.0, 4.0, 1.0])
    assert_array_equal(parted_in_two(F, mass, np.array([2.0, 4.0])), [1, 1, 0])
    assert_array_equal(parted_in_two(F, mass, np.array([4.0, 2.0])), [1, 0, 0])
