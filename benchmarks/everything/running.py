"""Pieces in processes of their own, and what they left in a folder.

A piece that is finished has a file NAME.json, written whole: what the benchmark measured, with its
run, the name of the piece and its command. Until then all it has is a folder NAME, from which those
benchmarks go on that keep what they have done.
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
    """Where a piece stands."""

    DONE = "done"
    BEGUN = "begun"
    OTHER = "done with another command"
    OPEN = "-"


@dataclass(frozen=True)
class Standing:
    """A piece and what there is of it.

    Attributes
    ----------
    piece : Piece
    state : State
    date : str
        Of the result.
    minutes : float or None
        That it took.
    """

    piece: Piece
    state: State
    date: str = ""
    minutes: float | None = None

    @property
    def forecast(self) -> float:
        """Minutes that it will take: those that it took here, or the table's."""
        return self.piece.minutes if self.minutes is None else self.minutes


class Pieces:
    """The pieces of a folder."""

    def __init__(self, folder: Path, start: Start | None = None) -> None:
        self._folder = folder.resolve()
        self._start = _benchmark if start is None else start

    def standing(self, piece: Piece) -> Standing:
        """What there is of a piece."""
        content = self._result(piece)
        if content is None:
            begun = (self._folder / piece.name).is_dir()
            return Standing(piece, State.BEGUN if begun else State.OPEN)
        state = State.DONE if content["command"] == piece.command else State.OTHER
        return Standing(piece, state, content["run"]["date"], content["minutes"])

    def forget(self, piece: Piece) -> None:
        """Remove what there is of a piece."""
        self._path(piece).unlink(missing_ok=True)
        shutil.rmtree(self._folder / piece.name, ignore_errors=True)

    def run(self, piece: Piece) -> bool:
        """Run a piece, going on with what a stopped run has left; whether it has a result now.

        The status of the benchmark is not asked: most fail where an expectation is missed, and
        that is a result too.
        """
        if self.standing(piece).state is State.OTHER:
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
    """Tables go into files; progress goes where this process has it."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    ).returncode
