"""Errors of every method on every draw, stored in files so that a stopped run can be continued."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.shared.data import Data
from benchmarks.shared.files import Lines
from benchmarks.shared.labels import error_rate
from benchmarks.shared.output import step
from benchmarks.volumes.contenders import METHODS, Graphs, contenders, unseen
from benchmarks.volumes.problems import PRIORS, SOURCES, UNSEEN, Task, drawn, points_of, prior_of


@dataclass(frozen=True)
class Record:
    """Result of a method on a draw of labels with one kind of prior.

    Attributes
    ----------
    task : Task
    method, prior : str
    error : float
        Error in % on the unlabelled points, or on the unseen points.
    seconds : float
        Time of the part of the fit that depends on labels. For unseen points it is the time of the
        fit without the graph and of the prediction.
    cut : float or None
        Weight of the edges between classes, if it was computed.
    """

    task: Task
    method: str
    prior: str
    error: float
    seconds: float
    cut: float | None = None


def read(path: Path) -> list[Record]:
    """Read the records of a file; an empty list if there is no file."""
    return [Record(**{**line, "task": Task(**line["task"])}) for line in Lines(path)]


def gather(
    source: str,
    per_class: tuple[int, ...],
    folder: Path,
    *,
    n_draws: int,
    most: int | None,
    methods: Sequence[str] = METHODS,
    priors: Sequence[str] = PRIORS,
) -> list[Record]:
    """Compute the records of a set, except those in the file of an earlier run."""
    path = folder / f"{source}{'' if most is None else f' {most}'}.jsonl"
    kept = {(each.task, each.method, each.prior): each for each in read(path)}
    tasks = [Task(source, labels, draw) for draw in range(n_draws) for labels in per_class]
    data = SOURCES[source].load()
    measure = _unseen if source == UNSEEN else _transduced
    lines = Lines(path)
    with step(f"{source}: {len(tasks)} draws of labels"):
        for record in measure(data, tasks, set(kept), most, methods, priors):
            kept[record.task, record.method, record.prior] = record
            lines.add(record)
    wanted = set(tasks)
    return [each for each in kept.values() if each.task in wanted]


Known = set[tuple[Task, str, str]]


def _transduced(
    data: Data,
    tasks: list[Task],
    known: Known,
    most: int | None,
    methods: Sequence[str],
    priors: Sequence[str],
) -> Iterator[Record]:
    rows = points_of(data, tasks[0], most)
    y = data.y[rows]
    published = tasks[0].source == "mnist" and most is None
    labels = {task: drawn(y, task, published=published) for task in tasks}
    graphs = Graphs(data.X[rows])
    for contender in contenders(graphs, labels[tasks[0]], methods):
        for task in tasks:
            for prior in (each for each in contender.priors if each in priors):
                if (task, contender.name, prior) in known:
                    continue
                answer = contender.answer(labels[task], prior_of(y, prior))
                free = labels[task] < 0
                error = error_rate(y[free], answer.codes[free])
                cut = None if np.isnan(answer.cut) else answer.cut
                yield Record(task, contender.name, prior, error, answer.seconds, cut)


def _unseen(
    data: Data,
    tasks: list[Task],
    known: Known,
    most: int | None,
    methods: Sequence[str],
    priors: Sequence[str],
) -> Iterator[Record]:
    rows = points_of(data, tasks[0], most)
    assert data.is_test is not None
    new = np.flatnonzero(data.is_test)
    graphs = Graphs(data.X[rows])
    for task in tasks:
        for prior in priors:
            if any(key[0] == task and key[2] == prior for key in known):
                continue
            y = drawn(data.y[rows], task, published=False)
            class_prior = prior_of(data.y[rows], prior)
            for name, codes, seconds in unseen(graphs, y, class_prior, data.X[new], methods):
                yield Record(task, name, prior, error_rate(data.y[new], codes), seconds)
