"""Small CSV tables as rows of texts: made up, written, read back and filled in."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import polars as pl
from python_calamine import CalamineWorkbook
from sklearn.datasets import make_blobs

Rows = list[dict[str, str]]


def write(path: str, rows: Rows, delimiter: str = ",", encoding: str = "utf-8") -> None:
    """Write rows of the same columns."""
    with Path(path).open("w", newline="", encoding=encoding) as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def read(path: str, delimiter: str = ",", encoding: str = "utf-8") -> Rows:
    """Read rows without conversions."""
    with Path(path).open(newline="", encoding=encoding) as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def table(n: int = 40, **columns: list[str]) -> Rows:
    """Two groups, two labels in each, and names of the rows."""
    X, group = make_blobs(n, centers=[[0, 0], [5, 5]], random_state=0)
    rows = []
    for i in range(n):
        known = np.flatnonzero(group == group[i])[:2]
        row = {"name": f"r{i}", "a": f"{X[i, 0]:.3f}", "b": f"{X[i, 1]:.3f}"}
        row |= {column: cells[i] for column, cells in columns.items()}
        rows.append(row | {"y": "uv"[group[i]] if i in known else ""})
    return rows


def truth(row: dict[str, str]) -> str:
    """Return the group of a row of `table`."""
    return "u" if float(row.get("a", 0)) < 2.5 else "v"


def fill(path: str, label: str = "y", **how: str) -> Rows:
    """Label the rows of a file by their groups."""
    rows = [row | {label: truth(row)} for row in read(path, **how)]
    write(path, rows, **how)
    return rows


def sheet(path: str) -> pl.DataFrame:
    """Read a Parquet file or the first sheet of a spreadsheet; empty cells are missing."""
    if path.endswith(".parquet"):
        return pl.read_parquet(path)
    names, *rows = CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python()
    cells = [[None if cell == "" else cell for cell in row] for row in rows]
    return pl.DataFrame(cells, schema=names, orient="row", infer_schema_length=None)
