"""Probabilities with 3 and 10 labels per class: calibration error, log loss, and confident rows.

The constants of lapwing.classes.probabilities were selected on six data sets; there are tables for
these and for other sets. At most 800 points of each set are used, and equal numbers of labels are
drawn from each class.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from benchmarks.calibration.measures import PRECISIONS, calibration_error, count_sure_rows, log_loss
from benchmarks.shared.data import SETS
from benchmarks.shared.labels import UNLABELED
from benchmarks.shared.options import add_choice, add_number, add_run_options
from benchmarks.shared.output import Results, step
from benchmarks.shared.tables import Table
from lapwing import (
    S3VC,
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    LapERLSClassifier,
    LapRLSClassifier,
    LapSVC,
)

N_POINTS = 800

CHOSEN_ON = ("g50c", "digit1", "coil2", "g241c", "text", "uspst")
OTHERS = ("pcmac", "usps", "g241d", "coil20", "mnist")
_QUICK = ("g50c", "text", "coil20")


class Task(NamedTuple):
    """Points, true classes, and known labels."""

    X: Any
    truth: NDArray[Any]
    y: NDArray[Any]


def _of_lapwing(estimator: Any, task: Task) -> tuple[NDArray[Any], Any]:
    model = estimator.fit(task.X, task.y)
    return model.transduction_proba_, model


def _of_labels(estimator: Any, task: Task) -> tuple[NDArray[Any], None]:
    known = task.y != UNLABELED
    return estimator.fit(task.X[known], task.y[known]).predict_proba(task.X), None


def _spread(task: Task) -> tuple[NDArray[Any], None]:
    points: Any = task.X
    X = points.toarray() if issparse(task.X) else points
    model = LabelSpreading(kernel="knn").fit(X, task.y)
    shares = model.predict_proba(X)  # 0 / 0 where no label arrives
    even = np.full_like(shares, 1 / shares.shape[1])
    return np.where(np.isfinite(shares).all(axis=1, keepdims=True), shares, even), None


def _methods(task: Task) -> dict[str, Callable[[], tuple[NDArray[Any], Any]]]:
    kernel = "linear" if issparse(task.X) else "rbf"
    calibrated = CalibratedClassifierCV(SVC(kernel=kernel), cv=3, ensemble=False)
    return {
        "LapSVC": partial(_of_lapwing, LapSVC(), task),
        "LapRLSClassifier": partial(_of_lapwing, LapRLSClassifier(), task),
        "LapERLSClassifier": partial(_of_lapwing, LapERLSClassifier(), task),
        "AnchorGraphClassifier": partial(_of_lapwing, AnchorGraphClassifier(), task),
        "EigenfunctionClassifier": partial(_of_lapwing, EigenfunctionClassifier(), task),
        "S3VC": partial(_of_lapwing, S3VC(kernel), task),
        "LogisticRegression": partial(_of_labels, LogisticRegression(max_iter=2000), task),
        "LabelSpreading (knn)": partial(_spread, task),
        "SVC, CalibratedClassifierCV": partial(_of_labels, calibrated, task),
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks calibration``."""
    add_run_options(parser, f"one draw of labels for each of {', '.join(_QUICK)}, and no S3VC")
    add_choice(parser, "--sets", (*CHOSEN_ON, *OTHERS), "sets")
    add_number(parser, "--draws", 3, "draws of labels per set")


def run(arguments: argparse.Namespace) -> Results:
    """Measure the probabilities of all methods on all sets."""
    measured: list[dict[str, Any]] = []
    for name in arguments.sets or (_QUICK if arguments.quick else (*CHOSEN_ON, *OTHERS)):
        with step(name):
            for n_labels, task in _tasks(name, arguments):
                measured += [
                    {"set": name, "labels": n_labels, **row} for row in _measure(task, arguments)
                ]
    return Results([*_tables(measured), _sure(measured)], raw={"rows": measured})


def _tasks(name: str, arguments: argparse.Namespace) -> Iterator[tuple[int, Task]]:
    data, random = SETS[name](), np.random.default_rng(arguments.seed)
    rows = random.permutation(data.X.shape[0])[:N_POINTS]
    X, truth = data.X[rows], data.y[rows]
    if name == "mnist":
        X = PCA(50, random_state=0).fit_transform(X)
    for n_labels in (3, 10):
        for _ in range(1 if arguments.quick else arguments.draws):
            y = np.full(len(truth), UNLABELED)
            for k in np.unique(truth):
                mine = random.permutation(np.flatnonzero(truth == k))[:n_labels]
                y[mine] = k
            yield n_labels, Task(X, truth, y)


def _measure(task: Task, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    free = task.y == UNLABELED
    for method, answer in _methods(task).items():
        if method == "S3VC" and (arguments.quick or len(np.unique(task.truth)) > 2):
            continue
        with warnings.catch_warnings(action="ignore"):
            shares, model = answer()
        codes = task.truth[free]
        yield {
            "method": method,
            "error": float(np.mean(shares[free].argmax(axis=1) != codes)),
            "calibration": calibration_error(shares[free], codes),
            "log_loss": log_loss(shares[free], codes),
            "sure": None if model is None else count_sure_rows(model, task.truth),
        }


def _tables(measured: list[dict[str, Any]]) -> Iterator[Table]:
    for title, sets in (
        ("Sets used to select the constants", CHOSEN_ON),
        ("Other sets", OTHERS),
    ):
        mine = [row for row in measured if row["set"] in sets]
        measured_sets = dict.fromkeys(row["set"] for row in mine)
        rows = [
            [
                method,
                str(n_labels),
                *(_mean(part, key) for key in ("error", "calibration", "log_loss")),
            ]
            for n_labels in (3, 10)
            for method in dict.fromkeys(row["method"] for row in mine)
            if (part := [r for r in mine if (r["method"], r["labels"]) == (method, n_labels)])
        ]
        yield Table(
            title,
            ["method", "labels per class", "error", "calibration error", "log loss"],
            rows,
            [
                f"Means over the unlabelled points of {', '.join(measured_sets)}.",
                "S3VC: sets with two classes only, so its row is not comparable with the others.",
            ],
        )


def _mean(rows: list[dict[str, Any]], key: str) -> str:
    return f"{np.mean([row[key] for row in rows]):.3f}"


def _sure(measured: list[dict[str, Any]]) -> Table:
    rows = []
    for n_labels in (3, 10):
        for precision in map(str, PRECISIONS):
            for method in ("LapSVC", "LapRLSClassifier"):
                counts = np.array(
                    [
                        row["sure"][precision]
                        for row in measured
                        if (row["method"], row["labels"]) == (method, n_labels)
                    ]
                )
                if not len(counts):
                    continue
                n, sure, right, expected = counts.sum(axis=0)
                shares = [f"{part / sure:.3f}" if sure else "" for part in (right, expected)]
                rows.append([method, str(n_labels), precision, f"{sure / n:.3f}", *shares])
    header = [
        *("method", "labels per class", "requested precision", "fraction of rows"),
        *("precision", "expected precision"),
    ]
    return Table("Confident rows (sure_rows), all sets", header, rows)
