"""The verb ``suggest``: rows to label next are written, filled in, and given back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from lapwing import KNNGraph, LapERLSClassifier, LapSVC
from lapwing.model_selection import rows_to_label
from tests.helpers.commandline import done, found, refused, run, warned
from tests.helpers.tables import Rows, fill, read, table, truth, write

SUGGEST = "suggest t.csv --label y --id name"
LITTLE = "--set n_draws=1 --set max_left_out=2"


def blank(n: int = 40) -> Rows:
    """Write a table without labels."""
    rows = [row | {"y": ""} for row in table(n)]
    write("t.csv", rows)
    return rows


def names(path: str) -> list[str]:
    return [row["name"] for row in read(path)]


# --- which rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "estimator", "scaling"),
    [
        ("", LapSVC(updatable=True), "standardised: 'b' varies"),
        ("--method laperls", LapERLSClassifier(updatable=True), "standardised: 'b' varies"),
        (
            "--scale standard --set gamma_A=0.1 --set graph.n_neighbors=4",
            LapSVC(gamma_A=0.1, graph=KNNGraph(4, power=1), updatable=True),
            "standardised, as requested",
        ),
        ("--scale none", LapSVC(updatable=True), "as they are, as requested"),
        ("--set gamma_I=0", LapSVC(gamma_I=0), "standardised: 'b'"),  # asks by the default graph
    ],
)
def test_the_rows_are_those_of_the_estimator(options: str, estimator: Any, scaling: str) -> None:
    numbers = [(float(row["a"]), round(1000 * float(row["b"]))) for row in table(60)]
    rows = [
        row | {"a": str(a), "b": str(b)} for row, (a, b) in zip(table(60), numbers, strict=True)
    ]
    write("t.csv", rows)
    told = found(run(f"{SUGGEST} -k 4 --out n.csv {options} --json"))
    X = StandardScaler().fit_transform(numbers) if "standardised" in scaling else np.array(numbers)
    estimator.fit(X, np.array([row["y"] for row in rows], dtype=object))
    fallback = "gamma_I" in options
    places = rows_to_label(X, k=4, model=estimator) if fallback else estimator.suggest(4)
    assert told["suggested"] == [f"r{i}" for i in places] == names("n.csv")
    assert told["scaling"].startswith(f"columns {scaling}")
    assert told["chosen_by"] == "graph and answers"
    assert (told["rows"], told["labeled"]) == (60, 4)
    assert told["method"] == ("laperls" if "laperls" in options else "lapsvc")
    assert told["written"] == {"out": "n.csv"}
    # They are full, and their label is empty.
    given = {row["name"]: row for row in rows}
    for row in read("n.csv"):
        assert row == given[row["name"]] | {"chosen": "suggested"}
        assert row["y"] == ""


@pytest.mark.parametrize(
    ("method", "by"),
    [
        *(("", "variance"), ("--method laperls-regressor", "variance")),
        # Epsilon-insensitive losses have no posterior.
        *(("--method lapsvr", "graph"), ("--method lapesvr", "graph")),
    ],
)
def test_regressors_suggest_rows_by_the_posterior_variance_if_they_have_one(
    method: str, by: str
) -> None:
    blank()  # the method is that of the labels
    said = done(run(f"{SUGGEST} --out n.csv -k 3"))
    assert "There is no label yet: the rows cover the table\n" in said
    write("n.csv", [row | {"y": row["a"]} for row in read("n.csv")])
    suggest = f"suggest t.csv n.csv --label y --id name -k 3 --out n-2.csv {method}"
    told = found(run(f"{suggest} --json"))
    assert (told["labeled"], told["chosen_by"]) == (3, by)
    assert told["method"] == (method.removeprefix("--method ") or "laprls-regressor")
    assert len({*names("n.csv"), *told["suggested"]}) == 6


@pytest.mark.parametrize(
    "options",
    [
        f"--method auto {LITTLE}",
        # A grid without the graph asks by the usual one.
        "--method laprls-cv --set gamma_Is=0 --set gammas=1",
    ],
)
def test_suggested_rows_are_those_of_a_fit(options: str) -> None:
    write("t.csv", table(36))
    said = done(run(f"{SUGGEST} {options} --out n.csv -k 10"))
    fitted = found(run(f"{SUGGEST} {options} --next f.csv --json".replace("suggest", "fit")))
    assert names("n.csv") == names("f.csv")
    if "auto" in options:
        assert fitted["method"] != "auto"
        assert f"By the predictions of {fitted['method']}, chosen as by lapwing fit\n" in said


# --- the loop -------------------------------------------------------------------------------------


def test_suggestions_can_start_without_labels() -> None:
    blank()
    said = done(run("suggest t.csv --label y --drop name -k 2 --out next.csv"))
    assert said.startswith(
        "t.csv: 40 rows, none with a label\n"
        "next.csv: the 2 rows to label next, the most informative first\n"
        "There is no label yet: the rows cover the table\n"
    )
    first = fill("next.csv")
    assert {row["y"] for row in first} == {"u", "v"}, "a label in each of the clusters"
    # The two commands that are shown go on.
    again, fit = (line for line in said.splitlines() if line.startswith("  lapwing "))
    assert again.endswith(" --out next-2.csv")
    said = done(run(again.strip()))
    assert said.startswith("t.csv: 40 rows, 2 with a label\n")
    assert "the rows cover the table" not in said
    assert "2 rows got their label from next.csv." in said
    rows = {row["row"] for row in [*first, *read("next-2.csv")]}
    assert len(rows) == 4, "no row is asked for twice"
    warning = "2 of the 2 labels are of rows that were suggested."
    told = json.loads(warned(run(fit.strip(), "--json"), warning))
    assert (told["labeled"], told["predicted"]) == (2, {"u": 20, "v": 20})


def test_files_record_numbers_of_rows_and_which_were_suggested() -> None:
    """A warning says that labels of suggested rows overestimate the error."""
    # Columns of these names are other ones.
    rows = table(chosen=["x"] * 40, row=[str(i % 7) for i in range(40)])
    write("one.csv", rows[:25])
    write("two.csv", rows[25:])
    options = "--label y --drop name,chosen -q"
    assert done(run(f"suggest one.csv two.csv {options} -k 7 --out n.csv")) == ""
    answers = fill("n.csv")
    assert list(answers[0]) == ["lapwing row", "a", "b", "row", "y", "lapwing chosen"]
    for row in answers:
        mine = rows[int(row["lapwing row"]) - 1]
        assert (row["row"], float(row["a"])) == (mine["row"], float(mine["a"]))
        assert row["lapwing chosen"] == "suggested"
    fit = f"fit one.csv two.csv n.csv {options} --predictions p.csv"
    assert "7 of the 11 labels are of rows that were suggested" in run(fit).err
    assert sum(row["was_labeled"] == "true" for row in read("p.csv")) == 11
    # Rows chosen by other means, such as drawn at random.
    write("n.csv", [row | {"lapwing chosen": "by chance"} for row in answers])
    assert run(fit) == (0, "", "")
    write("n.csv", [{k: v for k, v in row.items() if k != "lapwing chosen"} for row in answers])
    assert run(fit) == (0, "", "")


def test_ids_in_a_column_without_a_name() -> None:
    write("t.csv", [{"": row["name"]} | {name: row[name] for name in "aby"} for row in table()])
    done(run("suggest t.csv --label y --id '' -k 3 --out n.csv"))
    fill("n.csv")
    told = found(run("fit t.csv n.csv --label y --id '' --method laperls --json"))
    assert told["labeled"] == 7


def test_rows_cover_the_table_if_all_labels_are_of_one_class() -> None:
    rows = blank()
    write("t.csv", [rows[0] | {"y": truth(rows[0])}, *rows[1:]])
    said = done(run(f"{SUGGEST} -k 1 --out n.csv"))
    assert "There is no label of a second class yet: the rows cover the table\n" in said
    (row,) = read("n.csv")
    assert truth(row) != truth(rows[0])


# --- none -----------------------------------------------------------------------------------------


def test_a_fully_labelled_table_has_no_rows_to_suggest() -> None:
    write("t.csv", [row | {"y": truth(row)} for row in table()])
    code, out, err = run(f"{SUGGEST} --out n.csv")
    assert (code, out) == (2, "")
    assert "error: t.csv: every row has a label. There is none to label next.\n" in err
    said = warned(run("fit t.csv --label y --id name --next n.csv"), "every row has a label")
    assert "Every row has a label" in said
    assert "equal to labelled" not in said
    assert Path("n.csv").read_text().splitlines() == ["name,a,b,y,chosen"]


def test_rows_equal_to_labelled_ones_are_not_asked_for() -> None:
    known = [row | {"y": truth(row)} for row in table(20)]
    write("t.csv", [*known, *(row | {"name": f"{row['name']}x", "y": ""} for row in known)])
    told = "the rows without a label are equal to labelled rows"
    refused(run(f"{SUGGEST} --out n.csv"), f"t.csv: {told}. There is none to label next")
    said = done(run("fit t.csv --label y --id name --method s3vc --set tol=0.01 --next f.csv"))
    assert "are equal to labelled rows: there is none to label next" in said
    assert "Fill in" not in said
    assert read("f.csv") == []
