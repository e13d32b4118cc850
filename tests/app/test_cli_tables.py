"""Real tables through the command: one attempt, one summary, and the same for new rows."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, make_blobs

from lapwing._app.requests import FitRequest, InfoRequest
from lapwing.models import load_model
from tests.helpers.customers import LABEL, NO_TEXT, TRUTH, N, write_csv, write_ods, write_xlsx

Main = Any


def rows_of(path: Path, encoding: str = "utf-8") -> list[dict[str, str]]:
    """A German export, or what is written beside it."""
    with path.open(newline="", encoding=encoding) as file:
        return list(csv.DictReader(file, delimiter=";"))


def labels(path: Path, table: str = "plain.csv") -> list[str]:
    """The answers, written as the table is."""
    codec = {"w": "cp1252", "u": "utf-16", "b": "utf-8-sig"}.get(table[0], "utf-8")
    with path.open(newline="", encoding=codec) as file:
        delimiter = ";" if table.endswith(".csv") else ","
        rows = list(csv.DictReader(file, delimiter=delimiter))
    margin = rows[0]["margin"]
    assert ("," in margin, "." in margin) == (delimiter == ";", delimiter == ",")
    assert rows[0]["id"] in ("1", "10000")
    return [row["label"] for row in rows]


def written(folder: Path, name: str) -> Path:
    path = folder / name
    if path.suffix == ".csv":
        return write_csv(path, {"w": "cp1252", "u": "utf-16"}.get(name[0], "utf-8"))
    return write_xlsx(path) if path.suffix == ".xlsx" else write_ods(path)


def test_a_table_of_texts_alone_is_learnt_from(main: Main, tmp_path: Path) -> None:
    kinds = [("red", "round"), ("green", "long")]
    rows = [f"{','.join(kinds[i % 2])},{'ab'[i % 2] if i < 4 else ''}" for i in range(20)]
    table = tmp_path / "t.csv"
    table.write_text("\n".join(["colour,shape,kind", *rows]) + "\n", encoding="utf-8")
    code, said, err = main("fit", table, "--label", "kind", "--json")
    assert (code, err) == (0, "")
    assert json.loads(said)["predicted"] == {"a": 10, "b": 10}


@pytest.mark.parametrize("name", ["plain.csv", "windows.csv", "utf16.csv", "book.xlsx", "book.ods"])
def test_a_raw_table_from_fit_to_new_rows(main: Main, tmp_path: Path, name: str) -> None:
    table, model, out = written(tmp_path, name), tmp_path / "m.lapwing", tmp_path / "p.csv"
    code, said, err = main(
        "fit", table, "--label", LABEL, "--id", "Kunden-Nr", *NO_TEXT, "--predictions", out,
        "--model", model, "--report", tmp_path / "r.html", "--onnx", tmp_path / "m.onnx",
    )  # fmt: skip
    assert (code, err) == (0, "")
    for part in (
        *("Columns: 7 used, 5 left out.", "used 'Kunde seit': dates (", "as days since 2015-01-11"),
        *("left out 'Name', 'PLZ': names the rows: 120 diff", "left out 'Land': always 'Deutsch"),
        "--keep COLUMN uses one all the same",
    ):
        assert part in said
    assert np.mean(np.array(labels(out, name)) == np.where(TRUTH, "ja", "nein")) > 0.97
    again = tmp_path / "q.csv"
    assert main("predict", model, table, "--predictions", again, "-q") == (0, "", "")
    assert labels(again, name) == labels(out, name)


def test_a_model_of_a_spreadsheet_takes_the_export_of_it(main: Main, tmp_path: Path) -> None:
    # Percent are shares in the one and not in the other; all else is the same.
    book, export = written(tmp_path, "book.xlsx"), written(tmp_path, "windows.csv")
    model, out = tmp_path / "m.lapwing", tmp_path / "p.csv"
    fit = ("--label", LABEL, *NO_TEXT, "--drop", "Rabatt", "--model", model, "-q")
    assert main("fit", book, *fit)[0] == 0
    code, _, err = main("predict", model, export, "--predictions", out)
    assert code == 0
    # In the spreadsheet there are no euros to drop.
    assert "column 'Umsatz' holds text" in err
    assert main("fit", export, *fit)[0] == 0
    assert main("predict", model, book, "--predictions", out)[::2] == (0, "")


def test_the_rows_to_label_next_are_the_user_s_own(main: Main, tmp_path: Path) -> None:
    table, path, page = written(tmp_path, "plain.csv"), tmp_path / "next.csv", tmp_path / "r.html"
    options = ("--label", LABEL, *NO_TEXT, "--drop", "Fax")
    code, _, err = main("fit", table, *options, "--next", path, "--report", page, "-q")
    assert (code, err) == (0, "")
    found = rows_of(path)
    own = {row["Kunden-Nr"]: row for row in rows_of(table)}
    assert len(found) == 10
    for row in found:
        mine = own[row["Kunden-Nr"]]
        assert row["Name"] == mine["Name"]
        assert row["Kunde seit"] == mine["Kunde seit"]
        assert row["Umsatz"] == mine["Umsatz"]
        assert row[LABEL] == ""
    assert found[0]["Name"] in page.read_text(encoding="utf-8")


def test_the_model_file_holds_the_readings_and_no_code(main: Main, tmp_path: Path) -> None:
    table, model = written(tmp_path, "plain.csv"), tmp_path / "m.lapwing"
    assert main("fit", table, "--label", LABEL, *NO_TEXT, "--model", model, "-q")[0] == 0
    first = model.read_bytes()
    info = load_model(model).info
    kinds = {reading["column"]: reading["kind"] for reading in info["readings"]}
    assert kinds == {
        "Kunde seit": "date", "Umsatz": "number", "Rabatt": "number", "Stadt": "text",
        "Betrag": "number", "Betrag (2)": "number", "Tarif": "text",
    }  # fmt: skip
    assert info["impute"] == "median"
    assert main("fit", table, "--label", LABEL, *NO_TEXT, "--model", model, "-q")[0] == 0
    assert model.read_bytes() == first


def test_a_damaged_reading_in_a_model_is_told(main: Main, tmp_path: Path) -> None:
    from zipfile import ZipFile

    table, model = written(tmp_path, "plain.csv"), tmp_path / "m.lapwing"
    assert main("fit", table, "--label", LABEL, *NO_TEXT, "--model", model, "-q")[0] == 0
    with ZipFile(model) as archive:
        parts = {entry: archive.read(entry) for entry in archive.infolist()}
    for old, new in ((b'"dmy"', b'"xyz"'), (b'"kind": "number"', b'"kind": "danger"')):
        with ZipFile(model, "w") as archive:
            for entry, content in parts.items():
                archive.writestr(entry, content.replace(old, new, 1))
        code, out, err = main("predict", model, table)
        assert (code, out) == (2, "")
        assert "m.lapwing was damaged: a column's reading is damaged" in err


def test_strict_tells_everything_at_once(main: Main, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = [f"n{i},{'x' if i == 3 else i % 7},{i % 3}.5,{'ab'[i % 2]}" for i in range(40)]
    rows[5] = "n5,1,,a"
    table.write_text("name,u,v,y\n" + "\n".join(rows) + "\n")
    code, out, err = main("fit", table, "--label", "y", "--strict")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "3 errors. (1) column 'name' cannot be used: not numeric" in err
    assert "(2) column 'u' holds text in 1 row" in err
    assert "(3) missing values in 'v' (1)" in err
    code, _, err = main("fit", table, "--label", "y", "-q")
    assert (code, err.count("every row has a label")) == (0, 1)


def test_columns_are_kept_on_request(main: Main, tmp_path: Path) -> None:
    table = written(tmp_path, "plain.csv")
    keep = ("--keep", "Land,Fax", "--keep", "Kunden-Nr")
    code, said, _ = main("fit", table, "--label", LABEL, *NO_TEXT, *keep, "--json")
    assert code == 0
    found = json.loads(said)
    used = {entry["column"] for entry in found["columns"] if entry["used"]}
    assert {"Land", "Fax", "Kunden-Nr"} <= used
    assert found["remarks"] == ["names that occur twice were numbered: 'Betrag (2)'"]
    code, _, err = main("fit", table, "--label", LABEL, *keep, "--strict")
    assert code == 2
    assert "--keep is of no use with --strict" in err
    assert "--decimal ';' must be one" in main("fit", table, "--label", LABEL, "--decimal", ";")[2]
    assert "--dates 'x' must be one of" in main("info", table, "--dates", "x")[2]


@pytest.mark.parametrize("given", [(), ("--label", LABEL), ("--id", "Kunden-Nr", "--drop", "Fax")])
def test_info_ends_with_the_command_to_paste(
    main: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "our customers.csv")
    code, said, err = main("info", "our customers.csv", *NO_TEXT, *given)
    assert (code, err) == (0, "")
    *_, title, command = said.splitlines()
    assert title == "To fit this table:"
    words = shlex.split(command)
    assert words[:3] == ["lapwing", "fit", "our customers.csv"]
    assert words[words.index("--label") + 1] == LABEL
    assert words[words.index("--id") + 1] == "Kunden-Nr"
    assert ("looks most like a column of labels" in said) == ("--label" not in given)
    assert main(*words[1:], "-q") == (0, "", "")
    assert len(labels(tmp_path / "predictions.csv")) == N


def test_free_text_is_learnt_from(main: Main, tmp_path: Path) -> None:
    table, model, out = written(tmp_path, "plain.csv"), tmp_path / "m.lapwing", tmp_path / "p.csv"
    said = main("info", table, "--label", LABEL)[1]
    assert "used 'Bemerkung': free text, by its words" in said
    given = ("--label", LABEL, "--model", model, "--weight", "Bemerkung=0.5")
    code, said, err = main("fit", table, *given, "--predictions", out, "--method", "lapsvc")
    assert (code, err) == (0, "")
    assert "words and pairs of words of 'Bemerkung'" in said
    own = labels(out)
    assert np.mean(np.array(own) == np.where(TRUTH, "ja", "nein")) > 0.95
    assert main("predict", model, table, "--predictions", out, "-q") == (0, "", "")
    assert labels(out) == own
    answer = main("fit", table, "--label", LABEL, "--weight", "Land=2")
    refused = "--weight: 'Land' is not a column of free text; free text here: 'Bemerkung'."
    assert (answer[0], refused in answer[2]) == (2, True)
    for wrong in ("Bemerkung", "Bemerkung=x", "Bemerkung=-1", "=1", "Bemerkung=inf"):
        code, _, err = main("fit", table, "--label", LABEL, "--weight", wrong)
        assert (code, f"--weight {wrong}: write COLUMN=WEIGHT" in err) == (2, True)


def test_the_command_names_what_was_chosen_and_nothing_else() -> None:
    request = InfoRequest(
        data=(Path("t.csv"),), label="y", strict=True, decimal=",", features=("a", "b")
    )
    assert request.fit_command(None, None) == (
        "lapwing fit t.csv --decimal , --label y --features a --features b --strict "
        "--predictions predictions.csv"
    )
    assert "--strict" in FitRequest(data=(Path("t.csv"),), strict=True).command
    assert "--strict" not in FitRequest(data=(Path("t.csv"),)).command


def test_svmlight_from_zero_is_the_same_at_predict_time(main: Main, tmp_path: Path) -> None:
    X, y = make_blobs(80, 6, centers=2, cluster_std=2.0, random_state=1)
    X[np.abs(X) < 0.5] = 0
    given = np.where(np.arange(80) < 12, y, -1)
    for base in (0, 1):
        path, new = tmp_path / f"t{base}.svm", tmp_path / f"n{base}.svm"
        dump_svmlight_file(X, given, str(path), zero_based=base == 0)
        rows = X[40:].copy()
        rows[:, 0] = 0  # the column that would tell the base
        dump_svmlight_file(rows, y[40:], str(new), zero_based=base == 0)
        model, out = tmp_path / "m.lapwing", tmp_path / f"p{base}.csv"
        assert main("fit", path, "--unlabeled", "-1", "--model", model, "-q")[0] == 0
        assert load_model(model).info["svmlight_base"] == base
        assert main("predict", model, new, "--predictions", out, "-q")[0] == 0
        assert np.mean(np.array(labels(out, new.name)) == y[40:].astype(str)) > 0.9
    assert labels(tmp_path / "p0.csv", "t.svm") == labels(tmp_path / "p1.csv", "t.svm")


def test_texts_of_unknown_words_are_told(main: Main, tmp_path: Path) -> None:
    texts = [("a cat and a dog", "the car on a road")[k % 2] for k in range(40)]
    rows = [
        f"{text} {k},{k % 7 / 3},{'uv'[k % 2] if k < 6 else ''}" for k, text in enumerate(texts)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["note,a,y", *rows]), "utf-8")
    (tmp_path / "n.csv").write_text("note,a\nzzz qqq www xxx,1\na cat and a dog,1\n", "utf-8")
    model, out = tmp_path / "m", tmp_path / "p.csv"
    for drop, told in (("", "The other columns alone decide"), ("a", "The answer says nothing")):
        dropped = ("--drop", drop) if drop else ()
        fit = ("fit", tmp_path / "t.csv", "--label", "y", *dropped, "--method", "lapsvc")
        assert main(*fit, "--model", model, "-q")[0] == 0
        code, _, err = main("predict", model, tmp_path / "n.csv", "--predictions", out, "-q")
        assert code == 0
        assert "1 row has no word in 'note' that the model knows (the first is row 1)" in err
        assert told in err
