"""Peak memory of LapSVC on the FACEMIT training part, for a separate process."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.lapsvm.paper import WEIGHTS
from benchmarks.lapsvm.problems import PROBLEMS
from benchmarks.shared.measuring import resident_bytes, timed_fit
from lapwing import KNNGraph, LapSVC
from lapwing.datasets import mask_labels


@dataclass(frozen=True)
class MemoryUse:
    """Resident memory of a fit.

    Attributes
    ----------
    n_points : int
    kernel_bytes : int
        Size of one float32 kernel matrix of these points.
    baseline_bytes : int
        Interpreter, libraries and data before the fit.
    peak_bytes : int
        Largest resident size of the process, including the baseline.
    n_iter : int
    seconds : float
        Time of the whole fit: graph, kernel and PCG.
    """

    n_points: int
    kernel_bytes: int
    baseline_bytes: int
    peak_bytes: int
    n_iter: int
    seconds: float

    @property
    def ratio(self) -> float:
        """Ratio of the peak of the process to the size of the kernel matrix."""
        return self.peak_bytes / self.kernel_bytes


def fit_facemit() -> MemoryUse:
    """Fit LapSVC by PCG to all points of the FACEMIT training part, with one label per class."""
    problem = PROBLEMS["facemit"]
    data = problem.load()
    assert data.is_test is not None
    X, classes = data.X[~data.is_test], data.y[~data.is_test]
    labeled = [int(np.flatnonzero(classes == value)[0]) for value in (0, 1)]
    y = mask_labels(classes, labeled_indices=labeled)
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
    _, seconds = timed_fit(model, X, y)
    n = X.shape[0]
    return MemoryUse(
        n, 4 * n * n, baseline, resident_bytes("VmHWM"), int(np.max(model.n_iter_)), seconds
    )
