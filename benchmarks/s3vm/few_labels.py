"""One and ten labels per class on the text set, for all estimators (not a table of a paper).

The README quotes it. Estimators have default parameters, so nothing is tuned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.svm import SVC

from benchmarks.s3vm.plan import Plan
from benchmarks.shared.data import SETS, Data
from benchmarks.shared.labels import UNLABELED, IndexArray, draw_per_class, error_rate
from benchmarks.shared.measuring import transductive_error
from benchmarks.shared.output import Results, step
from benchmarks.shared.stats import gathered
from benchmarks.shared.tables import Table
from lapwing import S3VC, KNNGraph, LapSVC
from lapwing.datasets import mask_labels

LABELS_PER_CLASS = (1, 10)
N_DRAWS = 30
SWAPPED = 50.0  # error in % above which the two classes are exchanged

SUPERVISED = "SVC(kernel='linear')"
METHODS: Mapping[str, Callable[[], BaseEstimator]] = {
    SUPERVISED: lambda: SVC(kernel="linear"),
    "LapSVC()": LapSVC,
    "LapSVC(graph=KNNGraph(metric='cosine'))": lambda: LapSVC(
        graph=KNNGraph(5, power=2, metric="cosine")
    ),
    "S3VC('linear')": lambda: S3VC("linear"),
}


def few_labels_part(plan: Plan) -> Results:
    """Compute errors on the unlabelled documents for many draws of labels."""
    data = plan.load("text", SETS["pcmac"])
    rows, raw = [], {}
    for per_class in LABELS_PER_CLASS:
        with step(f"Text, {per_class} labels per class"):
            draws = (draw_per_class(data.y, per_class, rng) for rng in plan.draws(N_DRAWS))
            errors = gathered(
                {name: error_of(make(), data, labeled) for name, make in METHODS.items()}
                for labeled in draws
            )
        rows += [[str(2 * per_class), *row(name, found)] for name, found in errors.items()]
        raw[str(per_class)] = errors
    title = "Text with one and with ten labels per class: errors (%) on U"
    header = ["labels", "estimator", "draws", "median", "best", "worst", "classes swapped"]
    note = (
        "Default parameters. Swapped: more than half of the predictions are wrong, which can "
        "happen with one label per class if a labelled point is atypical of its class."
    )
    return Results([Table(title, header, rows, [note])], raw=raw)


def error_of(estimator: Any, data: Data, labeled: IndexArray) -> float:
    """Compute the error on the unlabelled points; supervised estimators see the others only."""
    y = mask_labels(data.y, labeled_indices=labeled)
    if not isinstance(estimator, SVC):
        return transductive_error(estimator, data.X, y, data.y)[0]
    hidden = y == UNLABELED
    estimator.fit(data.X[labeled], y[labeled])
    return error_rate(data.y[hidden], estimator.predict(data.X[hidden]))


def row(name: str, errors: list[float]) -> list[str]:
    """Return a row of the table."""
    figures = (np.median(errors), np.min(errors), np.max(errors))
    swapped = sum(error > SWAPPED for error in errors)
    return [name, str(len(errors)), *(f"{figure:.1f}" for figure in figures), str(swapped)]
