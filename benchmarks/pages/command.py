"""Make the pages of docs/measured from the results that are kept there.

With --take, results of `python -m benchmarks all` are taken over first: of each finished piece its
run and its tables, without what else was measured.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.pages.writing import all_pages
from benchmarks.shared.files import read_json, write_whole
from benchmarks.shared.measured import DOCS, KEPT, Measured, read_measured
from benchmarks.shared.output import RESULTS, say
from benchmarks.shared.pieces import PIECES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of ``python -m benchmarks pages``."""
    parser.add_argument(
        "--take",
        type=Path,
        nargs="?",
        const=RESULTS / "all",
        metavar="DIR",
        help="take over finished pieces first (default: those in benchmarks/results/all)",
    )
    parser.add_argument("--output", type=Path, default=DOCS, help="folder of the pages")


def run(arguments: argparse.Namespace) -> int:
    """Take over, and write; the exit status is 1 if there is nothing to take over."""
    if arguments.take is not None and not take(arguments.take, KEPT):
        say(f"No finished piece in {arguments.take}: run `python -m benchmarks all` first.")
        return 1
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name, text in all_pages(read_measured(KEPT)).items():
        write_whole(arguments.output / name, text)
        say(f"written: {arguments.output / name}")
    return 0


def take(folder: Path, kept: Path) -> list[Path]:
    """Keep the finished pieces of a folder; files of what was kept."""
    kept.mkdir(parents=True, exist_ok=True)
    written = []
    for piece in PIECES:
        content = read_json(folder / f"{piece.name}.json")
        # What was measured by another command than today's is another piece's.
        if content is not None and content["command"] == piece.command:
            written.append(Measured.of(content).write(kept))
            say(f"taken: {piece.name}, {content['run']['date'][:10]}")
    return written
