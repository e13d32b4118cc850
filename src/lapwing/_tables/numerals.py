"""Numbers as people write them: decimal commas, thousands, percent, currencies, units.

Locale libraries (babel, `locale`) read numbers of a locale that is known; here the notation itself
has to be found from a column. skrub's ``ToFloat`` takes one notation for a whole table: with
``decimal='.', thousand=','`` it reads "-0,66" as -66, and it has no percent and no currencies.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from lapwing._tables.units import SIGNS, UNIT, unit_name

_LEADING = re.compile(rf"^([+-]?)\s*({SIGNS}|[%‰])\s*(?=[+\-\d.,])")
# Between the groups of three digits stand points or commas, blanks of any width, or apostrophes.
# No thousands begin with 0: "0,661" has a decimal comma.
_GROUPED = r"[1-9]\d{{0,2}}(?P<point>[{point}'\u2019\s])\d{{3}}(?:(?P=point)\d{{3}})*"
_EXPONENT = r"(?:[eE][+-]?\d+)?"


def _pattern(decimal: str, point: str) -> re.Pattern[str]:
    grouped, d = _GROUPED.format(point=point), re.escape(decimal)
    number = rf"(?:({grouped})(?:{d}(\d*))?|(\d+(?:{d}\d*)?|{d}\d+)({_EXPONENT}))"
    return re.compile(rf"([+-]?){number}\s*({UNIT})?")


_PATTERNS = {".": _pattern(".", ","), ",": _pattern(",", ".")}


@dataclass(frozen=True)
class Amount:
    """A number with its unit: ``€``, ``%``, ``mm``, or nothing."""

    value: float
    unit: str = ""


@dataclass(frozen=True)
class Evidence:
    """How many texts can only be numbers with a decimal point, or only with a decimal comma."""

    point: int = 0
    comma: int = 0

    def __add__(self, other: Evidence) -> Evidence:
        return Evidence(self.point + other.point, self.comma + other.comma)

    @property
    def decimal(self) -> str:
        """The decimal mark that it speaks for; empty if for none."""
        if self.comma == self.point:
            return ""
        return "," if self.comma > self.point else "."


def plain_number(text: str) -> float | None:
    """Read a number as programs write it; None if it is not one.

    Python's own `float` also takes ``1_0``, which nobody means as 10.
    """
    if "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def read_amount(text: str, decimal: str) -> Amount | None:
    """Read a number with the decimal mark `decimal` ('.' or ','); None if it is not one."""
    if not text or not any(c.isdigit() for c in text):
        return None
    text = text.strip().replace("\u2212", "-")
    negative = len(text) > 2 and text[0] == "(" and text[-1] == ")"  # as accountants write it
    text = text[1:-1].strip() if negative else text
    leading = _LEADING.match(text)
    text = text if leading is None else leading[1] + text[leading.end() :]
    if len(text) > 1 and text[-1] == "-" and text[0] not in "+-":  # as SAP writes it
        text = f"-{text[:-1]}"
    found = _PATTERNS[decimal].fullmatch(text)
    if found is None:
        return None
    sign, grouped, _, fraction, whole, exponent, unit = found.groups()
    if leading is not None and unit:
        return None
    unit = unit if leading is None else leading[2]
    if grouped is not None:
        digits = re.sub(r"\D", "", grouped) + (f".{fraction}" if fraction else "")
    else:
        digits = whole.replace(decimal, ".") + exponent
    value = float(digits)
    if negative or sign == "-":
        value = -value
    return Amount(value, unit_name(unit) if unit else "")


def gather_evidence(texts: Iterable[str]) -> Evidence:
    """See which decimal mark texts speak for; "1,234" and "1.234" can be either, and do not."""
    point = comma = 0
    for text in texts:
        if "," not in text and "." not in text:
            continue
        one, other = read_amount(text, "."), read_amount(text, ",")
        point += one is not None and other is None
        comma += other is not None and one is None
    return Evidence(point, comma)


def spell(value: float) -> str:
    """Write a number as a person would: whole numbers without a point."""
    if math.isfinite(value) and value == int(value) and abs(value) < 2**53:
        return str(int(value))
    return repr(float(value))
