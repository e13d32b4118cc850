"""The verb ``suggest``: rows to label next are written, filled in, and given back."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from lapwing import KNNGraph, LapSVC
from lapwing._app.methods import COMMAND_METHODS, METHODS
from lapwing.model_selection import rows_to_label
from tests.app.test_cli_answers import Main, Rows, main, read, write
from tests.helpers.commandline import asked, refused

__all__ = ["main"]

CLASSES = "uvw"
CENTERS = [[0, 0], [6, 0], [0, 6], [6, 6], [12, 0]]


def table(n: int = 60, n_groups: int = 3, n_labels: int = 0) -> tuple[Rows, list[str]]:
    """Groups far apart, the first labels of each, and all true classes."""
    X, group = make_blobs(n, centers=CENTERS[:n_groups], random_state=0)
    truth = [f"{CLASSES[g % 3]}{g // 3 or ''}" for g in group]
    rows: Rows = []
    for i, (x, y) in enumerate(X.tolist()):
        known = i in np.flatnonzero(group == group[i])[:n_labels]
        rows.append({"name": f"r{i}", "a": repr(x), "b": repr(y), "y": truth[i] if known else ""})
    return rows, truth


def fill(path: str, truth: list[str], key: str = "name") -> list[int]:
    """Label the rows of a file by their true classes; which they are."""
    rows = read(path)
    found = [int(row[key].removeprefix("r")) - (key == "row") for row in rows]
    for row, i in zip(rows, found, strict=True):
        assert row["y"] == ""
        row["y"] = truth[i]
    write(path, rows)
    return found


def commands(said: str) -> list[list[str]]:
    return [shlex.split(line)[1:] for line in said.splitlines() if line.startswith("  lapwing ")]


@pytest.mark.parametrize("method", ["lapsvc", "laprls", "laperls"])
def test_the_rows_are_those_of_the_estimator(main: Main, method: str) -> None:
    rows, _ = table(n_labels=2)
    write("t.csv", rows)
    found = asked(
        main("suggest", "t.csv", "--label", "y", "--id", "name", "-k", 4, "--out", "next.csv",
             "--method", method, "--json")
    )  # fmt: skip
    X = np.array([[float(row["a"]), float(row["b"])] for row in rows])
    y = np.array([row["y"] for row in rows], dtype=object)
    estimator = COMMAND_METHODS[method].make().set_params(updatable=True)
    expected = estimator.fit(X, y).suggest(4)
    assert found["suggested"] == [f"r{i}" for i in expected]
    assert [row["name"] for row in read("next.csv")] == found["suggested"]
    assert found["chosen_by"] == "graph and answers"
    assert (found["rows"], found["labeled"], found["method"]) == (60, 6, method)
    assert found["written"] == {"out": "next.csv"}


def test_the_rows_are_full_and_their_label_is_empty(main: Main) -> None:
    rows, _ = table(n_labels=1)
    write("t.csv", rows)
    options = ("--label", "y", "--id", "name", "-k", 5, "--out", "n.csv", "-q")
    assert main("suggest", "t.csv", *options) == (0, "", "")
    found = read("n.csv")
    assert len(found) == 5
    given = {row["name"]: row for row in rows}
    assert all(row == given[row["name"]] | {"chosen": "suggested"} for row in found)
    assert all(row["y"] == "" for row in found)


@pytest.mark.parametrize("key", ["name", "row"])
def test_the_loop_closes_twice_from_no_label_at_all(main: Main, key: str) -> None:
    rows, truth = table()
    write("t.csv", rows)
    options = ("--id", "name") if key == "name" else ("--drop", "name")
    code, said, err = main(
        "suggest", "t.csv", "--label", "y", *options, "-k", 3, "--out", "next.csv"
    )
    assert (code, err) == (0, "")
    assert said.startswith(
        "t.csv: 60 rows, none with a label\n"
        "next.csv: the 3 rows to label next, the most informative first\n"
        "There is no label yet: the rows cover the table\n"
    )
    asked_for = [fill("next.csv", truth, key)]
    assert {truth[i] for i in asked_for[0]} == set(CLASSES), "a label in each of the clusters"
    for round_, path in enumerate(["next-2.csv", "next-3.csv"]):
        again, fit = commands(said)
        assert again[-2:] == ["--out", path]
        code, said, err = main(*again)
        assert (code, err) == (0, "")
        assert said.startswith(f"t.csv: 60 rows, {3 * (round_ + 1)} with a label\n")
        assert "the rows cover the table" not in said
        assert f"3 rows got their label from {fit[2]}." in said
        asked_for.append(fill(path, truth, key))
    assert len({i for batch in asked_for for i in batch}) == 9, "no row is asked for twice"
    fit = commands(said)[1]
    code, said, err = main(*fit, "--json")
    found = json.loads(said)
    assert (found["labeled"], found["predicted"]) == (9, {c: truth.count(c) for c in CLASSES})
    assert (code, err.count("9 of the 9 labels are of rows that were suggested.")) == (0, 1)


def test_who_chose_the_rows_is_kept_in_their_file(main: Main) -> None:
    """What labels tell of the error is told to be too much where most were suggested."""
    rows, truth = table(n_labels=2)
    for row in rows:
        row["chosen"] = "x"  # a column of the table, which is another one
    write("t.csv", rows)
    options = ("--label", "y", "--id", "name", "--drop", "chosen")
    done = main("suggest", "t.csv", *options, "-k", 7, "--out", "n.csv", "-q")
    assert done == (0, "", "")
    fill("n.csv", truth)
    assert [row["lapwing chosen"] for row in read("n.csv")] == ["suggested"] * 7
    fit = ("t.csv", "n.csv", *options, "--method", "lapsvc", "-q")
    said = "7 of the 13 labels are of rows that were suggested"
    assert said in main("fit", *fit)[2]
    # Rows that somebody else has chosen: drawn at random, say.
    other = [row | {"lapwing chosen": "by chance"} for row in read("n.csv")]
    write("n.csv", other)
    assert main("fit", *fit) == (0, "", "")
    write("n.csv", [{k: v for k, v in row.items() if k != "lapwing chosen"} for row in other])
    assert main("fit", *fit) == (0, "", "")


def test_more_clusters_than_classes_are_covered_too(main: Main) -> None:
    rows, truth = table(100, 5)
    write("t.csv", rows)
    said = main("suggest", "t.csv", "--label", "y", "--drop", "name", "-k", 5, "--out", "n.csv")
    assert said[0] == 0
    assert len({truth[int(row["row"]) - 1] for row in read("n.csv")}) == 5


def test_labels_of_one_class_leave_the_rest_to_cover(main: Main) -> None:
    rows, truth = table(n_labels=1)
    first = truth.index("u")
    for i, row in enumerate(rows):
        row["y"] = "u" * (i == first)
    write("t.csv", rows)
    code, said, err = main(
        "suggest", "t.csv", "--label", "y", "--id", "name", "-k", 2, "--out", "n.csv"
    )
    assert (code, err) == (0, "")
    assert "There is no label of a second class yet: the rows cover the table\n" in said
    assert {truth[i] for i in fill("n.csv", truth)} == {"v", "w"}


def test_equal_rows_are_asked_for_once(main: Main) -> None:
    rows, _ = table(20)
    twice = rows + [row | {"name": f"r{20 + i}"} for i, row in enumerate(rows)]
    write("t.csv", twice)
    options = ("--label", "y", "--id", "name", "--out", "n.csv", "-q")
    assert main("suggest", "t.csv", *options, "-k", 40)[0] == 0
    assert {row["name"] for row in read("n.csv")} == {row["name"] for row in rows}
    for row in twice[:20]:
        row["y"] = "u"
    write("t.csv", twice)
    refused(
        main("suggest", "t.csv", *options),
        "t.csv: the rows without a label are equal to labelled rows. There is none to label next",
    )


def test_numbers_to_predict_begin_without_one_too(main: Main) -> None:
    rows, _ = table()
    write("t.csv", rows)
    options = ("--label", "y", "--id", "name", "--out")  # the method is that of the labels
    code, said, _ = main("suggest", "t.csv", *options, "n.csv", "-k", 3)
    assert code == 0
    assert "There is no label yet: the rows cover the table\n" in said
    found = read("n.csv")
    for row in found:
        row["y"] = row["a"]
    write("n.csv", found)
    found = asked(main("suggest", "t.csv", "n.csv", *options, "n-2.csv", "-k", 3, "--json"))
    assert (found["labeled"], found["chosen_by"]) == (3, "variance")
    assert found["method"] == "laprls-regressor"
    assert not {row["name"] for row in read("n.csv")} & set(found["suggested"])


def test_settings_and_scale_are_those_of_the_fit(main: Main) -> None:
    rows, _ = table(n_labels=1)
    for row in rows:
        row["b"] = repr(1000 * float(row["b"]))
    write("t.csv", rows)
    found = asked(
        main("suggest", "t.csv", "--label", "y", "--id", "name", "-k", 3, "--out", "n.csv",
             "--json", "--set", "gamma_A=0.1", "--set", "graph.n_neighbors=4")
    )  # fmt: skip
    assert found["scaling"].startswith("columns standardised: 'b' varies")
    X = np.array([[float(row["a"]), float(row["b"])] for row in rows])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.array([row["y"] for row in rows], dtype=object)
    model = LapSVC(gamma_A=0.1, graph=KNNGraph(4, power=1), updatable=True).fit(X, y)
    assert found["suggested"] == [f"r{i}" for i in model.suggest(3)]


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (
            ("--out", "n.txt"),
            ("cannot write n.txt: the extension of --out is .csv, .xlsx or .parquet.\n",),
        ),
        (("--out", "n.npz"), ("cannot write n.npz: the extension of --out is .csv, .xlsx or",)),
        (("--out", "n.ods"), ("Excel and LibreOffice open an .xlsx file.",)),
        (("--out", "t.csv"), ("--out t.csv is the input itself; name another file.",)),
        ((), ("--out",)),
        (("--out", "n.csv", "-k", "0"), ("-k",)),
        (("--out", "n.csv", "--set", "updatable=no"), ("--set updatable is not available",)),
        (("--out", "n.csv", "--id", "nobody"), ("has no column 'nobody'",)),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_written(
    main: Main, words: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    rows, _ = table(n_labels=1)
    write("t.csv", rows)
    refused(main("suggest", "t.csv", "--label", "y", *words), *parts)
    assert not Path("n.csv").exists()


def test_where_every_row_has_a_label_there_is_nothing_to_ask(
    main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, truth = table()
    write("t.csv", [row | {"y": c} for row, c in zip(rows, truth, strict=True)])
    code, out, err = main("suggest", "t.csv", "--label", "y", "--id", "name", "--out", "n.csv")
    assert (code, out) == (2, "")
    assert "error: t.csv: every row has a label. There is none to label next.\n" in err


def test_a_fit_still_needs_labels_of_two_classes(main: Main) -> None:
    rows, _ = table()
    write("t.csv", rows)
    refused(main("fit", "t.csv", "--label", "y", "--id", "name"), "no row has a label")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_says_which_rows_to_label(main: Main, method: str) -> None:
    rows, _ = table(n_labels=2)
    numbers = METHODS[method].regression
    if numbers:
        rows = [row | {"y": row["y"] and row["a"]} for row in rows]
    write("t.csv", rows)
    options = ("--label", "y", "--id", "name", "-k", 3, "--method", method, "--out", "n.csv")
    if method == "auto":
        options += ("--set", "n_draws=1", "--set", "max_left_out=2")
    found = asked(main("suggest", "t.csv", *options, "--json"))
    # Of epsilon-insensitive losses there is no posterior.
    by = "graph" if method in ("lapsvr", "lapesvr") else "variance"
    assert found["chosen_by"] == (by if numbers else "graph and answers")
    assert found["method"] == method or method == "auto"
    blank = {row["name"] for row in rows if not row["y"]}
    assert len(set(found["suggested"]) & blank) == 3


def test_the_method_is_chosen_as_by_a_fit(main: Main) -> None:
    rows, _ = table(n=36, n_groups=2, n_labels=4)
    write("t.csv", rows)
    little = ("--set", "n_draws=1", "--set", "max_left_out=2")
    options = ("--label", "y", "--id", "name", "--method", "auto", *little)
    said = main("suggest", "t.csv", *options, "--out", "n.csv", "-k", 10)[1]
    fitted = json.loads(main("fit", "t.csv", *options, "--next", "f.csv", "--json")[1])
    assert [row["name"] for row in read("n.csv")] == [row["name"] for row in read("f.csv")]
    assert fitted["method"] != "auto"
    assert f"By the predictions of {fitted['method']}, chosen as by lapwing fit\n" in said


@pytest.mark.parametrize("method", ["lapsvc-cv", "laprls-cv"])
def test_a_grid_without_the_graph_asks_by_the_usual_one(main: Main, method: str) -> None:
    rows, _ = table(n_labels=2)
    write("t.csv", rows)
    options = ("--label", "y", "--id", "name", "--method", method, "--set", "gamma_Is=0", "-q")
    assert main("suggest", "t.csv", *options, "--out", "n.csv", "-k", 10)[0] == 0
    assert main("fit", "t.csv", *options, "--next", "f.csv")[0] == 0
    assert [row["name"] for row in read("n.csv")] == [row["name"] for row in read("f.csv")]


def test_rows_that_are_equal_to_labelled_ones_are_not_asked_for(main: Main) -> None:
    rows, truth = table(n_labels=30)
    rows = [row | {"y": c} for row, c in zip(rows, truth, strict=True)]
    write("t.csv", rows + [row | {"name": f"{row['name']}x", "y": ""} for row in rows])
    options = ("--label", "y", "--id", "name", "--method", "s3vc")
    refused(main("suggest", "t.csv", *options, "--out", "n.csv"), "are equal to labelled rows")
    code, said, _ = main("fit", "t.csv", *options, "--next", "f.csv")
    assert code == 0
    assert "are equal to labelled rows: there is none to label next" in said
    assert "Fill in" not in said
    assert read("f.csv") == []


def test_a_supervised_fit_asks_where_it_is_unsure_by_the_usual_graph(main: Main) -> None:
    rows, _ = table(n_labels=2)
    write("t.csv", rows)
    options = ("--label", "y", "--id", "name", "-k", 4, "--out", "n.csv", "--json")
    found = asked(main("suggest", "t.csv", *options, "--set", "gamma_I=0"))
    X = np.array([[float(row["a"]), float(row["b"])] for row in rows])
    y = np.array([row["y"] for row in rows], dtype=object)
    expected = rows_to_label(X, k=4, model=LapSVC(gamma_I=0).fit(X, y))
    assert found["suggested"] == [f"r{i}" for i in expected]
