"""Degree-weighted operators, against dense matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.csgraph import connected_components

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


@pytest.mark.parametrize(("dtype", "atol"), [(np.float32, 1e-4), (np.float64, 1e-12)])
def test_operators_are_those_of_the_dense_matrices(W: np.ndarray, dtype: Any, atol: float) -> None:
    graph, degrees = Diffusion.of(Laplacian.from_affinity(W, power=2, dtype=dtype)), W.sum(axis=1)
    L, walk = np.diag(degrees) - W, W / np.maximum(degrees, 1e-9)[:, None]
    walk[degrees == 0, degrees == 0] = 1.0
    shifted = np.diag(np.arange(30.0)) + 3 * L
    held = shifted.copy()
    held[[0, 9]] = 0
    graph.shifted(np.ones(30), 0.5)  # leaves nothing behind
    F = np.random.default_rng(0).standard_normal((30, 3)).astype(dtype)
    for found, matrix in (
        (graph.neighbors(F), W),
        (graph.laplacian(F), L),
        (graph.walk(F), walk),
        (graph.shifted(np.arange(30.0), 3.0)(F), shifted),
        (graph.shifted(np.arange(30.0), 3.0, np.array([0, 9]))(F), held),
    ):
        assert found.dtype == dtype
        assert_allclose(found, matrix @ F, atol=atol)
    assert graph.degrees.dtype == np.float64
    assert_allclose(graph.affinity.toarray(), W, atol=atol)


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


def test_a_part_of_the_graph_has_its_own_degrees_and_components(W: np.ndarray) -> None:
    rows = np.array([3, 1, 7, 12, 20, 21])
    part, dense = diffusion(W).restrict(rows), W[np.ix_(rows, rows)]
    assert_allclose(part.affinity.toarray(), dense)
    assert_allclose(part.degrees, dense.sum(axis=1))
    _, expected = connected_components(dense)
    assert_array_equal(part.component_labels, expected)
