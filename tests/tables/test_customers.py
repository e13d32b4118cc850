"""A table of customers in all formats: treatment of its columns, new rows and damaged files."""

from __future__ import annotations

import codecs
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

from lapwing._tables.assembly import summary_lines
from lapwing._tables.roles import ReadOptions
from lapwing._tables.tables import Table, read_points, read_table
from lapwing.exceptions import LapwingWarning
from tests.helpers.customers import HEADER, LABEL, TRUTH, N, write_csv, write_ods, write_xlsx
from tests.helpers.reading import fitted, read, rows, write

WRITERS: dict[str, Callable[[Path], Path]] = {
    "utf8.csv": lambda path: write_csv(path, "utf-8"),
    "bom.csv": lambda path: write_csv(path, "utf-8", mark=codecs.BOM_UTF8),
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


@pytest.fixture
def plain(tmp_path: Path) -> Table:
    return read_table(written(tmp_path, "utf8.csv"), READ)


def test_reads_a_table_of_customers(plain: Table) -> None:
    assert plain.feature_names == FEATURES
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


def test_an_unchanged_table_has_no_summary(tmp_path: Path) -> None:
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
    # Columns that were left out may be missing.
    cells = [line.split(";") for line in lines]
    short = "\n".join(";".join([*row[4:10], row[13]]) for row in cells)
    assert read_points(write(tmp_path / "s.csv", short), fitted(plain)).X.equals(plain.X)


def test_new_cells_of_another_type_are_reported_and_missing(tmp_path: Path, plain: Table) -> None:
    text = (tmp_path / "utf8.csv").read_text(encoding="utf-8")
    first = text.splitlines()[1]
    date, revenue = first.split(";")[4:6]
    path = write(tmp_path / "n.csv", text.replace(date, "neulich", 1).replace(revenue, "viel", 1))
    with pytest.warns(LapwingWarning) as caught:
        table = read_points(path, fitted(plain))
    said = "\n".join(str(one.message) for one in caught)
    assert "'Umsatz' holds text in 1 row; the first is row 1: 'viel'; counted" in said
    assert "'Kunde seit' holds text in 1 row" in said
    assert np.isnan(table.X["Umsatz"][0])
    assert np.isnan(table.X["Kunde seit (weekday, cos)"][0])
    # A model without imputation rejects them, with all errors in one message.
    with pytest.raises(ValueError, match=r"errors.*'Kunde seit' holds.*'viel'") as e:
        read_points(path, fitted(plain, impute="none"))
    # What predict has no option for is no advice.
    assert "--drop" not in str(e.value)
    assert "Fill them in: the model was fitted to a table without any" in str(e.value)
    assert "Kunde seit (days)" not in str(e.value)  # its cell is described above


def test_rejects_new_rows_in_another_notation(tmp_path: Path, plain: Table) -> None:
    head = ";".join(HEADER) + "\n"
    lines = (tmp_path / "utf8.csv").read_text(encoding="utf-8").splitlines()[1:3]
    cells = [line.replace('"', "").split(";") for line in lines]

    def amounts(*texts: str, column: int = 8) -> Path:
        for row, text in zip(cells, texts, strict=True):
            row[5:7], row[column] = ["", ""], text
        return write(tmp_path / "n.csv", head + "".join(";".join(row) + "\n" for row in cells))

    path = amounts("1.5", "1.234")
    with pytest.raises(ValueError, match=r"'Betrag' was read with decimal commas.*--decimal '\.'"):
        read_points(path, fitted(plain))
    table = read_points(path, fitted(plain), ReadOptions(decimal="."))
    assert table.X["Betrag"].to_list() == [1.5, 1.234]
    with pytest.raises(ValueError, match=r"'Umsatz', 'Betrag' was read with decimal commas"):
        read_points(amounts("1.5 €", "2 €", column=5), fitted(plain))
    # Texts such as 1.5 have one reading only.
    commas = read(write(tmp_path / "p.csv", "x;z;y\n" + rows("{a},25;{b};{y}")))
    pl.DataFrame({"x": ["1.5", "2.5"], "z": [1, 2]}).write_parquet(tmp_path / "n.parquet")
    assert read_points(tmp_path / "n.parquet", fitted(commas)).X[:, 0].tolist() == [1.5, 2.5]
    points = read(write(tmp_path / "p.csv", "x,z,y\n" + rows("{a}.25,{b},{y}")))
    path = write(tmp_path / "c.csv", "x;z\n0,25;1\n1,375;2\n")  # or 1375
    with pytest.raises(ValueError, match=r"'x' was read with decimal points.*say --decimal ','"):
        read_points(path, fitted(points))
    assert read_points(path, fitted(points), ReadOptions(decimal=",")).X[1, 0] == 1.375
    # The points of a word for "missing" are no decimal points.
    found = read_points(amounts("1.5", "n.a."), fitted(plain)).X["Betrag"].to_numpy()
    np.testing.assert_array_equal(found, [1.5, np.nan])


# --- insisting, and refusing ----------------------------------------------------------------------


def test_keeps_columns_that_the_user_names(tmp_path: Path) -> None:
    path = written(tmp_path, "utf8.csv")

    def kinds(**options: Any) -> dict[str, str]:
        table = read(path, label=LABEL, **options)
        return dict(zip(table.feature_names, table.features.kinds, strict=True))

    kept = {"Land": "categorical", "Kunden-Nr": "numeric", "Fax": "categorical"}
    for options in ({"keep": ("Land", "Kunden-Nr,Fax")}, {"features": ("Land,Kunden-Nr", "Fax")}):
        assert kinds(drop=(TEXT,), **options).items() >= kept.items()
    assert "Betrag (2)" not in kinds(drop=("Betrag (2)", TEXT))
    assert kinds(keep=("Name",))["Name"] == "text"  # "Anna Müller-1": words that rows share


# --- files ----------------------------------------------------------------------------------------


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
    assert ("deep", "holds List(Int64)") in [(n.column, n.words) for n in table.features.notes]
    again = read_points(tmp_path / "t.parquet", fitted(table))
    np.testing.assert_array_equal(again.X, table.X)


def test_archives_that_unpack_to_more_than_the_memory(tmp_path: Path, monkeypatch: Any) -> None:
    np.savez_compressed(tmp_path / "t.npz", X=np.zeros((500, 500)), y=np.zeros(500))
    with ZipFile(tmp_path / "t.xlsx", "w", ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", bytes(2_000_000))
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "1m")
    for name, cure in (("t.npz", r"Save it as \.parquet"), ("t.xlsx", "Save the sheet as CSV")):
        assert (tmp_path / name).stat().st_size < 10_000
        with pytest.raises(MemoryError, match=rf"{name} needs 1\.9 MB, but .* {cure}"):
            read(tmp_path / name)


@pytest.mark.parametrize("name", ["book.xlsx", "book.ods"])
def test_a_spreadsheet_on_stdin(tmp_path: Path, plain: Table, name: str, monkeypatch: Any) -> None:
    content = io.BytesIO(written(tmp_path, name).read_bytes())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(content))
    assert read_table("-", READ).feature_names == plain.feature_names
