"""Reader of spreadsheets: Excel and OpenDocument."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from lapwing._host.memory import require_memory
from lapwing._host.modules import require
from lapwing._tables.cells import cells_of_values, text_of
from lapwing._tables.columns import Dialect, RawTable, TextColumn
from lapwing._tables.roles import Selection
from lapwing._tables.source import Source, readable
from lapwing._words import quoted

_LOOK = 30  # rows below the first filled one in which the header is searched

Row = Sequence[Any]  # cells as returned by python-calamine; empty cells are empty strings


def read_excel(source: Source, selection: Selection) -> RawTable:
    """Read a sheet; see `lapwing._tables.tables.read_table`."""
    book = _open(source)
    sheet, rows, other_sheets = _choose_sheet(book, selection.sheet, source)
    start = _find_names(rows)
    if start is None:
        raise ValueError(f"{source}: the sheet {sheet!r} is empty.")
    width = max((j + 1 for row in rows[start:] for j, cell in enumerate(row) if text_of(cell)))
    header = [text_of(cell) for cell in rows[start][:width]]
    below = [
        (k, row) for k, row in enumerate(rows[start + 1 :], start + 2) if any(map(text_of, row))
    ]
    remarks = [other_sheets] if other_sheets else []
    if start:
        remarks.append(f"the names of the columns are in row {start + 1}")
    try:
        roles = selection.find(header, str(source))
    except ValueError as error:
        if not other_sheets:
            raise
        raise ValueError(f"{error} {other_sheets[0].upper()}{other_sheets[1:]}.") from None
    cells = {
        name: cells_of_values([row[j] for _, row in below]) for j, name in enumerate(roles.names)
    }
    return RawTable(
        len(below),
        roles,
        {name: cells[name] for name in roles.features},
        {name: TextColumn(cells[name].spelled(""), cells[name].numbers) for name in roles.texts},
        remarks=(*remarks, *roles.remarks),
        # Excel reads a CSV file without the byte order mark of UTF-8 as Windows-1252.
        dialect=Dialect(encoding="utf-8-sig"),
        places=np.array([k for k, _ in below], dtype=np.int64),
    )


def _open(source: Source) -> Any:
    calamine = require("python_calamine", extra="excel", purpose=f"reading {source}")
    with source.open() as opened:
        content = io.BytesIO(opened.read())
    # Checked by the headers, as a small file may unpack to more than the memory.
    require_memory(_unpacked(content), f"Reading {source}", "Save the sheet as CSV or Parquet.")
    content.seek(0)
    with readable(source, "spreadsheet"):
        book = calamine.CalamineWorkbook.from_filelike(content)
    return book


def _unpacked(content: io.BytesIO) -> int:
    """Return the unpacked size of an archive in bytes; 0 if it is not an archive or damaged."""
    try:
        with ZipFile(content) as archive:
            return sum(entry.file_size for entry in archive.infolist())
    except BadZipFile:
        return 0


def _choose_sheet(book: Any, wanted: str | None, source: Source) -> tuple[str, list[Row], str]:
    """Find the chosen sheet, with its rows and a remark on other sheets."""
    names: Sequence[str] = book.sheet_names
    if wanted is not None:
        if wanted not in names:
            raise ValueError(f"{source} has no sheet {wanted!r} (--sheet); it has {quoted(names)}.")
        return wanted, _rows(book, wanted, source), ""
    filled = [(name, rows) for name in names if (rows := _rows(book, name, source))]
    if not filled:
        raise ValueError(f"{source}: all sheets are empty.")
    (first, rows), *others = filled
    remark = f"the sheet {first!r} was read; --sheet NAME reads another"
    return first, rows, f"{remark}: {quoted([name for name, _ in others])}" if others else ""


def _rows(book: Any, sheet: str, source: Source) -> list[Row]:
    with readable(source, "spreadsheet"):
        rows: list[Row] = book.get_sheet_by_name(sheet).to_python(skip_empty_area=False)
    return rows


def _find_names(rows: Sequence[Row]) -> int | None:
    """Find the header: the first row with more than half as many filled cells as is usual."""
    look = [sum(bool(text_of(cell)) for cell in row) for row in rows]
    first = next((k for k, count in enumerate(look) if count), None)
    if first is None:
        return None
    look = look[: first + _LOOK]
    typical = sorted(count for count in look if count)[sum(map(bool, look)) // 2]
    return next(row for row, count in enumerate(look) if 2 * count > typical)
