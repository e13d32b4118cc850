"""k-nearest-neighbour graph of points on a cluster.

Each block of points is searched in each shard, the index of one block. Candidates and edges stay on
the workers; the client gets the sum of the lengths, which scales heat weights, and the recall on a
sample.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from lapwing._arrays import Array, row_blocks
from lapwing._host.warn import warn
from lapwing.dask._data import Points
from lapwing.dask._row_blocks import RowBlocks
from lapwing.dask._session import PerPart
from lapwing.exceptions import LowRecallWarning
from lapwing.graphs import KNNGraph, ann
from lapwing.graphs.base import CSR, tidy
from lapwing.graphs.row_search import ListReading
from lapwing.graphs.search import DIFFERENCE_BYTES, SPARE, TIE, nearest_of
from lapwing.graphs.search import Points as SearchPoints
from lapwing.graphs.weights import heat
from lapwing.linalg import center_of

_LOGGER = logging.getLogger("lapwing")

_WEIGHTS = ("heat", "binary")
_WORKING_MEMORY = 64  # MB of distances of scikit-learn


class Edges(NamedTuple):
    """Edges from a block to the nearest points, ties with the k-th one included."""

    rows: Array  # of the block
    columns: Array  # of all points
    lengths: Array


def check_recipe(recipe: Any) -> KNNGraph:
    """Check that clusters support the recipe of a graph.

    Raises
    ------
    ValueError
        If they do not.
    """
    if not isinstance(recipe, KNNGraph):
        raise ValueError(
            f"graph={recipe!r} is not supported on a cluster. Use KNNGraph(...), or "
            "DaskAnchorGraphClassifier for anchors."
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


def knn_affinity(recipe: KNNGraph, X: Points) -> tuple[RowBlocks, float]:
    """Compute the affinity of a recipe.

    Returns
    -------
    affinity : RowBlocks
        W; each block is a list of CSR matrices, one for each block of columns.
    recall : float
        Recall of the search on a sample.
    """
    n, k = X.shape[0], int(recipe.n_neighbors)
    if k >= n:
        raise ValueError(
            f"n_neighbors={k} must be smaller than the number of points, n={n}: a point is not "
            f"its own neighbour. Use n_neighbors <= {n - 1}, or more points."
        )
    edges, recall = _search(recipe, X, k)
    count, length = edges.total(_count_and_length)
    t = float(length) / int(count) if recipe.weights == "heat" else None
    return _symmetric(edges, t, bool(recipe.mutual)), recall


def _search(recipe: KNNGraph, X: Points, k: int) -> tuple[RowBlocks, float]:
    rows, session = X.rows, X.rows.session
    n, g = X.shape[0], len(X.rows.parts)
    approximate = _approximates(recipe, X)
    seeds = check_random_state(recipe.random_state).randint(2**31 - 1, size=g).tolist()
    shards = rows.map(
        _shard,
        PerPart(rows.starts[:-1].tolist()),
        PerPart(seeds),
        approximate,
        k,
        recipe.target_recall,
    )
    found: Any = [None] * g
    for shift in range(g):  # each shard serves one block at a time
        others = [(i + shift) % g for i in range(g)]
        found = session.each(
            _better,
            g,
            PerPart(rows.parts),
            PerPart(rows.starts[:-1].tolist()),
            PerPart([rows.parts[j] for j in others]),
            PerPart([shards.parts[j] for j in others]),
            PerPart(list(found)),
            k,
        )
    candidates = RowBlocks(session, tuple(found), rows.sizes, k, rows.dtype)
    edges = candidates.map(_edges_of, PerPart(rows.starts[:-1].tolist()), k, n)
    if not approximate:
        return edges, 1.0
    return edges, _recall(recipe, X, candidates, k)


def _approximates(recipe: KNNGraph, X: Points) -> bool:
    return recipe._approximates(X) and (
        find_spec("faiss") is not None or recipe.approximate is True
    )


@dataclass(frozen=True, eq=False)
class _Shard:
    """Index of a block of points."""

    start: int
    center: Array
    scale: float
    index: Any  # of faiss, or NearestNeighbors
    n: int

    def candidates(self, points: Array, m: int) -> Iterator[tuple[Array, Array]]:
        """Yield some rows of points and their candidates (b, m) in the shard, -1 for none."""
        m = min(m, self.n)
        blocks = row_blocks(len(points), 8 * m * points.shape[1], DIFFERENCE_BYTES)
        if isinstance(self.index, NearestNeighbors):
            for block in blocks:
                with config_context(working_memory=_WORKING_MEMORY):
                    moved = points[block] - self.center
                    found = self.index.kneighbors(moved, m, return_distance=False)
                yield np.arange(block.start, block.stop), np.asarray(found)
            return
        reading = ListReading(self.index, self._lists_of(points))
        for block in blocks:
            rows = reading.order[block]
            yield rows, reading.candidates(self._scaled(points[rows]), rows, m)

    def _lists_of(self, points: Array) -> Array:
        """Return the lists (b, n_read) to read for points."""
        lists = np.empty((len(points), self.index.nprobe), dtype=np.int32)
        for some in row_blocks(len(points), 8 * points.shape[1], DIFFERENCE_BYTES):
            asked = self._scaled(points[some])
            lists[some] = self.index.quantizer.search(asked, self.index.nprobe)[1]
        return lists

    def _scaled(self, points: Array) -> Array:
        return np.ascontiguousarray((points - self.center) / self.scale, dtype=np.float32)


def _shard(
    block: Array, start: int, seed: int, approximate: bool, k: int, target_recall: float
) -> _Shard:
    center = center_of(block) if len(block) else np.zeros(block.shape[1], dtype=block.dtype)
    if not approximate or len(block) <= 2 * k:
        search = NearestNeighbors().fit(block - center) if len(block) else None
        return _Shard(start, center, 1.0, search, len(block))
    faiss = ann.load_faiss("KNNGraph of so many points on a cluster")
    points = SearchPoints.prepare(block, "euclidean")
    index, scale = ann.tuned_lists(faiss, points, k, target_recall, np.random.RandomState(seed))
    return _Shard(start, center, scale * points.scale, index, len(block))


class _Candidates(NamedTuple):
    """Nearest points so far, in ascending order of their numbers; -1 and inf for none."""

    indices: Array
    lengths: Array


def _better(
    block: Array, start: int, others: Array, shard: _Shard, known: _Candidates | None, k: int
) -> _Candidates:
    """Merge the candidates of a block with those of one more shard."""
    m = k + 1 + SPARE
    indices = np.full((len(block), m), -1, dtype=np.int64)
    lengths = np.full((len(block), m), np.inf)
    if shard.n and len(block):
        for rows, proposed in shard.candidates(block, m):
            width = proposed.shape[1]
            indices[rows, :width] = np.where(proposed >= 0, proposed + shard.start, -1)
            lengths[rows, :width] = _lengths(block[rows], others, proposed)
    # By index, not by distance 0, because duplicates of a point are its neighbours.
    own = indices == start + np.arange(len(block))[:, None]
    indices[own], lengths[own] = -1, np.inf
    if known is not None:
        indices = np.hstack([known.indices, indices])
        lengths = np.hstack([known.lengths, lengths])
        nearest = np.argpartition(lengths, m - 1, axis=1)[:, :m]
        indices = np.take_along_axis(indices, nearest, 1)
        lengths = np.take_along_axis(lengths, nearest, 1)
    order = np.argsort(indices, axis=1)
    return _Candidates(np.take_along_axis(indices, order, 1), np.take_along_axis(lengths, order, 1))


def _lengths(points: Array, others: Array, ends: Array) -> Array:
    difference = others[ends]
    difference -= points[:, None, :]
    lengths = np.sqrt(np.einsum("bmd,bmd->bm", difference, difference)).astype(np.float64)
    lengths[ends < 0] = np.inf
    return np.asarray(lengths)


def _edges_of(candidates: _Candidates, start: int, k: int, n: int) -> Edges:
    b = len(candidates.indices)
    rows = start + np.arange(b)
    found = nearest_of(rows, candidates.indices, candidates.lengths, k, n)
    tied = found.tied[:, 0] - start
    return Edges(
        np.concatenate([np.repeat(np.arange(b), k), tied]),
        np.concatenate([found.indices.ravel(), found.tied[:, 1]]),
        np.concatenate([found.lengths.ravel(), found.lengths[tied, -1]]),
    )


def _count_and_length(edges: Edges) -> tuple[int, float]:
    return len(edges.lengths), float(edges.lengths.sum())


def _recall(recipe: KNNGraph, X: Points, candidates: RowBlocks, k: int) -> float:
    """Estimate the recall: the share of true neighbours among the candidates, on a sample."""
    n, starts = X.shape[0], X.rows.starts
    sample = np.sort(np.random.default_rng(0).choice(n, min(ann.RECALL_SAMPLE, n), replace=False))
    points = X[sample]
    true = np.concatenate(
        X.rows.collect(_nearest_lengths, PerPart(starts[:-1].tolist()), sample, points, k), axis=1
    )
    farthest = np.sort(true, axis=1)[:, k - 1 : k] * (1 + TIE)
    found = np.empty((len(sample), k))
    for (places, _), lengths in zip(
        X.rows.at(sample).values, candidates.collect(_shortest, X.rows.at(sample), k), strict=True
    ):
        found[places] = lengths
    recall = float((found <= farthest * (1 + 5e-5)).mean())
    level = logging.INFO if recall >= recipe.target_recall else logging.WARNING
    _LOGGER.log(level, "Neighbours on the cluster: recall %.4f.", recall)
    if recall < min(recipe.target_recall, ann.LOW_RECALL):
        warn(
            f"The search finds {recall:.0%} of the nearest neighbours of {n} points. Reduce the "
            "features first, or use DaskAnchorGraphClassifier or DaskEigenfunctionClassifier, "
            "which need no neighbours.",
            LowRecallWarning,
        )
    return recall


def _nearest_lengths(block: Array, start: int, sample: Array, points: Array, k: int) -> Array:
    lengths = np.full((len(points), k), np.inf)
    if len(block):
        m = min(k + 1 + SPARE, len(block))
        center = center_of(block)
        with config_context(working_memory=_WORKING_MEMORY):
            search = NearestNeighbors(n_neighbors=m, algorithm="brute").fit(block - center)
            ends = search.kneighbors(points - center, return_distance=False)
        found = _lengths(points, block, ends)
        found[ends + start == sample[:, None]] = np.inf
        nearest = np.sort(found, axis=1)[:, :k]
        lengths[:, : nearest.shape[1]] = nearest
    return lengths


def _shortest(candidates: _Candidates, at: tuple[Array, Array], k: int) -> Array:
    return np.asarray(np.sort(candidates.lengths[at[1]], axis=1)[:, :k])


def _symmetric(edges: RowBlocks, t: float | None, mutual: bool) -> RowBlocks:
    """Join edges of both directions to the rows of W, one matrix for each block of columns."""
    session, starts, g = edges.session, edges.starts, len(edges.parts)
    outgoing = edges.map(_weighted, starts, t)
    incoming = [
        [session.each(_piece, 1, outgoing.parts[j], i)[0] for j in range(g)] for i in range(g)
    ]
    return outgoing.map(_joined, PerPart(incoming), mutual)


def _weighted(edges: Edges, starts: Array, t: float | None) -> list[CSR]:
    """Return the weights of edges as one matrix for each block of columns."""
    values = np.ones(len(edges.lengths)) if t is None else heat(edges.lengths, t)
    b = int(edges.rows.max(initial=-1)) + 1
    whole = sp.csr_array((values, (edges.rows, edges.columns)), shape=(b, starts[-1]))
    return [sp.csr_array(whole[:, a:z]) for a, z in pairwise(starts)]


def _piece(outgoing: list[CSR], i: int) -> CSR:
    """Return the transpose of the edges to a block."""
    return sp.csr_array(outgoing[i].T)


def _joined(outgoing: list[CSR], incoming: list[CSR], mutual: bool) -> list[CSR]:
    join = "minimum" if mutual else "maximum"
    return [
        tidy(sp.csr_array(getattr(out, join)(back)))
        for out, back in zip(outgoing, incoming, strict=True)
    ]
