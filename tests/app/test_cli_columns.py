"""The option ``--with-columns``: the table's own columns behind the answers."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.helpers.commandline import done, run, warned
from tests.helpers.tables import Rows, read, sheet, table, write

ANSWERS = ["id", "label", "probability", "sure", "score_u", "score_v", "margin", "was_labeled"]
FIT = "--label y --id name --drop note -q --unlabeled ?"


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
    rows = [row | {"y": row["y"] or "?"} for row in rows]
    write("t.csv", rows)
    return rows


def columns_beside(path: str, rows: Rows, **how: str) -> None:
    """Check that the columns of the table follow the predictions unchanged."""
    names = [{"label": "label (table)"}.get(name, name) for name in rows[0]]
    answered = read(path, **how)
    assert list(answered[0]) == [*ANSWERS, *names]
    for row, mine in zip(answered, rows, strict=True):
        assert [row[name] for name in names] == list(mine.values())


def test_columns_of_the_table_follow_the_predictions_unchanged() -> None:
    rows = [row | {"a": row["a"].replace(".", ",")} for row in full_table()]
    how = {"delimiter": ";", "encoding": "cp1252"}
    write("t.csv", rows, **how)
    done(run(f"fit t.csv {FIT} --predictions plain.csv"))
    done(run(f"fit t.csv {FIT} --with-columns --predictions p.csv"))
    columns_beside("p.csv", rows, **how)
    for row, answer in zip(read("p.csv", **how), read("plain.csv", **how), strict=True):
        assert {name: row[name] for name in ANSWERS} == answer
    done(run(f"fit t.csv {FIT} --with-columns --predictions p.parquet"))
    numbers = [float(row["a"].replace(",", ".")) for row in rows]
    assert sheet("p.parquet")["a"].to_list() == numbers


@pytest.mark.parametrize(
    ("source", "suffix"), [(".xlsx", ".parquet"), (".parquet", ".csv"), (".parquet", ".xlsx")]
)
def test_types_of_the_table_are_kept(source: str, suffix: str) -> None:
    rows = full_table()
    big = [str(2**55 + 1 + i) for i in range(40)]
    frame = pl.DataFrame(rows).with_columns(
        pl.col("a", "b", "share").cast(pl.Float64),
        pl.col("k").replace("", None).cast(pl.Int64),
        big=pl.Series(big),
        digits=pl.lit("12"),
    )
    if source == ".parquet":
        parts = pl.Series([[i, 2] for i in range(40)])
        frame = frame.with_columns(pl.col("big").cast(pl.Int64), parts=parts)
        frame.write_parquet("t.parquet")
    else:
        frame.write_excel("t.xlsx")
    assert run(f"fit t{source} {FIT} --with-columns --predictions p{suffix}").code == 0
    if suffix == ".csv":
        answered = read("p.csv")
        assert [row["k"] for row in answered] == [row["k"] for row in rows]
        assert [float(row["a"]) for row in answered] == frame["a"].to_list()
        assert [row["big"] for row in answered] == big
        return
    again = sheet(f"p{suffix}")
    for name in ("k", "share", "digits"):
        assert again[name].to_list() == frame[name].to_list()
    assert again["big"].to_list() == big
    if source == ".parquet":
        assert again["parts"][3] == "[3, 2]"


@pytest.mark.parametrize("place", ["file", "-", "printed"])
def test_new_rows_keep_columns_that_the_model_does_not_know(
    monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    rows = full_table()
    done(run(f"fit t.csv {FIT} --model m"))
    new = [{"who": f"w{i}"} | row | {"more": f"00{i}"} for i, row in enumerate(rows)]
    write("new.csv", new)
    text = io.TextIOWrapper(io.BytesIO(Path("new.csv").read_bytes()))
    monkeypatch.setattr(sys, "stdin", text)
    where = "" if place == "printed" else "--predictions p.csv -q"
    data = "new.csv" if place == "file" else "-"
    told = "does not know the column"
    said = warned(run(f"predict m {data} --with-columns {where}"), told)
    if place == "printed":
        Path("p.csv").write_text(said)
    columns_beside("p.csv", new)


def test_rows_of_several_files_and_units_below_the_names() -> None:
    rows = table(note=[f"n{i}" for i in range(40)])
    units = {"name": "", "a": "mm", "b": "mm", "note": "", "y": ""}
    write("one.csv", [units, *rows[:25]])
    write("two.csv", [dict(reversed(row.items())) for row in rows[25:]])
    write("next.csv", [{"row": "3", "y": "u"}])
    options = "--label y --drop name,note --with-columns -q --predictions p.csv"
    done(run(f"fit one.csv two.csv next.csv {options}"))
    answered = read("p.csv")
    for name in ("note", "a"):
        assert [row[name] for row in answered] == [row[name] for row in rows]
    assert (answered[2]["was_labeled"], answered[2]["y"]) == ("true", rows[2]["y"])


def test_names_that_clash_stay_apart() -> None:
    write("t.csv", [row | {"id": f"i{k}", "id (table)": f"j{k}"} for k, row in enumerate(table())])
    options = "--label y --id id --drop 'id (table),name' --with-columns -q"
    done(run(f"fit t.csv {options} --predictions p.csv"))
    answered = read("p.csv")
    for name, letter in (("id", "i"), ("id (table)", "j"), ("id (table) (table)", "i")):
        assert [row[name] for row in answered] == [f"{letter}{k}" for k in range(40)]
