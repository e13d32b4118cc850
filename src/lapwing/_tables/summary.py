"""Summary of the encoding of a table, column by column."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lapwing._tables.cells import Cells
from lapwing._tables.encoders import ColumnNote
from lapwing._tables.inference import MAX_VALUES, missing_words
from lapwing._words import quoted

_LABEL_NAME = re.compile(
    r"(?:^|[\W_])(?:labels?|class(?:es)?|targets?|y|category|type|kind|outcome|churn|klasse|typ"
    r"|kategorie|art|ziel)(?:$|[\W_])",
    re.IGNORECASE,
)


def summary_lines(notes: Sequence[ColumnNote], remarks: Sequence[str]) -> list[str]:
    """Say what was done to each column and why.

    Parameters
    ----------
    notes : sequence of ColumnNote
        From `Table.notes`.
    remarks : sequence of str
        From `Table.remarks`.

    Returns
    -------
    list of str
        Nothing if all columns are used as they stand. Columns of which the same is to be said
        share a line.
    """
    lines = [f"{remark[0].upper()}{remark[1:]}." for remark in remarks]
    if all(note.plain for note in notes):
        return lines
    used, left_out = ([n for n in notes if n.used is which] for which in (True, False))
    lines.append(f"Columns: {len(used)} used, {len(left_out)} left out.")
    lines += _grouped("used", used)
    lines += _grouped("left out", left_out)
    if left_out:
        lines.append("--keep COLUMN uses one all the same; --strict leaves none out.")
    return lines


def _grouped(title: str, notes: Sequence[ColumnNote]) -> list[str]:
    groups: dict[str, list[str]] = {}
    for note in notes:
        groups.setdefault(note.words, []).append(note.column)
    return [f"  {title} {quoted(names)}: {words}" for words, names in groups.items()]


def suggest_label(cells: Mapping[str, Cells]) -> str | None:
    """Name the column that is most like one of labels; None if none is.

    It has from two values to a few, each in two rows or more on average, and blanks; a name that
    says so counts most.
    """
    found = {}
    for place, (name, column) in enumerate(cells.items()):
        filled = column.without(missing_words(strict=False))
        values = {text for text in filled.spelled() if text is not None}
        if 2 <= len(values) <= min(MAX_VALUES, filled.n_filled // 2):
            blanks = 1 - filled.n_filled / max(1, column.numbers.size)
            named = _LABEL_NAME.search(name) is not None
            found[name] = (named, round(blanks, 2), place)
    return max(found, key=found.__getitem__) if found else None


def suggest_id(notes: Sequence[ColumnNote], cells: Mapping[str, Cells]) -> str | None:
    """Name the first column that was left out because it names the rows, if it tells them apart."""
    for note in notes:
        if note.used or not note.words.startswith(("names the rows", "counts the rows")):
            continue
        spelled = cells[note.column].spelled()
        if len(set(spelled)) == len(spelled) and None not in set(spelled):
            return note.column
    return None
