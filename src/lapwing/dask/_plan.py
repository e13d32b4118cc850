"""Forecast of a fit by `DaskLapERLSClassifier`: blocks, tasks, traffic and memory.

The formulas are explained in the notes (``docs/notes/cluster.md``). They count the bytes that tasks
hold and send, and the tasks of each stage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from lapwing.graphs.ann import count_of_lists
from lapwing.graphs.chebyshev import block_width

BLOCK_BYTES = 2**29  # largest size of the points of a block
BARE_BYTES = 2.5e8  # memory of a process with the library, after its first tasks
_PRODUCTS = 350  # of the Laplacian with a block of vectors, in all iterations
_EDGES = 7  # of a row after both directions are merged, with 5 neighbours
_READ = 8  # lists that a row reads
_MERGED = 4  # copies of the edges of a block while both directions are merged
_SUMS = 12  # sums of normal equations that wait to be added


class Stage(NamedTuple):
    """Forecast of a stage.

    Attributes
    ----------
    name : str
    tasks : int
    moved : float
        Bytes moved between workers in all.
    held : float
        Bytes held by a worker.
    """

    name: str
    tasks: int
    moved: float
    held: float


def count_of_blocks(n: int, row_bytes: int, n_threads: int) -> int:
    """Return the number of blocks, equal for each thread, such that none exceeds `BLOCK_BYTES`."""
    a_thread = -(-n * row_bytes // (BLOCK_BYTES * n_threads))
    return min(max(a_thread, 1) * n_threads, n)


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
        n, row, g, pairs = self.n, self.d * self.itemsize, self.blocks, self.neighbors
        chunks, away, b = -(-n // self.chunk), 1 - 1 / self.workers, n / self.workers
        w = n / g  # rows that a thread works on
        width, q = block_width(self.r), self.border
        asked = min(1.0, 2 * q)  # rows with a list of another block among the nearest
        points, chunk = row * b, row * self.chunk
        edges, weights = 12.0 * self.k, 12.0 * _EDGES  # of a row: as found, and W
        laplacian = (4.0 + self.itemsize) * _EDGES
        # Vectors before and after a step: of all blocks if they wait for one another.
        vectors = 4.0 * width * (3 * b if q else 2 * b + 2 * w) + 4.0 * self.r * b
        sums = 8.0 * (self.m + self.r) ** 2
        found = (4.0 + self.itemsize) * (self.k + 9)  # candidates of a row
        values = 8.0 * self.clusters  # decision values of a row
        return [
            Stage("read", 2 * chunks, 0, points + 2 * chunk),
            Stage(
                "placement",
                3 * chunks + chunks * g + 2 * g,
                (row + 12) * n * away + 39.0 * count_of_lists(n) * row,
                2 * points + 24 * b + (2 - 1 / self.workers) * row * w,
            ),
            Stage(
                "search",
                20 * g + 3 * pairs,
                asked * n * (row + 4 * _READ + found),
                2 * points + (self.d + 20 + 4 * _READ + edges) * b + (found + 2 * edges) * w,
            ),
            Stage(
                "graph",
                5 * g + 2 * pairs,
                24 * q * n * self.k,
                points + (2 * edges + weights) * b + _MERGED * weights * w,
            ),
            Stage(
                "eigenpairs",
                _PRODUCTS * (g + pairs) + 500 * g,
                4.0 * width * q * n * _PRODUCTS,
                points + (weights + laplacian) * b + vectors,
            ),
            Stage(
                "back",
                chunks * g + 2 * g,
                3 * (4.0 * self.r + 8) * n * away,  # and again to where the chunk of X is
                points + weights * b + 3 * 4.0 * self.r * b,
            ),
            Stage(
                "features",
                2 * chunks,
                sums * (chunks + self.workers) * away,
                points + (weights + 4.0 * self.r) * b + _SUMS * sums,
            ),
            Stage(
                "answers",
                12 * chunks,
                4 * values * n * away,
                points + (4.0 * self.r + 4 * values) * b + 4 * sums,
            ),
        ]

    @property
    def worker_bytes(self) -> float:
        """Peak memory of a worker in bytes."""
        return BARE_BYTES + max(stage.held for stage in self.stages())

    @property
    def moved(self) -> float:
        """Bytes between workers in all."""
        return sum(stage.moved for stage in self.stages())
