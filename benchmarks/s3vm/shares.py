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
from benchmarks.shared.stats import Stat, gathered
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
    loads = {name: load for name, (load, _) in SOURCES.items() if plan.wants(name)}
    for name, data in plan.datasets.available(loads):
        share = float(np.mean(data.y == np.unique(data.y)[1]))
        for per_class in LABELS_PER_CLASS[-1:] if plan.quick else LABELS_PER_CLASS:
            with step(f"{name}, {per_class} labels per class"):
                found = [
                    draw_errors(plan, data, per_class, SOURCES[name][1], rng)
                    for rng in plan.draws(N_DRAWS)
                ]
            columns = gathered(errors for errors, _ in found)
            warned = sum(contradicted for _, contradicted in found)
            shown = [Stat.of(errors).show() for errors in columns.values()]
            set_shown = f"{name}, {100 * share:.0f} %"
            rows.append([set_shown, str(2 * per_class), str(len(found)), *shown, str(warned)])
            raw[f"{name}, {per_class}"] = {"errors": columns, "warned": warned}
    title = "Equal numbers of labels per class: errors (%) on U by the balance of S3VC"
    header = ["set, second class", "labels", "draws", *NAMES, "warnings"]
    note = (
        "Default parameters except for the balance; linear kernel on text. 'warnings': draws "
        "with a warning that the unlabelled rows contradict the class proportions of the labels; "
        "with fewer than ten labels per class these are used nevertheless."
    )
    return Results([Table(title, header, rows, [note])], raw=raw)


def draw_errors(
    plan: Plan, data: Data, per_class: int, kernel: str, rng: np.random.Generator
) -> tuple[dict[str, float], bool]:
    """Compute the errors of a draw by `NAMES`, and whether the labels' balance is contradicted."""
    labeled = draw_per_class(data.y, per_class, rng)
    rows = plan.thin(np.arange(len(data.y)), labeled)
    X, truth, seen = data.X[rows], data.y[rows], np.isin(rows, labeled)
    share = float(np.mean(truth[~seen] == np.unique(data.y)[1]))
    estimators: list[Any] = [
        *(S3VC(kernel, balance=balance) for balance in ("labels", 0.5, share)),
        LapSVC(),
    ]
    errors, warned = {}, []
    for name, estimator in zip(NAMES, estimators, strict=True):
        estimator.set_params(unlabeled=UNLABELED)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LapwingWarning)
            model = estimator.fit(X, np.where(seen, truth, UNLABELED))
        errors[name] = error_rate(truth[~seen], model.transduction_[~seen])
        warned.append(any(issubclass(one.category, BalanceWarning) for one in caught))
    return errors, warned[0]
