"""Degree-weighted operators, against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from lapwing.graphs import Laplacian
from lapwing.graphs.diffusion import Diffusion
from tests.helpers.graphs import gaussian_affinity


@pytest.fixture(name="W")
def sparse_affinity() -> np.ndarray:
    dense = gaussian_affinity(np.random.default_rng(0).standard_normal((30, 2)))
    dense[dense < np.quantile(dense, 0.7)] = 0
    dense[7] = dense[:, 7] = 0  # alone
    np.fill_diagonal(dense, 0)
    return np.asarray(dense)


def diffusion(W: np.ndarray) -> Diffusion:
    return Diffusion.of(Laplacian.from_affinity(W, power=2))


def test_operators_are_those_of_the_dense_matrices(W: np.ndarray) -> None:
    graph, d = diffusion(W), W.sum(axis=1)
    F = np.random.default_rng(0).standard_normal((30, 3))
    assert_allclose(graph.neighbors(F), W @ F)
    assert_allclose(graph.laplacian(F), np.diag(d) @ F - W @ F, atol=1e-12)
    walked = graph.walk(F)
    assert_array_equal(walked[7], F[7])
    joined = d > 0
    assert_allclose(walked[joined], (W @ F)[joined] / d[joined, None])


@pytest.mark.parametrize("held", [None, np.array([0, 9])])
def test_the_shifted_operator_is_that_of_the_dense_matrix(
    W: np.ndarray, held: np.ndarray | None
) -> None:
    shift = np.arange(30.0)
    expected = np.diag(shift) + 3 * (np.diag(W.sum(axis=1)) - W)
    if held is not None:
        expected[held] = 0
    F = np.random.default_rng(0).standard_normal((30, 3))
    graph = diffusion(W)
    graph.shifted(np.ones(30), 0.5)  # leaves nothing behind
    assert_allclose(graph.shifted(shift, 3.0, held)(F), expected @ F, atol=1e-12)
    assert_array_equal(graph.affinity.toarray(), W)


def test_isolated_points_have_the_median_mass(W: np.ndarray) -> None:
    d = W.sum(axis=1)
    assert diffusion(W).masses[7] == np.median(d[d > 0])
    assert_array_equal(diffusion(np.zeros((3, 3))).masses, np.ones(3))


def test_votes_and_cuts_sum_edges(W: np.ndarray) -> None:
    graph, rng = diffusion(W), np.random.default_rng(1)
    codes = rng.integers(0, 3, 30)
    Y = np.eye(3)[codes]
    assert_allclose(graph.cuts(codes, 3), Y.T @ W @ Y)
    assert graph.cut(codes) == pytest.approx(W[codes[:, None] != codes].sum() / 2)
    rows = np.array([0, 7, 9])
    votes = graph.vote(Y, rows)
    assert_allclose(votes[[0, 2]], (W @ Y)[[0, 9]] / W.sum(axis=1)[[0, 9], None])
    assert not votes[1].any()
    assert_array_equal(graph.vote(sp.csr_array(Y), rows), votes)


def test_a_part_of_the_graph_has_its_own_degrees(W: np.ndarray) -> None:
    rows = np.array([3, 1, 12, 20, 21])
    part, dense = diffusion(W).restrict(rows), W[np.ix_(rows, rows)]
    assert_allclose(part.affinity.toarray(), dense)
    assert_allclose(part.degrees, dense.sum(axis=1))


def test_single_precision_stays(W: np.ndarray) -> None:
    graph = Diffusion.of(Laplacian.from_affinity(W, dtype=np.float32))
    assert graph.walk(np.ones((30, 2), np.float32)).dtype == np.float32
    assert graph.shifted(np.ones(30), 2.0)(np.ones((30, 2), np.float32)).dtype == np.float32
    assert graph.degrees.dtype == np.float64


def test_components_are_those_of_the_affinity() -> None:
    W = sp.block_array([[np.ones((2, 2)), None], [None, np.ones((3, 3))]]).toarray()
    assert_array_equal(diffusion(W).component_labels, [0, 0, 1, 1, 1])
