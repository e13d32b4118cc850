"""Stopping rule of the labelling page: the error when it stops, and the number of labels.

A simulated user, who knows the true classes, labels the rows that the page selects: suggested rows,
and random check rows among them. When the page reports that the target is reached, the true error
on the unlabelled rows is recorded. For comparison, a user who labels random rows only stops by the
same rule. The target is 5 %, but at least 1.5 times the error with the maximum number of random
labels.

The second table compares two ways to count misclassified check rows: by the present model without
the label of each row, as on the page, and by the predictions made before the labels were known.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from benchmarks.shared.data import sampled
from benchmarks.shared.options import add_number, add_output_options
from benchmarks.shared.output import Results, step
from benchmarks.shared.pieces import FINISH_SETS
from benchmarks.shared.tables import Table
from lapwing import LapERLSClassifier
from lapwing._host.threads import single_blas_thread
from lapwing._label.history import NO_CODE
from lapwing._label.learner import Answers, Estimate, Learner, PointGraph
from lapwing._label.state import Checks, check_places, looks_done
from lapwing.model_selection.evidence import rows_needed

MOST = 800  # points, as a label costs n^2, and there are eighty users with up to 200 labels
MOST_LABELS = 200
CHECK_EVERY = 5
TARGET = 0.05  # smallest target
SLACK = 1.5  # ratio of the target to the error with the maximum number of labels
AT_LABELS = (40, 80, 120)  # numbers of labels in the second table
ENOUGH = 0.85  # required fraction of correct runs


class Stop(NamedTuple):
    """Result of a run when the page stops; None if it does not stop."""

    n_labels: int | None
    n_checks: int | None
    error: float | None


class Checkpoint(NamedTuple):
    """Estimated errors of a run at some number of labels, by both counts, and the true error."""

    n_labels: int
    left_out: float
    before: float
    error: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks finish``."""
    add_output_options(parser, "one set, two runs")
    parser.add_argument("--sets", nargs="*", default=None)
    add_number(parser, "--runs", 40, "number of runs for each set and rule")
    parser.add_argument("--target", type=float, default=None, help="fraction of wrong answers")


def run(arguments: argparse.Namespace) -> Results:
    """Simulate the users; the command fails if too many runs stop too early."""
    sets = arguments.sets or (("wine",) if arguments.quick else FINISH_SETS)
    runs = min(arguments.runs, 2) if arguments.quick else arguments.runs
    rows: list[tuple[str, ...]] = []
    checkpoints: list[tuple[str, ...]] = []
    raw: dict[str, Any] = {}
    right, n_stops = 0, 0
    for name in sets:
        # Warnings such as of components without a label.
        with step(name), warnings.catch_warnings(action="ignore"), single_blas_thread():
            simulation = Simulation.of(*points_of(name), arguments.target)
            target = simulation.target
            asked = [simulation.run(seed) for seed in range(runs)]
            drawn = [simulation.run(seed, 1) for seed in range(runs)]
        mine, random = [stop for stop, _ in asked], [stop for stop, _ in drawn]
        good = sum(s.error is not None and s.error <= target for s in mine)
        right, n_stops = right + good, n_stops + sum(s.error is not None for s in mine)
        cells = *_cells(mine, target), *_cells(random, target)[:3]
        rows.append((name, f"{100 * target:g}", *cells))
        checkpoints += _checkpoint_rows(name, [found for _, found in asked])
        raw[name] = {"target": target, "asked": mine, "drawn": random}
    heads = ("target (%)", "stopped", "target met", "labels", "check rows", "error (%)")
    random_heads = ("random: stopped", "target met", "labels")
    note = (
        f"'stopped': runs that stopped within {MOST_LABELS} labels; 'target met': those of them "
        "with a true error of at most the target. Medians over the runs that stopped; 'random': "
        f"the same for random rows. At most {MOST} points per set, LapERLSClassifier(), no labels "
        "at the start."
    )
    counted = Table(
        "Misclassified check rows and true error (%)",
        ("set", "labels", "leave-one-out", "before the label", "true error"),
        checkpoints,
        ["Means over the runs that had not stopped yet."],
    )
    title = "Stopping when the target error is reached"
    tables = [Table(title, ("set", *heads, *random_heads), rows, [note]), counted]
    return Results(tables, raw=raw, passed=right >= ENOUGH * n_stops)


def points_of(name: str) -> tuple[Any, Any]:
    """Load points, and classes from 0."""
    if name == "digits":
        X, truth = load_digits(return_X_y=True)
        rows = np.sort(np.random.default_rng(0).permutation(len(truth))[:MOST])
        return X[rows], truth[rows]
    if name == "wine":
        X, truth = load_wine(return_X_y=True)
        return StandardScaler().fit_transform(X), truth
    X, truth = sampled(name, MOST)
    return X, np.unique(truth, return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class Simulation:
    """Simulated users of one set, with a shared graph and factorisation."""

    truth: Any
    target: float
    learner: Learner
    graph: PointGraph

    @classmethod
    def of(cls, X: Any, truth: Any, target: float | None) -> Simulation:
        """Compute what the users share; None computes the target from the set."""
        learner = Learner(LapERLSClassifier(), X, len(np.unique(truth)))
        graph, _ = learner.prepare()
        if target is None:
            errors = [_random_error(learner, truth, seed) for seed in range(3)]
            target = max(TARGET, np.ceil(100 * SLACK * np.mean(errors)) / 100)
        return cls(truth, float(target), learner, graph)

    def run(self, seed: int, check_every: int = CHECK_EVERY) -> tuple[Stop, list[Checkpoint]]:
        """Simulate one user, who labels one row at a time."""
        truth, target = self.truth, self.target
        # Random rows do not depend on the labels, so that no model is needed before a stop is
        # possible.
        first = rows_needed(target, 0) if check_every == 1 else 0
        order = np.random.default_rng(seed).permutation(len(truth))
        codes = np.full(len(truth), NO_CODE, dtype=np.int32)
        checks = Checks(order, (), np.empty(0, dtype=np.intp))
        answers: Answers | None = None
        estimate: Estimate | None = None
        before, checkpoints = 0, []
        for n_asked in range(min(MOST_LABELS, len(truth) - 20)):
            one_in = 1 if looks_done(target, estimate) else check_every
            check = bool(check_places(n_asked, 1, one_in)[0])
            row = _next_row(answers, self.graph, codes, checks, check)
            if check:
                checks = checks.with_rows([row])
                before += answers is None or answers.codes[row] != truth[row]
            codes[row] = truth[row]
            if n_asked + 1 < first:
                continue
            answers = self.learner.learn(codes)
            estimate = None if answers is None else answers.estimate(checks.answered(codes))
            if answers is None or estimate is None:
                continue
            error = float((answers.codes != truth)[codes == NO_CODE].mean())
            if n_asked + 1 in AT_LABELS:
                checkpoints.append(
                    Checkpoint(n_asked + 1, estimate.error, before / estimate.n_rows, error)
                )
            if estimate.n_rows >= rows_needed(target, estimate.n_wrong):
                return Stop(n_asked + 1, estimate.n_rows, error), checkpoints
        return Stop(None, None, None), checkpoints


def _random_error(learner: Learner, truth: Any, seed: int) -> float:
    """Compute the error with the maximum number of labels, drawn at random."""
    n = min(MOST_LABELS, len(truth) - 20)
    rows = np.random.default_rng(seed).permutation(len(truth))[:n]
    codes = np.full(len(truth), NO_CODE, dtype=np.int32)
    codes[rows] = truth[rows]
    answers = learner.learn(codes)
    assert answers is not None
    return float((answers.codes != truth)[codes == NO_CODE].mean())


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


def _checkpoint_rows(name: str, checkpoints: list[list[Checkpoint]]) -> list[tuple[str, ...]]:
    rows = []
    for n_labels in AT_LABELS:
        at = [point[1:] for run in checkpoints for point in run if point.n_labels == n_labels]
        if at:
            means = (f"{100 * mean:.1f}" for mean in np.mean(at, axis=0))
            rows.append((name, str(n_labels), *means))
    return rows
