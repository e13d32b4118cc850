"""Comparison with scikit-learn and GraphLearning: errors by labels per class, and seconds.

All methods have the same points and labels, and default parameters. Results are stored in the
output folder, and --resume continues a stopped run. Libraries that are not installed are left out
with a message.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks.peers.adapters import CONTENDERS, LIBRARIES, Contender, Task
from benchmarks.shared.files import Lines
from benchmarks.shared.guide import Shelf
from benchmarks.shared.labels import UNLABELED, draw_evenly, error_rate
from benchmarks.shared.options import add_choice, add_run_options
from benchmarks.shared.output import say, step, write_results
from benchmarks.shared.sampled import SETS, sampled
from benchmarks.shared.stats import Stat
from benchmarks.shared.tables import Table

LABELS_A_CLASS = (1, 3, 10)
MOST, QUICK_MOST = 2000, 300
QUICK_SETS = ("g50c", "uspst")


@dataclass(frozen=True)
class Answer:
    """Result of a method on a draw of labels.

    Attributes
    ----------
    set, library, method : str
    labels : int
        Labels per class.
    draw : int
    error : float or None
        Error in percent on the unlabelled points; None if the method failed.
    seconds : float
        Time of the whole fit, including the graph.
    failed : str
        Error message if the method failed.
    """

    set: str
    library: str
    method: str
    labels: int
    draw: int
    error: float | None
    seconds: float
    failed: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks peers``."""
    add_run_options(parser, f"one draw of {' and '.join(QUICK_SETS)}, {QUICK_MOST} points each")
    add_choice(parser, "--sets", SETS, "sets")
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
    kept, shelf = Kept(Lines(path)), Shelf()
    found: list[Answer] = []
    for name in arguments.sets or (QUICK_SETS if arguments.quick else SETS):
        data = shelf.take(name, partial(sampled, name, most))
        if data is None:
            continue
        with step(name):
            for draw in range(n_draws):
                found += gather(name, data, contenders, (arguments.seed, draw), kept)
    shelf.tell()
    if not found:
        return 1
    tables = [table_of(name, found) for name in dict.fromkeys(answer.set for answer in found)]
    raw = {"answers": [asdict(answer) for answer in found]}
    write_results(arguments.output, "peers", tables, raw)
    return 0


Key = tuple[str, str, str, int, int]


class Kept:
    """Results of a stopped run and of this one."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._known = {key_of(answer): answer for answer in (Answer(**line) for line in lines)}

    def get(self, key: Key, measure: Callable[[], Answer]) -> Answer:
        """Return the stored result, or measure it."""
        if key not in self._known:
            self._known[key] = measure()
            self._lines.add(asdict(self._known[key]))
        return self._known[key]


def key_of(answer: Answer) -> Key:
    """Return the key of a result."""
    return answer.set, answer.library, answer.method, answer.labels, answer.draw


def gather(
    name: str,
    data: tuple[Any, Any],
    contenders: Sequence[Contender],
    seed: tuple[int, int],
    kept: Kept,
) -> Iterator[Answer]:
    """Run all methods on one draw of each number of labels."""
    X, truth = data
    for labels, task in tasks(X, truth, *seed):
        for contender in contenders:
            if contender.n_classes and len(task.shares) > contender.n_classes:
                continue
            key = (name, contender.library, contender.name, labels, seed[1])
            measure = partial(measured, name, contender, task, truth, labels, seed[1])
            yield kept.get(key, measure)


def able(libraries: Sequence[str]) -> list[Contender]:
    """Return the methods that can be run, and report missing libraries once."""
    told: set[str] = set()
    chosen = []
    for contender in CONTENDERS:
        if contender.library not in libraries:
            continue
        if contender.missing is None:
            chosen.append(contender)
        elif contender.library not in told:
            told.add(contender.library)
            say(f"{contender.library} is left out: {contender.missing}")
    return chosen


def tasks(X: Any, truth: Any, seed: int, draw: int) -> Iterator[tuple[int, Task]]:
    """Make one draw for each number of labels per class."""
    codes = np.asarray(truth)
    counts = np.bincount(codes)
    for labels in LABELS_A_CLASS:
        rng = np.random.default_rng([seed, draw, labels])
        y = np.full(len(codes), UNLABELED)
        rows = draw_evenly(np.arange(len(codes)), codes, labels * len(counts), rng)
        y[rows] = codes[rows]
        yield labels, Task(X, y, counts / counts.sum())


def measured(
    name: str, contender: Contender, task: Task, truth: Any, labels: int, draw: int
) -> Answer:
    """Measure one result; failures are reported with their message."""
    free = task.y == UNLABELED
    begun = time.perf_counter()
    error, failed = None, ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as of components without a label
        try:
            codes = contender.answer(task)
            error = error_rate(np.asarray(truth)[free], codes[free])
        except Exception as problem:
            failed = f"{type(problem).__name__}: {problem}"
            say(f"{name}, {labels} per class: {contender.library}'s {contender.name}: {failed}")
    seconds = time.perf_counter() - begun
    return Answer(name, contender.library, contender.name, labels, draw, error, seconds, failed)


def table_of(name: str, found: Sequence[Answer]) -> Table:
    """Return the table of errors on a set by labels per class, and seconds of a fit."""
    mine = [answer for answer in found if answer.set == name]
    rows = []
    for library, method in dict.fromkeys((answer.library, answer.method) for answer in mine):
        of_method = [a for a in mine if (a.library, a.method) == (library, method)]
        cells = [_cell([a for a in of_method if a.labels == labels]) for labels in LABELS_A_CLASS]
        seconds = float(np.median([answer.seconds for answer in of_method]))
        rows.append([library, method, *cells, f"{seconds:.2f}"])
    draws = len({answer.draw for answer in mine})
    note = (
        f"Error (%) on the unlabelled points, mean (standard deviation) over {draws} draws of "
        "equal numbers of labels per class; s: median seconds of a fit." + _release(mine)
    )
    header = ["library", "method", *(f"{labels} per class" for labels in LABELS_A_CLASS), "s"]
    return Table(f"{name}: errors by labels per class", header, rows, [note])


def _release(answers: Sequence[Answer]) -> str:
    """Return the version of a library that is not among those of the run."""
    used = any(answer.library == "GraphLearning" for answer in answers)
    return f" GraphLearning {version('graphlearning')}." if used else ""


def _cell(answers: Sequence[Answer]) -> str:
    errors = [answer.error for answer in answers if answer.error is not None]
    lost = len(answers) - len(errors)
    shown = Stat.of(errors).show(1) if errors else "-"
    return f"{shown}, {lost} failed" if lost else shown
