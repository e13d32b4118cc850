"""Problems with class volumes, and their dense matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from lapwing.graphs import KNNGraph, Laplacian
from lapwing.graphs.diffusion import Diffusion
from lapwing.objectives.volumes import CLAMP, VolumeProblem


def graph_problem(
    W: Any,
    labeled: dict[int, int],
    n_classes: int,
    prior: Any = None,
    *,
    exact: bool = False,
    dtype: Any = np.float64,
) -> VolumeProblem:
    """A problem on a given affinity; labels by point."""
    graph = Diffusion.of(Laplacian.from_affinity(W, dtype=dtype))
    parts = np.full(n_classes, 1 / n_classes) if prior is None else np.asarray(prior, float)
    return VolumeProblem(
        graph,
        np.array(list(labeled), dtype=np.intp),
        np.eye(n_classes)[list(labeled.values())],
        np.ones(len(labeled)),
        parts,
        exact,
        np.ones(graph.n_points),
    )


def blob_problem(
    sizes: tuple[int, ...] = (40, 40, 40),
    *,
    seed: int = 0,
    gap: float = 5.0,
    labels: int = 1,
    prior: Any = None,
    exact: bool = False,
    dtype: Any = np.float64,
) -> tuple[VolumeProblem, np.ndarray]:
    """Gaussian blobs on a circle, the first points of each labelled, and all classes."""
    rng = np.random.default_rng(seed)
    angles = 2 * np.pi * np.arange(len(sizes)) / len(sizes)
    centres = gap / 2 * np.column_stack([np.cos(angles), np.sin(angles)]) / np.sin(np.pi / 3)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    X = centres[codes] + rng.standard_normal((len(codes), 2))
    W = KNNGraph(8, weights="self-tuning").affinity(X)
    first = np.concatenate([np.flatnonzero(codes == k)[:labels] for k in range(len(sizes))])
    labeled = {int(i): int(codes[i]) for i in first}
    return graph_problem(W, labeled, len(sizes), prior, exact=exact, dtype=dtype), codes


def dense_system(problem: VolumeProblem, s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """D + sL + a D_labelled, a D_labelled Y and the diagonal of D."""
    W = problem.graph.affinity.toarray().astype(np.float64)  # type: ignore[attr-defined]
    d = np.asarray(problem.graph.masses)
    held, pull = np.zeros(len(W)), np.zeros((len(W), problem.n_classes))
    for i, y, w in zip(problem.index, problem.labels, problem.weights, strict=True):
        held[i] = CLAMP * d[i] * w
        pull[i] = held[i] * y
    return np.diag(d + held) + s * (np.diag(W.sum(axis=1)) - W), pull, d
