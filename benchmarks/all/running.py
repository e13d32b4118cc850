"""Pieces in separate processes, and their results in a folder.

A finished piece has a file NAME.json, written atomically, with the results of the benchmark, its
run, the name of the piece and its command. An unfinished piece has only a folder NAME, from which
benchmarks that store intermediate results continue.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from benchmarks.shared.files import read_json, write_whole
from benchmarks.shared.pieces import Piece

ROOT = Path(__file__).parents[2]
Start = Callable[[Sequence[str]], int]


class State(Enum):
    """State of a piece."""

    DONE = "done"
    BEGUN = "begun"
    OTHER = "done with another command"
    OPEN = "-"


@dataclass(frozen=True)
class PieceStatus:
    """Piece with its state.

    Attributes
    ----------
    piece : Piece
    state : State
    date : str
        Date of the result.
    minutes : float or None
        Minutes of the run.
    """

    piece: Piece
    state: State
    date: str = ""
    minutes: float | None = None

    @property
    def forecast(self) -> float:
        """Return the expected minutes: those of the last run here, or those of the table."""
        return self.piece.minutes if self.minutes is None else self.minutes


class Pieces:
    """Pieces of a folder."""

    def __init__(self, folder: Path, start: Start | None = None) -> None:
        self._folder = folder.resolve()
        self._start = _benchmark if start is None else start

    def status(self, piece: Piece) -> PieceStatus:
        """Return the state of a piece."""
        content = self._result(piece)
        if content is None:
            begun = (self._folder / piece.name).is_dir()
            return PieceStatus(piece, State.BEGUN if begun else State.OPEN)
        state = State.DONE if content["command"] == piece.command else State.OTHER
        return PieceStatus(piece, state, content["run"]["date"], content["minutes"])

    def forget(self, piece: Piece) -> None:
        """Remove the results of a piece."""
        self._path(piece).unlink(missing_ok=True)
        shutil.rmtree(self._folder / piece.name, ignore_errors=True)

    def run(self, piece: Piece) -> bool:
        """Run a piece, or continue a stopped run; return whether it has a result.

        The exit status of the benchmark is ignored, as most benchmarks fail if an expectation is
        missed, which is a result too.
        """
        if self.status(piece).state is State.OTHER:
            self.forget(piece)
        work = self._folder / piece.name
        work.mkdir(parents=True, exist_ok=True)
        for old in work.glob("*.json"):
            old.unlink()
        begun = time.perf_counter()
        self._start([*piece.arguments, "--output", str(work)])
        minutes = (time.perf_counter() - begun) / 60
        results = [content for path in work.glob("*.json") if (content := read_json(path))]
        if not results:
            return False
        (content,) = results
        head = {"piece": piece.name, "command": piece.command, "minutes": round(minutes, 2)}
        write_whole(self._path(piece), json.dumps({**head, **content}) + "\n")
        return True

    def _path(self, piece: Piece) -> Path:
        return self._folder / f"{piece.name}.json"

    def _result(self, piece: Piece) -> Any | None:
        return read_json(self._path(piece))


def _benchmark(arguments: Sequence[str]) -> int:
    """Run a benchmark with its tables in files and its progress on this process's output."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    ).returncode
