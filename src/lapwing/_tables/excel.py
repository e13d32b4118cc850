"""Reader of spreadsheets: Excel and OpenDocument."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from lapwing._host.optional import require
from lapwing._tables.cells import Cells, as_text, cells_of_texts
from lapwing._tables.columns import RawColumns, Selection
from lapwing._tables.dialect import Dialect
from lapwing._tables.numerals import plain_number, spell
from lapwing._tables.source import Source
from lapwing._words import quoted

_LOOK = 30  # rows in which the names of the columns are looked for
_MIDNIGHT = " 00:00:00"


def read_excel(source: Source, selection: Selection) -> RawColumns:
    """Read a sheet; see `lapwing._tables.tables.read_table`.

    Cells are read twice, as numbers and as texts: left to itself, fastexcel makes texts of the
    numbers of a column that has one text, and rounds them.
    """
    book = _open(source)
    sheet, remarks = _choose_sheet(book, selection.options.sheet, source)
    texts = _load(book, sheet, "string", source)
    start = _first_row(texts)
    if start is None:
        raise ValueError(f"{source}: the sheet {sheet!r} is empty.")
    numbers = _load(book, sheet, "float", source)
    width = _width(texts, start)
    header = [(texts.to_series(j)[start] or "").strip() for j in range(width)]
    below = [
        (texts.to_series(j)[start + 1 :].to_list(), numbers.to_series(j)[start + 1 :].to_numpy())
        for j in range(width)
    ]
    filled = _filled_rows([column for column, _ in below])
    if start:
        remarks.append(f"the names of the columns are in row {start + 1}")
    names, more = selection.name_columns(header, str(source))
    roles = selection.resolve(names, str(source))
    numeric = _numeric(book, sheet, start)
    cells = {j: _cells(*below[j], filled, numeric=j in numeric) for j in range(width)}

    def column(j: int) -> Any:
        return as_text([text or "" for text in cells[j].spelled()])

    return RawColumns(
        int(filled.sum()),
        {names[j]: cells[j] for j in roles.features},
        None if roles.label is None else column(roles.label),
        None if roles.id is None else column(roles.id),
        {names[j]: column(j) for j in roles.others},
        remarks=(*remarks, *more),
        ignored=tuple(names[j] for j in roles.ignored),
        left_out=tuple(names[j] for j in roles.left_out),
        # A CSV file without the mark of UTF-8 is one of Windows-1252 to Excel.
        dialect=Dialect(encoding="utf-8-sig"),
    )


def _open(source: Source) -> Any:
    require("polars", extra="excel", purpose=f"reading {source}")
    fastexcel = require("fastexcel", extra="excel", purpose=f"reading {source}")
    # It warns of empty columns, which is no news; without a handler that goes to standard error.
    logging.getLogger("fastexcel").addHandler(logging.NullHandler())
    with source.open() as opened:
        content = opened.read()
    try:
        return fastexcel.read_excel(content)
    except Exception as error:  # damage shows in the ways of zip, XML and both formats
        raise ValueError(f"{source} is not a readable spreadsheet: {_brief(error)}.") from None


def _choose_sheet(book: Any, wanted: str | None, source: Source) -> tuple[str, list[str]]:
    names: Sequence[str] = book.sheet_names
    if wanted is not None:
        if wanted not in names:
            raise ValueError(f"{source} has no sheet {wanted!r} (--sheet); it has {quoted(names)}.")
        return wanted, []
    filled = [name for name in names if _load(book, name, "string", source).height]
    if not filled:
        raise ValueError(f"{source}: all sheets are empty.")
    others = [name for name in filled if name != filled[0]]
    if not others:
        return filled[0], []
    return filled[0], [
        f"the sheet {filled[0]!r} was read; --sheet NAME reads another: {quoted(others)}"
    ]


def _load(book: Any, sheet: str, kind: str, source: Source) -> Any:
    try:
        return book.load_sheet(sheet, header_row=None, skip_rows=0, dtypes=kind).to_polars()
    except Exception as error:  # as above
        raise ValueError(f"{source} is not a readable spreadsheet: {_brief(error)}.") from None


def _first_row(texts: Any) -> int | None:
    """The row of the names: the first that is filled as far as the rows below it are."""
    look = [
        sum(bool((cell or "").strip()) for cell in row) for row in texts.head(_LOOK).iter_rows()
    ]
    if not any(look):
        return None
    typical = sorted(count for count in look if count)[sum(map(bool, look)) // 2]
    return next(row for row, count in enumerate(look) if 2 * count > typical)


def _width(texts: Any, start: int) -> int:
    """How many columns hold something from the names on."""
    for j in reversed(range(texts.width)):
        if any((text or "").strip() for text in texts.to_series(j)[start:].to_list()):
            return j + 1
    return 0


def _filled_rows(columns: Sequence[Sequence[str | None]]) -> Any:
    filled = np.zeros(len(columns[0]), dtype=bool)
    for column in columns:
        filled |= [bool(text and text.strip()) for text in column]
    return filled


def _numeric(book: Any, sheet: str, start: int) -> frozenset[int]:
    """Columns in which all that is filled is a number, and 1.234 can mean nothing else."""
    columns = book.load_sheet(
        sheet, header_row=None, skip_rows=start + 1, schema_sample_rows=None
    ).available_columns()
    return frozenset(column.index for column in columns if column.dtype in ("int", "float"))


def _cells(texts: Sequence[str | None], numbers: Any, filled: Any, *, numeric: bool) -> Cells:
    """A cell is a number where it was read as one and is not a text that means something else."""
    values = np.asarray(numbers, dtype=np.float64)[filled]
    if numeric:
        return Cells(values, np.empty(0, np.int64), as_text([]), typed=True)
    cells = cells_of_texts(text for text, kept in zip(texts, filled, strict=True) if kept)
    exact = np.where(np.isnan(cells.numbers), np.nan, values)
    rounded = [_rounded(t, values[r]) for r, t in zip(cells.rows, cells.texts, strict=True)]
    again = np.array(rounded, dtype=bool)
    exact[cells.rows[again]] = values[cells.rows[again]]
    left = [text.removesuffix(_MIDNIGHT) for text in cells.texts[~again]]
    return Cells(exact, cells.rows[~again], as_text(left), typed=True)


def _rounded(text: str, value: float) -> bool:
    """Whether a text that looks like 1.234 was a number of more digits."""
    shown = plain_number(text)
    return shown is not None and "." in text and not np.isnan(value) and spell(value) != text


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())[:160].rstrip(".")
