"""Number of blocks and forecast of memory of a fit by `DaskLapERLSClassifier`.

The formulas are explained in the notes (``docs/notes/cluster.md``).
"""

from __future__ import annotations

from lapwing.graphs.chebyshev import block_width
from lapwing.graphs.search import DIFFERENCE_BYTES

# Maximum size of the points of a block, which is in memory twice per thread during the placement.
BLOCK_BYTES = 2**29
_PIECES = 20_000  # maximum tasks that divide chunks for blocks, about 20 s of the scheduler
# Memory of a process without points: the library, faiss and the imports of the first tasks.
_BARE_BYTES = 2.5e8
_EDGES = 7  # per row in both directions, with 5 neighbours: 6.4 for 10^5 points on sheets
_SUMS = 12  # normal matrices in memory: 8 that are being added, and those of the present block


def count_of_blocks(n: int, row_bytes: int, n_threads: int) -> int:
    """Return the number of blocks, a multiple of the threads, for at most `BLOCK_BYTES` each."""
    a_thread = -(-n * row_bytes // (BLOCK_BYTES * n_threads))
    return min(max(a_thread, 1) * n_threads, n)


def count_of_groups(n_blocks: int) -> int:
    """Return the maximum number of groups of chunks that are divided into pieces for the blocks."""
    return max(n_blocks, _PIECES // n_blocks)


def worker_bytes(
    n: int,
    d: int,
    workers: int,
    itemsize: int = 4,
    k: int = 5,
    *,
    r: int = 20,
    m: int = 1000,
    chunk: int = 50_000,
    clusters: int = 10,
    null: int = 10,
) -> dict[str, float]:
    """Forecast the bytes of a worker process in each stage.

    Parameters
    ----------
    n, d : int
        Points and features.
    workers : int
        Number of workers, with one thread each.
    itemsize : int
        Bytes of a feature.
    k, r, m : int
        Neighbours, eigenvectors and landmarks.
    chunk : int
        Rows of a chunk.
    clusters : int
        Number of classes.
    null : int
        Number of components of the graph, whose null vectors are not iterated.
    """
    # Bytes per row. Indices of lists and columns have 4 bytes, those of rows 8, weights 8.
    point = d * itemsize
    candidates, edges = (4 + itemsize) * (k + 9), (8 + itemsize) * k
    weights, laplacian = 12 * _EDGES + 4, (4 + itemsize) * (_EDGES + 1) + 4
    lists = d + 8  # one byte per feature; points instead if the recall of bytes is too low
    # With indices, components, degrees and null vectors. malloc does not free the lists.
    graph = point + weights + laplacian + 40 + lists
    vectors, values = itemsize * r, 8 * clusters
    iterated = max(0, r - null)
    width = block_width(iterated) if iterated else 0
    sums = 8 * (m + r) ** 2
    # Bytes per row of a worker, per row of a block, and others.
    stages: dict[str, tuple[float, float, float]] = {
        # The chunks, and copies of one while it is checked.
        "read": (point, 0, 2 * point * chunk),
        # Chunks and blocks, and for each thread the pieces of its own block and of a block for
        # other workers.
        "placement": (2 * point + 20, (2 - 1 / workers) * point, 0),
        # Chunks, blocks and their lists; candidates and edges of a block.
        "search": (
            2 * point + 12 + lists + edges,
            candidates + 2 * edges,
            4 * DIFFERENCE_BYTES,
        ),
        # Directed and weighted edges, symmetrised ones by block and by thread, and four copies of
        # those of a block.
        "graph": (point + lists + 2 * edges + 2 * weights, 4 * weights, 0),
        # Three vectors of the recurrence, or those of the orthogonalisation, and the converged
        # vectors.
        "eigenpairs": (graph + itemsize * (3 * width + iterated), 0, 0),
        # Pieces of eigenvectors for the chunks.
        "back": (graph + 3 * vectors, 0, 0),
        # Each worker gets the landmarks and their factor.
        "features": (graph + vectors, 0, _SUMS * sums),
        # Values of each class, computed where the features were: those of two steps, and the
        # result.
        "answers": (graph + vectors + 2 * values + itemsize * clusters, 0, 4 * sums),
    }
    row, block = n / workers, n / count_of_blocks(n, point, workers)
    return {
        stage: _BARE_BYTES + of_row * row + of_block * block + fixed
        for stage, (of_row, of_block, fixed) in stages.items()
    }
