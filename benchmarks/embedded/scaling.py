"""Time and peak memory of LapERLSClassifier end to end, stage by stage, in a process of its own.

``python -m benchmarks.embedded.scaling POINTS`` is that process, POINTS a number of synthetic
points or ``mnist``; it prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.process import resident_bytes, run_alone
from lapwing.datasets import mask_labels

POINT_COUNTS = (10_000, 100_000, 1_000_000)
N_FEATURES, N_CLASSES, LABELS_A_CLASS = 64, 10, 10
STAGES = ("neighbours", "eigenpairs", "fit", "predict")


@dataclass(frozen=True)
class Use:
    """What one run took.

    Attributes
    ----------
    points : str
        'mnist' or a number.
    n_points : int
    seconds : dict
        By `STAGES`; the search includes its principal components, the fit landmarks and features.
    peak_bytes : int
        Largest resident size of the process, interpreter and points included.
    error : float
        Of the predictions, in %.
    recall : float
        Of the neighbours.
    """

    points: str
    n_points: int
    seconds: dict[str, float]
    peak_bytes: int
    error: float
    recall: float

    @property
    def total(self) -> float:
        return sum(self.seconds.values())


def measure_scaling(points: str) -> Use:
    """Run the measurement in a fresh process."""
    return Use(**run_alone("benchmarks.embedded.scaling", points))


def sheets(n: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Ten curved sheets of three dimensions in 64, with noise: a class each."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % N_CLASSES
    X = np.empty((n, N_FEATURES), dtype=np.float32)
    for c in range(N_CLASSES):
        rows = slice(c, None, N_CLASSES)
        t = rng.uniform(-1, 1, (len(y[rows]), 3))
        bent = np.hstack([t, np.cos(2 * t), np.sin(3 * t[:, :1] * t[:, 1:2])])
        frame = rng.standard_normal((bent.shape[1], N_FEATURES)) / 4
        X[rows] = bent @ frame + rng.standard_normal(N_FEATURES) / 4
        X[rows] += 0.05 * rng.standard_normal(X[rows].shape).astype(np.float32)
    return X, y


def run_here(points: str) -> Use:
    """The stages one after the other; the eigenpairs are handed to the fit by its cache."""
    import tempfile

    from benchmarks.shared.data import load_mnist
    from lapwing import AffinityGraph, KNNGraph, Landmarks, LapERLSClassifier
    from lapwing.graphs import Laplacian, smallest_eigenpairs

    if points == "mnist":
        data = load_mnist()
        X, y = data.X, data.y
        X /= np.float32(255)
        del data
        graph = KNNGraph(5, power=2, n_components=50)
    else:
        X, y = sheets(int(points))
        graph = KNNGraph(5, power=2, approximate=True)
    marked = _marked(y)
    clock = [time.perf_counter()]
    affinity = graph.affinity(X)
    clock.append(time.perf_counter())
    with tempfile.TemporaryDirectory() as folder:
        laplacian = Laplacian.from_affinity(affinity, power=2, dtype=X.dtype)
        smallest_eigenpairs(laplacian, 50, memory=folder)
        del laplacian
        clock.append(time.perf_counter())
        model = LapERLSClassifier(
            # The default beyond 10,000 points; the same for all sizes, so that times compare.
            space=Landmarks(1000),
            graph=AffinityGraph(affinity, power=2),
            memory=folder,
        )
        model.fit(X, marked)
    clock.append(time.perf_counter())
    predicted = model.predict(X)
    clock.append(time.perf_counter())
    left = marked < 0
    seconds: dict[str, Any] = dict(zip(STAGES, np.diff(clock).tolist(), strict=True))
    error = 100 * float(np.mean(predicted[left] != y[left]))
    peak = resident_bytes("VmHWM")
    return Use(points, len(y), seconds, peak, error, float(graph.recall_))


def _marked(y: NDArray[np.int64]) -> NDArray[np.int64]:
    rng = np.random.default_rng(0)
    labeled = [
        rng.choice(np.flatnonzero(y == c), LABELS_A_CLASS, replace=False) for c in range(N_CLASSES)
    ]
    return mask_labels(y, labeled_indices=np.concatenate(labeled))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(run_here(sys.argv[1]))) + "\n")
