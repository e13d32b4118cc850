"""What was done to a table, column by column, in lines for the user."""

from __future__ import annotations

from collections.abc import Sequence

from lapwing._tables.columns import ColumnNote
from lapwing._words import quoted


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
