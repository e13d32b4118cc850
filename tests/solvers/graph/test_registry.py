"""Reordered points give the same answers, and forecasts of memory hold."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from lapwing import LapERLSClassifier
from lapwing.graphs.laplacian import near_order
from lapwing.solvers.graph import partition as partition_module
from lapwing.solvers.graph import registry as registry_module
from lapwing.solvers.graph.registry import PARTITIONS, in_order, order_bytes, partition_bytes
from tests.helpers.data import labeled_clusters
from tests.helpers.volumes import blob_problem


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_module, "_CACHED", 0)


def test_few_points_keep_their_order() -> None:
    problem, _ = blob_problem()
    ordered = in_order(problem)
    rows = np.arange(problem.n_points)
    assert ordered.problem is problem
    assert order_bytes(problem) == 0
    assert_array_equal(ordered.there(rows), rows)
    assert_array_equal(ordered.back(rows), rows)


@pytest.mark.usefixtures("always")
def test_reordered_problem_is_consistent() -> None:
    problem, codes = blob_problem(gap=3.0)
    sizes = np.random.default_rng(0).integers(1, 5, problem.n_points).astype(float)
    problem = replace(problem, sizes=sizes)
    ordered = in_order(problem)
    moved, order = ordered.problem, ordered.order
    assert order is not None
    assert_array_equal(np.sort(order), np.arange(problem.n_points))
    assert_array_equal(ordered.back(ordered.there(codes)), codes)
    assert order_bytes(problem) == moved.graph.nbytes
    assert_array_equal(moved.sizes, sizes[order])
    assert_array_equal(order[moved.index], problem.index)
    assert_array_equal(moved.labels, problem.labels)
    W = problem.graph.affinity.toarray()  # type: ignore[attr-defined]
    assert_array_equal(moved.graph.affinity.toarray(), W[np.ix_(order, order)])  # type: ignore[attr-defined]
    assert_array_equal(moved.graph.masses, problem.graph.masses[order])
    assert_array_equal(moved.graph.degrees, problem.graph.degrees[order])
    values = np.random.default_rng(1).standard_normal((problem.n_points, 2))
    assert_allclose(
        ordered.back(moved.graph.neighbors(ordered.there(values))), problem.graph.neighbors(values)
    )


@pytest.mark.usefixtures("always")
def test_order_places_neighbors_close() -> None:
    problem, _ = blob_problem(gap=3.0)
    mixed = np.random.default_rng(0).permutation(problem.n_points)
    graph = problem.graph.restrict(mixed)
    _, found = graph.ordered

    def distance(W) -> float:  # type: ignore[no-untyped-def]
        entries = W.tocoo()
        return float(np.abs(entries.row - entries.col).mean())

    assert distance(found.affinity) < distance(graph.affinity) / 2  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", PARTITIONS)
def test_methods_are_independent_of_the_order(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, codes = blob_problem(gap=9.0)
    before = PARTITIONS[name].solve(problem)
    monkeypatch.setattr(registry_module, "_CACHED", 0)
    given = []
    solve = PARTITIONS[name].solve
    after = in_order(problem).solve(lambda moved: (given.append(moved), solve(moved))[1])
    assert (given[0].index != problem.index).any()
    assert_array_equal(after.codes, codes)
    assert_allclose(after.shares, before.shares, atol=0.02)
    assert_allclose(after.objective, before.objective, rtol=1e-3)


def test_refined_answer_is_independent_of_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = labeled_clusters(3, n_labels=4)
    before, after = (LapERLSClassifier(class_prior="uniform", refine="cut") for _ in range(2))
    before.fit(X, y)
    monkeypatch.setattr(registry_module, "_CACHED", 0)
    after.fit(X, y)
    assert after.refined_
    assert (after.transduction_ == before.transduction_).mean() > 0.98
    assert_allclose(after.cut_history_, before.cut_history_, rtol=1e-3)
    assert_array_equal(after.transduction_[y >= 0], y[y >= 0])
    assert_allclose(after.decision_function(X), before.decision_function(X), atol=0.2)


def test_graphs_with_hubs_keep_their_order() -> None:
    n = 3000
    star = np.zeros(n - 1, dtype=int), np.arange(1, n)
    W = sp.csr_array((np.ones(n - 1), star), shape=(n, n))
    ring = sp.csr_array((np.ones(n), (np.arange(n), np.roll(np.arange(n), 1))), shape=(n, n))
    hub, joined = sp.csr_array(W + W.T), sp.csr_array(ring + ring.T)
    assert_array_equal(near_order(hub), np.arange(n))
    assert (near_order(joined) != np.arange(n)).any()


@pytest.mark.parametrize("large", [False, True])
def test_memory_is_within_the_forecast(monkeypatch: pytest.MonkeyPatch, large: bool) -> None:
    if large:
        monkeypatch.setattr(partition_module, "_LARGE", 0)
        monkeypatch.setattr(partition_module, "COLUMNS", 4)
    problem, _ = blob_problem((50,) * 16, gap=30.0, exact=True, dtype=np.float32)
    tracemalloc.start()
    PARTITIONS["flow"].solve(problem)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= partition_bytes(problem)
