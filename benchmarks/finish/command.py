"""The finish line of the page to label on: the error when it says stop, and the labels it takes.

A user who knows the answers labels the rows that the page asks: suggested ones, with check rows
drawn at random among them. When the page says that the target is reached, the true error on the
rows without a label is noted. Beside it stands the same user with random rows alone, who stops by
the same rule. The second table compares two ways to count the check rows that the model misses: by
the present model without the label of each, which is what the page does, and by the answers that
were given before the labels came.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from benchmarks.shared.output import RESULTS, step, write_results
from benchmarks.shared.sampled import SETS, sampled
from benchmarks.shared.tables import Table
from lapwing import LapERLSClassifier
from lapwing._host.threads import single_blas_thread
from lapwing._label.history import NO_CODE
from lapwing._label.learner import Answers, Estimate, Learner
from lapwing._label.session import Checks, check_places, looks_done
from lapwing.model_selection.stopping import rows_needed

MOST = 1500  # points
MOST_LABELS = 300
CHECK_EVERY = 5
TARGET = 0.05
AT_LABELS = (40, 80, 120)  # of the second table
ENOUGH = 0.85  # of the runs are to be right


class Stop(NamedTuple):
    """A run, when the page says stop; no error and no labels where it never did."""

    n_labels: int | None
    n_checks: int | None
    error: float | None


class Course(NamedTuple):
    """Shares of a run at some numbers of labels: missed by each way to count, and the truth."""

    n_labels: int
    left_out: float
    before: float
    error: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of ``python -m benchmarks finish``."""
    parser.add_argument("--quick", action="store_true", help="one set, two runs")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for table and JSON")
    parser.add_argument("--sets", nargs="*", default=None)
    parser.add_argument("--runs", type=int, default=40, help="of each set and rule")
    parser.add_argument("--target", type=float, default=TARGET, help="share of wrong answers")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; fails if the page says stop too early in more runs than it may."""
    sets = arguments.sets or (("wine",) if arguments.quick else ("digits", "wine", *SETS))
    runs = min(arguments.runs, 2) if arguments.quick else arguments.runs
    rows, courses, raw, right, stops = [], [], {}, 0, 0
    for name in sets:
        with step(name):
            X, truth = points_of(name)
            asked = [course_of(X, truth, seed, arguments.target) for seed in range(runs)]
            drawn = [course_of(X, truth, seed, arguments.target, 1) for seed in range(runs)]
        mine, random = [stop for stop, _ in asked], [stop for stop, _ in drawn]
        good = sum(s.error is not None and s.error <= arguments.target for s in mine)
        right, stops = right + good, stops + sum(s.error is not None for s in mine)
        rows.append((name, *_cells(mine, arguments.target), *_cells(random, arguments.target)[:3]))
        courses += _course_rows(name, [course for _, course in asked])
        raw[name] = {"asked": [s._asdict() for s in mine], "drawn": [s._asdict() for s in random]}
    title = f"When the page says that {100 * arguments.target:g} % are reached"
    heads = ("stopped", "right", "labels", "check rows", "error, %")
    random_heads = ("random: stopped", "right", "labels")
    note = (
        f"Runs that stopped within {MOST_LABELS} labels, those of them whose true error was at or "
        "below the target, and medians of these. LapERLSClassifier(), no label at the start."
    )
    counted = Table(
        "Check rows that the model misses, %, beside the true error",
        ("set", "labels", "left out", "answered before", "true"),
        courses,
        ["Means over the runs that had not stopped yet."],
    )
    tables = [Table(title, ("set", *heads, *random_heads), rows, [note]), counted]
    write_results(arguments.output, "finish", tables, raw)
    return 0 if right >= ENOUGH * stops else 1


def points_of(name: str) -> tuple[Any, Any]:
    """Points, and classes from 0."""
    if name == "digits":
        return load_digits(return_X_y=True)
    if name == "wine":
        X, truth = load_wine(return_X_y=True)
        return StandardScaler().fit_transform(X), truth
    X, truth = sampled(name, MOST)
    return X, np.unique(truth, return_inverse=True)[1]


def course_of(
    X: Any, truth: Any, seed: int, target: float, check_every: int = CHECK_EVERY
) -> tuple[Stop, list[Course]]:
    """One user, who answers a row at a time."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings(), single_blas_thread():
        warnings.simplefilter("ignore")  # of components without a label, say
        learner = Learner(LapERLSClassifier(), X)
        graph, _ = learner.prepare()
        codes = np.full(len(truth), NO_CODE, dtype=np.int32)
        checks = Checks(rng.permutation(len(truth)), (), np.empty(0, dtype=np.intp))
        answers: Answers | None = None
        estimate: Estimate | None = None
        before, courses = 0, []
        for n_asked in range(min(MOST_LABELS, len(truth) - 20)):
            one_in = 1 if looks_done(target, estimate) else check_every
            check = bool(check_places(n_asked, 1, one_in)[0])
            row = _next_row(answers, graph, codes, checks, check)
            if check:
                checks = checks.with_rows([row])
                before += answers is None or answers.codes[row] != truth[row]
            codes[row] = truth[row]
            answers = learner.learn(codes, n_asked)
            if answers is None:
                continue
            estimate = answers.estimate(checks.answered(codes))
            error = float((answers.codes != truth)[codes == NO_CODE].mean())
            if estimate is None:
                continue
            if n_asked + 1 in AT_LABELS:
                courses.append(Course(n_asked + 1, estimate.error, before / estimate.n_rows, error))
            if estimate.n_rows >= rows_needed(target, estimate.n_wrong):
                return Stop(n_asked + 1, estimate.n_rows, error), courses
    return Stop(None, None, None), courses


def _next_row(answers: Answers | None, graph: Any, codes: Any, checks: Checks, check: bool) -> int:
    if check:
        return checks.drawn(codes, 1)[0]
    none = np.empty(0, dtype=np.intp)
    if answers is None:
        return int(graph.cover(codes != NO_CODE, 1, none)[0])
    return int(answers.suggest(1, none)[0])


def _cells(stops: list[Stop], target: float) -> tuple[str, ...]:
    found = [(s.n_labels, s.n_checks, s.error) for s in stops if s.error is not None]
    if not found:
        return (f"0 of {len(stops)}", "-", "-", "-", "-")
    labels, checks, errors = np.array(found).T
    return (
        f"{len(found)} of {len(stops)}",
        f"{int((errors <= target).sum())} of {len(found)}",
        f"{np.median(labels):.0f}",
        f"{np.median(checks):.0f}",
        f"{100 * np.median(errors):.1f}",
    )


def _course_rows(name: str, courses: list[list[Course]]) -> list[tuple[str, ...]]:
    rows = []
    for n_labels in AT_LABELS:
        at = [point[1:] for course in courses for point in course if point.n_labels == n_labels]
        if at:
            means = (f"{100 * mean:.1f}" for mean in np.mean(at, axis=0))
            rows.append((name, str(n_labels), *means))
    return rows
