"""Reader of CSV files.

Python's own parser and not a data frame library's: those fill short lines with nulls without a
word (in a table whose last column is the label, a cut line would become an unlabelled row), rename
repeated columns, and cannot say in which line they failed. Numbers go straight to a flat array, so
that the peak of memory is little above the numbers' own size; which columns are text is known only
at the end, so those are read in a second pass.
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from lapwing._tables.columns import (
    MAX_VALUES,
    ColumnRoles,
    RawTable,
    Selection,
    TextCells,
    as_text,
    reject_cells,
    split_text_columns,
    too_many_values,
)
from lapwing._tables.source import Source

__all__ = ["read_csv"]

_SEPARATORS = ",;\t|"
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})
_TRUTH = {"true": 1.0, "false": 0.0}


def read_csv(source: Source, selection: Selection) -> RawTable:
    """Read a CSV file; see `lapwing._tables.tables.read_table`."""
    with _rows(source) as (names, rows):
        roles = selection.resolve(names, str(source))
        known = [names[j] for j in roles.features if names[j] in selection.categorical]
        numeric, columns, texts = _read_rows(rows, names, roles, known, source)
    n = len(columns["label"]) if roles.label is not None else columns["n"]
    numbers = np.frombuffer(numeric, dtype=np.float64) if numeric else np.empty(0)
    numeric_names = [names[j] for j in roles.features if names[j] not in known]
    X = numbers.reshape(n, len(numeric_names))
    found, unusable = _judge_text(texts, numeric_names, X, source, selection)
    categories = {name: columns[name] for name in known}
    if found:
        more, too_many = _read_text(source, names, found, n, selection.lenient)
        categories |= more
        unusable |= too_many
    gone = {*found, *unusable}
    if gone:
        X = X[:, [j for j, name in enumerate(numeric_names) if name not in gone]]
    return RawTable(
        X,
        tuple(names[j] for j in roles.features if names[j] not in unusable),
        None if roles.label is None else as_text(columns["label"]),
        None if roles.id is None else as_text(columns["id"]),
        {name: as_text(column) for name, column in categories.items()},
        {names[j]: as_text(columns[j]) for j in roles.others},
        unusable=unusable,
        ignored=tuple(names[j] for j in roles.ignored),
        left_out=tuple(names[j] for j in roles.left_out),
    )


@contextmanager
def _rows(source: Source) -> Iterator[tuple[list[str], Any]]:
    """Give the names of the columns and an iterator of rows, all of the same length."""
    with source.open() as opened:
        lines = _text_lines(opened, source)
        header = next(lines)
        separator = max(_SEPARATORS, key=header.count)
        reader = csv.reader(
            _chain(header, lines), delimiter=separator, strict=True, skipinitialspace=True
        )
        try:
            names = [name.strip() for name in next(reader)]
            yield names, _checked(reader, len(names), source)
        except csv.Error as error:
            raise ValueError(
                f"{source}: line {reader.line_num} is not valid CSV ({error}); check its quotes."
            ) from None


def _text_lines(opened: BinaryIO, source: Source) -> Iterator[str]:
    for number, raw in enumerate(opened, start=1):
        if number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            raise ValueError(
                f"{source}: line {number} is not UTF-8 text. If this is a CSV file save it as "
                "UTF-8; if it is of another format give it that format's extension."
            )
        yield text


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _checked(reader: Any, n_columns: int, source: Source) -> Iterator[list[str]]:
    for row in reader:
        if not row:
            continue
        if len(row) != n_columns:
            raise ValueError(
                f"{source}: line {reader.line_num} has {len(row)} fields, but the first line names "
                f"{n_columns} columns."
            )
        yield row


def _read_rows(
    rows: Iterator[list[str]],
    names: Sequence[str],
    roles: ColumnRoles,
    known: Collection[str],
    source: Source,
) -> tuple[array[float], dict[Any, Any], dict[str, TextCells]]:
    """First pass: numbers, the columns with a role, and where numeric columns hold text."""
    values = array("d")
    numeric = [j for j in roles.features if names[j] not in known]
    wanted: dict[Any, int] = {names[j]: j for j in roles.features if names[j] in known}
    wanted |= {j: j for j in roles.others}
    wanted |= {} if roles.label is None else {"label": roles.label}
    wanted |= {} if roles.id is None else {"id": roles.id}
    columns: dict[Any, Any] = {key: [] for key in wanted}
    texts: dict[str, TextCells] = {}
    shared: dict[str, str] = {}  # a label is one Python text, however many rows have it
    n = 0
    for row in rows:
        n += 1
        cells = [row[j] for j in numeric]
        try:
            numbers = list(map(float, cells))
        except ValueError:
            numbers = []
            for cell, j in zip(cells, numeric, strict=True):
                try:
                    numbers.append(float(cell))
                except ValueError:
                    numbers.append(_word(cell.strip(), names[j], n, texts))
        values.fromlist(numbers)
        for key, j in wanted.items():
            cell = row[j].strip()
            columns[key].append(cell if key == "id" else shared.setdefault(cell, cell))
    for name in known:
        columns[name] = [None if v.lower() in _MISSING else v for v in columns[name]]
    return values, {**columns, "n": n}, texts


def _word(cell: str, name: str, row: int, texts: dict[str, TextCells]) -> float:
    """Read a cell that is not plainly a number: missing, a truth value, or text, which is noted."""
    word = cell.lower()
    if word in _MISSING:
        return float("nan")
    if word not in _TRUTH:
        texts.setdefault(name, TextCells(0, row, cell)).count += 1
    return _TRUTH.get(word, float("nan"))


def _judge_text(
    texts: dict[str, TextCells],
    names: list[str],
    X: NDArray[Any],
    source: Source,
    selection: Selection,
) -> tuple[list[str], dict[str, str]]:
    """Tell columns of text from numeric columns with bad cells, which are an error."""
    unusable: dict[str, str] = {}
    filled = {
        name: cells.count + int(np.count_nonzero(~np.isnan(X[:, names.index(name)])))
        for name, cells in texts.items()
    }
    found = [] if selection.expected else split_text_columns(texts, filled)
    for name, cells in texts.items():
        if name in found:
            continue
        if not selection.lenient:
            reject_cells(name, cells, str(source))
        unusable[name] = f"text in {cells.count} of its cells, first in row {cells.row}"
    return found, unusable


def _read_text(
    source: Source, names: list[str], wanted: list[str], n: int, lenient: bool
) -> tuple[dict[str, list[str | None]], dict[str, str]]:
    """Second pass: the columns of text, given up as soon as they have too many values."""
    seen: dict[str, dict[str, str]] = {name: {} for name in wanted}
    columns: dict[str, list[str | None]] = {name: [] for name in wanted}
    firsts: dict[str, str] = {}
    limit = min(MAX_VALUES, n // 2)
    open_columns = {name: names.index(name) for name in wanted}
    with _rows(source) as (_, rows):
        for row in rows:
            for name, j in list(open_columns.items()):
                cell = row[j].strip()
                if cell.lower() in _MISSING:
                    columns[name].append(None)
                    continue
                firsts.setdefault(name, cell)
                columns[name].append(seen[name].setdefault(cell, cell))
                if len(seen[name]) > limit:
                    del open_columns[name], columns[name]
    many = {name: len(seen[name]) for name in wanted if name not in columns}
    if many and not lenient:
        raise ValueError(too_many_values(many, firsts, str(source)))
    return columns, dict.fromkeys(many, f"text with more than {limit} values")
