"""Table II and Figure 2: six sets of 1500 points, twelve splits, ten labels.

Each setting of the paper's grid is fitted to each split. As in the paper, results are shown for the
setting with the least mean error on the unlabelled points, and also for settings that do not use
test labels: those with the least leave-one-out error for each split, and lapwing's defaults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.svm import SVC

from benchmarks.embedded.grid import (
    DEFAULT_N_EV,
    DEFAULTS,
    GRID,
    WEIGHT_VALUES,
    Tuning,
    left_out,
    paper_gamma,
)
from benchmarks.embedded.library import SOLVERS, Agreement
from benchmarks.embedded.prepared import Draw, Labels, Prepared, Recipe, prepare
from benchmarks.shared.data import Data
from benchmarks.shared.labels import error_rate
from benchmarks.shared.stats import Stat
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


def run_set(
    known: SmallSet, data: Data, n_splits: int | None = None, *, curves: bool = False
) -> SmallResult:
    """Run all methods on one set."""
    X, y, splits = data.X, data.y, data.splits[:n_splits]
    draws = [transductive_draw(y, labeled) for labeled in splits]
    graph = KNNGraph(known.n_neighbors, power=known.power)
    n_ev = max(known.n_ev, max(SMALL_N_EV) if curves else 0)
    points = prepare(data, Recipe(graph, n_ev, paper_gamma(X), None), draws)
    preset = prepare(data, Recipe(default_graph(X), DEFAULT_N_EV, scale_gamma(X), None), draws)
    errors: dict[str, list[float]] = _supervised(data, splits)
    chosen: dict[str, Tuning] = {}
    followed = _without_labels(points, known.n_ev)
    for method in SOLVERS:
        for answer, grid in points.grid_errors(method, y, GRID, known.n_ev).items():
            best = int(np.argmin(grid.mean(axis=0)))
            chosen[f"{method} {answer}"] = GRID[best]
            errors[f"{method} {answer} tuned"] = grid[:, best].tolist()
            picked = grid[np.arange(len(splits)), followed[answer]]
            errors[f"{method} {answer} left out"] = picked.tolist()
        fit = preset.fit(method, y, [DEFAULTS], DEFAULT_N_EV)
        for answer, row in preset.errors(y, fit).items():
            errors[f"{method} {answer} default"] = row
    drawn = {}
    for name, tuning in chosen.items() if curves else ():
        method, answer = name.split()
        fits = (points.fit(method, y, [tuning], k) for k in SMALL_N_EV)
        drawn[name] = [float(np.mean(points.errors(y, fit)[answer])) for fit in fits]
    agreement = {
        method: points.agreement(method, y, chosen[f"{method} f"], known.n_ev) for method in SOLVERS
    }
    return SmallResult(known.name, errors, chosen, drawn, agreement)


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
