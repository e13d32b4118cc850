"""Laplace learning, random walks and Poisson learning, against dense solves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.base import Status
from lapwing.solvers.graph.propagation import laplace, poisson, poisson_values, random_walk
from tests.helpers.volumes import blob_problem, dense, graph_problem


def test_laplace_solves_the_dense_system() -> None:
    problem, _ = blob_problem(gap=3.0)
    W = dense(problem)
    L, free = np.diag(W.sum(axis=1)) - W, problem.free
    right = -L[np.ix_(free, problem.index)] @ problem.labels
    expected = np.linalg.solve(L[np.ix_(free, free)], right)
    assert_allclose(laplace(problem).state[free], expected, atol=1e-4)


def test_random_walk_solves_the_dense_system() -> None:
    problem, _ = blob_problem(gap=3.0)
    W = dense(problem)
    Y = np.zeros((len(W), 3))
    Y[problem.index] = problem.labels
    expected = np.linalg.solve(np.diag(W.sum(axis=1)) - 0.95 * W, Y)
    expected /= expected.sum(axis=1, keepdims=True)
    expected[problem.index] = problem.labels
    assert_allclose(random_walk(problem).shares, expected, atol=1e-3)


def test_poisson_is_the_iteration_of_the_paper() -> None:
    problem, _ = blob_problem(gap=3.0)
    W = dense(problem)
    d = W.sum(axis=1)
    source = np.zeros((len(W), 3))
    source[problem.index] = problem.labels - problem.labels.mean(axis=0)
    U, n_iter, _ = poisson_values(problem)
    expected = np.zeros_like(source)
    for _ in range(n_iter):
        expected = (source + W @ expected) / d[:, None]
    expected -= d @ expected / d.sum()
    assert_allclose(U, expected, atol=1e-9)
    assert n_iter >= 50
    assert_allclose(d @ U, 0, atol=1e-9)


@pytest.mark.parametrize("method", [laplace, random_walk, poisson])
def test_components_without_a_label_get_the_shares_of_the_labels(method: Any) -> None:
    W = np.kron(np.eye(3), np.ones((4, 4)))
    problem = graph_problem(W, {0: 0, 1: 0, 4: 1}, 2)
    found = method(problem)
    assert np.isfinite(found.state).all()
    assert_array_equal(found.codes, [0] * 4 + [1] * 4 + [0] * 4)


def test_poisson_converges_on_components_without_sources() -> None:
    """Between two points the walk goes to and fro for ever."""
    W = np.zeros((8, 8))
    W[:6, :6] = 1 - np.eye(6)
    W[6, 7] = W[7, 6] = 1.0
    alone = poisson(graph_problem(sp.csr_array(W), {0: 0, 1: 1, 6: 1}, 2))
    assert alone.status == Status.CONVERGED
    assert alone.codes[6:].tolist() == [1, 1]
    both = poisson(graph_problem(sp.csr_array(W), {0: 0, 1: 1, 6: 1, 7: 0}, 2))
    assert both.status == Status.CONVERGED  # two walkers begin there, one on each


def unit_of(problem: VolumeProblem) -> float:
    """The size of the values that Poisson learning divides them by."""
    return float(np.abs(poisson_values(problem)[0]).mean())


def test_poisson_multiplies_columns_by_prior_over_label_shares() -> None:
    known, _ = blob_problem(gap=3.0, prior=(0.5, 0.3, 0.2), exact=True)
    unknown, _ = blob_problem(gap=3.0, prior=(0.5, 0.3, 0.2))
    free = known.free
    each = np.array([1.5, 0.9, 0.6])  # the prior over a third of the labels
    U = poisson(unknown).state[free]
    weighed = U * each / (np.abs(poisson_values(known)[0] * each).mean() / unit_of(unknown))
    offsets = poisson(known).state[free] - weighed
    assert_allclose(offsets, np.tile(offsets[0], (len(free), 1)), atol=1e-9)
