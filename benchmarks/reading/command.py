"""Reading of a large table as by the command line: time, and peak memory relative to the numbers.

A CSV file is generated and read in a separate process. The peak above the memory of interpreter and
libraries must be at most three times the size of the numbers in float64.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.shared.checks import Check
from benchmarks.shared.files import plain
from benchmarks.shared.measuring import resident_bytes, run_alone, with_seconds
from benchmarks.shared.options import add_output_options
from benchmarks.shared.output import Results
from benchmarks.shared.tables import Table

LIMIT = 3.0


@dataclass(frozen=True)
class ReadUse:
    """Time and memory of one reading.

    Attributes
    ----------
    n_rows, n_columns : int
        Rows and numeric columns; there are also an id, a text and a label column.
    file_bytes : int
    numeric_bytes : int
        Size of the numbers in float64.
    peak_bytes : int
        Peak above the memory of the process before reading.
    seconds : float
    """

    n_rows: int
    n_columns: int
    file_bytes: int
    numeric_bytes: int
    peak_bytes: int
    seconds: float

    @property
    def ratio(self) -> float:
        """Ratio of the peak to the size of the numbers."""
        return self.peak_bytes / self.numeric_bytes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks reading``."""
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--text", action="store_true", help="include a text column")
    parser.add_argument("--parquet", action="store_true", help="Parquet instead of CSV")
    add_output_options(parser, "use a tenth of the rows")


def run(arguments: argparse.Namespace) -> Results:
    """Measure a reading; the command fails if the limit is exceeded."""
    n_rows = arguments.rows // 10 if arguments.quick else arguments.rows
    use = measure_reading(n_rows, arguments.columns, text=arguments.text, parquet=arguments.parquet)
    kind = "Parquet" if arguments.parquet else "CSV"
    # The minimum memory of a process is more than three times a small table.
    checks = [] if arguments.quick else [reading_check(use, kind)]
    passed = all(check.passed for check in checks)
    return Results([use_table(use, kind)], checks, plain(use), passed=passed)


def use_table(use: ReadUse, kind: str) -> Table:
    """Return the table of time and memory of one reading."""
    columns: dict[str, Callable[[ReadUse], str]] = {
        "rows": lambda use: f"{use.n_rows:,}",
        "numbers per row": lambda use: str(use.n_columns),
        "file": lambda use: f"{use.file_bytes / 1e6:.0f} MB of {kind}",
        "seconds": lambda use: f"{use.seconds:.2f}",
        "peak": lambda use: f"{use.peak_bytes / 1e6:.0f} MB",
        "numbers": lambda use: f"{use.numeric_bytes / 1e6:.0f} MB",
        "ratio": lambda use: f"{use.ratio:.2f}",
    }
    note = "Numbers in float64; the peak does not include the interpreter and its libraries."
    return Table.of("Reading a table as the command line does", [use], columns, [note])


def reading_check(use: ReadUse, kind: str) -> Check:
    """Check the peak relative to the size of the numbers."""
    what = f"peak of reading {use.n_rows:,} rows of {kind}, in sizes of the numbers"
    return Check.at_most(what, use.ratio, LIMIT)


def measure_reading(
    n_rows: int, n_columns: int, *, text: bool = False, parquet: bool = False
) -> ReadUse:
    """Generate a table, read it in a new process, and remove it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        write_table(path, n_rows, n_columns, text=text)
        if parquet:
            path = _as_parquet(path)
        found = run_alone(read, path)
        return ReadUse(n_rows, n_columns, path.stat().st_size, 8 * n_rows * n_columns, **found)


def write_table(path: Path, n_rows: int, n_columns: int, *, text: bool = False) -> None:
    """Write a CSV file with a label in every hundredth row."""
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(n_columns)]
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(["id", *names, *(["site"] if text else []), "label"]) + "\n")
        for start in range(0, n_rows, 10_000):
            block = rng.standard_normal((min(10_000, n_rows - start), n_columns)).round(6)
            for i, row in enumerate(block.tolist(), start):
                label = "ab"[i // 100 % 2] if i % 100 == 0 else ""
                site = [f"s{i % 7}"] if text else []
                file.write(",".join([f"r{i}", *map(repr, row), *site, label]) + "\n")


def _as_parquet(path: Path) -> Path:
    import polars as pl

    target = path.with_suffix(".parquet")
    pl.scan_csv(path).sink_parquet(target)
    return target


def read(path: Path) -> dict[str, Any]:
    """Read the table in this process, and return time and memory."""
    import polars  # noqa: F401 - its memory is not counted as that of the table

    from lapwing._tables.roles import ReadOptions
    from lapwing._tables.tables import read_table

    before = resident_bytes("VmRSS")
    table, seconds = with_seconds(read_table, path, ReadOptions(label="label", id="id"))
    assert table.labeled.any()
    return {"peak_bytes": resident_bytes("VmHWM") - before, "seconds": seconds}
