"""Types of columns: numbers, dates, categories, free text, and columns of no use."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lapwing._tables.cells import Cells, cells_of_texts, join_cells
from lapwing._tables.encoders import (
    MISSING_VALUE,
    DateReading,
    EncodedReading,
    FreeTextReading,
    NumberReading,
    Reading,
    TextReading,
    describe_reading,
    reading_from,
)
from lapwing._tables.inference import (
    ReadingDefaults,
    infer_leniently,
    infer_strictly,
    missing_words,
    other_reading,
)
from tests.helpers.texts import sentences


def column(texts: list[str], *, strict: bool = False) -> Cells:
    return cells_of_texts(texts).without(missing_words(strict=strict))


def infer(texts: list[str], name: str = "x", **defaults: Any) -> Any:
    return infer_leniently(name, column(texts), ReadingDefaults(**defaults))


def read(texts: list[str], **defaults: Any) -> Any:
    """Return the first feature of a column."""
    features, _ = infer(texts, **defaults).read(column(texts))
    return features[0].tolist()


@pytest.mark.parametrize(
    ("texts", "defaults", "values"),
    [
        # Unambiguous columns do not depend on the rest of the table.
        ("1.234,56 €|12,50 €|7", {"decimal": "."}, [1234.56, 12.5, 7]),
        ("1,234.56|12.5|7", {"decimal": ","}, [1234.56, 12.5, 7]),
        ("1.5|2.25|1.125", {"decimal": ","}, [1.5, 2.25, 1.125]),
        # Others are read as the table is.
        ("1.234|12.500|999", {"decimal": ","}, [1234, 12500, 999]),
        ("1.234|12.500|999", {"decimal": "."}, [1.234, 12.5, 999]),
        ("1,234|2,500|999", {"decimal": ","}, [1.234, 2.5, 999]),
        ("1,234|2,500|999", {}, [1234, 2500, 999]),
        # The mark of the user is for ambiguous columns, and for columns with both marks.
        ("1.5|2.500|7", {"decimal": ",", "fixed": True}, [1.5, 2.5, 7]),
        ("28,17|2.500|7", {"decimal": ".", "fixed": True}, [28.17, 2500, 7]),
        ("2.500|7", {"decimal": ",", "fixed": True}, [2500, 7]),
        ("1.5|2,5|2.500", {"decimal": ",", "fixed": True}, [1.5, 2.5, 2500]),
        ("1.5|2.5|2,5", {"decimal": ",", "fixed": True}, [1.5, 2.5, 2.5]),
        ("true|FALSE|true", {}, [1, 0, 1]),
        ("5 mm|0 kg|7 mm|0 kg", {}, [5, 0, 7, 0]),
        ("5|-|k. A.", {}, [5, np.nan, np.nan]),
        ("5|#NV|unbekannt", {}, [5, np.nan, np.nan]),
    ],
)
def test_reads_columns_of_numbers(texts: str, defaults: Any, values: list[float]) -> None:
    np.testing.assert_array_equal(read(texts.split("|"), **defaults), values)


def test_columns_of_text_keep_zeros_and_name_missing_values() -> None:
    assert read(["00037", "10115"] * 10)[:2] == ["00037", "10115"]
    assert read(["1", ""] * 10)[:2] == ["1", MISSING_VALUE]
    assert read(["a", "b", "-"] * 10)[:3] == ["a", "b", MISSING_VALUE]


NUMBERS = [str(3 * i % 50) for i in range(40)]
COUNT = [str(i) for i in range(5, 30)]
SEVENS = [str(7 * i) for i in range(30)]
WORDS, LETTERS = FreeTextReading(""), FreeTextReading("", letters=True)
REPEATED = ["no change since the last visit", "a new complaint about the knee"] * 15
# Texts, and the type of the column or a part of the reason to leave it out.
COLUMNS: dict[str, tuple[list[str], Any]] = {
    "empty": ([""] * 20, "no row has a value"),
    "missing words": (["-", "k.A."] * 10, "no row has a value"),
    "one value": (["4", *[""] * 30], "only 1 of 31 rows has a value"),
    "constant text": (["DE"] * 20, "always 'DE'"),
    "constant number": (["7.5"] * 20, "always 7.5"),
    "constant zero": (["-0", "0"] * 10, "always 0"),
    "constant date": (["1.1.2020"] * 20, "always 2020-01-01"),
    "constant time": (["10:30"] * 20, "always 10:30:00"),
    "count": (COUNT, "counts the rows"),
    "count from the second row": (["", *COUNT[:-1]], "counts the rows"),
    "count with a gap": ([*COUNT[:6], "", *COUNT[7:]], "counts the rows"),
    "customer_id": (SEVENS, "names the rows: 30 different values"),
    "KundenNr": (SEVENS, "names the rows"),
    "Rechnungsnummer": (SEVENS, "names the rows"),
    "income": (SEVENS, NumberReading),  # different by chance
    "nine rows": ([str(i) for i in range(9)], NumberReading),  # all columns count in few rows
    "id": ([str(i % 7) for i in range(30)], NumberReading),
    "codes": ([f"K{i}" for i in range(30)], "names the rows: 30 different values in 30 rows"),
    "codes with zeros": ([f"{i:05d}" for i in range(30)], "names the rows"),
    "e-mail": ([f"u{i}@example.org" for i in range(30)], "e-mail or web addresses"),
    "web": ([f"https://example.org/a/{i}" for i in range(30)], "e-mail or web addresses"),
    "many": ([f"street {i % 25}" for i in range(60)], "25 different values of text; up to 20"),
    "currencies": (["5 €", "7 $"] * 10, "numbers in several units ($, €)"),
    "percents": (["5 %", "7"] * 10, "some numbers are in % and others are not"),
    "texts": ([*NUMBERS, *["bad"] * 22], "22 of 62 cells hold text, such as 'bad'"),
    "one text": ([*NUMBERS, "bad"], NumberReading),
    "one text among few values": ([*"12345" * 4, "many"], NumberReading),
    "mark": (["x", ""] * 10, TextReading),
    "number as a mark": (["1", ""] * 10, TextReading),
    "post codes": (["00037", "10115"] * 10, TextReading),
    "zeros": (["01", "10"] * 10, TextReading),
    "underscores": (["1_0", "2_0"] * 10, TextReading),
    "missing value": (["a", "b", "-"] * 10, TextReading),
    "storeys": (["EG", "1. OG", "2. OG"] * 10, TextReading),
    "open range": (["1", "2", "3", "4 or more"] * 10, TextReading),
    "houses": (["12a", "12b", "7c"] * 10, TextReading),  # the letters are no units
    "ordinals": (["1st", "2nd", "3rd", "4th"] * 6, TextReading),
    "unit of a few numbers": (["3 a", "5", "7"] * 10, TextReading),
    "repeated sentences": (REPEATED, TextReading),
    "sentences": (sentences(30), WORDS),
    "lines": ([f"line one\nline two\t{text}" for text in sentences(30)], WORDS),
    "Russian": ([f"она сказала что придёт {k}" for k in range(30)], WORDS),
    "Chinese": ([f"我们今天在家里看书和电影{k}次" for k in range(30)], LETTERS),
    "Thai": ([f"วันนี้อากาศดีมากเราไปเดินเล่นกัน {k}" for k in range(30)], LETTERS),
}  # fmt: skip


# The same for strict reading, of numbers and few values alone.
STRICT: dict[str, tuple[list[str], Any]] = {
    "plain numbers": (["007", "1.234", "NA", ""], NumberReading("")),
    "few values": (["a", "b", "a", "b"], TextReading("")),
    "half of it text": (["1", "a"] * 4, TextReading("")),
    "values of few rows": (["a", "b", "c", "d", "a", "b"], "4 values of text"),
    "decimal comma": (["1,5", "2", "3", "4"], "holds text"),
    "mark of a missing value": (["1", "-", "3", "4"], "holds text"),
    "many values": ([f"K{i}" for i in range(30)], "30 values of text"),
    "undeclared sentences": (sentences(30), "30 values of text"),
}


@pytest.mark.parametrize("name", [*COLUMNS, *STRICT])
def test_infers_types_of_columns(name: str) -> None:
    texts, expected = (COLUMNS | STRICT)[name]
    strict = name in STRICT
    found = infer_strictly(name, column(texts, strict=True)) if strict else infer(texts, name)
    if isinstance(expected, str):
        assert expected in found.reason
    elif isinstance(expected, type):
        assert isinstance(found, expected)
        assert getattr(found, "unit", "") == ""
    else:
        assert found == replace(expected, column=name)


def test_the_user_declares_free_text() -> None:
    for texts in (["red wine", "white wine"] * 15, [f"T-{k:04d}" for k in range(30)]):
        cells = cells_of_texts(texts)
        assert infer_leniently("x", cells, ReadingDefaults(), is_text=True) == FreeTextReading("x")
        assert infer_strictly("x", cells, is_text=True) == FreeTextReading("x")


@pytest.mark.parametrize(
    ("texts", "defaults", "order", "doubt"),
    [
        ("03.04.2020|05.06.2021", {}, "dmy", ""),
        ("03/04/2020|05/16/2021", {}, "mdy", ""),
        ("03/04/2020|25/06/2021", {}, "dmy", ""),
        ("2020-04-03|2021-06-05", {}, "ymd", ""),
        ("10:30|23:59", {}, "clock", ""),
        # Ambiguous dates have the order of the table.
        ("03/04/2020|05/06/2021", {"dates": "dmy"}, "dmy", "--dates month"),
        ("03/04/2020|05/06/2021", {"dates": "mdy"}, "mdy", "--dates day"),
    ],
)
def test_finds_the_order_of_dates(texts: str, defaults: Any, order: str, doubt: str) -> None:
    reading = infer(texts.split("|") * 5, **defaults)
    assert reading.order == order
    told = other_reading(reading, column(texts.split("|")))
    assert doubt in told if doubt else told == ""


def test_reports_ambiguous_decimal_marks() -> None:
    texts = ["1.234", "12.500", "999"]
    for decimal, shown, other in ((",", "1234", "."), (".", "1.234", ",")):
        doubt = other_reading(NumberReading("x", decimal), cells_of_texts(texts))
        assert f"such as {shown};" in doubt
        assert doubt.endswith(f"--decimal '{other}'")
        certain = cells_of_texts([*texts, f"1{decimal}5"])
        assert other_reading(NumberReading("x", decimal), certain) == ""


def test_leaves_out_columns_with_both_decimal_marks() -> None:
    # "4,420" is 4420 beside points and 4.42 beside commas: a thousandfold difference.
    texts = [f"{i % 7}.{250 + i}" for i in range(30)] + [f"{i % 7},{250 + i}" for i in range(10)]
    found = infer(texts)
    shown = "some numbers have a decimal point, such as '0.25', and others a decimal comma, "
    assert found.reason == f"{shown}such as '0,250'"
    assert isinstance(found.forced, NumberReading)
    # One misspelt cell among many is a bad cell; --decimal decides about the others.
    assert isinstance(infer([*(f"{i}.5" for i in range(30)), "0,5"]), NumberReading)
    assert isinstance(infer(texts, decimal=".", fixed=True), NumberReading)


# --- features -------------------------------------------------------------------------------------


def test_dates_become_days_weekdays_and_hours() -> None:
    texts = ["6.1.2020 06:00", "7.1.2020 18:00", "12.1.2020 06:00", ""]
    reading = infer(texts)
    parts = "days since 2020-01-06, day of the week, hour of the day"
    assert reading.describe() == f"dates (day.month.year), as {parts}"
    features, bad = reading.read(cells_of_texts(texts))
    assert bad is None
    around = [f"x ({part}, {axis})" for part in ("weekday", "hour") for axis in ("cos", "sin")]
    assert reading.names == ("x (days)", *around)
    np.testing.assert_allclose(features[0], [0.25, 1.75, 6.25, np.nan])
    # Monday comes first, and Sunday is as near to it as Tuesday is.
    week = np.column_stack(features[1:3])
    np.testing.assert_allclose(week[0], [1, 0])
    np.testing.assert_allclose(np.linalg.norm(week[2] - week[0]), np.linalg.norm(week[1] - week[0]))
    np.testing.assert_allclose(features[3], [0, 0, 0, np.nan], atol=1e-12)
    np.testing.assert_allclose(features[4], [1, -1, 1, np.nan])
    # The first of a month is a month and no day of the week.
    monthly = infer(["1.1.2020", "1.2.2020", "1.3.2020"])
    assert monthly.parts == ("days",)


@pytest.mark.parametrize(
    ("reading", "texts", "values", "bad"),
    [
        ((".", ""), ["5", "bad", "worse"], [5, np.nan, np.nan], (2, 1, "bad")),
        # 0.125 of a spreadsheet beside "12,5 %" of a CSV file is a hundredth of it.
        ((",", "%"), ["12,5 %", "0", "0.125"], [12.5, 0, np.nan], (1, 2, "0.125")),
        ((",", "%"), ["12,5 %", "0,125"], [12.5, np.nan], (1, 1, "0,125")),
        ((",", ""), ["12,5 %", "3"], [np.nan, 3], (1, 0, "12,5 %")),
        ((".", ""), ["", "3"], [np.nan, 3], None),
    ],
)
def test_cells_of_another_type_are_missing(reading: Any, texts: Any, values: Any, bad: Any) -> None:
    (column,), found = NumberReading("x", *reading).read(cells_of_texts(texts))
    np.testing.assert_array_equal(column, values)
    assert (found and (found.count, found.row, found.value)) == bad


def test_a_forced_column_keeps_its_most_frequent_values() -> None:
    forced = infer([f"c{min(i % 40, 24)}" for i in range(80)]).forced
    assert forced.values[0] == "c24"
    assert len(forced.values) == 20
    (column,), _ = forced.read(cells_of_texts(["c24", "c3", "new", ""]))
    assert column.tolist() == ["c24", "c3", "(other)", MISSING_VALUE]
    assert infer([f"K{i}" for i in range(30)]).forced is None


def test_leaves_out_types_that_are_neither_number_nor_text() -> None:
    nothing = np.full(3, np.nan), np.empty(0, np.int64), np.empty(0, object)
    cells = Cells(*nothing, "List(Int64)", False)
    for column in (cells, join_cells([cells_of_texts(["1", "2"]), cells])):
        found = infer_leniently("x", column, ReadingDefaults())
        assert found.reason == "holds List(Int64)"


# --- in model files -------------------------------------------------------------------------------

READINGS: dict[str, tuple[Reading, dict[str, list[Any]]]] = {
    "number": (NumberReading("x", ",", "€"), {"decimal": [";", [","]], "unit": [1]}),
    "date": (
        DateReading("x", "dmy", "2020-01-06", ("days", "weekday")),
        {"order": ["ydm"], "origin": ["yesterday"], "parts": [["century"], "days"]},
    ),
    "text": (TextReading("x", ("a", "b"), MISSING_VALUE), {"values": [[1]], "missing": [1]}),
    "free text": (FreeTextReading("x", letters=True), {"letters": [1]}),
    "encoded": (EncodedReading("x", "f", picture=True), {"picture": ["no"], "encoder": [None]}),
}


@pytest.mark.parametrize("kind", READINGS)
def test_readings_survive_json_and_damage_is_found(kind: str) -> None:
    reading, wrong = READINGS[kind]
    described = describe_reading(reading)
    assert described["kind"] == kind
    for given in (reading, replace(reading, missing=None) if kind == "text" else reading):
        assert reading_from(describe_reading(given)) == given
    wrong |= {"kind": ["code", ["number"]], "column": [3, ["x"]], "more": [1]}
    for key, values in wrong.items():
        for value in values:
            with pytest.raises(ValueError, match="reading is damaged"):
                reading_from({**described, key: value})
    with pytest.raises(ValueError, match="reading is damaged"):
        reading_from({})
