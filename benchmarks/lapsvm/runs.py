"""Results of each split, stored in a file so that a stopped run can be continued."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.lapsvm.methods import MethodRun
from benchmarks.shared.files import Lines


@dataclass(frozen=True)
class SplitRun:
    """Results of a split, without its kernel matrix.

    Attributes
    ----------
    outcomes : mapping of str to MethodRun
    references : mapping of str to float
        Seconds of reference computations.
    """

    outcomes: Mapping[str, MethodRun]
    references: Mapping[str, float]

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> SplitRun:
        """Restore the results from the content of a file."""
        outcomes = {
            name: MethodRun(**{**run, "objective": tuple(run["objective"])})
            for name, run in content["outcomes"].items()
        }
        return cls(outcomes, content["references"])


class SplitFile:
    """Results by the number of the split, from 1; with `resume`, those of an earlier run, too."""

    def __init__(self, path: Path, resume: bool) -> None:
        if not resume:
            path.unlink(missing_ok=True)
        self._lines = Lines(path)
        self._runs = {line["split"]: SplitRun.of(line) for line in self._lines}

    def __contains__(self, number: int) -> bool:
        return number in self._runs

    def __getitem__(self, number: int) -> SplitRun:
        return self._runs[number]

    def add(self, number: int, run: SplitRun) -> None:
        self._lines.add({"split": number, **asdict(run)})
        self._runs[number] = run
