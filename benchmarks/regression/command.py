"""Regression with few targets: errors by number of targets, and seconds.

Supervised methods are compared with those of lapwing, which use all rows, on the same rows and
targets. The sets are included in scikit-learn or generated, so that nothing is downloaded. Results
are stored in the output folder, and --resume continues a stopped run.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from benchmarks.regression.contenders import CONTENDERS, Contender, Predicted
from benchmarks.regression.sources import SOURCES, Array
from benchmarks.shared.known import (
    Answer,
    Outcome,
    Problem,
    compare_methods,
    error_table,
    mean_errors,
    timed,
)
from benchmarks.shared.options import add_choice, add_number, add_resume, add_run_options
from benchmarks.shared.output import Results, say
from benchmarks.shared.tables import Table

TARGETS, QUICK_TARGETS = (20, 40, 80), (40,)
DRAWS, QUICK_DRAWS = 10, 1
MOST, QUICK_MOST = 600, 300
QUICK_SETS = ("diabetes", "robot arm", "turned digits")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks regression``."""
    add_run_options(
        parser,
        f"one draw of {' and '.join(map(str, QUICK_TARGETS))} targets and {QUICK_MOST} rows of "
        + ", ".join(QUICK_SETS),
    )
    add_choice(parser, "--sets", SOURCES, "sets")
    add_choice(parser, "--methods", CONTENDERS, "methods")
    add_number(parser, "--draws", DRAWS, "draws of targets")
    add_number(parser, "--most", MOST, "maximum number of rows")
    add_resume(parser)


def run(arguments: argparse.Namespace) -> Results:
    """Run the benchmark."""
    asked = (arguments.draws, TARGETS, arguments.most)
    quick = (QUICK_DRAWS, QUICK_TARGETS, QUICK_MOST)
    n_draws, targets, most = quick if arguments.quick else asked
    draws = [(known, draw) for known in targets for draw in range(n_draws)]
    methods = {name: CONTENDERS[name] for name in arguments.methods or CONTENDERS}
    sets = arguments.sets or (QUICK_SETS if arguments.quick else SOURCES)
    problems = {name: partial(problem_of, name, most, methods) for name in sets}
    path = arguments.output / "regression" / f"{most} {arguments.seed}.jsonl"
    found = compare_methods(problems, draws, path, arguments)
    tables = [*(table_of(name, found) for name in sets), ratios(found), coverage(found)]
    return Results(tables, raw={"answers": found})


def problem_of(name: str, most: int, methods: Mapping[str, Contender]) -> Problem:
    """Load a set."""
    X, truth = SOURCES[name](most)
    say(f"{name}: {X.shape[0]} rows, {X.shape[1]} columns")
    return Problem(methods, partial(drawn, truth), partial(measured, X, truth))


def drawn(truth: Array, targets: int, rng: np.random.Generator) -> Array:
    """Draw targets of some rows; the others are NaN."""
    y = np.full(len(truth), np.nan)
    rows = rng.choice(len(truth), targets, replace=False)
    y[rows] = truth[rows]
    return y


def measured(X: Array, truth: Array, contender: Contender, y: Array) -> Outcome:
    """Measure root mean square error and intervals on the rows without a target, and seconds."""
    free, coverage = np.isnan(y), None

    def error(found: Predicted) -> float:
        nonlocal coverage
        if found.ends is not None:
            low, high = found.ends[free].T
            coverage = float(np.mean((low <= truth[free]) & (truth[free] <= high)))
        return float(np.sqrt(np.mean((found.numbers - truth)[free] ** 2)))

    return timed(lambda: contender.answer(X, y), error)._replace(coverage=coverage)


def table_of(name: str, found: Sequence[Answer]) -> Table:
    """Return the table of errors on a set by number of targets, and seconds of a fit."""
    mine = [answer for answer in found if answer.set == name]
    note = (
        "Root mean square error on the rows without a target, in standard deviations of the "
        "targets (predicting their mean gives about 1)."
    )
    return error_table(f"{name}: errors by number of targets", mine, "targets", 3, note)


def ratios(found: Sequence[Answer]) -> Table:
    """Return the table of errors of semi-supervised methods, relative to the best supervised."""
    methods = dict.fromkeys(answer.method for answer in found)
    seeing = [method for method in methods if not CONTENDERS[method].alone]
    rows = []
    for name, count in dict.fromkeys((answer.set, answer.known) for answer in found):
        means = mean_errors(a for a in found if (a.set, a.known) == (name, count))
        alone = [method for method in means if method not in seeing]
        least = min(alone, key=means.__getitem__, default="")
        cells = [
            f"{means[method] / means[least]:.2f}" if least and method in means else "-"
            for method in seeing
        ]
        shown = f"{least} {means[least]:.3f}" if least else "-"
        rows.append([name, str(count), shown, *cells])
    header = ["set", "targets", "best supervised method", *seeing]
    notes = [
        "Mean error divided by that of the best supervised method, which is known only in "
        "hindsight: below 1 is better than all of them. Only methods that succeeded on every "
        "draw."
    ]
    return Table("Errors relative to the best supervised method", header, rows, notes)


def coverage(found: Sequence[Answer]) -> Table:
    """Return the table of fractions of true values within 90 % intervals, and their means."""
    pairs = [(answer, answer.coverage) for answer in found if answer.coverage is not None]
    methods = list(dict.fromkeys(answer.method for answer, _ in pairs))
    cells: dict[tuple[str, int, str], list[float]] = {}
    for answer, coverage in pairs:
        cells.setdefault((answer.set, answer.known, answer.method), []).append(100 * coverage)
    means = {key: float(np.mean(shares)) for key, shares in cells.items()}
    rows = [
        [name, str(count), *(_percent(means.get((name, count, method))) for method in methods)]
        for name, count in dict.fromkeys((answer.set, answer.known) for answer, _ in pairs)
    ]
    of_each = [[mean for key, mean in means.items() if key[2] == method] for method in methods]
    rows.append(["all", "", *(f"{np.mean(each):.1f}" for each in of_each)])
    rows.append(["minimum", "", *(f"{min(each):.1f}" for each in of_each)])
    notes = ["Percentage of the true values of rows without a target within `predict_interval(X)`."]
    return Table("Coverage of 90 % intervals", ["set", "targets", *methods], rows, notes)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
