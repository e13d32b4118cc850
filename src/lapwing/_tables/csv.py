"""Reader of CSV files.

It uses Python's parser and not that of a data frame library. Polars silently fills short lines with
nulls (if the last column is the label, a truncated line would become an unlabelled row), renames
duplicate columns, and does not report the line of an error. pyarrow reports short lines and keeps
names, but counts rows and not lines. It read 60,000 rows of 20 numbers, all cells as texts, in a
fifth of the processor time, but with peak memory of ten times the size of the numbers, compared to
two for this reader (three with a column of text), and takes 170 MB on disk.

Numbers are written directly to a flat array, so that peak memory is little more than the size of
the numbers; other cells are kept as texts.
"""

from __future__ import annotations

import csv
import math
import re
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lapwing._tables.cells import Cells, as_text, plain_number, unambiguous_number, usual_mark
from lapwing._tables.columns import Dialect, RawTable, TextColumn
from lapwing._tables.inference import marks_of_table
from lapwing._tables.roles import SEPARATORS, ColumnRoles, ReadOptions, Selection
from lapwing._tables.source import ENCODING_NAMES, Source, find_encoding, open_text
from lapwing._words import visible

_SEPARATORS = ",;\t|"
_LINES_SEARCHED = 30  # lines in which the column names are searched
_EMPTY = f'{_SEPARATORS}" \r\n'  # characters of a line with empty cells only
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # for Excel, before the names
_QUOTED = re.compile(r'"[^"]*"')
_OPEN_QUOTE = re.compile(rf'(?:^|[{_SEPARATORS}])\s*"')  # of a cell that ends in a later line
# Ambiguous numbers, in a line of cells that each begin with NUL; other lines need no further check.
# The literal NUL in front makes the search some ten times faster.
_AMBIGUOUS = re.compile(r"\0\s*[+-]?0\d")
_AMBIGUOUS_OR_GROUPED = re.compile(r"\0\s*[+-]?(?:0\d|[1-9]\d{0,2}\.\d{3}\s*(?:\0|$))")


@dataclass(frozen=True)
class _Layout:
    """Notation of a file."""

    encoding: str
    separator: str
    header: int  # lines before the names
    titles: bool = False  # whether some of these lines are not empty


def read_csv(source: Source, selection: Selection) -> RawTable:
    """Read a CSV file; see `lapwing._tables.tables.read_table`."""
    layout = _find_layout(source, selection)
    with _rows(source, layout) as (header, _):
        roles = selection.find(header, str(source))
    remarks = [*roles.remarks]
    # If columns are separated by semicolons, the comma may be the decimal mark.
    usual = "," if layout.separator == ";" else ""
    decimal = usual if selection.decimal == "auto" else selection.decimal
    grouped = not selection.strict and (selection.grouped or decimal == ",")
    empty_rows = selection.strict or selection.empty_rows
    raw = _read(source, layout, roles, grouped, empty_rows)
    if not (grouped or selection.strict) and marks_of_table(raw.cells)[","]:
        raw = _read(source, layout, roles, True, empty_rows)
    if layout.titles:
        remarks.append(f"the names of the columns are in line {layout.header + 1}")
    if layout.encoding in ENCODING_NAMES:
        remarks.append(f"read as {ENCODING_NAMES[layout.encoding]}")
    mark = _decimal_of(raw.cells, decimal, selection)
    # UTF-16 of either byte order is written with a byte order mark.
    codec = "utf-16" if layout.encoding.startswith("utf-16") else layout.encoding
    return replace(
        raw, remarks=tuple(remarks), decimal=usual, dialect=Dialect(layout.separator, mark, codec)
    )


def _decimal_of(cells: Mapping[str, Cells], usual: str, options: ReadOptions) -> str:
    """Return the decimal mark of a file."""
    if options.strict or options.decimal != "auto":
        return "," if options.decimal == "," else "."
    found = usual_mark(marks_of_table(cells))
    # Numbers that Python reads have points, if they have a fraction.
    points = sum(one.fractions.size > 0 for one in cells.values())
    commas = sum(usual_mark(one.marks) == "," for one in cells.values())
    if points and (not found or (points >= commas and not usual)):
        return "."
    return found or usual or "."


def _find_layout(source: Source, options: ReadOptions) -> _Layout:
    """Find encoding, separator and header by the first filled lines."""
    encoding = find_encoding(source, utf8_only=options.strict)
    asked, first = SEPARATORS[options.separator], options.skip_lines or 0
    filled: list[tuple[int, str]] = []
    with open_text(source, encoding) as lines:
        for before, line in enumerate(lines):
            declared = _SEPARATOR_LINE.fullmatch(line) if before == 0 else None
            if declared is not None:
                asked = asked or declared[1]
            elif filled and before - filled[-1][0] < _LINES_SEARCHED and _is_open(filled[-1][1]):
                filled[-1] = filled[-1][0], filled[-1][1] + line
            elif before >= first and line.strip(_EMPTY):
                filled.append((before, line))
                if len(filled) == _LINES_SEARCHED:
                    break
    if not filled:
        lines_above = "line" if first == 1 else f"{first} lines"
        rest = f" below its first {lines_above}" if first else ""
        raise ValueError(f"{source} is empty{rest}.")
    position = 0
    if options.skip_lines is None and not options.strict:
        position = _header_position([line for _, line in filled], asked)
    header, line = filled[position]
    # Commas in quoted names separate nothing.
    separator = asked or max(_SEPARATORS, key=_QUOTED.sub("", line).count)
    return _Layout(encoding, separator, header, position > 0)


def _is_open(line: str) -> bool:
    """Return whether the last cell of a line goes on in the next one."""
    return _OPEN_QUOTE.search(_QUOTED.sub("", line)) is not None


def _header_position(lines: Sequence[str], asked: str) -> int:
    """Find the line of the names; titles above it fill at most half of the columns."""

    def cells(line: str, separator: str) -> list[str]:
        try:
            return next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
        except csv.Error:
            return []

    def usual_width(separator: str) -> tuple[int, int]:
        """Count the lines with the usual number of cells, and return that number."""
        widths = sorted(len(cells(line, separator)) for line in lines)
        usual = widths[len(widths) // 2]
        return (widths.count(usual) if usual > 1 else 0), usual

    # The largest number of cells is not a criterion: decimal commas split the rows, but not the
    # names.
    separator = max(asked or _SEPARATORS, key=usual_width)
    _, width = usual_width(separator)
    rows = [[cell.strip() for cell in cells(line, separator)] for line in lines]
    position = next((k for k, row in enumerate(rows) if 2 * sum(map(bool, row)) > width), 0)
    if not position or position + 1 == len(rows):
        return 0
    names, row = rows[position], rows[position + 1]
    # A row of numbers is not a header: then there is another problem with the first line.
    no_header = len(names) != len(row) or any(plain_number(name) is not None for name in names)
    # A title is at the start of its line; a header may lack the name of the first column, the ids.
    titled = all(above[:1] != [""] for above in rows[:position])
    return position if titled and not no_header else 0


@contextmanager
def _rows(source: Source, layout: _Layout) -> Iterator[tuple[list[str], Iterator[list[str]]]]:
    """Return the names of the columns and an iterator of rows, all of the same length."""
    # The limit is global: an embedding or a long text in one cell exceeds its default.
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        with open_text(source, layout.encoding) as lines:
            for _ in range(layout.header):
                next(lines)
            reader = csv.reader(
                lines, delimiter=layout.separator, strict=True, skipinitialspace=True
            )
            try:
                names = [_without_formula(visible(name)) for name in next(reader, [])]
                yield names, _check_widths(reader, len(names), source, layout)
            except csv.Error as error:
                raise ValueError(
                    f"{source}: line {reader.line_num + layout.header} is not valid CSV ({error}); "
                    "check its quotes."
                ) from None
    finally:
        csv.field_size_limit(before)


def _check_widths(
    reader: Any, n_columns: int, source: Source, layout: _Layout
) -> Iterator[list[str]]:
    """Yield the rows; raise ValueError for a row without a cell for each column."""
    first = True
    for row in filter(None, reader):
        if len(row) != n_columns:
            where = "the first line" if layout.header == 0 else f"line {layout.header + 1}"
            fields = "1 field" if len(row) == 1 else f"{len(row)} fields"
            cure = (
                f"An empty cell needs its {layout.separator!r} too: add what is missing there, or "
                "take the line out."
            )
            if len(row) > n_columns:
                cure = f"Put cells that contain {layout.separator!r} in quotes."
                if first:
                    cure += (
                        " If the names are in a later line, say how many lines stand above it, "
                        f"such as --skip-lines {layout.header + 1}."
                    )
            raise ValueError(
                f"{source}: line {reader.line_num + layout.header} has {fields}, but {where} names "
                f"{n_columns} columns. {cure}"
            )
        first = False
        yield row


def _read(
    source: Source, layout: _Layout, roles: ColumnRoles, grouped: bool, empty_rows: bool
) -> RawTable:
    """Read the columns with a role, with or without the rows that are empty.

    Ambiguous numbers, which `float` would accept, remain texts.
    """
    values = array("d")
    position = {name: j for j, name in enumerate(roles.names)}
    features = [position[name] for name in roles.features]
    wanted: dict[str, tuple[int, list[str]]] = {name: (position[name], []) for name in roles.texts}
    texts: list[tuple[array[int], list[str]]] = [(array("q"), []) for _ in features]
    shared: dict[str, str] = {}  # equal labels share one Python string
    ambiguous = _AMBIGUOUS_OR_GROUPED if grouped else _AMBIGUOUS
    n = n_empty = 0
    with _rows(source, layout) as (_, rows):
        for row in rows:
            if not (empty_rows or any(map(str.strip, row))):
                n_empty += 1
                continue
            cells = [row[j] for j in features]
            try:
                numbers = list(map(float, cells))
                line = "\0".join(["", *cells])
                unambiguous = "_" not in line and ambiguous.search(line) is None
            except ValueError:
                unambiguous = False
            if not unambiguous:
                numbers = []
                for cell, known in zip(cells, texts, strict=True):
                    numbers.append(_number(visible(cell), n, known, shared, grouped))
            values.fromlist(numbers)
            for name, (j, column) in wanted.items():
                cell = _without_formula(visible(row[j]))
                column.append(cell if name == roles.id else shared.setdefault(cell, cell))
            n += 1
    X = np.frombuffer(values, dtype=np.float64) if values else np.empty(0)
    X = X.reshape(n, len(features))
    held = zip(roles.features, X.T, texts, strict=True)
    return RawTable(
        n,
        roles,
        {name: Cells(x, np.array(at, np.int64), as_text(own)) for name, x, (at, own) in held},
        # Popped, so that there is one copy at a time.
        {name: TextColumn(as_text(wanted.pop(name)[1])) for name in roles.texts},
        X if features else None,
        n_empty=n_empty,
    )


def _without_formula(cell: str) -> str:
    """Return the text of a cell, without the formula ="007" that preserves leading zeros."""
    if cell.startswith('="') and cell.endswith('"') and len(cell) > 2:
        return cell[2:-1].replace('""', '"').strip()
    return cell


def _number(
    cell: str, row: int, texts: tuple[array[int], list[str]], shared: dict[str, str], grouped: bool
) -> float:
    """Return the number in a cell; NaN for other texts, which are recorded."""
    cell = _without_formula(cell)
    number = unambiguous_number(cell, grouped=grouped) if cell else math.nan
    if number is not None:
        return number
    texts[0].append(row)
    texts[1].append(shared.setdefault(cell, cell) if len(cell) < 40 else cell)
    return math.nan
