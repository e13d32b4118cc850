"""Estimators for clusters on worker processes of this machine: time by stage, memory, traffic.

Points of ten classes are made on the workers. Every line is a fit in a cluster of its own, beside
what the formulas of `lapwing.dask` forecast and, with --local, the fit in memory of the same points
in a process of its own. --plan prints the forecast alone.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.cluster.data import KINDS, dimensions, points, points_on_workers
from benchmarks.shared.log import told
from benchmarks.shared.output import RESULTS, say, write_results
from benchmarks.shared.tables import Table
from lapwing.dask._plan import Plan

T = TypeVar("T")

LABELS_A_CLASS = 10
METHODS = ("anchors", "eigenfunctions", "landmarks", "s3vc")


@dataclass(frozen=True)
class Use:
    """What one fit took.

    Attributes
    ----------
    method : str
    kind : str
        Of points.
    n_points : int
    seconds : float
    processor_seconds : float
        Of client, scheduler and workers together: what a busy machine does not change.
    stages : dict of str to float
        Seconds by stage, as the fit logs them.
    client_bytes : int
        Peak resident size of the client's process, scheduler included.
    worker_bytes : int
        Largest peak of the resident size of a worker's process.
    moved_bytes : int
        Between workers.
    error : float
        Of `transduction_`, in %.
    planned_worker_bytes, planned_moved_bytes : float or None
        As forecast; None for methods without a graph.
    local : tuple of (float, float), or None
        Processor seconds and error in % of the fit in memory.
    """

    method: str
    kind: str
    n_points: int
    seconds: float
    processor_seconds: float
    stages: dict[str, float]
    client_bytes: int
    worker_bytes: int
    moved_bytes: int
    error: float
    planned_worker_bytes: float | None = None
    planned_moved_bytes: float | None = None
    local: tuple[float, float] | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("--points", type=int, nargs="+", default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--kind", choices=[*KINDS, "images"], default="sheets", help="Of points.")
    parser.add_argument("--local", action="store_true", help="Fit in memory as well.")
    parser.add_argument("--plan", metavar="POINTS:FEATURES:WORKERS", help="Print a forecast only.")
    parser.add_argument("--dimensions", type=float, help="That the points fill, of the forecast.")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="3GB", help="Limit of each worker.")
    parser.add_argument("--quick", action="store_true", help="20,000 points only.")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for table and JSON")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print."""
    if arguments.plan:
        n, d, workers = (int(float(part)) for part in arguments.plan.split(":"))
        dimensions = 3.0 if arguments.dimensions is None else arguments.dimensions
        say(_forecast(Plan(n, d, workers, dimensions=dimensions)).render())
        return 0
    uses = []
    for n in [20_000] if arguments.quick else arguments.points:
        for method in arguments.methods:
            use = measure(method, n, arguments.workers, arguments.memory, arguments.kind)
            if arguments.local:
                use = replace(use, local=_in_process(_fit_in_memory, method, n, arguments.kind))
            uses.append(use)
            say("  ".join(_cells(use)))
    rows = [_cells(use) for use in uses]
    header = (
        "method",
        "kind",
        "points",
        "s",
        "cpu s",
        "stages",
        "client GB",
        "worker GB",
        "moved GB",
        "error %",
        "planned worker, moved GB",
        "in memory: cpu s, error %",
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
        use.kind,
        f"{use.n_points:,d}",
        f"{use.seconds:.1f}",
        f"{use.processor_seconds:.1f}",
        stages,
        *numbers,
        f"{use.error:.2f}",
        "-"
        if use.planned_moved_bytes is None or use.planned_worker_bytes is None
        else f"{use.planned_worker_bytes / 1e9:.2f}, {use.planned_moved_bytes / 1e9:.2f}",
        "-" if use.local is None else f"{use.local[0]:.1f}, {use.local[1]:.2f}",
    ]


def _forecast(plan: Plan) -> Table:
    stages = plan.stages()
    rows = [
        [each.name, f"{each.tasks:,d}", f"{each.moved / 1e9:.2f}", f"{each.held / 1e9:.2f}"]
        for each in stages
    ]
    total = sum(each.tasks for each in stages)
    rows.append(["all", f"{total:,d}", f"{plan.moved / 1e9:.2f}", f"{plan.worker_bytes / 1e9:.2f}"])
    title = (
        f"{plan.n:,d} points of {plan.d} features, {plan.workers} workers, {plan.blocks} blocks: "
        f"{plan.border:.1%} of the rows at borders"
    )
    return Table(title, ("stage", "tasks", "moved GB", "worker GB"), rows)


def measure(method: str, n: int, n_workers: int, memory: str, kind: str) -> Use:
    """One fit in a cluster of its own."""
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
        X, truth = points_on_workers(kind, n)
        X = X.persist()
        wait(X)
        rows = _labelled(truth)
        client.run(_warm)
        moved, spent = _moved(client), _processor_seconds(client)
        with told("%s: %.1f s") as stages:
            start = time.perf_counter()
            model = _estimator(method).fit(X, (rows, truth[rows]))
            seconds = time.perf_counter() - start
        spent = _processor_seconds(client) - spent
        found = model.transduction_.map_blocks(_as_bytes, dtype=np.int8).compute()
        error = 100 * float((found != truth).mean())
        plan = None
        if method == "landmarks":
            plan = Plan(n, X.shape[1], n_workers, dimensions=dimensions(kind, n_workers))
        return Use(
            method,
            kind,
            n,
            seconds,
            spent,
            {str(name): float(spent) for name, spent in stages},
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            max(client.run(_peak).values()),
            _moved(client) - moved,
            error,
            None if plan is None else plan.worker_bytes,
            None if plan is None else plan.moved,
        )


def _labelled(truth: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows of the first points of each class."""
    return np.sort(
        np.concatenate([np.flatnonzero(truth == c)[:LABELS_A_CLASS] for c in np.unique(truth)])
    )


def _in_process(task: Callable[..., T], *arguments: Any) -> T:
    """Run in a process of its own, whose processor time and memory are its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(task, *arguments).result()


def _fit_in_memory(method: str, n: int, kind: str) -> tuple[float, float]:
    X, truth = points(kind, n)
    y, rows = np.full(n, -1), _labelled(truth)
    y[rows] = truth[rows]
    estimator = _estimator(method, local=True)
    spent = time.process_time()
    model = estimator.fit(X, y)
    spent = time.process_time() - spent
    return spent, 100 * float((model.transduction_ != truth).mean())


def _estimator(method: str, *, local: bool = False) -> Any:
    import lapwing
    from lapwing import dask as on_cluster

    def made(name: str, *given: Any, **parameters: Any) -> Any:
        owner, prefix = (lapwing, "") if local else (on_cluster, "Dask")
        return getattr(owner, prefix + name)(*given, **parameters)

    if method == "s3vc":
        fixed = {"kernel": "linear", "multi_class": "ovr"} if local else {}
        return made("S3VC", **fixed)
    if method == "anchors":
        return made("AnchorGraphClassifier", lapwing.AnchorGraph(1000))
    if method == "eigenfunctions":
        return made("EigenfunctionClassifier")
    return made("LapERLSClassifier", space=lapwing.Landmarks(1000), n_eigenvectors=20)


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


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
