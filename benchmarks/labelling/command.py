"""Selection of rows to label.

The first table starts with one label per class and adds labels of five rows at a time, selected by
three rules: random rows, rows whose two largest decision values are closest, and `suggest`. It has
the mean over all numbers of labels of the error on the unlabelled points, and the last error. The
second table fits `S3VC` again for each five rows of `rows_to_label`, on sets with two classes. The
third starts without labels, and counts the classes among the first rows. `refits` measures the time
of an update.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.shared.data import FEW_LABEL_SETS, sampled
from benchmarks.shared.labels import draw_covering
from benchmarks.shared.measuring import quiet
from benchmarks.shared.options import add_number, add_output_options
from benchmarks.shared.output import Results, step
from benchmarks.shared.tables import Table
from lapwing import S3VC, LapRLSClassifier
from lapwing.datasets import mask_labels
from lapwing.model_selection import rows_to_label

MOST = 1500
BATCH = 5
FEW_CLASSES = 5
BUDGET_FEW, BUDGET_MANY = 40, 60  # labelled rows besides the initial ones
REFIT_BUDGET, REFIT_MOST = 20, 800  # labelled rows, and points, with repeated fits
RANDOM = 200  # draws of first rows

Rule = Callable[[Any, Any, Any, np.random.Generator], Any]  # (X, y, model, rng) -> rows
Learner = Callable[[Any, Any, Any, Any], Any]  # (X, y, model or None, rows) -> model


class RuleErrors(NamedTuple):
    """Errors of one rule on one set in percent, averaged over initial draws."""

    name: str
    rule: str
    mean: float
    last: float


class ClassesSeen(NamedTuple):
    """Number of classes among the first rows of `rows_to_label`, and the mean for random rows."""

    name: str
    classes: int
    rows: int
    suggested: int
    random: float


def by_chance(X: Any, y: Any, model: Any, rng: np.random.Generator) -> Any:
    """Select random unlabelled rows."""
    return rng.choice(np.flatnonzero(y < 0), BATCH, replace=False)


def by_margin(X: Any, y: Any, model: Any, rng: np.random.Generator) -> Any:
    """Select the least confident unlabelled rows."""
    values = model.decision_function(X)
    if values.ndim == 1:
        margin = np.abs(values)
    else:
        largest = np.sort(values, axis=1)[:, -2:]
        margin = largest[:, 1] - largest[:, 0]
    return np.argsort(np.where(model.labeled_, np.inf, margin))[:BATCH]


RULES: dict[str, Rule] = {
    "random": by_chance,
    "smallest margin": by_margin,
    "suggest": lambda X, y, model, rng: model.suggest(BATCH),
}
REFIT_RULES: dict[str, Rule] = {
    "random": by_chance,
    "graph only": lambda X, y, model, rng: rows_to_label(X, y, BATCH),
    "graph and model": lambda X, y, model, rng: rows_to_label(X, y, BATCH, model=model),
}


def updated(X: Any, y: Any, model: Any, rows: Any) -> Any:
    """Fit LapRLS to the first labels, and update it for further ones."""
    if model is None:
        return LapRLSClassifier(updatable=True).fit(X, y)
    return model.add_labels(rows, y[rows])


def refitted(kernel: str, X: Any, y: Any, model: Any, rows: Any) -> Any:
    """Fit S3VC to all labels."""
    return S3VC(kernel).fit(X, y)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks labelling``."""
    add_output_options(parser, "two sets, two draws, fewer points")
    parser.add_argument("--sets", nargs="*", default=None, help="data sets")
    add_number(parser, "--draws", 5, "draws of the first labels")


def run(arguments: argparse.Namespace) -> Results:
    """Measure the rules; the command fails if suggestions are no better than chance."""
    sets = arguments.sets or (FEW_LABEL_SETS[:2] if arguments.quick else FEW_LABEL_SETS)
    draws = min(arguments.draws, 2) if arguments.quick else arguments.draws
    rule_errors: list[RuleErrors] = []
    refits: list[RuleErrors] = []
    classes_seen: list[ClassesSeen] = []
    for name in sets:
        with step(name):
            X, truth = sampled(name, MOST)
            n_classes = len(np.unique(truth))
            budget = BUDGET_FEW if n_classes < FEW_CLASSES else BUDGET_MANY
            rule_errors += measure_rules(name, X, truth, updated, RULES, budget, draws)
            classes_seen += measure_classes_seen(name, X, truth)
            if n_classes == 2:
                X, truth = sampled(name, REFIT_MOST)
                learner = partial(refitted, "linear" if X.shape[1] > X.shape[0] else "rbf")
                refits += measure_rules(name, X, truth, learner, REFIT_RULES, REFIT_BUDGET, draws)
    raw = {"rule_errors": rule_errors, "again": refits, "first": classes_seen}
    start = f"Starting from one label per class, {BATCH} rows at a time"
    tables = [
        _table_of_rules(
            "Mean error (%) on the unlabelled points while labels are added (error at the end)",
            rule_errors,
            RULES,
            f"{start}: {BUDGET_FEW} rows, or {BUDGET_MANY} with {FEW_CLASSES} classes or more. "
            "LapRLSClassifier().",
        ),
        _table_of_rules(
            "The same for S3VC, fitted again for each batch of rows_to_label (error at the end)",
            refits,
            REFIT_RULES,
            f"{start}, {REFIT_BUDGET} in all; sets with two classes, at most {REFIT_MOST} points.",
        ),
        Table(
            "Classes among the first suggested rows, before any label",
            ("set", "classes", "rows", "rows_to_label", "random"),
            [(*map(str, first[:-1]), f"{first.random:.1f}") for first in classes_seen],
        ),
    ]
    passed = _mean(rule_errors, "suggest") < _mean(rule_errors, "random")
    return Results([table for table in tables if len(table.rows) > 1], raw=raw, passed=passed)


def measure_rules(
    name: str,
    X: Any,
    truth: Any,
    learner: Learner,
    rules: Mapping[str, Rule],
    budget: int,
    draws: int,
) -> list[RuleErrors]:
    """Run all rules on one set, and average the errors after each batch over draws."""
    found = []
    for label, rule in rules.items():
        errors = [errors_of_rule(X, truth, learner, rule, budget, draw) for draw in range(draws)]
        mean = 100 * np.mean(errors, axis=0)
        found.append(RuleErrors(name, label, float(mean.mean()), float(mean[-1])))
    return found


def errors_of_rule(
    X: Any, truth: Any, learner: Learner, rule: Rule, budget: int, seed: int
) -> list[float]:
    """Compute the errors on the unlabelled points after each batch."""
    rng = np.random.default_rng(seed)
    first = draw_covering(np.arange(len(truth)), truth, len(np.unique(truth)), rng)
    y = mask_labels(truth, labeled_indices=first)
    errors = []
    with quiet():
        model = learner(X, y, None, first)
        for _ in range(budget // BATCH):
            rows = rule(X, y, model, rng)
            y[rows] = truth[rows]
            model = learner(X, y, model, rows)
            errors.append(float((model.transduction_ != truth)[y < 0].mean()))
    return errors


def measure_classes_seen(name: str, X: Any, truth: Any) -> list[ClassesSeen]:
    """Count classes among as many rows as there are classes, and among twice as many."""
    rng = np.random.default_rng(0)
    n_classes, found = len(np.unique(truth)), []
    for rows in (n_classes, 2 * n_classes):
        drawn = [len(set(rng.choice(truth, rows, replace=False))) for _ in range(RANDOM)]
        suggested = len(set(truth[rows_to_label(X, k=rows)]))
        found.append(ClassesSeen(name, n_classes, rows, suggested, float(np.mean(drawn))))
    return found


def _mean(rule_errors: list[RuleErrors], rule: str) -> float:
    return float(np.mean([one.mean for one in rule_errors if one.rule == rule]))


def _table_of_rules(
    title: str, rule_errors: list[RuleErrors], rules: Mapping[str, Rule], note: str
) -> Table:
    rows = []
    for name in dict.fromkeys(one.name for one in rule_errors):
        of_set = {one.rule: one for one in rule_errors if one.name == name}
        cells = (f"{of_set[rule].mean:.1f} ({of_set[rule].last:.1f})" for rule in rules)
        rows.append((name, *cells))
    if rows:
        rows.append(("mean", *(f"{_mean(rule_errors, rule):.1f}" for rule in rules)))
    return Table(title, ("set", *rules), rows, [note])
