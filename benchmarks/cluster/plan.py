"""Forecast of a fit by `DaskLapERLSClassifier`: tasks, traffic and memory by stage.

The formulas are explained in the notes (``docs/notes/cluster.md``); those of the memory are
in `lapwing.dask._plan`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lapwing.dask._plan import count_of_blocks, count_of_groups, worker_bytes
from lapwing.estimators.choice import eigenpair_slack
from lapwing.graphs.ann import LIST_SIZE, count_of_lists
from lapwing.graphs.chebyshev import block_width
from lapwing.graphs.spectral import limits_of

_ITERATIONS = 8  # of the eigensolver: 8 and 6 for 10^5 and 3 10^5 points on sheets, 5 for images
_TOL = 1e-6  # of the eigenpairs, relative to the norm
# Multiplied by 1 - 1 / workers, the fraction of the chunks of X that Dask copies to idle workers,
# in addition to the transfers of the stages: with two workers none of 2, 4 of 6 and 8 of 20 chunks.
_STOLEN = 0.7


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
        chunks, away = -(-n // self.chunk), 1 - 1 / w
        asked = min(1.0, 2 * q)  # fraction of rows with lists of another block among the nearest
        point, vector = self.d * self.itemsize, self.itemsize  # bytes per row
        candidates = (4 + vector) * (self.k + 9)
        iterated, products = self.r - self.null, self.products + _ITERATIONS
        width = block_width(iterated) if iterated else 0
        sums = 8 * (self.m + self.r) ** 2
        stages: dict[str, tuple[int, float]] = {  # tasks, and bytes moved
            # Dask moves some chunks to idle workers.
            "read": (2 * chunks, _STOLEN * point * n * away),
            # The sample for k-means is sent to one worker.
            "placement": (
                3 * chunks + g * min(chunks, count_of_groups(g)) + 2 * g,
                (point + 12) * n * away + LIST_SIZE * count_of_lists(n) * point,
            ),
            "search": (20 * g + 3 * pairs, asked * n * (point + candidates)),
            "graph": (5 * g + 2 * pairs, 24 * q * n * self.k),
            "eigenpairs": (
                int(products * (w + self._pairs(w))) * bool(border) + 20 * _ITERATIONS * w,
                vector * width * border * n * products,
            ),
            # Dask runs some of these short tasks on a worker without the block, which is then
            # moved.
            "back": (
                w * min(chunks, count_of_groups(w)) + chunks,
                3 * vector * self.r * n * away,
            ),
            # Each worker gets the landmarks and their factor.
            "features": (2 * chunks, sums * (chunks * away + w - 1)),
            "answers": (12 * chunks, 0.0),
        }
        held = self._held
        return [Stage(name, *each, held[name]) for name, each in stages.items()]

    @property
    def null(self) -> int:
        """Number of eigenvectors that are null vectors of a component."""
        return min(self.r, 1 if self.joined else self.clusters)

    @property
    def _held(self) -> dict[str, float]:
        return worker_bytes(
            *(self.n, self.d, self.workers, self.itemsize, self.k),
            r=self.r,
            m=self.m,
            chunk=self.chunk,
            clusters=self.clusters,
            null=self.null,
        )

    @property
    def worker_bytes(self) -> float:
        """Peak memory of a worker in bytes."""
        return max(self._held.values())

    @property
    def moved(self) -> float:
        """Total bytes moved between workers."""
        return sum(stage.moved for stage in self.stages())
