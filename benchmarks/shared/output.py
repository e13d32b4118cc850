"""Output of the benchmarks: progress to stderr, tables to stdout, and files."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.shared.checks import Check, limits_table
from benchmarks.shared.files import plain, write_whole
from benchmarks.shared.run import RunInfo
from benchmarks.shared.tables import Table

RESULTS = Path(__file__).parents[1] / "results"


@dataclass(frozen=True)
class Results:
    """Results of a benchmark, or of a part of one.

    Attributes
    ----------
    tables : sequence of Table
    checks : sequence of Check
        Expectations, whose table is added to the others.
    raw : object
        All measurements, for JSON, with records as they are; those of a whole benchmark are a
        mapping.
    drawings : sequence of functions
        Functions that draw a figure into a folder and return its path.
    notes : mapping of str to str
        Reasons for missed expectations, by `Check.what`.
    name : str
        Name of the files; that of the benchmark if empty.
    passed : bool
        Whether the command succeeds.
    """

    tables: Sequence[Table]
    checks: Sequence[Check] = ()
    raw: Any = None
    drawings: Sequence[Callable[[Path], Path]] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    passed: bool = True


def join(parts: Sequence[Results], **fields: Any) -> Results | int:
    """Join the results of parts; return 1, the exit status, if there are none.

    Parameters
    ----------
    parts : sequence of Results
        Empty tables are dropped.
    **fields
        Fields of the result that are not joined.
    """
    tables = [table for part in parts for table in part.tables if table.rows]
    checks = [check for part in parts for check in part.checks]
    drawings = [draw for part in parts for draw in part.drawings]
    if not tables and not checks:
        return 1
    return Results(tables, checks, drawings=drawings, **fields)


def publish(results: Results, arguments: Namespace) -> int:
    """Print and write the results, draw the figures, and return the exit status.

    The tables are written to ``NAME.md``. ``NAME.json`` has them in 'tables', from which pages are
    generated, the run in 'run', the checks in 'checks', and the entries of `Results.raw`.
    """
    tables = [*results.tables]
    if results.checks:
        tables.append(limits_table(results.checks, results.notes))
    text = "\n\n".join(table.render() for table in tables) + "\n"
    sys.stdout.write(text)
    folder, name = arguments.output, results.name or arguments.benchmark
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / f"{name}.md", text)
    shown = [table for table in tables if table.rows]
    content = {"run": RunInfo.now(), "tables": shown, **results.raw, "checks": results.checks}
    # The JSON file is written last, as it indicates a finished run.
    write_whole(folder / f"{name}.json", json.dumps(plain(content), indent=1) + "\n")
    say(f"written: {folder / f'{name}.md'}, {folder / f'{name}.json'}")
    if results.drawings and not arguments.no_figures:
        with step("figures"):
            drawn = [draw(arguments.output) for draw in results.drawings]
        say("drawn: " + ", ".join(path.name for path in drawn))
    return 0 if results.passed else 1


@contextmanager
def step(what: str) -> Iterator[None]:
    """Print a step before it starts, and its time afterwards."""
    start = time.perf_counter()
    yield
    say(f"{what}: {time.perf_counter() - start:.1f} s")


def say(line: str) -> None:
    """Print progress to stderr, so that stdout has the tables only."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
