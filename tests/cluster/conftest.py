"""A cluster of two small workers, on the loopback alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from lapwing.dask._data import ClusterPoints, read_points
from lapwing.dask._session import ClusterSession

distributed = pytest.importorskip("distributed", reason="distributed is not installed")
array = pytest.importorskip("dask.array", reason="dask is not installed")


@contextmanager
def cluster_of(n_workers: int, **options: Any) -> Iterator[Any]:
    """A client of a cluster of so many processes."""
    settings = {"threads_per_worker": 1, "memory_limit": "1GiB", "host": "127.0.0.1", **options}
    with (
        distributed.LocalCluster(
            n_workers=n_workers,
            # No dashboard, and its port on the loopback too.
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=50,
            **settings,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="package")
def client() -> Iterator[Any]:
    """A client of two threads, for all tests that do not end workers.

    Processes would have to import the library. Threads exchange objects without pickling; that is
    tested in `test_over_the_network.py`.
    """
    # No limit: Dask would hold the memory of the whole test process against each worker.
    with cluster_of(2, processes=False, host=None, memory_limit=None) as client:
        yield client


def points_of(client: Any, X: Any, chunks: Any) -> ClusterPoints:
    """Points as they are read in a fit."""
    return read_points(
        ClusterSession.of(client), array.from_array(X, chunks=(chunks, -1)).persist()
    )


class Case:
    """Clusters of points, a few of them labelled, in memory and in uneven chunks."""

    def __init__(self, n: int = 300, d: int = 4, n_classes: int = 3, distance: float = 4.0) -> None:
        rng = np.random.default_rng(0)
        centers = distance * rng.standard_normal((n_classes, d))
        truth = rng.integers(0, n_classes, n)
        self.X = centers[truth] + rng.standard_normal((n, d))
        self.y = np.full(n, -1)
        for label in range(n_classes):
            self.y[np.flatnonzero(truth == label)[:5]] = label
        # An empty chunk, one of one row, and others that differ.
        self.sizes = (n // 3, 0, 1, n // 4, n - n // 3 - 1 - n // 4)

    @property
    def chunks(self) -> Any:
        return array.from_array(self.X, chunks=(self.sizes, self.X.shape[1])).persist()

    @property
    def labels(self) -> Any:
        return array.from_array(self.y, chunks=(len(self.y) // 2 + 1,))
