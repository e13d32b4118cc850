"""What every method that parts a graph does, and what those do that hold volumes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lapwing.classes.decoding import enforce_codes
from lapwing.graphs import KNNGraph
from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.base import Status
from lapwing.solvers.graph.registry import PARTITIONS
from tests.helpers.volumes import blob_problem, graph_problem

every_method = pytest.mark.parametrize("name", PARTITIONS)
every_holder = pytest.mark.parametrize(
    "name", [name for name, method in PARTITIONS.items() if method.holds_volumes]
)


def found(name: str, problem: VolumeProblem) -> np.ndarray:
    return np.asarray(PARTITIONS[name].solve(problem).codes)


@every_method
def test_clear_blobs_are_found(name: str) -> None:
    problem, codes = blob_problem(gap=9.0)
    partition = PARTITIONS[name].solve(problem)
    assert_array_equal(partition.codes, codes)
    assert_allclose(partition.shares.sum(axis=1), 1, rtol=1e-5)
    assert partition.status in (Status.CONVERGED, Status.MAX_ITER)
    assert partition.n_iter >= 1


@every_method
def test_single_precision_gives_the_same_classes(name: str) -> None:
    problem, codes = blob_problem(gap=9.0, dtype=np.float32)
    partition = PARTITIONS[name].solve(problem)
    assert_array_equal(partition.codes, codes)
    assert partition.shares.dtype == np.float32


@every_method
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_overflows_or_underflows(name: str, dtype: Any) -> None:
    for exact in (False, True):
        problem, codes = blob_problem((20, 20, 20), gap=9.0, labels=2, exact=exact, dtype=dtype)
        with np.errstate(all="raise"):
            assert_array_equal(found(name, problem), codes)


@every_method
def test_the_objective_never_rises(name: str) -> None:
    problem, _ = blob_problem(gap=3.0, seed=3)
    for exact in (False, True):
        partition = PARTITIONS[name].solve(replace(problem, exact=exact))
        values = np.ravel(partition.history["objective"])
        assert np.isfinite(values).all()
        assert (np.diff(values) < 0).all()
        assert values[-1] == partition.objective


@every_holder
def test_known_volumes_are_met(name: str) -> None:
    prior = np.array([0.5, 0.3, 0.2])
    problem, _ = blob_problem(gap=2.5, prior=prior, exact=True)
    volumes = np.bincount(found(name, problem), minlength=3)
    assert_allclose(volumes, 120 * prior, atol=1e-6)


@every_holder
def test_the_true_volumes_repair_what_one_label_gets_wrong(name: str) -> None:
    sizes = (90, 20, 40)
    prior = np.array(sizes) / 150
    problem, codes = blob_problem(sizes, gap=3.5, prior=prior, exact=True, seed=2)
    poisson = (found("poisson", replace(problem, exact=False)) != codes).mean()
    assert (found(name, problem) != codes).mean() < poisson


@every_holder
def test_sizes_of_points_count_as_rows(name: str) -> None:
    problem, _ = blob_problem(gap=2.5, prior=(0.5, 0.25, 0.25), exact=True)
    sizes = np.where(np.arange(120) < 40, 2.0, 1.0)  # 160 rows
    codes = found(name, replace(problem, sizes=sizes))
    assert_allclose(np.bincount(codes, sizes, 3), [80, 40, 40], atol=1)


@every_method
def test_permuted_classes_and_points_permute_the_classes(name: str) -> None:
    problem, _ = blob_problem(gap=4.0, sizes=(30, 20, 25))
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(75), rng.permutation(3)
    places = np.argsort(rows)
    labeled = {
        int(places[i]): int(np.flatnonzero(columns == k)[0])
        for i, k in zip(problem.index, problem.codes, strict=True)
    }
    W = problem.graph.affinity.toarray()[np.ix_(rows, rows)]  # type: ignore[attr-defined]
    moved = found(name, graph_problem(W, labeled, 3))
    assert (columns[moved] == found(name, problem)[rows]).mean() > 0.97


@every_method
@pytest.mark.parametrize("exact", [False, True])
def test_parts_without_a_label_are_finite(name: str, exact: bool) -> None:
    W = np.kron(np.eye(4), np.ones((5, 5)))
    W[-1], W[:, -1] = 0, 0  # a point alone
    problem = graph_problem(W, {0: 0, 5: 1}, 2, exact=exact)
    partition = PARTITIONS[name].solve(problem)
    assert np.isfinite(partition.state).all()
    codes = partition.codes
    assert_array_equal(codes[[0, 5]], [0, 1])
    if exact:
        assert_allclose(np.bincount(codes, minlength=2), 10, atol=6)  # parts move as a whole
    else:
        assert_array_equal(codes[:10], np.repeat([0, 1], 5))


@every_method
@pytest.mark.parametrize("prior", [None, (0.2, 0.8)])
def test_the_units_of_the_weights_do_not_count(name: str, prior: Any) -> None:
    """Nor on a graph of two parts, one of which has labels of one class alone."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((40, 2)), rng.standard_normal((20, 2)) + 50])
    order = np.argsort(X[:40, 0])
    labeled = {int(i): 0 for i in order[:2]} | {int(i): 1 for i in (*order[-2:], 40, 41)}
    W = KNNGraph(6, weights="steep").affinity(X)
    answers = [
        found(name, graph_problem(W * unit, labeled, 2, prior, exact=prior is not None))
        for unit in (1.0, 2.0**-10, 2.0**10)
    ]
    for answer in answers[1:]:
        assert_array_equal(answer, answers[0])


@every_method
def test_the_largest_share_is_that_of_the_class(name: str) -> None:
    for seed in range(2):
        problem, _ = blob_problem((30, 30, 30), gap=2.0, seed=seed, exact=True, dtype=np.float32)
        partition = PARTITIONS[name].solve(problem)
        codes = partition.codes
        assert_array_equal(partition.shares.argmax(axis=1), codes)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_class_that_ties_or_lags_is_raised_to_be_the_first_largest(dtype: Any) -> None:
    values = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.1, 0.9, 0.0]], dtype=dtype)
    given = values.copy()
    found = enforce_codes(values, np.array([1, 0, 1]))
    assert_array_equal(found.argmax(axis=1), [1, 0, 1])
    assert_allclose(found[:, 0], [0.5, 0.5, 0.1], rtol=1e-6)
    assert_array_equal(found[2], given[2])
    assert_array_equal(values, given)


@every_method
def test_a_class_may_have_all_of_its_points_labelled(name: str) -> None:
    problem, codes = blob_problem((40, 40, 7), gap=9.0)
    index = np.append(problem.index, np.flatnonzero(codes == 2)[1:])
    problem = replace(
        problem, index=index, labels=np.eye(3)[codes[index]], weights=np.ones(len(index))
    ).with_prior(np.array([40, 40, 7]) / 87, exact=True)
    partition = PARTITIONS[name].solve(problem)
    assert np.isfinite(partition.state).all()
    assert_array_equal(partition.codes, codes)


@every_method
def test_a_graph_without_edges_gives_an_answer(name: str) -> None:
    problem = graph_problem(np.zeros((6, 6)), {0: 0, 1: 1}, 2)
    partition = PARTITIONS[name].solve(problem)
    assert np.isfinite(partition.state).all()
    assert_array_equal(partition.state[:2].argmax(axis=1), [0, 1])


@every_method
def test_all_points_may_be_labelled(name: str) -> None:
    W = np.ones((4, 4))
    problem = graph_problem(W, {0: 0, 1: 1, 2: 0, 3: 1}, 2)
    assert_array_equal(found(name, problem), [0, 1, 0, 1])
