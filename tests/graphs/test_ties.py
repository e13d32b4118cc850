"""Ties of distances, and independence of the order of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.preprocessing import StandardScaler

from lapwing.graphs import AnchorGraph, Anchors, KNNGraph, search
from tests.helpers.graphs import needs_faiss


def one_hot(n: int = 150, levels: int = 4, features: int = 4, seed: int = 0) -> np.ndarray:
    """Different one-hot rows: few different distances between them."""
    rng = np.random.default_rng(seed)
    codes = np.unique(rng.integers(0, levels, (n, features)) ** 2 // levels, axis=0)
    return np.eye(levels)[rng.permutation(codes)].reshape(len(codes), -1)


TIED = {
    "one-hot": one_hot(),
    "standardised": StandardScaler().fit_transform(one_hot()[:, 1:]),
    "binary": np.unique(np.random.default_rng(0).integers(0, 2, (150, 12)), axis=0).astype(float),
    "grid": np.array([(a, b) for a in range(1, 10) for b in range(1, 9)], dtype=float),
}
SEARCHES = [
    pytest.param({"backend": "sklearn"}, id="sklearn"),
    pytest.param({"backend": "faiss"}, id="faiss", marks=needs_faiss),
    pytest.param({"metric": "cosine"}, id="cosine"),
    pytest.param({"metric": "manhattan"}, id="manhattan"),
]


def shuffled(X: Any, recipe: KNNGraph, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The affinity of some points, and that of the same points in another order, turned back."""
    order = np.random.default_rng(seed).permutation(X.shape[0])
    back = np.argsort(order)
    return recipe.affinity(X).toarray(), recipe.affinity(X[order]).toarray()[back][:, back]


@pytest.mark.parametrize("bound", [64, 7])
@pytest.mark.parametrize("arguments", SEARCHES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", TIED)
def test_the_order_of_rows_does_not_matter_where_distances_tie(
    name: str, dtype: Any, arguments: dict[str, Any], bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_FACTOR", 1)
    monkeypatch.setattr(search, "_LEAST", bound)
    X = TIED[name].astype(dtype)
    for k in (2, 5):
        W, V = shuffled(X, KNNGraph(k, **arguments))
        assert_allclose(V, W, rtol=1e-6, atol=1e-12)
    if arguments == {"backend": "sklearn"}:
        W, V = shuffled(sp.csr_array(X), KNNGraph(5))
        assert_allclose(V, W, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("arguments", SEARCHES)
@pytest.mark.parametrize("name", ["one-hot", "binary", "grid"])
def test_all_points_at_the_kth_distance_are_found(name: str, arguments: dict[str, Any]) -> None:
    X = TIED[name]
    metric = arguments.get("metric", "euclidean")
    lengths = cdist(X, X, "cityblock" if metric == "manhattan" else metric)
    np.fill_diagonal(lengths, np.inf)
    recipe = KNNGraph(3, weights="binary", **arguments)
    within = lengths <= np.sort(lengths, axis=1)[:, 2:3] + 1e-9
    assert within.sum(axis=1).max() <= search.most_neighbors(3)  # all of them can be kept
    assert within.sum(axis=1).max() > 3
    assert_array_equal(recipe.affinity(X).toarray() > 0, within | within.T)
    found = recipe.neighbors(X)
    assert len(found.tied) == (within.sum(axis=1) - 3).sum()


@pytest.mark.parametrize("arguments", SEARCHES)
def test_no_more_ties_than_a_bound_are_kept(arguments: dict[str, Any]) -> None:
    X = np.eye(150)  # all are equally far
    for k in (5, 20):
        found = KNNGraph(k, **arguments).neighbors(X)
        starts, counts = np.unique(found.tied[:, 0], return_counts=True)
        assert_array_equal(starts, np.arange(150))
        assert_array_equal(counts + k, search.most_neighbors(k))
        for i in range(150):
            mine = [*found.indices[i], *found.tied[found.tied[:, 0] == i, 1]]
            assert len({*mine, i}) == len(mine) + 1
    degrees = KNNGraph(5, weights="binary", **arguments).affinity(X).sum(axis=1)
    assert degrees.max() < 149  # no point is everybody's choice


@needs_faiss
def test_an_approximate_search_keeps_the_ties_that_it_finds() -> None:
    X = np.random.default_rng(0).integers(0, 2, (3000, 16)).astype(np.float32)
    found = KNNGraph(5, approximate=True).neighbors(X)
    assert len(found.tied) > 0
    assert_allclose(
        ((X[found.tied[:, 0]] - X[found.tied[:, 1]]) ** 2).sum(axis=1),
        found.distances[found.tied[:, 0], -1] ** 2,
        rtol=1e-5,
    )


# --- anchors ---


@pytest.mark.parametrize("weights", ["kernel", "embedding"])
@pytest.mark.parametrize("anchors", ["kmeans", "random"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_order_of_rows_does_not_matter(dtype: Any, anchors: str, weights: str) -> None:
    X = one_hot(500, features=5).astype(dtype)
    rows = np.random.default_rng(1).permutation(len(X))
    recipe = AnchorGraph(20, anchors=anchors, weights=weights)
    (first, Z), (other, turned) = recipe.weigh(X), recipe.weigh(X[rows])
    assert_allclose(other.points, first.points, atol=1e-6)
    assert_allclose(turned.toarray(), Z[rows].toarray(), atol=1e-5 if dtype == np.float32 else 1e-6)


def test_the_first_of_equally_distant_anchors_are_taken() -> None:
    anchors = Anchors(np.eye(30), 3, "kernel", 1.0)
    X = np.vstack([np.zeros(30), np.full(30, 0.1), np.eye(30)[7]])
    squared, indices = anchors.nearest(X)
    assert_array_equal(indices, [[0, 1, 2], [0, 1, 2], [7, 0, 1]])
    assert_allclose(squared[0], 1)
    assert_allclose(squared[2], [0, 2, 2])
