"""Smallest cuts at exact volumes, compared with all assignments."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.graph.mbo import cut, mbo
from tests.helpers.volumes import blob_problem, cut_of, graph_problem


def least_cut(problem: VolumeProblem, volumes: list[int]) -> float:
    """Smallest cut of all assignments."""
    free = problem.free
    codes = np.zeros(problem.n_points, dtype=int)
    codes[problem.index] = problem.codes
    least = np.inf
    for each in product(range(problem.n_classes), repeat=len(free)):
        codes[free] = each
        if np.bincount(codes, minlength=problem.n_classes).tolist() == volumes:
            least = min(least, cut_of(problem, codes))
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
def test_finds_the_smallest_cut_of_tiny_graphs(n: int, c: int) -> None:
    hit = []
    for seed in range(8):
        problem = random_graph(seed, n, c)
        found = cut(problem)
        codes = found.codes
        assert np.bincount(codes).tolist() == [n // c] * c
        value, least = cut_of(problem, codes), least_cut(problem, [n // c] * c)
        assert_allclose(found.objective, value)
        assert value <= 1.5 * least
        hit.append(value <= least + 1e-9)
    assert np.mean(hit) >= 0.8  # a continuation promises a good minimum, not the best


def test_keeps_components_whole() -> None:
    W = np.kron(np.eye(3), np.ones((4, 4)))
    problem = graph_problem(W, {0: 0, 4: 1}, 2, (2 / 3, 1 / 3), exact=True)
    answer = cut(problem).codes
    assert answer.tolist() == [0] * 4 + [1] * 4 + [0] * 4


def test_cut_is_at_most_that_of_mbo() -> None:
    for seed in range(3):
        problem, _ = blob_problem(gap=3.0, seed=seed, exact=True)
        dynamics = cut_of(problem, mbo(problem).codes)
        assert cut(problem).objective <= dynamics + 1e-9
