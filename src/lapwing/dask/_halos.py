"""Graphs in row blocks with halos: the rows of other blocks that a block has edges to.

A block stores its edges in two matrices, one to its own rows and one to its halo. As the graph is
symmetric, each block knows which of its rows other blocks need. A product moves only these rows,
packed once for each neighbouring block.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing._arrays import Array, even_blocks
from lapwing.dask._data import ClusterPoints, chunks_of, heights, is_array, is_collection
from lapwing.dask._placement import Placement
from lapwing.dask._row_blocks import RowBlocks
from lapwing.dask._session import ClusterSession, PerPart
from lapwing.graphs.base import CSR, check_symmetry, tidy
from lapwing.graphs.laplacian import near_order
from lapwing.graphs.weights import Edges, heat
from lapwing.linalg import consecutive_rows


@dataclass(frozen=True, eq=False)
class GraphRows:
    """Rows of a block of a symmetric matrix.

    Attributes
    ----------
    own : csr_array of shape (b, b)
        Entries to the rows of the block.
    far : csr_array of shape (b, h)
        Entries to the halo.
    halo : ndarray of int of shape (h,)
        Row numbers of the halo, ascending, so that rows of the same block are adjacent.
    sends : dict of int to ndarray
        Rows of this block that each neighbouring block needs, by its number.
    """

    own: CSR
    far: CSR
    halo: Array
    sends: dict[int, Array]

    def __sizeof__(self) -> int:
        """Count the bytes of the arrays for Dask, which would ignore those of this class."""
        arrays = [self.halo, *self.sends.values()]
        for matrix in (self.own, self.far):
            arrays += [matrix.data, matrix.indices, matrix.indptr]
        return sum(array.nbytes for array in arrays)

    def row_sums(self) -> Array:
        """Sum the entries of each row in float64."""
        return np.asarray(sum(part.sum(axis=1, dtype=np.float64) for part in (self.own, self.far)))


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


def stacked_halo(packed: list[Array], values: Array) -> Array:
    """Stack the values of the halo, as neighbouring blocks have sent them."""
    return np.concatenate([values[:0], *packed])


def products(rows: GraphRows, values: Array, packed: list[Array]) -> Any:
    """Yield slices of rows and their products with values (b, c), each small enough for a cache."""
    halo = stacked_halo(packed, values)
    n_tasks = max(1, rows.own.nnz * values.shape[1] // _TASK)
    for some in even_blocks(rows.own.indptr, n_tasks):
        y = consecutive_rows(rows.own, some) @ values
        if len(halo):
            y += consecutive_rows(rows.far, some) @ halo
        yield some, y


_TASK = 4_000_000  # multiplications per slice, as in memory


def multiplied(rows: GraphRows, values: Array, packed: list[Array]) -> Array:
    """Compute the product of the rows of a block with values of its points and its halo."""
    out = np.empty_like(values)
    for some, y in products(rows, values, packed):
        out[some] = y
    return out


def affinity_of_edges(
    edges: RowBlocks, placement: Placement, weights: str, *, mutual: bool
) -> tuple[HaloMatrix, Placement]:
    """Compute weights of edges, and merge both directions.

    Parameters
    ----------
    edges : RowBlocks of Edges
        Edges with their lengths.
    placement : Placement
        Blocks of the edges.
    weights : {'heat', 'binary'}
    mutual : bool
        Whether to keep only edges in both directions.

    Returns
    -------
    affinity : HaloMatrix
        With one block for each thread.
    placement : Placement
        Blocks of the affinity.
    """
    t = None
    if weights == "heat":
        count, length = edges.total(_count_and_length)
        t = float(length) / int(count) if count else 0.0
    return _symmetric(edges.map(_weighted, t), placement, "minimum" if mutual else "maximum")


def given_affinity(W: Any, X: ClusterPoints) -> tuple[HaloMatrix, Placement]:
    """Divide a given affinity into blocks.

    Parameters
    ----------
    W : csr_array of shape (n, n), or dask.array.Array of sparse row chunks
        A matrix in memory has been checked; it is reordered so that neighbours are close.
    X : ClusterPoints
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
    origins = RowBlocks(session, tuple(numbers), sizes, 1, np.dtype(np.int64))
    placement = Placement(None, origins, X.rows.sizes)
    return _symmetric(rows.map(_given_edges, rows.first_rows), placement, "given")


def _row_chunks(W: Any, session: ClusterSession, n: int) -> tuple[tuple[Any, ...], tuple[int, ...]]:
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


def _given_edges(block: Any, start: int) -> Edges:
    """Check the rows of a given affinity, and return their edges."""
    entries = sp.coo_array(block)
    values = np.asarray(entries.data, dtype=np.float64)
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(
            "The affinity has entries that are negative, NaN or infinite. Weights are "
            "similarities, finite and not below 0."
        )
    off = (entries.row + start != entries.col) & (values > 0)
    return Edges(entries.row[off], entries.col[off], values[off])


def _count_and_length(edges: Edges) -> tuple[int, float]:
    return len(edges.values), float(edges.values.sum(dtype=np.float64))


def _weighted(edges: Edges, t: float | None) -> Edges:
    lengths = edges.values.astype(np.float64)
    return edges._replace(values=np.ones(len(lengths)) if t is None else heat(lengths, t))


def _symmetric(edges: RowBlocks, placement: Placement, join: str) -> tuple[HaloMatrix, Placement]:
    """Merge both directions of weighted edges, and join the blocks of a thread.

    If several tasks wait for a thread, Dask moves some to idle workers and copies their vectors and
    matrix rows: the eigenpairs of 10^7 points with three blocks per thread transferred 125 GB.
    """
    session, starts = edges.session, edges.starts
    pairs = [(i, j) for i, ends in enumerate(edges.collect(_ends, starts)) for j in ends]
    incoming = _sent(edges, pairs, _transposed, [(starts, i) for i in range(len(edges.parts))])
    whole = edges.map(_both_ways, incoming, PerPart(edges.sizes), edges.shape[0], join)
    del incoming  # so that the workers can free them
    together = -(-len(edges.parts) // session.n_threads)
    groups = [slice(i, i + together) for i in range(0, len(edges.parts), together)]

    def joined(task: Any, blocks: RowBlocks, *others: Any) -> RowBlocks:
        parts = PerPart([list(blocks.parts[group]) for group in groups])
        sizes = tuple(sum(blocks.sizes[group]) for group in groups)
        return replace(blocks, parts=session.each(task, parts, *others), sizes=sizes)

    origins = joined(np.concatenate, placement.origins)
    rows = joined(_graph_rows, whole, PerPart(range(len(groups))), origins.starts)
    return HaloMatrix(rows, rows.collect(_neighbors)), replace(placement, origins=origins)


def _ends(edges: Edges, starts: Array) -> list[int]:
    """Return the blocks to which there are edges."""
    found: list[int] = np.unique(np.searchsorted(starts, edges.columns, side="right") - 1).tolist()
    return found


def _transposed(edges: Edges, own: tuple[Array, int], to: int) -> Edges:
    """Return the edges to a block, transposed."""
    starts, place = own
    some = (edges.columns >= starts[to]) & (edges.columns < starts[to + 1])
    rows = edges.rows[some].astype(np.int64) + starts[place]
    return Edges(edges.columns[some] - starts[to], rows, edges.values[some])


def _both_ways(edges: Edges, incoming: list[Edges], size: int, n: int, join: str) -> CSR:
    """Merge the edges of a block with those to it, as its rows (size, n) of the matrix."""
    incoming = incoming or [Edges(*(column[:0] for column in edges))]
    back = Edges(*map(np.concatenate, zip(*incoming, strict=True)))
    there, mirror = (
        sp.csr_array((each.values, (each.rows, each.columns)), shape=(size, n))
        for each in (edges, back)
    )
    if join == "given":
        check_symmetry(there, mirror)
        return tidy(sp.csr_array((there + mirror) * 0.5))
    return tidy(sp.csr_array(getattr(there, join)(mirror)))


def _graph_rows(blocks: list[CSR], place: int, starts: Array) -> GraphRows:
    """Join the rows of consecutive blocks, and divide them by the blocks of the columns."""
    rows = sp.vstack(blocks, format="csr") if len(blocks) > 1 else blocks[0]
    first, last = (int(start) for start in starts[place : place + 2])
    entries = rows.tocoo(copy=False)
    far = (entries.col < first) | (entries.col >= last)
    row, column = entries.row[far], entries.col[far]
    halo, to = np.unique(column, return_inverse=True)
    block = np.searchsorted(starts, column, side="right") - 1
    return GraphRows(
        rows[:, first:last],
        sp.csr_array((entries.data[far], (row, to)), shape=(last - first, len(halo))),
        halo,
        {j: np.unique(row[block == j]) for j in np.unique(block).tolist()},
    )


def _neighbors(rows: GraphRows) -> list[int]:
    return sorted(rows.sends)
