"""Words for missing values, and messages about input."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

# Compared in lower case. Only these count with `strict`.
MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "null", "none"})

# Further words of users and spreadsheets, in English and German.
USUAL_MISSING_WORDS = MISSING_WORDS | {
    *("-", "--", "---", "\u2013", "\u2014", ".", "..", "...", "?", "??", "/"),
    *("<na>", "nat", "nil", "(null)", "(blank)", "(leer)", "\\n", "n.a.", "n.a", "n. a."),
    *("n.d.", "n.d", "n. d.", "not determined"),
    *("#n/a", "#na", "#nv", "#value!", "#wert!", "#div/0!", "#ref!", "#bezug!"),
    *("#name?", "#num!", "#zahl!", "#null!"),
    *("unknown", "missing", "not available", "not known", "not given", "not specified"),
    *("unbekannt", "fehlt", "fehlend", "keine angabe", "keine angaben", "k.a.", "k.a", "k. a."),
    *("nicht bekannt", "nicht angegeben", "nicht verfügbar", "n.v.", "n. v."),
}

# Notations of programs, case-sensitive: "none" and "Na" may be classes (no damage, sodium). A word
# in this list is never a label; any other word is a class, and is shown as such.
NO_LABEL = frozenset(
    {"", "NA", "N/A", "n/a", "#N/A", "#NV", "<NA>", "NaN", "nan", "NAN", "NaT", "NULL", "null"}
    | {"None"}
)

TRUTH_VALUES = {"true": 1.0, "false": 0.0}


# Prepended to a text that a spreadsheet would run; see `lapwing._tables.predictions`.
_GUARD = re.compile(r"'(?=[=+\-@\t\r])")


def without_guard(text: str) -> str:
    """Remove the quote before a text that prevents spreadsheets from running it."""
    return _GUARD.sub("", text, count=1) if text.startswith("'") else text


def shorten(text: str) -> str:
    """Shorten a long text for a message."""
    return text if len(text) <= 30 else f"{text[:27]}..."


class InputErrors:
    """Collected error messages, to be raised as one error.

    Parameters
    ----------
    where : str
        Names of the files, with which each message begins.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self.messages: list[str] = []

    @contextmanager
    def gather(self) -> Iterator[None]:
        """Collect the message of a `ValueError` in the block."""
        try:
            yield
        except ValueError as error:
            self.messages.append(str(error))

    def raise_all(self) -> None:
        """Raise the collected messages, if there are any."""
        if self.messages:
            raise ValueError(join_messages(self.where, self.messages))


def join_messages(where: str, messages: Sequence[str]) -> str:
    """Join several messages; a single one is returned unchanged."""
    messages = list(dict.fromkeys(messages))
    if len(messages) == 1:
        return messages[0]
    each = [message.removeprefix(where).lstrip(": ") for message in messages]
    listed = " ".join(f"({number}) {message}" for number, message in enumerate(each, start=1))
    return f"{where}: {len(messages)} errors. {listed}"


def name_row(row: int, places: NDArray[np.int64] | None) -> str:
    """Name a row, counted from 0, by its number in the file or spreadsheet."""
    return f"row {row + 1}" if places is None else f"row {places[row]} of the sheet"
