"""Reader of CSV files.

Python's own parser and not a data frame library's: those fill short lines with nulls without a
word (in a table whose last column is the label, a cut line would become an unlabelled row), rename
repeated columns, and cannot say in which line they failed. Numbers go straight to a flat array, so
that the peak of memory is little above the numbers' own size.
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from lapwing._columns import ColumnRoles, RawTable, Selection, TextCells, as_text, reject_text

__all__ = ["read_csv"]

_SEPARATORS = ",;\t|"
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})
_TRUTH = {"true": 1.0, "false": 0.0}


def read_csv(file: Path, selection: Selection) -> RawTable:
    """Read a CSV file; see `lapwing.tables.read_table`."""
    with file.open("rb") as opened:
        lines = _text_lines(opened, file)
        header = next(lines)
        separator = max(_SEPARATORS, key=header.count)
        reader = csv.reader(
            _chain(header, lines), delimiter=separator, strict=True, skipinitialspace=True
        )
        try:
            names = [name.strip() for name in next(reader)]
            roles = selection.resolve(names, str(file))
            return _read_rows(reader, names, roles, file)
        except csv.Error as error:
            raise ValueError(
                f"{file}: line {reader.line_num} is not valid CSV ({error}); check its quotes."
            ) from None


def _text_lines(opened: BinaryIO, file: Path) -> Iterator[str]:
    for number, raw in enumerate(opened, start=1):
        if number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            raise ValueError(
                f"{file}: line {number} is not UTF-8 text. If this is a CSV file save it as UTF-8; "
                "if it is of another format give it that format's extension."
            )
        yield text


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _read_rows(reader: Any, names: Sequence[str], roles: ColumnRoles, file: Path) -> RawTable:
    values = array("d")
    labels: list[str] = []
    ids: list[str] = []
    texts: dict[str, TextCells] = {}
    for row in reader:
        if not row:
            continue
        if len(row) != len(names):
            raise ValueError(
                f"{file}: line {reader.line_num} has {len(row)} fields, but the first line names "
                f"{len(names)} columns."
            )
        cells = [row[j] for j in roles.features]
        try:
            numbers = list(map(float, cells))
        except ValueError:
            numbers = [
                _number(cell.strip(), names[j], len(labels) + 1, texts)
                for cell, j in zip(cells, roles.features, strict=True)
            ]
        values.fromlist(numbers)
        labels.append(row[roles.label].strip())
        if roles.id is not None:
            ids.append(row[roles.id].strip())
    reject_text(texts, len(labels), str(file))
    numbers_read = np.frombuffer(values, dtype=np.float64) if values else np.empty(0)
    return RawTable(
        numbers_read.reshape(len(labels), len(roles.features)),
        tuple(names[j] for j in roles.features),
        as_text(labels),
        None if roles.id is None else as_text(ids),
    )


def _number(cell: str, name: str, row: int, texts: dict[str, TextCells]) -> float:
    """Read a cell of a row in which not all cells are plain numbers."""
    try:
        return float(cell)
    except ValueError:
        word = cell.lower()
    if word in _MISSING:
        return float("nan")
    if word not in _TRUTH:
        texts.setdefault(name, TextCells(0, row, cell)).count += 1
    return _TRUTH.get(word, float("nan"))
