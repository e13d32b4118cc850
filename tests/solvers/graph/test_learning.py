"""Laplace learning, random walks and Poisson learning, against dense solves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.base import Status
from lapwing.solvers.graph.linear import laplace, poisson, poisson_values, random_walk
from lapwing.solvers.graph.partition import Partition
from tests.helpers.volumes import blob_problem, graph_problem

METHODS: dict[str, Callable[[VolumeProblem], Partition]] = {
    "laplace": laplace,
    "random-walk": random_walk,
    "poisson": poisson,
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def dense(problem: VolumeProblem) -> np.ndarray:
    return np.asarray(problem.graph.affinity.toarray())  # type: ignore[attr-defined]


def test_laplace_is_harmonic_and_keeps_the_labels() -> None:
    problem, _ = blob_problem(gap=3.0)
    W = dense(problem)
    L, free = np.diag(W.sum(axis=1)) - W, problem.free
    right = -L[np.ix_(free, problem.index)] @ problem.labels
    expected = np.linalg.solve(L[np.ix_(free, free)], right)
    assert_allclose(laplace(problem).state[free], expected, atol=1e-4)


def test_random_walks_are_the_dense_solution() -> None:
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


@every_method
def test_clear_blobs_are_found(method: Callable[[VolumeProblem], Partition]) -> None:
    problem, codes = blob_problem(gap=9.0, labels=2)
    found = method(problem)
    assert_array_equal(found.codes, codes)
    assert_allclose(found.shares.sum(axis=1), 1, rtol=1e-6)
    assert found.history["objective"][-1] == found.objective


@every_method
def test_permuted_classes_and_points_permute_the_answer(
    method: Callable[[VolumeProblem], Partition],
) -> None:
    problem, _ = blob_problem(gap=4.0, sizes=(30, 20, 25))
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(problem.n_points), rng.permutation(3)
    places = np.argsort(rows)
    labeled = {
        int(places[i]): int(np.flatnonzero(columns == k)[0])
        for i, k in zip(problem.index, problem.codes, strict=True)
    }
    W = dense(problem)[np.ix_(rows, rows)]
    moved = method(graph_problem(W, labeled, 3))
    assert_allclose(moved.state, method(problem).state[rows][:, columns], atol=2e-4, rtol=1e-3)


@every_method
def test_parts_without_a_label_get_the_shares_of_the_labels(
    method: Callable[[VolumeProblem], Partition],
) -> None:
    W = np.kron(np.eye(3), np.ones((4, 4)))
    problem = graph_problem(W, {0: 0, 1: 0, 4: 1}, 2)
    found = method(problem)
    assert np.isfinite(found.state).all()
    assert_array_equal(found.codes, [0] * 4 + [1] * 4 + [0] * 4)


@every_method
def test_labels_keep_their_class(method: Callable[[VolumeProblem], Partition]) -> None:
    problem, codes = blob_problem()
    labeled = {int(i): int(k) for i, k in zip(problem.index, problem.codes, strict=True)}
    wrong = int(np.flatnonzero(codes == 0)[5])
    told = graph_problem(dense(problem), labeled | {wrong: 2}, 3)
    assert method(told).state[wrong].argmax() == 2


@pytest.mark.parametrize("method", [laplace, random_walk], ids=["laplace", "random-walk"])
def test_known_volumes_are_met(method: Callable[[VolumeProblem], Partition]) -> None:
    problem, _ = blob_problem(gap=2.0, prior=(0.5, 0.3, 0.2), exact=True)
    volumes = np.bincount(method(problem).codes, minlength=3)
    assert_allclose(volumes, 120 * np.array([0.5, 0.3, 0.2]), atol=1e-6)


def test_poisson_does_not_wait_for_walks_in_parts_without_sources() -> None:
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


def test_poisson_weighs_columns_by_the_prior_over_the_labels() -> None:
    known, _ = blob_problem(gap=3.0, prior=(0.5, 0.3, 0.2), exact=True)
    unknown, _ = blob_problem(gap=3.0, prior=(0.5, 0.3, 0.2))
    free = known.free
    each = np.array([1.5, 0.9, 0.6])  # the prior over a third of the labels
    U = poisson(unknown).state[free]
    weighed = U * each / (np.abs(poisson_values(known)[0] * each).mean() / unit_of(unknown))
    offsets = poisson(known).state[free] - weighed
    assert_allclose(offsets, np.tile(offsets[0], (len(free), 1)), atol=1e-9)
