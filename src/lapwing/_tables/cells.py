"""Cells: numbers in common notations, with units.

Locale libraries (babel, `locale`) parse numbers of a known locale; here the notation has to be
inferred from a column. skrub's ``ToFloat`` uses one notation for a whole table: with
``decimal='.', thousand=','`` it reads "-0,66" as -66, and it supports neither percent nor
currencies.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lapwing._words import visible

T = TypeVar("T")

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
TRUTH_VALUES = {"true": 1.0, "false": 0.0}
# Prepended to a text that a spreadsheet would run; see `lapwing._tables.predictions`.
_GUARD = re.compile(r"'(?=[=+\-@\t\r])")

_CURRENCIES = "EUR USD GBP CHF JPY SEK NOK DKK PLN CZK HUF CAD AUD"
_SIGNS = "€$£¥₹₽₺₩"
_HOUR = dt.timedelta(hours=1)
LONGEST_NUMBER = 64  # characters of a number or a date; longer cells are text
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
# A word or a sign, and characters for products, quotients and powers of units.
UNIT = (
    r"(?:mm Hg|°\s?[CF]|[%‰]|'{1,2}|\"|(?:(?:US)?\$|[" + _SIGNS + r"°µμΩÅ℃℉]|[^\W\d_])"
    r"(?:[^\W_]|[/·*^°µμΩ²³⁻$" + _SIGNS + r"%.-]){0,14})"
)

_LEADING = re.compile(rf"^([+-]?)\s*({SIGNS}|[%‰])\s*(?=[+\-\d.,])")
# Groups of three digits are separated by points or commas, blanks of any width, or apostrophes.
# Thousands do not begin with 0: "0,661" has a decimal comma.
_GROUPED = r"[1-9]\d{{0,2}}(?P<point>[{point}'\u2019\s])\d{{3}}(?:(?P=point)\d{{3}})*"
_EXPONENT = r"(?:[eE][+-]?\d+)?"
EXACT = 1e15  # Excel keeps 15 digits; numbers with more are names
# Texts that `float` accepts but that may mean something else: 1_0, the code 00037, 1.234 for 1234.
_ODD = re.compile(r".*_|[+-]?0\d+$")
_ODD_OR_GROUPED = re.compile(rf"{_ODD.pattern}|[+-]?[1-9]\d{{0,2}}\.\d{{3}}$")


def _pattern(decimal: str, point: str) -> re.Pattern[str]:
    grouped, d = _GROUPED.format(point=point), re.escape(decimal)
    number = rf"(?:({grouped})(?:{d}(\d*))?|(\d+(?:{d}\d*)?|{d}\d+)({_EXPONENT}))"
    return re.compile(rf"([+-]?){number}\s*({UNIT})?")


_PATTERNS = {".": _pattern(".", ","), ",": _pattern(",", ".")}


@dataclass(frozen=True)
class Amount:
    """Number with its unit: ``€``, ``%``, ``mm``, or none."""

    value: float
    unit: str = ""


def plain_number(text: str) -> float | None:
    """Read a number in the notation of programs; None if it is not one.

    Python's `float` would also accept ``1_0``, which is not intended as 10.
    """
    if "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def number_or_truth(text: str) -> float | None:
    """Read a number as `plain_number`, or a truth value as 1 or 0."""
    truth = TRUTH_VALUES.get(text.lower())
    return plain_number(text) if truth is None else truth


def unambiguous_number(text: str, *, grouped: bool) -> float | None:
    """Read a number in the notation of programs; None for texts that may mean something else.

    Parameters
    ----------
    text : str
    grouped : bool
        Whether points may separate groups of three digits.
    """
    odd, number = _ODD_OR_GROUPED if grouped else _ODD, plain_number(text)
    return None if number is None or odd.match(text) else number


def read_amount(text: str, decimal: str) -> Amount | None:
    """Read a number with the decimal mark `decimal` ('.' or ','); None if it is not one."""
    if not text or len(text) > LONGEST_NUMBER or not any(c.isdigit() for c in text):
        return None
    text = text.strip().replace("\u2212", "-")
    negative = len(text) > 2 and text[0] == "(" and text[-1] == ")"  # accounting notation
    text = text[1:-1].strip() if negative else text
    leading = _LEADING.match(text)
    text = text if leading is None else leading[1] + text[leading.end() :]
    if len(text) > 1 and text[-1] == "-" and text[0] not in "+-":  # notation of SAP
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


def count_marks(texts: Iterable[str]) -> Counter[str]:
    """Count the decimal marks of texts that have only one reading, unlike "1,234" and "1.234"."""
    marks = Counter[str]()
    for text in texts:
        if "," in text or "." in text:
            point, comma = (read_amount(text, decimal) is not None for decimal in ".,")
            marks["."] += point and not comma
            marks[","] += comma and not point
    return marks


def is_infinite(x: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where numbers are infinite, or so large that sums of their squares are."""
    return np.abs(x) > np.float64(1e150)


def usual_mark(marks: Counter[str]) -> str:
    """Return the more frequent decimal mark; empty if there is none."""
    return "" if marks["."] == marks[","] else max(".,", key=marks.__getitem__)


def spell(value: float) -> str:
    """Format a number, whole numbers without a point."""
    if math.isfinite(value) and value == int(value) and abs(value) < 2**53:
        return str(int(value))
    return repr(float(value))


def unit_name(text: str) -> str:
    """Return the standard name of a unit."""
    text = text.replace("μ", "µ").replace("℃", "°C").replace("℉", "°F").replace("° ", "°")
    text = text.replace("^2", "²").replace("^3", "³")
    if _KIND.get(text.upper()) == "currency":
        return text.upper()
    if text.endswith("L") and f"{text[:-1]}l" in _KIND:
        return f"{text[:-1]}l"
    if text in _KIND or text.lower() in _OTHER_NAMES:
        return text if text in _KIND else _OTHER_NAMES[text.lower()]
    return "/".join(map(unit_name, text.split("/"))) if "/" in text else text


def kind_of_unit(unit: str) -> str:
    """Return the quantity of a unit named by `unit_name`; empty if unknown."""
    kind = _KIND.get(unit, "")
    if kind or "/" not in unit:
        return kind
    kinds = [kind_of_unit(part) for part in unit.split("/")]
    return "/".join(kinds) if all(kinds) else ""


def unit_in_name(name: str) -> str:
    """Return the unit at the end of a name in brackets, as in "radius (mm)"; empty if none."""
    found = _IN_NAME.search(name)
    unit = unit_name(found[1]) if found else ""
    return unit if kind_of_unit(unit) else ""


def is_unit(text: str) -> bool:
    """Return whether a text is the name of a unit, with or without brackets."""
    bare = text.strip("[]() ")
    return bool(bare) and (bool(kind_of_unit(unit_name(bare))))


def without_guard(text: str) -> str:
    """Remove the quote before a text that prevents spreadsheets from running it."""
    return _GUARD.sub("", text, count=1) if text.startswith("'") else text


@dataclass(frozen=True)
class Cells:
    """Column of a file before any inference.

    Attributes
    ----------
    numbers : ndarray of float of shape (n,)
        Plain numbers; NaN elsewhere.
    rows : ndarray of int of shape (k,)
        Rows with a text that is not a plain number; without blanks.
    texts : ndarray of object of shape (k,)
        These texts, without surrounding blanks.
    type_name : str
        Type of the column in the file if it is neither number nor text.
    usable : bool
        Whether this type is supported.
    typed : bool
        Whether the format has numeric types, so that the notation of other numbers in the column
        gives no information about the texts.
    """

    numbers: NDArray[Any]
    rows: NDArray[np.int64]
    texts: NDArray[Any]
    type_name: str = ""
    usable: bool = True
    typed: bool = False

    def without(self, words: Collection[str]) -> Cells:
        """Return the column without the texts that mean "missing" (`words`, in lower case)."""
        kept = np.array(self.map_texts(lambda text: text.lower() not in words), dtype=bool)
        if kept.all():
            return self
        return replace(self, rows=self.rows[kept], texts=self.texts[kept])

    @cached_property
    def counts(self) -> Counter[str]:
        """Number of cells of each text."""
        return Counter(self.texts.tolist())

    @cached_property
    def values(self) -> Counter[str]:
        """Number of cells of each value, numbers included, as they are written."""
        return Counter(text for text in self.spelled() if text is not None)

    @cached_property
    def marks(self) -> Counter[str]:
        """Counts of the decimal marks in its texts."""
        return count_marks(self.counts)

    def map_texts(self, function: Callable[[str], T]) -> list[T]:
        """Apply a function to each text; it is called once for equal texts."""
        found = {text: function(text) for text in self.counts}
        return [found[text] for text in self.texts.tolist()]

    @property
    def fractions(self) -> NDArray[Any]:
        """Plain numbers with a fraction that are written as text, hence with a decimal point."""
        written = self.numbers[np.isfinite(self.numbers) & (not self.typed)]
        return np.asarray(written[written % 1 != 0])

    @property
    def n_filled(self) -> int:
        """Number of cells that are not empty."""
        return int(np.count_nonzero(~np.isnan(self.numbers))) + self.rows.size

    def at(self, rows: NDArray[np.intp]) -> list[str | float]:
        """Return the cells of some rows, each as number or text; NaN where a cell is empty."""
        wanted = np.isin(self.rows, rows)
        text = dict(zip(self.rows[wanted].tolist(), self.texts[wanted].tolist(), strict=True))
        return [text.get(row, float(self.numbers[row])) for row in rows.tolist()]

    def below_first(self) -> Cells:
        """Return the column without its first row."""
        kept = self.rows > 0
        return replace(
            self, numbers=self.numbers[1:], rows=self.rows[kept] - 1, texts=self.texts[kept]
        )

    def spelled(self, missing: str | None = None) -> NDArray[Any]:
        """Return all cells as text, `missing` where a cell is empty."""
        column = np.full(self.numbers.size, missing, dtype=object)
        for row in np.flatnonzero(~np.isnan(self.numbers)):
            column[row] = spell(self.numbers[row])
        column[self.rows] = self.texts
        return column

    def bad_in(self, rows: NDArray[np.int64]) -> BadCells | None:
        """Describe the cells of some rows as invalid; None without rows."""
        if not rows.size:
            return None
        row = int(rows.min())
        return BadCells(int(rows.size), row, str(self.spelled()[row]))


@dataclass(frozen=True)
class BadCells:
    """Cells that are invalid for a reading: their number, and the first one.

    The row is counted from 0.
    """

    count: int
    row: int
    value: str


def as_text(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """Create an array of Python texts, as objects, so that a long text does not widen all."""
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


def numbers_if_plain(cells: Iterable[Any], decimal: str = ".") -> NDArray[Any]:
    """Convert the texts of a column to numbers if all of them are unambiguous numbers.

    Parameters
    ----------
    cells : iterable of str, number or None
        Cells; NaN, None or an empty text if empty.
    decimal : {'.', ','}
        Decimal mark of the texts.

    Returns
    -------
    ndarray of object of shape (n,)
        Numbers, whole ones as int, and empty texts; or all texts unchanged.
    """
    known = ["" if cell is None or cell != cell else cell for cell in cells]
    numbers = [_certain_number(cell, decimal) if cell != "" else "" for cell in known]
    if None not in numbers:
        return as_text(numbers)
    return as_text([cell if isinstance(cell, str) else int_if_whole(cell) for cell in known])


def _certain_number(cell: Any, decimal: str) -> int | float | None:
    """Read a number; None for other texts, and for possible codes: 007, or many digits."""
    if not isinstance(cell, str):
        return int_if_whole(cell)
    if decimal == "," and "." in cell:  # 1.234 is ambiguous
        return None
    number = unambiguous_number(cell.replace(decimal, "."), grouped=False)
    return None if number is None or not abs(number) < EXACT else int_if_whole(number)


def int_if_whole(number: float) -> int | float:
    """Return a whole number with few digits as int."""
    return int(number) if abs(number) < EXACT and number == int(number) else float(number)


def cells_of_texts(texts: Iterable[str | None]) -> Cells:
    """Divide texts into numbers and others; None is a blank."""
    known = ["" if text is None else visible(text) for text in texts]
    numbers = [unambiguous_number(text, grouped=True) for text in known]
    pairs = enumerate(zip(known, numbers, strict=True))
    rows = [row for row, (text, number) in pairs if text and number is None]
    values = np.array(numbers, dtype=np.float64)  # None is NaN
    return Cells(values, np.array(rows, np.int64), as_text([known[row] for row in rows]))


def text_of(value: object) -> str:
    """Format a Python value; empty for None and NaN."""
    if value is None or value != value:
        return ""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # with all digits, unlike in `spell`: headers and classes are names
    # In UTC the midnight of a zone may be another day.
    if isinstance(value, dt.datetime) and value.time() == dt.time() and value.tzinfo is None:
        value = value.date()
    return str(value).lower() if isinstance(value, bool) else str(value)


def cells_of_values(values: Sequence[Any]) -> Cells:
    """Divide Python values into numbers and texts, which are interpreted later."""
    numbers = np.full(len(values), np.nan)
    rows: list[int] = []
    for row, value in enumerate(values):
        if isinstance(value, dt.timedelta):
            numbers[row] = value / _HOUR
        elif isinstance(value, (float, int)) and not isinstance(value, bool):
            numbers[row] = value
        elif text_of(value):
            rows.append(row)
    texts = as_text([text_of(values[row]) for row in rows])
    return Cells(numbers, np.array(rows, np.int64), texts, typed=True)


def numeric_cells(numbers: NDArray[Any], type_name: str = "", *, usable: bool = True) -> Cells:
    """Create a column of numbers of a numeric type."""
    return Cells(numbers, np.empty(0, np.int64), as_text([]), type_name, usable, typed=True)


def join_cells(parts: Sequence[Cells]) -> Cells:
    """Concatenate columns."""
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
