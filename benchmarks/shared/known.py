"""Methods on the same draws of known rows: errors, seconds, and failures.

Results are stored one per line, so that a stopped run can continue.
"""

from __future__ import annotations

import math
import time
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from benchmarks.shared.files import Lines
from benchmarks.shared.guide import Datasets
from benchmarks.shared.measuring import OverTimeError, within
from benchmarks.shared.output import say, step
from benchmarks.shared.stats import Stat
from benchmarks.shared.tables import Table


class Outcome(NamedTuple):
    """Result of a method.

    Attributes
    ----------
    error : float or None
        Error on the rows that are not known; None if the method failed.
    seconds : float
        Time of fit and prediction, or until it was stopped; 0 if it was not run.
    failed : str
        Error message, or the reason why there is no result.
    coverage : float or None
        Fraction of the true values within its intervals, if it has any.
    """

    error: float | None
    seconds: float
    failed: str = ""
    coverage: float | None = None


@dataclass(frozen=True)
class Answer:
    """Result of a method on a draw.

    Attributes
    ----------
    set, method : str
    known : int
        Number of known rows: labels per class, or targets.
    draw : int
    error, seconds, failed, coverage
        As in `Outcome`.
    """

    set: str
    method: str
    known: int
    draw: int
    error: float | None
    seconds: float
    failed: str = ""
    coverage: float | None = None

    @property
    def key(self) -> tuple[str, str, int, int]:
        """Key of the result."""
        return self.set, self.method, self.known, self.draw


def timed(
    answer: Callable[[], Any], error: Callable[[Any], float], limit: float = math.inf
) -> Outcome:
    """Measure error and seconds of a method, with a limit in seconds."""
    missed, failed = None, ""
    begun = time.perf_counter()
    try:
        # Warnings such as of components without a label.
        with warnings.catch_warnings(action="ignore"):
            with within(limit):
                found = answer()
            missed = error(found)
    except OverTimeError:
        failed = f"stopped after {limit:g} s"
    except Exception as problem:
        failed = f"{type(problem).__name__}: {problem}"
    return Outcome(missed, time.perf_counter() - begun, failed)


class Problem(NamedTuple):
    """Set of a comparison.

    Attributes
    ----------
    methods : mapping of str to method
    hide : callable (known, rng) -> y
        Hides all but `known` labels or targets.
    measure : callable (method, y) -> Outcome
    """

    methods: Mapping[str, Any]
    hide: Callable[[int, np.random.Generator], Any]
    measure: Callable[[Any, Any], Outcome]


class Packaged(Protocol):
    """Method with the packages that it requires in addition to those of the benchmarks."""

    @property
    def packages(self) -> tuple[str, ...]: ...


P = TypeVar("P", bound=Packaged)


def installed(methods: Mapping[str, P]) -> dict[str, P]:
    """Return the methods whose packages are installed, and report the others."""
    found = {}
    for name, method in methods.items():
        missing = [package for package in method.packages if find_spec(package) is None]
        if missing:
            say(f"{name}: left out, as {' and '.join(missing)} is not installed")
        else:
            found[name] = method
    return found


def compare_methods(
    problems: Mapping[str, Callable[[], Problem]],
    draws: Sequence[tuple[int, int]],
    path: Path,
    arguments: Namespace,
    limit: float = math.inf,
) -> list[Answer]:
    """Run all methods on all draws of all sets; sets without data are reported.

    Parameters
    ----------
    problems : mapping of str to callable () -> Problem
        Functions that load the sets.
    draws : sequence of (int, int)
        Number of known rows, and number of the draw.
    path : Path
        File of results, to continue a stopped run with ``--resume``.
    arguments : Namespace
    limit : float, default=inf
        A method that took longer is left out of further draws with the same number of known rows.
    """
    lines, datasets = Lines(path, resume=arguments.resume), Datasets()
    found: list[Answer] = []
    for name, problem in datasets.available(problems):
        with step(name):
            found += _answers(name, problem, draws, arguments.seed, lines, limit)
    datasets.report_missing()
    return found


def _answers(
    name: str,
    problem: Problem,
    draws: Sequence[tuple[int, int]],
    seed: int,
    lines: Lines,
    limit: float,
) -> Iterator[Answer]:
    kept = {answer.key: answer for answer in (Answer(**line) for line in lines)}
    slow: set[tuple[str, int]] = set()
    for known, draw in draws:
        y = problem.hide(known, np.random.default_rng([seed, draw, known]))
        for method, contender in problem.methods.items():
            answer = kept.get((name, method, known, draw))
            if answer is None:
                if (method, known) in slow:
                    outcome = Outcome(None, 0.0, f"not begun: a fit before took over {limit:g} s")
                else:
                    outcome = problem.measure(contender, y)
                answer = Answer(name, method, known, draw, *outcome)
                if answer.failed and answer.seconds:
                    say(f"{name}, {method}, {known} known: {answer.failed}")
                lines.add(answer)
            if answer.seconds > limit:
                slow.add((method, known))
            yield answer


def error_table(title: str, mine: Sequence[Answer], counted: str, digits: int, note: str) -> Table:
    """Return the table of errors by number of known rows, and seconds of a fit.

    Parameters
    ----------
    title : str
    mine : sequence of Answer
        Results for one set.
    counted : str
        Name of the known quantities, such as 'targets'.
    digits : int
        Decimals of the errors.
    note : str
        Description of the errors.
    """
    counts = list(dict.fromkeys(answer.known for answer in mine))
    rows = []
    for method in dict.fromkeys(answer.method for answer in mine):
        of_method = [answer for answer in mine if answer.method == method]
        cells = [_cell([a for a in of_method if a.known == count], digits) for count in counts]
        seconds = [answer.seconds for answer in of_method if answer.error is not None]
        rows.append([method, *cells, f"{np.median(seconds):.2f}" if seconds else "-"])
    draws = len({answer.draw for answer in mine})
    notes = [
        f"{note} Mean (standard deviation) over {draws} draws; s: median seconds of fit and "
        "prediction, of the runs that succeeded."
    ]
    failures = dict.fromkeys((a.method, a.failed) for a in mine if a.failed and a.seconds)
    notes += [f"- {method}: {failed}." for method, failed in failures]
    header = ["method", *(f"{count} {counted}" for count in counts), "s"]
    return Table(title, header, rows, notes)


def mean_errors(found: Iterable[Answer]) -> Mapping[str, float]:
    """Return mean errors of the methods without failures, in the order of the results."""
    errors: dict[str, list[float | None]] = {}
    for answer in found:
        errors.setdefault(answer.method, []).append(answer.error)
    return {
        method: float(np.mean([one for one in mine if one is not None]))
        for method, mine in errors.items()
        if None not in mine
    }


def _cell(answers: Sequence[Answer], digits: int) -> str:
    errors = [answer.error for answer in answers if answer.error is not None]
    lost = len(answers) - len(errors)
    if not errors:
        return "-"
    shown = Stat.of(errors).show(digits)
    return f"{shown}, {lost} failed" if lost else shown
