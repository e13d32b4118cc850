"""The loop of ``--next``: rows to label are written, filled in, and given back."""

from __future__ import annotations

import itertools
import shlex
from pathlib import Path

import polars as pl
import pytest

from tests.helpers.commandline import done, found, refused, run, warned
from tests.helpers.customers import LABEL, TRUTH, N, write_csv
from tests.helpers.tables import Rows, fill, read, sheet, table, write

# Rows by their numbers, and by a column that names them.
BY_ROW, BY_NAME = "--label y --drop name", "--label y --id name"


def suggest(options: str, path: str = "next.csv", data: str = "t.csv") -> None:
    """Write the rows to label next."""
    done(run(f"fit {data} {options} --next {path}"))


@pytest.mark.parametrize("options", [BY_ROW, BY_NAME])
def test_suggested_rows_can_be_labelled_in_several_rounds(options: str) -> None:
    rows = table()
    write("t.csv", rows)
    fit = f"fit t.csv {options} --with-columns --next next.csv --predictions p.csv"
    said = done(run(fit)).splitlines()
    fill("next.csv")
    # The command that is shown is the one to run.
    (at,) = (k for k, line in enumerate(said) if "Fill in the column 'y' of next" in line)
    command = said[at + 1].strip()
    assert command.startswith("lapwing fit t.csv next.csv ")
    assert " --with-columns " in command
    assert command.endswith(" --predictions p.csv --next next-2.csv")
    again = warned(run(command), "warning: 10 of the 14 labels are of rows that were suggested. ")
    assert again.startswith("t.csv: 40 rows, 14 with a label\n")
    assert "10 rows got their label from next.csv.\n" in again
    fill("next-2.csv")
    key = "name" if options == BY_NAME else "row"
    names = [f"r{i}" if options == BY_NAME else str(i + 1) for i in range(40)]
    asked = [row[key] for path in ("next.csv", "next-2.csv") for row in read(path)]
    assert len(set(asked)) == 20
    assert run(f"fit t.csv next.csv next-2.csv {options} -q --predictions p.csv").code == 0
    answers = read("p.csv")
    assert [row["id"] for row in answers] == names
    labeled = {row["id"] for row in answers if row["was_labeled"] == "true"}
    given = {name for name, row in zip(names, rows, strict=True) if row["y"]}
    assert labeled == given | set(asked)


FIT = f"fit t.csv next.csv {BY_NAME}"


@pytest.mark.parametrize(
    ("answers", "labeled", "remark"),
    [
        ({"r9": "u", "r3": "", "r7": ""}, 5, "1 row got its label from next.csv; 2 of its rows ha"),
        ({"r9": ""}, 4, "no label yet in next.csv: fill in its column 'y'"),
        ({"r0": "same"}, 4, "0 rows got their label from next.csv; 1 had the same label before"),
    ],
    ids=["partly filled", "not filled", "known"],
)
def test_answers_may_have_fewer_rows_and_columns(
    answers: dict[str, str], labeled: int, remark: str
) -> None:
    rows = table(truth=["u", "v"] * 20)
    write("t.csv", rows)
    same = {"same": rows[0]["y"]}
    write("next.csv", [{"y": same.get(y, y), "name": name} for name, y in answers.items()])
    told = found(run(f"{FIT} --truth truth --json"))
    assert (told["rows"], told["labeled"]) == (40, labeled)
    (one,) = told["remarks"]
    assert one.startswith(remark)
    told = found(run(f"info t.csv next.csv {BY_NAME} --json"))
    assert told["labels"][""] == 40 - labeled
    assert remark[1:] in str(told["summary"])


NOT_THESE = "its rows are not the rows of t.csv"


@pytest.mark.parametrize(
    ("answers", "parts"),
    [
        ("row,y\n41,u", ("row 1 has '41' in column 'row'", "t.csv has no such row")),
        ("row,y\nx,u", ("row 1 has 'x' in column 'row'",)),
        ("row,y\n3,u\n3.0,u", ("'3' is in column 'row' more than",)),
        ("row,label\n3,u", ("next.csv has no column of labels",)),
        ("row,a,b,y\n3,9,-7,u\n4,9,-7,u", (NOT_THESE, "row '3' has 9 in column 'a'", "same order")),
        ("name,a,b,y\nr2,9,-7,u\nr3,9,-7,u", (f"next.csv: {NOT_THESE}",)),
        ("name,a,b,y\nr2,9,-7,u\nnew,1,2,u", ("'r2', which is in a file before it, and 'new', ",
                                              "which is not. Give", "two files")),
        ("name,y\nr0,w", ("next.csv gives other labels than the files before it: row 'r0' is 'w' "
                          "and was 'v' before. Correct one of the two files.",)),
        ("name,y,chosen\nr2,u,suggested", ("next.csv holds suggested rows (column 'chosen')",
                                                 "Give --id COLUMN, as for the command that")),
    ],
)  # fmt: skip
def test_answers_that_do_not_fit_the_table_are_refused(
    answers: str, parts: tuple[str, ...]
) -> None:
    write("t.csv", table())
    Path("next.csv").write_text(answers + "\n")
    options = BY_ROW
    if answers.startswith("name"):
        options = "--label y" if "chosen" in answers else BY_NAME
    refused(run(f"fit t.csv next.csv {options}"), *parts)


def test_guards_against_formulas_are_removed_on_reading() -> None:
    rows = table(share=[f"-{i / 8:.1f} %".replace(".", ",") for i in range(40)])
    for i, row in enumerate(rows):
        row["name"] = f"=r{i}"
        label = row.pop("y")
        row["=y"] = label and f"@{label}"
    write("t.csv", rows)
    told = "In the rows to label next 11 cells begin like a formula"
    warned(run("fit t.csv --label =y --id name --next next.csv -q"), told)
    answers = read("next.csv")
    assert list(answers[0]) == ["name", "a", "b", "share", "'=y", "chosen"]
    assert all(row["name"].startswith("'=r") for row in answers)
    assert all(row["share"].startswith("-") for row in answers)
    write("next.csv", [row | {"'=y": "'@u"} for row in answers])
    again = found(run("fit t.csv next.csv --label =y --id name --json"))
    assert again["labeled"] == 14
    assert set(again["predicted"]) == {"@u", "@v"}


@pytest.mark.parametrize(
    ("encoding", "flag"), [("utf-8-sig", "--drop"), ("cp1252", "--id"), ("utf-16", "--drop")]
)
def test_files_have_the_encoding_and_notation_of_the_table(encoding: str, flag: str) -> None:
    write_csv(Path("t.csv"), encoding)
    options = f"--label {LABEL} --drop Bemerkung {flag} Kunden-Nr"
    done(run(f"fit t.csv {options} --next n.csv --predictions p.csv"))
    for path in ("n.csv", "p.csv"):
        written = Path(path).read_bytes()
        assert written.startswith(b"\xef\xbb\xbf") == (encoding == "utf-8-sig")
        assert written.startswith((b"\xff\xfe", b"\xfe\xff")) == (encoding == "utf-16")
    assert all("," in row["margin"] for row in read("p.csv", ";", encoding))
    rows, own = (read(path, ";", encoding) for path in ("n.csv", "t.csv"))
    assert any(row["Rabatt"].endswith(" %") and "," in row["Rabatt"] for row in rows)
    for row in rows:
        number = int(row.get("row", 0)) or (int(row["Kunden-Nr"]) - 10_000) // 7 + 1
        assert row[LABEL] == ""
        assert all(row[name] == own[number - 1][name] for name in ("Name", "Kunde seit", "Umsatz"))
        row[LABEL] = "ja" if TRUTH[number - 1] else "nein"
    write("n.csv", rows, ";", encoding)
    answer = run(f"fit t.csv n.csv {options} --json")
    told = found(answer)
    assert answer.err == ""
    assert (told["rows"], told["labeled"]) == (N, 50)
    assert "10 rows got their label from n.csv" in told["remarks"]


# --- what means no label --------------------------------------------------------------------------


def marked(path: str, *markers: str, column: str = "y", **names: str) -> Rows:
    """Write a table in which labels are named so, and words stand where there is none."""
    rows = table(48)
    for i, row in enumerate(rows):
        label = row.pop("y")
        row[column] = names.get(label, label) if label else markers[i % len(markers)]
    write(path, rows)
    return rows


@pytest.mark.parametrize(
    ("words", "names", "code"),
    [
        (["unlabeled"], {}, 2),
        (["?"], {}, 2),
        (["?", "todo", ""], {}, 2),
        (["-1", ""], {}, 0),
        # A number in most rows may be a class if the others count from 1.
        (["0"], {"u": "1", "v": "2"}, 0),
        (["0"], {"u": "1", "v": "-1"}, 2),
        (["-1"], {"u": "1", "v": "0"}, 2),
    ],
)
def test_suspected_markers_are_reported_with_a_corrected_command(
    words: list[str], names: dict[str, str], code: int
) -> None:
    rows = marked("our table.csv", *words, column="class of", **names)
    answer = run("fit 'our table.csv' --label 'class of' --id name --predictions p.csv")
    assert answer.code == code
    n_given = sum(row["class of"] in words and row["class of"] != "" for row in rows)
    (told,) = [line for line in answer.err.splitlines() if "of 48 rows have the label" in line]
    assert "pass unlabeled" not in answer.err
    start, _, command = told.partition(" If that means no label, run: lapwing ")
    kind = "error" if code else "warning"
    assert start.startswith(f"{kind}: our table.csv: label column 'class of': {n_given} of 48")
    assert ("would be " if code else "counts as a class") in start
    assert ("--unlabeled ''" in start) == (code == 2)
    assert all(repr(word) in start for word in words if word)
    assert "our table.csv: 48 rows, 4 with a label" in done(run(command))
    # What is refused, `info` leaves out of its command; it finds the column by its name.
    markers = [word for word in words if word and code]
    said = done(run("info 'our table.csv'"))
    told = (
        f"{n_given} of 48 rows have the label {' or '.join(map(repr, markers))}, which a fit "
        f"refuses as a class. The command below takes {'them' if markers[1:] else 'it'} for no "
        "label.\n"
    )
    assert (told in said) == ("refuses" in said) == (code == 2)
    words = shlex.split(said.splitlines()[-1])
    assert [v for flag, v in itertools.pairwise(words) if flag == "--unlabeled" and v] == markers
    assert ("our table.csv: 48 rows, 4 with a label" in run(*words[1:]).out) == (code == 2)
    counts = found(run("info 'our table.csv' --json"))["markers"]
    assert sum(counts.values()) == (n_given if code else 0)


def test_info_does_not_report_named_or_rare_markers() -> None:
    marked("few.csv", "?", "", "")
    marked("numbers.csv", "-1", u="0.5", v="0.5")
    for name in ("few.csv", "numbers.csv"):
        assert found(run(f"info {name} --label y --json"))["markers"] == {}
    marked("t.csv", "?")
    for marker in ("?", "''"):
        said = done(run(f"info t.csv --label y --unlabeled {marker}"))
        assert "refuses" not in said
        assert said.splitlines()[-1].count("--unlabeled") == 1


def test_absent_markers_are_reported() -> None:
    write("t.csv", table())
    told = "t.csv: no row has the label '??' (--unlabeled). Is it written otherwise?"
    assert run(f"fit t.csv {BY_NAME} --unlabeled ?? -q") == (0, "", f"warning: {told}\n")
    write("next.csv", [{"name": "r9", "y": "??"}])
    done(run(f"{FIT} --unlabeled ?? -q"))


# --- spreadsheets and Parquet files ---------------------------------------------------------------


def fill_sheet(path: str) -> pl.DataFrame:
    """Label the rows of a spreadsheet or a Parquet file and return the written table."""
    frame = sheet(path)
    assert frame["y"].null_count() == 10
    labels = pl.when(pl.col("a") < 2.5).then(pl.lit("u")).otherwise(pl.lit("v"))
    filled = frame.with_columns(y=labels)
    filled.write_parquet(path) if path.endswith(".parquet") else filled.write_excel(path)
    return frame


@pytest.mark.parametrize(
    ("verb", "options", "name"),
    [
        ("fit", BY_ROW, "--next next.xlsx"),
        ("suggest", BY_NAME, "--out next.xlsx"),
        ("fit", BY_NAME, "--next next.parquet"),
        ("suggest", BY_ROW, "--out next.parquet"),
    ],
)
def test_suggested_rows_in_other_formats_can_be_labelled(
    verb: str, options: str, name: str
) -> None:
    rows = table(
        code=[f"{i:03d}" for i in range(40)],
        day=[f"2024-01-{1 + i % 28:02d}" for i in range(40)],
        k=[str(i % 7) if i % 5 else "" for i in range(40)],
    )
    comma = [{key: cell.replace(".", ",") for key, cell in row.items()} for row in rows]
    write("t.csv", [row | {"name": f"00{row['name'][1:]}"} for row in comma], ";")
    said = done(run(f"{verb} t.csv {options} {name}"))
    path = name.split()[1]
    assert path.replace(".", "-2.") in said
    frame = fill_sheet(path)
    key = "name" if options == BY_NAME else "row"
    assert frame.columns == [key, "a", "b", "code", "day", "k", "y", "chosen"]
    for answer in frame.iter_rows(named=True):
        number = int(answer[key]) - (key == "row")
        mine = rows[number]
        assert answer[key] == (f"00{number}" if key == "name" else number + 1)
        assert (answer["a"], answer["b"]) == (float(mine["a"]), float(mine["b"]))
        assert (answer["code"], answer["day"]) == (mine["code"], mine["day"])
        assert answer["k"] == (int(mine["k"]) if mine["k"] else None)
    again = found(run(f"fit t.csv {path} {options} --json"))
    assert (again["rows"], again["labeled"]) == (40, 14)
    assert f"10 rows got their label from {path}" in again["remarks"]
    assert not any("differ" in remark for remark in again["remarks"])


def test_answers_may_have_another_decimal_mark() -> None:
    rows = table()
    commas = [row | {name: row[name].replace(".", ",") for name in "ab"} for row in rows]
    write("t.csv", commas, ";")
    write("next.csv", [row | {"y": "u"} for row in rows[20:24]])
    told = found(run(f"{FIT} --json"))
    assert told["remarks"][0].startswith("4 rows got their label from next.csv")


def test_cells_and_ids_reformatted_by_a_spreadsheet_are_accepted() -> None:
    rows = [row | {"name": f"{i:04d}" if i % 2 else f"{i}.0"} for i, row in enumerate(table())]
    write("t.csv", rows)
    suggest(BY_NAME)
    answers = [row | {"a": row["a"].replace(".", ",")} for row in fill("next.csv")]
    answers[0]["b"] = "77"
    write("next.csv", [row | {"name": f"{float(row['name']):g}"} for row in answers])
    told = found(run(f"{FIT} --json"))
    assert told["labeled"] == 14
    assert "1 cell differs between next.csv and t.csv: row " in told["remarks"][1]
    assert told["remarks"][1].endswith("Only the labels are taken from next.csv")
    # Ids that differ only by leading zeros do not match each other.
    write("t.csv", [*read("t.csv"), {"name": "7", "a": "0", "b": "0", "y": ""}])
    write("next.csv", [{"name": "07", "y": "u"}, {"name": "0009", "y": "u"}])
    refused(run(FIT), "holds '0009'", "and '07', which is not")
