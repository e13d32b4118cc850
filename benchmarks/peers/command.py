"""Comparison with scikit-learn and GraphLearning: errors by labels per class, and seconds.

All methods have the same points and labels, and default parameters. Results are stored in the
output folder, and --resume continues a stopped run. Libraries that are not installed are left out
with a message.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from importlib.metadata import version

from benchmarks.peers.adapters import CONTENDERS, LIBRARIES, Codes, Contender, Task
from benchmarks.shared.data import FEW_LABEL_SETS, sampled
from benchmarks.shared.files import Lines
from benchmarks.shared.guide import Datasets
from benchmarks.shared.known import Answer, Outcome, error_table, gather, timed
from benchmarks.shared.labels import UNLABELED, error_rate
from benchmarks.shared.options import add_choice, add_run_options
from benchmarks.shared.output import say, step, write_results
from benchmarks.shared.tables import Table

LABELS_PER_CLASS = (1, 3, 10)
MOST, QUICK_MOST = 2000, 300
QUICK_SETS = ("g50c", "uspst")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks peers``."""
    add_run_options(parser, f"one draw of {' and '.join(QUICK_SETS)}, {QUICK_MOST} points each")
    add_choice(parser, "--sets", FEW_LABEL_SETS, "sets")
    add_choice(parser, "--libraries", LIBRARIES, "libraries")
    parser.add_argument("--draws", type=int, default=5, help="draws of labels (default: 5)")
    parser.add_argument(
        "--most", type=int, default=MOST, help=f"maximum number of points (default: {MOST})"
    )
    parser.add_argument("--resume", action="store_true", help="continue a stopped run")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print the results; return 1 if there was nothing to measure."""
    contenders = able(arguments.libraries or LIBRARIES)
    n_draws, most = (1, QUICK_MOST) if arguments.quick else (arguments.draws, arguments.most)
    path = arguments.output / "peers" / f"{arguments.seed}.jsonl"
    if not arguments.resume:
        path.unlink(missing_ok=True)
    datasets, found = Datasets(), []
    draws = [(labels, draw) for labels in LABELS_PER_CLASS for draw in range(n_draws)]
    for name in arguments.sets or (QUICK_SETS if arguments.quick else FEW_LABEL_SETS):
        data = datasets.load(name, partial(sampled, name, most))
        if data is None:
            continue
        X, truth = data
        n_classes = int(truth.max()) + 1
        methods = {one.key: one for one in contenders if n_classes <= (one.n_classes or n_classes)}
        hide, measure = partial(Task.drawn, X, truth), partial(measured, truth)
        with step(name):
            found += gather(name, methods, draws, arguments.seed, hide, measure, Lines(path))
    datasets.report_missing()
    if not found:
        return 1
    tables = [table_of(name, found) for name in dict.fromkeys(answer.set for answer in found)]
    raw = {"answers": [asdict(answer) for answer in found]}
    write_results(arguments.output, "peers", tables, raw)
    return 0


def able(libraries: Sequence[str]) -> list[Contender]:
    """Return the methods that can be run, and report missing libraries once."""
    wanted = [one for one in CONTENDERS if one.library in libraries]
    for library, reason in {one.library: one.missing for one in wanted if one.missing}.items():
        say(f"{library} is left out: {reason}")
    return [one for one in wanted if one.missing is None]


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
