"""Comparison with scikit-learn and GraphLearning: errors by labels per class, and seconds.

All methods have the same points and labels, and default parameters. Results are stored in the
output folder, and --resume continues a stopped run. Methods of libraries that are not installed are
left out with a message.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import version

from benchmarks.peers.adapters import CONTENDERS, LIBRARIES, Contender, Task
from benchmarks.shared.data import FEW_LABEL_SETS, sampled
from benchmarks.shared.known import (
    Answer,
    Outcome,
    Problem,
    compare_methods,
    error_table,
    installed,
    timed,
)
from benchmarks.shared.labels import UNLABELED, Codes, error_rate
from benchmarks.shared.options import add_choice, add_number, add_resume, add_run_options
from benchmarks.shared.output import Results
from benchmarks.shared.tables import Table

LABELS_PER_CLASS = (1, 3, 10)
MOST, QUICK_MOST = 2000, 300
QUICK_SETS = ("g50c", "uspst")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks peers``."""
    add_run_options(parser, f"one draw of {' and '.join(QUICK_SETS)}, {QUICK_MOST} points each")
    add_choice(parser, "--sets", FEW_LABEL_SETS, "sets")
    add_choice(parser, "--libraries", LIBRARIES, "libraries")
    add_number(parser, "--draws", 5, "draws of labels")
    add_number(parser, "--most", MOST, "maximum number of points")
    add_resume(parser)


def run(arguments: argparse.Namespace) -> Results | int:
    """Measure all methods; return 1 if there was nothing to measure."""
    libraries = arguments.libraries or LIBRARIES
    contenders = installed({one.key: one for one in CONTENDERS if one.library in libraries})
    n_draws, most = (1, QUICK_MOST) if arguments.quick else (arguments.draws, arguments.most)
    draws = [(labels, draw) for labels in LABELS_PER_CLASS for draw in range(n_draws)]
    sets = arguments.sets or (QUICK_SETS if arguments.quick else FEW_LABEL_SETS)
    problems = {name: partial(problem_of, name, most, contenders) for name in sets}
    path = arguments.output / "peers" / f"{arguments.seed}.jsonl"
    found = compare_methods(problems, draws, path, arguments)
    if not found:
        return 1
    tables = [table_of(name, found) for name in dict.fromkeys(answer.set for answer in found)]
    return Results(tables, raw={"answers": found})


def problem_of(name: str, most: int, contenders: Mapping[str, Contender]) -> Problem:
    """Load a set, with the methods for its number of classes."""
    X, truth = sampled(name, most)
    n_classes = int(truth.max()) + 1
    methods = {
        key: one for key, one in contenders.items() if n_classes <= (one.n_classes or n_classes)
    }
    return Problem(methods, partial(Task.drawn, X, truth), partial(measured, truth))


def measured(truth: Codes, contender: Contender, task: Task) -> Outcome:
    """Compute the error in % on the unlabelled points, and the seconds."""
    free = task.y == UNLABELED
    return timed(lambda: contender.answer(task), lambda codes: error_rate(truth[free], codes[free]))


def table_of(name: str, found: Sequence[Answer]) -> Table:
    """Return the table of errors on a set by labels per class, and seconds of a fit."""
    mine = [answer for answer in found if answer.set == name]
    note = "Error (%) on the unlabelled points, with equal numbers of labels per class."
    if any(answer.method.startswith("GraphLearning") for answer in mine):
        note += f" GraphLearning {version('graphlearning')}."  # not among the versions of the run
    table = error_table(f"{name}: errors by labels per class", mine, "per class", 1, note)
    rows = [[*row[0].split(" ", 1), *row[1:]] for row in table.rows]
    return Table(table.title, ["library", *table.header], rows, table.notes)
