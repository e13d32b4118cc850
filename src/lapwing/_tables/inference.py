"""Type inference of columns: numbers, dates, categories, free text, or without information.

skrub's ``Cleaner`` and ``TableVectorizer`` (0.11) were tried first on the table of
``tests/tables/test_customers.py``. They leave "1.234,56 €", "12,5 %" and "-" as text, read
03.04.2020 as 4 March and "00037" as 37, keep e-mail addresses and free text, and do not say why a
column was left out. They bring pandas, matplotlib, requests and pydot, take 0.8 s to import, and
their fitted objects need up to 25 of skrub's private types in a model file and have no form in
ONNX.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lapwing._tables import dates
from lapwing._tables.cells import (
    MISSING_WORDS,
    USUAL_MISSING_WORDS,
    Amount,
    BadCells,
    Cells,
    count_marks,
    is_infinite,
    kind_of_unit,
    number_or_truth,
    read_amount,
    spell,
    unit_in_name,
    usual_mark,
)
from lapwing._tables.encoders import (
    MISSING_VALUE,
    DateReading,
    FreeTextReading,
    NumberReading,
    Reading,
    TextReading,
)
from lapwing._words import shorten

# One-hot columns dilute distances: with more values, or with one or two rows per value, the text
# names rows rather than categories.
MAX_VALUES = 20
# With fewer rows, all columns look like ids, and constants are chance.
_FEW_ROWS = 10
_MIN_FILLED = 0.1  # of the rows; otherwise nearly all values would be imputed
_MAX_BAD = 0.1  # of the cells; with more the column has another type
_MIN_DISTINCT = 0.95  # of the cells of a column that names rows
MIN_WORDS = 4  # of a cell of free text, on average
# Scripts without spaces between words: Thai, Lao, Burmese, Khmer, kana and Chinese characters. Two
# characters count as a word.
_NO_SPACES = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)
_ID_NAME = re.compile(
    r"(?:^|[\W_])(?:id|nr|no|key|index|idx|guid|uuid)\.?$|(?:nummer|number|schlüssel)$",
    re.IGNORECASE,
)
_ID_CAMEL = re.compile(r"[a-z](?:ID|Id|Nr|No|Key)$")
_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+\.\w+|(?:https?://|www\.)\S+")


@dataclass(frozen=True)
class Unusable:
    """Column that is left out, with the reason.

    Attributes
    ----------
    column : str
    reason : str
        Reason, for the user.
    forced : Reading or None
        Reading if the user insists on using it; None if impossible.
    bad : BadCells or None
        Cells that are not numbers.
    refused : str
        Advice, if the column is an error unless the user drops it.
    """

    column: str
    reason: str
    forced: Reading | None = None
    bad: BadCells | None = None
    refused: str = ""


@dataclass(frozen=True)
class ReadingDefaults:
    """Defaults for ambiguous columns.

    Attributes
    ----------
    decimal : str
        Decimal mark of the whole table; empty if unknown.
    fixed : bool
        Whether it was given by the user.
    dates : {'dmy', 'mdy'}
        Order of day and month in ambiguous dates.
    """

    decimal: str = ""
    fixed: bool = False
    dates: str = "dmy"


def missing_words(strict: bool) -> frozenset[str]:
    """Return the words that mean "missing" in a column of features."""
    return MISSING_WORDS if strict else USUAL_MISSING_WORDS


def marks_of_table(columns: Mapping[str, Cells]) -> Counter[str]:
    """Count the decimal marks in the texts of all columns."""
    return sum((cells.marks for cells in columns.values()), Counter[str]())


def date_evidence(columns: Mapping[str, Cells]) -> str:
    """Return the order of dates in a table, 'dmy' or 'mdy'; empty if no column is unambiguous."""
    votes = Counter[str]()
    for cells in columns.values():
        if cells.texts.size:
            order, n_read, ambiguous = dates.choose_order(cells.counts, "dmy")
            votes[order] += bool(n_read) and not ambiguous
    return max(("dmy", "mdy"), key=votes.__getitem__) if votes["dmy"] != votes["mdy"] else ""


def other_reading(reading: Reading, cells: Cells) -> str:
    """Describe another possible reading of the cells of a column; empty if there is none.

    Parameters
    ----------
    reading : Reading
    cells : Cells
        Cells without missing ones.
    """
    if isinstance(reading, DateReading):
        ambiguous = dates.choose_order(cells.counts, "dmy")[2]
        other = "month" if reading.order == "dmy" else "day"
        return f"could be read the other way: --dates {other}" if ambiguous else ""
    if not isinstance(reading, NumberReading) or cells.fractions.size or cells.marks.total():
        return ""
    other = "." if reading.decimal == "," else ","
    both = ((read_amount(text, reading.decimal), read_amount(text, other)) for text in cells.counts)
    example = next((one for one, two in both if one is not None and one != two), None)
    if example is None:
        return ""
    return f"such as {example.value:g}; could be read the other way: --decimal '{other}'"


# --- strict ---------------------------------------------------------------------------------------


def infer_strictly(name: str, cells: Cells, *, is_text: bool = False) -> Reading | Unusable:
    """Infer the type of a column without guesses: numbers, categories and declared free text.

    See `infer_leniently`; other columns are unusable.
    """
    if cells.type_name:
        reason = f"of the type {cells.type_name}, which is neither a number nor text"
        return Unusable(name, reason, refused="Write it as numbers")
    if is_text:
        return _free_text(name, cells)
    wrong = np.array(cells.map_texts(lambda text: number_or_truth(text) is None), dtype=bool)
    bad = cells.bad_in(cells.rows[wrong])
    if bad is None:
        return NumberReading(name)
    if 2 * bad.count < cells.n_filled:
        return Unusable(name, "holds text", bad=bad)
    if not _has_few_values(cells):
        reason = (
            f"not numeric, but {len(cells.values)} values of text, such as "
            f"{shorten(next(iter(cells.values)))!r}; up to {MAX_VALUES} are one-hot encoded, each "
            "in two rows or more on average"
        )
        return Unusable(name, reason, refused="Name the rows with --id, write it as numbers")
    return TextReading(name)


def _has_few_values(cells: Cells) -> bool:
    """Return whether the values can be one-hot encoded."""
    return len(cells.values) <= min(MAX_VALUES, cells.numbers.size // 2)


# --- lenient --------------------------------------------------------------------------------------


def infer_leniently(
    name: str, cells: Cells, defaults: ReadingDefaults, *, is_text: bool = False
) -> Reading | Unusable:
    """Infer the type of a column.

    Parameters
    ----------
    name : str
    cells : Cells
        Cells of all files, without missing ones.
    defaults : ReadingDefaults
        Defaults of the table.
    is_text : bool, default=False
        Whether the user declares it as free text.

    Returns
    -------
    Reading or Unusable
        Encoding of the column, or the reason to leave it out.
    """
    if not cells.usable:
        return Unusable(name, f"holds {cells.type_name}")
    n = cells.numbers.size
    if cells.n_filled == 0:
        return Unusable(name, "no row has a value")
    if is_text:
        return _free_text(name, cells)
    reading = _as_numbers(name, cells, defaults) or _as_dates(name, cells, defaults)
    reading = reading or _as_text(name, cells)
    if cells.n_filled < _MIN_FILLED * n:
        have = "has" if cells.n_filled == 1 else "have"
        few = f"only {cells.n_filled} of {n} rows {have} a value"
        return Unusable(name, few, reading.forced if isinstance(reading, Unusable) else reading)
    if isinstance(reading, Unusable):
        return reading
    if isinstance(reading, NumberReading):
        return _check_numbers(cells, reading)
    if isinstance(reading, DateReading):
        return _check_dates(cells, reading)
    return reading


def _as_numbers(name: str, cells: Cells, defaults: ReadingDefaults) -> Reading | Unusable | None:
    """Read a column as numbers; None if most cells are something else."""
    counts = cells.counts
    # 00037 is a post code or a part number, not 37.
    if any(re.fullmatch(r"0\d+", text) for text in counts):
        return None
    decimal = decimal_of(cells, defaults)
    amounts = {text: read_amount(text, decimal) for text in counts}
    unit, several = _unit_of(name, cells, amounts)
    bad = [text for text, one in amounts.items() if _is_bad(text, one, ("", unit, *several))]
    n_bad = sum(counts[text] for text in bad)
    if 2 * n_bad > cells.n_filled:
        return None
    reading = NumberReading(name, decimal, unit)
    if several:
        reason = f"numbers in several units ({', '.join(several)})"
        return Unusable(name, reason, refused="Convert them to one unit")
    unitless = any(a is not None and not a.unit and a.value != 0 for a in amounts.values())
    unitless = unitless or bool(np.any(np.nan_to_num(cells.numbers)))
    if unitless and unit in ("%", "‰"):
        return Unusable(name, f"some numbers are in {unit} and others are not")
    mixed = "" if defaults.fixed else _mixed_marks(cells)
    if mixed:
        return Unusable(name, mixed, forced=reading)
    if n_bad > _MAX_BAD * cells.n_filled:
        # EG, 1. OG, 2. OG are categories, and so are 1, 2, 3 and "4 or more".
        if _has_few_values(cells) or _as_dates(name, cells, defaults) is not None:
            return None
        such = f"such as {shorten(bad[0])!r}"
        reason = f"numbers, but {n_bad} of {cells.n_filled} cells hold text, {such}"
        return Unusable(name, reason, forced=reading)
    return reading


def _is_bad(text: str, amount: Amount | None, units: Sequence[str]) -> bool:
    """Return whether a text is neither a number nor an amount in one of the units."""
    if amount is None:
        return number_or_truth(text) is None
    return amount.value != 0 and amount.unit not in units


def _unit_of(
    name: str, cells: Cells, amounts: Mapping[str, Amount | None]
) -> tuple[str, tuple[str, ...]]:
    """Find the unit of a column, and all units if there are several units of measurement.

    An unknown word is a unit only if most numbers have it: 12a and 12b are names.
    """
    units = Counter[str]()
    for text, amount in amounts.items():
        if amount is not None and amount.unit and amount.value != 0:
            units[amount.unit] += cells.counts[text]
    known = {unit: kind for unit in units if (kind := kind_of_unit(unit))}
    if not known:
        unit, count = units.most_common(1)[0] if units else ("", 0)
        return (unit if 2 * count > cells.n_filled else ""), ()
    named = unit_in_name(name)
    if named and kind_of_unit(named) in known.values():
        known[named] = kind_of_unit(named)
    several = tuple(sorted(known)) if len(known) > 1 else ()
    return max(known, key=lambda unit: units[unit]), several


def decimal_of(cells: Cells, defaults: ReadingDefaults) -> str:
    """Find the decimal mark of the texts of a column.

    Unambiguous texts decide, in each column separately. The mark given by the user, or that of the
    whole table, is used for columns in which all texts are ambiguous.
    """
    if not cells.texts.size:
        return defaults.decimal or "."
    # Plain numbers with a fraction are not ambiguous like 1.234, which remains a text.
    marks = cells.marks + Counter({".": cells.fractions.size})
    if defaults.fixed and marks["."] and marks[","]:
        return defaults.decimal
    return usual_mark(marks) or defaults.decimal or "."


def _mixed_marks(cells: Cells) -> str:
    """Describe mixed decimal marks in a column; empty if there is one mark, up to typing errors.

    Numbers such as "4,420" are then ambiguous, and could be wrong by a factor of a thousand.
    """
    counts, fractions = cells.counts, cells.fractions
    marks = {text: count_marks([text]) for text in counts}
    points, commas = ([text for text in counts if marks[text][mark]] for mark in ".,")
    n_points = sum(counts[text] for text in points) + fractions.size
    n_commas = sum(counts[text] for text in commas)
    if min(n_points, n_commas) <= _MAX_BAD * (n_points + n_commas):
        return ""
    point = points[0] if points else spell(float(fractions[0]))
    return (
        f"some numbers have a decimal point, such as {shorten(point)!r}, and others a decimal "
        f"comma, such as {shorten(commas[0])!r}"
    )


def _as_dates(name: str, cells: Cells, defaults: ReadingDefaults) -> Reading | None:
    """Read a column as dates or times of day; None if too many cells are something else."""
    n_numbers = cells.n_filled - cells.rows.size
    if n_numbers > _MAX_BAD * cells.n_filled or not cells.counts:
        return None
    order, _, _ = dates.choose_order(cells.counts, defaults.dates)
    reading = DateReading(name, order)
    _, bad = reading.moments(cells)
    if bad is not None and bad.count > _MAX_BAD * cells.n_filled:
        return None
    return reading


def _as_text(name: str, cells: Cells) -> Reading | Unusable:
    """Read a column as categories or free text."""
    counts = cells.values
    n, n_values = counts.total(), len(counts)
    if _has_few_values(cells):
        if n_values == 1 and n == cells.numbers.size >= _FEW_ROWS:
            return Unusable(
                name, f"always {shorten(next(iter(counts)))!r}", forced=TextReading(name)
            )
        return TextReading(name, missing=MISSING_VALUE)
    n_words = sum(k * count_words(text) for text, k in counts.items()) / n
    distinct = n_values >= _MIN_DISTINCT * n
    if distinct and 2 * sum(k for text, k in counts.items() if _ADDRESS.fullmatch(text)) > n:
        return Unusable(name, "e-mail or web addresses")
    if n_words >= MIN_WORDS:
        return _free_text(name, cells)
    # Ties are in alphabetical order, so that the order of the rows does not matter.
    frequent = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MAX_VALUES]
    values = tuple(text for text, count in frequent if count > 1)
    forced: Reading | None = TextReading(name, values, MISSING_VALUE) if values else None
    reason = f"{n_values} different values of text; up to {MAX_VALUES} are one-hot encoded"
    if distinct:
        reason = f"names the rows: {n_values} different values in {n} rows"
    if forced is None and n_words >= 2:
        forced = _free_text(name, cells)
    return Unusable(name, reason, forced)


def _free_text(name: str, cells: Cells) -> FreeTextReading:
    written = "".join(cells.texts.tolist())
    return FreeTextReading(name, letters=2 * len(_NO_SPACES.findall(written)) > len(written))


def count_words(text: str) -> float:
    """Count the words of a text; in scripts without spaces two characters are one."""
    unspaced = len(_NO_SPACES.findall(text))
    return unspaced / 2 if unspaced else len(text.split())


def _check_numbers(cells: Cells, reading: NumberReading) -> Reading | Unusable:
    """Leave out constants, and whole numbers that count or identify the rows."""
    (values,), _ = reading.read(cells)
    rows = np.flatnonzero(~(np.isnan(values) | is_infinite(values)))
    values = values[rows]
    if cells.numbers.size < _FEW_ROWS or not values.size:
        return reading
    if values.min() == values.max():
        if values.size < cells.numbers.size:  # a mark: a constant or blank
            return TextReading(reading.column, missing=MISSING_VALUE)
        return Unusable(reading.column, f"always {values[0] + 0.0:g}", forced=reading)
    # The first rows are checked first, which excludes most columns.
    few_gaps = values.size >= _MIN_DISTINCT * cells.numbers.size
    if few_gaps and not reading.unit and not (values[:100] % 1).any() and not (values % 1).any():
        # After a missing number the count may continue by the row or from the last number.
        if np.ptp(values - rows) == 0 or (np.diff(values) == 1).all():
            return Unusable(reading.column, "counts the rows", forced=reading)
        named = _ID_NAME.search(reading.column) or _ID_CAMEL.search(reading.column)
        if named and np.unique(values).size == values.size:
            reason = f"names the rows: {values.size} different values in {values.size} rows"
            return Unusable(reading.column, reason, forced=reading)
    return reading


def _check_dates(cells: Cells, reading: DateReading) -> Reading | Unusable:
    """Leave out a constant date; otherwise choose the parts that vary."""
    moments, _ = reading.moments(cells)
    known = moments[~np.isnat(moments)]
    first = known.min()
    if first == known.max() and cells.numbers.size >= _FEW_ROWS:
        part = "hour" if reading.order == dates.CLOCK else "days"
        whole = replace(reading, origin=str(first.astype("datetime64[D]")), parts=(part,))
        day, _, time = str(first.astype("datetime64[s]")).partition("T")
        shown = [] if reading.order == dates.CLOCK else [day]
        shown += [time] if time != "00:00:00" else []
        return Unusable(reading.column, f"always {' '.join(shown)}", forced=whole)
    parts = []
    if reading.order != dates.CLOCK:
        parts += ["days"]
        parts += ["weekday"] if _weekday_varies(known) else []
    parts += ["hour"] if np.unique(dates.hours_of_day(known)).size > 1 else []
    origin = str(first.astype("datetime64[D]"))
    return replace(reading, origin=origin, parts=tuple(parts) or ("hour",))


def _weekday_varies(moments: NDArray[np.datetime64]) -> bool:
    days = moments.astype("datetime64[D]")
    # The first of each month stands for the month, so the weekday has no meaning.
    monthly = (days == days.astype("datetime64[M]")).all()
    return bool(np.unique(dates.weekdays(moments)).size > 1 and not monthly)
