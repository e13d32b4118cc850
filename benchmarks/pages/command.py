"""Write the pages of docs/measured from the results stored there.

With --take, results of `python -m benchmarks all` are copied first: the run and the tables of each
finished piece, without raw measurements.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.pages.writing import all_pages
from benchmarks.shared.files import read_json, write_whole
from benchmarks.shared.measured import DOCS, KEPT, StoredResult, read_results
from benchmarks.shared.output import RESULTS, say
from benchmarks.shared.pieces import PIECES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks pages``."""
    parser.add_argument(
        "--take",
        type=Path,
        nargs="?",
        const=RESULTS / "all",
        metavar="DIR",
        help="import finished pieces first (default: those in benchmarks/results/all)",
    )
    parser.add_argument("--output", type=Path, default=DOCS, help="folder of the pages")


def run(arguments: argparse.Namespace) -> int:
    """Copy results and write the pages; return the exit status, 1 if there are no results."""
    if arguments.take is not None and not import_results(arguments.take, KEPT):
        say(f"No finished piece in {arguments.take}: run `python -m benchmarks all` first.")
        return 1
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name, text in all_pages(read_results(KEPT)).items():
        write_whole(arguments.output / name, text)
        say(f"written: {arguments.output / name}")
    return 0


def import_results(folder: Path, kept: Path) -> list[Path]:
    """Store the finished pieces of a folder, and return their files."""
    kept.mkdir(parents=True, exist_ok=True)
    written = []
    for piece in PIECES:
        content = read_json(folder / f"{piece.name}.json")
        # Results of another command than the present one are those of another piece.
        if content is not None and content["command"] == piece.command:
            written.append(StoredResult.of(content).write(kept))
            say(f"taken: {piece.name}, {content['run']['date'][:10]}")
    return written
