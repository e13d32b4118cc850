"""Evidence for partitions: cuts relative to chance, contradicted and left-out labels."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.graph.evidence import (
    LeftOut,
    adjusted_count,
    chance_cut,
    count_left_out,
    left_out_miss,
    nearest_to_prior,
    negative_log_evidence,
    table_likelihood,
)
from lapwing.solvers.graph.registry import PARTITIONS
from tests.helpers.volumes import blob_problem, graph_problem


def likeliest(problem: VolumeProblem, cuts: list[np.ndarray], left_out: LeftOut) -> int:
    return int(np.argmin([negative_log_evidence(problem, codes, left_out) for codes in cuts]))


@pytest.mark.parametrize("c", [2, 3, 4])
def test_table_likelihood_equals_that_of_a_general_solver(c: int) -> None:
    rng = np.random.default_rng(c)
    counts = rng.integers(0, 6, (c, c)) + 1 / c**2
    rows, columns = rng.dirichlet(np.full(c, 2.0)), rng.dirichlet(np.full(c, 2.0))

    def loss(entries: np.ndarray) -> float:
        return -float((counts * np.log(entries.reshape(c, c) / rows[:, None])).sum())

    sums = [
        {"type": "eq", "fun": lambda T: T.reshape(c, c).sum(axis=1) - rows},
        {"type": "eq", "fun": lambda T: T.reshape(c, c).sum(axis=0)[1:] - columns[1:]},
    ]
    start = np.outer(rows, columns).ravel()
    expected = minimize(
        loss, start, bounds=[(1e-9, 1)] * c**2, constraints=sums, options={"maxiter": 500}
    )
    assert expected.success
    assert table_likelihood(counts, rows, columns) == pytest.approx(-expected.fun, abs=1e-3)


@pytest.mark.parametrize(
    ("counts", "predicted", "second"),
    [
        ([[600, 400], [100, 900]], 0.5, 0.2),  # 0.2 x 0.9 + 0.8 x 0.4
        ([[600, 400], [100, 900]], 0.1, 0.0),  # fewer than the errors of the first class
        ([[600, 400], [100, 900]], 0.99, 1.0),
        ([[1, 2], [1, 2]], 0.3, 0.3),  # predictions that do not depend on the class
        ([[0, 0], [1, 9]], 0.5, None),  # 0.5 x 0.9 + 0.5 x 0.5 without labels of the first class
    ],
)
def test_adjusted_count(counts: list[list[int]], predicted: float, second: float | None) -> None:
    left_out = LeftOut(np.array(counts, float), np.array([1 - predicted, predicted]), 0)
    found = adjusted_count(left_out)
    assert found.sum() == pytest.approx(1)
    if second is None:
        second = (predicted - 0.5) / (9.25 / 10.5 - 0.5)  # a quarter of a label in each entry
    assert found[1] == pytest.approx(second, abs=1e-3)


def test_nearest_to_prior_is_the_first_uncontradicted_volume() -> None:
    left_out = LeftOut(np.array([[12.0, 8.0], [0.0, 20.0]]), np.array([0.5, 0.5]), 0)
    prior, end = np.array([0.5, 0.5]), adjusted_count(left_out)
    found = nearest_to_prior(left_out, prior)
    assert end[1] < found[1] < 0.5
    assert left_out_miss(left_out, found) == 0 < left_out_miss(left_out, prior)
    assert left_out_miss(left_out, found + (prior - end) / 32) > 0
    assert_allclose(nearest_to_prior(left_out, end), end)
    impossible = LeftOut(np.array([[10.0, 10.0], [0.0, 20.0]]), np.array([0.9, 0.1]), 0)
    assert left_out_miss(impossible, np.array([1 - 1e-6, 1e-6])) > 0
    assert_allclose(nearest_to_prior(impossible, prior), [1, 1e-6])


def test_miss_grows_with_the_number_of_labels() -> None:
    """Beyond half a nat for each class but one, as of counts that are drawn at the volumes."""
    even, uneven = np.array([0.5, 0.5]), np.array([0.9, 0.1])
    lost = np.array([[2.0, 0.0], [1.0, 1.0]])
    three = np.full(3, 1 / 3)
    for counts, found, volumes in (
        (100 * lost, even, even),
        (100 * lost, even, uneven),
        (np.diag([90.0, 40.0, 60.0]), three, np.array([0.6, 0.2, 0.2])),
    ):
        smoothed, c = counts + 1 / counts.size, len(volumes)
        best = (smoothed * np.log(smoothed / smoothed.sum(axis=1, keepdims=True))).sum()
        expected = best - table_likelihood(smoothed, volumes, found) - (c - 1) / 2
        assert left_out_miss(LeftOut(counts, found, 0), volumes) == pytest.approx(expected)
        assert expected > 5
    for volumes in (even, uneven):
        assert left_out_miss(LeftOut(lost, even, 0), volumes) < 1
    assert left_out_miss(LeftOut(0 * lost, even, 0), uneven) == 0
    right = np.array([1 / 3, 2 / 3])  # all of a third and half of two thirds are found in the first
    assert left_out_miss(LeftOut(100 * lost, np.array([2 / 3, 1 / 3]), 0), right) == 0


def test_leaves_out_each_label_once_unless_it_is_the_only_one() -> None:
    problem, codes = blob_problem(gap=9.0, labels=3)
    left_out = count_left_out(problem)
    assert_array_equal(left_out.counts, 3 * np.eye(3))
    assert_allclose(left_out.volumes, np.bincount(codes) / len(codes))
    assert left_out.n_iter > 0
    problem, _ = blob_problem(gap=9.0, labels=1)
    assert not count_left_out(problem).counts.any()


def test_chance_cut_of_random_classes_is_one() -> None:
    problem, codes = blob_problem(gap=9.0)
    mixed = np.random.default_rng(0).permutation(codes)
    assert chance_cut(problem.graph, mixed, 3) == pytest.approx(1, abs=0.15)
    assert chance_cut(problem.graph, codes, 3) < 0.05
    assert chance_cut(problem.graph, np.zeros_like(codes), 3) == 0


def test_smaller_cut_is_likelier_unless_left_out_labels_contradict_it() -> None:
    problem, codes = blob_problem((60, 60), gap=9.0)
    worse = codes.copy()
    worse[np.flatnonzero(codes == 0)[:20]] = 1
    even = LeftOut(np.zeros((2, 2)), np.array([0.5, 0.5]), 0)
    assert likeliest(problem, [worse, codes], even) == 1
    third = np.array([[200.0, 0.0], [100.0, 100.0]])  # of the second class half are lost
    assert likeliest(problem, [worse, codes], LeftOut(third, np.array([0.5, 0.5]), 0)) == 0


@pytest.mark.parametrize(
    ("link", "strays", "believed"), [(2.0, 1, 0), (3.0, 2, 1), (1000.0, 2, 0), (1000.0, 3, 1)]
)
def test_contradicted_labels_count_by_the_beta_function(
    link: float, strays: int, believed: int
) -> None:
    """Three equal parts in a row: one cut contradicts labels, the other is longer."""
    W = np.kron(np.eye(3), np.full((8, 8), 20.0))
    W[7, 8] = W[8, 7] = 1
    W[15, 16] = W[16, 15] = link
    labeled = {
        **dict.fromkeys(range(4), 0),
        **dict.fromkeys(range(9, 9 + strays), 0),
        **dict.fromkeys(range(20, 24), 1),
    }
    problem = graph_problem(W - np.diag(np.diag(W)), labeled, 2)
    cuts = [np.repeat([0, 1, 1], 8), np.repeat([0, 0, 1], 8)]
    contradicted = [problem.disagreeing(problem.members(codes)) for codes in cuts]
    assert contradicted == [strays, 0]
    length = [chance_cut(problem.graph, codes, 2) + 1 / 24 for codes in cuts]
    # r! (l - r)! / (l + 1)! with one label at a boundary; the volumes differ in their order only.
    assert (length[1] / length[0] < comb(len(labeled), strays - 1)) == (believed == 1)
    unasked = LeftOut(np.zeros((2, 2)), np.array([0.99, 0.01]), 0)  # no labels, no evidence
    assert likeliest(problem, cuts, unasked) == believed
    assert likeliest(problem, cuts[::-1], unasked) == 1 - believed


@pytest.mark.parametrize("labels", [1, 4])
def test_flow_finds_volumes_that_differ_tenfold(labels: int) -> None:
    problem, codes = blob_problem((150, 15, 150, 15), gap=5.0, labels=labels, seed=1)
    found = PARTITIONS["flow"].solve(problem).codes
    assert (found != codes).mean() < 0.05
