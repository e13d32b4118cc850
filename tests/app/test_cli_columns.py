"""The option ``--with-columns``: the table's own columns behind the answers."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from python_calamine import CalamineWorkbook

from lapwing._app import predicting
from tests.app.test_cli_answers import Main, Rows, main, read, table, write
from tests.helpers.commandline import asked, refused

__all__ = ["main"]

ANSWERS = ["id", "label", "probability", "sure", "score_u", "score_v", "margin", "was_labeled"]
FIT = ("--label", "y", "--id", "name", "--drop", "note", "-q")


def full_table(n: int = 40) -> Rows:
    """Besides numbers a code, a date, a number with holes, a note, and a column called label."""
    rows = table(
        n,
        code=[f"{i:03d}" for i in range(n)],
        day=[f"{1 + i % 28}.1.2024" for i in range(n)],
        k=[f"{i % 7}" if i % 5 else "" for i in range(n)],
        share=[f"{i}.50" for i in range(n)],
        note=[f"see, {i}" for i in range(n)],
        label=["x"] * n,
    )
    for row in rows:
        row["y"] = row["y"] or "?"
    return rows


def sheet(path: Path) -> pl.DataFrame:
    if path.suffix == ".parquet":
        return pl.read_parquet(path)
    names, *cells = CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python()
    filled = [[None if cell == "" else cell for cell in row] for row in cells]
    return pl.DataFrame(filled, schema=names, orient="row", infer_schema_length=None)


def names_beside(rows: Rows) -> list[str]:
    return [{"label": "label (table)"}.get(name, name) for name in rows[0]]


def test_columns_stand_as_in_the_table_behind_the_answers(main: Main) -> None:
    rows = full_table()
    write("t.csv", rows)
    options = (*FIT, "--unlabeled", "?")
    assert main("fit", "t.csv", *options, "--predictions", "plain.csv")[0] == 0
    assert main("fit", "t.csv", *options, "--with-columns", "--predictions", "p.csv")[0] == 0
    found, plain = read("p.csv"), read("plain.csv")
    assert list(found[0]) == [*ANSWERS, *names_beside(rows)]
    for row, answer, mine in zip(found, plain, rows, strict=True):
        assert {name: row[name] for name in ANSWERS} == answer
        assert [row[name] for name in names_beside(rows)] == list(mine.values())


@pytest.mark.parametrize("suffix", [".xlsx", ".parquet"])
def test_numbers_are_numbers_in_other_formats(main: Main, suffix: str) -> None:
    rows, path = full_table(), Path(f"p{suffix}")
    write("t.csv", rows)
    options = (*FIT, "--unlabeled", "?", "--with-columns", "--predictions")
    assert main("fit", "t.csv", *options, path)[0] == 0
    frame = sheet(path)
    assert frame.columns == [*ANSWERS, *names_beside(rows)]
    for name in ("a", "b", "k", "share"):
        expected = [float(row[name]) if row[name] else None for row in rows]
        assert frame[name].to_list() == expected
    for name in ("name", "code", "day", "note", "label (table)", "y"):
        expected = [row[name.removesuffix(" (table)")] for row in rows]
        assert frame[name].to_list() == expected


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet"])
@pytest.mark.parametrize("source", [".xlsx", ".parquet"])
def test_types_of_the_table_are_kept(main: Main, source: str, suffix: str) -> None:
    rows = full_table()
    frame = pl.DataFrame(rows).with_columns(
        pl.col("a", "b", "share").cast(pl.Float64),
        pl.col("k").replace("", None).cast(pl.Int64),
        big=pl.int_range(pl.len()) + 2**55 + 1,
        digits=pl.lit("12"),
    )
    if source == ".parquet":
        frame = frame.with_columns(parts=pl.Series([[i, 2] for i in range(40)]))
        frame.write_parquet("t.parquet")
    else:
        frame = frame.with_columns(pl.col("big").cast(pl.String))
        frame.write_excel("t.xlsx")
    path = Path(f"p{suffix}")
    options = (*FIT, "--unlabeled", "?", "--with-columns", "--predictions")
    assert main("fit", f"t{source}", *options, path)[0] == 0
    if suffix == ".csv":
        found = read(str(path))
        assert [row["k"] for row in found] == [row["k"] for row in rows]
        assert [float(row["a"]) for row in found] == frame["a"].to_list()
        assert [row["big"] for row in found] == frame["big"].cast(pl.String).to_list()
        return
    again = sheet(path)
    assert again["k"].to_list() == frame["k"].to_list()
    assert again["share"].to_list() == frame["share"].to_list()
    assert again["digits"].to_list() == ["12"] * 40
    assert again["big"].to_list() == frame["big"].cast(pl.String).to_list()
    if source == ".parquet":
        assert again["parts"][3] == "[3, 2]"


@pytest.mark.parametrize("place", ["file", "-", "printed"])
def test_new_rows_keep_columns_that_the_model_does_not_know(
    main: Main, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    rows = full_table()
    write("t.csv", rows)
    options = (*FIT, "--unlabeled", "?")
    assert main("fit", "t.csv", *options, "--model", "m.lapwing")[0] == 0
    new = [{"who": f"w{i}"} | row | {"more": f"00{i}"} for i, row in enumerate(rows)]
    write("new.csv", new)
    data = "new.csv" if place == "file" else "-"
    if place != "file":
        text = io.TextIOWrapper(io.BytesIO(Path("new.csv").read_bytes()))
        monkeypatch.setattr(sys, "stdin", text)
    where = () if place == "printed" else ("--predictions", "p.csv", "-q")
    code, said, err = main("predict", "m.lapwing", data, "--with-columns", *where)
    assert code == 0
    assert "does not know the column" in err
    if place == "printed":
        Path("p.csv").write_text(said)
    found = read("p.csv")
    assert list(found[0]) == [*ANSWERS, *names_beside(new)]
    for row, mine in zip(found, new, strict=True):
        assert [row[name] for name in names_beside(new)] == list(mine.values())


def test_rows_of_several_files_and_units_below_the_names(main: Main) -> None:
    rows = table(note=[f"n{i}" for i in range(40)])
    units = {"name": "", "a": "mm", "b": "mm", "note": "", "y": ""}
    write("one.csv", [units, *rows[:25]])
    write("two.csv", [dict(reversed(row.items())) for row in rows[25:]])
    write("next.csv", [{"row": "3", "y": "u"}])
    options = ("--label", "y", "--drop", "name,note", "--with-columns", "-q", "--predictions")
    assert main("fit", "one.csv", "two.csv", "next.csv", *options, "p.csv") == (0, "", "")
    found = read("p.csv")
    assert [row["note"] for row in found] == [row["note"] for row in rows]
    assert [row["a"] for row in found] == [row["a"] for row in rows]
    assert found[2]["was_labeled"] == "true"
    assert found[2]["y"] == rows[2]["y"]


def test_names_that_clash_stay_apart(main: Main) -> None:
    rows = [row | {"id": f"i{k}", "id (table)": f"j{k}"} for k, row in enumerate(table())]
    write("t.csv", rows)
    options = ("--label", "y", "--id", "id", "--drop", "id (table),name", "--with-columns", "-q")
    assert main("fit", "t.csv", *options, "--predictions", "p.csv")[0] == 0
    found = read("p.csv")
    assert [row["id"] for row in found] == [row["id"] for row in rows]
    assert [row["id (table)"] for row in found] == [row["id (table)"] for row in rows]
    assert [row["id (table) (table)"] for row in found] == [row["id"] for row in rows]


def test_the_notation_is_that_of_the_table(main: Main) -> None:
    rows = [row | {"a": row["a"].replace(".", ",")} for row in table()]
    write("t.csv", rows, ";", "cp1252")
    options = ("--label", "y", "--id", "name", "--with-columns", "-q", "--predictions")
    assert main("fit", "t.csv", *options, "p.csv")[0] == 0
    assert [row["a"] for row in read("p.csv", ";")] == [row["a"] for row in rows]
    assert main("fit", "t.csv", *options, "p.parquet")[0] == 0
    numbers = [float(row["a"].replace(",", ".")) for row in rows]
    assert pl.read_parquet("p.parquet")["a"].to_list() == numbers


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_batches_keep_the_columns(main: Main, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    rows = full_table()
    frame = pl.DataFrame(rows).with_columns(
        pl.col("a", "b", "share").cast(pl.Float64),
        # Whole in one batch, fractions in another, nothing in the last.
        k=pl.Series([float(i) if i < 15 else i / 4 if i < 30 else None for i in range(40)]),
        note=pl.Series([None if i < 15 else f"n{i}" for i in range(40)]),
    )
    frame.write_parquet("t.parquet")
    options = (*FIT, "--unlabeled", "?", "--model", "m.lapwing")
    assert main("fit", "t.parquet", *options)[0] == 0
    predict = ("predict", "m.lapwing", "t.parquet", "--with-columns", "-q", "--predictions")
    assert main(*predict, f"whole{suffix}")[0] == 0
    monkeypatch.setattr(predicting, "_ROWS", 15)
    assert main(*predict, f"parts{suffix}")[0] == 0
    if suffix == ".csv":
        found, expected = read("parts.csv"), read("whole.csv")
        assert list(found[0]) == list(expected[0])
        names = ["id", "label", *names_beside(rows)]
        assert [[row[name] for name in names] for row in found] == [
            [row[name] for name in names] for row in expected
        ]
        return
    whole, parts = pl.read_parquet("whole.parquet"), pl.read_parquet("parts.parquet")
    assert parts.columns == whole.columns == [*ANSWERS, *names_beside(rows)]
    assert parts["k"].to_list() == frame["k"].to_list()
    assert parts["note"].to_list() == frame["note"].to_list()
    np.testing.assert_allclose(parts["margin"], whole["margin"], atol=1e-12)


@pytest.mark.parametrize("verb", ["fit", "predict"])
def test_arrays_hold_no_columns_of_a_table(main: Main, verb: str) -> None:
    write("t.csv", table())
    words = ("fit", "t.csv", *FIT[:4]) if verb == "fit" else ("predict", "m.lapwing", "t.csv")
    refused(
        main(*words, "--with-columns", "--predictions", "p.npz"),
        "--with-columns: p.npz would hold arrays, which have no place for the columns of a table. "
        "Write a .csv, .xlsx or .parquet file.\n",
    )


@pytest.mark.parametrize("suffix", [".npy", ".svm"])
def test_a_matrix_has_no_columns_to_write(main: Main, suffix: str) -> None:
    path = Path(f"t{suffix}")
    if suffix == ".npy":
        np.save(path, np.zeros((4, 2)))
        labels = ("--labels", "l.txt")
    else:
        path.write_text("1 1:2\n0 1:3\n")
        labels = ()
    refused(
        main("fit", path, *labels, "--with-columns", "--predictions", "p.csv"),
        f"{path}: --with-columns is about tables, and this format holds a matrix. Leave it out.\n",
    )


def test_new_rows_of_a_matrix_have_no_columns_to_write(main: Main) -> None:
    write("t.csv", table())
    assert main("fit", "t.csv", *FIT[:4], "--model", "m.lapwing", "-q")[0] == 0
    np.save("new.npy", np.zeros((4, 2)))
    refused(
        main("predict", "m.lapwing", "new.npy", "--with-columns"),
        "new.npy: --with-columns is about tables, and this format holds a matrix. Leave it out.\n",
    )


def test_the_command_that_is_shown_asks_for_the_columns_too(main: Main) -> None:
    write("t.csv", table())
    options = (*FIT[:4], "--with-columns", "--predictions", "p.csv", "--next", "n.csv")
    assert " --with-columns " in main("fit", "t.csv", *options)[1]
    # As --probabilities, it says nothing where there is no such file.
    assert asked(main("fit", "t.csv", *FIT[:4], "--with-columns", "--json"))["rows"] == 40
