"""Forecast of a fit by `DaskLapERLSClassifier`: blocks, tasks, traffic and memory.

The formulas are explained in the notes (``docs/notes/cluster.md``). They count the bytes that tasks
hold and send, and the tasks of each stage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from lapwing.graphs.ann import LIST_SIZE, count_of_lists
from lapwing.graphs.chebyshev import block_width
from lapwing.graphs.search import DIFFERENCE_BYTES

# Largest size of the points of a block: while it is placed, a thread holds it in pieces as well.
BLOCK_BYTES = 2**29
_PIECES = 20_000  # most tasks that cut chunks for blocks, some 20 s of the scheduler
# A process with the library, faiss and what its first tasks load, without points.
_BARE_BYTES = 2.5e8
# Degrees of the filters of all iterations together: 388 in 8 iterations for 10^5 points on ten
# sheets, 352 in 6 for 3 10^5. Classes that touch, as of images, take fewer: 88 in 5 for 10^5.
_PRODUCTS, _ITERATIONS = 350, 8
_EDGES = 7  # of a row in both directions, with 5 neighbours: 6.4 for 10^5 points on sheets
_READ = 4  # lists that a row reads: on sheets, for a recall of 0.995
# Times 1 - 1 / workers, the share of the chunks of X that Dask copies to idle workers, beside what
# each stage moves: with two workers none of 2, 4 of 6 and 8 of 20 chunks.
_STOLEN = 0.7
_SUMS = 12  # normal matrices: 8 that are added to one, and those of the block that is computed


class Stage(NamedTuple):
    """Forecast of a stage.

    Attributes
    ----------
    name : str
    tasks : int
    moved : float
        Bytes moved between workers in all.
    held : float
        Bytes of the process of a worker.
    """

    name: str
    tasks: int
    moved: float
    held: float


def count_of_blocks(n: int, row_bytes: int, n_threads: int) -> int:
    """Return the number of blocks, equal for each thread, such that none exceeds `BLOCK_BYTES`."""
    a_thread = -(-n * row_bytes // (BLOCK_BYTES * n_threads))
    return min(max(a_thread, 1) * n_threads, n)


def count_of_groups(n_blocks: int) -> int:
    """Return the largest number of groups of chunks that are cut into pieces for the blocks."""
    return max(n_blocks, _PIECES // n_blocks)


@dataclass(frozen=True)
class Plan:
    """Forecast of a fit.

    Attributes
    ----------
    n, d : int
        Points and features.
    workers : int
        Workers of one thread each.
    itemsize : int
        Bytes of a feature.
    k, r, m : int
        Neighbours, eigenvectors and landmarks.
    chunk : int
        Rows of a chunk.
    dimensions : float
        Of the surface that the points of a cluster fill: 3 for sheets, and as many as there are
        features for balls. 0 where whole clusters fit into the blocks.
    clusters : int
        Parts of the graph that no edge joins, of even size; as many classes.
    """

    n: int
    d: int
    workers: int
    itemsize: int = 4
    k: int = 5
    r: int = 20
    m: int = 1000
    chunk: int = 50_000
    dimensions: float = 3.0
    clusters: int = 10

    @property
    def blocks(self) -> int:
        return count_of_blocks(self.n, self.d * self.itemsize, self.workers)

    @property
    def border(self) -> float:
        """Share of the rows that another block needs.

        A layer of rows at each face of a block: a block of several clusters cuts two of them at
        most, and one inside a cluster has two faces a dimension.
        """
        if self.blocks == 1 or not self.dimensions:
            return 0.0
        block, cluster = self.n / self.blocks, self.n / self.clusters
        faces = 2 if block >= cluster else min(2 * self.dimensions, self.blocks - 1)
        layer = min(block, cluster) ** (1 - 1 / self.dimensions)
        return float(min(1.0, faces * layer / block * self.k / 5))

    @property
    def neighbors(self) -> int:
        """Number of pairs of blocks that exchange rows, counted in both directions."""
        most = self.blocks - 1
        return self.blocks * min(most, int(2 * self.dimensions) or 0)

    def stages(self) -> list[Stage]:
        """Forecast each stage in turn."""
        n, g, q, pairs = self.n, self.blocks, self.border, self.neighbors
        chunks, away = -(-n // self.chunk), 1 - 1 / self.workers
        pieces = g * min(chunks, count_of_groups(g))
        asked = min(1.0, 2 * q)  # share of the rows with a list of another block among the nearest
        # Bytes of a row. Numbers of lists and columns have 4 bytes, those of rows 8, weights 8.
        point, vector = self.d * self.itemsize, self.itemsize
        candidates, edges = (4 + self.itemsize) * (self.k + 9), (8 + self.itemsize) * self.k
        weights, laplacian = 12 * _EDGES + 4, (4 + self.itemsize) * (_EDGES + 1) + 4
        lists = self.d + 8  # a byte a feature; where bytes cannot tell neighbours, it is the points
        # With numbers, components, degrees and null vectors. What lists took, malloc keeps.
        graph = weights + laplacian + 32 + lists
        vectors, values = vector * self.r, 8 * self.clusters
        iterated = self.r - min(self.r, self.clusters)  # the others are null vectors
        width = block_width(iterated) if iterated else 0
        sums = 8 * (self.m + self.r) ** 2
        return [
            # The chunks, and copies of one while it is checked. Dask moves some to idle workers.
            self._stage(
                "read",
                tasks=2 * chunks,
                moved=_STOLEN * point * n * away,
                row=point,
                fixed=2 * point * self.chunk,
            ),
            # Chunks and blocks, and the pieces of a block for each thread: its own and those that
            # other workers wait for. The sample of the k-means goes to one worker.
            self._stage(
                "placement",
                tasks=3 * chunks + pieces + 2 * g,
                moved=(point + 12) * n * away + LIST_SIZE * count_of_lists(n) * point,
                row=2 * point + 20,
                block=(2 - 1 / self.workers) * point,
            ),
            # Chunks, blocks and their lists; edges of a block, made of candidates.
            self._stage(
                "search",
                tasks=20 * g + 3 * pairs,
                moved=asked * n * (point + 4 * _READ + candidates),
                row=2 * point + 12 + lists + 4 * _READ + edges,
                block=candidates + 2 * edges,
                fixed=4 * DIFFERENCE_BYTES,
            ),
            # Edges one way, weighted, and both ways: those of a block in four copies.
            self._stage(
                "graph",
                tasks=5 * g + 2 * pairs,
                moved=24 * q * n * self.k,
                row=point + lists + 2 * edges + weights,
                block=4 * weights,
            ),
            # Vectors before, now and after a step, or in the steps of orthogonalisation, and those
            # that have converged.
            self._stage(
                "eigenpairs",
                tasks=_PRODUCTS * (g + pairs) * bool(q) + 20 * _ITERATIONS * g,
                moved=vector * width * q * n * _PRODUCTS,
                row=point + graph + vector * (3 * width + iterated),
            ),
            # Pieces for the chunks, of eigenvectors and components. Dask runs some of these short
            # tasks on a worker without the block, which is then moved.
            self._stage(
                "back",
                tasks=2 * (pieces + chunks),
                moved=3 * (vectors + 8) * n * away,
                row=point + graph + 3 * vectors,
            ),
            # Each worker gets the landmarks and their factor.
            self._stage(
                "features",
                tasks=2 * chunks,
                moved=sums * (chunks * away + self.workers - 1),
                row=point + graph + vectors,
                fixed=_SUMS * sums,
            ),
            # Values of each class, made where the features were: two steps of them at a time, and
            # those that are kept.
            self._stage(
                "answers",
                tasks=12 * chunks,
                row=point + graph + vectors + 2 * values + vector * self.clusters,
                fixed=4 * sums,
            ),
        ]

    def _stage(
        self,
        name: str,
        *,
        tasks: int,
        moved: float = 0.0,
        row: float,
        block: float = 0.0,
        fixed: float = 0.0,
    ) -> Stage:
        """Make a stage from its bytes for each row of a worker, each row of a block, and others."""
        held = row * self.n / self.workers + block * self.n / self.blocks + fixed
        return Stage(name, tasks, moved, _BARE_BYTES + held)

    @property
    def worker_bytes(self) -> float:
        """Peak memory of a worker in bytes."""
        return max(stage.held for stage in self.stages())

    @property
    def moved(self) -> float:
        """Bytes between workers in all."""
        return sum(stage.moved for stage in self.stages())
