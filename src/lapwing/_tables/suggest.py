"""Which column of a table probably holds the labels, and which names the rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lapwing._tables.cells import Cells
from lapwing._tables.columns import ColumnNote
from lapwing._tables.judging import MAX_VALUES, missing_words

_LABEL_NAME = re.compile(
    r"(?:^|[\W_])(?:labels?|class(?:es)?|targets?|y|category|type|kind|outcome|churn|klasse|typ"
    r"|kategorie|art|ziel)(?:$|[\W_])",
    re.IGNORECASE,
)


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
