"""All benchmarks, in pieces of at most 80 minutes each, or all of them in a quarter of an hour.

A piece is one command in a separate process, and its result is one JSON file. Finished pieces are
not run again, so that the same command continues a stopped run. `--list` shows all pieces, their
states and their times. `python -m benchmarks pages --take` writes the pages of docs/measured from
the results.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.all.running import Pieces, PieceStatus, State
from benchmarks.shared.output import RESULTS, say
from benchmarks.shared.pieces import PIECES, QUICK, Piece
from benchmarks.shared.tables import Table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks all``."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="pieces, or names of benchmarks (default: all)"
    )
    parser.add_argument("--quick", action="store_true", help="a short run of every benchmark")
    parser.add_argument("--list", action="store_true", help="list the pieces without running them")
    parser.add_argument(
        "--minutes",
        type=float,
        default=None,
        help="do not start pieces that are forecast to exceed this time limit in minutes",
    )
    parser.add_argument("--again", action="store_true", help="run finished pieces again")
    parser.add_argument(
        "--output",
        type=Path,
        default=RESULTS,
        metavar="DIR",
        help="folder of the results, in a subfolder all or quick (default: benchmarks/results)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run unfinished pieces; return the exit status, 1 if a piece has no result."""
    known = QUICK if arguments.quick else PIECES
    unknown = set(arguments.names) - {name for piece in known for name in (piece.name, piece.suite)}
    if unknown:
        say(f"No piece is called {', '.join(sorted(unknown))}. `--list` shows the pieces.")
        return 2
    chosen = [p for p in known if not arguments.names or {p.name, p.suite} & set(arguments.names)]
    pieces = Pieces(arguments.output / ("quick" if arguments.quick else "all"))
    if arguments.list:
        sys.stdout.write(pieces_table([pieces.status(piece) for piece in chosen]).render() + "\n")
        return 0
    return run_all(pieces, chosen, arguments.minutes, again=arguments.again)


def run_all(
    pieces: Pieces, chosen: Sequence[Piece], minutes: float | None, *, again: bool = False
) -> int:
    """Run pieces one after the other, continuing after failures."""
    begun, failed, left = time.perf_counter(), [], []
    if again:
        for piece in chosen:
            pieces.forget(piece)
    for piece in chosen:
        status = pieces.status(piece)
        if status.state is State.DONE:
            say(f"{piece.name}: done, {status.date[:10]}")
            continue
        spent = (time.perf_counter() - begun) / 60
        if minutes is not None and spent + status.forecast > minutes:
            left.append(piece.name)
            continue
        say(f"{piece.name}: python -m benchmarks {piece.command}, {_about(status)}")
        try:
            finished = pieces.run(piece)
        except KeyboardInterrupt:
            say(f"\n{piece.name} was stopped; the same command goes on.")
            return 130
        if not finished:
            failed.append(piece.name)
    if left:
        say(f"Not begun, for time: {', '.join(left)}.")
    if failed:
        say(f"Without a result, for what they said above: {', '.join(failed)}.")
    return 1 if failed else 0


def pieces_table(statuses: Sequence[PieceStatus]) -> Table:
    """Return the table of pieces, their states and their minutes."""
    columns: dict[str, Callable[[PieceStatus], str]] = {
        "piece": lambda s: s.piece.name,
        "state": lambda s: f"{s.state.value} {s.date[:10]}".strip(),
        "minutes": lambda s: f"{s.forecast:.1f}",
        "command": lambda s: f"python -m benchmarks {s.piece.command}",
    }
    open_ = sum(s.forecast for s in statuses if s.state is not State.DONE)
    notes = [f"{open_:.0f} minutes of two quiet cores are left to run."]
    return Table.of("Pieces", statuses, columns, notes)


def _about(status: PieceStatus) -> str:
    return f"about {status.forecast:.0f} minutes" if status.forecast >= 1 else "a minute"
