"""Estimators for clusters on worker processes of this machine: time by stage, memory, traffic.

Points of ten classes are generated on the workers. Each line is a fit in a separate cluster, with
the forecast of `lapwing.dask` and, with --local, a fit to the same points in memory in a separate
process. --plan prints the forecast only.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.cluster.data import KINDS, plan, points, points_on_workers
from benchmarks.cluster.plan import Plan
from benchmarks.cluster.watch import peaks, traffic, watch
from benchmarks.shared.measuring import logged, resident_bytes, run_alone
from benchmarks.shared.options import add_output_options
from benchmarks.shared.output import Results, say
from benchmarks.shared.tables import Table

LABELS_PER_CLASS = 10
METHODS = ("anchors", "eigenfunctions", "landmarks", "s3vc")


@dataclass(frozen=True)
class Use:
    """Time, memory and traffic of a fit.

    Attributes
    ----------
    method : str
    kind : str
        Kind of points.
    n_points : int
    seconds : float
    processor_seconds : float
        Sum over client, scheduler and workers, which does not depend on the load of the machine.
    stages : dict of str to float
        Seconds by stage, from the log of the fit.
    client_bytes : int
        Peak resident size of the client process, including the scheduler.
    worker_bytes : int
        Largest peak of the resident sizes of worker processes.
    bare_bytes : int
        Resident size of a worker with the library and without points.
    busiest : float
        Fraction of the processor seconds of all workers that the busiest one used.
    peaks : dict of str to int
        Largest resident size of a worker by stage, sampled.
    moved : dict of str to int
        Bytes between workers by stage.
    error : float
        Error of `transduction_` in %.
    planned : dict of str to (float, float), or None
        Forecast bytes of a worker and bytes moved by stage; None for methods without a graph.
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
    bare_bytes: int
    busiest: float
    peaks: dict[str, int]
    moved: dict[str, int]
    error: float
    planned: dict[str, tuple[float, float]] | None = None
    local: tuple[float, float] | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--points", type=int, nargs="+", default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument(
        "--kind", choices=[*KINDS, "images"], default="sheets", help="Kind of points."
    )
    parser.add_argument("--local", action="store_true", help="Fit in memory, too.")
    parser.add_argument("--plan", metavar="POINTS:FEATURES:WORKERS", help="Print only a forecast.")
    parser.add_argument(
        "--dimensions", type=float, help="Dimension of the surface of the points, for the forecast."
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="3GB", help="Memory limit of each worker.")
    add_output_options(parser, "Use only 5,000 points.")


def run(arguments: argparse.Namespace) -> Results | int:
    """Run the benchmark, or print a forecast."""
    if arguments.plan:
        n, d, workers = (int(float(part)) for part in arguments.plan.split(":"))
        dimensions = 3.0 if arguments.dimensions is None else arguments.dimensions
        say(_forecast(Plan(n, d, workers, dimensions=dimensions)).render())
        return 0
    uses = []
    for n in [5_000] if arguments.quick else arguments.points:
        for method in arguments.methods:
            use = measure(method, n, arguments.workers, arguments.memory, arguments.kind)
            if arguments.local:
                use = replace(use, local=run_alone(_fit_in_memory, method, n, arguments.kind))
            uses.append(use)
            say("  ".join(show(use) for show in _COLUMNS.values()))
    compared = [row for use in uses if use.planned is not None for row in _compare_with_plan(use)]
    title = f"{arguments.workers} workers of {arguments.memory}, one thread each"
    tables = [Table.of(title, uses, _COLUMNS)]
    if compared:
        of_stages = (
            "kind",
            "points",
            "stage",
            "worker (GB)",
            "predicted (GB)",
            "moved (GB)",
            "predicted (GB)",
        )
        tables.append(Table(f"{title}: predicted and measured, by stage", of_stages, compared))
    return Results(tables, raw={"uses": uses})


_COLUMNS: dict[str, Callable[[Use], str]] = {
    "method": lambda use: use.method,
    "kind": lambda use: use.kind,
    "points": lambda use: f"{use.n_points:,d}",
    "s": lambda use: f"{use.seconds:.1f}",
    "CPU (s)": lambda use: f"{use.processor_seconds:.1f}",
    "stages": lambda use: ", ".join(f"{name} {s:.1f}" for name, s in use.stages.items()),
    "client (GB)": lambda use: f"{use.client_bytes / 1e9:.2f}",
    "worker (GB)": lambda use: f"{use.worker_bytes / 1e9:.2f}",
    "busiest worker": lambda use: f"{use.busiest:.0%}",
    "moved (GB)": lambda use: f"{sum(use.moved.values()) / 1e9:.2f}",
    "error (%)": lambda use: f"{use.error:.2f}",
    "in memory: CPU (s), error (%)": lambda use: (
        "-" if use.local is None else f"{use.local[0]:.1f}, {use.local[1]:.2f}"
    ),
}


def _compare_with_plan(use: Use) -> list[list[str]]:
    """Return the table cells of each stage, measured and forecast."""
    assert use.planned is not None
    rows = []
    for stage, (held, moved) in use.planned.items():
        measured = use.peaks.get(stage), held, use.moved.get(stage, 0), moved
        cells = ["-" if size is None else f"{size / 1e9:.2f}" for size in measured]
        rows.append([use.kind, f"{use.n_points:,d}", stage, *cells])
    held = max(held for held, _ in use.planned.values())
    sizes = [use.worker_bytes, held, sum(use.moved.values())]
    sizes.append(sum(moved for _, moved in use.planned.values()))
    cells = [f"{size / 1e9:.2f}" for size in sizes]
    return [*rows, [use.kind, f"{use.n_points:,d}", "all", *cells]]


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
    return Table(title, ("stage", "tasks", "moved (GB)", "worker (GB)"), rows)


def measure(method: str, n: int, n_workers: int, memory: str, kind: str) -> Use:
    """Measure a fit in a separate cluster."""
    import dask
    from distributed import Client, LocalCluster, wait

    with (
        dask.config.set({"distributed.admin.low-level-log-length": 1_000_000}),  # of transfers
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
        client.run(_warm)
        bare = watch(client)
        X, truth = points_on_workers(kind, n)
        X = X.persist()
        wait(X)
        rows = _labelled(truth)
        before, spent = client.run(time.process_time), time.process_time()
        with logged("%s: %.1f s") as stages:
            start = time.perf_counter()
            model = _estimator(method).fit(X, (rows, truth[rows]))
            seconds = time.perf_counter() - start
        spent = time.process_time() - spent
        after = client.run(time.process_time)
        of_workers = [after[name] - seconds for name, seconds in before.items()]
        found = model.transduction_.map_blocks(_as_bytes, dtype=np.int8).compute()
        error = 100 * float((found != truth).mean())
        planned = _planned(kind, n, n_workers) if method == "landmarks" else None
        return Use(
            method,
            kind,
            n,
            seconds,
            spent + sum(of_workers),
            {str(name): float(spent) for name, spent in stages},
            resident_bytes("VmHWM"),
            max(client.run(resident_bytes, "VmHWM").values()),
            bare,
            max(of_workers) / sum(of_workers),
            peaks(client),
            traffic(client),
            error,
            planned,
        )


def _planned(kind: str, n: int, n_workers: int) -> dict[str, tuple[float, float]]:
    """Forecast the bytes of a worker and the bytes moved by stage."""
    stages = plan(kind, n, n_workers).stages()
    return {stage.name: (stage.held, stage.moved) for stage in stages}


def _labelled(truth: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of the first points of each class."""
    return np.sort(
        np.concatenate([np.flatnonzero(truth == c)[:LABELS_PER_CLASS] for c in np.unique(truth)])
    )


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


def _warm() -> None:
    """Import the modules of the first tasks, which are not part of a fit."""
    import lapwing.dask  # noqa: F401
