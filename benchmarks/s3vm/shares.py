"""Equal numbers of labels from classes of equal and of unequal size (not a table of a paper).

Shows `balance='labels'` if the class proportions of the labels are wrong, and how often correct
ones are rejected.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.s3vm.plan import Plan
from benchmarks.shared.data import SETS, Data
from benchmarks.shared.labels import UNLABELED, draw_per_class, error_rate
from benchmarks.shared.output import Results, step
from benchmarks.shared.stats import Stat
from benchmarks.shared.tables import Table
from lapwing import S3VC, LapSVC
from lapwing.exceptions import BalanceWarning, LapwingWarning

LABELS_PER_CLASS = (4, 10, 25)
N_DRAWS = 8
SOURCES = {"ssl_usps": (SETS["usps"], "rbf"), "text": (SETS["pcmac"], "linear")}
NAMES = ("balance='labels'", "balance=0.5", "true proportions", "LapSVC()")


def shares_part(plan: Plan) -> Results:
    """Compute errors on U by balance, and how often the labels' proportions are rejected."""
    rows, raw = [], {}
    for name, (load, kernel) in SOURCES.items():
        data = plan.load(name, load)
        if data is None:
            continue
        share = float(np.mean(data.y == np.unique(data.y)[1]))
        for per_class in LABELS_PER_CLASS[-1:] if plan.quick else LABELS_PER_CLASS:
            with step(f"{name}, {per_class} labels per class"):
                found = [
                    draw_errors(plan, data, per_class, kernel, number)
                    for number in range(plan.n_splits(N_DRAWS))
                ]
            errors = np.array([one for one, _ in found])
            warned = sum(contradicted for _, contradicted in found)
            cells = [Stat.of(column.tolist()).show() for column in errors.T]
            rows.append([f"{name}, {100 * share:.0f} %", str(2 * per_class), str(len(found)),
                         *cells, str(warned)])  # fmt: skip
            raw[f"{name}, {per_class}"] = {"errors": errors.tolist(), "warned": warned}
    title = "Equal numbers of labels per class: errors (%) on U by the balance of S3VC"
    header = ["set, second class", "labels", "draws", *NAMES, "warnings"]
    note = (
        "Default parameters except for the balance; linear kernel on text. 'warnings': draws "
        "with a warning that the unlabelled rows contradict the class proportions of the labels; "
        "with fewer than ten labels per class these are used nevertheless."
    )
    return Results([Table(title, header, rows, [note])], raw=raw)


def draw_errors(
    plan: Plan, data: Data, per_class: int, kernel: str, number: int
) -> tuple[list[float], bool]:
    """Compute errors of a draw, in the order of `NAMES`, and whether a warning was given."""
    classes = np.unique(data.y).tolist()
    labeled = draw_per_class(data.y, per_class, np.random.default_rng([plan.seed, number]))
    rows = plan.thin(np.arange(len(data.y)), labeled)
    X, truth, seen = data.X[rows], data.y[rows], np.isin(rows, labeled)
    y = np.where(seen, truth, UNLABELED)
    share = float(np.mean(truth[~seen] == classes[1]))

    def error(estimator: Any) -> tuple[float, bool]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LapwingWarning)
            predicted = estimator.fit(X, y).transduction_[~seen]
        warned = any(issubclass(one.category, BalanceWarning) for one in caught)
        return error_rate(truth[~seen], predicted), warned

    free = error(S3VC(kernel, unlabeled=UNLABELED))
    held = error(S3VC(kernel, unlabeled=UNLABELED, balance=0.5))
    true = error(S3VC(kernel, unlabeled=UNLABELED, balance=share))
    graph = error(LapSVC(unlabeled=UNLABELED))
    return [one[0] for one in (free, held, true, graph)], free[1]
