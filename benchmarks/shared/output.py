"""What every benchmark does with its results: progress to stderr, tables to stdout, files."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.shared.tables import Table

RESULTS = Path(__file__).parents[1] / "results"


def write_results(folder: Path, name: str, tables: Sequence[Table], raw: Mapping[str, Any]) -> None:
    """Print the tables; keep them as ``name.md`` and everything measured as ``name.json``."""
    text = "\n\n".join(table.render() for table in tables) + "\n"
    sys.stdout.write(text)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    content = json.dumps({"machine": machine(), **raw}, indent=1) + "\n"
    (folder / f"{name}.json").write_text(content, encoding="utf-8")
    say(f"written: {folder / f'{name}.md'}, {folder / f'{name}.json'}")


def machine() -> dict[str, str | int | None]:
    """What times depend on."""
    versions = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {"python": platform.python_version(), "cores": os.cpu_count(), **versions}


@contextmanager
def step(what: str) -> Iterator[None]:
    """Tell what is being done, and how long it took."""
    start = time.perf_counter()
    yield
    say(f"{what}: {time.perf_counter() - start:.1f} s")


def say(line: str) -> None:
    """Progress goes to stderr, so that stdout holds the tables only."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
