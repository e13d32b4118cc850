"""Graphs in row blocks with halos: the rows of other blocks that a block has edges to.

A block stores its edges in two matrices, one between its own rows and one from its border to its
halo. As the graph is symmetric, each block knows which of its rows other blocks need. A product
moves only these rows, packed once for each neighbouring block.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lapwing._arrays import Array, even_blocks
from lapwing.dask._data import Points, chunks_of, heights, is_array, is_collection
from lapwing.dask._neighbors import Edges
from lapwing.dask._placement import Placement
from lapwing.dask._row_blocks import RowBlocks
from lapwing.dask._session import PerPart, Session
from lapwing.graphs.base import CSR, check_symmetry, tidy
from lapwing.graphs.laplacian import near_order
from lapwing.graphs.weights import heat
from lapwing.linalg import consecutive_rows


@dataclass(frozen=True, eq=False)
class GraphRows:
    """Rows of a block of a symmetric matrix.

    Attributes
    ----------
    own : csr_array of shape (b, b)
        Entries between the rows of the block.
    border : ndarray of int of shape (q,)
        Rows with entries to other blocks, ascending.
    far : csr_array of shape (q, h)
        Entries from the border to the halo.
    halo : ndarray of int of shape (h,)
        Row numbers of the halo, ascending, so that rows of the same block are adjacent.
    sends : dict of int to ndarray
        Rows of this block that each neighbouring block needs, by its number.
    """

    own: CSR
    border: Array
    far: CSR
    halo: Array
    sends: dict[int, Array]

    def __sizeof__(self) -> int:
        """Count the bytes of the arrays for Dask, which would ignore those of this class."""
        arrays = [self.border, self.halo, *self.sends.values()]
        for matrix in (self.own, self.far):
            arrays += [matrix.data, matrix.indices, matrix.indptr]
        return sum(array.nbytes for array in arrays)

    def row_sums(self) -> Array:
        """Sum the entries of each row in float64."""
        sums = np.asarray(self.own.sum(axis=1, dtype=np.float64))
        sums[self.border] += self.far.sum(axis=1, dtype=np.float64)
        return sums


@dataclass(frozen=True, eq=False)
class HaloMatrix:
    """Symmetric sparse matrix in row blocks with halos.

    Attributes
    ----------
    rows : RowBlocks of GraphRows
    neighbors : list of list of int
        Blocks whose rows each block needs, ascending.
    """

    rows: RowBlocks
    neighbors: list[list[int]]

    def halo(self, values: RowBlocks) -> PerPart:
        """Return the rows of values (n, c) that each block needs from others, as futures."""
        pairs = [(j, i) for i, sources in enumerate(self.neighbors) for j in sources]
        return _sent(values, pairs, _packed, self.rows.parts)

    def product(self, values: RowBlocks) -> RowBlocks:
        """Compute the product with values (n, c) of the points."""
        return self.rows.map(
            multiplied, values, self.halo(values), n_columns=values.n_columns, dtype=values.dtype
        )


def _sent(blocks: RowBlocks, pairs: list[tuple[int, int]], task: Any, others: Any) -> PerPart:
    """Apply a task to the sources and targets of pairs of blocks, and collect by target."""
    columns = [[values[i] for i, _ in pairs] for values in (blocks.parts, others)]
    targets = [j for _, j in pairs]
    made = blocks.session.each(task, *map(PerPart, (*columns, targets)))
    found: list[list[Any]] = [[] for _ in blocks.parts]
    for j, part in zip(targets, made, strict=True):
        found[j].append(part)
    return PerPart(found)


def _packed(values: Array, rows: GraphRows, to: int) -> Array:
    return np.asarray(values[rows.sends[to]])


def stacked_halo(rows: GraphRows, packed: list[Array], like: Array) -> Array:
    """Stack the rows of the halo that neighbouring blocks have sent, shaped as `like`."""
    if packed:
        return np.concatenate(packed)
    return np.empty((0, *like.shape[1:]), dtype=like.dtype)


def products(rows: GraphRows, values: Array, packed: list[Array]) -> Any:
    """Yield slices of rows and their products with values (b, c), each small enough for a cache."""
    from_halo = rows.far @ stacked_halo(rows, packed, values)
    n_tasks = max(1, rows.own.nnz * values.shape[1] // _TASK)
    for some in even_blocks(rows.own.indptr, n_tasks):
        y = consecutive_rows(rows.own, some) @ values
        border = slice(*np.searchsorted(rows.border, [some.start, some.stop]))
        y[rows.border[border] - some.start] += from_halo[border]
        yield some, y


_TASK = 4_000_000  # multiplications per slice, as in memory


def multiplied(rows: GraphRows, values: Array, packed: list[Array]) -> Array:
    """Compute the product of the rows of a block with values of its points and its halo."""
    out = np.empty_like(values)
    for some, y in products(rows, values, packed):
        out[some] = y
    return out


def affinity_of_edges(edges: RowBlocks, weights: str, *, mutual: bool) -> HaloMatrix:
    """Compute weights of edges, and merge both directions.

    Parameters
    ----------
    edges : RowBlocks of Edges
    weights : {'heat', 'binary'}
    mutual : bool
        Whether to keep only edges in both directions.
    """
    t = None
    if weights == "heat":
        count, length = edges.total(_count_and_length)
        t = float(length) / int(count) if count else 0.0
    outgoing = edges.map(_weighted, edges.starts, PerPart(range(len(edges.parts))), t)
    return _exchanged(outgoing, "minimum" if mutual else "maximum")


def one_a_thread(W: HaloMatrix, placement: Placement) -> tuple[HaloMatrix, Placement]:
    """Join neighbouring blocks, so that each thread has one.

    If several tasks wait for a thread, Dask moves some to idle workers and copies their vectors and
    matrix rows: the eigenpairs of 10^7 points with three blocks per thread transferred 125 GB.
    """
    rows, session = W.rows, W.rows.session
    n_blocks = len(rows.parts)
    together = -(-n_blocks // session.n_threads)
    if together == 1:
        return W, placement
    groups = [slice(start, start + together) for start in range(0, n_blocks, together)]
    starts = rows.starts[[*(group.start for group in groups), n_blocks]]
    sizes = tuple(np.diff(starts).tolist())

    def joined(task: Any, blocks: RowBlocks, *others: Any) -> RowBlocks:
        parts = PerPart([list(blocks.parts[group]) for group in groups])
        made = session.each(task, parts, *others)
        return replace(blocks, parts=made, sizes=sizes)

    merged = joined(_merged, rows, PerPart(range(len(groups))), starts)
    return (
        HaloMatrix(merged, merged.collect(_neighbors)),
        replace(placement, origins=joined(np.concatenate, placement.origins)),
    )


def _merged(blocks: list[GraphRows], place: int, starts: Array) -> GraphRows:
    """Join the rows of consecutive blocks, without a copy of more than the joined matrix."""
    first, b = int(starts[place]), int(starts[place + 1] - starts[place])
    offsets = np.cumsum([0, *(block.own.shape[0] for block in blocks)])
    placed = list(zip(blocks, offsets.tolist(), strict=False))
    lengths = [np.diff(block.own.indptr) for block in blocks]
    own = (
        np.concatenate([block.own.data for block in blocks]),
        np.concatenate([block.own.indices + offset for block, offset in placed]),
        np.cumsum(np.concatenate([[0], *lengths])),
    )
    joined = sp.csr_array(own, shape=(b, b))
    far = [block.far.tocoo() for block in blocks]
    rows = np.concatenate(
        [block.border[f.row] + offset for (block, offset), f in zip(placed, far, strict=True)]
    )
    columns = np.concatenate([block.halo[f.col] for block, f in zip(blocks, far, strict=True)])
    values = np.concatenate([f.data for f in far])
    inside = (columns >= first) & (columns < first + b)
    if inside.any():
        between = values[inside], (rows[inside], columns[inside] - first)
        joined = joined + sp.csr_array(between, shape=(b, b))
    halo, at = np.unique(columns[~inside], return_inverse=True)
    outside = values[~inside], (rows[~inside], at)
    return _graph_rows(joined, sp.csr_array(outside, shape=(b, len(halo))), halo, starts)


def given_affinity(W: Any, X: Points) -> tuple[HaloMatrix, Placement]:
    """Divide a given affinity into blocks.

    Parameters
    ----------
    W : csr_array of shape (n, n), or dask.array.Array of sparse row chunks
        A matrix in memory has been checked; it is reordered so that neighbours are close.
    X : Points
        The n points.

    Raises
    ------
    ValueError
        If W does not match X, is chunked by columns, or is not symmetric, finite and non-negative.
    """
    session, n = X.rows.session, X.shape[0]
    if is_collection(W):
        parts, sizes = _row_chunks(W, session, n)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        numbers = [session.one(np.arange, a, z) for a, z in pairwise(starts.tolist())]
    else:
        order, g = near_order(W), min(session.n_threads, n)
        W, starts = sp.csr_array(W[order][:, order]), np.linspace(0, n, g + 1).astype(np.int64)
        cuts = list(pairwise(starts.tolist()))
        parts = tuple(session.constant(consecutive_rows(W, slice(*cut))) for cut in cuts)
        numbers = [session.constant(order[a:z]) for a, z in cuts]
        sizes = tuple(z - a for a, z in cuts)
    rows = RowBlocks(session, tuple(parts), sizes, n, np.dtype(np.float64))
    outgoing = rows.map(_check_given, rows.starts, PerPart(range(len(parts))))
    origins = RowBlocks(session, tuple(numbers), sizes, 1, np.dtype(np.int64))
    return _exchanged(outgoing, "given"), Placement(None, origins, X.rows.sizes)


def _row_chunks(W: Any, session: Session, n: int) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    if not is_array(W) or W.ndim != 2 or W.numblocks[1] > 1:
        raise ValueError(
            "The affinity of AffinityGraph must be cut by rows only, each chunk a sparse matrix of "
            "all columns, e.g. made by dask.array.map_blocks with one chunk of columns."
        )
    delayed = chunks_of(W, "The affinity")
    sizes = tuple(heights(session, W, delayed))
    if (sum(sizes), int(W.shape[1])) != (n, n):
        raise ValueError(
            f"The affinity has the shape {(sum(sizes), int(W.shape[1]))} but X has {n} points. "
            "Give the affinity of exactly the points that are fitted, in their order."
        )
    return tuple(session.compute(delayed)), sizes


def _check_given(block: Any, starts: Array, place: int) -> _Outgoing:
    """Check the rows of a given affinity, and sort their entries by the block of the column."""
    entries = sp.coo_array(block)
    values = np.asarray(entries.data, dtype=np.float64)
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(
            "The affinity has entries that are negative, NaN or infinite. Weights are "
            "similarities, finite and not below 0."
        )
    off = (entries.row + starts[place] != entries.col) & (values > 0)
    edges = Edges(entries.row[off], entries.col[off], values[off])
    return _outgoing(edges, values[off], starts, place)


def _exchanged(outgoing: RowBlocks, join: str) -> HaloMatrix:
    """Merge the entries of both directions; each block receives the entries in its columns."""
    pairs = [(i, j) for i, found in enumerate(outgoing.collect(_ends)) for j in found]
    incoming = _sent(outgoing, pairs, _mirrored, outgoing.starts.tolist())
    places = PerPart(range(len(outgoing.parts)))
    rows = outgoing.map(_joined, incoming, places, join, outgoing.starts)
    return HaloMatrix(rows, rows.collect(_neighbors))


class _Outgoing(NamedTuple):
    """Weighted edges of a block: between its rows, and to the rows of every other block."""

    own: CSR
    others: dict[int, tuple[Array, Array, Array]]


def _count_and_length(edges: Edges) -> tuple[int, float]:
    return len(edges.lengths), float(edges.lengths.sum(dtype=np.float64))


def _weighted(edges: Edges, starts: Array, place: int, t: float | None) -> _Outgoing:
    lengths = edges.lengths.astype(np.float64)
    values = np.ones(len(lengths)) if t is None else heat(lengths, t)
    return _outgoing(edges, values, starts, place)


def _outgoing(edges: Edges, values: Array, starts: Array, place: int) -> _Outgoing:
    b, start = int(starts[place + 1] - starts[place]), starts[place]
    block = np.searchsorted(starts, edges.columns, side="right") - 1
    others = {}
    for j in np.setdiff1d(np.unique(block), place).tolist():
        to = block == j
        others[j] = (edges.rows[to], edges.columns[to], values[to])
    mine = block == place
    entries = (values[mine], (edges.rows[mine], edges.columns[mine] - start))
    return _Outgoing(sp.csr_array(entries, shape=(b, b)), others)


def _ends(outgoing: _Outgoing) -> list[int]:
    return sorted(outgoing.others)


def _mirrored(outgoing: _Outgoing, start: int, to: int) -> tuple[Array, Array, Array]:
    """Return the edges to a block, transposed."""
    rows, columns, values = outgoing.others[to]
    return columns, rows.astype(np.int64) + start, values


def _joined(
    outgoing: _Outgoing,
    incoming: list[tuple[Array, Array, Array]],
    place: int,
    join: str,
    starts: Array,
) -> GraphRows:
    none = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    out = [np.concatenate(each) for each in zip(none, *outgoing.others.values(), strict=True)]
    back = [np.concatenate(each) for each in zip(none, *incoming, strict=True)]
    back[0] = back[0] - starts[place]
    halo, own = np.union1d(out[1], back[1]), outgoing.own
    shape = (own.shape[0], len(halo))
    there, here = (
        sp.csr_array((values, (rows, np.searchsorted(halo, columns))), shape=shape)
        for rows, columns, values in (out, back)
    )
    return _graph_rows(
        _both_ways(own, sp.csr_array(own.T), join), _both_ways(there, here, join), halo, starts
    )


def _both_ways(there: CSR, back: CSR, join: str) -> CSR:
    """Merge entries with their transposes."""
    if join == "given":
        check_symmetry(there, back)
        return tidy(sp.csr_array((there + back) * 0.5))
    return tidy(sp.csr_array(getattr(there, join)(back)))


def _graph_rows(own: CSR, far: CSR, halo: Array, starts: Array) -> GraphRows:
    """Return the rows of a block, given its entries to its own rows and to the halo (b, h)."""
    used = np.unique(far.indices)
    halo, far = halo[used], far[:, used]
    border = np.flatnonzero(np.diff(far.indptr))
    far = sp.csr_array(far[border])
    owner = np.searchsorted(starts, halo, side="right") - 1
    by_column = far.tocsc()
    sends = {}
    for j in np.unique(owner).tolist():
        columns = np.flatnonzero(owner == j)
        rows = by_column[:, columns[0] : columns[-1] + 1].indices
        sends[j] = border[np.unique(rows)]
    return GraphRows(own, border, far, halo, sends)


def _neighbors(rows: GraphRows) -> list[int]:
    return sorted(rows.sends)
