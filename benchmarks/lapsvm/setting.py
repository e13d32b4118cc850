"""Split of a problem with its kernel and graph, which are not part of training times."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.lapsvm.problems import Problem
from benchmarks.lapsvm.protocol import Split
from benchmarks.shared.data import Data
from benchmarks.shared.labels import UNLABELED
from benchmarks.shared.measuring import with_seconds
from lapwing import AffinityGraph, KNNGraph
from lapwing.kernels import make_kernel


@dataclass(frozen=True)
class Setting:
    """Split with everything that is not part of training times (footnote 5).

    Rows of `K` are the n = l + u training points, L first; rows of `K_new` are V and then T.

    Attributes
    ----------
    problem : Problem
    split : Split
    y : ndarray of shape (n_train + n_new,)
        True classes of L, U, V, T in this order.
    K : ndarray of shape (n, n)
    K_new : ndarray of shape (v + t, n)
    affinity : csr_array of shape (n, n)
        The symmetric neighbour graph.
    seconds : mapping of str to float
        Times of kernel and graph.
    """

    problem: Problem
    split: Split
    y: NDArray[np.int64]
    K: NDArray[Any]
    K_new: NDArray[Any]
    affinity: Any
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def graph(self) -> AffinityGraph:
        """Graph for `LapSVC` with a precomputed kernel."""
        return AffinityGraph(self.affinity, normalized=True, power=self.problem.power)

    @property
    def n_train(self) -> int:
        return int(self.K.shape[0])

    @property
    def n_labeled(self) -> int:
        return self.split.labeled.size

    @property
    def n_validation(self) -> int:
        return self.split.validation.size

    @property
    def y_train(self) -> NDArray[np.int64]:
        """Classes of L, and `UNLABELED` on U."""
        marked = np.full(self.n_train, UNLABELED, dtype=np.int64)
        marked[: self.n_labeled] = self.y[: self.n_labeled]
        return marked

    @property
    def validation_data(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Kernel rows and classes of V."""
        stop = self.n_train + self.n_validation
        return self.K_new[: self.n_validation], self.y[self.n_train : stop]

    def parts(self) -> dict[str, slice]:
        """Slices of L, U, V and T in `y`."""
        edges = np.cumsum([0, *self.split.sizes])
        return {name: slice(edges[i], edges[i + 1]) for i, name in enumerate("LUVT")}


def prepare_setting(problem: Problem, data: Data, split: Split) -> Setting:
    """Compute kernel and graph of a split, once for all methods."""
    X = data.X[split.train]
    start = time.perf_counter()
    kernel = make_kernel(X=X, **problem.kernel)
    K = kernel.gram(X)
    K_new = np.empty((split.held_out.size, K.shape[0]), dtype=K.dtype)
    for rows, block in kernel.cross_blocks(data.X[split.held_out], X):
        K_new[rows] = block
    kernel_seconds = time.perf_counter() - start
    graph = KNNGraph(n_neighbors=problem.n_neighbors, weights="heat")
    affinity, graph_seconds = with_seconds(graph.affinity, X)
    return Setting(
        problem,
        split,
        problem.targets(data)[np.concatenate([split.train, split.held_out])],
        K,
        K_new,
        affinity,
        {"kernel": kernel_seconds, "graph": graph_seconds},
    )
