"""Data sets with graph and embedding, and errors of the grid on draws of their labels.

All draws of a set use the same graph, eigenpairs and kernel coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.embedded.grid import (
    DEFAULTS,
    WEIGHT_VALUES,
    Embedding,
    GridFit,
    Tuning,
    full_embedding,
    landmark_embedding,
)
from benchmarks.embedded.library import SOLVERS, Agreement, library_values
from benchmarks.shared.data import Data
from lapwing import AffinityGraph, KNNGraph, Landmarks
from lapwing.datasets import mask_labels
from lapwing.graphs import Laplacian, smallest_eigenpairs
from lapwing.kernels import make_kernel

Array = NDArray[Any]
Labels = NDArray[np.int64]
# Number of principal components for the neighbour search, which takes a tenth of the time.
N_COMPONENTS = 50


class Draw(NamedTuple):
    """Rows of labelled points, of points to select parameters, and of points for the errors."""

    labeled: Labels
    validation: Labels
    unlabeled: Labels


class Recipe(NamedTuple):
    """Graph and function space."""

    graph: Any  # a recipe of the library
    n_ev: int
    gamma: float
    n_landmarks: int | None  # None is the full kernel


def search_graph(n_neighbors: int, X: Any, power: int = 1) -> KNNGraph:
    """Return the graph recipe for points with many features."""
    reduced = N_COMPONENTS if min(X.shape) > N_COMPONENTS else None
    return KNNGraph(n_neighbors, power=power, n_components=reduced)


@dataclass(frozen=True)
class Prepared:
    """Data set with everything that all draws share.

    The labels `y` of the methods are 0 and 1.

    Attributes
    ----------
    data : Data
    recipe : Recipe
    affinity : sparse
    embedding : Embedding
    draws : sequence of Draw
    """

    data: Data
    recipe: Recipe
    affinity: Any
    embedding: Embedding
    draws: Sequence[Draw]

    def fit(self, method: str, y: Labels, grid: Sequence[Tuning], n_ev: int) -> GridFit:
        """Fit all settings with one C to all draws, one column for each, draw by draw."""
        sides = [
            self.embedding.side(one.labeled, 2.0 * y[one.labeled, None] - 1, tuning, n_ev)
            for one in self.draws
            for tuning in grid
        ]
        return SOLVERS[method](self.embedding, grid[0].C, sides)

    def grid_errors(
        self, method: str, y: Labels, grid: Sequence[Tuning], n_ev: int
    ) -> dict[str, Array]:
        """Compute errors on the validation points, (n_draws, len(grid)) for f and g."""
        shape = (len(self.draws), len(grid))
        found = {"f": np.empty(shape), "g": np.empty(shape)}
        for C in WEIGHT_VALUES:
            at = [number for number, tuning in enumerate(grid) if tuning.C == C]
            if not at:
                continue
            fit = self.fit(method, y, [grid[j] for j in at], n_ev)
            for number, one in enumerate(self.draws):
                columns = slice(number * len(at), (number + 1) * len(at))
                part = GridFit(*(values[..., columns] for values in fit))
                truth = y[one.validation, None] == 1
                for answer, values in self._answers(part, one.validation).items():
                    found[answer][number, at] = 100 * np.mean((values >= 0) != truth, axis=0)
        return found

    def errors(self, y: Labels, fit: GridFit) -> dict[str, list[float]]:
        """Compute the error (%) of f and g on the unlabelled points of each draw."""
        found = {}
        for answer, values in self._answers(fit, slice(None)).items():
            wrong = (values >= 0) != (y[:, None] == 1)
            found[answer] = [
                100 * float(np.mean(wrong[one.unlabeled, j])) for j, one in enumerate(self.draws)
            ]
        return found

    def default_errors(self, method: str, y: Labels) -> dict[str, list[float]]:
        """Compute the errors with lapwing's defaults, by their keys in a result."""
        found = self.errors(y, self.fit(method, y, [DEFAULTS], self.recipe.n_ev))
        return {f"{method} {answer} default": row for answer, row in found.items()}

    def curve(self, key: str, y: Labels, tuning: Tuning, counts: Sequence[int]) -> list[float]:
        """Compute the mean errors of 'method answer' for numbers of eigenvectors."""
        method, answer = key.split()
        fits = (self.fit(method, y, [tuning], n_ev) for n_ev in counts)
        return [float(np.mean(self.errors(y, fit)[answer])) for fit in fits]

    def _answers(self, fit: GridFit, rows: Any) -> dict[str, Array]:
        return {"f": self.embedding.values(fit, rows), "g": self.embedding.virtual(fit, rows)}

    def library(self, method: str, y: Labels, tuning: Tuning, n_ev: int) -> tuple[Array, float]:
        """Return decision values and seconds of the library's estimator on the first draw."""
        r = self.recipe
        return library_values(
            method,
            self.data.X,
            mask_labels(y, labeled_indices=self.draws[0].labeled),
            tuning,
            gamma=r.gamma,
            n_eigenvectors=n_ev,
            graph=AffinityGraph(self.affinity, power=r.graph.power),
            space=None if r.n_landmarks is None else Landmarks(r.n_landmarks),
        )

    def agreement(self, method: str, y: Labels, tuning: Tuning, n_ev: int) -> Agreement:
        """Compare the library's estimator with the grid on the first draw."""
        theirs, _ = self.library(method, y, tuning, n_ev)
        fit = replace(self, draws=self.draws[:1]).fit(method, y, [tuning], n_ev)
        return Agreement.of(self.embedding.values(fit)[:, 0], theirs)


def prepare(data: Data, recipe: Recipe, draws: Sequence[Draw]) -> Prepared:
    """Compute graph, eigenpairs and coordinates of the kernel."""
    affinity, power = recipe.graph.affinity(data.X), recipe.graph.power
    laplacian = Laplacian.from_affinity(affinity, dtype=data.X.dtype)
    pairs = smallest_eigenpairs(laplacian, recipe.n_ev)
    kernel = make_kernel("rbf", data.X, gamma=recipe.gamma)
    if recipe.n_landmarks is None:
        embedding = full_embedding(np.asarray(kernel.gram(data.X)), pairs, power)
    else:
        embedding = landmark_embedding(kernel, data.X, pairs, power, recipe.n_landmarks)
    return Prepared(data, recipe, affinity, embedding, draws)
