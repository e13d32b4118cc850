"""Searches for neighbours by faiss side by side: inverted lists, of points or of codes, HNSW and
NN-descent.

Each is built for the points and searched for the neighbours of all points, with the least effort
for a given recall.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.measuring import resident_bytes, wall_seconds
from benchmarks.shared.points import KINDS

Points = NDArray[np.float32]
SEARCH_POINTS = ("images:200000",)
RECALL, N_NEIGHBORS = 0.95, 5
_SAMPLE, _TIMED = 512, 20_000
_LISTS = 39  # training points per list that faiss requires


@dataclass(frozen=True)
class Search:
    """Time, memory and recall of a search.

    Attributes
    ----------
    name, setting : str
    recall : float
        Recall on a sample of the points.
    build, search : float
        Seconds; the search is timed on some points and extrapolated to all.
    peak_bytes : int
        Peak memory of the process.
    """

    name: str
    setting: str
    recall: float
    build: float
    search: float
    peak_bytes: int

    @property
    def total(self) -> float:
        return self.build + self.search


def search_codes(X: Points, k: int, recall: float) -> Search:
    """Search lists of four-bit codes with three times as many candidates, like `KNNGraph`."""
    import faiss

    d, n_lists = X.shape[1], int(2 * len(X) ** 0.5)
    n_codes = d // -(-d // 256)
    codes = faiss.IndexIVFPQFastScan(faiss.IndexFlatL2(d), d, n_lists, n_codes, 4)
    codes.cp.niter = 4
    index = faiss.IndexRefineFlat(codes)
    index.k_factor = 4.0
    return _measured("lists of codes", index, X, k, recall, "lists read", (codes, "nprobe"), 1)


def search_lists(X: Points, k: int, recall: float) -> Search:
    """Search inverted lists of the points themselves."""
    import faiss

    d = X.shape[1]
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, int(2 * len(X) ** 0.5))
    index.cp.niter = 4
    return _measured("inverted lists", index, X, k, recall, "lists read", (index, "nprobe"), 1)


def search_hnsw(X: Points, k: int, recall: float) -> Search:
    """Search a hierarchical graph with 16 links per point."""
    import faiss

    index = faiss.IndexHNSWFlat(X.shape[1], 16)
    index.hnsw.efConstruction = 40
    return _measured("HNSW", index, X, k, recall, "candidates", (index.hnsw, "efSearch"), k + 1)


def search_descent(X: Points, k: int, recall: float) -> Search:
    """Compute a graph by NN-descent, whose neighbours are the result without a search."""
    import faiss

    sample = _sampled_rows(len(X), _SAMPLE)
    truth = _truth(X, sample, k)
    spent = 0.0
    for links in (16, 24, 32, 48, 64):
        index = faiss.IndexNNDescentFlat(X.shape[1], links)
        index.nndescent.iter = 8
        spent = wall_seconds(index.add, X)
        graph = faiss.vector_to_array(index.nndescent.final_graph).reshape(len(X), -1)
        lengths = np.linalg.norm(X[graph[sample]] - X[sample][:, None], axis=2) ** 2
        nearest = np.sort(lengths, axis=1)[:, :k]
        reached = float((nearest <= truth).mean())
        if reached >= recall:
            break
    setting = f"{links} links"
    return Search("NN-descent", setting, reached, spent, 0.0, resident_bytes("VmHWM"))


SEARCHES: dict[str, Callable[[Points, int, float], Search]] = {
    "codes": search_codes,
    "lists": search_lists,
    "hnsw": search_hnsw,
    "descent": search_descent,
}


def _steps(first: int) -> Iterable[int]:
    """Yield numbers that grow by an eighth."""
    number = first
    while number < 4096:
        yield number
        number += max(1, number // 8)


def _sampled_rows(n: int, number: int) -> NDArray[np.int64]:
    return np.sort(np.random.default_rng(0).choice(n, min(n, number), replace=False))


def _sample(X: Points, number: int) -> Points:
    return X[_sampled_rows(len(X), number)]


def _truth(X: Points, rows: NDArray[np.int64], k: int) -> NDArray[np.float32]:
    """Compute the k-th squared length for each row, with a tolerance for rounding."""
    import faiss

    lengths, _ = faiss.knn(X[rows], X, k + 1)
    return np.asarray(lengths[:, -1:] * (1 + 1e-4))


def _measured(
    name: str,
    index: Any,
    X: Points,
    k: int,
    recall: float,
    unit: str,
    effort: tuple[Any, str],
    least: int,
) -> Search:
    """Build an index, and find the least effort for a recall and its time.

    `effort` is the object and the attribute that set the effort of a search, from `least` on.
    """
    start = time.perf_counter()
    if not index.is_trained:
        index.train(_sample(X, _LISTS * int(2 * len(X) ** 0.5)))
    index.add(X)
    build = time.perf_counter() - start
    sample = _sampled_rows(len(X), _SAMPLE)
    truth, reached = _truth(X, sample, k), 0.0
    for number in _steps(least):
        setattr(*effort, number)
        lengths, _ = index.search(X[sample], k + 1)
        # The first point found is the point itself.
        reached = float((lengths[:, 1:] <= truth).mean())
        if reached >= recall:
            break
    timed = _sample(X, _TIMED)
    seconds = wall_seconds(index.search, timed, k + 1) * len(X) / len(timed)
    return Search(name, f"{number} {unit}", reached, build, seconds, resident_bytes("VmHWM"))


def measure_search(points: str, name: str) -> Search:
    """Run one search on points 'KIND:NUMBER'."""
    kind, number = points.split(":")
    X, _ = KINDS[kind](int(number))
    return SEARCHES[name](X, N_NEIGHBORS, RECALL)
