"""Two-moons example: the data of Figures 3 and 4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_moons

from benchmarks.lapsvm.descents import VALUES, classes_of, follow, lapsvm_objective, optimum
from benchmarks.lapsvm.paper import NormWeights
from benchmarks.shared.labels import error_rate
from lapwing import KNNGraph
from lapwing.kernels import make_kernel

SHOWN = (1, 4, 8, 25)

# The paper gives only the numbers of points and labels, 200 and two, not data and parameters.
N_POINTS, NOISE, GAMMA, N_NEIGHBORS = 200, 0.06, 5.0, 6
MOON_WEIGHTS = NormWeights(gamma_A=1e-2, gamma_I=1.0)


@dataclass(frozen=True)
class Moons:
    """Two moons and the iterations of LapSVC.

    Attributes
    ----------
    X : ndarray of shape (200, 2)
        Points, of which the first two are labelled, with the classes 0 and 1.
    y : ndarray of shape (200,)
    grid : (ndarray, ndarray)
        Coordinates along the axes of the grid for `maps`.
    maps : mapping of str to ndarray
        Decision values on the grid after some iterations, and at the optimum.
    values : mapping of str to ndarray of shape (n_iter,)
        Stopping values relative to those at the start.
    errors : ndarray of shape (n_iter,)
        Error rate in % on all points after iterations 1, 2, ...
    """

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    grid: tuple[NDArray[np.float64], NDArray[np.float64]]
    maps: Mapping[str, NDArray[np.float64]]
    values: Mapping[str, NDArray[np.float64]]
    errors: NDArray[np.float64]

    @property
    def settled(self) -> int:
        """Iteration after which the error does not change any more."""
        other = np.flatnonzero(self.errors != self.errors[-1])
        return int(other[-1]) + 2 if other.size else 1


def run_moons(n_iter: int = 50, seed: int = 0) -> Moons:
    """Fit two moons with two labels by PCG, and by Newton for the optimum."""
    X, y = _points(seed)
    kernel = make_kernel("rbf", X, gamma=GAMMA)
    affinity = KNNGraph(n_neighbors=N_NEIGHBORS).affinity(X)
    objective = lapsvm_objective(kernel.gram(X), affinity, 1, np.array([0, 1]), MOON_WEIGHTS)
    grid = tuple(np.linspace(X[:, j].min() - 0.5, X[:, j].max() + 0.5, 150) for j in range(2))
    mesh = np.stack(np.meshgrid(*grid), axis=-1).reshape(-1, 2)
    maps: dict[str, NDArray[np.float64]] = {}
    errors = []

    def evaluate(coef: Any) -> NDArray[np.float64]:
        return kernel.expand(mesh, X, coef).reshape(grid[1].size, grid[0].size)

    def look(number: int, values: NDArray[Any], coef: NDArray[Any]) -> None:
        errors.append(error_rate(y, classes_of(values)))
        if number in SHOWN:
            maps[f"{number} PCG iteration" + "s" * (number > 1)] = evaluate(coef)

    history = follow(objective, n_iter, look)
    maps["Optimal solution"] = evaluate(optimum(objective))
    series = {name: np.concatenate(history[name]) for name in VALUES}
    values = {name: row / row[0] for name, row in series.items()}
    return Moons(X, y, (grid[0], grid[1]), maps, values, np.array(errors))


def _points(seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw two moons, with one labelled point each, the nearest to the middle, in front."""
    X, y = make_moons(N_POINTS, noise=NOISE, random_state=seed)
    middles = np.array([[0.0, 1.0], [1.0, -0.5]])
    first = [
        int(np.argmin(np.where(y == c, np.linalg.norm(X - middles[c], axis=1), np.inf)))
        for c in range(2)
    ]
    order = np.concatenate([first, np.setdiff1d(np.arange(N_POINTS), first)])
    return X[order], y[order].astype(np.int64)
