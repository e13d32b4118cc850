"""Neighbours of points beside values of another magnitude."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from lapwing.graphs import KNNGraph
from tests.helpers.data import gaussian_points
from tests.helpers.graphs import check_neighbors, needs_faiss


@pytest.mark.parametrize("far", [1e8, 1e12, 1e18])
@pytest.mark.parametrize(
    ("backend", "container", "d"),
    [
        *(("sklearn", container, d) for container in (np.asarray, sp.csr_array) for d in (4, 30)),
        pytest.param("faiss", np.asarray, 30, marks=needs_faiss),
    ],
)
def test_neighbors_beside_a_row_far_off(backend: str, container: Any, d: int, far: float) -> None:
    X = gaussian_points(60, d)
    found = KNNGraph(5, backend=backend).neighbors(container(np.vstack([X, np.full(d, far)])))
    assert found.recall == 1
    check_neighbors(
        X, 5, replace(found, indices=found.indices[:60], distances=found.distances[:60])
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_points_with_a_column_far_from_0(dtype: Any) -> None:
    X = np.round(gaussian_points(200) * 64) / 64
    X[:, 2] = np.where(X[:, 2] > 0, X[:, 2], 0)
    moved = (X + np.array([1e5, 0, 0, 0])).astype(dtype)  # exact in float32
    found = KNNGraph(5).neighbors(sp.csr_array(moved))
    assert_allclose(found.distances, KNNGraph(5).neighbors(X).distances, rtol=1e-6)
