"""Tables as companies have them: what is made of each column, in all formats, and for new rows."""

from __future__ import annotations

import csv
import datetime as dt
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import polars as pl
import pytest

from lapwing._app.inspection import inspect
from lapwing._app.requests import InfoRequest
from lapwing._tables.assembly import summary_lines
from lapwing._tables.options import ReadOptions
from lapwing._tables.tables import Table, read_points, read_table
from lapwing.exceptions import LapwingWarning
from tests.helpers.customers import HEADER, LABEL, TRUTH, N, write_csv, write_ods, write_xlsx
from tests.helpers.reading import fitted, read, write, write_book

BOM = b"\xef\xbb\xbf"
WRITERS: dict[str, Callable[[Path], Path]] = {
    "utf8.csv": lambda path: write_csv(path, "utf-8"),
    "bom.csv": lambda path: write_csv(path, "utf-8", mark=BOM),
    "windows.csv": lambda path: write_csv(path, "cp1252"),
    "utf16.txt": lambda path: write_csv(path, "utf-16"),
    "utf16le.csv": lambda path: write_csv(path, "utf-16-le"),
    "utf16be.csv": lambda path: write_csv(path, "utf-16-be"),
    "book.xlsx": write_xlsx,
    "book.ods": write_ods,
}
REMARKS = {
    "windows.csv": "read as Windows-1252",
    "utf16.txt": "read as UTF-16",
    "book.xlsx": "the names of the columns are in row 3",
}
FEATURES = (
    *("Kunde seit (days)", "Kunde seit (weekday, cos)", "Kunde seit (weekday, sin)"),
    *("Umsatz", "Rabatt", "Stadt", "Betrag", "Betrag (2)", "Tarif"),
)
TEXT = "Bemerkung"
READ = ReadOptions(label=LABEL, drop=(TEXT,))


def written(folder: Path, name: str) -> Path:
    return WRITERS[name](folder / name)


def rows(cells: str, end: str = "\n", n: int = 30) -> str:
    """Lines of a table; {a}, {b}, {c} are digits that repeat, {i} counts, {y} has nine labels."""
    values = (
        {"a": i % 7, "b": i % 5, "c": 1 + i % 4, "i": i, "y": "ab"[i % 2] if i < 9 else ""}
        for i in range(n)
    )
    return "".join(cells.format(**one) + end for one in values)


def words(table: Table) -> dict[str, str]:
    return {note.column: note.words for note in table.features.notes}


@pytest.fixture
def plain(tmp_path: Path) -> Table:
    return read_table(written(tmp_path, "utf8.csv"), READ)


def test_a_customers_table_is_read_at_the_first_attempt(plain: Table) -> None:
    assert plain.feature_names == FEATURES
    assert plain.X.shape == (N, len(FEATURES))
    assert plain.labeled.tolist() == [i % 3 == 0 for i in range(N)]
    assert set(plain.y[plain.labeled]) == {"ja", "nein"}
    assert set(plain.dropped) == set(HEADER) - {LABEL} - {
        *("Kunde seit", "Umsatz", "Rabatt", "Stadt", "Betrag", "Tarif")
    }
    # What tells customers apart has survived: thousands, commas, euros and percent.
    revenue, rebate = plain.X["Umsatz"].to_numpy(), plain.X["Rabatt"].to_numpy()
    assert np.nanmedian(revenue[TRUTH]) < 1200 < 3800 < np.nanmedian(revenue[~TRUTH])
    assert np.nanmedian(rebate[TRUTH]) < 5 < 12 < np.nanmedian(rebate[~TRUTH])
    assert (int(np.isnan(revenue).sum()), int(np.isnan(rebate).sum())) == (7, 7)
    days = plain.X["Kunde seit (days)"]
    assert (days.min(), int(days.max()) > 2500) == (0, True)


def test_one_summary_says_what_was_done_to_each_column_and_why(plain: Table) -> None:
    assert summary_lines(plain.features.notes, plain.remarks) == [
        "Names that occur twice were numbered: 'Betrag (2)'.",
        "Columns: 7 used, 6 left out.",
        "  used 'Kunde seit': dates (day.month.year), as days since 2015-01-11, day of the week",
        "  used 'Umsatz': numbers with decimal commas in €; 7 missing",
        "  used 'Rabatt': numbers with decimal commas in %; 7 missing",
        "  used 'Stadt', 'Tarif': text, one-hot encoded",
        "  used 'Betrag': numbers with decimal commas",
        "  used 'Betrag (2)': numbers",
        "  left out 'Kunden-Nr', 'Name', 'PLZ': names the rows: 120 different values in 120 rows",
        "  left out 'E-Mail': e-mail or web addresses",
        "  left out 'Land': always 'Deutschland'",
        "  left out 'Fax': only 2 of 120 rows have a value",
        "--keep COLUMN uses one all the same; --strict leaves none out.",
    ]


def test_a_table_that_is_used_as_it_stands_needs_no_summary(tmp_path: Path) -> None:
    table = read(write(tmp_path / "t.csv", "x,z,y\n" + rows("{a}.5,{b},{y}")))
    assert summary_lines(table.features.notes, table.remarks) == []
    assert table.X.shape == (30, 2)


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "utf8.csv"])
def test_all_programs_write_the_same_table(tmp_path: Path, plain: Table, name: str) -> None:
    table = read_table(written(tmp_path, name), READ)
    assert table.feature_names == FEATURES
    assert table.y.tolist() == plain.y.tolist()
    assert table.dropped == plain.dropped
    assert REMARKS.get(name, table.remarks[0]) in table.remarks
    for column in FEATURES:
        mine, theirs = table.X[column], plain.X[column]
        # A spreadsheet's 12.5 % is the number 0.125.
        if column == "Rabatt" and name == "book.xlsx":
            mine = mine * 100
        if mine.dtype == pl.String:
            assert mine.to_list() == theirs.to_list()
        else:
            np.testing.assert_allclose(mine.to_numpy(), theirs.to_numpy(), rtol=1e-12, atol=1e-12)


# --- new rows -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["utf8.csv", "windows.csv", "utf16.txt"])
def test_new_rows_are_read_as_at_the_fit(tmp_path: Path, plain: Table, name: str) -> None:
    again = read_points(written(tmp_path, name), fitted(plain))
    assert again.X.equals(plain.X)
    # Row by row, whatever else is in the file: "8,297" alone does not tell how it is meant.
    lines = (tmp_path / "utf8.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    one = read_points(write(tmp_path / "one.csv", lines[0] + lines[7]), fitted(plain))
    assert one.X.equals(plain.X[6:7])


def test_cells_that_were_never_seen_count_as_missing_and_are_reported(
    tmp_path: Path, plain: Table
) -> None:
    text = (tmp_path / "utf8.csv").read_text(encoding="utf-8")
    first = text.splitlines()[1]
    date, revenue = first.split(";")[4:6]
    path = write(tmp_path / "n.csv", text.replace(date, "neulich", 1).replace(revenue, "viel", 1))
    with pytest.warns(LapwingWarning) as caught:
        table = read_points(path, fitted(plain))
    said = [str(one.message) for one in caught]
    assert any(
        "'Umsatz' holds text in 1 row; the first is row 1: 'viel'; counted" in s for s in said
    )
    assert any("'Kunde seit' holds text in 1 row" in s for s in said)
    assert np.isnan(table.X["Umsatz"][0])
    assert np.isnan(table.X["Kunde seit (weekday, cos)"][0])
    # A model that imputes nothing cannot take them; all of it is said at once.
    with pytest.raises(ValueError, match=r"errors.*'Kunde seit' holds.*'viel'") as e:
        read_points(path, fitted(plain, impute="none"))
    # What predict has no option for is no advice.
    assert "--drop" not in str(e.value)
    assert "Fill them in: the model was fitted to a table without any" in str(e.value)
    assert "Kunde seit (days)" not in str(e.value)  # its cell is described above


def test_another_notation_in_new_rows_is_not_taken_for_the_old_one(
    tmp_path: Path, plain: Table
) -> None:
    head = ";".join(HEADER) + "\n"
    lines = (tmp_path / "utf8.csv").read_text(encoding="utf-8").splitlines()[1:3]
    cells = [line.replace('"', "").split(";") for line in lines]
    for row, text in zip(cells, ("1.5", "1.234"), strict=True):
        row[5:7], row[8] = ["", ""], text
    path = write(tmp_path / "n.csv", head + "".join(";".join(row) + "\n" for row in cells))
    with pytest.raises(ValueError, match=r"'Betrag' was read with decimal commas.*--decimal \."):
        read_points(path, fitted(plain))
    table = read_points(path, fitted(plain), ReadOptions(decimal="."))
    assert table.X["Betrag"].to_list() == [1.5, 1.234]


def test_a_spreadsheet_s_share_is_no_percent(tmp_path: Path, plain: Table) -> None:
    path = written(tmp_path, "book.xlsx")
    with pytest.raises(
        ValueError, match=r"'Rabatt' holds text in 113 .* row 4 of the sheet: '0\.0"
    ):
        read_points(path, fitted(plain, impute="none"))


def test_columns_that_were_left_out_may_be_missing_later(tmp_path: Path, plain: Table) -> None:
    lines = [line.split(";") for line in (tmp_path / "utf8.csv").read_text("utf-8").splitlines()]
    short = "\n".join(";".join([*row[4:6], *row[6:10], row[13]]) for row in lines)
    assert read_points(write(tmp_path / "s.csv", short), fitted(plain)).X.equals(plain.X)


# --- insisting, and refusing ----------------------------------------------------------------------


def test_a_column_can_be_insisted_on(tmp_path: Path) -> None:
    path = written(tmp_path, "utf8.csv")
    for options in ({"keep": ("Land", "Kunden-Nr,Fax")}, {"features": ("Land,Kunden-Nr", "Fax")}):
        table = read(path, label=LABEL, drop=(TEXT,), **options)
        kinds = dict(zip(table.feature_names, table.features.kinds, strict=True))
        assert (kinds["Land"], kinds["Kunden-Nr"]) == ("categorical", "numeric")
        assert "Fax" in kinds
    table = read(path, label=LABEL, keep=("Name",))  # "Anna Müller-1": words that rows share
    assert dict(zip(table.feature_names, table.features.kinds, strict=True))["Name"] == "text"
    with pytest.raises(ValueError, match="--keep is of no use with --strict"):
        ReadOptions(keep=("a",), strict=True)


def test_strict_names_all_errors_at_once(tmp_path: Path) -> None:
    lines = [f"{i},n{i},{i}.5,{i / 4},{'ab'[i % 2]}" for i in range(40)]
    lines[3:6] = ["3,n3,x,inf,a", "4,n4,,1,a", "3,n5,-,1,a"]
    path = write(tmp_path / "t.csv", "id,name,u,v,y\n" + "\n".join(lines) + "\n")
    with pytest.raises(ValueError, match="errors") as caught:
        read(path, strict=True, missing=False, id="id")
    said = str(caught.value)
    assert said.startswith(f"{path}: 4 errors. (1) column 'name' cannot be used: not numeric")
    for part in (
        *("(2) column 'u' holds text in 2", "the first is row 4: 'x'"),
        *("(3) infinite values in 'v' (1)", "(4) id column 'id' does not tell rows apart"),
    ):
        assert part in said
    assert said.count(str(path)) == 1


_NAMES, _ROWS = "x;z;y\n", rows("{a};{b};{y}")


def damaged(path: Path) -> bytes:
    """The table in UTF-8, without the second byte of a letter."""
    content = write_csv(path, "utf-8").read_bytes()
    at = content.index("ü".encode()) + 1
    return content[:at] + content[at + 1 :]


WRONG: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "all wrong names": ("x,kind\n1,a\n", r"2 errors\. \(1\).*'knd' \(--label\).*\(2\).*'z' \(--dr",
                        {"label": "knd", "drop": ("z",)}),
    "labels and features": ("x,y\ninf,a\n" + "1.5,a\n2.5,a\n" * 9,
                            r"infinite values in 'x'.*holds only one class, 'a'", {}),
    "nothing left": ("n,k,y\n" + rows("{i},K{i},{y}"),
                     r"no column to learn from: 'n' \(counts .*--keep", {}),
    "strict, not UTF-8": (WRITERS["windows.csv"], "line 1 is not UTF-8 text", {"strict": True}),
    "strict, UTF-16": (WRITERS["utf16.txt"], "line 1 is not UTF-8 text", {"strict": True}),
    "strict, names": (WRITERS["utf8.csv"], "'Betrag' occurs more than once", {"strict": True}),
    "a name of two": (WRITERS["utf8.csv"], "'Betrag' is the name of more than one column",
                      {"drop": ("Betrag",)}),
    "damaged UTF-8": (damaged, "line 1 is not UTF-8 text", {}),
    "damaged UTF-16": (lambda path: write_csv(path, "utf-16").read_bytes()[:-1],
                       "looks like UTF-16 text and is damaged in line", {}),
    "empty lines": ("\n\n", r"csv has no rows|csv is empty", {}),
    "fields below empty lines": (f"\n\n{_NAMES}{_ROWS}1;2\n", "line 34 has 2 fields", {}),
    "fields below blanks": (f" \n{_NAMES}{_ROWS}1;2\n", "line 33 has 2 fields", {}),
    "fields below separators": (f";;\n{_NAMES}{_ROWS}1;2\n", "line 33 has 2 fields", {}),
    "fields below sep=": (f"sep=;\n{_NAMES}{_ROWS}1;2\n",
                          "line 33 has 2 fields, but line 2 names 3", {}),
    "--keep of addresses": (WRITERS["utf8.csv"],
                            "'E-Mail' cannot be used: e-mail or web addresses. Leave it out of --k",
                            {"keep": ("E-Mail",)}),
    "--keep of no column": (WRITERS["utf8.csv"],
                            r"no column 'Nmae' \(--keep\)\. Did you mean 'Name'",
                            {"keep": ("Nmae",)}),
}  # fmt: skip


def test_info_reports_that_no_column_can_be_used(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "n,c,y\n" + rows("{i},1,{y}"))
    (error,) = inspect(InfoRequest(data=(path,), label="y"))["errors"]
    assert error == (
        f"{path} has no column to learn from: 'n' (counts the rows), 'c' (always 1). To use one of "
        "them all the same, name it with --keep."
    )


@pytest.mark.parametrize("case", WRONG)
def test_wrong_tables(tmp_path: Path, case: str) -> None:
    content, message, options = WRONG[case]
    path = tmp_path / "t.csv"
    if callable(content):
        made = content(path)
        content = made.read_bytes() if isinstance(made, Path) else made
        options = {"label": LABEL} | options
    with pytest.raises(ValueError, match=message):
        read(write(path, content), **options)


# --- files ----------------------------------------------------------------------------------------


def test_a_column_without_a_name(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ",x,y,\n" + rows("{i},{a},{y},"))
    table = read(path)
    assert table.feature_names == ("x",)
    assert words(table)["column 1"] == "counts the rows"
    assert words(table)["column 4"] == "no row has a value"
    assert read(path, id="", drop=("column 4",)).ids[:2].tolist() == ["0", "1"]
    path = written(tmp_path, "utf8.csv")
    assert "Betrag (2)" not in read(path, label=LABEL, drop=("Betrag (2)", TEXT)).feature_names


@pytest.mark.parametrize("separator", [",", ";"])
def test_empty_rows_do_not_count_and_are_reported(tmp_path: Path, separator: str) -> None:
    lines = rows("{a}0,{b},{y}").splitlines()
    text = "\n".join(["x,z,y", *lines[:12], ",,", *lines[12:], ', ,""', ",,", ""])
    path = write(tmp_path / "t.csv", text.replace(",", separator))
    table = read(path)
    assert table.X.shape == (30, 2)
    assert table.ids.tolist() == list(range(1, 31))
    assert "3 rows without any value left out" in table.remarks
    # As it stands, a row is a row.
    assert read(path, strict=True, missing=True).X.shape == (33, 2)


@pytest.mark.parametrize("before", ["\n\n", " \n", ";;\n", "sep=;\n\n"])
def test_empty_lines_before_the_names(tmp_path: Path, before: str) -> None:
    assert read(write(tmp_path / "t.csv", before + _NAMES + _ROWS)).feature_names == ("x", "z")


def test_the_separator_that_excel_is_told(tmp_path: Path) -> None:
    text = "sep=;\r\nx;z;y\r\n" + rows("{a},5;{b};{y}", "\r\n")
    table = read(write(tmp_path / "t.csv", text))
    assert table.X[:3].tolist() == [[0.5, 0], [1.5, 1], [2.5, 2]]


def test_a_long_cell_is_read(tmp_path: Path) -> None:
    before = 131_072  # Python's own limit, which another test may have left changed
    csv.field_size_limit(before)
    text = "x,text,y\n" + rows("{a},t,{y}").replace("t", "t" * 200_000, 1)
    assert read(write(tmp_path / "t.csv", text), drop=("text",)).X.shape == (30, 1)
    assert csv.field_size_limit() == before


def test_old_line_ends(tmp_path: Path) -> None:
    assert read(write(tmp_path / "t.csv", "x,y\r" + rows("{a},{y}", "\r"))).X.shape == (30, 1)


def test_the_comma_of_one_column_tells_how_the_points_of_another_are_meant(tmp_path: Path) -> None:
    text = "x,z,y\n" + rows('"{a},25",{c}.{a}00,{y}', n=40)
    table = read(write(tmp_path / "t.csv", text))
    assert table.X[:3].tolist() == [[0.25, 1000], [1.25, 2100], [2.25, 3200]]
    assert "--decimal ." in words(table)["z"]
    points = read(tmp_path / "t.csv", decimal=".", keep=("x",), drop=("x",))
    assert points.X[:3, 0].tolist() == [1, 2.1, 3.2]


def test_numbers_to_be_predicted_and_truth_in_german(tmp_path: Path) -> None:
    known = [f"1.{100 + i},5 €" if i % 2 else "NA" for i in range(30)]
    lines = [f"{i % 7},5;{known[i]};{1000 + i},5;{i},5;{i % 3}" for i in range(30)]
    path = write(tmp_path / "t.csv", "\n".join(["x;y;t;e;n", *lines]))
    table = read(path, regression=True, truth="t", layout=("e", "n"))
    np.testing.assert_array_equal(table.y[:4], [np.nan, 1101.5, np.nan, 1103.5])
    assert table.labeled.tolist() == [i % 2 == 1 for i in range(30)]
    assert table.truth is not None
    assert table.truth[:2].tolist() == [1000.5, 1001.5]
    assert table.layout is not None
    assert table.layout[1].tolist() == [1.5, 1]


def test_parquet_columns_that_are_dates_times_durations_or_nested(tmp_path: Path) -> None:
    day = dt.datetime(2020, 1, 6, 12)
    moments = [day + dt.timedelta(days=i, hours=i % 5) for i in range(30)]
    columns = {
        "when": moments,
        "zoned": pl.Series(moments).dt.replace_time_zone("Europe/Berlin"),
        "day": [m.date() for m in moments],
        "clock": [m.time() for m in moments],
        "long": [dt.timedelta(minutes=30 * (i % 4)) for i in range(30)],
        "deep": [[i] for i in range(30)],
        "text": ["1,5", "2,5", "3"] * 10,
        "y": ["a", "b", None] * 10,
    }
    pl.DataFrame(columns).write_parquet(tmp_path / "t.parquet")
    table = read(tmp_path / "t.parquet")
    X = dict(zip(table.feature_names, table.X.T, strict=True))
    for name, first in (
        ("when (days)", [0.5, 1.5 + 1 / 24]),
        ("zoned (days)", [11 / 24]),
        ("day (days)", range(30)),
        ("clock (hour, cos)", [-1]),
        ("long", [0, 0.5, 1, 1.5]),
        ("text", [1.5, 2.5, 3]),
    ):
        np.testing.assert_allclose(X[name][: len(first)], first)
    assert words(table)["deep"] == "holds List(Int64)"
    again = read_points(tmp_path / "t.parquet", fitted(table))
    np.testing.assert_array_equal(again.X, table.X)


# --- spreadsheets ---------------------------------------------------------------------------------


# Fifteen digits, which is what a spreadsheet holds.
BODY: list[list[Any]] = [
    [float(f"{i + 1 / 3:.15g}"), i % 4, "ab"[i % 2] if i < 9 else None] for i in range(30)
]


def test_numbers_of_a_spreadsheet_are_read_to_the_bit(tmp_path: Path) -> None:
    rows = [list(row) for row in BODY]
    rows[5][0] = "k.A."
    rows[6][0] = "1.234,5"
    table = read(write_book(tmp_path / "t.xlsx", S=[["x", "z", "y"], *rows]))
    expected = [row[0] for row in BODY]
    expected[5], expected[6] = np.nan, 1234.5
    np.testing.assert_array_equal(table.X[:, 0], expected)


def test_whole_numbers_as_labels_and_ids_have_no_point(tmp_path: Path) -> None:
    rows = [[100 + i, i % 7, (1.0 + i % 2) if i < 9 else None] for i in range(30)]
    table = read(write_book(tmp_path / "t.xlsx", S=[["k", "x", "y"], *rows]), id="k")
    assert table.ids[:2].tolist() == ["100", "101"]
    assert table.y[:3].tolist() == [1, 2, 1]


def test_sheets(tmp_path: Path) -> None:
    head = ["x", "z", "y"]
    path = write_book(tmp_path / "t.xlsx", S1=[], S2=[head, *BODY], S3=[head, *BODY[:20]])
    table = read(path)
    assert table.X.shape == (30, 2)
    assert table.remarks == ("the sheet 'S2' was read; --sheet NAME reads another: 'S3'",)
    assert read(path, sheet="S3").X.shape == (20, 2)
    with pytest.raises(ValueError, match=r"no sheet 'S9' \(--sheet\); it has 'S1', 'S2', 'S3'"):
        read(path, sheet="S9")
    with pytest.raises(ValueError, match="the sheet 'S1' is empty"):
        read(path, sheet="S1")
    with pytest.raises(ValueError, match="all sheets are empty"):
        read(write_book(tmp_path / "e.xlsx", S1=[], S2=[]))


def test_empty_rows_and_columns_of_a_sheet_do_not_count(tmp_path: Path) -> None:
    rows = [["x", "z", "y"], *BODY[:12], [None, None, None], *BODY[12:], [None, " ", None]]
    assert read(write_book(tmp_path / "t.xlsx", S=rows)).X.shape == (30, 2)


@pytest.mark.parametrize("suffix", ["xlsx", "ods", "xls"])
def test_damaged_spreadsheets(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(ValueError, match=r"is not a readable spreadsheet: [^\n]*$"):
        read(write(tmp_path / f"t.{suffix}", b"PK\x03\x04 nonsense"))
    content = written(tmp_path, "book.ods" if suffix == "ods" else "book.xlsx").read_bytes()
    with pytest.raises(ValueError, match="is not a readable spreadsheet"):
        read(write(tmp_path / f"t.{suffix}", content[: len(content) // 2]), label=LABEL)


def test_archives_that_unpack_to_more_than_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "t.npz", X=np.zeros((500, 500)), y=np.zeros(500))
    with ZipFile(tmp_path / "t.xlsx", "w", ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", bytes(2_000_000))
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "1m")
    for name, cure in (("t.npz", r"Save it as \.parquet"), ("t.xlsx", "Save the sheet as CSV")):
        assert (tmp_path / name).stat().st_size < 10_000
        with pytest.raises(MemoryError, match=rf"{name} needs 1\.9 MB, but .* {cure}"):
            read(tmp_path / name)


@pytest.mark.parametrize("name", ["book.xlsx", "book.ods"])
def test_a_spreadsheet_on_standard_input(
    tmp_path: Path, plain: Table, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = io.BytesIO(written(tmp_path, name).read_bytes())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(content))
    assert read_table("-", READ).feature_names == plain.feature_names


def test_spreadsheets_need_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(ImportError, match=r"t\.ods needs 'python_calamine'.*\[excel\]"):
        read(write(tmp_path / "t.ods", b"PK"))
