"""Nearest neighbours of points on disk: nothing of them is in memory but compressed codes.

A flat scan compares slabs of points with all others by products in float64. An approximate search
has an index that is trained on a sample and holds a code a point; it proposes candidates, whose
exact lengths are computed from the blocks, slab by slab. Either takes a pass over the file for each
slab.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from lapwing._arrays import Array
from lapwing._host.memory import require_memory
from lapwing._rows import Rows, block_height, blocks_of, moments_of, rows_of
from lapwing.graphs.ann import _fewest, _threads, load_faiss, warn_low_recall
from lapwing.graphs.points import SPARE
from lapwing.graphs.row_points import RowPoints, slabs
from lapwing.graphs.search import Neighbors
from lapwing.graphs.ties import Nearest, complete

__all__ = ["scan_rows", "search_rows"]

_LOGGER = logging.getLogger("lapwing")

_SCAN_BYTES = 2**26  # of products of a block with a block
_SAMPLE = 512  # points on which recall is measured, as for points in memory
_LIST_SIZE = 39  # points a list below which faiss writes a warning to the terminal
_LISTS = 16384  # at most: training and adding compare each point with all centres
_TRAIN_BYTES = 2**29  # of the sample that the index is trained on
_QUERY_BYTES = 2**24
_CODE_OPERATIONS = 1e14  # of a search: half an hour of two cores
# Candidates of a point, of which codes tell the order roughly only.
_CANDIDATES, _FACTOR = 16, 2


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
    for which, values in slabs(points, np.float64):
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
    """
    faiss = load_faiss("A search for neighbours of points on disk")
    rng = check_random_state(random_state)
    points = RowPoints(X, metric)
    codes = _Codes(points)
    width = min(_FACTOR * k + _CANDIDATES, points.n)
    _forecast(points, k, width)
    sample = np.sort(rng.choice(points.n, min(_SAMPLE, points.n), replace=False))
    values = rows_of(X, sample)
    with _threads(faiss, n_jobs):
        index = codes.index(faiss, rng)
        found = _scan(points, points.ready(values, X.dtype), k)
        truth = points.nearest(sample, values, found, k).indices

        def recall_of(n_read: int) -> float:
            index.nprobe = n_read
            candidates = index.search(codes.scaled(values), width)[1]
            return float((truth[:, :, None] == candidates[:, None, :]).any(axis=2).mean())

        most = _CODE_OPERATIONS * index.nlist / (2.0 * points.n**2 * points.width)
        n_read, recall = _fewest(recall_of, target_recall, int(np.clip(most, 1, index.nlist)))
        index.nprobe = n_read
        text = "Neighbours by codes: recall %.4f (asked: %g) reading %d of %d lists."
        _LOGGER.info(text, recall, target_recall, n_read, index.nlist)
        warn_low_recall(recall, target_recall, points.n)
        gathered = _Gathered(points, k)
        for which, values in slabs(points, np.float32):
            rows = np.arange(which.start, which.stop)
            candidates = np.empty((len(rows), width), dtype=np.int32)
            for some, block in blocks_of(values, 4 * (points.width + 3 * width), _QUERY_BYTES):
                candidates[some] = index.search(codes.scaled(block), width)[1]
            gathered.add(rows, points.nearest(rows, values, candidates, k))
            _LOGGER.debug("Neighbours of %d of %d points.", which.stop, points.n)
    short = np.flatnonzero(np.isinf(gathered.lengths[:, -1]))
    if len(short):  # the lists that were read held too few points
        values = rows_of(X, short)
        found = _scan(points, points.ready(values, X.dtype), k)
        gathered.replace(short, points.nearest(short, values, found, k))
    return _neighbors(points, gathered.all(), recall, "faiss")


def _forecast(points: RowPoints, k: int, width: int) -> None:
    n, d = points.n, points.width
    slab = block_height(4 * d, 2**28)
    need = n * (code_bytes(d) + 8) + n * k * 8 + min(n, slab) * width * 12 + 3 * 2**28
    require_memory(
        float(need),
        f"A search for neighbours of {n} points on disk, with a code of {code_bytes(d)} bytes for "
        "each,",
        "Use an estimator that searches no neighbours: AnchorGraphClassifier, "
        "EigenfunctionClassifier.",
    )


def code_bytes(d: int) -> int:
    """Bytes of the code of a point of d coordinates: one a coordinate."""
    return d


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

    def blocks(self) -> Iterator[Array]:
        for _, values in blocks_of(self.points.rows, 8 * self.points.width, _QUERY_BYTES):
            yield self.scaled(values)

    def index(self, faiss: Any, rng: np.random.RandomState) -> Any:
        """Inverted lists of codes: trained on a sample, and filled in one pass."""
        n, d = self.points.n, self.points.width
        n_lists = max(1, min(int(4 * n**0.5), n // _LIST_SIZE, _LISTS))
        index = faiss.IndexIVFScalarQuantizer(
            faiss.IndexFlatL2(d), d, n_lists, faiss.ScalarQuantizer.QT_8bit
        )
        index.cp.seed = int(rng.randint(2**31 - 1))
        most = max(_LIST_SIZE * n_lists, _TRAIN_BYTES // (4 * d))
        drawn = rng.choice(n, min(n, 2 * _LIST_SIZE * n_lists, most), replace=False)
        index.train(self.scaled(rows_of(self.points.rows, np.sort(drawn))))
        for block in self.blocks():
            index.add(block)
        return index


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
