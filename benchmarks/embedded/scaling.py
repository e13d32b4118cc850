"""Time and peak memory of LapERLSClassifier().fit by stage, for a separate process.

As machines differ and are shared, two stages are compared with lower limits in the same run: the
graph with a search in filled lists of faiss, with the contents and the number of lists of the fit,
and the Gram sums with the matrix products that they require.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.embedded.searches import search_codes, search_lists
from benchmarks.shared.labels import error_rate, with_labels
from benchmarks.shared.measuring import (
    forget_peak,
    logged,
    resident_bytes,
    wall_seconds,
    with_seconds,
)
from benchmarks.shared.points import KINDS

POINT_SETS = (
    "sheets:20000",
    "sheets:200000",
    "images:200000",
    "blobs:200000",
    "pixels:70000",
    "sheets:1000000",
    "images:1000000",
)
LABELS_PER_CLASS = 10
STAGES = ("graph", "eigenpairs", "landmarks", "features", "solve")
N_NEIGHBORS, N_LANDMARKS, N_EIGENVECTORS = 5, 1000, 50  # defaults of the estimator
_ROWS = 20_000  # for timing the products


@dataclass(frozen=True)
class Use:
    """Time, memory and errors of a run.

    Attributes
    ----------
    points : str
        'kind:number', with ':exact' for an exact search.
    n_points : int
    seconds : dict
        By `STAGES`, and of the whole 'fit' and of 'predict'.
    limits : dict
        Seconds of the 'search' and of the 'products' without other work.
    peak_bytes : int
        Largest resident size of the process during the fit, including interpreter and points, but
        not the generation of the points.
    errors : dict
        Errors of the virtual labels 'g' and of the predictions 'f', in %.
    recall : float
        Recall of the neighbours.
    load : float
        Load average of the machine in the last minute of the fit.
    """

    points: str
    n_points: int
    seconds: dict[str, float]
    limits: dict[str, float]
    peak_bytes: int
    errors: dict[str, float]
    recall: float
    load: float

    @property
    def total(self) -> float:
        return self.seconds["fit"]


class _Clock:
    """Callback that sums the seconds of the stages of a fit."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self._begun: dict[str, float] = {}

    def setup(self, estimator: Any, context: Any) -> None:
        return

    def teardown(self, estimator: Any, context: Any) -> None:
        return

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        self._begun[context.task_name] = time.perf_counter()

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        if context.task_name in self.seconds:
            self.seconds[context.task_name] += time.perf_counter() - self._begun[context.task_name]


def measure_fit(points: str) -> Use:
    """Measure a fit with the defaults, and the limits.

    Parameters
    ----------
    points : str
        'KIND:NUMBER' with a kind in `KINDS`; 'KIND:NUMBER:exact' requests an exact search.
    """
    from lapwing import KNNGraph, LapERLSClassifier

    kind, number, *exact = points.split(":")
    X, y = KINDS[kind](int(number))
    marked, clock = with_labels(y, LABELS_PER_CLASS, np.random.default_rng(0)), _Clock()
    graph = KNNGraph(N_NEIGHBORS, approximate=False if exact else "auto")
    model = LapERLSClassifier(graph=graph).set_callbacks(clock)
    forget_peak()
    with logged("Approximate neighbours") as searches:
        fit_seconds = wall_seconds(model.fit, X, marked)
    peak, load = resident_bytes("VmHWM"), os.getloadavg()[0]
    predicted, took = with_seconds(model.predict, X)
    seconds = {**clock.seconds, "fit": fit_seconds, "predict": took}
    left = marked < 0
    answers = {"g": model.transduction_, "f": predicted}
    errors = {name: error_rate(y[left], a[left]) for name, a in answers.items()}
    recall = float(graph.recall_)
    limits = {"products": _seconds_of_products(X)}
    if searches:
        search = {"codes": search_codes, "points": search_lists}[searches[-1][-1]]
        limits["search"] = search(X, N_NEIGHBORS, recall).search
    return Use(points, len(y), seconds, limits, peak, errors, recall, load)


def _seconds_of_products(X: NDArray[np.float32]) -> float:
    """Time the products of Gram sums: points with landmarks in float32, sums in float64."""
    n, rows = len(X), X[:_ROWS]
    landmarks = np.ascontiguousarray(X[:N_LANDMARKS].T)
    values = np.random.default_rng(0).standard_normal((len(rows), N_LANDMARKS + N_EIGENVECTORS))
    start = time.perf_counter()
    rows @ landmarks
    values.T @ values
    return (time.perf_counter() - start) * n / len(rows)
