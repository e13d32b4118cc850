"""Edge weights against their formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from lapwing.graphs import KNNGraph, Laplacian
from tests.helpers.data import gaussian_points
from tests.helpers.graphs import nearest_distances


def directed(X: np.ndarray, k: int) -> np.ndarray:
    """Matrix of the lengths of the directed edges, NaN where there is none."""
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    return np.where(nearest_distances(X, k)[:, -1:] * (1 + 1e-9) >= D, D, np.nan)


def cut(distances: np.ndarray) -> np.ndarray:
    """A weight function of a user: of lengths of edges, some of which it removes."""
    return np.where(distances > 1, 0.0, 1 / (1 + distances))


def test_weights_are_their_formulas() -> None:
    X, k = gaussian_points(60, 3), 5
    X[:6] = X[0]  # more than k duplicates
    A = directed(X, k)
    either = np.fmax(A, A.T)  # the length where there is an edge one way at least
    t = np.nanmean(A)
    s = np.nanmax(A, axis=1)
    s[:6] = s[6:].min()  # and not 0, which would cut them off
    assert (A[6:, 0] > 0).any()
    expected: dict[Any, np.ndarray] = {
        "heat": np.exp(-(either**2) / (2 * t**2)),
        "binary": np.where(np.isnan(either), np.nan, 1.0),
        "self-tuning": np.exp(-(either**2) / np.outer(s, s)),
        "steep": np.exp(-4 * either**2 / np.outer(s, s)),
        cut: np.where(either > 1, 0.0, 1 / (1 + either)),
    }
    for weights, W in expected.items():
        found = KNNGraph(k, weights=weights).affinity(X)
        assert_allclose(found.toarray(), np.nan_to_num(W), rtol=1e-12)
        assert (found.data > 0).all()
        both = np.nan_to_num(np.where(np.isnan(A) | np.isnan(A.T), np.nan, W))
        mutual = KNNGraph(k, weights=weights, mutual=True).affinity(X)
        assert_allclose(mutual.toarray(), both, rtol=1e-12)


@pytest.mark.parametrize("weights", ["heat", "self-tuning", "steep"])
def test_nothing_but_duplicates_gives_weights_of_one(weights: str) -> None:
    W = KNNGraph(3, weights=weights).affinity(np.ones((6, 2)))
    assert_array_equal(W.data, 1)
    assert (np.diff(W.indptr) >= 3).all()


@pytest.mark.parametrize("weights", ["heat", "self-tuning", "steep"])
def test_no_edge_is_lost_to_underflow(weights: str) -> None:
    X = np.vstack([gaussian_points(400, 2), [[1e4, 0]]])
    W = KNNGraph(5, weights=weights).affinity(X)
    degree = np.diff(W.indptr)
    assert degree[-1] == 5
    assert W.data.min() > 0
    assert W.astype(np.float32).data.min() > 0
    L = Laplacian.from_affinity(W, dtype=np.float32)
    assert np.isfinite(L.apply(np.ones(401, dtype=np.float32))).all()
