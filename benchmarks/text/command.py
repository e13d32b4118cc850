"""Texts with few labels: errors by labels a class, and seconds, of what one would try on words.

`documents` are the docstrings of NumPy, SciPy and scikit-learn, parted into their subpackages:
they are there without a download, and change with the versions of these. The other sets are word
counts. All methods have the same documents and labels. A fit that takes longer than --limit is
ended, and its method left out of the other draws of as many labels. What was measured is kept in
the output folder: with --resume, a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.shared.files import Lines
from benchmarks.shared.guide import Shelf
from benchmarks.shared.labels import UNLABELED, draw_evenly, error_rate
from benchmarks.shared.options import add_choice, add_run_options
from benchmarks.shared.output import say, step, write_results
from benchmarks.shared.stats import Stat
from benchmarks.shared.tables import Table
from benchmarks.text.contenders import COMPONENTS, CONTENDERS, Codes, Contender, Ground
from benchmarks.text.limits import OverTimeError, within
from benchmarks.text.sources import SOURCES

LABELS_A_CLASS = (1, 3, 10)
DRAWS, QUICK_DRAWS = 10, 2
MOST, QUICK_MOST = 2500, 600
QUICK_SETS = ("documents", "pcmac")
LIMIT, QUICK_LIMIT = 60.0, 3.0


@dataclass(frozen=True)
class Answer:
    """A method on a draw of labels.

    Attributes
    ----------
    set, method : str
    labels : int
        A class.
    draw : int
    error : float or None
        Percent wrong of the unlabelled documents; None where it gave no answer.
    seconds : float
        Of the fit, with the components of the methods that have them; what of it there was, where
        it was ended; 0 where it was not begun.
    failed : str
        What it said instead of an answer, or why there is none.
    """

    set: str
    method: str
    labels: int
    draw: int
    error: float | None
    seconds: float
    failed: str = ""

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What names it."""
        return self.set, self.method, self.labels, self.draw


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of ``python -m benchmarks text``."""
    add_run_options(
        parser,
        f"{QUICK_DRAWS} draws of {QUICK_MOST} documents of {' and '.join(QUICK_SETS)}, "
        f"fits of {QUICK_LIMIT:g} seconds",
    )
    add_choice(parser, "--sets", SOURCES, "sets")
    add_choice(parser, "--methods", CONTENDERS, "methods")
    parser.add_argument(
        "--draws", type=int, default=DRAWS, help=f"draws of labels (default: {DRAWS})"
    )
    parser.add_argument("--most", type=int, default=MOST, help=f"most documents (default: {MOST})")
    parser.add_argument(
        "--limit", type=float, default=LIMIT, help=f"most seconds of a fit (default: {LIMIT:g})"
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on with what a stopped run has left"
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; the exit status is 1 if there was nothing to measure."""
    asked = (arguments.draws, arguments.most, arguments.limit)
    n_draws, most, limit = (QUICK_DRAWS, QUICK_MOST, QUICK_LIMIT) if arguments.quick else asked
    path = arguments.output / "text" / f"{most} {arguments.seed}.jsonl"
    if not arguments.resume:
        path.unlink(missing_ok=True)
    methods = {name: CONTENDERS[name] for name in arguments.methods or CONTENDERS}
    shelf, found = Shelf(), []
    for name in arguments.sets or (QUICK_SETS if arguments.quick else SOURCES):
        data = shelf.take(name, partial(SOURCES[name], most))
        if data is None:
            continue
        X, truth = data
        say(f"{name}: {X.shape[0]} documents, {X.shape[1]} terms, {truth.max() + 1} classes")
        draws = [(labels, draw) for labels in LABELS_A_CLASS for draw in range(n_draws)]
        with step(name):
            found += gather(name, X, truth, methods, draws, arguments.seed, limit, Lines(path))
    shelf.tell()
    if not found:
        return 1
    sets = list(dict.fromkeys(answer.set for answer in found))
    tables = [*(table_of(name, found) for name in sets), best(found)]
    raw = {"limit": limit, "answers": [asdict(answer) for answer in found]}
    write_results(arguments.output, "text", tables, raw)
    return 0


def gather(
    name: str,
    X: Any,
    truth: Codes,
    methods: dict[str, Contender],
    draws: Sequence[tuple[int, int]],
    seed: int,
    limit: float,
    lines: Lines,
) -> Iterator[Answer]:
    """All methods on draws, each some labels a class and its number."""
    known = {answer.key: answer for answer in (Answer(**line) for line in lines)}
    ground = Ground(X)
    slow: set[tuple[str, int]] = set()
    for labels, draw in draws:
        y = drawn(truth, labels, np.random.default_rng([seed, draw, labels]))
        for method, contender in methods.items():
            answer = known.get((name, method, labels, draw))
            if answer is None:
                if (method, labels) in slow:
                    why = f"not begun: a fit before took over {limit:g} s"
                    answer = Answer(name, method, labels, draw, None, 0.0, why)
                else:
                    of = partial(Answer, name, method, labels, draw)
                    answer = of(*measured(contender, ground, y, truth, limit))
                if answer.failed and answer.seconds:
                    say(f"{name}, {labels} a class: {method}: {answer.failed}")
                lines.add(asdict(answer))
            if answer.seconds > limit:
                slow.add((method, labels))
            yield answer


def drawn(truth: Codes, labels: int, rng: np.random.Generator) -> Codes:
    """Labels of so many documents a class; the others have none."""
    y = np.full(len(truth), UNLABELED)
    rows = draw_evenly(np.arange(len(truth)), truth, labels * len(np.unique(truth)), rng)
    y[rows] = truth[rows]
    return y


def measured(
    contender: Contender, ground: Ground, y: Codes, truth: Codes, limit: float
) -> tuple[float | None, float, str]:
    """Error, seconds, and what a method said that failed."""
    X, before = ground.reduced if contender.reduced else (ground.X, 0.0)
    free = y == UNLABELED
    error, failed = None, ""
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of components without a label, say
        try:
            with within(limit):
                codes = contender.answer(X, y)
            error = error_rate(truth[free], codes[free])
        except OverTimeError:
            failed = f"ended after {limit:g} s"
        except Exception as problem:
            failed = f"{type(problem).__name__}: {problem}"
    return error, before + time.perf_counter() - begun, failed


def table_of(name: str, found: Sequence[Answer]) -> Table:
    """Errors of all methods on a set by labels a class, and the seconds of a fit."""
    mine = [answer for answer in found if answer.set == name]
    rows = []
    for method in dict.fromkeys(answer.method for answer in mine):
        of_method = [answer for answer in mine if answer.method == method]
        cells = [_cell([a for a in of_method if a.labels == labels]) for labels in LABELS_A_CLASS]
        seconds = [answer.seconds for answer in of_method if answer.error is not None]
        rows.append([method, *cells, f"{np.median(seconds):.2f}" if seconds else "-"])
    draws = len({answer.draw for answer in mine})
    notes = [
        f"Error (%) on the unlabelled documents, mean (deviation) over {draws} draws of labels in "
        "equal numbers; seconds of a fit, the median of those that gave an answer. "
        f"SVD: in {COMPONENTS} components, whose time is part of the seconds."
    ]
    told = dict.fromkeys((a.method, a.failed) for a in mine if a.failed and a.seconds)
    notes += [f"- {method}: {failed}." for method, failed in told]
    header = ["method", *(f"{labels} a class" for labels in LABELS_A_CLASS), "s"]
    return Table(f"{name}: errors by labels a class", header, rows, notes)


def best(found: Sequence[Answer]) -> Table:
    """The method with the fewest errors on each set."""
    rows = []
    for name in dict.fromkeys(answer.set for answer in found):
        cells = []
        for labels in LABELS_A_CLASS:
            some = [a for a in found if (a.set, a.labels) == (name, labels)]
            means = {
                method: float(np.mean([e for e in errors if e is not None]))
                for method in dict.fromkeys(answer.method for answer in some)
                for errors in [[a.error for a in some if a.method == method]]
                if None not in errors
            }
            least = min(means, key=means.__getitem__, default="")
            cells.append(f"{least} {means[least]:.1f}" if least else "-")
        rows.append([name, *cells])
    header = ["set", *(f"{labels} a class" for labels in LABELS_A_CLASS)]
    return Table("Fewest errors (%)", header, rows, ["Of methods that answered every draw."])


def _cell(answers: Sequence[Answer]) -> str:
    errors = [answer.error for answer in answers if answer.error is not None]
    lost = len(answers) - len(errors)
    if not errors:
        return "-"
    shown = Stat.of(errors).show(1)
    return f"{shown}, {lost} without" if lost else shown
