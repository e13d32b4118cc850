"""Real tables through the command: one attempt, one summary, and the same for new rows."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from lapwing.models import Model, load_model, save_model
from tests.helpers.commandline import done, found, refused, run
from tests.helpers.customers import LABEL, TRUTH, N, write_csv, write_ods, write_xlsx
from tests.helpers.tables import read

CODECS = {"w": "cp1252", "u": "utf-16"}
NO_TEXT = f"--label {LABEL} --drop Bemerkung"
KINDS = np.where(TRUTH, "ja", "nein")


def written(name: str) -> str:
    """Write the customers as the name says: in German, or as a spreadsheet."""
    if name.endswith(".csv"):
        write_csv(Path(name), CODECS.get(name[0], "utf-8"))
    else:
        (write_xlsx if name.endswith(".xlsx") else write_ods)(Path(name))
    return name


def labels(path: str, table: str = "plain.csv") -> list[str]:
    """The answers, written as the table is."""
    delimiter = ";" if table.endswith(".csv") else ","
    rows = read(path, delimiter, CODECS.get(table[0], "utf-8-sig" if table[0] == "b" else "utf-8"))
    margin = rows[0]["margin"]
    assert ("," in margin, "." in margin) == (delimiter == ";", delimiter == ",")
    assert rows[0]["id"] in ("1", "10000")
    return [row["label"] for row in rows]


def test_fits_a_table_of_categories_only() -> None:
    kinds = ["red,round", "green,long"]
    rows = [f"{kinds[i % 2]},{'ab'[i % 2] if i < 4 else ''}" for i in range(20)]
    Path("t.csv").write_text("\n".join(["colour,shape,kind", *rows]) + "\n")
    assert found(run("fit t.csv --label kind --json"))["predicted"] == {"a": 10, "b": 10}


@pytest.mark.parametrize("name", ["plain.csv", "windows.csv", "utf16.csv", "book.xlsx", "book.ods"])
def test_fit_and_predict_agree_on_raw_tables(name: str) -> None:
    places = "--predictions p.csv --model m"
    said = done(run(f"fit {written(name)} --id Kunden-Nr {NO_TEXT} {places}"))
    for part in ("Columns: 7 used, 5 left out.", "as days since 2015-01-11", "left out 'Land': al"):
        assert part in said
    assert np.mean(np.array(labels("p.csv", name)) == KINDS) > 0.97
    assert done(run(f"predict m {name} --predictions q.csv -q")) == ""
    assert labels("q.csv", name) == labels("p.csv", name)


def test_the_model_file_holds_the_encodings_of_the_columns() -> None:
    done(run(f"fit {written('plain.csv')} {NO_TEXT} -q --model m"))
    model = load_model("m")
    kinds = {reading["column"]: reading["kind"] for reading in model.info["readings"]}
    numbers = dict.fromkeys(("Umsatz", "Rabatt", "Betrag", "Betrag (2)"), "number")
    assert kinds == {"Kunde seit": "date", **numbers, "Stadt": "text", "Tarif": "text"}
    assert model.info["impute"] == "median"
    info = json.loads(json.dumps(model.info).replace('"dmy"', '"xyz"', 1))
    save_model(Model(model.pipeline, info), "d")
    refused(run("predict d plain.csv"), "error: d was damaged: a column's reading is damaged")


@pytest.mark.parametrize("given", ["", f"--label {LABEL} --id Kunden-Nr"])
def test_info_ends_with_a_command_that_fits(given: str) -> None:
    written("our customers.csv")
    said = done(run(f"info 'our customers.csv' --drop Bemerkung {given}"))
    *_, title, command = said.splitlines()
    assert title == "To fit this table:"
    words = shlex.split(command)
    assert words[:3] == ["lapwing", "fit", "our customers.csv"]
    assert words[words.index("--label") + 1] == LABEL
    assert words[words.index("--id") + 1] == "Kunden-Nr"
    assert ("looks most like a column of labels" in said) == ("--label" not in given)
    assert done(run(*words[1:], "-q")) == ""
    assert len(labels("predictions.csv")) == N


def test_info_of_a_table_without_labels_ends_with_a_command_that_labels() -> None:
    Path("t.csv").write_text("k,x,z\n" + "".join(f"r{i},{i * i},{i / 7}\n" for i in range(20)))
    *_, title, command = done(run("info t.csv --drop z")).splitlines()
    assert title == "To label this table:"
    assert command == "  lapwing label t.csv --id k --drop z"


def test_free_text_is_learnt_from() -> None:
    fit = f"fit {written('plain.csv')} --label {LABEL}"
    said = run(f"info plain.csv --label {LABEL}").out
    assert "used 'Bemerkung': free text, by its words" in said
    said = done(run(f"{fit} --model m --weight Bemerkung=0.5 --predictions p.csv"))
    assert "words and pairs of words of 'Bemerkung'" in said
    own = labels("p.csv")
    assert np.mean(np.array(own) == KINDS) > 0.95
    done(run("predict m plain.csv --predictions q.csv -q"))
    assert labels("q.csv") == own
    told = "--weight: 'Land' is not a column of free text; free text here: 'Bemerkung'."
    refused(run(f"{fit} --weight Land=2"), told)
    for wrong in ("Bemerkung", "Bemerkung=x", "Bemerkung=-1", "=1", "Bemerkung=inf"):
        told = f"--weight {wrong}: write COLUMN=WEIGHT"
        refused(run(f"{fit} --weight {wrong}"), told)
