"""Neighbours of points beside values of another magnitude."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from lapwing.graphs import KNNGraph
from tests.helpers.data import gaussian_points
from tests.helpers.graphs import needs_faiss


def true_neighbors(X: Any, k: int) -> np.ndarray:
    lengths = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    np.fill_diagonal(lengths, np.inf)
    return np.argsort(lengths, axis=1)[:, :k]


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("far", [1e8, 1e12, 1e18])
@pytest.mark.parametrize("d", [4, 30])
def test_neighbors_beside_a_row_far_off(container: Any, far: float, d: int) -> None:
    X = gaussian_points(60, d)
    found = KNNGraph(5, backend="sklearn").neighbors(container(np.vstack([X, np.full(d, far)])))
    assert found.recall == 1
    assert_array_equal(found.indices[:60], true_neighbors(X, 5))


@needs_faiss
@pytest.mark.parametrize("far", [1e8, 1e12, 1e18])
def test_neighbors_beside_a_row_far_off_by_faiss(far: float) -> None:
    X = gaussian_points(60, 30)
    found = KNNGraph(5, backend="faiss").neighbors(np.vstack([X, np.full(30, far)]))
    assert_array_equal(found.indices[:60], true_neighbors(X, 5))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_points_with_a_column_far_from_0(dtype: Any) -> None:
    X = np.round(gaussian_points(200) * 64) / 64
    X[:, 2] = np.where(X[:, 2] > 0, X[:, 2], 0)
    moved = (X + np.array([1e5, 0, 0, 0])).astype(dtype)  # exact in float32
    found = KNNGraph(5).neighbors(sp.csr_array(moved))
    assert_allclose(found.distances, KNNGraph(5).neighbors(X).distances, rtol=1e-6)
