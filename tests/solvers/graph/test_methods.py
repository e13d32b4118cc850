"""Properties of all partition methods and of refined partitions."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lapwing.classes.decoding import enforce_codes
from lapwing.graphs import KNNGraph
from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.base import Status
from lapwing.solvers.graph.propagation import laplace
from lapwing.solvers.graph.refine import refine
from lapwing.solvers.graph.registry import PARTITIONS
from tests.helpers.volumes import blob_problem, dense, graph_problem, permuted

SOLVERS = {name: method.solve for name, method in PARTITIONS.items()}
SOLVERS["refine"] = lambda problem: refine(problem, laplace(problem).state)
HOLDS_VOLUMES = [*(name for name, each in PARTITIONS.items() if each.holds_volumes), "refine"]

every_method = pytest.mark.parametrize("name", SOLVERS)
every_holder = pytest.mark.parametrize("name", HOLDS_VOLUMES)


def found(name: str, problem: VolumeProblem) -> np.ndarray:
    return np.asarray(SOLVERS[name](problem).codes)


def test_the_documentation_lists_the_methods() -> None:
    page = "docs/guide/volumes.md"
    text = (Path(__file__).resolve().parents[3] / page).read_text(encoding="utf-8")
    table = text.partition("\n## Methods\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`'.*?) \|", table, re.MULTILINE)
    listed = re.findall(r"`'([\w-]+)'`", " ".join(rows))
    assert sorted(listed) == sorted(PARTITIONS), f"Methods in {page}"


@every_method
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_finds_separate_blobs_without_overflow_or_underflow(name: str, dtype: Any) -> None:
    for exact in (False, True):
        problem, codes = blob_problem((20, 20, 20), gap=9.0, labels=2, exact=exact, dtype=dtype)
        with np.errstate(all="raise"):
            partition = SOLVERS[name](problem)
        assert_array_equal(partition.codes, codes)
        assert partition.shares.dtype == dtype
        assert_allclose(partition.shares.sum(axis=1), 1, rtol=1e-5)
        assert_array_equal(partition.shares[problem.index], problem.labels)
        assert partition.status in (Status.CONVERGED, Status.MAX_ITER)
        assert partition.n_iter >= 1


@every_method
def test_objective_decreases(name: str) -> None:
    problem, _ = blob_problem(gap=3.0, seed=3)
    for exact in (False, True):
        partition = SOLVERS[name](replace(problem, exact=exact))
        values = np.ravel(partition.history["objective"])
        assert np.isfinite(values).all()
        assert (np.diff(values) < 0).all()
        assert values[-1] == partition.objective


@every_holder
def test_volumes_are_weighted_by_sizes(name: str) -> None:
    problem, _ = blob_problem(gap=2.5, prior=(0.5, 0.25, 0.25), exact=True)
    sizes = np.where(np.arange(120) < 40, 2.0, 1.0)  # 160 rows
    codes = found(name, replace(problem, sizes=sizes))
    assert_allclose(np.bincount(codes, sizes, 3), [80, 40, 40], atol=1)


@every_method
@pytest.mark.parametrize("exact", [False, True])
def test_permuted_classes_and_points_permute_the_answer(name: str, exact: bool) -> None:
    prior = np.array([30, 20, 25]) / 75
    problem, _ = blob_problem((30, 20, 25), gap=4.0, prior=prior, exact=exact)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(75), rng.permutation(3)
    moved = found(name, permuted(problem, rows, columns))
    assert (columns[moved] == found(name, problem)[rows]).mean() > 0.97


@every_method
def test_labels_are_kept_and_count_in_known_volumes(name: str) -> None:
    problem, codes = blob_problem(gap=6.0)
    wrong = np.flatnonzero(codes == 0)[5:9]
    labeled = {int(i): int(codes[i]) for i in problem.index} | {int(i): 2 for i in wrong}
    partition = SOLVERS[name](graph_problem(dense(problem), labeled, 3, exact=True))
    assert_array_equal(partition.codes[wrong], 2)
    assert_array_equal(partition.codes[problem.index], problem.codes)
    assert_allclose(np.bincount(partition.codes), 40, atol=1e-6)


@every_method
@pytest.mark.parametrize("exact", [False, True])
def test_components_without_a_label_have_finite_scores(name: str, exact: bool) -> None:
    W = np.kron(np.eye(4), np.ones((5, 5)))
    W[-1], W[:, -1] = 0, 0  # a point alone
    problem = graph_problem(W, {0: 0, 5: 1}, 2, exact=exact)
    partition = SOLVERS[name](problem)
    assert np.isfinite(partition.state).all()
    codes = partition.codes
    assert_array_equal(codes[[0, 5]], [0, 1])
    if exact:
        assert_allclose(np.bincount(codes, minlength=2), 10, atol=6)  # parts move as a whole
    else:
        assert_array_equal(codes[:10], np.repeat([0, 1], 5))


@every_method
@pytest.mark.parametrize("prior", [None, (0.2, 0.8)])
def test_answer_is_independent_of_the_unit_of_weights(name: str, prior: Any) -> None:
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
def test_class_has_the_largest_share(name: str) -> None:
    for seed in range(2):
        problem, _ = blob_problem((30, 30, 30), gap=2.0, seed=seed, exact=True, dtype=np.float32)
        partition = SOLVERS[name](problem)
        codes = partition.codes
        assert_array_equal(partition.shares.argmax(axis=1), codes)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_enforce_codes_raises_the_value_of_the_class(dtype: Any) -> None:
    values = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.1, 0.9, 0.0]], dtype=dtype)
    given = values.copy()
    found = enforce_codes(values, np.array([1, 0, 1]))
    assert_array_equal(found.argmax(axis=1), [1, 0, 1])
    assert_allclose(found[:, 0], [0.5, 0.5, 0.1], rtol=1e-6)
    assert_array_equal(found[2], given[2])
    assert_array_equal(values, given)


@every_method
def test_class_with_all_points_labelled(name: str) -> None:
    problem, codes = blob_problem((40, 40, 7), gap=9.0)
    index = np.append(problem.index, np.flatnonzero(codes == 2)[1:])
    problem = replace(
        problem, index=index, labels=np.eye(3)[codes[index]], weights=np.ones(len(index))
    ).with_prior(np.array([40, 40, 7]) / 87, exact=True)
    partition = SOLVERS[name](problem)
    assert np.isfinite(partition.state).all()
    assert_array_equal(partition.codes, codes)


@every_method
def test_graphs_without_edges_or_unlabelled_points(name: str) -> None:
    for W, codes in ((np.zeros((6, 6)), [0, 1]), (np.ones((4, 4)), [0, 1, 0, 1])):
        partition = SOLVERS[name](graph_problem(W, dict(enumerate(codes)), 2))
        assert np.isfinite(partition.state).all()
        assert_array_equal(partition.codes[: len(codes)], codes)
        assert_array_equal(partition.state[: len(codes)].argmax(axis=1), codes)
