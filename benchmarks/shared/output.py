"""Output of the benchmarks: progress to stderr, tables to stdout, and files."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.shared.files import write_whole
from benchmarks.shared.run import RunInfo
from benchmarks.shared.tables import Table

RESULTS = Path(__file__).parents[1] / "results"


def write_results(folder: Path, name: str, tables: Sequence[Table], raw: Mapping[str, Any]) -> None:
    """Print the tables; write them to ``name.md`` and, with all measurements, ``name.json``.

    The JSON file has the run in 'run' and the tables in 'tables', from which pages are generated,
    besides the entries of `raw`.
    """
    text = "\n\n".join(table.render() for table in tables) + "\n"
    sys.stdout.write(text)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / f"{name}.md", text)
    shown = [asdict(table) for table in tables if table.rows]
    content = {"run": RunInfo.now().as_json(), "tables": shown, **raw}
    # The JSON file is written last, as it indicates a finished run.
    write_whole(folder / f"{name}.json", json.dumps(content, indent=1) + "\n")
    say(f"written: {folder / f'{name}.md'}, {folder / f'{name}.json'}")


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
