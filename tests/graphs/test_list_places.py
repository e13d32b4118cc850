"""Search for the nearest lists by groups of their centres."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from lapwing.graphs import row_search
from lapwing.graphs.ann import ListPlaces, centers_of_lists
from lapwing.graphs.row_search import RowPoints, _CodeSearch
from tests.helpers.rows import ArrayRows

faiss = pytest.importorskip("faiss", reason="faiss is not installed")


def sheet(n: int, d: int = 12, seed: int = 0) -> Any:
    """Points of three dimensions in d."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1, 1, (n, 3))
    bent = np.hstack([t, np.cos(3 * t), np.sin(4 * t[:, :1] * t[:, 1:2])])
    frame = np.random.default_rng(7).standard_normal((bent.shape[1], d))
    return (bent @ frame + 0.05 * rng.standard_normal((n, d))).astype(np.float32)


def nearest_of_all(X: Any, centers: Any) -> Any:
    return ((X[:, None] - centers) ** 2).sum(axis=2)


def test_finds_nearly_all_of_many_lists() -> None:
    X, centers = sheet(500), sheet(2000, seed=1)
    places = ListPlaces.of(faiss, centers, 0)
    true = np.argsort(nearest_of_all(X, centers), axis=1)
    assert (places.nearest(X, 1)[:, 0] == true[:, 0]).mean() > 0.98
    found = places.nearest(X, 20)
    assert (found[:, :, None] == true[:, None, :20]).any(axis=2).mean() > 0.97
    # More groups are read for more lists.
    found = places.nearest(X[:20], 2000)
    np.testing.assert_array_equal(np.sort(found, axis=1), np.tile(np.arange(2000), (20, 1)))


def test_centers_are_as_good_as_those_of_full_comparisons() -> None:
    X = sheet(6000)
    whole = faiss.Kmeans(12, 150, niter=4, seed=3)
    whole.train(X)
    found = centers_of_lists(faiss, X, 150, 3)
    losses = [nearest_of_all(X, centers).min(axis=1).mean() for centers in (found, whole.centroids)]
    assert losses[0] < 1.05 * losses[1]
    np.testing.assert_array_equal(centers_of_lists(faiss, X, 150, 3), found)
    assert (centers_of_lists(faiss, X, 150, 4) != found).any()


def test_neither_threads_nor_pickling_change_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_search, "_QUERY_BYTES", 4 * 12 * 100)
    points = RowPoints(ArrayRows(sheet(3000)), "euclidean")
    search = _CodeSearch(points, 5, 0.95, 0, 1)
    lists, asked = search.fill(), search.scaled(points.source.values)
    again = pickle.loads(pickle.dumps(lists))
    expected = lists.candidates(asked, 4, 8, 1)
    for found in (lists.candidates(asked, 4, 8, 2), again.candidates(asked, 4, 8, 1)):
        np.testing.assert_array_equal(found, expected)
