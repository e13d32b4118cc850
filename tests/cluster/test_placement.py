"""Points go to blocks near their neighbours, and answers come back in the user's order."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.dask import _neighbors, _plan
from lapwing.dask._data import read_points
from lapwing.dask._halos import affinity_of_edges
from lapwing.dask._laplacian import ClusterLaplacian, _ClusterOperator, whole_matrix
from lapwing.dask._neighbors import _blocks_of, knn_edges
from lapwing.dask._placement import ListCenters, _layout, _Trained, near_neighbors
from lapwing.dask._session import ClusterSession
from lapwing.exceptions import LowRecallWarning
from lapwing.graphs import KNNGraph, ann
from lapwing.graphs.ann import ListPlaces
from lapwing.graphs.chebyshev import Filter
from tests.cluster.conftest import array, distributed, points_of

pytest.importorskip("faiss", reason="faiss is not installed")


def two_sheets(n: int) -> np.ndarray:
    """Points of two sheets far apart, in turn."""
    rng = np.random.default_rng(0)
    return np.column_stack([rng.uniform(0, 1, (n, 2)), 5.0 * (np.arange(n) % 2)])


def _values(rows: Any) -> np.ndarray:
    return np.random.default_rng(len(rows.halo)).standard_normal((rows.own.shape[0], 2))


def path(weights: list[float]) -> _Trained:
    """Lists in a row, with so many points between one and the next."""
    n = len(weights) + 1
    upper = sp.diags_array([weights], offsets=[1], shape=(n, n))
    lists = ListCenters(np.zeros((n, 1), np.float32), np.zeros(1), 1.0)
    return _Trained(lists, sp.csr_array(upper + upper.T + 20 * sp.eye_array(n)))


def test_the_blocks_do_not_depend_on_the_chunks(client: Any) -> None:
    X = two_sheets(400)
    found = []
    for chunks in ((400,), (100, 0, 1, 299)):
        placement = near_neighbors(points_of(client, X, chunks), 2, seed=0)
        blocks = client.gather(list(placement.rows.parts))
        found.append([block.origins for block in blocks])
        for block in blocks:
            np.testing.assert_array_equal(block.points, X[block.origins])
        back = placement.back(placement.origins)
        assert back.sizes == chunks
        np.testing.assert_array_equal(np.concatenate(client.gather(list(back.parts))), range(400))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    # Each sheet is a block: no edge, and so no halo, is between them.
    assert [sorted({int(i % 2) for i in rows}) for rows in found[0]] in ([[0], [1]], [[1], [0]])


def test_only_neighbouring_blocks_exchange_rows(client: Any) -> None:
    recipe = KNNGraph(3, approximate=True, target_recall=1.0)
    X = points_of(client, two_sheets(400), (400,))
    edges, placement, recall = knn_edges(recipe, X)
    assert recall == 1.0
    mutual, _ = affinity_of_edges(edges, placement, "heat", mutual=True)
    W, placement = affinity_of_edges(edges, placement, "heat", mutual=False)
    assert W.neighbors == mutual.neighbors == [[], []]
    # A filter without messages is that of the same matrix in steps.
    laplacian = ClusterLaplacian(W, placement, True, 1, np.dtype(np.float64))
    L = _ClusterOperator(laplacian, None)  # type: ignore[arg-type]
    start = W.rows.map(_values, n_columns=2, dtype=np.float64)
    found = client.gather(list(L.filter(Filter(0.5, 2.0, 5), start).parts))
    local = whole_matrix(client.gather(list(laplacian.matrix.rows.parts)))
    T = [np.concatenate(client.gather(list(start.parts)))]
    for _ in range(5):
        y = (1.25 * T[-1] - local @ T[-1]) / 0.75
        T.append(y if len(T) == 1 else 2 * y - T[-2])
    np.testing.assert_allclose(np.concatenate(found), T[-1], rtol=1e-9)


def test_equal_rows_are_divided_between_blocks(client: Any) -> None:
    X = points_of(client, np.ones((90, 2)), (50, 40))
    placement = near_neighbors(X, 3, seed=0)
    assert sum(placement.rows.sizes) == 90
    assert max(placement.rows.sizes) <= 45
    edges, placement, _ = knn_edges(KNNGraph(4, approximate=True), X)
    assert len(affinity_of_edges(edges, placement, "heat", mutual=False)[0].rows.parts) == 2


@pytest.mark.parametrize("n_blocks", [1, 2, 3, 7])
def test_blocks_are_even_and_whole_lists(n_blocks: int) -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(5, 15, 100)
    layout = _layout(path([10.0] * 99), counts, n_blocks)
    assert (layout.parts == 1).all()
    sizes = np.bincount(layout.owner, counts, minlength=n_blocks)
    np.testing.assert_allclose(sizes, counts.sum() / n_blocks, rtol=0.35)
    # Lists of a block follow one another.
    assert (np.abs(np.diff(layout.owner)) > 0).sum() == n_blocks - 1
    np.testing.assert_array_equal(np.sort(layout.rank), np.arange(100))


def test_blocks_are_cut_where_few_points_lie() -> None:
    weights = [10.0] * 99
    weights[48] = 1.0
    layout = _layout(path(weights), np.full(100, 10), 2)
    assert np.flatnonzero(np.diff(layout.owner)).tolist() == [48]


def test_a_large_list_is_split() -> None:
    layout = _layout(path([1.0, 1.0]), np.array([10, 80, 10]), 2)
    assert layout.parts[1] > 1
    assert layout.parts[[0, 2]].tolist() == [1, 1]
    assert set(layout.owner[layout.first[1] :][: layout.parts[1]]) == {0, 1}


def test_each_worker_groups_the_centres_once(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    group, calls = ListPlaces.of, []

    def counted(*args: Any) -> ListPlaces:
        calls.append(1)
        return group(*args)

    monkeypatch.setattr(ListPlaces, "of", counted)
    monkeypatch.setattr(_plan, "BLOCK_BYTES", 1000)  # of 9600
    knn_edges(KNNGraph(3, approximate=True), points_of(client, two_sheets(400), 100))
    assert 1 <= len(calls) <= 2
    X = np.random.default_rng(0).uniform(-1, 1, (60, 4)).astype(np.float32)
    lists = ListCenters(X[:6], np.zeros(4), 1.0)
    again = pickle.loads(pickle.dumps(lists))  # without the groups
    np.testing.assert_array_equal(again.places.nearest(X, 3), lists.places.nearest(X, 3))


@pytest.mark.parametrize(("content", "target"), [("codes", 1.0), ("bytes", 1.0), ("points", 0.9)])
def test_lists_of_each_content_find_the_neighbours(
    content: str, target: float, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_content = [each for each in ann._CONTENTS if each[0] == content]
    monkeypatch.setattr(ann, "_CONTENTS", of_content)
    monkeypatch.setattr(ann, "CODED_POINTS", 100)
    monkeypatch.setattr(_neighbors, "_LEAST_CODED", 100)
    X = np.random.default_rng(0).uniform(-1, 1, (600, 8)).astype(np.float32)
    recipe = KNNGraph(5, approximate=True, target_recall=target)
    edges, placement, recall = knn_edges(recipe, points_of(client, X, 200))
    whole = client.gather(list(edges.parts))
    assert all(found.values.dtype == np.float32 for found in whole)
    origins = client.gather(list(placement.origins.parts))
    columns = np.concatenate(origins)
    rows = np.concatenate([own[found.rows] for own, found in zip(origins, whole, strict=True)])
    ends = columns[np.concatenate([found.columns for found in whole])]
    assert (rows != ends).all()
    nearest = KNNGraph(5).neighbors(X).indices
    share = (nearest[rows] == ends[:, None]).any(axis=1).mean()
    assert share == pytest.approx(recall, abs=0.05)
    assert {"codes": 0.8, "bytes": 0.99, "points": 0.85}[content] < share
    assert content == "codes" or target <= recall < (1.0 if target < 1 else 1.01)


def test_missing_lists_are_in_no_block() -> None:
    layout = _layout(path([10.0] * 5), np.full(6, 10), 2)
    near = np.array([[0, 5, -1], [0, 1, -1]])
    found = np.unpackbits(_blocks_of(near, layout.owned(2), 2, 2), axis=1)[:, :2]
    np.testing.assert_array_equal(found, [[1, 1], np.arange(2) == layout.owner[0]])


def test_waves_have_one_block_per_thread(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session = ClusterSession.of(client)
    assert [list(wave) for wave in session.waves(5)] == [[0, 3], [1, 4], [2]]
    with monkeypatch.context() as patch:
        patch.setattr(ClusterSession, "_workers", lambda self: {})  # while they restart
        assert session.n_threads == 2
        assert session.homes(2) == [None, None]
    homes = session.homes(5)
    assert homes[:3] == [homes[0]] * 3
    assert homes[3:] == [homes[4]] * 2
    assert len(set(homes)) == 2


def test_chunks_of_floats_are_used_without_a_copy(client: Any) -> None:
    chunks = array.from_array(two_sheets(40), chunks=(20, -1)).persist()
    held = {future.key for future in distributed.futures_of(chunks)}
    assert {part.key for part in read_points(ClusterSession.of(client), chunks).rows.parts} == held
    whole = array.from_array(np.ones((40, 2), dtype=int), chunks=(20, -1)).persist()
    parts = read_points(ClusterSession.of(client), whole).rows.parts
    assert client.gather(list(parts))[0].dtype == np.float64


def test_lists_hold_codes_if_there_is_no_time_for_points(
    client: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ann, "CODED_POINTS", 100)
    monkeypatch.setattr(ann, "LIST_OPERATIONS", 0.0)
    X = np.random.default_rng(0).standard_normal((400, 8))
    with caplog.at_level("WARNING", "lapwing"), pytest.warns(LowRecallWarning):
        knn_edges(KNNGraph(5, approximate=True), points_of(client, X, 100))
    assert "reading 2 of" in caplog.text  # one each would leave no edge between two lists
    assert "lists of codes" in caplog.text
