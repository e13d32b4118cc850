"""Files of answers: labels for existing rows of a table.

``lapwing fit --next`` writes such a file for the user to fill in. It is then given after the files
of the table, and only its labels are used.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain, count

import numpy as np
from numpy.typing import NDArray

from lapwing._tables.cells import as_text, read_amount, without_guard
from lapwing._tables.columns import SUGGESTED, FileAnswers, Keys, RawTable
from lapwing._words import shorten

_SAME = 1e-6  # relative: spreadsheets keep fifteen digits, and may display fewer
_PADDING = re.compile(r"^0+(?=\d)|\.0+$")
_ROW_NUMBER = re.compile(r"(\d+)(?:[.,]0*)?")


def name_keys(columns: Collection[str], label: str | None) -> Keys:
    """Choose names that no column of the table has."""
    label = _free("label", columns) if label is None else label
    return Keys(_free("row", columns), label, _free("chosen", columns))


def _free(name: str, taken: Collection[str]) -> str:
    more = (f"lapwing {name}{f' ({k})' * (k > 1)}" for k in count(1))
    return next(one for one in chain([name], more) if one not in taken)


def is_answers(part: RawTable, tables: Sequence[RawTable], id_column: str | None) -> bool:
    """Return whether a later file refers to known rows, by their numbers or ids.

    Parameters
    ----------
    part : RawTable
        The file.
    tables : sequence of RawTable
        Previous files.
    id_column : str or None
        Column with the names of the rows; None if rows are numbered.

    Raises
    ------
    ValueError
        If only some of its rows exist.
    """
    if part.ids is None or part.is_matrix:
        return False
    if id_column is None:
        return True
    known = [name for table in tables for name in table.row_names.tolist()]
    there = [row is not None for row in _rows_by_id(part.ids.tolist(), known)]
    if any(there) and not all(there):
        old, new = (part.ids[there.index(which)] for which in (True, False))
        raise ValueError(
            f"the id column {id_column!r} of a later file holds {old!r}, which is in a file "
            f"before it, and {new!r}, which is not. Give labels for known rows and new rows in two "
            "files."
        )
    return bool(there) and all(there)


def _rows_by_id(texts: Sequence[str], ids: Sequence[str]) -> list[int | None]:
    """Find the rows of ids, even if a spreadsheet has respelled them.

    Spreadsheets convert 007 and 7.0 to 7, and lapwing itself writes a quote before possible
    formulas.
    """
    exact = {text: row for row, text in enumerate(ids)}
    bare = {text: _PADDING.sub("", text) for text in exact}
    counts = Counter(bare.values())
    short = {bare[text]: row for text, row in exact.items() if counts[bare[text]] == 1}
    plain = (text if text in exact else without_guard(text) for text in texts)
    return [exact.get(text, short.get(text) if text.isdecimal() else None) for text in plain]


def _rows_by_number(texts: Sequence[str], n: int) -> list[int | None]:
    """Find the rows of numbers that are counted from 1."""
    found = map(_ROW_NUMBER.fullmatch, texts)
    rows = (int(number[1]) - 1 if number else -1 for number in found)
    return [row if 0 <= row < n else None for row in rows]


def locate(sheet: RawTable, name: str, raw: RawTable, id_column: str | None) -> FileAnswers:
    """Find the rows of a table to which a file of answers refers.

    Parameters
    ----------
    sheet : RawTable
        The file; its `ids` identify the rows.
    name : str
        Name of the file, for messages.
    raw : RawTable
        The table.
    id_column : str or None
        Column with the names of the rows; None if rows are numbered.

    Raises
    ------
    ValueError
        If a row does not exist or has other contents.
    """
    keys, table = raw.keys, raw.source
    assert keys is not None
    if sheet.labels is None:
        raise ValueError(
            f"{name} has no column of labels. A file whose rows are in {table} already can only "
            "give them labels: name the column as in the first file."
        )
    assert sheet.ids is not None
    ids = sheet.ids.tolist()
    if id_column is None:
        key, found = keys.row, _rows_by_number(ids, raw.n)
    else:
        key, found = id_column, _rows_by_id(ids, raw.row_names.tolist())
    lost = next((k for k, row in enumerate(found) if row is None), None)
    if lost is not None:
        raise ValueError(
            f"{name}: row {lost + 1} has {shorten(ids[lost])!r} in column {key!r}, and {table} has "
            "no such row. Correct it, or take the row out."
        )
    rows = np.array([row for row in found if row is not None], dtype=np.intp)
    twice = np.flatnonzero(np.bincount(rows) > 1)
    if twice.size:
        again = ids[int(np.argmax(rows == twice[0]))]
        raise ValueError(f"{name}: {again!r} is in column {key!r} more than once. Keep one row.")
    texts = as_text([without_guard(text) for text in sheet.labels.texts.tolist()])
    labels = replace(sheet.labels, texts=texts)
    suggested = np.zeros(rows.size, bool)
    if keys.chosen in sheet.texts:
        suggested = sheet.texts[keys.chosen].texts == SUGGESTED
    return FileAnswers(name, rows, labels, suggested, _compare(sheet, name, raw, rows))


def _compare(sheet: RawTable, name: str, raw: RawTable, rows: NDArray[np.intp]) -> str:
    """Check that the rows are the same, and describe cells that differ.

    Spreadsheets may reformat cells, especially dates, which does not matter as only the labels are
    used. If most cells differ, the rows are different ones.
    """
    everything = np.arange(rows.size)
    n_same, different = 0, []
    for column, cells in sheet.cells.items():
        theirs = raw.cells_at(column, rows)
        if theirs is None:
            continue
        for k, (a, b) in enumerate(zip(cells.at(everything), theirs, strict=True)):
            same = _is_same(a, b)
            if same:
                n_same += 1
            elif same is not None:
                different.append((k, column, a, b))
    if not different:
        return ""
    k, column, a, b = different[0]
    assert sheet.ids is not None
    first = f"row {sheet.ids[k]!r} has {_show(a)} in column {column!r} here, and {_show(b)} there"
    if n_same < len(different):
        raise ValueError(
            f"{name}: its rows are not the rows of {raw.source} with the same names or numbers: "
            f"{first}. Give the files of the table in the same order as before, or other rows "
            "other names."
        )
    n = len(different)
    cells_differ = f"{n} cell differs" if n == 1 else f"{n} cells differ"
    return (
        f"{cells_differ} between {name} and {raw.source}: {first}. Only the labels are taken from "
        f"{name}"
    )


def _is_same(a: str | float, b: str | float) -> bool | None:
    """Compare two cells; None if it is not clear what they mean."""
    if isinstance(a, str) and isinstance(b, str):
        # Another program may write another decimal mark.
        return without_guard(a) == b or not _readings(a).isdisjoint(_readings(b))
    one, other = map(_as_number, (a, b))
    if one is None or other is None:
        return None
    return math.isclose(one, other, rel_tol=_SAME, abs_tol=1e-12)


def _as_number(value: str | float) -> float | None:
    if isinstance(value, float):
        return None if math.isnan(value) else value
    found = _readings(value)
    return found.pop() if len(found) == 1 else None


def _readings(text: str) -> set[float]:
    """Return the numbers that a cell can be; 1.234 is ambiguous."""
    amounts = (read_amount(text, decimal) for decimal in ".,")
    return {amount.value for amount in amounts if amount is not None}


def _show(value: str | float) -> str:
    return repr(shorten(value)) if isinstance(value, str) else f"{value:g}"
