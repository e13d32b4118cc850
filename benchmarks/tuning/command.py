"""Paths of parameters: the cost of a 7 x 7 grid in single fits, and errors of the default grids.

The first table fits `LapRLSClassifierCV` and `LapSVCCV` with 7 values of gamma_A and of gamma_I,
`LapERLSClassifierCV` with 7 of lambda and of mu, and plain estimators with one, alternating, and
compares the medians. The second has the mean errors on the unlabelled points of paths and plain
estimators with their default parameters, labels drawn in equal numbers.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.shared.labels import UNLABELED
from benchmarks.shared.output import RESULTS, step, write_results
from benchmarks.shared.sampled import SETS, sampled
from benchmarks.shared.tables import Table
from lapwing import (
    KNNGraph,
    LapERLSClassifier,
    LapERLSClassifierCV,
    LapRLSClassifier,
    LapRLSClassifierCV,
    LapSVC,
    LapSVCCV,
)

COMPARED = (LapRLSClassifier, LapRLSClassifierCV, LapERLSClassifier, LapERLSClassifierCV)
LIMIT = 12.0
MOST = 2000


class Cost(NamedTuple):
    """Seconds of a path and of a fit, medians."""

    name: str
    path: float
    fit: float

    @property
    def ratio(self) -> float:
        """The path in fits."""
        return self.path / self.fit


class Gain(NamedTuple):
    """Mean errors of plain estimators and of paths, in percent."""

    name: str
    labels: int
    errors: tuple[float, ...]  # of `COMPARED`


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of ``python -m benchmarks tuning``."""
    parser.add_argument("--quick", action="store_true", help="times alone, one of each")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for table and JSON")
    parser.add_argument("--points", type=int, default=MOST, help="points of the timed problem")
    parser.add_argument("--sets", nargs="*", default=list(SETS), help="sets of the errors")
    parser.add_argument("--draws", type=int, default=5, help="draws of labels")


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, and fail if a path costs more than its limit."""
    began, load = datetime.now(UTC).isoformat(timespec="seconds"), os.getloadavg()[0]
    with step("cost"):
        costs = measure_costs(arguments.points, rounds=1 if arguments.quick else 3)
    gains: list[Gain] = []
    for name in [] if arguments.quick else arguments.sets:
        with step(name):
            gains += measure_gains(name, arguments.draws)
    raw = {
        "date": began,
        "load": load,
        "costs": [cost._asdict() | {"ratio": cost.ratio} for cost in costs],
        "gains": [gain._asdict() for gain in gains],
    }
    arguments.output.mkdir(parents=True, exist_ok=True)
    write_results(arguments.output, "tuning", [_cost_table(costs), _gain_table(gains)], raw)
    return 0 if all(cost.ratio <= LIMIT for cost in costs) else 1


def measure_costs(n: int, rounds: int) -> list[Cost]:
    """Paths and fits on two Gaussian classes in 20 dimensions, 10 labels each."""
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 2
    X = rng.standard_normal((n, 20)) + 1.5 * truth[:, None]
    y = np.where(np.arange(n) < 20, truth, UNLABELED)
    weights = np.logspace(-4, 2, 7)
    one: dict[str, Any] = {"gammas": ["scale"], "graphs": [KNNGraph()]}
    grid = one | {"gamma_As": weights, "gamma_Is": weights}
    embedded = one | {"lams": np.logspace(0, 6, 7), "mus": np.logspace(0, 6, 7)}
    pairs = {
        "LapRLSClassifierCV": (LapRLSClassifierCV(**grid), LapRLSClassifier()),
        "LapSVCCV": (LapSVCCV(**grid), LapSVC()),
        "LapERLSClassifierCV": (LapERLSClassifierCV(**embedded), LapERLSClassifier()),
    }
    costs = []
    for name, (path, plain) in pairs.items():
        times: list[tuple[float, float]] = []
        for _ in range(rounds):
            times.append((_seconds(path.fit, X, y), _seconds(plain.fit, X, y)))
        of_path, of_fit = np.median(times, axis=0).tolist()
        costs.append(Cost(name, of_path, of_fit))
    return costs


def _seconds(fit: Callable[..., Any], X: Any, y: Any) -> float:
    begun = time.perf_counter()
    fit(X, y)
    return time.perf_counter() - begun


def measure_gains(name: str, draws: int) -> list[Gain]:
    """Errors of a set with 3 and 10 labels a class."""
    X, truth = sampled(name, MOST)
    gains = []
    for labels in (3, 10):
        errors = np.array([_errors(X, truth, labels, 100 + draw) for draw in range(draws)])
        gains.append(Gain(name, labels, tuple((100 * errors.mean(axis=0)).tolist())))
    return gains


def _errors(X: Any, truth: Any, labels: int, seed: int) -> list[float]:
    rng = np.random.default_rng(seed)
    drawn = [
        rng.choice(np.flatnonzero(truth == label), labels, replace=False)
        for label in np.unique(truth)
    ]
    y = np.full(len(truth), UNLABELED)
    y[np.concatenate(drawn)] = truth[np.concatenate(drawn)]
    errors = []
    for estimator in COMPARED:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of components without a label, say
            answers = estimator().fit(X, y).transduction_
        errors.append(float((answers != truth)[y == UNLABELED].mean()))
    return errors


def _cost_table(costs: list[Cost]) -> Table:
    rows = [(c.name, f"{c.path:.2f}", f"{c.fit:.2f}", f"{c.ratio:.1f}") for c in costs]
    return Table(
        "A 7 x 7 grid with exact leave-one-out",
        ("path", "s", "one fit, s", "fits"),
        rows,
        [f"Limit: {LIMIT:g} fits. The last fit, of the chosen setting, is part of the path."],
    )


def _gain_table(gains: list[Gain]) -> Table:
    rows = [(g.name, str(g.labels), *(f"{error:.1f}" for error in g.errors)) for g in gains]
    for labels in dict.fromkeys(gain.labels for gain in gains):
        some = [gain for gain in gains if gain.labels == labels]
        means = np.mean([gain.errors for gain in some], axis=0)
        rows.append(("mean", str(labels), *(f"{mean:.1f}" for mean in means)))
    return Table(
        "Error on the unlabelled points, %",
        ("set", "labels a class", *(f"{estimator.__name__}()" for estimator in COMPARED)),
        rows,
    )
