"""Run the README's commands and write down what they print: ``docs/transcript.txt``.

Run from anywhere: ``python docs/make_transcript.py`` writes the file, ``--check`` compares only and
fails if it differs, and ``--tables`` writes the tables of the commands into the folder one is in.
They are scikit-learn's wine data with three labels per class; times, which differ from run to run,
are left out.
"""

from __future__ import annotations

import csv
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import numpy as np
from sklearn.datasets import load_wine

from lapwing._app.cli import main as main_of_lapwing

ROOT = Path(__file__).resolve().parents[1]
TRANSCRIPT = ROOT / "docs" / "transcript.txt"
COMMANDS = (
    "lapwing info wines.csv --label cultivar --id bottle",
    "lapwing fit wines.csv --label cultivar --id bottle --predictions predictions.csv "
    "--model wine.lapwing --report wine.html",
    "head -n 3 predictions.csv",
    "lapwing predict wine.lapwing new.csv --predictions new-predictions.csv",
    "lapwing fit wines.csv --label cultivar --id bottle --set graph.n_neighbours=15",
    "lapwing fit wines.csv --label cultivr --id bottle",
)
_SECONDS = re.compile(r"( {2,})?\b\d+(\.\d+)? (?:s|min)\b")
_DIGITS = re.compile(r"(\d\.\d{4})\d{4,}")  # the last digits depend on the machine


def write_tables(folder: Path) -> None:
    """Write the wines with three labels per class, and some without the column of labels."""
    data = load_wine()
    names = ["bottle", *(name.replace("/", "_") for name in data.feature_names), "cultivar"]
    kinds = np.array(["Barolo", "Grignolino", "Barbera"])[data.target]
    given = np.concatenate([np.flatnonzero(data.target == c)[:3] for c in range(3)])
    rows = [
        [f"b{i:03d}", *row, kinds[i] if i in given else ""]
        for i, row in enumerate(data.data.tolist())
    ]
    for name, wanted, columns in (("wines.csv", rows, None), ("new.csv", rows[::20], -1)):
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(row[:columns] for row in [names, *wanted])


def transcript(commands: Sequence[str] = COMMANDS) -> str:
    """Run commands in a folder of their own; a time is written as ``… s``."""
    parts = []
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder))
        for command in commands:
            words = shlex.split(command)
            lines = [line.rstrip() for line in run(words, Path(folder)).splitlines()]
            parts.append("\n".join([f"$ {command}", *(line for line in lines if line)]))
    return _DIGITS.sub(r"\1…", _SECONDS.sub(_hide, "\n\n".join(parts))) + "\n"


def run(words: list[str], folder: Path) -> str:
    """Run a command in a folder, lapwing in this process, and return all that it prints."""
    if words[0] != "lapwing":
        return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout
    # One thread: some forecasts of memory depend on how many there are.
    one_thread = mock.patch.dict(os.environ, {"OMP_NUM_THREADS": "1"})
    printed = io.StringIO()
    with chdir(folder), one_thread, redirect_stdout(printed), redirect_stderr(printed):
        main_of_lapwing(words[1:])
    return printed.getvalue()


def _hide(time: re.Match[str]) -> str:
    # In a table the column stays as wide as it was: 1 s is as good an answer as 0.1 s.
    return "… s".rjust(len(time[0])) if time[1] else "… s"


def main() -> int:
    """Write or check the transcript, or write its tables."""
    if "--tables" in sys.argv[1:]:
        write_tables(Path())
        print("written: wines.csv and new.csv")
        return 0
    text = transcript()
    if "--check" in sys.argv[1:]:
        same = TRANSCRIPT.is_file() and TRANSCRIPT.read_text(encoding="utf-8") == text
        print("the transcript is true" if same else "docs/transcript.txt differs: make it again")
        return 0 if same else 1
    TRANSCRIPT.write_text(text, encoding="utf-8", newline="\n")
    print(f"written: {TRANSCRIPT.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
