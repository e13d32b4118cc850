"""Evidence of each candidate on each draw, stored so that rules can be studied without fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from benchmarks.choosing.problems import SOURCES, Drawn, Task, draw, tasks
from benchmarks.shared.data import Data
from benchmarks.shared.files import Lines
from benchmarks.shared.measuring import quiet
from benchmarks.shared.output import step
from lapwing.model_selection import default_candidates
from lapwing.model_selection.evidence import Effort, try_out
from lapwing.model_selection.trials import start_supervised


@dataclass(frozen=True)
class Row:
    """Candidate on a draw.

    Attributes
    ----------
    name, assumption, objection : str
    reproducibility : float
    n_missed : list of float
    n_left_out : list of int
        Labels of each class.
    shares : list of float
        Class proportions of the predictions.
    fitted : float
        Fraction of the given labels with the same prediction.
    contradiction : float
        Evidence of the labels against the predictions.
    error : float
        True error on the unlabelled points.
    seconds : float
    """

    name: str
    assumption: str
    objection: str
    reproducibility: float
    n_missed: list[float]
    n_left_out: list[int]
    shares: list[float]
    fitted: float
    contradiction: float
    error: float
    seconds: float


@dataclass(frozen=True)
class Record:
    """All candidates on a draw."""

    task: Task
    rows: tuple[Row, ...]

    @property
    def n_classes(self) -> int:
        return len(self.rows[0].n_left_out)


def read(path: Path) -> list[Record]:
    """Read the records in a file; none if there is no file.

    Records of earlier versions with missing fields are dropped and measured again.
    """
    asked = {field.name for field in fields(Row)}
    return [
        Record(Task(**line["task"]), tuple(Row(**row) for row in line["rows"]))
        for line in Lines(path)
        if all(set(row) == asked for row in line["rows"])
    ]


def gather(
    source: str, folder: Path, *, n_draws: int, size: int, seed: int, first: int = 0
) -> list[Record]:
    """Return the records of a set, with those of earlier runs read from its file."""
    path = folder / f"{source} {size} {seed}.jsonl"
    known = {record.task: record for record in read(path)}
    wanted = tasks(source, n_draws, first)
    missing = [task for task in wanted if task not in known]
    if missing:
        data = SOURCES[source].load()
        lines = Lines(path)
        with step(f"{source}: {len(missing)} draws of labels"):
            for task in missing:
                known[task] = measured(data, task, size, seed)
                lines.add(known[task])
    return [known[task] for task in wanted]


def of_other_sizes(folder: Path, size: int) -> list[Record]:
    """Return the records of runs with other numbers of points, which are used for constants."""
    paths = sorted(folder.glob("*.jsonl"))
    return [record for path in paths if path.stem.split()[-2] != str(size) for record in read(path)]


def measured(data: Data, task: Task, size: int, seed: int) -> Record:
    """Fit all candidates like `compare`, and compute their errors."""
    drawn = draw(data, task, size, seed)
    return Record(task, tuple(_rows(drawn, Effort(n_draws=5, max_left_out=16, seed=task.draw))))


def _rows(drawn: Drawn, effort: Effort) -> Sequence[Row]:
    hidden = drawn.y < 0
    found = []
    given = drawn.data.X, drawn.y, None
    candidates = default_candidates(drawn.data.X, n_classes=int(drawn.data.y.max()) + 1)
    with quiet():
        alone = start_supervised(candidates, *given)
        tries = [try_out(candidate, *given, effort, supervised=alone) for candidate in candidates]
    for candidate, tried in zip(candidates, tries, strict=True):
        evidence = tried.evidence
        found.append(
            Row(
                candidate.name,
                candidate.assumption,
                evidence.objection,
                evidence.reproducibility,
                tried.n_missed.tolist(),
                tried.n_left_out.tolist(),
                (np.bincount(tried.codes, minlength=len(tried.n_missed)) / len(hidden)).tolist(),
                evidence.fitted,
                evidence.contradiction,
                float(np.mean(tried.codes[hidden] != drawn.data.y[hidden])),
                evidence.seconds,
            )
        )
    return found
