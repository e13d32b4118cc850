"""Peak memory of LapSVC on the FACEMIT training part, measured in a process of its own.

``python -m benchmarks.shared.memory`` is that process; it prints one line of JSON.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class MemoryUse:
    """Resident memory of a fit.

    Attributes
    ----------
    n_points : int
    kernel_bytes : int
        Size of one float32 kernel matrix of these points.
    baseline_bytes : int
        Interpreter, libraries and data, before the fit.
    peak_bytes : int
        Largest resident size of the process, baseline included.
    n_iter : int
    seconds : float
        Of the whole fit: graph, kernel and PCG.
    """

    n_points: int
    kernel_bytes: int
    baseline_bytes: int
    peak_bytes: int
    n_iter: int
    seconds: float

    @property
    def ratio(self) -> float:
        """Peak of the whole process over the bytes of the kernel matrix."""
        return self.peak_bytes / self.kernel_bytes


def resident_bytes(entry: str) -> int:
    """``VmRSS`` (now) or ``VmHWM`` (peak) of this process; the peak only, where there is no /proc.

    The kernel's own peak is preferred over `getrusage`, whose figure a child inherits from the
    process that started it: a parent that holds a large matrix would be charged to the child.
    """
    if STATUS.is_file():
        for line in STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith(entry + ":"):
                return 1024 * int(line.split()[1])
    scale = 1 if sys.platform == "darwin" else 1024
    return scale * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure() -> MemoryUse:
    """Run the measurement in a fresh process."""
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.shared.memory"],
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode != 0:
        raise RuntimeError(f"The memory measurement failed:\n{run.stderr}")
    return MemoryUse(**json.loads(run.stdout))


def fit_facemit() -> MemoryUse:
    """Fit LapSVC by PCG to all points of the FACEMIT training part, one label a class."""
    import time

    from benchmarks.lapsvm.paper import WEIGHTS
    from benchmarks.shared.problems import PROBLEMS, UNLABELED
    from lapwing import KNNGraph, LapSVC
    from lapwing.exceptions import LapwingWarning

    problem = PROBLEMS["facemit"]
    data = problem.load()
    assert data.is_test is not None
    X, y = data.X[~data.is_test], np.full(int((~data.is_test).sum()), UNLABELED)
    for value in (0, 1):
        y[np.flatnonzero(data.y[~data.is_test] == value)[0]] = value
    del data
    weights = WEIGHTS["facemit"]["stability"]
    model = LapSVC(
        problem.kernel["kernel"],
        gamma=problem.kernel["gamma"],
        gamma_A=weights.gamma_A,
        gamma_I=weights.gamma_I,
        graph=KNNGraph(n_neighbors=problem.n_neighbors, power=problem.power),
        solver="pcg",
        stopping="stability",
    )
    baseline = resident_bytes("VmRSS")
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LapwingWarning)
        model.fit(X, y)
    seconds = time.perf_counter() - start
    n = X.shape[0]
    return MemoryUse(
        n, 4 * n * n, baseline, resident_bytes("VmHWM"), int(np.max(model.n_iter_)), seconds
    )


if __name__ == "__main__":
    use = fit_facemit()
    sys.stdout.write(json.dumps(use.__dict__) + "\n")
