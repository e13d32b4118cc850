"""Problems with class volumes, their dense matrices, and cuts."""

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


def dense(problem: VolumeProblem) -> np.ndarray:
    """W."""
    return np.asarray(problem.graph.affinity.toarray())


def cut_of(problem: VolumeProblem, codes: np.ndarray) -> float:
    """Weight of the edges between classes."""
    return float(dense(problem)[codes[:, None] != codes].sum() / 2)


def permuted(problem: VolumeProblem, rows: np.ndarray, columns: np.ndarray) -> VolumeProblem:
    """The same problem with points and classes in another order: the old index of each new one."""
    places, classes = np.argsort(rows), np.argsort(columns)
    labeled = {
        int(places[i]): int(classes[k]) for i, k in zip(problem.index, problem.codes, strict=True)
    }
    W = dense(problem)[np.ix_(rows, rows)]
    return graph_problem(W, labeled, problem.n_classes, problem.prior[columns], exact=problem.exact)


def dense_system(problem: VolumeProblem, s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """D + sL + a D_labelled, a D_labelled Y and the diagonal of D."""
    W = dense(problem).astype(np.float64)
    d = np.asarray(problem.graph.masses)
    held, pull = np.zeros(len(W)), np.zeros((len(W), problem.n_classes))
    for i, y, w in zip(problem.index, problem.labels, problem.weights, strict=True):
        held[i] = CLAMP * d[i] * w
        pull[i] = held[i] * y
    return np.diag(d + held) + s * (np.diag(W.sum(axis=1)) - W), pull, d
