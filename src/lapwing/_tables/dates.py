"""Dates and times of day in common notations, and their encoding as numbers.

The order of day and month is determined for a whole column and stored with the model. Parsers that
decide cell by cell (dateutil, dateparser) or prefer the American order for ambiguous columns
(skrub's ``ToDatetime`` reads 03.04.2020 as 4 March) would be silently wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._tables.cells import LONGEST_NUMBER

ORDERS = ("ymd", "dmy", "mdy")
CLOCK = "clock"
_SAMPLE = 2000
ORDER_WORDS = {"ymd": "year-month-day", "dmy": "day.month.year", "mdy": "month/day/year"}

_MONTHS = (
    "january januar jänner, february februar, march märz maerz mrz, april, may mai, june juni, "
    "july juli, august, september, october oktober, november, december dezember"
)
_MONTH = {
    word: number
    for number, names in enumerate(_MONTHS.split(", "), start=1)
    for name in names.split()
    for word in {name, name[:3], name[:4]}
}
_TIME = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<part>\d{1,9}))?)?"
    r"(?:\s*(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_ZONE = r"(?:\s*(?P<zone>Z|UTC|[+-]\d{2}(?::?\d{2})?))?"  # PostgreSQL leaves out minutes of 0
_TIME_AFTER = rf"(?:(?:[T\s]\s*|,\s*){_TIME}{_ZONE}(?:\s*Uhr)?)?"
_WEEKDAY = r"(?:[^\W\d]{2,10}\.?,?\s+)?"
_YEAR, _NUMBER, _NAME = r"(?P<year>\d{4}|\d{2})", r"\d{1,2}", r"(?P<name>[^\W\d_]{3,9})\.?"
_DATES = {
    "ymd": rf"(?P<year>\d{{4}})(?P<sep>[-/.])(?P<month>{_NUMBER})(?P=sep)(?P<day>{_NUMBER})",
    "dmy": rf"(?P<day>{_NUMBER})(?P<sep>[-/.])\s?(?P<month>{_NUMBER})(?P=sep)\s?{_YEAR}",
    "mdy": rf"(?P<month>{_NUMBER})(?P<sep>[-/])(?P<day>{_NUMBER})(?P=sep){_YEAR}",
}
_NAMED = (
    rf"{_WEEKDAY}(?P<day>{_NUMBER})\.?[\s-]+{_NAME}[\s-]+{_YEAR}",
    rf"{_WEEKDAY}{_NAME}\s+(?P<day>{_NUMBER})(?:st|nd|rd|th)?,?\s+{_YEAR}",
)
# Dates that start with the year, or name the month, are read whatever the order.
_PATTERNS = {
    order: tuple(re.compile(date + _TIME_AFTER) for date in (pattern, _DATES["ymd"], *_NAMED))
    for order, pattern in _DATES.items()
} | {CLOCK: (re.compile(rf"(?:1899-12-3[01] )?{_TIME}(?:\s*Uhr)?"),)}


def read_moment(text: str, order: str) -> datetime | None:
    """Read a date, with or without a time of day; None if it is not one in this order.

    Parameters
    ----------
    text : str
    order : str
        A member of `ORDERS`, or `CLOCK` for a time of day, which gets the date 1 January 1970.
    """
    if len(text) > LONGEST_NUMBER or not any(c.isdigit() for c in text):
        return None
    matches = (pattern.fullmatch(text) for pattern in _PATTERNS[order])
    found = next(filter(None, matches), None)
    try:
        return None if found is None else _moment(found.groupdict())
    except (ValueError, OverflowError):  # 31 February or 25:00, for example
        return None


def _moment(parts: dict[str, Any]) -> datetime:
    day = date(1970, 1, 1)
    if "year" in parts:
        year = int(parts["year"])
        if len(parts["year"]) == 2:
            year += 1900 if year >= 69 else 2000  # as in POSIX
        month = parts.get("month") or _MONTH.get(parts["name"].lower(), 0)
        day = date(year, int(month), int(parts["day"]))
    hour, minute, second = (int(parts[name] or 0) for name in ("hour", "minute", "second"))
    if parts["half"]:
        if not 1 <= hour <= 12:
            raise ValueError("no hour of half a day")
        hour = hour % 12 + (12 if parts["half"] in "pP" else 0)
    micro = int((parts["part"] or "0")[:6].ljust(6, "0"))
    moment = datetime.combine(day, time(hour, minute, second, micro))
    if parts.get("zone") is None:
        return moment
    text = parts["zone"].replace("UTC", "Z")
    zone = datetime.strptime(text + "00" * (len(text) == 3), "%z").tzinfo
    return moment.replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None)


def choose_order(texts: Iterable[str], usual: str) -> tuple[str, int, bool]:
    """Infer the notation of dates in a column.

    Parameters
    ----------
    texts : iterable of str
        Distinct texts of the column; only the first two thousand are read.
    usual : {'dmy', 'mdy'}
        Order if all dates are ambiguous.

    Returns
    -------
    order : str
        A member of `ORDERS`, or `CLOCK` for times of day.
    n_read : int
        Number of texts that can be read in this order.
    ambiguous : bool
        Whether as many texts, with other dates, can be read in another order.
    """
    known = list(islice(texts, _SAMPLE))
    moments = {order: [read_moment(text, order) for text in known] for order in (*ORDERS, CLOCK)}
    counts = {order: sum(m is not None for m in found) for order, found in moments.items()}
    best = max(counts[order] for order in ORDERS)
    if counts[CLOCK] > best:
        return CLOCK, counts[CLOCK], False
    # Dates with the year first are unambiguous, so that this order precedes the usual one.
    order = next(order for order in ("ymd", usual, *ORDERS) if counts[order] == best)
    ambiguous = moments["dmy"] != moments["mdy"] and counts["dmy"] == counts["mdy"] == best
    return order, best, ambiguous


def days_between(moments: NDArray[np.datetime64], origin: np.datetime64) -> NDArray[np.float64]:
    """Compute days since `origin`, with fractions; NaN for missing dates."""
    return np.asarray((moments - origin) / np.timedelta64(1, "D"))


def weekdays(moments: NDArray[np.datetime64]) -> NDArray[np.float64]:
    """Compute days since Monday, from 0 to 6; NaN for missing dates."""
    days = moments.astype("datetime64[D]").astype(np.int64)
    return np.where(np.isnat(moments), np.nan, (days + 3) % 7)  # 1970 began on a Thursday


def hours_of_day(moments: NDArray[np.datetime64]) -> NDArray[np.float64]:
    """Compute hours since midnight; NaN for missing times."""
    return np.asarray((moments - moments.astype("datetime64[D]")) / np.timedelta64(1, "h"))


def circle(values: NDArray[np.float64], period: float) -> Sequence[NDArray[np.float64]]:
    """Compute cosine and sine on a circle, so that Sunday is next to Monday, and 23:00 to 0:00."""
    angle = 2 * np.pi * values / period
    return np.cos(angle), np.sin(angle)
