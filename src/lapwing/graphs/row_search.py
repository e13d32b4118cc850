"""Nearest neighbours of points on disk, with at most compressed codes of all points in memory.

A flat scan compares slabs of points with all others by products in float64. An approximate search
trains an index on a sample and fills it with a code for each point. The index returns candidates,
whose exact distances are computed from the blocks, slab by slab. Both take a pass over the file for
each slab.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from joblib import Memory
from numpy.typing import DTypeLike
from sklearn.utils import check_random_state

from lapwing._arrays import Array, RandomSource, row_blocks
from lapwing._host.files import cached
from lapwing._host.memory import give_back_memory, require_memory
from lapwing._host.threads import share
from lapwing._rows.base import Rows, block_height, blocks_of, key_of, moments_of, rows_of
from lapwing.graphs.ann import (
    LIST_SIZE,
    RECALL_SAMPLE,
    ListPlaces,
    affordable_lists,
    centers_of_lists,
    faiss_threads,
    fewest_lists,
    for_faiss,
    lists_of,
    load_faiss,
    n_threads,
    reading_groups,
    warn_low_recall,
)
from lapwing.graphs.search import (
    DIFFERENCE_BYTES,
    LARGE,
    SMALL,
    SPARE,
    TIE,
    Gathered,
    Nearest,
    Neighbors,
    SearchedPoints,
    complete,
    nearest_of,
    neighbors_of,
    unit_rows,
)
from lapwing.linalg import center_of

_LOGGER = logging.getLogger("lapwing")

_PURPOSE = "A search for neighbours of points on disk"
_SCAN_BYTES = 2**26  # of products of two blocks
_MOST_LISTS = 16384
_WORK_BYTES = 2e8  # of samples, scans and blocks of threads, for any number of points
_QUERY_BYTES = 2**22  # of points that a thread searches for at a time
_CODE_OPERATIONS = 1e14  # maximum for a search: half an hour on two cores
# _FACTOR k + _CANDIDATES candidates for k neighbours, as codes give approximate distances.
_CANDIDATES, _FACTOR = 8, 2

# A slab, the points in memory during a pass over all points, is a tenth of the points within these
# bounds. It depends on the points only, as cached slabs are identified by their rows.
_SLABS, _LEAST_BYTES, _MOST_BYTES = 10, 2**24, 2**28


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
    gathered = points.gathered(k)
    for rows, values in points.slabs():
        gathered.add(rows, _scan(points, rows, values, k, np.float64))
    return neighbors_of(points, complete(points, gathered.all(), k), 1.0, "scan")


def search_rows(
    X: Rows,
    k: int,
    metric: str,
    n_jobs: int | None,
    target_recall: float,
    random_state: RandomSource,
    memory: Memory | str | None = None,
) -> Neighbors:
    """Search most of the k < n nearest other points of each point, by inverted lists of codes.

    Parameters
    ----------
    X : Rows of shape (n, d)
    k : int
    metric : str
        'euclidean' or 'cosine'.
    n_jobs : int or None
        Number of threads; None is faiss's default.
    target_recall : float
        In (0, 1].
    random_state : int, RandomState or None
        Seed of the samples for training the index and for measuring the recall.
    memory : str or joblib.Memory, optional
        Cache of the index and of the neighbours of each slab: an interrupted search continues with
        the next slab.
    """
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    search = _CodeSearch(RowPoints(X, metric), k, target_recall, seed, n_threads(n_jobs))
    search.forecast(kept=memory is not None)
    key = (key_of(X), metric, k, float(target_recall), seed)
    found = _neighbors_by_lists(search, key, memory)
    give_back_memory()  # of the lists
    return found


def _neighbors_by_lists(search: _CodeSearch, key: object, memory: Memory | str | None) -> Neighbors:
    points, k, target_recall = search.points, search.k, search.target_recall
    gathered = points.gathered(k)
    with faiss_threads(load_faiss(_PURPOSE), search.n_threads):
        lists = cached(memory, (key, "lists"), search.fill)
    n_read, recall = cached(memory, (key, "recall"), partial(search.tune, lists))
    text = "Neighbours by codes: recall %.4f (asked: %g) reading %d of %d lists."
    _LOGGER.info(text, recall, target_recall, n_read, lists.index.nlist)
    warn_low_recall(recall, target_recall, points.n)
    for rows, values in points.slabs():
        find = partial(search.find, lists, n_read, rows, values)
        start, stop = int(rows[0]), int(rows[-1]) + 1
        gathered.add(rows, cached(memory, (key, (start, stop, n_read)), find))
        _LOGGER.info("Neighbours of %d of %d points.", stop, points.n)
    short = np.flatnonzero(np.isinf(gathered.lengths[:, -1]))
    if len(short):  # the lists that were read contain too few points
        gathered.replace(short, _scan(points, short, rows_of(points.source, short), k))
    return neighbors_of(points, gathered.all(), recall, "faiss")


@dataclass(frozen=True, eq=False)
class _CodeSearch:
    """Search by codes, in three stages whose results are cached."""

    points: RowPoints
    k: int
    target_recall: float
    seed: int
    n_threads: int

    @property
    def width(self) -> int:
        """Number of candidates of a point."""
        return min(_FACTOR * self.k + _CANDIDATES, self.points.n)

    @cached_property
    def scale(self) -> float:
        """Divisor of prepared points: in [-1, 1], squares do not overflow."""
        unit = self.points.metric == "cosine"
        return 1.0 if unit else 2 * moments_of(self.points.source).largest or 1.0

    def scaled(self, values: Array) -> Array:
        """Convert rows for faiss."""
        ready = self.points.ready(values, self.points.source.dtype)
        ready /= ready.dtype.type(self.scale)
        return for_faiss(ready, self.points.width)

    def forecast(self, *, kept: bool) -> None:
        """Raise MemoryError if the search does not fit into memory, with a copy if it is cached."""
        n, row = self.points.n, self.points.width * self.points.source.dtype.itemsize
        codes = n * (self.points.width + 8)
        lists = 1.5 * codes  # a list doubles when it is full
        slab = min(n, self.points.slab_height)
        found = n * self.k * (self.points.source.dtype.itemsize + 4)
        # Three slabs as they are read and prepared; candidates with their lengths.
        finding = found + slab * (3 * row + self.width * 40)
        require_memory(
            _WORK_BYTES + lists + max(finding, 2 * codes if kept else 0),
            f"A search for neighbours of {n} points on disk, with {self.points.width} bytes for "
            "each,",
            "Use an estimator that searches no neighbours: AnchorGraphClassifier, "
            "EigenfunctionClassifier.",
        )

    def fill(self) -> _CodeLists:
        """Train inverted lists of codes on a sample, and fill them in one pass."""
        faiss = load_faiss(_PURPOSE)
        n, rng = self.points.n, np.random.RandomState(self.seed)
        n_lists = max(1, min(int(4 * n**0.5), n // LIST_SIZE, _MOST_LISTS))
        drawn = rng.choice(n, min(n, LIST_SIZE * n_lists), replace=False)
        sample = self.scaled(rows_of(self.points.source, np.sort(drawn)))
        centers = centers_of_lists(faiss, sample, n_lists, self.seed)
        quantizer = ListPlaces.of(faiss, centers, self.seed).groups
        quantizer.make_direct_map()  # by which it knows the centres of the codes
        quantizer.nprobe = quantizer.nlist  # exact lists of the points by which codes are trained
        index = lists_of(faiss, "bytes", quantizer, sample)
        quantizer.nprobe = reading_groups(faiss, 1).nprobe
        for _, values in self.points.slabs():
            index.add(self.scaled(values))
        return _CodeLists(faiss, index)

    def tune(self, lists: _CodeLists) -> tuple[int, float]:
        """Return the number of lists to read, and their recall of true neighbours of a sample."""
        points, k = self.points, self.k
        rng = np.random.RandomState(self.seed)
        sample = np.sort(rng.choice(points.n, min(RECALL_SAMPLE, points.n), replace=False))
        values = rows_of(points.source, sample)
        truth = _scan(points, sample, values, k).indices
        asked = self.scaled(values)

        def recall_of(n_read: int) -> float:
            candidates = lists.candidates(asked, n_read, self.width, self.n_threads)
            return float((truth[:, :, None] == candidates[:, None, :]).any(axis=2).mean())

        most = affordable_lists(lists.index.nlist, points.n, points.width, _CODE_OPERATIONS)
        return fewest_lists(recall_of, self.target_recall, most)

    def find(self, lists: _CodeLists, n_read: int, rows: Array, values: Array) -> Nearest:
        """Find the neighbours of a slab: candidates by codes, and their distances in one pass."""
        asked = self.scaled(values)
        candidates = lists.candidates(asked, n_read, self.width, self.n_threads)
        del asked
        found = self.points.nearest(rows, values, candidates, self.k)
        lengths = found.lengths.astype(self.points.source.dtype)
        return found._replace(lengths=lengths, indices=found.indices.astype(np.int32))


@dataclass(frozen=True, eq=False)
class _CodeLists:
    """Inverted lists of codes, searched by several threads.

    Attributes
    ----------
    index : faiss.IndexIVFScalarQuantizer
        Its quantizer has the centres of the lists in groups.
    """

    faiss: Any
    index: Any

    def __reduce__(self) -> Any:
        return _deserialize, (self.faiss.serialize_index(self.index),)

    def candidates(self, points: Array, n_read: int, width: int, n_threads: int) -> Array:
        """Find indices (b, width) of candidates in n_read lists; -1 for none."""
        groups = reading_groups(self.faiss, n_read)
        reading = self.faiss.SearchParametersIVF(nprobe=n_read, quantizer_params=groups)
        with faiss_threads(self.faiss, n_threads):
            lists = self.index.quantizer.search(points, 1)[1][:, 0]
        order = np.argsort(lists, kind="stable")  # points of a list together, for the cache
        candidates = np.empty((len(points), width), dtype=np.int32)

        def search(block: slice) -> None:
            rows = order[block]
            with faiss_threads(self.faiss, 1):
                candidates[rows] = self.index.search(points[rows], width, params=reading)[1]

        share(n_threads, search, row_blocks(len(points), 4 * points.shape[1], _QUERY_BYTES))
        return candidates


def _deserialize(serialized: Array) -> _CodeLists:
    faiss = load_faiss(_PURPOSE)
    return _CodeLists(faiss, faiss.deserialize_index(serialized))


def _scan(points: RowPoints, rows: Array, values: Array, k: int, dtype: Any = None) -> Nearest:
    """Find the neighbours of some points by products with all points, in a precision."""
    queries, m = points.ready(values, dtype or points.product_dtype), min(k + 1 + SPARE, points.n)
    best, candidates = np.full((len(rows), m), np.inf), np.full((len(rows), m), -1, dtype=np.int64)
    own = np.einsum("ij,ij->i", queries, queries)
    for which, given in points.source.blocks(block_height(8 * points.width)):
        block = points.ready(given, queries.dtype)
        norms = np.einsum("ij,ij->i", block, block)
        for some in row_blocks(len(rows), 8 * len(block), _SCAN_BYTES):
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
    return points.nearest(rows, values, candidates, k)


@dataclass(frozen=True, eq=False)
class RowPoints(SearchedPoints):
    """Points on disk, prepared so that their neighbours are Euclidean.

    The metric is 'euclidean', or 'cosine', for which rows are scaled to unit length.
    """

    @property
    def width(self) -> int:
        """Number of coordinates of a prepared point."""
        return int(self.source.shape[1] + (self.metric == "cosine" and self._has_empty))

    @cached_property
    def _has_empty(self) -> bool:
        return any(bool((~block.any(axis=1)).any()) for _, block in blocks_of(self.source))

    @cached_property
    def _center(self) -> Array | None:
        return None if self.metric == "cosine" else center_of(self.source)

    @cached_property
    def product_dtype(self) -> np.dtype[Any]:
        """Precision of the points, or float64 if squares leave the range of float32."""
        squared = self.metric == "cosine" or SMALL < moments_of(self.source).largest < LARGE
        return np.dtype(self.source.dtype if squared else np.float64)

    @property
    def slab_height(self) -> int:
        """Number of points in a slab."""
        row = self.source.shape[1] * self.source.dtype.itemsize
        return block_height(row, min(max(self.n * row // _SLABS, _LEAST_BYTES), _MOST_BYTES))

    def slabs(self) -> Iterator[tuple[Array, Array]]:
        """Iterate over the indices and values of large blocks of rows.

        The search takes a pass over all points for each.
        """
        for rows, values in self.source.blocks(self.slab_height):
            yield np.arange(rows.start, rows.stop), values

    def gathered(self, k: int) -> Gathered:
        """Allocate the neighbours of all points, in compact types."""
        index = np.int32 if self.n < 2**31 else np.int64
        return Gathered(self.n, k, lengths=self.source.dtype, index=index)

    def ready(self, values: Array, dtype: DTypeLike) -> Array:
        """Prepare rows for a search by products: centre them, or scale them to unit length."""
        if self._center is not None:
            return np.subtract(values, self._center, dtype=dtype)
        return np.asarray(self.exact(values), dtype=dtype)

    def exact(self, values: Array) -> Array:
        """Prepare rows for exact distances."""
        if self.metric == "cosine":
            return np.asarray(unit_rows(values.astype(np.float64), extra=self._has_empty))
        return values

    @property
    def slack(self) -> float:
        """Absolute rounding error of lengths between rows scaled to unit length."""
        return 8 * float(np.finfo(np.float64).eps) if self.metric == "cosine" else 0.0

    def nearest(self, index: Array, values: Array, candidates: Array, k: int) -> Nearest:
        """Select the nearest k candidates of some points, in one pass over all points.

        Parameters
        ----------
        index : ndarray of int of shape (b,)
            Points to search for.
        values : ndarray of shape (b, d)
            Rows of these points.
        candidates : ndarray of int of shape (b, m), m >= k
            Distinct candidates of each point, which may include the point itself; -1 for none.
        k : int
        """
        candidates = np.sort(candidates, axis=1)
        lengths = np.full(candidates.shape, np.inf)
        own = self.exact(values)
        for which, block in self.source.blocks(self.slab_height):
            found = np.flatnonzero((candidates >= which.start) & (candidates < which.stop))
            ends = self.exact(block)
            for some in row_blocks(len(found), 8 * ends.shape[1], DIFFERENCE_BYTES):
                place = found[some]
                step = ends[candidates.ravel()[place] - which.start].astype(np.float64)
                step -= own[place // candidates.shape[1]]
                lengths.ravel()[place] = np.sqrt(np.einsum("bd,bd->b", step, step))
        lengths[candidates == index[:, None]] = np.inf
        return nearest_of(index, candidates, lengths, k, self.n, None, self.slack)

    def as_far(self, rows: Array, ends: Array) -> Array:
        own = self.exact(rows_of(self.source, rows)).astype(np.float64)
        far = self.exact(rows_of(self.source, ends)).astype(np.float64) - own
        radii = np.sqrt(np.einsum("bd,bd->b", far, far))
        equal = np.empty((len(rows), self.n), dtype=bool)
        for which, values in blocks_of(self.source, 8 * self.width, DIFFERENCE_BYTES):
            block = self.exact(values).astype(np.float64)
            for i in range(len(rows)):
                step = block - own[i]
                lengths = np.sqrt(np.einsum("bd,bd->b", step, step))
                allowed = TIE * radii[i] + self.slack
                equal[i, which] = np.abs(lengths - radii[i]) <= allowed
        return equal
