"""Nearest neighbours of points on disk: nothing of them is in memory but compressed codes.

A flat scan compares slabs of points with all others by products in float64. An approximate search
has an index that is trained on a sample and holds a code a point; it proposes candidates, whose
exact lengths are computed from the blocks, slab by slab. Either takes a pass over the file for each
slab.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from lapwing._arrays import Array
from lapwing._host.cache import cached
from lapwing._host.memory import require_memory
from lapwing._rows import Rows, block_height, blocks_of, key_of, moments_of, rows_of
from lapwing.graphs.ann import faiss_threads, fewest_lists, load_faiss, warn_low_recall
from lapwing.graphs.points import SPARE
from lapwing.graphs.row_points import RowPoints
from lapwing.graphs.search import Neighbors
from lapwing.graphs.ties import Nearest, complete

__all__ = ["scan_rows", "search_rows"]

_LOGGER = logging.getLogger("lapwing")

_SCAN_BYTES = 2**26  # of products of a block with a block
_SAMPLE = 512  # points on which recall is measured, as for points in memory
_LIST_SIZE = 39  # points a list below which faiss writes a warning to the terminal
_ROUNDS = 10  # of k-means: lists need to be even, not optimal
_LISTS = 16384  # at most: training and adding compare each point with all centres
_QUERY_BYTES = 2**24
_CODE_OPERATIONS = 1e14  # of a search: half an hour of two cores
# Candidates of a point, of which codes tell the order roughly only.
_CANDIDATES, _FACTOR = 8, 2


def scan_rows(X: Rows, k: int, metric: str) -> Neighbors:
    """Search the k < n nearest other points of each point exactly.

    Parameters
    ----------
    X : Rows of shape (n, d)
    k : int
    metric : str
        'euclidean' or 'cosine'.
    """
    points = RowPoints(X, metric)
    gathered = _Gathered(points, k)
    for which, values in points.slabs():
        index = np.arange(which.start, which.stop)
        candidates = _scan(points, points.ready(values, np.float64), k)
        gathered.add(index, points.nearest(index, values, candidates, k))
    found = complete(points, gathered.all(), k)
    return _neighbors(points, found, 1.0, "scan")


def search_rows(
    X: Rows,
    k: int,
    metric: str,
    n_jobs: int | None,
    target_recall: float,
    random_state: Any,
    memory: Any = None,
) -> Neighbors:
    """Search most of the k < n nearest other points of each point, by inverted lists of codes.

    Parameters
    ----------
    X : Rows of shape (n, d)
    k : int
    metric : str
        'euclidean' or 'cosine'.
    n_jobs : int or None
        Threads; None leaves it to faiss.
    target_recall : float
        In (0, 1].
    random_state : int, RandomState or None
        For the sample that the index is trained on, and that on which recall is measured.
    memory : str or joblib.Memory, optional
        Where to keep what is done, the index and the neighbours of each slab: a search that was
        interrupted goes on with the next slab.
    """
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    search = _Search(RowPoints(X, metric), k, target_recall, seed)
    search.forecast()
    key = (key_of(X), metric, k, float(target_recall), seed)
    faiss = load_faiss("A search for neighbours of points on disk")
    points, gathered = search.points, _Gathered(search.points, k)
    with faiss_threads(faiss, n_jobs):
        serialized = cached(memory, _made_index, ignore=["search"])(key, search=search)
        index = faiss.deserialize_index(serialized)
        del serialized
        tune = cached(memory, _tuned, ignore=["search", "index"])
        n_read, recall = tune(key, search=search, index=index)
        index.nprobe = n_read
        text = "Neighbours by codes: recall %.4f (asked: %g) reading %d of %d lists."
        _LOGGER.info(text, recall, target_recall, n_read, index.nlist)
        warn_low_recall(recall, target_recall, points.n)
        find = cached(memory, _found_in_slab, ignore=["search", "index", "values"])
        for which, values in points.slabs():
            start, stop = which.start, which.stop
            found = find(key, start, stop, search=search, index=index, values=values)
            gathered.add(np.arange(start, stop), Nearest(*found))
            _LOGGER.info("Neighbours of %d of %d points.", stop, points.n)
    short = np.flatnonzero(np.isinf(gathered.lengths[:, -1]))
    if len(short):  # the lists that were read held too few points
        values = rows_of(X, short)
        candidates = _scan(points, points.ready(values, X.dtype), k)
        gathered.replace(short, points.nearest(short, values, candidates, k))
    return _neighbors(points, gathered.all(), recall, "faiss")


@dataclass(frozen=True, eq=False)
class _Search:
    """A search by codes, in the three stages that are kept."""

    points: RowPoints
    k: int
    target_recall: float
    seed: int

    @property
    def width(self) -> int:
        """Candidates of a point."""
        return min(_FACTOR * self.k + _CANDIDATES, self.points.n)

    @cached_property
    def codes(self) -> _Codes:
        return _Codes(self.points)

    def forecast(self) -> None:
        n, d = self.points.n, self.points.width
        item = self.points.rows.dtype.itemsize
        # Codes, neighbours, three slabs at a time, and candidates with their lengths.
        slab = min(n, self.points.slab_height)
        need = n * (d + 8) + n * self.k * (item + 4) + slab * (3 * d * item + self.width * 40)
        require_memory(
            float(need),
            f"A search for neighbours of {n} points on disk, with {d} bytes for each,",
            "Use an estimator that searches no neighbours: AnchorGraphClassifier, "
            "EigenfunctionClassifier.",
        )

    def index(self, faiss: Any) -> Any:
        """Inverted lists of codes: trained on a sample, and filled in one pass."""
        n, d = self.points.n, self.points.width
        rng = np.random.RandomState(self.seed)
        n_lists = max(1, min(int(4 * n**0.5), n // _LIST_SIZE, _LISTS))
        kind = faiss.ScalarQuantizer.QT_8bit
        index = faiss.IndexIVFScalarQuantizer(faiss.IndexFlatL2(d), d, n_lists, kind)
        index.cp.seed, index.cp.niter = self.seed, _ROUNDS
        index.cp.min_points_per_centroid = 1  # of fewer faiss warns on standard output
        drawn = rng.choice(n, min(n, _LIST_SIZE * n_lists), replace=False)
        index.train(self.codes.scaled(rows_of(self.points.rows, np.sort(drawn))))
        for _, values in blocks_of(self.points.rows, 8 * d, _QUERY_BYTES):
            index.add(self.codes.scaled(values))
        return index

    def tune(self, index: Any) -> tuple[int, float]:
        """Lists to read, and the recall with them on a sample, by its true neighbours."""
        points, k = self.points, self.k
        rng = np.random.RandomState(self.seed)
        sample = np.sort(rng.choice(points.n, min(_SAMPLE, points.n), replace=False))
        values = rows_of(points.rows, sample)
        found = _scan(points, points.ready(values, points.rows.dtype), k)
        truth = points.nearest(sample, values, found, k).indices

        def recall_of(n_read: int) -> float:
            index.nprobe = n_read
            candidates = index.search(self.codes.scaled(values), self.width)[1]
            return float((truth[:, :, None] == candidates[:, None, :]).any(axis=2).mean())

        most = _CODE_OPERATIONS * index.nlist / (2.0 * points.n**2 * points.width)
        return fewest_lists(recall_of, self.target_recall, int(np.clip(most, 1, index.nlist)))

    def find(self, index: Any, rows: Array, values: Array) -> Nearest:
        """Neighbours of a slab: candidates by codes, and a pass over all for their lengths."""
        candidates = np.empty((len(rows), self.width), dtype=np.int32)
        row_bytes = 4 * (self.points.width + 3 * self.width)
        for some, block in blocks_of(values, row_bytes, _QUERY_BYTES):
            candidates[some] = index.search(self.codes.scaled(block), self.width)[1]
        return self.points.nearest(rows, values, candidates, self.k)


def _made_index(key: Any, *, search: _Search) -> Array:
    """The index as bytes; a function of its key, for the cache, as the next two are."""
    faiss = load_faiss("A search for neighbours of points on disk")
    return np.asarray(faiss.serialize_index(search.index(faiss)))


def _tuned(key: Any, *, search: _Search, index: Any) -> tuple[int, float]:
    return search.tune(index)


def _found_in_slab(
    key: Any, start: int, stop: int, *, search: _Search, index: Any, values: Array
) -> tuple[Array, Array, Array, Array]:
    found = search.find(index, np.arange(start, stop), values)
    lengths = found.lengths.astype(search.points.rows.dtype)
    return lengths, found.indices.astype(np.int32), found.tied, found.open


class _Codes:
    """Points as the index takes them: float32 in [-1, 1], so that no square overflows."""

    def __init__(self, points: RowPoints) -> None:
        self.points = points
        largest = 1.0 if points.metric == "cosine" else 2 * moments_of(points.rows).largest
        self.scale = largest or 1.0

    def scaled(self, values: Array) -> Array:
        ready = self.points.ready(values, self.points.rows.dtype)
        ready /= ready.dtype.type(self.scale)
        return np.ascontiguousarray(ready, dtype=np.float32)


def _scan(points: RowPoints, queries: Array, k: int) -> Array:
    """Candidates (b, m) of ready rows among all points, by products with every one of them."""
    m = min(k + 1 + SPARE, points.n)
    b = len(queries)
    best, candidates = np.full((b, m), np.inf), np.full((b, m), -1, dtype=np.int64)
    own = np.einsum("ij,ij->i", queries, queries)
    for which, block in points.blocks(block_height(8 * points.width), queries.dtype):
        norms = np.einsum("ij,ij->i", block, block)
        for start in range(0, b, height := block_height(8 * len(block), _SCAN_BYTES)):
            some = slice(start, start + height)
            squared = queries[some] @ block.T
            squared *= -2
            squared += norms
            squared += own[some, None]
            near = min(m, len(block))
            place = np.argpartition(squared, near - 1, axis=1)[:, :near]
            together = np.hstack([best[some], np.take_along_axis(squared, place, 1)])
            ends = np.hstack([candidates[some], place + which.start])
            kept = np.argpartition(together, m - 1, axis=1)[:, :m]
            best[some] = np.take_along_axis(together, kept, 1)
            candidates[some] = np.take_along_axis(ends, kept, 1)
    return candidates


class _Gathered:
    """What was found for blocks of rows, as small as it can be kept."""

    def __init__(self, points: RowPoints, k: int) -> None:
        n = points.n
        self.lengths = np.empty((n, k), dtype=points.rows.dtype)
        self.indices = np.empty((n, k), dtype=np.int32 if n < 2**31 else np.int64)
        self.tied = [np.empty((0, 2), dtype=np.int64)]
        self.open = [np.empty(0, dtype=np.int64)]

    def add(self, rows: Array, found: Nearest) -> None:
        self.lengths[rows], self.indices[rows] = found.lengths, found.indices
        self.tied.append(found.tied)
        self.open.append(found.open)

    def replace(self, rows: Array, found: Nearest) -> None:
        self.tied = [pairs[~np.isin(pairs[:, 0], rows)] for pairs in self.tied]
        self.open = [some[~np.isin(some, rows)] for some in self.open]
        self.add(rows, found)

    def all(self) -> Nearest:
        tied, left = np.concatenate(self.tied), np.concatenate(self.open)
        return Nearest(self.lengths, self.indices, tied, left)


def _neighbors(points: RowPoints, found: Nearest, recall: float, backend: str) -> Neighbors:
    return Neighbors(points.distances(found.lengths), found.indices, recall, backend, found.tied)
