"""Selection of rows to label, and time of updates.

The first table starts with one label per class and adds labels of five rows at a time, selected by
three rules: random rows, rows whose two largest decision values are closest, and `suggest`. It has
the mean over all numbers of labels of the error on the unlabelled points, and the last error. The
second table fits `S3VC` again for each five rows of `rows_to_label`, on sets with two classes. The
third starts without labels, and counts the classes among the first rows. The last table compares
the times of `add_labels` and of a fit.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.shared.data import FEW_LABEL_SETS, sampled
from benchmarks.shared.labels import UNLABELED, draw_covering
from benchmarks.shared.options import add_output_options
from benchmarks.shared.output import step, write_results
from benchmarks.shared.tables import Table
from lapwing import S3VC, LapERLSClassifier, LapRLSClassifier, LapSVC
from lapwing.datasets import mask_labels
from lapwing.model_selection import rows_to_label

MOST = 1500
BATCH = 5
FEW_CLASSES = 5
BUDGET_FEW, BUDGET_MANY = 40, 60  # labelled rows besides the initial ones
REFIT_BUDGET, REFIT_MOST = 20, 800  # labelled rows, and points, with repeated fits
RANDOM = 200  # draws of first rows
LIMIT = 0.1  # maximum seconds for one more label with 20,000 points

Rule = Callable[[LapRLSClassifier, Any, np.random.Generator], Any]


class RuleErrors(NamedTuple):
    """Errors of one rule on one set in percent, averaged over initial draws."""

    name: str
    rule: str
    mean: float
    last: float


REFIT_RULES = {
    "random": lambda X, y, model, rng: rng.choice(np.flatnonzero(y < 0), BATCH, replace=False),
    "graph only": lambda X, y, model, rng: rows_to_label(X, y, BATCH),
    "graph and model": lambda X, y, model, rng: rows_to_label(X, y, BATCH, model=model),
}


class ClassesSeen(NamedTuple):
    """Number of classes among the first rows of `rows_to_label`, and the mean for random rows."""

    name: str
    classes: int
    rows: int
    suggested: int
    random: float


class Update(NamedTuple):
    """Seconds of a fit and of one more label."""

    name: str
    n: int
    fit: float
    update: float


def by_chance(model: LapRLSClassifier, X: Any, rng: np.random.Generator) -> Any:
    """Select random unlabelled rows."""
    return rng.choice(np.flatnonzero(~model.labeled_), BATCH, replace=False)


def by_margin(model: LapRLSClassifier, X: Any, rng: np.random.Generator) -> Any:
    """Select the least confident unlabelled rows."""
    values = model.decision_function(X)
    if values.ndim == 1:
        margin = np.abs(values)
    else:
        largest = np.sort(values, axis=1)[:, -2:]
        margin = largest[:, 1] - largest[:, 0]
    return np.argsort(np.where(model.labeled_, np.inf, margin))[:BATCH]


def by_suggestion(model: LapRLSClassifier, X: Any, rng: np.random.Generator) -> Any:
    """Select rows by `suggest`."""
    return model.suggest(BATCH)


RULES: dict[str, Rule] = {
    "random": by_chance,
    "smallest margin": by_margin,
    "suggest": by_suggestion,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks labelling``."""
    add_output_options(parser, "two sets, two draws, fewer points")
    parser.add_argument(
        "--sets", nargs="*", default=None, help="data sets of all tables except the last"
    )
    parser.add_argument("--draws", type=int, default=5, help="draws of the first labels")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print the results; fail if suggestions are no better than chance, or slow."""
    sets = arguments.sets or (FEW_LABEL_SETS[:2] if arguments.quick else FEW_LABEL_SETS)
    draws = min(arguments.draws, 2) if arguments.quick else arguments.draws
    rule_errors: list[RuleErrors] = []
    refits: list[RuleErrors] = []
    classes_seen: list[ClassesSeen] = []
    for name in sets:
        with step(name):
            rule_errors += measure_rules(name, draws)
            classes_seen += measure_classes_seen(name)
            refits += measure_refits(name, draws)
    with step("updates"):
        updates = measure_updates(5000 if arguments.quick else 20_000)
    raw = {
        "rule_errors": [one._asdict() for one in rule_errors],
        "again": [one._asdict() for one in refits],
        "first": [first._asdict() for first in classes_seen],
        "updates": [update._asdict() for update in updates],
    }
    tables = [
        _rule_table(rule_errors),
        *([_refit_table(refits)] if refits else []),
        _classes_table(classes_seen),
        _update_table(updates),
    ]
    write_results(arguments.output, "labelling", tables, raw)
    means = {rule: _mean(rule_errors, rule) for rule in RULES}
    return 0 if means["suggest"] < means["random"] and updates[-1].update <= LIMIT else 1


def measure_rules(name: str, draws: int) -> list[RuleErrors]:
    """Run all rules on one set."""
    X, truth = sampled(name, MOST)
    return [
        _mean_errors(name, label, [errors_of_rule(X, truth, rule, draw) for draw in range(draws)])
        for label, rule in RULES.items()
    ]


def errors_of_rule(X: Any, truth: Any, rule: Rule, seed: int) -> list[float]:
    """Compute the errors on the unlabelled points after each batch."""
    rng = np.random.default_rng(seed)
    classes = np.unique(truth)
    budget = BUDGET_FEW if len(classes) < FEW_CLASSES else BUDGET_MANY
    first = draw_covering(np.arange(len(truth)), truth, len(classes), rng)
    y = mask_labels(truth, labeled_indices=first)
    errors = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as of components without a label
        model = LapRLSClassifier(updatable=True).fit(X, y)
        for _ in range(budget // BATCH):
            rows = rule(model, X, rng)
            model.add_labels(rows, truth[rows])
            open_rows = ~model.labeled_
            errors.append(float((model.transduction_ != truth)[open_rows].mean()))
    return errors


def measure_refits(name: str, draws: int) -> list[RuleErrors]:
    """Run all rules of `REFIT_RULES` on a set with two classes; return nothing for other sets."""
    X, truth = sampled(name, REFIT_MOST)
    if len(np.unique(truth)) > 2:
        return []
    kernel = "linear" if X.shape[1] > X.shape[0] else "rbf"
    return [
        _mean_errors(
            name, label, [refit_errors(X, truth, kernel, rule, draw) for draw in range(draws)]
        )
        for label, rule in REFIT_RULES.items()
    ]


def refit_errors(
    X: Any, truth: Any, kernel: str, rule: Callable[..., Any], seed: int
) -> list[float]:
    """Compute the errors of `S3VC` on the unlabelled points after each batch."""
    rng = np.random.default_rng(seed)
    first = draw_covering(np.arange(len(truth)), truth, 2, rng)
    y = mask_labels(truth, labeled_indices=first)
    errors = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as of a balance that few labels contradict
        model = S3VC(kernel).fit(X, y)
        for _ in range(REFIT_BUDGET // BATCH):
            rows = rule(X, y, model, rng)
            y[rows] = truth[rows]
            model = S3VC(kernel).fit(X, y)
            errors.append(float((model.transduction_ != truth)[y < 0].mean()))
    return errors


def measure_classes_seen(name: str) -> list[ClassesSeen]:
    """Count classes among as many rows as there are classes, and among twice as many."""
    X, truth = sampled(name, MOST)
    rng = np.random.default_rng(0)
    found = []
    for rows in np.array([1, 2]) * len(np.unique(truth)):
        drawn = [len(set(rng.choice(truth, rows, replace=False))) for _ in range(RANDOM)]
        suggested = len(set(truth[rows_to_label(X, k=int(rows))]))
        found.append(
            ClassesSeen(name, len(np.unique(truth)), int(rows), suggested, float(np.mean(drawn)))
        )
    return found


def measure_updates(n: int) -> list[Update]:
    """Time one more label after a fit, as the median of five; LapERLS for the largest size."""
    rng = np.random.default_rng(0)
    found = []
    for name, estimator, size in (
        ("LapRLSClassifier", LapRLSClassifier(updatable=True), n // 10),
        ("LapSVC", LapSVC(updatable=True), n // 10),
        ("LapERLSClassifier", LapERLSClassifier(updatable=True), n),
    ):
        truth = rng.integers(10, size=size)
        X = rng.standard_normal((10, 64))[truth] * 1.5 + rng.standard_normal((size, 64))
        y = np.where(np.arange(size) < 100, truth, UNLABELED)
        begun = time.perf_counter()
        estimator.fit(X, y)
        fit = time.perf_counter() - begun
        times = []
        for row in range(200, 205):
            begun = time.perf_counter()
            estimator.add_labels(row, truth[row])
            times.append(time.perf_counter() - begun)
        found.append(Update(name, size, fit, float(np.median(times))))
    return found


def _mean_errors(name: str, rule: str, errors: list[list[float]]) -> RuleErrors:
    """Average the errors after each batch over draws."""
    mean = np.mean(errors, axis=0)
    return RuleErrors(name, rule, 100 * float(mean.mean()), 100 * float(mean[-1]))


def _mean(rule_errors: list[RuleErrors], rule: str) -> float:
    return float(np.mean([one.mean for one in rule_errors if one.rule == rule]))


def _rule_table(rule_errors: list[RuleErrors]) -> Table:
    return _table_of_rules(
        "Mean error (%) on the unlabelled points while labels are added (error at the end)",
        rule_errors,
        list(RULES),
        f"Starting from one label per class, {BATCH} rows at a time: {BUDGET_FEW} rows, or "
        f"{BUDGET_MANY} with {FEW_CLASSES} classes or more. LapRLSClassifier().",
    )


def _refit_table(rule_errors: list[RuleErrors]) -> Table:
    return _table_of_rules(
        "The same for S3VC, fitted again for each batch of rows_to_label (error at the end)",
        rule_errors,
        list(REFIT_RULES),
        f"Starting from one label per class, {BATCH} rows at a time, {REFIT_BUDGET} in all; sets "
        f"with two classes, at most {REFIT_MOST} points.",
    )


def _table_of_rules(
    title: str, rule_errors: list[RuleErrors], rules: list[str], note: str
) -> Table:
    rows = []
    for name in dict.fromkeys(one.name for one in rule_errors):
        of_set = {one.rule: one for one in rule_errors if one.name == name}
        cells = (f"{of_set[rule].mean:.1f} ({of_set[rule].last:.1f})" for rule in rules)
        rows.append((name, *cells))
    rows.append(("mean", *(f"{_mean(rule_errors, rule):.1f}" for rule in rules)))
    return Table(title, ("set", *rules), rows, [note])


def _classes_table(classes_seen: list[ClassesSeen]) -> Table:
    rows = [
        (f.name, f"{f.classes}", f"{f.rows}", f"{f.suggested}", f"{f.random:.1f}")
        for f in classes_seen
    ]
    return Table(
        "Classes among the first suggested rows, before any label",
        ("set", "classes", "rows", "rows_to_label", "random"),
        rows,
    )


def _update_table(updates: list[Update]) -> Table:
    rows = [
        (u.name, f"{u.n}", f"{u.fit:.2f}", f"{u.update:.3f}", f"{u.fit / u.update:.0f}")
        for u in updates
    ]
    return Table(
        "One more label", ("estimator", "points", "fit (s)", "add_labels (s)", "ratio"), rows
    )
