"""The loop of ``--next``: rows to label are written, filled in, and given back."""

from __future__ import annotations

import csv
import itertools
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from python_calamine import CalamineWorkbook
from sklearn.datasets import dump_svmlight_file, make_blobs

from lapwing._tables import predictions as predictions_module
from tests.helpers.commandline import asked, command, refused
from tests.helpers.customers import LABEL, NO_TEXT, TRUTH, N, write_csv

Main = Any
Rows = list[dict[str, str]]


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Main:
    """The command in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return command


def write(path: str, rows: Rows, delimiter: str = ",", encoding: str = "utf-8") -> None:
    with Path(path).open("w", newline="", encoding=encoding) as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def read(path: str, delimiter: str = ",", encoding: str = "utf-8") -> Rows:
    with Path(path).open(newline="", encoding=encoding) as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def table(n: int = 40, **columns: list[str]) -> Rows:
    """Two groups, two labels in each, and names of the rows."""
    X, group = make_blobs(n, centers=[[0, 0], [5, 5]], random_state=0)
    rows = []
    for i in range(n):
        known = np.flatnonzero(group == group[i])[:2]
        row = {"name": f"r{i}", "a": f"{X[i, 0]:.3f}", "b": f"{X[i, 1]:.3f}"}
        row |= {column: cells[i] for column, cells in columns.items()}
        rows.append(row | {"y": "uv"[group[i]] if i in known else ""})
    return rows


def fill(path: str, label: str = "y", **how: str) -> Rows:
    """Label the rows by the group in which they lie."""
    rows = read(path, **how)
    for row in rows:
        row[label] = "u" if float(row.get("a", 0)) < 2.5 else "v"
    write(path, rows, **how)
    return rows


@pytest.mark.parametrize("given", [(), ("--id", "name")])
def test_the_loop_closes_round_by_round(main: Main, given: tuple[str, ...]) -> None:
    write("t.csv", table())
    options = ("--label", "y", *given, *(() if given else ("--drop", "name")))
    code, said, err = main("fit", "t.csv", *options, "--next", "next.csv", "--predictions", "p.csv")
    assert (code, err) == (0, "")
    fill("next.csv")
    # The command that is shown is the one to run.
    (at,) = (
        k for k, line in enumerate(said.splitlines()) if "Fill in the column 'y' of next" in line
    )
    command = said.splitlines()[at + 1].strip()
    words = shlex.split(command)
    assert words[:4] == ["lapwing", "fit", "t.csv", "next.csv"]
    assert words[-4:] == ["--predictions", "p.csv", "--next", "next-2.csv"]
    code, said, err = main(*words[1:])
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith("warning: 10 of the 14 labels are of rows that were suggested. ")
    assert said.startswith("t.csv: 40 rows, 14 with a label\n")
    assert "10 rows got their label from next.csv.\n" in said
    fill("next-2.csv")
    key = "name" if given else "row"
    rounds = [{row[key] for row in read(name)} for name in ("next.csv", "next-2.csv")]
    assert not rounds[0] & rounds[1]
    found = asked(main("fit", "t.csv", "next.csv", "next-2.csv", *options, "--json"))
    assert (found["rows"], found["labeled"]) == (40, 24)
    assert len(read("p.csv")) == 40


def test_the_labels_go_to_the_rows_that_were_asked_about(main: Main) -> None:
    rows = table()
    write("t.csv", rows)
    fit = ("--label", "y", "--drop", "name", "-q")
    assert main("fit", "t.csv", *fit, "--next", "next.csv")[0] == 0
    asked_about = {int(row["row"]) for row in fill("next.csv")}
    assert main("fit", "t.csv", "next.csv", *fit, "--predictions", "p.csv")[0] == 0
    known = {int(row["id"]) for row in read("p.csv") if row["was_labeled"] == "true"}
    given = {i + 1 for i, row in enumerate(rows) if row["y"]}
    assert known == given | asked_about


def test_a_filled_in_file_may_hold_less_and_be_partly_filled(main: Main) -> None:
    write("t.csv", table(truth=["u", "v"] * 20))
    write("next.csv", [{"y": "u", "name": "r9"}, {"y": "", "name": "r3"}, {"y": "", "name": "r7"}])
    options = ("--label", "y", "--id", "name", "--truth", "truth")
    found = asked(main("fit", "t.csv", "next.csv", *options, "--json"))
    assert (found["rows"], found["labeled"]) == (40, 5)
    remark = "1 row got its label from next.csv; 2 of its rows have none yet"
    assert found["remarks"] == [remark]
    write("next.csv", [{"y": "", "name": "r9"}])
    found = asked(main("fit", "t.csv", "next.csv", *options, "--json"))
    assert found["remarks"] == ["no label yet in next.csv: fill in its column 'y'"]


def test_a_label_that_is_there_already(main: Main) -> None:
    rows = table()
    write("t.csv", rows)
    first, second = [i for i, row in enumerate(rows) if row["y"]][:2]
    same = {"name": f"r{first}", "y": rows[first]["y"]}
    other = {"name": f"r{second}", "y": "w"}
    options = ("--label", "y", "--id", "name")
    write("next.csv", [same])
    found = asked(main("fit", "t.csv", "next.csv", *options, "--json"))
    assert found["remarks"] == ["0 rows got their label from next.csv; 1 had the same label before"]
    write("next.csv", [same, other])
    refused(
        main("fit", "t.csv", "next.csv", *options),
        f"next.csv gives other labels than the files before it: row 'r{second}' is 'w' and was "
        f"{rows[second]['y']!r} before. Correct one of the two files.",
    )


@pytest.mark.parametrize(
    ("answers", "parts"),
    [
        ([{"row": "41", "y": "u"}], ("row 1 has '41' in column 'row'", "t.csv has no such row")),
        ([{"row": "x", "y": "u"}], ("row 1 has 'x' in column 'row'",)),
        ([{"row": "3", "y": "u"}, {"row": "3.0", "y": "u"}], ("'3' is in column 'row' more than",)),
        ([{"row": "3", "label": "u"}], ("next.csv has no column of labels",)),
        (
            [{"row": str(k), "a": "9", "b": "-7", "y": "u"} for k in (3, 4)],
            (
                "its rows are not the rows of t.csv",
                "row '3' has 9 in column 'a' here",
                "same order",
            ),
        ),
    ],
)
def test_answers_to_other_rows_are_refused(
    main: Main, answers: Rows, parts: tuple[str, ...]
) -> None:
    write("t.csv", table())
    write("next.csv", answers)
    refused(main("fit", "t.csv", "next.csv", "--label", "y", "--drop", "name"), *parts)


def test_two_tables_that_number_their_rows_alike_are_not_one(main: Main) -> None:
    write("one.csv", table())
    write("two.csv", [row | {"a": f"1{row['a']}", "b": "77"} for row in table()])
    fit = ("--label", "y", "--id", "name")
    refused(
        main("fit", "one.csv", "two.csv", *fit), "two.csv: its rows are not the rows of one.csv"
    )
    write("two.csv", [*table()[:3], {"name": "new", "a": "1", "b": "2", "y": "u"}])
    refused(
        main("fit", "one.csv", "two.csv", *fit),
        "holds 'r0', which is in a file before it, and 'new', which is not.", "two files",
    )  # fmt: skip


def test_cells_that_a_spreadsheet_has_written_anew_do_no_harm(main: Main) -> None:
    write("t.csv", table())
    options = ("--label", "y", "--drop", "name")
    assert main("fit", "t.csv", *options, "--next", "next.csv", "-q")[0] == 0
    rows = fill("next.csv")
    for row in rows:
        row["a"] = row["a"].replace(".", ",")
    rows[0]["b"] = "77"
    write("next.csv", rows)
    found = asked(main("fit", "t.csv", "next.csv", *options, "--json"))
    assert found["labeled"] == 14
    assert "1 cell differs between next.csv and t.csv: row " in found["remarks"][1]
    assert found["remarks"][1].endswith("Only the labels are taken from next.csv")


def test_rows_may_be_of_several_files_and_a_column_be_called_row(main: Main) -> None:
    rows = table(row=[str(i % 7) for i in range(40)])
    write("one.csv", rows[:25])
    write("two.csv", rows[25:])
    fit = ("fit", "one.csv", "two.csv", "--label", "y", "--drop", "name")
    assert main(*fit, "--next", "next.csv", "-q")[0] == 0
    found = fill("next.csv")
    assert list(found[0]) == ["lapwing row", "a", "b", "row", "y", "chosen"]
    for row in found:
        mine = rows[int(row["lapwing row"]) - 1]
        assert row["row"] == mine["row"]
        assert float(row["a"]) == float(mine["a"])
    code, said, _ = main(*fit[:3], "next.csv", *fit[3:], "-q", "--predictions", "p.csv")
    assert (code, said) == (0, "")
    assert sum(row["was_labeled"] == "true" for row in read("p.csv")) == 14


def test_guarded_ids_labels_and_numbers_come_back(main: Main) -> None:
    rows = table(share=[f"-{i / 8:.1f} %".replace(".", ",") for i in range(40)])
    for i, row in enumerate(rows):
        row["name"] = f"=r{i}"
        label = row.pop("y")
        row["=y"] = label and f"@{label}"
    write("t.csv", rows)
    options = ("--label", "=y", "--id", "name")
    code, _, err = main("fit", "t.csv", *options, "--next", "next.csv", "-q")
    assert code == 0
    assert "In the rows to label next 11 cells begin like a formula" in err
    found = read("next.csv")
    assert list(found[0]) == ["name", "a", "b", "share", "'=y", "chosen"]
    assert all(row["name"].startswith("'=r") for row in found)
    assert all(row["share"].startswith("-") for row in found)
    for row in found:
        row["'=y"] = "'@u"
    write("next.csv", found)
    again = asked(main("fit", "t.csv", "next.csv", *options, "--json"))
    assert again["labeled"] == 14
    assert set(again["predicted"]) == {"@u", "@v"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
@pytest.mark.parametrize("given", [("--drop", "Kunden-Nr"), ("--id", "Kunden-Nr")])
def test_files_are_written_as_the_table_is(
    main: Main, encoding: str, given: tuple[str, ...]
) -> None:
    write_csv(Path("t.csv"), encoding)
    options = ("--label", LABEL, *NO_TEXT, *given)
    assert main("fit", "t.csv", *options, "--next", "n.csv", "--predictions", "p.csv", "-q") == (
        0, "", "",
    )  # fmt: skip
    for path in ("n.csv", "p.csv"):
        written = Path(path).read_bytes()
        assert written.startswith(b"\xef\xbb\xbf") == (encoding == "utf-8-sig")
        assert written.startswith((b"\xff\xfe", b"\xfe\xff")) == (encoding == "utf-16")
    answers = read("p.csv", ";", encoding)
    assert all(float(row["margin"].replace(",", ".")) >= 0 for row in answers)
    assert all("," in row["margin"] for row in answers)
    rows = fill("n.csv", LABEL, delimiter=";", encoding=encoding)
    assert any(row["Rabatt"].endswith(" %") and "," in row["Rabatt"] for row in rows)
    for row in rows:
        number = int(row.get("row", 0)) or (int(row["Kunden-Nr"]) - 10_000) // 7 + 1
        row[LABEL] = "ja" if TRUTH[number - 1] else "nein"
    write("n.csv", rows, ";", encoding)
    code, said, err = main("fit", "t.csv", "n.csv", *options, "--json")
    assert (code, err) == (0, "")
    found = json.loads(said)
    assert (found["rows"], found["labeled"]) == (N, 50)
    assert "10 rows got their label from n.csv" in found["remarks"]


def test_labels_of_a_file_and_of_svmlight_come_back_too(main: Main) -> None:
    X, y = make_blobs(40, 6, centers=2, random_state=0)
    known = np.arange(40) < 6
    dump_svmlight_file(np.where(np.abs(X) > 3, X, 0.0), np.where(known, y + 1, 0), "t.svm")
    fit = ("--unlabeled", "0", "--next", "next.csv")
    assert main("fit", "t.svm", *fit, "-q")[0] == 0
    rows = read("next.csv")
    for row in rows:
        row["target"] = str(y[int(row["row"]) - 1] + 1)
    write("next.csv", rows)
    assert asked(main("fit", "t.svm", "next.csv", *fit[:2], "--json"))["labeled"] == 16
    np.save("X.npy", X)
    Path("labels.txt").write_text("\n".join(np.where(known, y.astype(str), "")) + "\n")
    fit = ("--labels", "labels.txt")
    assert main("fit", "X.npy", *fit, "--next", "next.csv", "-q")[0] == 0
    rows = read("next.csv")
    for row in rows:
        row["label"] = str(y[int(row["row"]) - 1])
    write("next.csv", rows)
    assert asked(main("fit", "X.npy", "next.csv", *fit, "--json"))["labeled"] == 16


def test_info_counts_labels_that_came_back(main: Main) -> None:
    write("t.csv", table())
    write("next.csv", [{"name": "r9", "y": "u"}])
    said = asked(main("info", "t.csv", "next.csv", "--label", "y", "--id", "name", "--json"))
    assert said["labels"][""] == 35
    assert "1 row got its label from next.csv." in said["summary"]


@pytest.mark.parametrize(
    "words",
    [
        ["unlabeled"],
        ["unknown"],
        ["none"],
        ["?"],
        ["n/a "],
        ["-"],
        ["?", "todo", ""],
        ["-1", ""],
    ],
)
def test_a_class_that_is_none_is_told_with_the_command_that_cures_it(
    main: Main, words: list[str]
) -> None:
    rows = table(48)
    for i, row in enumerate(rows):
        row["kind of"] = row.pop("y") or words[i % len(words)]
    write("our table.csv", rows)
    fit = ("fit", "our table.csv", "--label", "kind of", "--id", "name", "--predictions", "p.csv")
    code, said, err = main(*fit)
    if words == ["n/a "]:  # means no label anyway
        assert (code, err) == (0, "")
        return
    given = [row["kind of"] for row in rows if row["kind of"] in words and row["kind of"]]
    refused = 2 * len(given) >= len(rows)
    assert code == (2 if refused else 0)
    (told,) = [line for line in err.splitlines() if "of 48 rows have the label" in line]
    assert "every row has a label" not in err
    assert "pass unlabeled" not in err
    start, _, command = told.partition(" If that means no label, run: ")
    kind = "error" if refused else "warning"
    assert start.startswith(f"{kind}: our table.csv: label column 'kind of': {len(given)} of 48")
    assert ("--unlabeled ''" in start) == refused
    assert all(repr(word) in start for word in words if word)
    words_of_command = shlex.split(command)
    assert words_of_command[0] == "lapwing"
    code, said, err = main(*words_of_command[1:])
    assert (code, err) == (0, "")
    assert "our table.csv: 48 rows, 4 with a label" in said


@pytest.mark.parametrize("words", [["?"], ["-"], ["?", "todo"], ["0"]])
@pytest.mark.parametrize("given", [("--label", "class"), ()])
def test_info_offers_the_command_without_markers(
    main: Main, words: list[str], given: tuple[str, ...]
) -> None:
    rows = table(48)
    for i, row in enumerate(rows):
        known = {"u": "-1", "v": "1", "": ""}[row["y"]] if words == ["0"] else row["y"]
        row.pop("y")
        row["class"] = known or words[i % len(words)]
    write("our table.csv", rows)
    code, said, err = main("info", "our table.csv", *given)
    assert (code, err) == (0, "")
    named = " or ".join(map(repr, words))
    assert (
        f"44 of 48 rows have the label {named}, which a fit refuses as a class. The command below "
        f"takes {'it' if len(words) == 1 else 'them'} for no label.\n"
    ) in said
    command = shlex.split(said.splitlines()[-1])
    assert [v for k, v in itertools.pairwise(command) if k == "--unlabeled"] == words
    code, said, err = main(*command[1:])
    assert (code, err) == (0, "")
    assert "our table.csv: 48 rows, 4 with a label" in said
    found = asked(main("info", "our table.csv", *given, "--json"))
    assert sum(found["markers"].values()) == 44


def test_info_is_silent_on_markers_that_are_meant_named_or_few(main: Main) -> None:
    rows = table(48)
    for i, row in enumerate(rows):
        row["y"] = row["y"] or "?" * (i % 3 == 0)
    write("few.csv", rows)
    assert asked(main("info", "few.csv", "--label", "y", "--json"))["markers"] == {}
    for row in rows:
        row["y"] = row["y"] or "?"
    write("t.csv", rows)
    for marker in ("?", ""):
        code, said, _ = main("info", "t.csv", "--label", "y", "--unlabeled", marker)
        assert code == 0
        assert "refuses" not in said
        assert said.splitlines()[-1].count("--unlabeled") == 1
    numbers = [row | {"y": "0.5" if k < 4 else "-1"} for k, row in enumerate(rows)]
    write("numbers.csv", numbers)
    assert asked(main("info", "numbers.csv", "--label", "y", "--json"))["markers"] == {}


def test_a_dominating_class_may_be_none(main: Main) -> None:
    rows = table(60)
    for row in rows:
        row["y"] = {"u": "1", "v": "2", "": "0"}[row["y"]]
    write("t.csv", rows)
    code, _, err = main("fit", "t.csv", "--label", "y", "--id", "name", "-q")
    assert code == 0
    assert "56 of 60 rows have the label '0', which counts as a class." in err
    assert err.count("--unlabeled 0\n") == 1


def test_a_nought_between_two_signs_may_be_none(main: Main) -> None:
    rows = table(60)
    for row in rows:
        row["y"] = {"u": "1", "v": "-1", "": "0"}[row["y"]]
    write("t.csv", rows)
    code, _, err = main("fit", "t.csv", "--label", "y", "--id", "name", "-q")
    assert code == 2
    assert "56 of 60 rows have the label '0', which would be a class." in err
    assert err.count("--unlabeled 0\n") == 1
    # Where -1 is most of the labels, it is -1.
    for row in rows:
        row["y"] = {"0": "-1", "-1": "0", "1": "1"}[row["y"]]
    write("t.csv", rows)
    _, _, err = main("fit", "t.csv", "--label", "y", "--id", "name", "-q")
    assert "56 of 60 rows have the label '-1', which would be a class." in err


def test_several_values_mean_no_label(main: Main) -> None:
    rows = table()
    for i, row in enumerate(rows):
        row["y"] = row["y"] or ("?", "none", "NA")[i % 3]
    write("t.csv", rows)
    fit = ("fit", "t.csv", "--label", "y", "--id", "name", "--unlabeled", "?", "--json")
    assert asked(main(*fit, "--unlabeled", "none"))["labeled"] == 4
    # With an empty one, the usual words are classes.
    assert asked(main(*fit, "--unlabeled", "none", "--unlabeled", ""))["labeled"] == 17


def test_a_value_that_is_nowhere_means_nothing(main: Main) -> None:
    write("t.csv", table())
    code, _, err = main("fit", "t.csv", "--label", "y", "--id", "name", "--unlabeled", "??", "-q")
    assert code == 0
    assert (
        err == "warning: t.csv: no row has the label '??' (--unlabeled). Is it written otherwise?\n"
    )


def test_a_file_is_given_once(main: Main) -> None:
    write("t.csv", table())
    refused(main("fit", "t.csv", "./t.csv", "--label", "y"), "t.csv is given twice; give it once.")


def test_a_spreadsheet_may_be_given_back(main: Main) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    rows = table()
    write("t.csv", rows)
    options = ("--label", "y", "--drop", "name")
    assert main("fit", "t.csv", *options, "--next", "next.csv", "-q")[0] == 0
    asked_about = fill("next.csv")
    with xlsxwriter.Workbook("next.xlsx") as book:
        sheet = book.add_worksheet("next")
        sheet.write_row(0, 0, list(asked_about[0]))
        for k, row in enumerate(asked_about, start=1):
            sheet.write_row(k, 0, [int(row["row"]), float(row["a"]), float(row["b"]), row["y"]])
    found = asked(main("fit", "t.csv", "next.xlsx", *options, "--json"))
    assert (found["rows"], found["labeled"]) == (40, 14)
    assert found["remarks"] == ["10 rows got their label from next.xlsx"]


def fill_sheet(path: Path, label: str = "y") -> pl.DataFrame:
    """Label the rows of a spreadsheet or a Parquet file; what was written there."""
    if path.suffix == ".parquet":
        frame = pl.read_parquet(path)
    else:
        names, *cells = CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python()
        frame = pl.DataFrame(cells, schema=names, orient="row", strict=False)
    assert set(frame[label].to_list()) <= {"", None}
    filled = frame.with_columns(
        pl.when(pl.col("a") < 2.5).then(pl.lit("u")).otherwise(pl.lit("v")).alias(label)
    )
    if path.suffix == ".parquet":
        filled.write_parquet(path)
    else:
        filled.write_excel(path)
    return frame


@pytest.mark.parametrize("suffix", [".xlsx", ".parquet"])
@pytest.mark.parametrize("verb", ["fit", "suggest"])
@pytest.mark.parametrize("given", [("--drop", "name"), ("--id", "name")])
def test_rows_in_other_formats_close_the_loop(
    main: Main, suffix: str, verb: str, given: tuple[str, ...]
) -> None:
    columns = {
        "code": [f"{i:03d}" for i in range(40)],
        "day": [f"2024-01-{1 + i % 28:02d}" for i in range(40)],
        "k": [str(i % 7) if i % 5 else "" for i in range(40)],
    }
    rows = table(**columns)
    for row in rows:
        row["name"] = f"00{row['name'][1:]}"
    write("t.csv", rows)
    options = ("--label", "y", *given)
    flag, name = ("--next" if verb == "fit" else "--out"), Path(f"next{suffix}")
    code, said, err = main(verb, "t.csv", *options, flag, name)
    assert (code, err) == (0, "")
    assert f"next-2{suffix}" in said
    frame = fill_sheet(name)
    key = given[1] if given[0] == "--id" else "row"
    assert frame.columns == [key, "a", "b", "code", "day", "k", "y", "chosen"]
    assert frame.height == 10
    for found in frame.iter_rows(named=True):
        number = int(found[key]) - (key == "row")
        mine = rows[number]
        assert found[key] == (mine["name"] if key == "name" else number + 1)
        assert (found["a"], found["b"]) == (float(mine["a"]), float(mine["b"]))
        assert (found["code"], found["day"]) == (mine["code"], mine["day"])
        assert (found["k"] in ("", None)) == (mine["k"] == "")
        assert mine["k"] in ("", str(found["k"]).removesuffix(".0"))
    again = asked(main("fit", "t.csv", name, *options, "--json"))
    assert (again["rows"], again["labeled"]) == (40, 14)
    assert f"10 rows got their label from {name}" in again["remarks"]
    assert not any("differ" in remark for remark in again["remarks"])


@pytest.mark.parametrize(
    ("suffix", "module", "extra"), [(".parquet", "polars", "cli"), (".xlsx", "xlsxwriter", "excel")]
)
@pytest.mark.parametrize(("verb", "flag"), [("fit", "--next"), ("suggest", "--out")])
def test_other_formats_need_an_extra_before_the_work(
    main: Main, monkeypatch: pytest.MonkeyPatch, suffix: str, module: str, extra: str, verb: str,
    flag: str,
) -> None:  # fmt: skip
    write("t.csv", table())
    monkeypatch.setitem(sys.modules, module, None)
    said = main(verb, "t.csv", "--label", "y", "--drop", "name", flag, f"n{suffix}")
    refused(said, f"writing n{suffix} needs", f"lapwing-learn[{extra}]")


def test_a_sheet_has_no_more_columns_than_excel_has(
    main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("t.csv", table())
    monkeypatch.setattr(predictions_module, "_SHEET_COLUMNS", 3)
    refused(
        main("fit", "t.csv", "--label", "y", "--drop", "name", "--next", "n.xlsx"),
        "a sheet of Excel holds 3 columns, and there are 5 in the rows to label next. Write a .csv",
    )
    assert not Path("n.xlsx").exists()


def test_decimal_commas_are_numbers_in_a_spreadsheet(main: Main) -> None:
    rows = [
        row | {"a": row["a"].replace(".", ","), "b": row["b"].replace(".", ",")} for row in table()
    ]
    write("t.csv", rows, ";")
    options = ("--label", "y", "--drop", "name")
    assert main("fit", "t.csv", *options, "--next", "next.xlsx", "-q")[0] == 0
    frame = fill_sheet(Path("next.xlsx"))
    assert frame["a"].dtype == frame["b"].dtype == pl.Float64
    assert asked(main("fit", "t.csv", "next.xlsx", *options, "--json"))["labeled"] == 14


def test_ids_that_a_spreadsheet_takes_for_numbers(main: Main) -> None:
    rows = table()
    for i, row in enumerate(rows):
        row["name"] = f"{i:04d}"
    write("t.csv", rows)
    options = ("--label", "y", "--id", "name")
    assert main("fit", "t.csv", *options, "--next", "next.csv", "-q")[0] == 0
    answers = fill("next.csv")
    for row in answers:
        row["name"] = str(int(row["name"]))
    write("next.csv", answers)
    assert asked(main("fit", "t.csv", "next.csv", *options, "--json"))["labeled"] == 14
    # Where two ids are told apart by their zeros only, none is taken for the other.
    write("t.csv", [*rows, {"name": "7", "a": "0", "b": "0", "y": ""}])
    write("next.csv", [{"name": "07", "y": "u"}, {"name": "0009", "y": "u"}])
    refused(main("fit", "t.csv", "next.csv", *options), "holds '0009'", "and '07', which is not")


def test_suggested_rows_that_are_named_need_the_column_that_names_them(main: Main) -> None:
    write("t.csv", table())
    named = ("--label", "y", "--id", "name", "-q")
    assert main("fit", "t.csv", *named, "--next", "next.csv")[0] == 0
    fill("next.csv")
    refused(
        main("fit", "t.csv", "next.csv", "--label", "y"),
        "next.csv holds suggested rows (column 'chosen')",
        "Give --id COLUMN, as for the command that suggested them.",
    )
