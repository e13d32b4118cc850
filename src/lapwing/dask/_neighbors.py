"""Nearest neighbours of points on a cluster.

Each block is searched for neighbours of the rows whose nearest lists include one of its own or, in
an exact search, of all rows. Candidates and edges stay on the workers; the client receives counts,
the sum of the lengths, for the scale of heat weights, and the recall on a sample.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from lapwing._arrays import BLOCK_BYTES, Array, row_blocks
from lapwing.dask._data import ClusterPoints
from lapwing.dask._placement import (
    PURPOSE,
    ListLayout,
    PlacedRows,
    Placement,
    in_order,
    near_neighbors,
)
from lapwing.dask._plan import count_of_blocks, worker_bytes
from lapwing.dask._row_blocks import RowBlocks
from lapwing.dask._session import PerPart
from lapwing.graphs import KNNGraph, ann
from lapwing.graphs.search import DIFFERENCE_BYTES, SPARE, nearest_of
from lapwing.graphs.weights import Edges
from lapwing.linalg import center_of

_WEIGHTS = ("heat", "binary")
_WORKING_MEMORY = 64  # MB of distances in scikit-learn
_LEAST_CODED = 1000  # minimum number of points in a block to train codes


def check_supported(recipe: Any) -> KNNGraph:
    """Check that clusters support the recipe of a graph.

    Raises
    ------
    ValueError
        If the recipe is not supported.
    """
    if not isinstance(recipe, KNNGraph):
        raise ValueError(
            f"graph={recipe!r} is not supported on a cluster. Use KNNGraph(...), AffinityGraph(W), "
            "or DaskAnchorGraphClassifier for anchors."
        )
    for name, value, allowed in (
        ("metric", recipe.metric, ("euclidean",)),
        ("weights", recipe.weights, _WEIGHTS),
        ("n_components", recipe.n_components, (None,)),
    ):
        if callable(value) or value not in allowed:
            known = " or ".join(map(repr, allowed))
            raise ValueError(
                f"KNNGraph({name}={value!r}) is not supported on a cluster: use {known}. Reduce or "
                "rotate the features of X before the fit."
            )
    return recipe


def knn_edges(recipe: KNNGraph, X: ClusterPoints) -> tuple[RowBlocks, Placement, float]:
    """Find the edges of a recipe.

    Returns
    -------
    edges : RowBlocks of Edges
        Edges from the rows of each block of the placement to all points.
    placement : Placement
        Blocks of the points, without the points themselves.
    recall : float
        Recall of the search on a sample.
    """
    (n, d), k = X.shape, int(recipe.n_neighbors)
    if k >= n:
        raise ValueError(
            f"n_neighbors={k} must be smaller than the number of points, n={n}: a point is not "
            f"its own neighbour. Use n_neighbors <= {n - 1}, or more points."
        )
    item, n_threads = np.dtype(X.dtype).itemsize, X.rows.session.n_threads
    n_blocks = count_of_blocks(n, d * item, n_threads)
    X.rows.session.forecast(max(worker_bytes(n, d, n_threads, item, k).values()))
    seed = int(check_random_state(recipe.random_state).randint(2**31 - 1))
    approximate = recipe._approximates(X) and (
        find_spec("faiss") is not None or recipe.approximate is True
    )
    if approximate:
        placement = near_neighbors(X, n_blocks, seed)
        search, recall = _tuned(placement, X, k, recipe.target_recall, seed)
    else:
        placement = in_order(X, n_blocks)
        placed = placement.rows
        search, recall = _ClusterSearch(placed, placed.map(_exact, placed.first_rows), k), 1.0
    return search.edges(), placement.without_points(), recall


@dataclass(frozen=True, eq=False)
class _Index:
    """Index of the points of a block.

    Attributes
    ----------
    start : int
        First row of the block.
    n : int
        Number of points.
    index : NearestNeighbors, faiss.IndexIVF or None
        None for a block without points.
    origin : ndarray of shape (d,), or None
        Subtracted from points before an exact search.
    layout : ListLayout or None
        Lists of all blocks; None for an exact search.
    local : ndarray of int32 of shape (n_lists,), or None
        Number of each list in this index; -1 for lists of other blocks.
    """

    start: int
    n: int
    index: Any = None
    origin: Array | None = None
    layout: ListLayout | None = None
    local: Array | None = None

    def candidates(self, points: Array, settings: _Settings) -> tuple[Array, Array | None]:
        """Find the nearest points (b, m), and the lists (b, n_read) that are read for each.

        In both -1 means none. An exact search has no lists.
        """
        m = min(settings.width + settings.more, self.n)
        if self.layout is None:
            with config_context(working_memory=_WORKING_MEMORY):
                return self.index.kneighbors(points - self.origin, m, return_distance=False), None
        scaled = self.layout.lists.scaled(points)
        near = self.layout.lists.places.nearest(scaled, settings.n_read)
        assert self.local is not None
        lists = np.append(self.local, -1)[near].astype(np.int64)  # index -1: none
        # Own lists first, and at most as many columns as there are lists, as faiss requires. All
        # tasks of a search set the same number, as threads share the index.
        width = min(settings.n_read, self.index.nlist)
        lists = np.take_along_axis(lists, np.argsort(lists < 0, axis=1, kind="stable"), 1)
        lists = np.ascontiguousarray(lists[:, :width])
        self.index.nprobe = width
        return self.index.search_preassigned(scaled, m, lists, None)[1], near


def _blocks_of(near: Array | None, owned: Array | None, b: int, n_blocks: int) -> Array:
    """Return a bit for each block that owns one of the lists of b points; 1 without lists."""
    if near is None or owned is None:
        return np.packbits(np.ones((b, n_blocks), dtype=bool), axis=1)
    return np.packbits(owned[near].any(axis=1), axis=1)


class _Queries(NamedTuple):
    """Points whose neighbours are searched in a block."""

    rows: Array  # numbers among all rows
    points: Array


class _Candidates(NamedTuple):
    """Nearest points found for some rows; -1 and inf for missing ones."""

    rows: Array
    indices: Array
    lengths: Array
    # For rows of the block itself: one bit for each block, set if it owns one of the nearest lists
    # of the row. If hundreds of lists are read, their numbers would take more memory than the row.
    # For rows of other blocks: no columns.
    blocks: Array


class _Settings(NamedTuple):
    """Settings of a search; the first and last are for lists."""

    n_read: int  # lists read for each point
    width: int  # candidates whose exact lengths are kept
    more: int  # additional candidates, as codes give approximate distances


@dataclass(frozen=True, eq=False)
class _ClusterSearch:
    """Parameters and indexes of a search for the neighbours of all points.

    Attributes
    ----------
    placed : RowBlocks of PlacedRows
    indexes : RowBlocks of _Index
    k : int
    n_read : int
        Number of lists read for each point.
    more : int
        Number of additional candidates, as codes give approximate distances.
    """

    placed: RowBlocks
    indexes: RowBlocks
    k: int
    n_read: int = 0
    more: int = 0

    @property
    def settings(self) -> _Settings:
        return _Settings(self.n_read, self.k + 1 + SPARE, self.more)

    def recall(self, truth: _Truth) -> float:
        """Measure the fraction of the true neighbours that are found."""
        asked = _Queries(truth.rows, truth.points)
        found = self.placed.collect(_found, self.indexes, *asked, self.settings)
        best = np.sort(np.concatenate(found, axis=1), axis=1)[:, : self.k]
        return float((best <= truth.farthest * (1 + 5e-5)).mean())  # ties in float32 count

    def edges(self) -> RowBlocks:
        """Search all points, some blocks at a time, and return the `Edges` of each block."""
        session, n_blocks = self.placed.session, len(self.placed.parts)
        parts: list[Any] = [None] * n_blocks
        for wave in session.waves(n_blocks):
            made = self._search_wave(wave)
            session.wait(made)
            parts[wave.start :: wave.step] = made
        return replace(
            self.placed, parts=tuple(parts), n_columns=self.k, dtype=np.dtype(np.float64)
        )

    def _search_wave(self, wave: range) -> tuple[Any, ...]:
        """Search for the rows of some blocks, and return their `Edges` as futures."""
        session, parts, settings = self.placed.session, self.placed.parts, self.settings
        indexes, n_blocks = self.indexes.parts, len(parts)

        def of(values: Any, blocks: Iterable[int]) -> PerPart:
            return PerPart([values[i] for i in blocks])

        own = session.each(_search_own, of(parts, wave), of(indexes, wave), n_blocks, settings)
        counts = session.each(_count_queries, PerPart(own), n_blocks)
        n_queries = dict(zip(wave, session.gather(counts), strict=True))
        answers = {i: [found] for i, found in zip(wave, own, strict=True)}
        for shift in range(1, n_blocks):  # each block serves one other at a time
            pairs = [(i, (i + shift) % n_blocks) for i in wave]
            pairs = [(i, j) for i, j in pairs if n_queries[i][j]]
            asking, serving = [i for i, _ in pairs], [j for _, j in pairs]
            found_by = PerPart([answers[i][0] for i in asking])
            queries = session.each(_queries_to, of(parts, asking), found_by, PerPart(serving))
            served = of(parts, serving), of(indexes, serving)
            found = session.each(_search_block, *served, PerPart(queries), settings)
            for i, answer in zip(asking, found, strict=True):
                answers[i].append(answer)
        n = self.placed.shape[0]
        return session.each(_edges_of, PerPart(list(answers.values())), self.k, n)


class _Truth(NamedTuple):
    """Sampled rows and their exact neighbours, to measure the recall.

    Attributes
    ----------
    rows : ndarray of int of shape (s,)
        Row numbers in the order of the blocks.
    points : Future of ndarray of shape (s, d)
    farthest : ndarray of shape (s, 1)
        Distances to the k-th nearest points.
    lists : ndarray of int32 of shape (s, k)
        Lists that contain the nearest points.
    """

    rows: Array
    points: Any
    farthest: Array
    lists: Array


def _true_neighbors(placed: RowBlocks, k: int, seed: int) -> _Truth:
    """Find the nearest points of a sample in all blocks."""
    session, n = placed.session, placed.shape[0]
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(n, min(ann.RECALL_SAMPLE, n), replace=False))
    points = session.constant(np.concatenate(placed.collect(_points_at, placed.at(rows))))
    found = placed.collect(_nearest_lengths, placed.first_rows, rows, points, k)
    lengths, lists = (np.concatenate(each, axis=1) for each in zip(*found, strict=True))
    nearest = np.argsort(lengths, axis=1, kind="stable")[:, :k]
    farthest = np.take_along_axis(lengths, nearest[:, -1:], 1)
    return _Truth(rows, points, farthest, np.take_along_axis(lists, nearest, 1))


def _tuned(
    placement: Placement, X: ClusterPoints, k: int, target_recall: float, seed: int
) -> tuple[_ClusterSearch, float]:
    """Fill lists, and determine how many to read for the target recall.

    The lists and their contents are those of a search in memory, see `ann.tuned`.
    """
    placed, layout = placement.rows, placement.layout
    truth = _true_neighbors(placed, k, seed)
    found = placed.session.one(_holding, layout, truth.points, truth.lists, target_recall)
    holding = placed.session.gather([found])[0]

    def fill(content: str) -> _ClusterSearch:
        return _ClusterSearch(
            placed, placed.map(_filled, placed.first_rows, layout, content, seed), k
        )

    def recall_of(search: _ClusterSearch, more: int, n_read: int) -> float:
        return replace(search, n_read=n_read, more=more).recall(truth)

    n_lists = placement.n_lists
    search, reading = ann.tuned(
        fill, recall_of, X.shape, k, n_lists, holding, target_recall, _ADVICE
    )
    return replace(search, n_read=reading.n_read, more=reading.more), reading.recall


_ADVICE = (
    "Reduce the features first, or use DaskAnchorGraphClassifier or DaskEigenfunctionClassifier, "
    "which need no neighbours."
)


def _exact(placed: PlacedRows, start: int) -> _Index:
    points = placed.points
    if not len(points):
        return _Index(start, 0)
    origin = center_of(points)
    return _Index(start, len(points), NearestNeighbors().fit(points - origin), origin)


def _filled(placed: PlacedRows, start: int, layout: ListLayout, content: str, seed: int) -> _Index:
    """Fill the lists of a block; centres are those of all lists."""
    assert placed.lists is not None
    points, lists = placed.points, layout.lists
    if not len(points):
        return _Index(start, 0, layout=layout)
    faiss = ann.load_faiss(PURPOSE)
    own = np.unique(placed.lists)
    local = np.full(len(lists.centers), -1, dtype=np.int32)
    local[own] = np.arange(len(own))
    quantizer = faiss.IndexFlatL2(lists.centers.shape[1])
    quantizer.add(lists.centers[own])
    drawn = min(len(points), ann.LIST_SIZE * len(own))
    some = np.random.default_rng(seed).choice(len(points), drawn, replace=False)
    content = content if len(points) >= _LEAST_CODED else "points"
    index = ann.lists_of(faiss, content, quantizer, lists.scaled(points[np.sort(some)]))
    for rows in row_blocks(len(points), 8 * points.shape[1], DIFFERENCE_BYTES):
        index.add(lists.scaled(points[rows]))
    return _Index(start, len(points), index, layout=layout, local=local)


def _points_at(placed: PlacedRows, at: tuple[Array, Array]) -> Array:
    return np.asarray(placed.points[at[1]])


def _nearest_lengths(
    placed: PlacedRows, start: int, sample: Array, points: Array, k: int
) -> tuple[Array, Array]:
    """Compute the exact lengths to the nearest points of a block, and the lists of these points."""
    assert placed.lists is not None
    lengths = [np.full((len(points), k), np.inf)]
    lists = [np.zeros((len(points), k), dtype=np.int32)]
    if len(placed.points):
        center = center_of(placed.points)
    for rows in row_blocks(len(placed.points), 8 * len(points), BLOCK_BYTES):
        block = placed.points[rows]
        m = min(k + 1 + SPARE, len(block))
        with config_context(working_memory=_WORKING_MEMORY):
            search = NearestNeighbors(n_neighbors=m, algorithm="brute").fit(block - center)
            ends = search.kneighbors(points - center, return_distance=False)
        found = _lengths(points, block, ends)
        found[ends + (start + rows.start) == sample[:, None]] = np.inf
        lengths.append(found)
        lists.append(placed.lists[rows][ends])
    together = np.concatenate(lengths, axis=1)
    order = np.argsort(together, axis=1, kind="stable")[:, :k]
    return (
        np.take_along_axis(together, order, 1),
        np.take_along_axis(np.concatenate(lists, axis=1), order, 1),
    )


def _holding(layout: ListLayout, points: Array, holders: Array, target_recall: float) -> int:
    """Return the number of nearest lists that contain `target_recall` of the true neighbours."""
    order = layout.lists.search(points, len(layout.first))[1]
    return ann.lists_holding(order, holders, target_recall)


def _found(
    placed: PlacedRows, index: _Index, rows: Array, points: Array, settings: _Settings
) -> Array:
    """Return the lengths to the nearest points of a block that the search finds."""
    return _search_block(placed, index, _Queries(rows, points), settings).lengths


def _search_own(
    placed: PlacedRows, index: _Index, n_blocks: int, settings: _Settings
) -> _Candidates:
    """Search a block for its own rows, and find the blocks in which each is to be searched."""
    asked = _Queries(index.start + np.arange(index.n), placed.points)
    return _search_block(placed, index, asked, settings, n_blocks)


def _rows_to_search(found: _Candidates, block: int) -> Array:
    """Return the rows that are searched in a block."""
    return np.flatnonzero(found.blocks[:, block // 8] & (128 >> block % 8))


def _count_queries(found: _Candidates, n_blocks: int) -> list[int]:
    """Count the rows that are searched in each block."""
    return [len(_rows_to_search(found, j)) for j in range(n_blocks)]


def _queries_to(placed: PlacedRows, found: _Candidates, to: int) -> _Queries:
    """Return the rows of a block whose neighbours are searched in another block."""
    rows = _rows_to_search(found, to)
    return _Queries(found.rows[rows], placed.points[rows])


def _search_block(
    placed: PlacedRows,
    index: _Index,
    asked: _Queries,
    settings: _Settings,
    n_blocks: int = 0,
) -> _Candidates:
    """Find the nearest points of a block for some points, by exact lengths.

    With `n_blocks` also which of so many blocks own the lists that are read for each point.
    """
    n_read, width, more = settings
    b, m = len(asked.rows), min(width, max(index.n, 1))
    short = index.start + index.n <= np.iinfo(np.int32).max
    indices = np.full((b, m), -1, dtype=np.int32 if short else np.int64)
    lengths = np.full((b, m), np.inf, dtype=placed.points.dtype)
    blocks = np.zeros((b, -(-n_blocks // 8)), dtype=np.uint8)
    owned = index.layout.owned(n_blocks) if n_blocks and index.layout is not None else None
    bytes_ = max(8 * (width + more) * placed.points.shape[1], n_read * n_blocks)
    for rows in row_blocks(b, bytes_, DIFFERENCE_BYTES) if index.n else ():
        points = asked.points[rows]
        ends, near = index.candidates(points, settings)
        if n_blocks:
            blocks[rows] = _blocks_of(near, owned, len(points), n_blocks)
        found = _lengths(points, placed.points, ends)
        ends = np.where(ends >= 0, ends + index.start, -1)
        # By index instead of distance 0, because duplicates of a point are its neighbours.
        own = ends == asked.rows[rows, None]
        found[own], ends[own] = np.inf, -1
        if found.shape[1] > m:
            best = np.argpartition(found, m - 1, axis=1)[:, :m]
            ends, found = np.take_along_axis(ends, best, 1), np.take_along_axis(found, best, 1)
        indices[rows, : ends.shape[1]], lengths[rows, : ends.shape[1]] = ends, found
    return _Candidates(asked.rows, indices, lengths, blocks)


def _lengths(points: Array, others: Array, ends: Array) -> Array:
    difference = others[ends]
    difference -= points[:, None, :]
    lengths = np.sqrt(np.einsum("bmd,bmd->bm", difference, difference)).astype(np.float64)
    lengths[ends < 0] = np.inf
    return np.asarray(lengths)


def _edges_of(answers: list[_Candidates], k: int, n: int) -> Edges:
    """Keep the nearest of all candidates of a block, whose own are the first."""
    rows, m = answers[0].rows, max(k, sum(answer.indices.shape[1] for answer in answers))
    column = np.int32 if n <= np.iinfo(np.int32).max else np.int64
    types = np.int32, column, answers[0].lengths.dtype
    found = [Edges(*(np.empty(0, dtype=kind) for kind in types))]
    for block in row_blocks(len(rows), 16 * m, DIFFERENCE_BYTES):
        local = np.arange(block.start, block.stop)
        indices = np.full((len(local), m), -1, dtype=np.int64)
        lengths = np.full((len(local), m), np.inf)
        stop = 0
        for answer in answers:
            of = slice(*np.searchsorted(answer.rows, rows[0] + [block.start, block.stop]))
            left, stop = stop, stop + answer.indices.shape[1]
            at = answer.rows[of] - rows[block.start]
            indices[at, left:stop], lengths[at, left:stop] = answer.indices[of], answer.lengths[of]
        order = np.argsort(indices, axis=1)
        indices = np.take_along_axis(indices, order, 1)
        nearest = nearest_of(local, indices, np.take_along_axis(lengths, order, 1), k, n)
        edges = Edges.to_nearest(local, nearest.lengths, nearest.indices, nearest.tied)
        # A point has fewer than k neighbours if its lists contain too few points.
        real = np.isfinite(edges.values)
        found.append(Edges(*(c[real].astype(kind) for c, kind in zip(edges, types, strict=True))))
    return Edges(*map(np.concatenate, zip(*found, strict=True)))
