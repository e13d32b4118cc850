"""Reading tables in tests: options as keywords."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.io
import scipy.sparse as sp
import xlsxwriter

from lapwing._tables import tables
from lapwing._tables.roles import ReadOptions
from lapwing._tables.tables import Fitted, Table


def read(path: Any, **options: Any) -> Table:
    """Read a table whose labels are in the column `y`."""
    return tables.read_table(path, ReadOptions(**{"label": "y"} | options))


def write(path: Path, content: Any) -> Path:
    """Write text, bytes, a frame, a matrix, arrays (as .npz) or the rows of a spreadsheet."""
    if isinstance(content, pl.DataFrame):
        content.write_parquet(path)
    elif sp.issparse(content):
        scipy.io.mmwrite(path, content)
    elif isinstance(content, np.ndarray | dict):
        with path.open("wb") as file:  # NumPy would append its extension to another name
            if isinstance(content, dict):
                np.savez(file, **content)
            else:
                np.save(file, content)
    elif isinstance(content, list):
        write_book(path, S=content)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def write_book(path: Path, **sheets: Iterable[Sequence[Any]]) -> Path:
    """Write a spreadsheet with the rows of its sheets by name."""
    with xlsxwriter.Workbook(path) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for i, row in enumerate(rows):
                for j, value in enumerate(row):
                    if value is not None:
                        sheet.write(i, j, value)
    return path


def fitted(table: Table, impute: str = "median") -> Fitted:
    """Return the description of the table in a model file."""
    return Fitted.from_info({**table.describe(), "impute": impute})


def read_strictly(path: Any, label: str | None = None, **options: Any) -> Table:
    """Read a table in which nothing is guessed or left out."""
    given = {name: tuple(v) if isinstance(v, list) else v for name, v in options.items()}
    return tables.read_table(
        path, ReadOptions(label=label, **{"strict": True, "missing": False} | given)
    )


def rows(cells: str, end: str = "\n", n: int = 30) -> str:
    """Lines of a table; {a}, {b}, {c} are digits that repeat, {i} counts, {y} has nine labels."""
    values = (
        {"a": i % 7, "b": i % 5, "c": 1 + i % 4, "i": i, "y": "ab"[i % 2] if i < 9 else ""}
        for i in range(n)
    )
    return "".join(cells.format(**one) + end for one in values)
