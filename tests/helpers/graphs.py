"""Oracles of neighbour graphs: all distances, sorted."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

Array = np.ndarray[Any, Any]

needs_faiss = pytest.mark.skipif(
    find_spec("faiss") is None, reason="faiss is not installed (extra 'ann')"
)
BACKENDS = ["sklearn", pytest.param("faiss", marks=needs_faiss)]


def gaussian_affinity(X: Any) -> Array:
    """A dense affinity with its loops, far points unjoined."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    W = np.exp(-(cdist(X, X) ** 2))
    W[W < 0.05] = 0
    return W


def inverse(distances: Array) -> Array:
    """A weight function of a user."""
    return 1 / (1 + distances)


def nearest_distances(X: Array, k: int, metric: str = "euclidean") -> Array:
    """Distances to the k nearest other points, by sorting all of them."""
    D = cdist(X, X, metric)
    np.fill_diagonal(D, np.inf)
    return np.sort(D, axis=1)[:, :k]


def check_neighbors(
    X: Array, k: int, found: Any, metric: str = "euclidean", rtol: float = 1e-7
) -> None:
    n, atol = len(X), 1e-5 * rtol
    assert found.indices.shape == found.distances.shape == (n, k)
    assert not (found.indices == np.arange(n)[:, None]).any()
    for row in found.indices:
        assert len(set(row.tolist())) == k
    assert_allclose(found.distances, nearest_distances(X, k, metric), rtol=rtol, atol=atol)
    own = np.take_along_axis(cdist(X, X, metric), found.indices, axis=1)
    assert_allclose(found.distances, own, rtol=rtol, atol=atol)


def anchor_laplacian(Z: Any) -> Array:
    """I - Z diag(Z'1)^-1 Z', formed, of sparse weights Z over the anchors."""
    Z = Z.toarray()
    return np.eye(len(Z)) - Z @ np.diag(1 / Z.sum(axis=0)) @ Z.T
