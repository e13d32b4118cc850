"""Numbers, dates and words as people write them, one cell and one column at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lapwing._tables.cells import (
    Amount,
    Cells,
    cells_of_texts,
    count_marks,
    join_cells,
    read_amount,
)
from lapwing._tables.dates import read_moment
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
    Unusable,
    doubt_of,
    infer_leniently,
    infer_strictly,
    missing_words,
)
from lapwing._tables.options import ReadOptions
from lapwing._tables.tables import read_table


def judge(texts: list[str], name: str = "x", **habits: Any) -> Reading | Unusable:
    return infer_leniently(name, cells_of_texts(texts), ReadingDefaults(**habits))


def read(texts: list[str], **habits: Any) -> list[Any]:
    """The first feature that a column becomes."""
    reading = judge(texts, **habits)
    assert not isinstance(reading, Unusable), reading
    features, _ = reading.read(cells_of_texts(texts).without(missing_words(strict=False)))
    column: list[Any] = features[0].tolist()
    return column


@pytest.mark.parametrize(
    ("text", "decimal", "value", "unit"),
    [
        ("1.234,56 €", ",", 1234.56, "€"),
        ("€1,234.56", ".", 1234.56, "€"),
        ("-3,1", ",", -3.1, ""),
        ("\u22123,1", ",", -3.1, ""),
        ("13,5-", ",", -13.5, ""),
        ("($3.10)", ".", -3.1, "$"),
        ("-$5", ".", -5, "$"),
        ("1 234,5", ",", 1234.5, ""),
        ("1\u202f234\u202f567,5", ",", 1234567.5, ""),
        ("12'345.6", ".", 12345.6, ""),
        ("12\u2019345", ".", 12345, ""),
        ("CHF 12.50", ".", 12.5, "CHF"),
        ("12.50 eur", ".", 12.5, "EUR"),
        ("12,5 %", ",", 12.5, "%"),
        ("1.234", ",", 1234, ""),
        ("1.234", ".", 1.234, ""),
        ("1,234,567", ".", 1234567, ""),
        (",5", ",", 0.5, ""),
        ("2e-3", ".", 0.002, ""),
        ("57.69 mm", ".", 57.69, "mm"),
        ("1e5mm", ".", 1e5, "mm"),
        ("20 \u2103", ".", 20, "°C"),
        ("20 °C", ".", 20, "°C"),
        ("5 \u03bcg/mL", ".", 5, "µg/ml"),
        ("1 mm Hg", ".", 1, "mmHg"),
        ("2 years", ".", 2, "year"),
        ("1 Jahr", ".", 1, "year"),
        ("5 m^2", ".", 5, "m²"),
        ("12 pcs", ".", 12, "pcs"),
    ],
)
def test_numbers_in_every_notation(text: str, decimal: str, value: float, unit: str) -> None:
    assert read_amount(text, decimal) == Amount(value, unit)


@pytest.mark.parametrize(
    ("text", "decimal"),
    [
        ("1,5", "."),  # 15 to who only removes commas
        ("12.34", ","),
        ("1.23,4", ","),
        ("1,234,56", "."),
        ("1.234 567", ","),
        ("1_0", "."),
        ("abc", "."),
        ("€", "."),
        ("5 kg net weight", "."),
        ("--5", "."),
        ("", "."),
        ("03.04.2020", ","),
    ],
)
def test_what_is_no_number_in_a_notation(text: str, decimal: str) -> None:
    assert read_amount(text, decimal) is None


@pytest.mark.parametrize(
    ("text", "order", "iso"),
    [
        ("03.04.2020", "dmy", "2020-04-03T00:00:00"),
        ("3. 4. 2020", "dmy", "2020-04-03T00:00:00"),
        ("3.4.20", "dmy", "2020-04-03T00:00:00"),
        ("3.4.70", "dmy", "1970-04-03T00:00:00"),
        ("03/04/2020", "dmy", "2020-04-03T00:00:00"),
        ("03/04/2020", "mdy", "2020-03-04T00:00:00"),
        ("2020-04-03", "mdy", "2020-04-03T00:00:00"),
        ("2020-04-03T10:11:12.5Z", "ymd", "2020-04-03T10:11:12.500000"),
        ("2020-04-03 10:11+02:00", "ymd", "2020-04-03T08:11:00"),
        ("3.4.2020 14:30 Uhr", "dmy", "2020-04-03T14:30:00"),
        ("4/3/2020 2:30 PM", "mdy", "2020-04-03T14:30:00"),
        ("4/3/2020 12:30 am", "mdy", "2020-04-03T00:30:00"),
        ("3. April 2020", "ymd", "2020-04-03T00:00:00"),
        ("Fr., 3. Apr. 2020", "ymd", "2020-04-03T00:00:00"),
        ("Apr 3rd, 2020", "ymd", "2020-04-03T00:00:00"),
        ("3-Mär-2020", "ymd", "2020-03-03T00:00:00"),
    ],
)
def test_dates_in_every_order(text: str, order: str, iso: str) -> None:
    moment = read_moment(text, order)
    assert moment is not None
    assert moment.isoformat() == iso


@pytest.mark.parametrize(
    "text",
    ["31.02.2020", "1.13.2020", "3.4", "20200403", "12.5", "3.4.2020 25:00", "3.4.2020 13:00 pm",
     "Foo 3, 2020", "", "x"],
)  # fmt: skip
def test_what_is_no_date(text: str) -> None:
    assert read_moment(text, "dmy") is None


@pytest.mark.parametrize(
    ("texts", "habits", "values"),
    [
        # A column that speaks for itself is read so, whatever the rest of the table does.
        (["1.234,56 €", "12,50 €", "7"], {"decimal": "."}, [1234.56, 12.5, 7]),
        (["1,234.56", "12.5", "7"], {"decimal": ","}, [1234.56, 12.5, 7]),
        (["1.5", "2.25", "1.125"], {"decimal": ","}, [1.5, 2.25, 1.125]),
        # One that does not is read as the table is.
        (["1.234", "12.500", "999"], {"decimal": ","}, [1234, 12500, 999]),
        (["1.234", "12.500", "999"], {"decimal": "."}, [1.234, 12.5, 999]),
        (["1,234", "2,500", "999"], {"decimal": ","}, [1.234, 2.5, 999]),
        (["1,234", "2,500", "999"], {}, [1234, 2500, 999]),
        # What the user says is for columns that do not tell, or that hold both marks.
        (["1.5", "2.500", "7"], {"decimal": ",", "fixed": True}, [1.5, 2.5, 7]),
        (["28,17", "2.500", "7"], {"decimal": ".", "fixed": True}, [28.17, 2500, 7]),
        (["2.500", "7"], {"decimal": ",", "fixed": True}, [2500, 7]),
        (["1.5", "2,5", "2.500"], {"decimal": ",", "fixed": True}, [1.5, 2.5, 2500]),
        (["true", "FALSE", "true"], {}, [1, 0, 1]),
        (["5", "-", "k. A."], {}, [5, np.nan, np.nan]),
        (["5", "#NV", "unbekannt"], {}, [5, np.nan, np.nan]),
    ],
)
def test_columns_of_numbers(texts: list[str], habits: Any, values: list[float]) -> None:
    np.testing.assert_array_equal(read(texts, **habits), values)


@pytest.mark.parametrize(
    ("texts", "order"),
    [
        (["03.04.2020", "05.06.2021"], "dmy"),
        (["03/04/2020", "05/16/2021"], "mdy"),
        (["03/04/2020", "25/06/2021"], "dmy"),
        (["2020-04-03", "2021-06-05"], "ymd"),
        (["10:30", "23:59"], "clock"),
    ],
)
def test_the_order_of_a_column_of_dates(texts: list[str], order: str) -> None:
    reading = judge(texts * 5)
    assert isinstance(reading, DateReading)
    assert reading.order == order


def test_an_order_that_the_dates_do_not_tell_is_the_table_s_and_is_reported() -> None:
    texts = ["03/04/2020", "05/06/2021"] * 5
    for order, other in (("dmy", "month"), ("mdy", "day")):
        reading = judge(texts, dates=order)
        assert isinstance(reading, DateReading)
        assert reading.order == order
        assert f"--dates {other}" in doubt_of(reading, cells_of_texts(texts))
    sure = judge(["25/06/2021"] * 5)
    assert isinstance(sure, DateReading)
    assert doubt_of(sure, cells_of_texts(["25/06/2021"])) == ""


def test_a_notation_that_the_numbers_do_not_tell_is_reported() -> None:
    texts = ["1.234", "12.500", "999"]
    for decimal, shown, other in ((",", "1234", "."), (".", "1.234", ",")):
        doubt = doubt_of(NumberReading("x", decimal), cells_of_texts(texts))
        assert f"such as {shown};" in doubt
        assert doubt.endswith(f"--decimal {other}")
    assert doubt_of(NumberReading("x", ","), cells_of_texts([*texts, "1,5"])) == ""
    assert doubt_of(NumberReading("x"), cells_of_texts([*texts, "1.5"])) == ""


def test_a_nought_begins_no_group_of_thousands() -> None:
    for text in ("0.661", "-0.661", "+0.661 €", "00.661"):
        assert read_amount(text, ",") is None
        assert read_amount(text.replace(".", ","), ".") is None
    assert count_marks(["0.661"]) == {".": 1, ",": 0}
    assert count_marks(["-0,661"]) == {".": 0, ",": 1}


def test_decimal_points_and_commas_in_one_column_are_not_guessed() -> None:
    # "4,420" is 4420 beside points and 4.42 beside commas: a thousandfold difference.
    texts = [f"{i % 7}.{250 + i}" for i in range(30)] + [f"{i % 7},{250 + i}" for i in range(10)]
    verdict = judge(texts)
    assert isinstance(verdict, Unusable)
    assert verdict.reason == (
        "some numbers have a decimal point, such as '0.25', and others a decimal comma, such as "
        "'0,250'"
    )
    assert isinstance(verdict.forced, NumberReading)
    # One slip among many is a bad cell, and --decimal says what the others are.
    assert isinstance(judge([*(f"{i}.5" for i in range(30)), "0,5"]), NumberReading)
    assert isinstance(judge(texts, decimal=".", fixed=True), NumberReading)


def test_dates_become_days_weekdays_and_hours() -> None:
    texts = ["6.1.2020 06:00", "7.1.2020 18:00", "12.1.2020 06:00", ""]
    reading = judge(texts)
    assert reading.describe() == (
        "dates (day.month.year), as days since 2020-01-06, day of the week, hour of the day"
    )
    features, bad = reading.read(cells_of_texts(texts))
    assert bad is None
    assert reading.names == (
        "x (days)", "x (weekday, cos)", "x (weekday, sin)", "x (hour, cos)", "x (hour, sin)",
    )  # fmt: skip
    np.testing.assert_allclose(features[0], [0.25, 1.75, 6.25, np.nan])
    # Sunday is as near to Monday as Tuesday is.
    week = np.column_stack(features[1:3])
    np.testing.assert_allclose(np.linalg.norm(week[2] - week[0]), np.linalg.norm(week[1] - week[0]))
    np.testing.assert_allclose(features[3], [0, 0, 0, np.nan], atol=1e-12)
    np.testing.assert_allclose(features[4], [1, -1, 1, np.nan])
    # The first of a month is a month and no day of the week.
    monthly = judge(["1.1.2020", "1.2.2020", "1.3.2020"])
    assert isinstance(monthly, DateReading)
    assert monthly.parts == ("days",)


NUMBERS = [str(3 * i % 50) for i in range(40)]


@pytest.mark.parametrize(
    ("name", "texts", "reason"),
    [
        ("x", [""] * 20, "no row has a value"),
        ("x", ["-", "k.A."] * 10, "no row has a value"),
        ("x", ["4", *[""] * 30], "only 1 of 31 rows has a value"),
        ("x", ["DE"] * 20, "always 'DE'"),
        ("x", ["7.5"] * 20, "always 7.5"),
        ("x", ["1.1.2020"] * 20, "always 2020-01-01"),
        ("x", ["10:30"] * 20, "always 10:30:00"),
        ("x", [str(i) for i in range(5, 30)], "counts the rows"),
        ("x", ["", *map(str, range(5, 29))], "counts the rows"),
        ("x", [str(i) if i != 11 else "" for i in range(5, 30)], "counts the rows"),
        ("customer_id", [str(7 * i) for i in range(30)], "names the rows: 30 different values"),
        ("KundenNr", [str(7 * i) for i in range(30)], "names the rows"),
        ("Rechnungsnummer", [str(7 * i) for i in range(30)], "names the rows"),
        ("x", [f"K{i}" for i in range(30)], "names the rows: 30 different values in 30 rows"),
        ("x", [f"{i:05d}" for i in range(30)], "names the rows"),
        ("x", [f"u{i}@example.org" for i in range(30)], "e-mail or web addresses"),
        ("x", [f"https://example.org/{i}" for i in range(30)], "e-mail or web addresses"),
        ("x", [f"street {i % 25}" for i in range(60)], "25 different values of text; up to 20"),
        ("x", ["5 €", "7 $"] * 10, "numbers in several units ($, €)"),
        ("x", ["5 %", "7"] * 10, "some numbers are in % and others are not"),
        ("x", [*NUMBERS, *["bad"] * 12], "12 of 52 cells hold text, such as 'bad'"),
    ],
)
def test_columns_that_are_of_no_use(name: str, texts: list[str], reason: str) -> None:
    verdict = judge(texts, name)
    assert isinstance(verdict, Unusable)
    assert reason in verdict.reason


@pytest.mark.parametrize(
    ("name", "texts", "kind"),
    [
        ("income", [str(7 * i) for i in range(30)], NumberReading),  # different by chance
        ("x", [str(i) for i in range(9)], NumberReading),  # in nine rows all columns are
        ("id", [str(i % 7) for i in range(30)], NumberReading),
        ("x", ["x", ""] * 10, TextReading),
        ("x", ["1", ""] * 10, TextReading),
        ("x", ["00037", "10115"] * 10, TextReading),  # a code and not 37
        ("x", ["01", "10"] * 10, TextReading),
        ("x", ["1_0", "2_0"] * 10, TextReading),
        ("x", [*NUMBERS, "bad"], NumberReading),
        ("x", ["a", "b", "-"] * 10, TextReading),
        ("x", ["EG", "1. OG", "2. OG"] * 10, TextReading),  # storeys
        ("x", ["1", "2", "3", "4 or more"] * 10, TextReading),
        ("x", [*"12345" * 4, "many"], NumberReading),  # a slip
    ],
)
def test_columns_that_are_of_use(name: str, texts: list[str], kind: type) -> None:
    assert isinstance(judge(texts, name), kind)


@pytest.mark.parametrize("above", ["", "Prices of today\n"])
def test_decimal_commas_do_not_separate_cells(tmp_path: Path, above: str) -> None:
    rows = "".join(f"{i % 7},17 €;{i % 5},10 €;{'ab'[i % 2] if i < 9 else ''}\n" for i in range(30))
    (tmp_path / "t.csv").write_text(f"{above}p;q;y\n{rows}", encoding="utf-8")
    table = read_table(tmp_path / "t.csv", ReadOptions(label="y"))
    assert table.feature_names == ("p", "q")
    np.testing.assert_array_equal(table.X[:, 0], np.arange(30) % 7 + 0.17)


def test_blanks_of_no_width_are_no_text(tmp_path: Path) -> None:
    blank = "\u200b"
    lines = [f"{i % 7}.5,{'' if i > 8 else 'ab'[i % 2]}{blank}" for i in range(30)]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *lines]) + "\n", encoding="utf-8")
    table = read_table(tmp_path / "t.csv", ReadOptions(label="y"))
    assert set(table.y[table.labeled]) == {"a", "b"}
    assert int(table.labeled.sum()) == 9
    assert cells_of_texts(["1.5\u200b", "\ufeff"]).n_filled == 1


def test_codes_keep_their_zeros_and_marks_their_blanks() -> None:
    assert read(["00037", "10115"] * 10)[:2] == ["00037", "10115"]
    assert read(["1", ""] * 10)[:2] == ["1", MISSING_VALUE]
    assert read(["a", "b", "-"] * 10)[:3] == ["a", "b", MISSING_VALUE]


def test_one_bad_cell_is_noted_and_missing() -> None:
    reading = judge([*NUMBERS, "bad", "worse"])
    assert isinstance(reading, NumberReading)
    (values,), bad = reading.read(cells_of_texts([*NUMBERS, "bad", "worse"]))
    assert np.isnan(values[-2:]).all()
    assert bad is not None
    assert (bad.count, bad.row, bad.value) == (2, 40, "bad")


def test_percent_and_plain_numbers_are_not_mixed_at_predict_time() -> None:
    # 0.125 of a spreadsheet beside "12,5 %" of a CSV file is a hundredth of it.
    reading = NumberReading("x", ",", "%")
    (values,), bad = reading.read(cells_of_texts(["12,5 %", "0", "0.125"]))
    np.testing.assert_array_equal(values, [12.5, 0, np.nan])
    assert bad is not None
    assert (bad.count, bad.row) == (1, 2)
    (values,), bad = NumberReading("x", ",").read(cells_of_texts(["12,5 %", "3"]))
    assert bad is not None
    np.testing.assert_array_equal(values, [np.nan, 3])


def test_a_forced_column_keeps_its_most_frequent_values() -> None:
    texts = [f"c{min(i % 40, 24)}" for i in range(80)]
    verdict = judge(texts)
    assert isinstance(verdict, Unusable)
    assert isinstance(verdict.forced, TextReading)
    assert verdict.forced.values[0] == "c24"
    assert len(verdict.forced.values) == 20
    (column,), _ = verdict.forced.read(cells_of_texts(["c24", "c3", "new", ""]))
    assert column.tolist() == ["c24", "c3", "(other)", MISSING_VALUE]
    alone = judge([f"K{i}" for i in range(30)])
    assert isinstance(alone, Unusable)
    assert alone.forced is None


def test_a_strict_judge_knows_numbers_and_few_values_only() -> None:
    def verdict(texts: list[str]) -> Reading | Unusable:
        return infer_strictly("x", cells_of_texts(texts))

    assert verdict(["007", "1.234", "NA", ""]) == NumberReading("x")
    assert verdict(["a", "b", "a", "b"]) == TextReading("x")
    for texts, reason in (
        (["1,5", "2", "3", "4"], "holds text"),
        (["1", "-", "3", "4"], "holds text"),
        ([f"K{i}" for i in range(30)], "30 values of text"),
    ):
        found = verdict(texts)
        assert isinstance(found, Unusable)
        assert reason in found.reason


@pytest.mark.parametrize(
    "reading",
    [
        NumberReading("x", ",", "€"),
        DateReading("x", "dmy", "2020-01-06", ("days", "weekday")),
        TextReading("x", ("a", "b"), MISSING_VALUE),
        FreeTextReading("x", letters=True),
        EncodedReading("x", "f", picture=True),
    ],
)
def test_readings_survive_json(reading: Reading) -> None:
    described = describe_reading(reading)
    assert reading_from(described) == reading
    for key, wrong in (("kind", "code"), ("column", 3), ("column", ["x"]), ("more", 1)):
        with pytest.raises(ValueError, match="reading is damaged"):
            reading_from({**described, key: wrong})


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "number", "column": "x", "decimal": ";"},
        {"kind": "date", "column": "x", "order": "ydm"},
        {"kind": "date", "column": "x", "order": "dmy", "origin": "yesterday"},
        {"kind": "date", "column": "x", "order": "dmy", "parts": ["century"]},
        {"kind": "number", "column": "x", "decimal": [","]},
        {"kind": "date", "column": "x", "order": "dmy", "parts": "days"},
        {"kind": "text", "column": "x", "values": [1]},
        {"kind": "text", "column": "x", "missing": 1},
        {"kind": "free text", "column": "x", "letters": 1},
        {"kind": "encoded", "column": "x", "picture": "no"},
        {"kind": ["number"], "column": "x"},
        {},
    ],
)
def test_damaged_readings(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="reading is damaged"):
        reading_from(wrong)


def test_columns_of_several_files_are_judged_as_one() -> None:
    first, second = cells_of_texts(["1.234", "2.000"]), cells_of_texts(["1,5", "-"])
    joined = join_cells([first, second])
    reading = infer_leniently("x", joined, ReadingDefaults())
    assert reading == NumberReading("x", ",")
    assert isinstance(reading, NumberReading)
    (values,), _ = reading.read(joined.without(missing_words(strict=False)))
    np.testing.assert_array_equal(values, [1234, 2000, 1.5, np.nan])


def test_a_type_that_is_neither_number_nor_text() -> None:
    cells = Cells(
        np.full(3, np.nan), np.empty(0, np.int64), np.empty(0, object), "List(Int64)", False
    )
    verdict = infer_leniently("x", cells, ReadingDefaults())
    assert isinstance(verdict, Unusable)
    assert verdict.reason == "holds List(Int64)"
