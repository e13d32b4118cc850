"""Neighbour search by faiss, exact and approximate."""

from __future__ import annotations

import importlib.util
import logging
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.csgraph import connected_components

from lapwing.exceptions import LowRecallWarning
from lapwing.graphs import KNNGraph, ann, neighbors, row_search
from tests.helpers.data import gaussian_points
from tests.helpers.graphs import nearest_distances, needs_faiss
from tests.helpers.rows import ArrayRows


@needs_faiss
def test_approximate_search_reaches_the_recall_it_reports(caplog: pytest.LogCaptureFixture) -> None:
    X = gaussian_points(2000, 12)
    exact = KNNGraph(10).neighbors(X)
    recalls = []
    for target in (0.5, 0.9, 1.0):
        recipe = KNNGraph(10, approximate=True, target_recall=target)
        with caplog.at_level(logging.INFO, "lapwing"):
            found = recipe.neighbors(X)
        share = (found.indices[:, :, None] == exact.indices[:, None]).any(axis=2).mean()
        assert found.recall >= target
        assert target == 1.0 or found.recall < target + 0.12  # lists read in vain cost the time
        assert abs(share - found.recall) < 0.03
        assert f"recall {found.recall:.4f} (asked: {target:g})" in caplog.text
        assert caplog.text.rstrip().endswith("lists of points.")
        if target == 0.5:
            assert_array_equal(found.indices, recipe.neighbors(X).indices)  # same seed
        assert not (found.indices == np.arange(2000)[:, None]).any()
        recalls.append(found.recall)
    assert recalls[0] < recalls[1] < recalls[2] == 1.0


@needs_faiss
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize(("d", "most"), [(12, 256), (13, 4), (1, 256)])
def test_candidates_of_codes_are_ranked_by_exact_lengths(
    d: int,
    most: int,
    metric: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """With a code a coordinate, one for several of which some are missing, and a single one."""
    monkeypatch.setattr(ann, "CODED_POINTS", 1000)
    monkeypatch.setattr(ann, "_MOST_CODES", most)
    X = gaussian_points(1500, d)
    exact = KNNGraph(4, approximate=False, metric=metric).neighbors(X)
    for target in (0.5, 1.0):
        with caplog.at_level(logging.INFO, "lapwing"):
            found = KNNGraph(4, approximate=True, target_recall=target, metric=metric).neighbors(X)
        farthest = exact.distances[:, -1:] * (1 + 1e-9)
        share = float((found.distances <= farthest).mean())
        assert found.recall >= target
        assert abs(share - found.recall) < 0.05
        coded = caplog.text.rstrip().endswith("lists of codes.")
        if target < 1:  # for which codes are precise enough, except a single one
            assert coded or d == 1
        elif d > most:  # codes of several coordinates are not precise enough for all neighbours
            assert not coded


@pytest.mark.parametrize("n", [10**6, 10**7])
def test_precise_contents_are_tried_if_time_allows(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    filled: list[str] = []

    def tune(precise: str, holding: int) -> ann.Reading:
        filled.clear()

        def fill(content: str) -> str:
            filled.append(content)
            return content

        def recall_of(lists: str, more: int, n_read: int) -> float:
            return min(1.0, n_read / holding) * (1.0 if f"{lists} {more}" == precise else 0.9)

        lists, reading = ann.tuned(fill, recall_of, (n, 64), 5, 2000, holding, 0.99)
        assert lists == filled[-1] == reading.content
        return reading

    one_list = 2.0 * n * n * 64 / 2000
    monkeypatch.setattr(ann, "LIST_OPERATIONS", 40 * one_list * 10**6 / n)
    for content, more, holding in (("codes", 12, 100), ("codes", 48, 100), ("bytes", 12, 50)):
        found = tune(f"{content} {more}", holding)
        assert found[:2] == (content, more)
        assert holding <= found.n_read <= 9 / 8 * holding
        assert filled == ["codes", "bytes"][: 1 + (content == "bytes")]
    assert tune("points 0", 30)[:2] == ("points", 0)
    assert filled == ["codes", "bytes", "points"]
    # There is time for 160 lists of codes, 60 of bytes and 40 of points.
    assert tune("points 0", 50).content == "bytes"
    with pytest.warns(LowRecallWarning, match="72% of the nearest"):
        assert tune("bytes 12", 200)[:3] == ("codes", 48, 160)
    assert filled == ["codes"]


@needs_faiss
def test_rows_with_few_candidates_are_searched_exactly(capfd: pytest.CaptureFixture[str]) -> None:
    X = np.vstack(
        [gaussian_points(300, 3), 100 + gaussian_points(4, 3)]
    )  # a far list of four points, k = 10
    found = KNNGraph(10, approximate=True, target_recall=0.5).neighbors(X)
    assert np.isfinite(found.distances).all()
    assert found.indices.min() >= 0
    assert_allclose(found.distances[300:], nearest_distances(X, 10)[300:], rtol=1e-6)
    KNNGraph(2, approximate=True).neighbors(X[:5])
    assert capfd.readouterr() == ("", "")


@needs_faiss
@pytest.mark.parametrize("approximate", [False, True])
def test_the_memory_is_forecast(approximate: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    X, recipe = gaussian_points(300, 3), KNNGraph(4, backend="faiss", approximate=approximate)
    needed = 300 * (4 * 3 + 3 * 16 * 4)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", str(needed))
    recipe.neighbors(X)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", str(needed - 1))
    with pytest.raises(MemoryError, match=r"4 neighbours of each of 300 points .*n_components=30"):
        recipe.neighbors(X)


@needs_faiss
def test_searches_restore_the_threads_of_faiss() -> None:
    faiss = importlib.import_module("faiss")
    before = faiss.omp_get_max_threads()
    try:
        faiss.omp_set_num_threads(3)
        KNNGraph(3, backend="faiss", n_jobs=1).affinity(gaussian_points(50))
        assert faiss.omp_get_max_threads() == 3
        with ann.faiss_threads(faiss, 1):
            assert faiss.omp_get_max_threads() == 1
        with ann.faiss_threads(faiss, None):
            assert faiss.omp_get_max_threads() == 3
    finally:
        faiss.omp_set_num_threads(before)


def test_a_missing_faiss_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    for recipe in (KNNGraph(3, backend="faiss"), KNNGraph(3, approximate=True)):
        with pytest.raises(ImportError, match=r"KNNGraph\(backend=.*lapwing-learn\[ann\]"):
            recipe.affinity(gaussian_points())


@needs_faiss
def test_a_long_exact_search_becomes_an_approximate_one(monkeypatch: pytest.MonkeyPatch) -> None:
    X = gaussian_points(2000, 16)
    monkeypatch.setattr(neighbors, "_SKLEARN_POINTS", 1000)
    for operations, approximate in ((2 * 2000**2 * 16, False), (2 * 2000**2 * 16 - 1, True)):
        monkeypatch.setattr(neighbors, "_FLAT_OPERATIONS", operations)
        recipe = KNNGraph(5)
        recipe.affinity(X)
        assert recipe.backend_ == "faiss"
        assert (recipe.recall_ < 1) == approximate
        assert recipe.recall_ >= recipe.target_recall
        for exact in (KNNGraph(5, approximate=False), KNNGraph(5, backend="sklearn")):
            exact.affinity(X)
            assert exact.recall_ == 1


each_storage = pytest.mark.parametrize(
    ("module", "limit", "form"),
    [(ann, "LIST_OPERATIONS", np.asarray), (row_search, "_CODE_OPERATIONS", ArrayRows)],
    ids=["memory", "disk"],
)


@needs_faiss
@each_storage
def test_a_search_without_time_warns_and_still_joins_its_lists(
    module: Any, limit: str, form: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = form(gaussian_points(2000, 16))
    monkeypatch.setattr(module, limit, 3 * 2.0 * 2000**2 * 16 / 51)  # 3 of 51 lists
    recipe = KNNGraph(5, approximate=True)
    with pytest.warns(LowRecallWarning, match=r"finds \d+% of .* of 2000 points.*n_components="):
        recipe.affinity(X)
    assert 0 < recipe.recall_ < 0.8
    monkeypatch.setattr(ann, "LOW_RECALL", 0.0)  # warnings are errors
    recipe.affinity(X)
    # One list for each point would hold most neighbours, and none in another list.
    monkeypatch.setattr(module, limit, 0.0)
    line = np.arange(1000.0)[:, None] + np.random.default_rng(0).uniform(-0.3, 0.3, (1000, 1))
    W = recipe.set_params(target_recall=0.9).affinity(form(line))
    assert connected_components(W)[0] == 1


@pytest.mark.parametrize("most", [1, 2, 7, 64, 1000])
@pytest.mark.parametrize("wanted", [1, 2, 3, 9, 100, 5000])
def test_reads_the_fewest_lists_that_reach_the_recall(wanted: int, most: int) -> None:
    asked: dict[int, float] = {}

    def recall_of(n_read: int) -> float:
        asked[n_read] = min(1.0, n_read / wanted)
        return asked[n_read]

    n_read, recall = ann.fewest_lists(recall_of, 1.0, most)
    assert recall == asked[n_read]
    assert min(2, most) <= n_read <= max(asked) <= most
    if wanted <= most:
        assert wanted <= n_read <= max(wanted + 1, 1.15 * wanted)
    else:
        assert n_read == most


@needs_faiss
@pytest.mark.parametrize("coded", [False, True])
def test_the_order_of_search_changes_nothing(coded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if coded:
        monkeypatch.setattr(ann, "CODED_POINTS", 100)
    monkeypatch.setattr("lapwing.graphs.ann.DIFFERENCE_BYTES", 2**14)
    X = np.round(gaussian_points(2500, 6), 1)  # with ties
    recipe = KNNGraph(5, approximate=True, target_recall=0.9)
    found = recipe.neighbors(X)
    monkeypatch.setattr(ann, "_members", lambda faiss, index: np.arange(2500))
    expected = recipe.neighbors(X)
    assert_array_equal(found.indices, expected.indices)
    assert_array_equal(found.tied, expected.tied)
    assert len(found.tied) > 100
