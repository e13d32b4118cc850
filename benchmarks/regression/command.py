"""Numbers to predict with few targets: errors by known targets, and seconds.

Methods on the rows with a target alone stand beside those of lapwing, which see all rows. All have
the same rows and targets. The sets come with scikit-learn or are made up by it, so that nothing is
downloaded. What was measured is kept in the output folder: with --resume, a run that was stopped
goes on.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from benchmarks.regression.contenders import CONTENDERS, Contender
from benchmarks.regression.sources import SOURCES, Array
from benchmarks.shared.files import Lines
from benchmarks.shared.options import add_choice, add_run_options
from benchmarks.shared.output import say, step, write_results
from benchmarks.shared.stats import Stat
from benchmarks.shared.tables import Table

TARGETS, QUICK_TARGETS = (20, 40, 80), (40,)
DRAWS, QUICK_DRAWS = 10, 2
MOST = 600


@dataclass(frozen=True)
class Answer:
    """A method on a draw of targets.

    Attributes
    ----------
    set, method : str
    targets : int
        Known ones.
    draw : int
    error : float or None
        Root mean square error on the rows without a target, in deviations of the set's targets;
        None where it gave no answer.
    seconds : float
        Of the fit and the numbers of all rows.
    failed : str
        What it said instead of an answer.
    """

    set: str
    method: str
    targets: int
    draw: int
    error: float | None
    seconds: float
    failed: str = ""

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What names it."""
        return self.set, self.method, self.targets, self.draw


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of ``python -m benchmarks regression``."""
    add_run_options(
        parser, f"{QUICK_DRAWS} draws of {' and '.join(map(str, QUICK_TARGETS))} targets"
    )
    add_choice(parser, "--sets", SOURCES, "sets")
    add_choice(parser, "--methods", CONTENDERS, "methods")
    parser.add_argument(
        "--draws", type=int, default=DRAWS, help=f"draws of targets (default: {DRAWS})"
    )
    parser.add_argument("--most", type=int, default=MOST, help=f"most rows (default: {MOST})")
    parser.add_argument(
        "--resume", action="store_true", help="go on with what a stopped run has left"
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure and print."""
    asked = (arguments.draws, TARGETS)
    n_draws, targets = (QUICK_DRAWS, QUICK_TARGETS) if arguments.quick else asked
    path = arguments.output / "regression" / f"{arguments.most} {arguments.seed}.jsonl"
    if not arguments.resume:
        path.unlink(missing_ok=True)
    methods = {name: CONTENDERS[name] for name in arguments.methods or CONTENDERS}
    draws = [(known, draw) for known in targets for draw in range(n_draws)]
    found: list[Answer] = []
    for name in arguments.sets or SOURCES:
        X, truth = SOURCES[name](arguments.most)
        say(f"{name}: {X.shape[0]} rows, {X.shape[1]} columns")
        with step(name):
            found += gather(name, X, truth, methods, draws, arguments.seed, Lines(path))
    sets = list(dict.fromkeys(answer.set for answer in found))
    tables = [*(table_of(name, found) for name in sets), ratios(found)]
    raw = {"answers": [asdict(answer) for answer in found]}
    write_results(arguments.output, "regression", tables, raw)
    return 0


def gather(
    name: str,
    X: Array,
    truth: Array,
    methods: Mapping[str, Contender],
    draws: Sequence[tuple[int, int]],
    seed: int,
    lines: Lines,
) -> Iterator[Answer]:
    """All methods on draws, each some known targets and its number."""
    kept = {answer.key: answer for answer in (Answer(**line) for line in lines)}
    for targets, draw in draws:
        y = drawn(truth, targets, np.random.default_rng([seed, draw, targets]))
        for method, contender in methods.items():
            answer = kept.get((name, method, targets, draw))
            if answer is None:
                answer = Answer(name, method, targets, draw, *measured(contender, X, y, truth))
                if answer.failed:
                    say(f"{name}, {targets} targets: {method}: {answer.failed}")
                lines.add(asdict(answer))
            yield answer


def drawn(truth: Array, targets: int, rng: np.random.Generator) -> Array:
    """Targets of so many rows; the others have none."""
    y = np.full(len(truth), np.nan)
    rows = rng.choice(len(truth), targets, replace=False)
    y[rows] = truth[rows]
    return y


def measured(
    contender: Contender, X: Array, y: Array, truth: Array
) -> tuple[float | None, float, str]:
    """Error, seconds, and what a method said that failed."""
    free = np.isnan(y)
    error, failed = None, ""
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a likelihood whose maximum is at a bound, say
        try:
            numbers = contender.answer(X, y)
            error = float(np.sqrt(np.mean((numbers - truth)[free] ** 2)))
        except Exception as problem:
            failed = f"{type(problem).__name__}: {problem}"
    return error, time.perf_counter() - begun, failed


def table_of(name: str, found: Sequence[Answer]) -> Table:
    """Errors of all methods on a set by known targets, and the seconds of a fit."""
    mine = [answer for answer in found if answer.set == name]
    counts = list(dict.fromkeys(answer.targets for answer in mine))
    rows = []
    for method in dict.fromkeys(answer.method for answer in mine):
        of_method = [answer for answer in mine if answer.method == method]
        cells = [_cell([a for a in of_method if a.targets == count]) for count in counts]
        seconds = [answer.seconds for answer in of_method if answer.error is not None]
        rows.append([method, *cells, f"{np.median(seconds):.2f}" if seconds else "-"])
    draws = len({answer.draw for answer in mine})
    notes = [
        "Root mean square error on the rows without a target, in deviations of the targets (their "
        f"mean as the answer has about 1): mean (deviation) over {draws} draws of rows with a "
        "target. Seconds of a fit and its numbers, the median of those that gave an answer."
    ]
    told = dict.fromkeys((a.method, a.failed) for a in mine if a.failed)
    notes += [f"- {method}: {failed}." for method, failed in told]
    header = ["method", *(f"{count} targets" for count in counts), "s"]
    return Table(f"{name}: errors by known targets", header, rows, notes)


def ratios(found: Sequence[Answer]) -> Table:
    """Mean errors of the methods that see all rows, over the best of those that do not."""
    methods = dict.fromkeys(answer.method for answer in found)
    seeing = [method for method in methods if not CONTENDERS[method].alone]
    rows = []
    for name, count in dict.fromkeys((answer.set, answer.targets) for answer in found):
        some = [answer for answer in found if (answer.set, answer.targets) == (name, count)]
        means = {
            method: float(np.mean([error for error in errors if error is not None]))
            for method in methods
            for errors in [[answer.error for answer in some if answer.method == method]]
            if errors and None not in errors
        }
        alone = [method for method in means if method not in seeing]
        least = min(alone, key=means.__getitem__, default="")
        cells = [
            f"{means[method] / means[least]:.2f}" if least and method in means else "-"
            for method in seeing
        ]
        shown = f"{least} {means[least]:.3f}" if least else "-"
        rows.append([name, str(count), shown, *cells])
    header = ["set", "targets", "best on known targets alone", *seeing]
    notes = [
        "Mean error over that of the best method on known targets alone, which is known in "
        "hindsight only: below 1 is better than all of these. Of methods that answered every draw."
    ]
    return Table("Errors over the best on known targets alone", header, rows, notes)


def _cell(answers: Sequence[Answer]) -> str:
    errors = [answer.error for answer in answers if answer.error is not None]
    lost = len(answers) - len(errors)
    if not errors:
        return "-"
    shown = Stat.of(errors).show(3)
    return f"{shown}, {lost} without" if lost else shown
