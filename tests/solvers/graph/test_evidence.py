"""Which volumes are believed: cuts beside chance, and labels that are left out."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.special import softmax

from lapwing.classes.balance import balance
from lapwing.solvers.graph.evidence import (
    LeftOut,
    chance_cut,
    label_likelihood,
    leave_out,
    most_credible,
)
from lapwing.solvers.graph.registry import PARTITIONS
from tests.helpers.volumes import blob_problem

EVEN = np.array([0.5, 0.5])


def test_labels_in_equal_numbers_speak_for_the_volumes_of_all_points() -> None:
    # Two classes whose log densities differ by 2x - 2; one is four times as large as the other.
    rng = np.random.default_rng(0)
    large = rng.random(5000) < 0.8
    points, labeled = rng.standard_normal(5000) + 2 * ~large, np.repeat([0, 1], 300)
    at = rng.standard_normal(600) + 2 * labeled

    def densities(x: np.ndarray) -> np.ndarray:
        return np.column_stack([np.zeros_like(x), 2 * x - 2])

    def told(first: float) -> float:
        v = np.array([first, 1 - first])
        offsets = balance(densities(points), v, 1.0).offsets
        return label_likelihood(densities(at) + offsets, labeled, v, EVEN, 10.0)

    tried = np.linspace(0.5, 0.95, 10)
    assert tried[int(np.argmax([told(first) for first in tried]))] == pytest.approx(0.8, abs=0.06)


def test_the_sharpness_of_values_is_the_most_likely_one() -> None:
    rng = np.random.default_rng(1)
    values, codes = rng.standard_normal((60, 3)), rng.integers(0, 3, 60)
    values[np.arange(60), codes] += 0.5
    volumes, labels = np.array([0.2, 0.3, 0.5]), np.array([10, 20, 30])
    grid = [
        np.log(
            softmax(beta * values + np.log(labels / volumes), axis=1)[np.arange(60), codes]
        ).sum()
        for beta in np.linspace(0, 4, 4001)
    ]
    found = label_likelihood(values, codes, volumes, labels, 4.0)
    assert found == pytest.approx(max(grid), abs=1e-5)
    assert label_likelihood(values[:0], codes[:0], volumes, labels, 4.0) == 0


def test_every_label_of_several_is_left_out_once() -> None:
    problem, _ = blob_problem(gap=9.0, labels=3)
    left_out = leave_out(problem, [problem.prior, np.array([0.5, 0.25, 0.25])])
    assert left_out.values.shape == (2, 9, 3)
    assert_array_equal(left_out.counts(0), 3 * np.eye(3))
    assert left_out.n_iter > 0


def test_a_single_label_of_a_class_is_not_left_out() -> None:
    problem, _ = blob_problem(gap=9.0, labels=1)
    assert not leave_out(problem, [problem.prior]).counts(0).any()


def test_classes_at_random_cut_what_chance_does() -> None:
    problem, codes = blob_problem(gap=9.0)
    mixed = np.random.default_rng(0).permutation(codes)
    assert chance_cut(problem.graph, mixed, 3) == pytest.approx(1, abs=0.15)
    assert chance_cut(problem.graph, codes, 3) < 0.05
    assert chance_cut(problem.graph, np.zeros_like(codes), 3) == 0


def test_the_smaller_cut_is_believed_unless_left_out_labels_speak_against_it() -> None:
    problem, codes = blob_problem((60, 60), gap=9.0)
    worse = codes.copy()
    worse[np.flatnonzero(codes == 0)[:20]] = 1
    volumes = [problem.volumes(problem.whole(each)) for each in (worse, codes)]
    silent = LeftOut(np.zeros(0, dtype=int), np.zeros((2, 0, 2)), 0)
    assert most_credible(problem, [worse, codes], volumes, silent) == 1
    # Labels of the second class are found at the first volumes and lost at the others.
    found = np.array([[1.0, -1.0], [-1.0, 1.0]] * 20)
    lost = np.array([[1.0, -1.0], [0.5, -0.5]] * 20)
    told = LeftOut(np.array([0, 1] * 20), np.stack([found, lost]), 0)
    assert most_credible(problem, [worse, codes], volumes, told) == 0


@pytest.mark.parametrize("labels", [1, 4])
def test_volumes_that_differ_tenfold_are_found(labels: int) -> None:
    problem, codes = blob_problem((150, 15, 150, 15), gap=5.0, labels=labels, seed=1)
    found = PARTITIONS["flow"].solve(problem).scores.argmax(axis=1)
    assert (found != codes).mean() < 0.05
