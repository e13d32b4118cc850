"""Neighbours of points on disk, against those of points in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lapwing._rows.registry import open_rows
from lapwing.graphs import KNNGraph, build_laplacian, row_search
from tests.helpers.rows import ArrayRows, CountedRows


def clouds(n: int = 900, d: int = 8, dtype: Any = np.float64) -> Any:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) + 4 * rng.standard_normal((5, d))[np.arange(n) % 5] + 20
    return X.astype(dtype)


@pytest.fixture(autouse=True)
def several_slabs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_search, "_LEAST_BYTES", 4000)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize(("scale", "dtype"), [(1.0, float), (1e100, float), (1e25, np.float32)])
def test_a_search_by_codes_reaches_its_recall(scale: float, dtype: Any, metric: str) -> None:
    pytest.importorskip("faiss")
    X, unit = (clouds(2500) * scale).astype(dtype), scale if metric == "euclidean" else 1.0
    graph = KNNGraph(5, metric=metric, approximate=True, target_recall=0.9)
    found = graph.neighbors(ArrayRows(X))
    truth = KNNGraph(5, metric=metric).neighbors(X)
    share = (found.indices[:, :, None] == truth.indices[:, None, :]).any(axis=2).mean()
    assert found.recall >= 0.9
    assert abs(share - found.recall) < 0.05
    # Lengths are those of the points and not of their codes.
    right = (found.indices == truth.indices).all(axis=1)
    atol = 1e-12 if dtype is float else 1e-5
    np.testing.assert_allclose(
        found.distances[right] / unit, truth.distances[right] / unit, atol=atol
    )


@pytest.mark.parametrize("approximate", [False, True])
def test_equally_far_points_are_neighbours(approximate: bool) -> None:
    codes = np.unique(np.random.default_rng(0).integers(0, 3, (400, 4)), axis=0).astype(float)
    expected = KNNGraph(4).affinity(codes)
    graph = KNNGraph(4, approximate=approximate, target_recall=1.0)
    found = graph.affinity(ArrayRows(codes))
    if not approximate:
        assert abs(expected - found).max() < 1e-9
    else:
        assert found.nnz > 4 * len(codes)


def test_takes_two_passes_per_slab() -> None:
    X = clouds(900)
    rows = CountedRows(ArrayRows(X))
    KNNGraph(5, approximate=False).neighbors(rows)
    n_slabs = -(-900 // max(1, 900 * 64 // 10 // 64))
    assert rows.passes == 2 + 2 * n_slabs  # moments for the centre, and the slabs themselves
    assert rows.largest <= 900


def test_the_memory_of_a_search_is_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "20k")
    with pytest.raises(
        MemoryError, match=r"neighbours of 900 points on disk, with 8 bytes .*Anchor"
    ):
        KNNGraph(5, approximate=True).neighbors(ArrayRows(clouds()))


def test_the_memory_of_a_cached_index_is_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wide:
        shape, dtype = (10**8, 512), np.dtype(np.float32)

    search = row_search._CodeSearch(row_search.RowPoints(Wide(), "euclidean"), 5, 0.9, 0, 1)  # type: ignore[arg-type]
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "100g")
    search.forecast(kept=False)
    with pytest.raises(MemoryError, match="with 512 bytes for each"):
        search.forecast(kept=True)


def _calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stages of a search that are really run."""
    seen: list[str] = []
    for name in ("fill", "tune", "find"):
        original = getattr(row_search._CodeSearch, name)

        def watched(self: Any, *args: Any, name: str = name, original: Any = original) -> Any:
            seen.append(name)
            return original(self, *args)

        monkeypatch.setattr(row_search._CodeSearch, name, watched)
    return seen


def _search(path: Path, memory: Path) -> Any:
    graph = KNNGraph(5, approximate=True)
    return build_laplacian(graph, open_rows(path), memory=str(memory)).affinity


def test_finished_stages_are_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    X, path, memory = clouds(900, dtype=np.float32), tmp_path / "X.npy", tmp_path / "kept"
    np.save(path, X)
    expected = KNNGraph(5, approximate=True).affinity(open_rows(path))
    seen = _calls(monkeypatch)
    counted = row_search._CodeSearch.find

    def interrupted(self: Any, *args: Any) -> Any:
        if seen.count("find") == 3:
            raise KeyboardInterrupt
        return counted(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(row_search._CodeSearch, "find", interrupted)
        with pytest.raises(KeyboardInterrupt):
            _search(path, memory)
    assert seen == ["fill", "tune", "find", "find", "find"]
    # A process that is killed while it writes leaves a part, under the name before the renaming.
    *_, last = sorted(memory.rglob("output.pkl"))
    last.with_name("output.pkl.thread-1-pid-1").write_bytes(last.read_bytes()[:100])
    last.unlink()
    assert abs(_search(path, memory) - expected).max() == 0
    n_stages = len(seen) - 1  # one was run twice
    seen.clear()
    assert abs(_search(path, memory) - expected).max() == 0
    assert seen == []
    np.save(path, X + 1)  # another file: nothing of the old one is taken
    _search(path, memory)
    assert seen == ["fill", "tune"] + ["find"] * (n_stages - 2)
