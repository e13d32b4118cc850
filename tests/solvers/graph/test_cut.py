"""The least cut at exact class sizes, against all assignments."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.graph.mbo import cut, mbo
from tests.helpers.volumes import blob_problem, graph_problem


def dense(problem: VolumeProblem) -> np.ndarray:
    return np.asarray(problem.graph.affinity.toarray())  # type: ignore[attr-defined]


def weight_between(W: np.ndarray, codes: np.ndarray) -> float:
    return float(W[codes[:, None] != codes].sum() / 2)


def least_cut(problem: VolumeProblem, volumes: list[int]) -> float:
    """By looking at every assignment."""
    W, free = dense(problem), problem.free
    codes = np.zeros(problem.n_points, dtype=int)
    codes[problem.index] = problem.codes
    least = np.inf
    for each in product(range(problem.n_classes), repeat=len(free)):
        codes[free] = each
        if np.bincount(codes, minlength=problem.n_classes).tolist() == volumes:
            least = min(least, weight_between(W, codes))
    return least


def random_graph(seed: int, n: int, c: int) -> VolumeProblem:
    """Weak edges between all points, stronger ones between neighbours on a line."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.random(n))
    W = np.exp(-((x[:, None] - x) ** 2) / 0.02) * rng.uniform(0.5, 1, (n, n))
    W = np.triu(W, 1)
    at = np.linspace(0, n - 1, c).round().astype(int)
    return graph_problem(W + W.T, {int(i): k for k, i in enumerate(at)}, c, exact=True)


@pytest.mark.parametrize(("n", "c"), [(12, 2), (9, 3)])
def test_the_least_cut_is_found_on_tiny_graphs(n: int, c: int) -> None:
    hit = []
    for seed in range(8):
        problem = random_graph(seed, n, c)
        found = cut(problem)
        codes = found.codes
        assert np.bincount(codes).tolist() == [n // c] * c
        value, least = weight_between(dense(problem), codes), least_cut(problem, [n // c] * c)
        assert_allclose(found.objective, value)
        assert value <= 1.5 * least
        hit.append(value <= least + 1e-9)
    assert np.mean(hit) >= 0.8  # a continuation promises a good minimum, not the best


def test_sizes_are_exact_and_labels_are_kept() -> None:
    problem, codes = blob_problem(sizes=(50, 20, 30), gap=4.0)
    wanted = problem.with_prior(np.array([0.5, 0.2, 0.3]), exact=True)
    found = cut(wanted)
    answer = found.codes
    assert np.bincount(answer).tolist() == [50, 20, 30]
    assert_array_equal(answer[problem.index], problem.codes)
    assert_allclose(found.shares.sum(axis=1), 1)
    assert (answer != codes).mean() < 0.08
    assert found.n_iter > 0
    assert np.diff(np.ravel(found.history["objective"])).max(initial=0) <= 0


def test_permuted_classes_permute_the_answer() -> None:
    problem, _ = blob_problem(sizes=(40, 30, 35), gap=4.0)
    turn = np.array([2, 0, 1])  # old class of each new one
    names = np.argsort(turn)
    labeled = {int(i): int(names[k]) for i, k in zip(problem.index, problem.codes, strict=True)}
    prior = np.array([40, 30, 35]) / 105
    found = cut(problem.with_prior(prior, exact=True))
    moved = cut(graph_problem(dense(problem), labeled, 3, prior[turn], exact=True))
    agree = names[found.codes] == moved.codes
    assert (~agree).sum() <= 1  # a tie may break otherwise


def test_parts_that_do_not_hang_together() -> None:
    W = np.kron(np.eye(3), np.ones((4, 4)))
    problem = graph_problem(W, {0: 0, 4: 1}, 2, (2 / 3, 1 / 3), exact=True)
    answer = cut(problem).codes
    assert answer.tolist() == [0] * 4 + [1] * 4 + [0] * 4


def test_all_labelled() -> None:
    told = graph_problem(np.ones((3, 3)), {0: 0, 1: 1, 2: 0}, 2, exact=True)
    assert cut(told).codes.tolist() == [0, 1, 0]


def test_never_a_larger_cut_than_threshold_dynamics() -> None:
    for seed in range(3):
        problem, _ = blob_problem(gap=3.0, seed=seed, exact=True)
        dynamics = weight_between(dense(problem), mbo(problem).codes)
        assert cut(problem).objective <= dynamics + 1e-9
