"""Principal components before the neighbour search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lapwing.graphs import KNNGraph
from tests.helpers.data import gaussian_points
from tests.helpers.graphs import check_neighbors, nearest_distances


def principal(X: np.ndarray, m: int) -> np.ndarray:
    centred = X.astype(float) - X.mean(axis=0, dtype=float)
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    return np.asarray((U * s)[:, :m])


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("shape", [(200, 12), (30, 50)])  # more points than features, and fewer
def test_components_reduce_the_points(metric: str, shape: tuple[int, int]) -> None:
    X = gaussian_points(*shape) * np.arange(1, shape[1] + 1)
    found = KNNGraph(6, n_components=4, metric=metric).neighbors(X)
    check_neighbors(principal(X, 4), 6, found, metric)
    assert (found.distances < KNNGraph(6).neighbors(X).distances).any()


@pytest.mark.parametrize("m", [4, 7])
@pytest.mark.parametrize("offset", [0.0, 1e6])  # X'X less its mean would lose all digits
def test_an_offset_changes_no_component(offset: float, m: int) -> None:
    X = gaussian_points(100, 7)
    found = KNNGraph(5, n_components=m).neighbors(X + offset)
    assert_allclose(found.distances, nearest_distances(principal(X, m), 5), rtol=1e-8)


def test_components_are_exact_for_any_seed() -> None:
    """scikit-learn would take random projections."""
    X = gaussian_points(520, 60).astype(np.float32)
    before = X.copy()
    for seed in (0, None):
        found = KNNGraph(5, n_components=8, random_state=seed).neighbors(X)
        assert_allclose(found.distances, nearest_distances(principal(X, 8), 5), 1e-4)
    assert_array_equal(X, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_components_of_points_that_are_all_equal(dtype: Any) -> None:
    found = KNNGraph(3, n_components=1).neighbors(np.full((12, 2), 0.1, dtype=dtype))
    assert_array_equal(found.distances, 0)


@pytest.mark.parametrize(("scale", "dtype"), [(1e307, np.float64), (1e30, np.float32)])
def test_rejects_components_of_points_whose_squares_overflow(scale: float, dtype: Any) -> None:
    X = (gaussian_points() / 10 * scale).astype(dtype)
    with pytest.raises(ValueError, match=r"whose squares overflow float\d\d in the principal"):
        KNNGraph(3, n_components=2).affinity(X)


def test_the_memory_of_components_is_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "1k")
    with pytest.raises(MemoryError, match=r"Principal components of 40 x 4 points needs"):
        KNNGraph(3, n_components=2).affinity(gaussian_points())
