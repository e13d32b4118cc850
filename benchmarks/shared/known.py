"""Methods on draws of the same known rows: errors, seconds, and what failed.

What was measured is kept a line an answer, so that a run that was stopped goes on.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from benchmarks.shared.files import Lines
from benchmarks.shared.limits import OverTimeError, within
from benchmarks.shared.output import say
from benchmarks.shared.stats import Stat
from benchmarks.shared.tables import Table

Method = TypeVar("Method")


class Outcome(NamedTuple):
    """What a method gave.

    Attributes
    ----------
    error : float or None
        On the rows that are not known; None where it gave no answer.
    seconds : float
        Of the fit and the answers; what of it there was, where it was ended; 0 where it was not
        begun.
    failed : str
        What it said instead of an answer, or why there is none.
    held : float or None
        Share of the true values within its intervals, where it has any.
    """

    error: float | None
    seconds: float
    failed: str = ""
    held: float | None = None


@dataclass(frozen=True)
class Answer:
    """A method on a draw.

    Attributes
    ----------
    set, method : str
    known : int
        How many rows are known: labels a class, or targets.
    draw : int
    error, seconds, failed, held
        As in `Outcome`.
    """

    set: str
    method: str
    known: int
    draw: int
    error: float | None
    seconds: float
    failed: str = ""
    held: float | None = None

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What names it."""
        return self.set, self.method, self.known, self.draw


def timed(
    answer: Callable[[], Any], error: Callable[[Any], float], limit: float = math.inf
) -> Outcome:
    """Error and seconds of what a method answers within so many seconds."""
    missed, failed = None, ""
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of components without a label, say
        try:
            with within(limit):
                found = answer()
            missed = error(found)
        except OverTimeError:
            failed = f"ended after {limit:g} s"
        except Exception as problem:
            failed = f"{type(problem).__name__}: {problem}"
    return Outcome(missed, time.perf_counter() - begun, failed)


def gather(
    name: str,
    methods: Mapping[str, Method],
    draws: Sequence[tuple[int, int]],
    seed: int,
    hide: Callable[[int, np.random.Generator], Any],
    measure: Callable[[Method, Any], Outcome],
    lines: Lines,
    limit: float = math.inf,
) -> Iterator[Answer]:
    """All methods on all draws of a set.

    Parameters
    ----------
    name : str
        Of the set.
    methods : mapping of str to method
    draws : sequence of (int, int)
        How many rows are known, and the number of the draw.
    seed : int
    hide : callable (known, rng) -> y
        Labels or targets, of which so many are known.
    measure : callable (method, y) -> Outcome
    lines : Lines
        Answers of a run before; those that are new are added.
    limit : float, default=inf
        A method that took longer is left out of the other draws of as many known rows.
    """
    kept = {answer.key: answer for answer in (Answer(**line) for line in lines)}
    slow: set[tuple[str, int]] = set()
    for known, draw in draws:
        y = hide(known, np.random.default_rng([seed, draw, known]))
        for method, contender in methods.items():
            answer = kept.get((name, method, known, draw))
            if answer is None:
                if (method, known) in slow:
                    outcome = Outcome(None, 0.0, f"not begun: a fit before took over {limit:g} s")
                else:
                    outcome = measure(contender, y)
                answer = Answer(name, method, known, draw, *outcome)
                if answer.failed and answer.seconds:
                    say(f"{name}, {method}, {known} known: {answer.failed}")
                lines.add(asdict(answer))
            if answer.seconds > limit:
                slow.add((method, known))
            yield answer


def error_table(title: str, mine: Sequence[Answer], counted: str, digits: int, note: str) -> Table:
    """Errors of all methods by how many rows are known, and the seconds of a fit.

    Parameters
    ----------
    title : str
    mine : sequence of Answer
        Of one set.
    counted : str
        What is known, such as 'targets'.
    digits : int
        Of the errors.
    note : str
        What the errors are.
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
        f"{note} Mean (deviation) over {draws} draws; seconds of a fit and its answers, the median "
        "of those that gave one."
    ]
    told = dict.fromkeys((a.method, a.failed) for a in mine if a.failed and a.seconds)
    notes += [f"- {method}: {failed}." for method, failed in told]
    header = ["method", *(f"{count} {counted}" for count in counts), "s"]
    return Table(title, header, rows, notes)


def mean_errors(found: Iterable[Answer]) -> Mapping[str, float]:
    """Mean errors of the methods that answered every draw, in the order of the answers."""
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
    return f"{shown}, {lost} without" if lost else shown
