"""Table II and Figure 2: six sets of 1500 points, twelve splits, ten labels.

Each setting of the paper's grid is fitted to each split. As in the paper, results are shown for the
setting with the least mean error on the unlabelled points, and also for settings that do not use
test labels: those with the least leave-one-out error for each split, and lapwing's defaults.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.svm import SVC

from benchmarks.embedded.grid import (
    DEFAULT_N_EV,
    GRID,
    WEIGHT_VALUES,
    left_out,
    paper_gamma,
)
from benchmarks.embedded.library import SOLVERS
from benchmarks.embedded.prepared import Draw, Labels, Prepared, Recipe, prepare
from benchmarks.embedded.results import SetResult
from benchmarks.shared.data import Data
from benchmarks.shared.labels import error_rate
from lapwing import KNNGraph
from lapwing.graphs import default_graph
from lapwing.kernels import scale_gamma

SMALL_N_EV = (1, 2, 4, 8, 16, 32, 64, 100, 200, 400, 1000)  # Figure 2


class SmallSet(NamedTuple):
    """Set of Table I with its number of eigenvectors (Section V-B)."""

    name: str
    title: str
    n_neighbors: int
    power: int
    n_ev: int


SMALL_SETS: dict[str, SmallSet] = {
    row.name: row
    for row in (
        SmallSet("g241c", "g241c", 5, 2, 2),
        SmallSet("g241d", "g241d", 5, 2, 8),
        SmallSet("digit1", "Digit1", 5, 2, 100),
        SmallSet("usps", "USPS", 5, 2, 100),
        SmallSet("coil2", "COIL2", 5, 2, 100),
        SmallSet("text", "Text", 50, 5, 100),
    )
}


def run_set(
    known: SmallSet, data: Data, n_splits: int | None = None, *, curves: bool = False
) -> SetResult:
    """Run all methods on one set."""
    X, y, splits = data.X, data.y, data.splits[:n_splits]
    draws = [transductive_draw(y, labeled) for labeled in splits]
    graph = KNNGraph(known.n_neighbors, power=known.power)
    n_ev = max(known.n_ev, max(SMALL_N_EV) if curves else 0)
    points = prepare(data, Recipe(graph, n_ev, paper_gamma(X), None), draws)
    preset = prepare(data, Recipe(default_graph(X), DEFAULT_N_EV, scale_gamma(X), None), draws)
    result = SetResult(known.name, known.title, _supervised(data, splits))
    followed = _without_labels(points, known.n_ev)
    for method in SOLVERS:
        for answer, grid in points.grid_errors(method, y, GRID, known.n_ev).items():
            key, best = f"{method} {answer}", int(np.argmin(grid.mean(axis=0)))
            result.chosen[key] = GRID[best]
            result.errors[f"{key} tuned"] = grid[:, best].tolist()
            picked = grid[np.arange(len(splits)), followed[answer]]
            result.errors[f"{key} left out"] = picked.tolist()
            if curves:
                result.curves[key] = points.curve(key, y, GRID[best], SMALL_N_EV)
        result.errors.update(preset.default_errors(method, y))
        tuned = result.chosen[f"{method} f"]
        result.agreement[method] = points.agreement(method, y, tuned, known.n_ev)
    return result


def transductive_draw(y: Labels, labeled: Labels) -> Draw:
    """Return a draw whose parameters are tuned on the unlabelled points, as in the paper."""
    rest = np.delete(np.arange(len(y)), labeled)
    return Draw(labeled, rest, rest)


def _without_labels(points: Prepared, n_ev: int) -> dict[str, list[int]]:
    """Select the setting of least left-out error per split for f and g: by signs, then squares."""
    found: dict[str, list[int]] = {"f": [], "g": []}
    for labeled, *_ in points.draws:
        y = 2.0 * points.data.y[labeled, None] - 1
        scores = np.empty((len(GRID), 2))
        for j, tuning in enumerate(GRID):
            for k, values in enumerate(left_out(points.embedding, tuning, labeled, y, n_ev)):
                wrong = np.sum((values >= 0) != (y > 0))
                scores[j, k] = wrong + min(float(np.mean((values - y) ** 2)), 1e3) * 1e-4
        for k, answer in enumerate("fg"):
            found[answer].append(int(np.argmin(scores[:, k])))
    return found


def _supervised(data: Data, splits: Sequence[Labels]) -> dict[str, list[float]]:
    """Fit SVMs to the labels, with C tuned on the test labels as in the paper."""
    found = {}
    for name, kernel in (("svm_linear", "linear"), ("svm", "rbf")):
        rates = np.empty((len(splits), len(WEIGHT_VALUES)))
        for i, labeled in enumerate(splits):
            left = np.delete(np.arange(len(data.y)), labeled)
            for j, C in enumerate(WEIGHT_VALUES):
                model = SVC(C=C, kernel=kernel, gamma=paper_gamma(data.X))
                model.fit(data.X[labeled], data.y[labeled])
                rates[i, j] = error_rate(data.y[left], model.predict(data.X[left]))
        found[name] = rates[:, int(np.argmin(rates.mean(axis=0)))].tolist()
    return found
