"""Placement of points near their neighbours, in blocks of similar size made of k-means lists.

A point is put into the list of its nearest centre, by k-means of a sample. Lists are vertices of a
graph whose edge weights count the points of the sample between two lists; it is partitioned into
blocks by cuts with few such points. The blocks depend on the data, the seed and the number of
blocks only.

Rows are moved by explicit tasks, a piece of each chunk for each block: Dask's peer-to-peer shuffle
moves frames (through pyarrow) or rechunks arrays along their axes, but does not send each row to a
block of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from operator import getitem
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from lapwing._arrays import Array, row_blocks
from lapwing.dask._data import ClusterPoints
from lapwing.dask._plan import count_of_groups
from lapwing.dask._row_blocks import RowBlocks
from lapwing.dask._session import PerPart
from lapwing.graphs import Laplacian, smallest_eigenpairs
from lapwing.graphs.ann import (
    LIST_SIZE,
    ListPlaces,
    centers_of_lists,
    code_width,
    count_of_lists,
    for_faiss,
    load_faiss,
)
from lapwing.graphs.base import CSR
from lapwing.graphs.laplacian import near_order
from lapwing.graphs.search import DIFFERENCE_BYTES

PURPOSE = "KNNGraph of so many points on a cluster"
_NEXT = 4  # nearest lists of a sample point, which become neighbours of each other
_PARTS = 4  # a list larger than 1 / _PARTS of a block is split by row numbers
_SLACK = 0.1  # maximum distance of a cut from the balanced one, relative to a block


@dataclass(frozen=True, eq=False)
class ListCenters:
    """Places of the inverted lists.

    Attributes
    ----------
    centers : ndarray of shape (n_lists, width), float32
        Centres of the lists, scaled like points by `scaled`.
    origin : ndarray of shape (d,)
        Mean of the points.
    scale : float
        Divisor of the centred points, which are then in [-1, 1].
    """

    centers: Array
    origin: Array
    scale: float

    def scaled(self, points: Array) -> Array:
        """Convert points for faiss: centred and scaled float32, padded to the width of codes."""
        return for_faiss((points - self.origin) / self.scale, self.centers.shape[1])

    @cached_property
    def places(self) -> ListPlaces:
        """Groups of the centres, to find the nearest lists of `scaled` points approximately."""
        return ListPlaces.of(load_faiss(PURPOSE), self.centers, 0)

    def __reduce__(self) -> Any:
        return ListCenters, (
            self.centers,
            self.origin,
            self.scale,
        )  # each worker groups the centres

    def search(self, points: Array, n_lists: int) -> tuple[Array, Array]:
        """Find the nearest centres of points exactly: squared distances, and indices."""
        faiss = load_faiss(PURPOSE)
        quantizer = faiss.IndexFlatL2(self.centers.shape[1])
        quantizer.add(self.centers)
        squared = np.empty((len(points), n_lists), dtype=np.float32)
        found = np.empty((len(points), n_lists), dtype=np.int32)
        for rows in row_blocks(len(points), 8 * points.shape[1], DIFFERENCE_BYTES):
            squared[rows], found[rows] = quantizer.search(self.scaled(points[rows]), n_lists)
        return squared, found


class ListLayout(NamedTuple):
    """Lists, and the blocks that own them.

    Attributes
    ----------
    lists : ListCenters
    first : ndarray of shape (n_lists,)
        Number of the first part of each list.
    parts : ndarray of shape (n_lists,)
        Number of parts of each list; row i is in part i mod this number.
    owner : ndarray of shape (n_parts,)
        Block of each part.
    rank : ndarray of shape (n_parts,)
        Position of each part in the order in which neighbours are close.
    """

    lists: ListCenters
    first: Array
    parts: Array
    owner: Array
    rank: Array

    def owned(self, n_blocks: int) -> Array:
        """Return the mask (n_lists + 1, n_blocks) of the blocks that own a part of each list.

        The last row, for missing lists, is False.
        """
        mask = np.zeros((len(self.first) + 1, n_blocks), dtype=bool)
        mask[np.repeat(np.arange(len(self.parts)), self.parts), self.owner] = True
        return mask


class PlacedRows(NamedTuple):
    """Rows of a block.

    Attributes
    ----------
    points : ndarray of shape (b, d)
    origins : ndarray of int of shape (b,)
        Row numbers in the user's order.
    lists : ndarray of int32 of shape (b,), or None
        List of each row, if there are lists.
    """

    points: Any
    origins: Array
    lists: Array | None


@dataclass(frozen=True, eq=False)
class Placement:
    """Points in new blocks, with the map back to the user's chunks.

    Attributes
    ----------
    rows : RowBlocks of PlacedRows or None
        None when the points are not needed any more.
    origins : RowBlocks
        Row numbers in the user's order, one-dimensional for each block.
    chunks : tuple of int
        Sizes of the user's chunks.
    layout : Future of ListLayout, or None
        None if the blocks are those of the user's order.
    n_lists : int
    """

    rows: Any
    origins: RowBlocks
    chunks: tuple[int, ...]
    layout: Any = None
    n_lists: int = 0

    def without_points(self) -> Placement:
        """Drop the points, so that the workers can free them."""
        return replace(self, rows=None, layout=None)

    def back(self, values: RowBlocks) -> RowBlocks:
        """Return values (n, n_columns) of the points in the order and the chunks of the user."""
        session, n_blocks = values.session, len(values.parts)
        starts = np.concatenate([[0], np.cumsum(self.chunks)])
        groups = _groups(self.chunks, count_of_groups(n_blocks))
        bounds = starts[[*(group[0] for group in groups), len(self.chunks)]]
        ranges = list(pairwise(bounds.tolist()))
        cut = [list(values.map(_between, self.origins, each).parts) for each in ranges]
        joined = session.each(_in_place, PerPart(cut), PerPart(ranges))
        if len(groups) < len(self.chunks):
            holders = [whole for whole, group in zip(joined, groups, strict=True) for _ in group]
            firsts = np.repeat(bounds[:-1], [len(group) for group in groups])
            ends = zip(pairwise(starts), firsts, strict=True)
            rows = [slice(int(a - first), int(z - first)) for (a, z), first in ends]
            joined = session.each(getitem, PerPart(holders), PerPart(rows))
        return replace(values, parts=tuple(joined), sizes=tuple(self.chunks))


def in_order(X: ClusterPoints, n_blocks: int) -> Placement:
    """Merge consecutive chunks into at most n_blocks blocks, in the user's order."""
    groups = _groups(X.rows.sizes, n_blocks)
    parts = [[X.rows.parts[i] for i in group] for group in groups]
    starts = [int(X.rows.starts[group[0]]) for group in groups]
    sizes = tuple(sum(X.rows.sizes[i] for i in group) for group in groups)
    made = X.rows.session.each(_joined, PerPart(parts), PerPart(starts))
    return _placement(replace(X.rows, parts=made, sizes=sizes), X.rows.sizes)


def near_neighbors(X: ClusterPoints, n_blocks: int, seed: int) -> Placement:
    """Move points to blocks of similar size, near their neighbours.

    Parameters
    ----------
    X : ClusterPoints
    n_blocks : int
    seed : int
        Seed of k-means.

    Returns
    -------
    Placement
    """
    session, n = X.rows.session, X.shape[0]
    n_lists = count_of_lists(n)
    drawn = np.random.default_rng(seed).choice(n, min(n, LIST_SIZE * n_lists), replace=False)
    pieces = list(X.rows.map(_rows_at, X.rows.at(np.sort(drawn))).parts)
    scale = 2 * X.largest or 1.0
    trained = session.one(_trained, pieces, X.mean, scale, n_lists, seed)
    del pieces
    numbers = X.rows.map(_nearest, trained, dtype=np.int32)
    counts = numbers.total(_counts, n_lists)
    layout = session.one(_layout, trained, counts, n_blocks)
    starts = X.rows.first_rows
    owners = numbers.map(_owners, starts, layout)
    groups = _groups(X.rows.sizes, count_of_groups(n_blocks))
    columns = X.rows.parts, numbers.parts, owners.parts, starts.values
    of_groups = [PerPart([[column[i] for i in group] for group in groups]) for column in columns]
    placed: dict[int, Any] = {}
    homes = session.homes(n_blocks)
    # Pieces of a few blocks at a time, so that a worker needs little memory besides chunks and
    # blocks.
    for wave in session.waves(n_blocks):
        for i in wave:
            cut = list(session.each(_piece, *of_groups, i))
            placed[i] = session.one(_assembled, cut, layout, priority=1, worker=homes[i])
        del cut
        session.wait([placed[i] for i in wave])
    parts = tuple(placed[i] for i in range(n_blocks))
    sizes = tuple(session.gather(session.each(_height, PerPart(parts))))
    return _placement(replace(X.rows, parts=parts, sizes=sizes), X.rows.sizes, layout, n_lists)


def _placement(
    rows: RowBlocks, chunks: tuple[int, ...], layout: Any = None, n_lists: int = 0
) -> Placement:
    origins = rows.map(_origins, n_columns=1, dtype=np.int64)
    return Placement(rows, origins, chunks, layout, n_lists)


def _joined(chunks: list[Array], start: int) -> PlacedRows:
    points = chunks[0] if len(chunks) == 1 else np.concatenate(chunks)
    return PlacedRows(points, start + np.arange(len(points)), None)


def _origins(rows: PlacedRows) -> Array:
    return rows.origins


def _height(rows: PlacedRows) -> int:
    return len(rows.origins)


def _rows_at(block: Array, at: tuple[Array, Array]) -> Array:
    return np.asarray(block[at[1]])


class _Trained(NamedTuple):
    """Lists, and the number of sample points between any two of them."""

    lists: ListCenters
    between: CSR


def _trained(pieces: list[Array], origin: Array, scale: float, n_lists: int, seed: int) -> _Trained:
    faiss = load_faiss(PURPOSE)
    sample, width = np.concatenate(pieces), code_width(len(origin))
    lists = ListCenters(np.zeros((1, width), dtype=np.float32), origin, scale)
    lists = replace(lists, centers=centers_of_lists(faiss, lists.scaled(sample), n_lists, seed))
    squared, near = lists.search(sample, min(_NEXT, n_lists))
    first = np.repeat(near[:, 0], near.shape[1] - 1)
    # 1 at the boundary between two lists, about 0 if the other list is distant.
    least = np.finfo(np.float32).tiny
    closeness = ((squared[:, :1] + least) / (squared[:, 1:] + least)).ravel().astype(np.float64)
    ends = first, near[:, 1:].ravel()
    counts = sp.csr_array((closeness, ends), shape=(n_lists, n_lists))
    # If a list is split, its parts are the nearest neighbours of each other.
    own = sp.diags_array(np.bincount(near[:, 0], minlength=n_lists).astype(np.float64))
    return _Trained(lists, sp.csr_array(counts + counts.T + own))


def _nearest(block: Array, trained: _Trained) -> Array:
    lists, found = trained.lists, np.empty(len(block), dtype=np.int32)
    for rows in row_blocks(len(block), 8 * block.shape[1], DIFFERENCE_BYTES):
        found[rows] = lists.places.nearest(lists.scaled(block[rows]), 1)[:, 0]
    return found


def _counts(numbers: Array, n_lists: int) -> Array:
    return np.bincount(numbers, minlength=n_lists)


def _layout(trained: _Trained, counts: Array, n_blocks: int) -> ListLayout:
    """Split large lists, and assign the parts to blocks."""
    most = max(1.0, counts.sum() / n_blocks / _PARTS)
    parts = np.maximum(np.ceil(counts / most), 1).astype(np.int64)
    of_list = np.repeat(np.arange(len(parts)), parts)
    weights = (counts / parts)[of_list]
    # Parts of a list are neighbours of each other and of the neighbours of the list.
    between = sp.csr_array(trained.between[of_list][:, of_list])
    owner, rank = np.empty(len(of_list), dtype=np.int64), np.empty(len(of_list), dtype=np.int64)
    position = 0
    for block, members in enumerate(_bisected(np.arange(len(of_list)), weights, between, n_blocks)):
        order = members
        if len(members):  # blocks are empty if there are fewer parts of lists
            order = members[near_order(sp.csr_array(between[members][:, members]))]
        owner[members] = block
        rank[order] = position + np.arange(len(order))
        position += len(order)
    return ListLayout(trained.lists, np.cumsum(parts) - parts, parts, owner, rank)


def _bisected(members: Array, weights: Array, between: CSR, n_blocks: int) -> list[Array]:
    """Partition parts of lists into blocks of similar weight by recursive bisection."""
    if n_blocks == 1:
        return [members]
    half = n_blocks // 2
    order = members[_smooth_order(sp.csr_array(between[members][:, members]))]
    below = np.cumsum(weights[order])
    block = below[-1] / n_blocks if len(order) else 0.0
    # Of the nearly balanced cuts, the one with the fewest points between both sides.
    off = np.abs(below - half * block)
    near = np.flatnonzero(off <= max(_SLACK * block, float(off.min(initial=np.inf))))
    crossing = _crossing(sp.csr_array(between[order][:, order]))
    cut = int(near[np.argmin(crossing[near])]) + 1 if len(near) else 0
    return [
        *_bisected(order[:cut], weights, between, half),
        *_bisected(order[cut:], weights, between, n_blocks - half),
    ]


def _crossing(between: CSR) -> Array:
    """Compute the weight of the edges across a cut after each vertex."""
    upper = sp.coo_array(sp.triu(between, 1))
    change = np.zeros(between.shape[0] + 1)
    np.add.at(change, upper.row, upper.data)
    np.subtract.at(change, upper.col, upper.data)
    return np.cumsum(change)[:-1]


def _smooth_order(between: CSR) -> Array:
    """Order vertices by the smoothest function on each component, the largest component first."""
    n, labels = connected_components(between, directed=False)
    place = np.argsort(np.argsort(-np.bincount(labels), kind="stable"), kind="stable")
    along = np.zeros(len(labels))
    for component in range(n):
        members = np.flatnonzero(labels == component)
        if len(members) > 2:
            laplacian = Laplacian.from_affinity(between[members][:, members])
            vector = smallest_eigenpairs(laplacian, 2, slack=_SLACK).vectors[:, 1]
            along[members] = vector / np.sqrt(laplacian.degrees)
    return np.lexsort((along, place[labels]))


def _owners(lists: Array, start: int, layout: ListLayout) -> Array:
    """Return the block of each row of a chunk."""
    origins = start + np.arange(len(lists))
    owners = layout.owner[layout.first[lists] + origins % layout.parts[lists]]
    return np.asarray(owners.astype(np.int32))


def _piece(
    chunks: list[Array], lists: list[Array], owners: list[Array], starts: list[int], block: int
) -> PlacedRows:
    """Return the rows of some chunks that a block owns."""
    found = [np.flatnonzero(each == block) for each in owners]
    return PlacedRows(
        _take_rows(chunks, found),
        np.concatenate([start + rows for start, rows in zip(starts, found, strict=True)]),
        _take_rows(lists, found),
    )


def _take_rows(arrays: list[Array], rows: list[Array]) -> Array:
    taken = [array[some] for array, some in zip(arrays, rows, strict=True)]
    return taken[0] if len(taken) == 1 else np.concatenate(taken)


def _assembled(pieces: list[PlacedRows], layout: ListLayout) -> PlacedRows:
    """Join the pieces of a block in the order of their lists, then of their rows."""
    origins = np.concatenate([piece.origins for piece in pieces])
    lists = np.concatenate([piece.lists for piece in pieces])
    rank = layout.rank[layout.first[lists] + origins % layout.parts[lists]]
    order = np.lexsort((origins, rank))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    points = np.empty((len(order), pieces[0].points.shape[1]), dtype=pieces[0].points.dtype)
    start = 0
    for piece in pieces:
        stop = start + len(piece.origins)
        points[place[start:stop]] = piece.points
        start = stop
    return PlacedRows(points, origins[order], lists[order])


def _between(values: Array, origins: Array, bounds: tuple[int, int]) -> tuple[Array, Array]:
    """Return the values of the rows whose numbers are in a range, and the numbers."""
    rows = np.flatnonzero((origins >= bounds[0]) & (origins < bounds[1]))
    return origins[rows], values[rows]


def _in_place(pieces: list[tuple[Array, Array]], bounds: tuple[int, int]) -> Array:
    start, stop = bounds
    values = pieces[0][1]
    out = np.empty((stop - start, *values.shape[1:]), dtype=values.dtype)
    for origins, some in pieces:
        out[origins - start] = some
    return out


def _groups(sizes: tuple[int, ...], n_groups: int) -> list[list[int]]:
    """Group consecutive chunks into runs of similar size, with at least one row each."""
    ends = np.cumsum(sizes)
    wanted = np.linspace(0, ends[-1], min(n_groups, len(sizes)) + 1)[1:]
    which = np.searchsorted(wanted, ends - np.asarray(sizes) / 2, side="left")
    groups: list[list[int]] = []
    for i in np.unique(which):
        group = np.flatnonzero(which == i).tolist()
        # Empty chunks are added to the previous run, or to the first one.
        if groups and (ends[group[-1]] == ends[groups[-1][-1]] or ends[groups[-1][-1]] == 0):
            groups[-1] += group
        else:
            groups.append(group)
    return groups
