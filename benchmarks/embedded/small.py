"""Table II and Figure 2: six sets of 1500 points, twelve splits, ten labels.

Each setting of the paper's grid is fitted to each split. As in the paper, results are shown for the
setting with the least mean error on the unlabelled points, and also for settings that do not use
test labels: those with the least leave-one-out error for each split, and lapwing's defaults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from benchmarks.embedded.grid import (
    DEFAULT_N_EV,
    DEFAULTS,
    GRID,
    WEIGHT_VALUES,
    Embedding,
    GridSide,
    Tuning,
    full_embedding,
    left_out,
    paper_gamma,
)
from benchmarks.embedded.library import SOLVERS, Agreement, GridSolver, library_values
from benchmarks.shared.data import Data
from benchmarks.shared.labels import error_rate
from benchmarks.shared.stats import Stat
from lapwing import AffinityGraph, KNNGraph
from lapwing.datasets import mask_labels
from lapwing.graphs import Laplacian, default_graph, smallest_eigenpairs
from lapwing.kernels import make_kernel, scale_gamma

Array = NDArray[Any]
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


@dataclass(frozen=True)
class SmallResult:
    """Results of one set.

    Attributes
    ----------
    name : str
    errors : mapping of str to list of float
        Error (%) on the unlabelled points for each split, by 'method answer choice', such as
        'laperls f tuned'.
    chosen : mapping of str to Tuning
        Settings tuned on the test labels.
    curves : mapping of str to list of float
        Mean errors against the number of eigenvectors `SHOWN_N_EV`; empty without figures.
    agreement : mapping of str to Agreement
        Agreement of the grid with the library's estimators, on the first split at the tuned
        setting.
    """

    name: str
    errors: Mapping[str, list[float]]
    chosen: Mapping[str, Tuning]
    curves: Mapping[str, list[float]]
    agreement: Mapping[str, Agreement]

    def stat(self, key: str) -> Stat | None:
        return Stat.of(self.errors[key]) if key in self.errors else None


class SmallGround(NamedTuple):
    """Set, labelled rows of each split, and embedding of the points."""

    data: Data
    splits: Sequence[NDArray[np.int64]]
    embedding: Embedding
    affinity: Any

    def targets(self, labeled: Array) -> Array:
        return 2.0 * self.data.y[labeled, None] - 1

    def side(self, labeled: Array, tuning: Tuning, n_ev: int | None = None) -> GridSide:
        return self.embedding.side(labeled, self.targets(labeled), tuning, n_ev)

    def errors(self, values: Array, labeled: Array) -> Array:
        """Compute the error (%) of each column on the unlabelled points."""
        left = np.delete(np.arange(len(self.data.y)), labeled)
        wrong = (values[left] >= 0) != (self.data.y[left, None] == 1)
        return np.asarray(100 * wrong.mean(axis=0))


def run_set(
    known: SmallSet, data: Data, n_splits: int | None = None, *, curves: bool = False
) -> SmallResult:
    """Run all methods on one set."""
    splits = data.splits[:n_splits]
    graph = KNNGraph(known.n_neighbors, power=known.power)
    n_ev = max(known.n_ev, max(SMALL_N_EV) if curves else 0)
    points = prepare_small(data, splits, graph, paper_gamma(data.X), n_ev)
    preset = prepare_small(data, splits, default_graph(data.X), scale_gamma(data.X), DEFAULT_N_EV)
    errors: dict[str, list[float]] = _supervised(data, splits)
    chosen: dict[str, Tuning] = {}
    followed = _without_labels(points, known.n_ev)
    for method, solve in SOLVERS.items():
        grids = grid_errors(points, solve, known.n_ev)
        for answer, grid in grids.items():
            best = int(np.argmin(grid.mean(axis=0)))
            chosen[f"{method} {answer}"] = GRID[best]
            errors[f"{method} {answer} tuned"] = grid[:, best].tolist()
            picked = grid[np.arange(len(splits)), followed[answer]]
            errors[f"{method} {answer} left out"] = picked.tolist()
        for answer, row in _fixed(preset, solve, DEFAULTS, None).items():
            errors[f"{method} {answer} default"] = row
    drawn = {}
    if curves:
        for method, solve in SOLVERS.items():
            for answer in "fg":
                drawn[f"{method} {answer}"] = [
                    float(np.mean(_fixed(points, solve, chosen[f"{method} {answer}"], k)[answer]))
                    for k in SMALL_N_EV
                ]
    return SmallResult(known.name, errors, chosen, drawn, _agreement(points, known, chosen))


def prepare_small(
    data: Data, splits: Sequence[NDArray[np.int64]], graph: KNNGraph, gamma: float, n_ev: int
) -> SmallGround:
    """Compute kernel, graph and eigenpairs of a set."""
    affinity = graph.affinity(data.X)
    pairs = smallest_eigenpairs(Laplacian.from_affinity(affinity), n_ev)
    K = np.asarray(make_kernel("rbf", data.X, gamma=gamma).gram(data.X))
    return SmallGround(data, splits, full_embedding(K, pairs, graph.power), affinity)


def grid_errors(points: SmallGround, solve: GridSolver, n_ev: int) -> dict[str, Array]:
    """Compute errors of f and g for each split and setting, (n_splits, len(GRID))."""
    shape = (len(points.splits), len(GRID))
    found = {"f": np.empty(shape), "g": np.empty(shape)}
    for C in WEIGHT_VALUES:
        at = [number for number, tuning in enumerate(GRID) if tuning.C == C]
        sides = [points.side(rows, GRID[j], n_ev) for rows in points.splits for j in at]
        fit = solve(points.embedding, C, sides)
        answers = {"f": points.embedding.values(fit), "g": points.embedding.virtual(fit)}
        for answer, values in answers.items():
            for number, labeled in enumerate(points.splits):
                columns = slice(number * len(at), (number + 1) * len(at))
                found[answer][number, at] = points.errors(values[:, columns], labeled)
    return found


def _fixed(
    points: SmallGround, solve: GridSolver, tuning: Tuning, n_ev: int | None
) -> dict[str, list[float]]:
    """Compute errors of f and g for each split at one setting."""
    sides = [points.side(rows, tuning, n_ev) for rows in points.splits]
    fit = solve(points.embedding, tuning.C, sides)
    answers = {"f": points.embedding.values(fit), "g": points.embedding.virtual(fit)}
    return {
        answer: [
            float(points.errors(values[:, [j]], labeled)[0])
            for j, labeled in enumerate(points.splits)
        ]
        for answer, values in answers.items()
    }


def _without_labels(points: SmallGround, n_ev: int) -> dict[str, list[int]]:
    """Select the setting of least left-out error per split for f and g: by signs, then squares."""
    found: dict[str, list[int]] = {"f": [], "g": []}
    for labeled in points.splits:
        y = points.targets(labeled)
        scores = np.empty((len(GRID), 2))
        for j, tuning in enumerate(GRID):
            for k, values in enumerate(left_out(points.embedding, tuning, labeled, y, n_ev)):
                wrong = np.sum((values >= 0) != (y > 0))
                scores[j, k] = wrong + min(float(np.mean((values - y) ** 2)), 1e3) * 1e-4
        for k, answer in enumerate("fg"):
            found[answer].append(int(np.argmin(scores[:, k])))
    return found


def _supervised(data: Data, splits: Sequence[NDArray[np.int64]]) -> dict[str, list[float]]:
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


def _agreement(
    points: SmallGround, known: SmallSet, chosen: Mapping[str, Tuning]
) -> dict[str, Agreement]:
    """Compare the estimators with the grid on the first split, at the setting tuned for f."""
    labeled = points.splits[0]
    y = mask_labels(points.data.y, labeled_indices=labeled)
    found = {}
    for method in SOLVERS:
        tuning = chosen[f"{method} f"]
        graph = AffinityGraph(points.affinity, power=known.power)
        options = {"gamma": paper_gamma(points.data.X), "n_eigenvectors": known.n_ev, "space": None}
        theirs, _ = library_values(method, points.data.X, y, tuning, graph=graph, **options)
        sides = [points.side(labeled, tuning, known.n_ev)]
        ours = points.embedding.values(SOLVERS[method](points.embedding, tuning.C, sides))[:, 0]
        found[method] = Agreement.of(ours, theirs)
    return found
