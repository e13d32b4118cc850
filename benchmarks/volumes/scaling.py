"""Time and peak memory of a partition of many points into many classes, for a separate process.

The graph is built before, and measured separately.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.measuring import forget_peak, quiet, resident_bytes
from benchmarks.shared.tables import Table

_DIMENSIONS, _INNER = 16, 3
_APART, _NOISE = np.float32(0.3), np.float32(0.35)  # classes touch


@dataclass(frozen=True)
class Use:
    """Time and memory of one run.

    Attributes
    ----------
    points : str
        'points:classes'.
    graph_seconds, seconds : float
        Processor times of the graph and of the partition.
    products : int
        Number of products of the graph with a matrix of one column per class.
    forecast_bytes, peak_bytes : int
        Memory of the partition as predicted by the library, and as measured for the process.
    error : float
        Error in % on the unlabelled points.
    load : float
        Load average of the machine over the last minute.
    """

    points: str
    graph_seconds: float
    seconds: float
    products: int
    forecast_bytes: int
    peak_bytes: int
    error: float
    load: float


def sheets(n: int, n_classes: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Draw points near curved 3-dimensional manifolds, one per class, of unequal class sizes."""
    rng = np.random.default_rng(0)
    shares = rng.uniform(1, 2, n_classes)
    y = rng.choice(n_classes, n, p=shares / shares.sum())
    inner = rng.uniform(-1, 1, (n, _INNER)).astype(np.float32)
    X = np.empty((n, _DIMENSIONS), dtype=np.float32)
    for k in range(n_classes):
        mine = y == k
        turn = rng.standard_normal((_INNER, _DIMENSIONS)).astype(np.float32)
        bend = rng.standard_normal((_INNER, _DIMENSIONS)).astype(np.float32)
        X[mine] = np.sin(inner[mine] @ turn) + inner[mine] ** 2 @ bend / 2
        X[mine] += _APART * rng.standard_normal(_DIMENSIONS).astype(np.float32)
    X += _NOISE * rng.standard_normal(X.shape, dtype=np.float32)
    return X, y.astype(np.int64)


def run_here(points: str) -> Use:
    """Build the graph, and run the flow with one label per class and the true class sizes."""
    from lapwing import AffinityGraph, BalancedGraphClassifier, KNNGraph
    from lapwing.estimators.template import prepare
    from lapwing.solvers.graph.registry import partition_bytes

    n, n_classes = map(int, points.split(":"))
    X, y = sheets(n, n_classes)
    begun = time.process_time()
    W = KNNGraph(10, weights="steep").affinity(X)
    graph_seconds = time.process_time() - begun
    marked = np.full(n, -1)
    first = np.unique(y, return_index=True)[1]
    marked[first] = y[first]
    model: Any = BalancedGraphClassifier(
        AffinityGraph(W, power=1),
        n_votes=0,
        space=None,
        kernel="linear",
        class_prior=np.bincount(y),
    )
    prepared = prepare(model, X, marked)
    forget_peak()
    before, begun = resident_bytes("VmRSS"), time.process_time()
    with quiet():
        partition, volume_problem = model._parted(prepared)
    seconds = time.process_time() - begun
    peak = resident_bytes("VmHWM") - before
    codes = partition.codes[prepared.problem.vertex]
    left = marked < 0
    return Use(
        points,
        graph_seconds,
        seconds,
        partition.n_iter,
        round(partition_bytes(volume_problem)),
        peak,
        100 * float(np.mean(codes[left] != y[left])),
        os.getloadavg()[0],
    )


def scaling_table(found: list[Use]) -> Table:
    """Return the table of all runs."""
    columns: dict[str, Callable[[Use], str]] = {
        "points x classes": lambda use: use.points.replace(":", " x "),
        "graph (s)": lambda use: f"{use.graph_seconds:.0f}",
        "flow (s)": lambda use: f"{use.seconds:.0f}",
        "products": lambda use: str(use.products),
        "forecast (GB)": lambda use: f"{use.forecast_bytes / 1e9:.2f}",
        "peak (GB)": lambda use: f"{use.peak_bytes / 1e9:.2f}",
        "error (%)": lambda use: f"{use.error:.1f}",
    }
    title = "Many points and classes: sheets, one label per class, known class sizes"
    note = "Processor seconds; the peak is that of the partition, without points and graph."
    return Table.of(title, found, columns, [note])
