"""Choice of a method with few labels: errors of the choice of `compare`, and of its estimates.

Prints the errors of the families, of the choice and of the best family of each set in hindsight;
estimated and true errors; and refitted constants of `lapwing.model_selection.evidence`. Constants
for a set are fitted to sets of other origin. The evidence of each draw is stored in the output
folder, so that a stopped run can continue, and rules can be studied. Draws in the folder with
another ``--size`` are used for the constants as well: run 600 points first.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np

from benchmarks.choosing.problems import DRAWINGS, LABELS_PER_CLASS, SOURCES
from benchmarks.choosing.records import Record, gather, of_other_sizes
from benchmarks.choosing.rules import (
    Outcome,
    family,
    fitted,
    larger_of_both,
    mean_over_sets,
    outcomes,
)
from benchmarks.shared.guide import Datasets
from benchmarks.shared.options import add_choice, add_number, add_run_options
from benchmarks.shared.output import Results
from benchmarks.shared.tables import Table
from lapwing.model_selection.evidence import CONSTANTS

_QUICK_SETS = ("g50c", "digit1")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks choosing``."""
    add_run_options(parser, "two sets, one draw, 200 points: within a minute")
    add_choice(parser, "--sets", SOURCES, "data")
    add_number(parser, "--draws", 10, "draws of labels")
    add_number(
        parser,
        "--first-draw",
        0,
        "first draw; rules are selected on draws below 100, and tested on draws from 100 on",
    )
    add_number(parser, "--size", 2000, "maximum number of points")


def run(arguments: argparse.Namespace) -> Results | int:
    """Run the benchmark; return 1 if there was nothing to measure."""
    kept = arguments.output / "choosing"
    n_draws, size = (1, 200) if arguments.quick else (arguments.draws, arguments.size)
    drawn = {"n_draws": n_draws, "first": arguments.first_draw, "seed": arguments.seed}
    datasets = Datasets()
    sources = arguments.sets or (_QUICK_SETS if arguments.quick else SOURCES)
    loads = {source: partial(gather, source, kept, size=size, **drawn) for source in sources}
    records = [record for _, found in datasets.available(loads) for record in found]
    datasets.report_missing()
    if not records:
        return 1
    more = of_other_sizes(kept, size)
    found = outcomes(records, more)
    constants = fitted([*records, *more])
    tables = [errors(records, found), estimates(found), against_supervised(found)]
    tables.append(
        Table(
            "Constants of the estimate",
            ["", *constants._fields],
            [
                ["fitted to these draws", *(f"{value:.2f}" for value in constants)],
                ["in the library", *(f"{value:.2f}" for value in CONSTANTS)],
            ],
            ["`seen` is not fitted."]
            + [f"{len(more)} draws of other numbers of points took part."] * bool(more),
        )
    )
    raw = {
        "size": size,
        "draws": dict(Counter(record.task.source for record in records)),
        "outcomes": found,
        "constants": constants,
        "records": records,
    }
    return Results(tables, raw=raw)


def cells(records: Sequence[Record]) -> list[tuple[int, str, list[int]]]:
    """Return the number of labels per class, the kind of draw, and the indices of such records."""
    found = []
    for per_class in LABELS_PER_CLASS:
        for drawing in DRAWINGS:
            places = [
                i
                for i, record in enumerate(records)
                if (record.task.per_class, record.task.drawing) == (per_class, drawing)
            ]
            if places:
                found.append((per_class, drawing, places))
    return found


def errors(records: Sequence[Record], found: Sequence[Outcome]) -> Table:
    """Return the table of errors of each candidate and each rule."""
    records = _in_order_of(records, found)
    names = list(dict.fromkeys(family(row) for record in records for row in record.rows))
    rows = []
    for per_class, drawing, places in cells(records):
        tasks = [records[i].task for i in places]
        of_family = [[_error_of(records[i], name) for i in places] for name in names]
        rules = [
            [larger_of_both(records[i]).error for i in places],
            [found[i].error for i in places],
            _hindsight([records[i] for i in places], names),
        ]
        means = [mean_over_sets(values, tasks) for values in (*of_family, *rules)]
        shown = ["-" if np.isnan(mean) else f"{100 * mean:.1f}" for mean in means]
        rows.append([f"{per_class}, {drawing}", *shown])
    rules_shown = ["larger of both", "compare", "best in hindsight"]
    header = ["labels per class", *names, *rules_shown]
    notes = [
        "'best in hindsight': the candidate with the smallest mean error on each set. Sparse sets "
        "have linear kernels. '-': not run on every set.",
    ]
    return Table("Errors (%) on the unlabelled points, mean over the sets", header, rows, notes)


def estimates(found: Sequence[Outcome]) -> Table:
    """Return the table of estimated and true errors."""
    rows = []
    for per_class in LABELS_PER_CLASS:
        for drawing in (*DRAWINGS, "both"):
            some = [
                o
                for o in found
                if o.task.per_class == per_class and drawing in (o.task.drawing, "both")
            ]
            if some and not (per_class == 1 and drawing != "equal"):
                rows.append([f"{per_class}, {drawing}", *_judged(some)])
    header = ["labels per class", "draws", "estimated", "true error"]
    header += ["coverage (%)", "interval width"]
    return Table("Estimated and true error (%) of the selected method", header, rows)


def against_supervised(found: Sequence[Outcome]) -> Table:
    """Return the table of sets on which the choice is worst compared with supervised learning."""
    rows = []
    for per_class in LABELS_PER_CLASS:
        some = [o for o in found if o.task.per_class == per_class]
        sets = sorted({o.task.source for o in some})
        losses = {
            name: float(np.mean([o.error - o.supervised for o in some if o.task.source == name]))
            for name in sets
        }
        worst = sorted(losses, key=losses.__getitem__, reverse=True)[:3]
        shown = ", ".join(f"{name} {100 * losses[name]:+.1f}" for name in worst)
        rows.append([str(per_class), shown])
    header = ["labels per class", "three worst sets, difference in percentage points"]
    return Table("Error of the selected method minus that of supervised learning", header, rows)


def _judged(some: Sequence[Outcome]) -> list[str]:
    tasks = [outcome.task for outcome in some]
    estimated = mean_over_sets([o.estimate for o in some], tasks)
    true = mean_over_sets([o.error for o in some], tasks)
    covered = np.mean([o.covered for o in some])
    width = np.mean([o.high - o.low for o in some])
    shown = [f"{100 * estimated:.1f}", f"{100 * true:.1f}"]
    return [str(len(some)), *shown, f"{100 * covered:.0f}", f"{100 * width:.0f}"]


def _in_order_of(records: Sequence[Record], found: Sequence[Outcome]) -> list[Record]:
    by_task = {record.task: record for record in records}
    return [by_task[outcome.task] for outcome in found]


def _error_of(record: Record, name: str) -> float:
    return next((row.error for row in record.rows if family(row) == name), np.nan)


def _hindsight(records: Sequence[Record], names: Sequence[str]) -> list[float]:
    found = []
    for record in records:
        same = [other for other in records if other.task.source == record.task.source]
        tried = [name for name in names if not np.isnan(_error_of(record, name))]
        best = min(tried, key=lambda name: np.mean([_error_of(other, name) for other in same]))
        found.append(_error_of(record, best))
    return found
