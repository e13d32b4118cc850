"""Estimators for clusters on two worker processes of this machine: time by stage, memory, traffic.

Points of ten classes on curved sheets are made on the workers. Every line is a fit in a cluster of
its own.
"""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.log import told
from benchmarks.shared.output import RESULTS, say, write_results
from benchmarks.shared.tables import Table

N_FEATURES, N_CLASSES, LABELS_A_CLASS = 64, 10, 10
CHUNK = 50_000
METHODS = ("anchors", "eigenfunctions", "landmarks")


@dataclass(frozen=True)
class Use:
    """What one fit took.

    Attributes
    ----------
    method : str
    n_points : int
    seconds : float
    processor_seconds : float
        Of client, scheduler and workers together: what a busy machine does not change.
    stages : dict of str to float
        Seconds by stage, as the fit logs them.
    client_bytes : int
        Peak resident size of the client's process, scheduler included.
    worker_bytes : int
        Largest resident size of a worker after the fit.
    moved_bytes : int
        Between workers.
    error : float
        Of `transduction_`, in %.
    """

    method: str
    n_points: int
    seconds: float
    processor_seconds: float
    stages: dict[str, float]
    client_bytes: int
    worker_bytes: int
    moved_bytes: int
    error: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("--points", type=int, nargs="+", default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="3GB", help="Limit of each worker.")
    parser.add_argument("--quick", action="store_true", help="20,000 points only.")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for table and JSON")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print."""
    uses = []
    for n in [20_000] if arguments.quick else arguments.points:
        for method in arguments.methods:
            use = measure(method, n, arguments.workers, arguments.memory)
            uses.append(use)
            say("  ".join(_cells(use)))
    rows = [_cells(use) for use in uses]
    header = (
        "method",
        "points",
        "s",
        "cpu s",
        "stages",
        "client GB",
        "worker GB",
        "moved GB",
        "error %",
    )
    title = f"{arguments.workers} workers of {arguments.memory}, one thread each"
    arguments.output.mkdir(parents=True, exist_ok=True)
    raw = {"uses": [asdict(use) for use in uses]}
    write_results(arguments.output, "cluster", [Table(title, header, rows)], raw)
    return 0


def _cells(use: Use) -> list[str]:
    stages = ", ".join(f"{name} {seconds:.1f}" for name, seconds in use.stages.items())
    sizes = [use.client_bytes, use.worker_bytes, use.moved_bytes]
    numbers = [f"{size / 1e9:.2f}" for size in sizes]
    return [
        use.method,
        f"{use.n_points:,d}",
        f"{use.seconds:.1f}",
        f"{use.processor_seconds:.1f}",
        stages,
        *numbers,
        f"{use.error:.2f}",
    ]


def measure(method: str, n: int, n_workers: int, memory: str) -> Use:
    """One fit in a cluster of its own."""
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit=memory,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs="ERROR",
        ) as cluster,
        Client(cluster) as client,
    ):
        starts = range(0, n, CHUNK)
        sizes = tuple(min(CHUNK, n - start) for start in starts)
        X = da.map_blocks(
            _sheets,
            da.from_array(np.array(sizes), chunks=1),
            da.arange(len(sizes), chunks=1),
            dtype=np.float32,
            chunks=(sizes, (N_FEATURES,)),
            new_axis=1,
        ).persist()
        wait(X)
        truth = np.arange(n) % N_CLASSES
        rows = np.arange(N_CLASSES * LABELS_A_CLASS)
        client.run(_warm)
        moved, spent = _moved(client), _processor_seconds(client)
        with told("%s: %.1f s") as stages:
            start = time.perf_counter()
            model = _estimator(method).fit(X, (rows, truth[rows]))
            seconds = time.perf_counter() - start
        spent = _processor_seconds(client) - spent
        found = model.transduction_.map_blocks(_as_bytes, dtype=np.int8).compute()
        error = 100 * float((found != truth).mean())
        return Use(
            method,
            n,
            seconds,
            spent,
            {str(name): float(spent) for name, spent in stages},
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            max(client.run(_resident).values()),
            _moved(client) - moved,
            error,
        )


def _estimator(method: str) -> Any:
    from lapwing import AnchorGraph, Landmarks
    from lapwing.dask import (
        DaskAnchorGraphClassifier,
        DaskEigenfunctionClassifier,
        DaskLapERLSClassifier,
    )

    made = {
        "anchors": lambda: DaskAnchorGraphClassifier(AnchorGraph(1000)),
        "eigenfunctions": DaskEigenfunctionClassifier,
        "landmarks": lambda: DaskLapERLSClassifier(space=Landmarks(1000), n_eigenvectors=20),
    }
    return made[method]()


def _sheets(size: NDArray[Any], number: NDArray[Any]) -> NDArray[np.float32]:
    """Points of the classes in turn, each on a curved sheet of three dimensions."""
    rng = np.random.default_rng(int(number[0]) + 1)
    n = int(size[0])
    fixed = np.random.default_rng(0)
    centers = 3 * fixed.standard_normal((N_CLASSES, N_FEATURES)) / np.sqrt(N_FEATURES)
    planes = fixed.standard_normal((N_CLASSES, 6, N_FEATURES)) / np.sqrt(N_FEATURES)
    X = np.empty((n, N_FEATURES), dtype=np.float32)
    labels = (int(number[0]) * CHUNK + np.arange(n)) % N_CLASSES
    for label in range(N_CLASSES):
        mine = np.flatnonzero(labels == label)
        t = rng.uniform(-1, 1, (len(mine), 3))
        curved = np.hstack([t, t**2])
        X[mine] = centers[label] + curved @ planes[label]
    return X + 0.02 * rng.standard_normal(X.shape, dtype=np.float32)


def _as_bytes(block: NDArray[Any]) -> NDArray[np.int8]:
    return block.astype(np.int8)


def _moved(client: Any) -> int:
    return sum(client.run(_received).values())


def _warm() -> None:
    """What a worker loads with its first task is no part of a fit."""
    import lapwing.dask  # noqa: F401


def _processor_seconds(client: Any) -> float:
    return time.process_time() + sum(client.run(time.process_time).values())


def _received(dask_worker: Any) -> int:
    return int(sum(entry["total"] for entry in dask_worker.transfer_incoming_log))


def _resident() -> int:
    import psutil

    return int(psutil.Process().memory_info().rss)
