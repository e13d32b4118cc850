"""Cells: numbers as people write them, units and dates.

Locale libraries (babel, `locale`) read numbers of a locale that is known; here the notation itself
has to be found from a column. skrub's ``ToFloat`` takes one notation for a whole table: with
``decimal='.', thousand=','`` it reads "-0,66" as -66, and it has no percent and no currencies.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._words import visible

_CURRENCIES = "EUR USD GBP CHF JPY SEK NOK DKK PLN CZK HUF CAD AUD"
_SIGNS = "€$£¥₹₽₺₩"
_KINDS = {
    "currency": f"{' '.join(_SIGNS)} US$ {_CURRENCIES}",
    "share": "% ‰ ppm ppb",
    "length": "pm nm µm mm cm dm m km Å in ft yd mi",
    "mass": "pg ng µg mg g dag kg t lb oz",
    "volume": "nl µl ml cl dl l hl fl gal",
    "area": "mm² cm² dm² m² km² ha",
    "space": "mm³ cm³ dm³ m³ ccm cc",
    "time": "ns µs ms s min h d week month year",
    "temperature": "°C °F K",
    "amount": "pmol nmol µmol mmol mol",
    "activity": "mIU IU kIU U mU",
    "concentration": "nM µM mM M",
    "pressure": "Pa hPa kPa MPa bar mbar mmHg psi atm Torr",
    "energy": "J kJ MJ eV keV MeV cal kcal Wh kWh MWh",
    "power": "mW W kW MW hp",
    "voltage": "µV mV V kV",
    "current": "nA µA mA A",
    "resistance": "mΩ Ω kΩ MΩ",
    "frequency": "Hz kHz MHz GHz bpm rpm",
    "force": "mN N kN",
    "angle": "° deg rad",
    "sound": "dB",
    "data": "bit B kB MB GB TB",
}
_OTHER_NAMES = {
    **dict.fromkeys(["inch", "inches"], "in"),
    **dict.fromkeys(["foot", "feet"], "ft"),
    **dict.fromkeys(["meter", "meters", "metre", "metres"], "m"),
    **dict.fromkeys(["gram", "grams", "gramm", "gr"], "g"),
    **dict.fromkeys(["kgs", "kilo", "kilos"], "kg"),
    **dict.fromkeys(["lbs", "pound", "pounds"], "lb"),
    **dict.fromkeys(["ug", "mcg"], "µg"),
    **dict.fromkeys(["liter", "liters", "litre", "litres"], "l"),
    **dict.fromkeys(["sec", "secs", "second", "seconds", "sekunde", "sekunden", "sek"], "s"),
    **dict.fromkeys(["mins", "minute", "minutes", "minuten"], "min"),
    **dict.fromkeys(["hr", "hrs", "hour", "hours", "stunde", "stunden", "std"], "h"),
    **dict.fromkeys(["day", "days", "tag", "tage"], "d"),
    **dict.fromkeys(["weeks", "woche", "wochen", "wk", "wks"], "week"),
    **dict.fromkeys(["months", "monat", "monate", "mo"], "month"),
    **dict.fromkeys(["years", "yr", "yrs", "jahr", "jahre"], "year"),
    **{"um": "µm", "ul": "µl", "us": "µs", "umol": "µmol", "euro": "EUR", "euros": "EUR"},
    **{"degc": "°C", "degf": "°F", "percent": "%", "prozent": "%", "mm hg": "mmHg"},
}
_KIND = {unit: kind for kind, units in _KINDS.items() for unit in units.split()}
_IN_NAME = re.compile(r"[\[(]\s*([^\[\]()]+?)\s*[\])]\s*$")
SIGNS = rf"[{_SIGNS}]|(?:US)?\$|(?i:{'|'.join(_CURRENCIES.split())})"
# A word or a sign, and what products, quotients and powers of units are written with.
UNIT = (
    r"(?:mm Hg|°\s?[CF]|[%‰]|'{1,2}|\"|(?:(?:US)?\$|[" + _SIGNS + r"°µμΩÅ℃℉]|[^\W\d_])"
    r"(?:[^\W_]|[/·*^°µμΩ²³⁻$" + _SIGNS + r"%.-]){0,14})"
)

_LEADING = re.compile(rf"^([+-]?)\s*({SIGNS}|[%‰])\s*(?=[+\-\d.,])")
# Between the groups of three digits stand points or commas, blanks of any width, or apostrophes.
# No thousands begin with 0: "0,661" has a decimal comma.
_GROUPED = r"[1-9]\d{{0,2}}(?P<point>[{point}'\u2019\s])\d{{3}}(?:(?P=point)\d{{3}})*"
_EXPONENT = r"(?:[eE][+-]?\d+)?"

ORDERS = ("ymd", "dmy", "mdy")
CLOCK = "clock"
_SAMPLE = 2000
_WORDS = {"ymd": "year-month-day", "dmy": "day.month.year", "mdy": "month/day/year"}
_DAY_LENGTH = np.timedelta64(1, "D") / np.timedelta64(1, "us")

_MONTHS = (
    ("january", "januar", "jänner"),
    ("february", "februar"),
    ("march", "märz", "maerz", "mrz"),
    ("april",),
    ("may", "mai"),
    ("june", "juni"),
    ("july", "juli"),
    ("august",),
    ("september",),
    ("october", "oktober"),
    ("november",),
    ("december", "dezember"),
)
_MONTH = {
    word: number
    for number, names in enumerate(_MONTHS, start=1)
    for name in names
    for word in {name, name[:3], name[:4]}
}
_TIME = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<part>\d{1,9}))?)?"
    r"(?:\s*(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_ZONE = r"(?:\s*(?P<zone>Z|UTC|[+-]\d{2}:?\d{2}))?"
_LATER = rf"(?:(?:[T\s]\s*|,\s*){_TIME}{_ZONE}(?:\s*Uhr)?)?"
_WEEKDAY = r"(?:[^\W\d]{2,10}\.?,?\s+)?"
_YEAR, _NUMBER, _NAME = r"(?P<year>\d{4}|\d{2})", r"\d{1,2}", r"(?P<name>[^\W\d_]{3,9})\.?"
_DATES = {
    "ymd": rf"(?P<year>\d{{4}})(?P<sep>[-/.])(?P<month>{_NUMBER})(?P=sep)(?P<day>{_NUMBER})",
    "dmy": rf"(?P<day>{_NUMBER})(?P<sep>[-/.])\s?(?P<month>{_NUMBER})(?P=sep)\s?{_YEAR}",
    "mdy": rf"(?P<month>{_NUMBER})(?P<sep>[-/])(?P<day>{_NUMBER})(?P=sep){_YEAR}",
}
_DATE_PATTERNS = {order: re.compile(pattern + _LATER) for order, pattern in _DATES.items()}
_NAMED = tuple(
    re.compile(pattern + _LATER)
    for pattern in (
        rf"{_WEEKDAY}(?P<day>{_NUMBER})\.?[\s-]+{_NAME}[\s-]+{_YEAR}",
        rf"{_WEEKDAY}{_NAME}\s+(?P<day>{_NUMBER})(?:st|nd|rd|th)?,?\s+{_YEAR}",
    )
)
_CLOCK_PATTERN = re.compile(rf"(?:1899-12-3[01] )?{_TIME}(?:\s*Uhr)?")

# What `float` reads and may yet mean something else: 1_0, the code 00037, 1.234 for 1234.
_ODD = re.compile(r".*_|[+-]?0\d+$")
_ODD_OR_GROUPED = re.compile(rf"{_ODD.pattern}|[+-]?[1-9]\d{{0,2}}\.\d{{3}}$")


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


def unit_name(text: str) -> str:
    """Give a unit one name, however it is written."""
    text = text.replace("μ", "µ").replace("℃", "°C").replace("℉", "°F").replace("° ", "°")
    text = text.replace("^2", "²").replace("^3", "³")
    if text.upper() in _KIND:
        currency = _KIND[text.upper()] == "currency"
        text = text.upper() if currency else text
    if text.endswith("L") and f"{text[:-1]}l" in _KIND:
        return f"{text[:-1]}l"
    if text in _KIND:
        return text
    return _OTHER_NAMES.get(text.lower(), _parts_renamed(text))


def _parts_renamed(text: str) -> str:
    above, slash, below = text.partition("/")
    return f"{unit_name(above)}/{unit_name(below)}" if slash else text


def kind_of_unit(unit: str) -> str:
    """Return the quantity that a unit with the name of `unit_name` measures; empty if unknown."""
    kind = _KIND.get(unit, "")
    if kind or "/" not in unit:
        return kind
    kinds = [kind_of_unit(part) for part in unit.split("/")]
    return "/".join(kinds) if all(kinds) else ""


def unit_in_name(name: str) -> str:
    """The unit at the end of a column's name in brackets, as in "radius (mm)"; empty if none."""
    found = _IN_NAME.search(name)
    unit = unit_name(found[1]) if found else ""
    return unit if kind_of_unit(unit) else ""


def is_unit(text: str) -> bool:
    """Whether a text is the name of a unit and nothing else, with brackets around it or without."""
    bare = text.strip("[]() ")
    return bool(bare) and (bool(kind_of_unit(unit_name(bare))))


def read_moment(text: str, order: str) -> datetime | None:
    """Read a date, with or without a time of day; None if it is not one in this order.

    Dates that start with the year and dates with the month's name have one meaning only and are
    read whatever the order.
    """
    if not text or not any(c.isdigit() for c in text):
        return None
    for pattern in (_DATE_PATTERNS[order], _DATE_PATTERNS["ymd"], *_NAMED):
        found = pattern.fullmatch(text)
        if found is not None:
            return _moment(found)
    return None


def _moment(found: re.Match[str]) -> datetime | None:
    parts = found.groupdict()
    year = int(parts["year"])
    if len(parts["year"]) == 2:
        year += 1900 if year >= 69 else 2000  # as POSIX has it
    month = parts.get("month")
    number = int(month) if month else _MONTH.get(parts["name"].lower(), 0)
    try:
        date = datetime(year, number, int(parts["day"]))
        if parts["hour"] is None:
            return date
        moment = date + _time(parts)
        if parts["zone"] is None:
            return moment
        return moment.replace(tzinfo=_zone(parts["zone"])).astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):  # the 31st of February, 25 o'clock
        return None


def _time(parts: dict[str, str | None]) -> timedelta:
    hour, minute, second = (int(parts[name] or 0) for name in ("hour", "minute", "second"))
    if parts["half"]:
        if not 1 <= hour <= 12:
            raise ValueError("no hour of half a day")
        hour = hour % 12 + (12 if parts["half"] in "pP" else 0)
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError("no time of day")
    micro = int((parts["part"] or "0")[:6].ljust(6, "0"))
    return timedelta(hours=hour, minutes=minute, seconds=second, microseconds=micro)


def _zone(text: str) -> timezone:
    if text in ("Z", "UTC"):
        return UTC
    digits = text[1:].replace(":", "")
    away = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-away if text[0] == "-" else away)


def read_clock(text: str) -> float | None:
    """Read a time of day as hours since midnight; None if it is not one."""
    found = _CLOCK_PATTERN.fullmatch(text) if ":" in text else None
    if found is None:
        return None
    try:
        return _time(found.groupdict()) / timedelta(hours=1)
    except ValueError:
        return None


def choose_order(texts: Iterable[str], usual: str) -> tuple[str, int, bool]:
    """Find how a column writes dates.

    Parameters
    ----------
    texts : iterable of str
        Its different texts.
    usual : {'dmy', 'mdy'}
        What is taken where all dates can be read both ways; also if the texts are many, of which
        the first two thousand decide.

    Returns
    -------
    order : str
        A member of `ORDERS`, or `CLOCK` for times of day.
    n_read : int
        How many of the texts can be read so.
    ambiguous : bool
        Whether another order reads as many, and others.
    """
    known = list(islice(texts, _SAMPLE))
    readers = {order: partial(read_moment, order=order) for order in ORDERS}
    moments = {order: [read(text) for text in known] for order, read in readers.items()}
    counts = {order: sum(m is not None for m in found) for order, found in moments.items()}
    clock = sum(read_clock(text) is not None for text in known)
    best = max(counts.values())
    if clock > best:
        return CLOCK, clock, False
    # In this order: year first has one meaning, and points are written where the day comes first.
    winners = [order for order in ("ymd", usual, *ORDERS) if counts[order] == best]
    ambiguous = moments["dmy"] != moments["mdy"] and counts["dmy"] == counts["mdy"] == best
    return winners[0], best, ambiguous


def order_words(order: str) -> str:
    """How an order is written for people."""
    return "time of day" if order == CLOCK else _WORDS[order]


def days_between(moments: NDArray[np.datetime64], origin: np.datetime64) -> NDArray[np.float64]:
    """Days since `origin`, with their fractions; NaN for none."""
    days: NDArray[np.float64] = (moments - origin) / np.timedelta64(1, "us") / _DAY_LENGTH
    return np.where(np.isnat(moments), np.nan, days)


def weekdays(moments: NDArray[np.datetime64]) -> NDArray[np.float64]:
    """Days since Monday, from 0 to 6; NaN for none."""
    days = moments.astype("datetime64[D]").astype(np.int64)
    return np.where(np.isnat(moments), np.nan, (days + 3) % 7)  # 1970 began on a Thursday


def hours_of_day(moments: NDArray[np.datetime64]) -> NDArray[np.float64]:
    """Hours since midnight; NaN for none."""
    since = moments - moments.astype("datetime64[D]")
    return np.where(np.isnat(moments), np.nan, since / np.timedelta64(1, "us") / 3.6e9)


def circle(values: NDArray[np.float64], period: float) -> Sequence[NDArray[np.float64]]:
    """Places on a circle, cosine and sine: Sunday is next to Monday, and 23 o'clock to 0."""
    angle = 2 * np.pi * values / period
    return np.cos(angle), np.sin(angle)


@dataclass(frozen=True)
class Cells:
    """A column as it stands in the file, before anything is made of it.

    Attributes
    ----------
    numbers : ndarray of float of shape (n,)
        What plainly is a number; NaN elsewhere.
    rows : ndarray of int of shape (k,)
        Rows with a text that is not plainly a number; a blank is none.
    texts : ndarray of object of shape (k,)
        These texts, without surrounding blanks.
    type_name : str
        The file's own type of the column where that is neither number nor text.
    usable : bool
        Whether that type can be made something of.
    typed : bool
        Whether the file says itself what is a number, so that how numbers are written elsewhere in
        the column says nothing about the texts.
    """

    numbers: NDArray[Any]
    rows: NDArray[np.int64]
    texts: NDArray[Any]
    type_name: str = ""
    usable: bool = True
    typed: bool = False

    def without(self, words: Collection[str]) -> Cells:
        """The same column less the texts that mean "missing", in lower case."""
        if not self.texts.size:
            return self
        known = {text: text.lower() not in words for text in set(self.texts.tolist())}
        if all(known.values()):
            return self
        kept = np.array([known[text] for text in self.texts.tolist()])
        return replace(self, rows=self.rows[kept], texts=self.texts[kept])

    @property
    def n_filled(self) -> int:
        """How many cells hold something."""
        return int(np.count_nonzero(~np.isnan(self.numbers))) + self.rows.size

    def at(self, rows: NDArray[np.intp]) -> list[str | float]:
        """The cells of some rows, each as number or text; NaN where there is nothing."""
        wanted = np.isin(self.rows, rows)
        text = dict(zip(self.rows[wanted].tolist(), self.texts[wanted].tolist(), strict=True))
        return [text.get(row, float(self.numbers[row])) for row in rows.tolist()]

    def below_first(self) -> Cells:
        """The cells without that of the first row."""
        kept = self.rows > 0
        return replace(
            self, numbers=self.numbers[1:], rows=self.rows[kept] - 1, texts=self.texts[kept]
        )

    def spelled(self) -> NDArray[Any]:
        """All cells as text, None where there is nothing."""
        column = np.empty(self.numbers.size, dtype=object)
        for row in np.flatnonzero(~np.isnan(self.numbers)):
            column[row] = spell(self.numbers[row])
        column[self.rows] = self.texts
        return column


def as_text(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """Make an array of Python texts: of objects, so that one long text does not widen all."""
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


def keeps_its_spelling(text: str, *, grouped: bool) -> bool:
    """Tell whether a text that `float` reads may mean something else.

    Parameters
    ----------
    text : str
    grouped : bool
        Whether points may stand between groups of three digits.
    """
    return (_ODD_OR_GROUPED if grouped else _ODD).match(text) is not None


def cells_of_texts(texts: Iterable[str | None], *, grouped: bool = True) -> Cells:
    """Sort texts into numbers and others; None is a blank."""
    numbers: list[float] = []
    rows: list[int] = []
    others: list[str] = []
    for row, text in enumerate(texts):
        text = "" if text is None else visible(text)
        value = float("nan")
        if text:
            try:
                value = float(text)
                odd = keeps_its_spelling(text, grouped=grouped)
            except ValueError:
                odd = True
            if odd:
                value = float("nan")
                rows.append(row)
                others.append(text)
        numbers.append(value)
    return Cells(np.array(numbers, dtype=np.float64), np.array(rows, np.int64), as_text(others))


def join_cells(parts: Sequence[Cells]) -> Cells:
    """Put columns one below the other."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(part.numbers.size for part in parts[:-1])])
    names = [part.type_name for part in parts if part.type_name]
    return Cells(
        np.concatenate([part.numbers for part in parts]),
        np.concatenate([part.rows + at for part, at in zip(parts, starts, strict=True)]),
        np.concatenate([part.texts for part in parts]),
        names[0] if names else "",
        all(part.usable for part in parts),
        all(part.typed for part in parts),
    )
