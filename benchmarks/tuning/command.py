"""Selection of parameters: the cost of a 7 x 7 grid relative to a fit, and errors of default grids.

For the first table, estimators with selection of parameters are fitted to two classes, ten classes
(handwritten digits) and target values, with 7 values each of gamma_A and gamma_I (or lambda and
mu), alternately with plain estimators, and the medians are compared. The second table has the mean
errors on the unlabelled points with default parameters, with equal numbers of labels per class. The
third has the same for regression.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_diabetes, load_digits, make_friedman1, make_swiss_roll
from sklearn.metrics import root_mean_squared_error
from sklearn.preprocessing import StandardScaler

from benchmarks.shared.checks import Check
from benchmarks.shared.data import FEW_LABEL_SETS, sampled
from benchmarks.shared.labels import UNLABELED, with_labels
from benchmarks.shared.measuring import cpu_seconds, timed_fit, transductive_error
from benchmarks.shared.options import add_choice, add_number, add_output_options
from benchmarks.shared.output import Results, step
from benchmarks.shared.tables import Table
from lapwing import (
    KNNGraph,
    LapERLSClassifier,
    LapERLSClassifierCV,
    LapRLSClassifier,
    LapRLSClassifierCV,
    LapRLSRegressor,
    LapRLSRegressorCV,
    LapSVC,
    LapSVCCV,
)
from lapwing.datasets import mask_labels

TABLES = ("cost", "errors", "values")
COMPARED = (
    *(LapRLSClassifier, LapRLSClassifierCV, LapSVC, LapSVCCV),
    *(LapERLSClassifier, LapERLSClassifierCV),
)
REGRESSIONS = (LapRLSRegressor, LapRLSRegressorCV)
LIMIT = 12.0
MOST = 2000
DIGITS = 600


class Cost(NamedTuple):
    """Median processor times in seconds of a fit with selection and of a plain fit."""

    name: str
    problem: str
    path: float
    fit: float

    @property
    def ratio(self) -> float:
        """Ratio of the two times."""
        return self.path / self.fit


class Gain(NamedTuple):
    """Mean errors in % of plain estimators and of estimators with selection."""

    name: str
    labels: int
    errors: tuple[float, ...]  # of `COMPARED`, or of `REGRESSIONS`


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks tuning``."""
    add_output_options(parser, "only times, each measured once")
    add_choice(parser, "--tables", TABLES, "tables")
    add_number(parser, "--points", MOST, "number of points of the timed problem")
    add_number(parser, "--most", MOST, "maximum number of points of a set")
    parser.add_argument(
        "--sets", nargs="*", default=list(FEW_LABEL_SETS), help="data sets for the errors"
    )
    add_number(parser, "--draws", 5, "draws of labels")


def run(arguments: argparse.Namespace) -> Results:
    """Run the benchmark; the command fails if a selection costs more than the limit."""
    wanted = ["cost"] if arguments.quick else (arguments.tables or TABLES)
    costs: list[Cost] = []
    gains: list[Gain] = []
    values: list[Gain] = []
    if "cost" in wanted:
        with step("cost"):
            costs = measure_costs(arguments.points, rounds=1 if arguments.quick else 3)
    for name in arguments.sets if "errors" in wanted else []:
        with step(name):
            gains += measure_gains(name, arguments.most, arguments.draws)
    for name in VALUES if "values" in wanted else []:
        with step(name):
            values += measure_values(name, arguments.draws)
    raw = {
        "points": {"cost": arguments.points, "errors": arguments.most},
        "draws": arguments.draws,
        "costs": costs,
        "gains": gains,
        "values": values,
    }
    checks = [Check.at_most(f"{c.name}, {c.problem}", c.ratio, LIMIT, " fits", 1) for c in costs]
    tables = [
        _cost_table(costs),
        _gain_table("Error on the unlabelled points, %", gains, COMPARED),
        _gain_table(_OF_VALUES, values, REGRESSIONS),
    ]
    shown = [table for table in tables if table.rows]
    return Results(shown, checks, raw, passed=all(check.passed for check in checks))


def measure_costs(n: int, rounds: int) -> list[Cost]:
    """Measure the costs for two Gaussian classes in 20 dimensions, digits, and target values."""
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 2
    X = rng.standard_normal((n, 20)) + 1.5 * truth[:, None]
    y = np.where(np.arange(n) < 20, truth, UNLABELED)
    values = np.where(np.arange(n) < 100, X[:, 0] + X[:, 1] ** 2, np.nan)
    weights = np.logspace(-4, 2, 7)
    one: dict[str, Any] = {"gammas": ["scale"], "graphs": [KNNGraph()]}
    grid = one | {"gamma_As": weights, "gamma_Is": weights}
    embedded = one | {"lams": np.logspace(0, 6, 7), "mus": np.logspace(0, 6, 7)}
    pairs: list[tuple[Any, Any]] = [
        (LapRLSClassifierCV(**grid), LapRLSClassifier()),
        (LapSVCCV(**grid), LapSVC()),
        (LapERLSClassifierCV(**embedded), LapERLSClassifier()),
    ]
    problems = {f"2 classes, {n} points": (X, y), f"10 classes, {DIGITS} points": _digits()}
    tasks = [(name, *given, *pair) for name, given in problems.items() for pair in pairs]
    regression = LapRLSRegressorCV(**grid), LapRLSRegressor()
    tasks.append((f"values, {n} points", X, values, *regression))
    costs = []
    for name, points, labels, path, plain in tasks:
        times = [
            (cpu_seconds(path.fit, points, labels), cpu_seconds(plain.fit, points, labels))
            for _ in range(rounds)
        ]
        costs.append(Cost(type(path).__name__, name, *np.median(times, axis=0).tolist()))
    return costs


def _digits() -> tuple[Any, Any]:
    """Load handwritten digits with 10 labels per class."""
    X, truth = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(truth))[:DIGITS]
    X, truth = X[rows], truth[rows]
    labeled = np.concatenate([np.flatnonzero(truth == label)[:10] for label in range(10)])
    return X, mask_labels(truth, labeled_indices=labeled)


def measure_gains(name: str, most: int, draws: int) -> list[Gain]:
    """Measure errors on a set with 3 and 10 labels per class."""
    X, truth = sampled(name, most)
    gains = []
    for labels in (3, 10):
        drawn = (
            with_labels(truth, labels, np.random.default_rng(100 + draw)) for draw in range(draws)
        )
        errors = [[transductive_error(one(), X, y, truth)[0] for one in COMPARED] for y in drawn]
        gains.append(Gain(name, labels, tuple(np.mean(errors, axis=0).tolist())))
    return gains


def _diabetes() -> tuple[Any, Any]:
    X, y = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X), y


VALUES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "diabetes": _diabetes,
    "friedman": partial(make_friedman1, 1000, noise=0.5, random_state=0),
    "friedman, noise": partial(make_friedman1, 1000, noise=3.0, random_state=0),
    "swiss roll": partial(make_swiss_roll, 1000, noise=0.5, random_state=0),
}
_OF_VALUES = (
    "Root mean squared error on the unlabelled points, % of the standard deviation of the targets"
)


def measure_values(name: str, draws: int) -> list[Gain]:
    """Measure errors of a regression problem with 10, 30 and 100 labels."""
    X, truth = VALUES[name]()
    truth = (truth - truth.mean()) / truth.std()
    gains = []
    for labels in (10, 30, 100):
        errors = []
        for draw in range(draws):
            rows = np.random.default_rng(100 + draw).permutation(len(truth))[:labels]
            y = np.full(len(truth), np.nan)
            y[rows] = truth[rows]
            free = np.isnan(y)
            fits = (timed_fit(estimator(), X, y)[0] for estimator in REGRESSIONS)
            errors.append(
                [root_mean_squared_error(truth[free], fit.transduction_[free]) for fit in fits]
            )
        gains.append(Gain(name, labels, tuple((100 * np.mean(errors, axis=0)).tolist())))
    return gains


def _cost_table(costs: list[Cost]) -> Table:
    columns: dict[str, Callable[[Cost], str]] = {
        "estimator": lambda cost: cost.name,
        "problem": lambda cost: cost.problem,
        "s": lambda cost: f"{cost.path:.2f}",
        "one fit (s)": lambda cost: f"{cost.fit:.2f}",
        "ratio": lambda cost: f"{cost.ratio:.1f}",
    }
    note = "The time includes the last fit, with the selected setting."
    return Table.of(
        "A 7 x 7 grid with exact leave-one-out, processor seconds", costs, columns, [note]
    )


def _gain_table(title: str, gains: list[Gain], compared: tuple[Any, ...]) -> Table:
    rows = [(g.name, str(g.labels), *(f"{error:.1f}" for error in g.errors)) for g in gains]
    for labels in dict.fromkeys(gain.labels for gain in gains):
        some = [gain for gain in gains if gain.labels == labels]
        means = np.mean([gain.errors for gain in some], axis=0)
        rows.append(("mean", str(labels), *(f"{mean:.1f}" for mean in means)))
    what = "labels per class" if compared is COMPARED else "labels"
    return Table(title, ("set", what, *(f"{one.__name__}()" for one in compared)), rows)
