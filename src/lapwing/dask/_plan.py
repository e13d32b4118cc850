"""Forecast of a fit by `DaskLapERLSClassifier`: blocks, tasks, traffic and memory.

The formulas are explained in the notes (``docs/notes/cluster.md``). They give the tasks of each
stage, and the bytes in memory and between workers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lapwing.estimators.choice import eigenpair_slack
from lapwing.graphs.ann import LIST_SIZE, count_of_lists
from lapwing.graphs.chebyshev import block_width
from lapwing.graphs.search import DIFFERENCE_BYTES
from lapwing.graphs.spectral import limits_of

# Maximum size of the points of a block, which is in memory twice per thread during the placement.
BLOCK_BYTES = 2**29
_PIECES = 20_000  # maximum tasks that divide chunks for blocks, about 20 s of the scheduler
# Memory of a process without points: the library, faiss and the imports of the first tasks.
_BARE_BYTES = 2.5e8
_ITERATIONS = 8  # of the eigensolver: 8 and 6 for 10^5 and 3 10^5 points on sheets, 5 for images
_TOL = 1e-6  # of the eigenpairs, relative to the norm
_EDGES = 7  # per row in both directions, with 5 neighbours: 6.4 for 10^5 points on sheets
# Multiplied by 1 - 1 / workers, the fraction of the chunks of X that Dask copies to idle workers,
# in addition to the transfers of the stages: with two workers none of 2, 4 of 6 and 8 of 20 chunks.
_STOLEN = 0.7
_SUMS = 12  # normal matrices in memory: 8 that are being added, and those of the present block


class Stage(NamedTuple):
    """Forecast of a stage.

    Attributes
    ----------
    name : str
    tasks : int
    moved : float
        Total bytes moved between workers.
    held : float
        Memory of a worker process in bytes.
    """

    name: str
    tasks: int
    moved: float
    held: float


def count_of_blocks(n: int, row_bytes: int, n_threads: int) -> int:
    """Return the number of blocks, a multiple of the threads, for at most `BLOCK_BYTES` each."""
    a_thread = -(-n * row_bytes // (BLOCK_BYTES * n_threads))
    return min(max(a_thread, 1) * n_threads, n)


def count_of_groups(n_blocks: int) -> int:
    """Return the maximum number of groups of chunks that are divided into pieces for the blocks."""
    return max(n_blocks, _PIECES // n_blocks)


@dataclass(frozen=True)
class Plan:
    """Forecast of a fit.

    Attributes
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
    dimensions : float
        Dimension of the surface on which the points of a cluster lie: 3 for sheets, the number of
        features for balls. 0 if whole clusters fit into the blocks.
    clusters : int
        Number of clusters, of equal size; also the number of classes.
    joined : bool
        Whether edges join the clusters, so that the graph has one component.
    eigenvalue : float or None
        The r-th smallest eigenvalue of the Laplacian; None for an estimate.
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
    joined: bool = False
    eigenvalue: float | None = None

    @property
    def blocks(self) -> int:
        return count_of_blocks(self.n, self.d * self.itemsize, self.workers)

    @property
    def border(self) -> float:
        """Fraction of the rows that another block needs."""
        return self._border(self.blocks)

    def _border(self, blocks: int) -> float:
        """Return the fraction of the rows that another block needs, for a number of blocks.

        These rows are a layer at each face of a block: a block with several clusters has faces
        in at most two of them, and a block inside a cluster has two faces per dimension.
        """
        if blocks == 1 or not self.dimensions:
            return 0.0
        block, cluster = self.n / blocks, self.n / self.clusters
        faces = 2 if block >= cluster else min(2 * self.dimensions, blocks - 1)
        layer = min(block, cluster) ** (1 - 1 / self.dimensions)
        return float(min(1.0, faces * layer / block * self.k / 5))

    def _pairs(self, blocks: int) -> int:
        """Return the number of pairs of blocks that exchange rows, in both directions."""
        return blocks * min(blocks - 1, int(2 * self.dimensions) or 0)

    @property
    def smallest(self) -> float:
        """Eigenvalue of the smoothest function on a cluster that is not constant.

        L f is about -E|y - x|^2 / 2D times the Laplacian of f, for the neighbours y of x. For a
        cubic cluster the function is a cosine along an edge, with the factor pi^2. For 10^5 points
        on ten sheets it is 0.0024, measured 0.0023 to 0.0026.
        """
        if self.eigenvalue is not None:
            return self.eigenvalue
        D, cluster = self.dimensions or 3.0, self.n / self.clusters
        log_ball = D / 2 * math.log(math.pi) - math.lgamma(D / 2 + 1)  # of a unit ball's volume
        radius = math.exp((math.log(self.k / cluster) - log_ball) / D)  # with k neighbours
        return math.pi**2 * radius**2 / (2 * (D + 2))

    @property
    def products(self) -> float:
        """Total number of products with the Laplacian in the filters.

        A polynomial of degree p separates eigenvalues that differ by about norm / p^2, here by the
        tolerance of the residual. Measured: 388 and 345 for 10^5 and 3 10^5 points on sheets
        (forecast 290 and 419), 88 for 10^5 images (forecast 87).
        """
        norm, tolerance = limits_of(True, 1.0, np.dtype(f"f{self.itemsize}"), _TOL)
        return math.sqrt(norm / max(tolerance, eigenpair_slack(self.n) * self.smallest))

    def stages(self) -> list[Stage]:
        """Forecast each stage in turn."""
        n, g, q, pairs = self.n, self.blocks, self.border, self._pairs(self.blocks)
        # From the graph on there is one block for each thread.
        w, border = self.workers, self._border(self.workers)
        chunks, away = -(-n // self.chunk), 1 - 1 / self.workers
        pieces = g * min(chunks, count_of_groups(g))
        asked = min(1.0, 2 * q)  # fraction of rows with lists of another block among the nearest
        # Bytes per row. Indices of lists and columns have 4 bytes, those of rows 8, weights 8.
        point, vector = self.d * self.itemsize, self.itemsize
        candidates, edges = (4 + self.itemsize) * (self.k + 9), (8 + self.itemsize) * self.k
        weights, laplacian = 12 * _EDGES + 4, (4 + self.itemsize) * (_EDGES + 1) + 4
        lists = self.d + 8  # one byte per feature; points instead if the recall of bytes is too low
        # With indices, components, degrees and null vectors. malloc does not free the lists.
        graph = weights + laplacian + 40 + lists
        vectors, values = vector * self.r, 8 * self.clusters
        # The others are null vectors.
        iterated = self.r - min(self.r, 1 if self.joined else self.clusters)
        width, products = block_width(iterated) if iterated else 0, self.products + _ITERATIONS
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
            # Chunks and blocks, and for each thread the pieces of its own block and of a block for
            # other workers. The sample for k-means is sent to one worker.
            self._stage(
                "placement",
                tasks=3 * chunks + pieces + 2 * g,
                moved=(point + 12) * n * away + LIST_SIZE * count_of_lists(n) * point,
                row=2 * point + 20,
                block=(2 - 1 / self.workers) * point,
            ),
            # Chunks, blocks and their lists; candidates and edges of a block.
            self._stage(
                "search",
                tasks=20 * g + 3 * pairs,
                moved=asked * n * (point + candidates),
                row=2 * point + 12 + lists + edges,
                block=candidates + 2 * edges,
                fixed=4 * DIFFERENCE_BYTES,
            ),
            # Directed, weighted and symmetrised edges, and four copies of those of a block. Joining
            # the blocks of a thread needs less.
            self._stage(
                "graph",
                tasks=5 * g + 2 * pairs,
                moved=24 * q * n * self.k,
                row=point + lists + 2 * edges + weights,
                block=4 * weights,
            ),
            # Three vectors of the recurrence, or those of the orthogonalisation, and the converged
            # vectors.
            self._stage(
                "eigenpairs",
                tasks=int(products * (w + self._pairs(w))) * bool(border) + 20 * _ITERATIONS * w,
                moved=vector * width * border * n * products,
                row=point + graph + vector * (3 * width + iterated),
            ),
            # Pieces of eigenvectors for the chunks. Dask runs some of these short tasks on a worker
            # without the block, which is then moved.
            self._stage(
                "back",
                tasks=w * min(chunks, count_of_groups(w)) + chunks,
                moved=3 * vectors * n * away,
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
            # Values of each class, computed where the features were: those of two steps, and the
            # result.
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
        """Return a stage for given bytes per row of a worker, per row of a block, and others."""
        held = row * self.n / self.workers + block * self.n / self.blocks + fixed
        return Stage(name, tasks, moved, _BARE_BYTES + held)

    @property
    def worker_bytes(self) -> float:
        """Peak memory of a worker in bytes."""
        return max(stage.held for stage in self.stages())

    @property
    def moved(self) -> float:
        """Total bytes moved between workers."""
        return sum(stage.moved for stage in self.stages())
