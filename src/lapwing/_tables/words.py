"""Words for missing values, and texts shortened for messages."""

from __future__ import annotations

import re

# Compared in lower case. These alone count in a strict reading.
MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "null", "none"})

# What people and spreadsheets write besides, in English and German.
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

# As programs write them, letter by letter: "none" and "Na" are classes (no damage, sodium). A word
# here is never taken for an answer; one that is not may be, and is then shown as a class.
NO_LABEL = frozenset(
    {"", "NA", "N/A", "n/a", "#N/A", "#NV", "<NA>", "NaN", "nan", "NAN", "NaT", "NULL", "null"}
    | {"None"}
)

TRUTH_VALUES = {"true": 1.0, "false": 0.0}


# In front of a text that a spreadsheet would run; see `lapwing._tables.predictions`.
_GUARD = re.compile(r"'(?=[=+\-@\t\r])")


def without_guard(text: str) -> str:
    """Take away what was written in front of a text so that no spreadsheet runs it."""
    return _GUARD.sub("", text, count=1) if text.startswith("'") else text


def shorten(text: str) -> str:
    """Cut a long text for a message."""
    return text if len(text) <= 30 else f"{text[:27]}..."
