"""Fits to points on disk under a hard limit of memory: time, peak, and passes over the file.

Curved three-dimensional sheets in 64 dimensions are written to a .npy file in blocks, and each
method is fitted in a separate process. A guard checks its resident memory fifty times a second and
ends it above the limit, like a container; address space and cached files are not counted. The
number of passes is the number of bytes read, as counted by the system, over the size of the file.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.measuring import resident_bytes, run_alone, timed_fit
from benchmarks.shared.options import add_output_options
from benchmarks.shared.output import Results, say
from benchmarks.shared.tables import Table

N_FEATURES, N_CLASSES, LABELS_PER_CLASS = 64, 4, 25
QUICK_POINTS = 30_000
_BLOCK = 100_000
METHODS = ("eigenfunctions", "anchors", "s3vc", "laprls", "laperls")


@dataclass(frozen=True)
class DiskUse:
    """Time, memory and passes of a fit and a prediction.

    Attributes
    ----------
    method : str
    n_points : int
    limit_bytes : int
        Limit of resident memory.
    fit_seconds, predict_seconds : float
    fit_cpu_seconds : float
        Sum over all threads, the time on one core.
    peak_bytes : int
        Largest resident size.
    fit_passes, predict_passes : float
        Bytes read over the size of the file.
    error : float
        Error of the predictions in %.
    """

    method: str
    n_points: int
    limit_bytes: int
    fit_seconds: float
    predict_seconds: float
    fit_cpu_seconds: float
    peak_bytes: int
    fit_passes: float
    predict_passes: float
    error: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks disk``."""
    parser.add_argument("--points", type=float, default=1e6)
    parser.add_argument("--limit", type=float, default=1.2, help="memory limit of a process in GB")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--folder", type=Path, default=None, help="folder of the points")
    parser.add_argument(
        "--memory",
        default=None,
        help="folder of finished stages, which are not repeated",
    )
    add_output_options(parser, f"{QUICK_POINTS:,} points")


def run(arguments: argparse.Namespace) -> Results:
    """Run the benchmark."""
    n = QUICK_POINTS if arguments.quick else int(arguments.points)
    uses = []
    with tempfile.TemporaryDirectory() as made:
        folder = arguments.folder or Path(made)
        path = folder / f"sheets-{n}.npy"
        if not path.exists():
            write_sheets(path, n)
        size = path.stat().st_size
        for method in arguments.methods:
            limit = int(arguments.limit * 1e9)
            uses.append(run_alone(measure, method, path, limit, arguments.memory))
            say("  ".join(show(uses[-1]) for show in _COLUMNS.values()))
    title = (
        f"{n:,d} points x {N_FEATURES} ({size / 1e9:.2f} GB) in {arguments.limit:g} GB of memory"
    )
    return Results([Table.of(title, uses, _COLUMNS)], raw={"uses": uses})


_COLUMNS: dict[str, Callable[[DiskUse], str]] = {
    "method": lambda use: use.method,
    "fit (s)": lambda use: f"{use.fit_seconds:.0f}",
    "CPU (s)": lambda use: f"{use.fit_cpu_seconds:.0f}",
    "passes": lambda use: f"{use.fit_passes:.1f}",
    "predict (s)": lambda use: f"{use.predict_seconds:.0f}",
    "passes (predict)": lambda use: f"{use.predict_passes:.1f}",
    "peak (GB)": lambda use: f"{use.peak_bytes / 1e9:.2f}",
    "error (%)": lambda use: f"{use.error:.2f}",
}


def write_sheets(path: Path, n: int, seed: int = 0) -> None:
    """Write curved sheets, one per class, as float32; rows cycle through the classes."""
    rng = np.random.default_rng(seed)
    frames = rng.standard_normal((N_CLASSES, 5, N_FEATURES)) / 4
    places = rng.standard_normal((N_CLASSES, N_FEATURES)) / 4
    partial = path.with_suffix(".part")
    X = np.lib.format.open_memmap(partial, "w+", np.float32, (n, N_FEATURES))
    for start in range(0, n, _BLOCK):
        c = classes_of(np.arange(start, min(start + _BLOCK, n)))
        t = rng.uniform(-1, 1, (len(c), 3))
        bent = np.hstack([t, np.cos(2 * t[:, :1]), np.sin(3 * t[:, :1] * t[:, 1:2])])
        points = np.einsum("ij,ijk->ik", bent, frames[c]) + places[c]
        X[start : start + len(c)] = points + 0.05 * rng.standard_normal(points.shape)
    X.flush()
    del X
    partial.rename(path)


def classes_of(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the true classes of rows of the file."""
    return rows % N_CLASSES


def make(method: str, memory: str | None) -> Any:
    """Create the estimator of a method."""
    from lapwing import (
        S3VC,
        AnchorGraphClassifier,
        EigenfunctionClassifier,
        Landmarks,
        LapERLSClassifier,
        LapRLSClassifier,
    )

    if method == "laperls":
        return LapERLSClassifier(space=Landmarks(300), n_eigenvectors=10, memory=memory)
    made = {
        "eigenfunctions": EigenfunctionClassifier(),
        "anchors": AnchorGraphClassifier(),
        "s3vc": S3VC("linear", multi_class="ovr", tol=1e-2),
        "laprls": LapRLSClassifier(kernel="linear"),
    }
    return made[method]


def measure(method: str, path: Path, limit: int, memory: str | None) -> DiskUse:
    """Fit and predict in this process, after setting the limit."""
    import lapwing  # noqa: F401 - its files are not counted as reads of the fit

    guard(limit)
    n = int(np.load(path, mmap_mode="r").shape[0])
    y = np.full(n, -1, dtype=np.int8)
    labeled = np.random.default_rng(1).choice(n // N_CLASSES, LABELS_PER_CLASS, replace=False)
    rows = (labeled[:, None] * N_CLASSES + np.arange(N_CLASSES)).ravel()
    y[rows] = classes_of(rows)
    clock, read, began = [time.perf_counter()], [_bytes_read()], time.process_time()
    model, _ = timed_fit(make(method, memory), path, y)
    spent = time.process_time() - began
    clock.append(time.perf_counter())
    read.append(_bytes_read())
    predicted = model.predict(path)
    clock.append(time.perf_counter())
    read.append(_bytes_read())
    seconds, passes = np.diff(clock), np.diff(read) / path.stat().st_size
    wrong = sum(
        int(np.sum(predicted[start : start + _BLOCK] != classes_of(some)))
        for start in range(0, n, _BLOCK)
        for some in [np.arange(start, min(start + _BLOCK, n))]
    )
    return DiskUse(
        method,
        n,
        limit,
        fit_seconds=float(seconds[0]),
        predict_seconds=float(seconds[1]),
        fit_cpu_seconds=spent,
        peak_bytes=resident_bytes("VmHWM"),
        fit_passes=float(passes[0]),
        predict_passes=float(passes[1]),
        error=100 * wrong / n,
    )


def guard(limit: int) -> None:
    """End this process when its resident memory exceeds the limit, and set it for forecasts."""
    os.environ["LAPWING_MEMORY_LIMIT"] = str(limit - resident_bytes("VmRSS"))

    def watch() -> None:
        while True:
            if resident_bytes("VmRSS") > limit:
                sys.stderr.write(f"More than {limit / 1e9:g} GB of memory were taken.\n")
                sys.stderr.flush()
                os._exit(137)
            time.sleep(0.02)

    threading.Thread(target=watch, daemon=True).start()


def _bytes_read() -> int:
    for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines():
        if line.startswith("rchar:"):
            return int(line.split()[1])
    raise RuntimeError("This system does not count the bytes that a process reads.")
