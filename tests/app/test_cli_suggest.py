"""The verb ``suggest``: rows to label next are written, filled in, and given back."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from lapwing import KNNGraph, LapSVC
from lapwing._app.methods import COMMAND_METHODS
from lapwing.model_selection import rows_to_label
from tests.helpers.commandline import done, found, refused, run, warned
from tests.helpers.tables import Rows, read, write

CLASSES = "uvw"
CENTERS = [[0, 0], [6, 0], [0, 6], [6, 6], [12, 0]]
SUGGEST = "suggest t.csv --label y --id name"
LITTLE = "--set n_draws=1 --set max_left_out=2"


def table(n: int = 60, n_groups: int = 3, n_labels: int = 0) -> tuple[Rows, list[str]]:
    """Write groups far apart with the first labels of each; all true classes."""
    X, group = make_blobs(n, centers=CENTERS[:n_groups], random_state=0)
    truth = [f"{CLASSES[g % 3]}{g // 3 or ''}" for g in group]
    rows: Rows = []
    for i, (x, y) in enumerate(X.tolist()):
        known = i in np.flatnonzero(group == group[i])[:n_labels]
        rows.append({"name": f"r{i}", "a": repr(x), "b": repr(y), "y": truth[i] if known else ""})
    write("t.csv", rows)
    return rows, truth


def arrays(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    X = np.array([[float(row["a"]), float(row["b"])] for row in rows])
    return X, np.array([row["y"] for row in rows], dtype=object)


def fill(path: str, truth: list[str], key: str = "name") -> list[int]:
    """Label the rows of a file by their true classes; which they are."""
    rows = read(path)
    places = [int(row[key].removeprefix("r")) - (key == "row") for row in rows]
    assert {row["y"] for row in rows} == {""}
    write(path, [row | {"y": truth[i]} for row, i in zip(rows, places, strict=True)])
    return places


def names(path: str) -> list[str]:
    return [row["name"] for row in read(path)]


# --- which rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["lapsvc", "laperls"])
def test_the_rows_are_those_of_the_estimator(method: str) -> None:
    rows, _ = table(n_labels=2)
    told = found(run(f"{SUGGEST} -k 4 --out n.csv --method {method} --json"))
    estimator = COMMAND_METHODS[method].estimator().set_params(updatable=True)
    expected = estimator.fit(*arrays(rows)).suggest(4)
    assert told["suggested"] == [f"r{i}" for i in expected] == names("n.csv")
    assert told["chosen_by"] == "graph and answers"
    assert (told["rows"], told["labeled"], told["method"]) == (60, 6, method)
    assert told["written"] == {"out": "n.csv"}
    # They are full, and their label is empty.
    given = {row["name"]: row for row in rows}
    for row in read("n.csv"):
        assert row == given[row["name"]] | {"chosen": "suggested"}
        assert row["y"] == ""


def test_settings_and_scale_are_those_of_the_fit() -> None:
    rows, _ = table(n_labels=1)
    rows = [row | {"b": repr(1000 * float(row["b"]))} for row in rows]
    write("t.csv", rows)
    X, y = arrays(rows)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = LapSVC(gamma_A=0.1, graph=KNNGraph(4, power=1), updatable=True).fit(X, y)
    alone = LapSVC(gamma_I=0).fit(X, y)  # asks by the default graph
    for settings, expected in (
        ("--set gamma_A=0.1 --set graph.n_neighbors=4", model.suggest(3)),
        ("--set gamma_I=0", rows_to_label(X, k=3, model=alone)),
    ):
        told = found(run(f"{SUGGEST} -k 3 --out n.csv --json {settings}"))
        assert told["scaling"].startswith("columns standardised: 'b' varies")
        assert told["suggested"] == [f"r{i}" for i in expected]


@pytest.mark.parametrize(
    ("method", "by"),
    # Epsilon-insensitive losses have no posterior.
    [("lapsvr", "graph"), ("lapesvr", "graph"), ("laperls-regressor", "variance")],
)
def test_regressors_suggest_rows_by_the_posterior_variance_if_they_have_one(
    method: str, by: str
) -> None:
    rows, _ = table(n_labels=2)
    write("t.csv", [row | {"y": row["y"] and row["a"]} for row in rows])
    told = found(run(f"{SUGGEST} -k 3 --method {method} --out n.csv --json"))
    assert told["chosen_by"] == by
    blank = {row["name"] for row in rows if not row["y"]}
    assert len(set(told["suggested"]) & blank) == 3


@pytest.mark.parametrize(
    "options",
    [
        f"--method auto {LITTLE}",
        # A grid without the graph asks by the usual one.
        "--method laprls-cv --set gamma_Is=0 --set gammas=1",
    ],
)
def test_suggested_rows_are_those_of_a_fit(options: str) -> None:
    table(n=36, n_groups=2, n_labels=4)
    said = done(run(f"{SUGGEST} {options} --out n.csv -k 10"))
    fitted = found(run(f"{SUGGEST} {options} --next f.csv --json".replace("suggest", "fit")))
    assert names("n.csv") == names("f.csv")
    if "auto" in options:
        assert fitted["method"] != "auto"
        assert f"By the predictions of {fitted['method']}, chosen as by lapwing fit\n" in said


# --- the loop -------------------------------------------------------------------------------------


def test_two_rounds_of_suggestions_without_initial_labels() -> None:
    _, truth = table()
    said = done(run("suggest t.csv --label y --drop name -k 3 --out next.csv"))
    assert said.startswith(
        "t.csv: 60 rows, none with a label\n"
        "next.csv: the 3 rows to label next, the most informative first\n"
        "There is no label yet: the rows cover the table\n"
    )
    asked_for = [fill("next.csv", truth, "row")]
    assert {truth[i] for i in asked_for[0]} == set(CLASSES), "a label in each of the clusters"

    def commands() -> list[list[str]]:
        lines = (line for line in said.splitlines() if line.startswith("  lapwing "))
        return [shlex.split(line)[1:] for line in lines]

    for round_, path in enumerate(["next-2.csv", "next-3.csv"]):
        again, fit = commands()
        assert again[-2:] == ["--out", path]
        said = done(run(*again))
        assert said.startswith(f"t.csv: 60 rows, {3 * (round_ + 1)} with a label\n")
        assert "the rows cover the table" not in said
        assert f"3 rows got their label from {fit[2]}." in said
        asked_for.append(fill(path, truth, "row"))
    assert len({i for batch in asked_for for i in batch}) == 9, "no row is asked for twice"
    warning = "9 of the 9 labels are of rows that were suggested."
    told = json.loads(warned(run(*commands()[1], "--json"), warning))
    assert (told["labeled"], told["predicted"]) == (9, {c: truth.count(c) for c in CLASSES})


def test_files_record_which_rows_were_suggested() -> None:
    """A warning says that labels of suggested rows overestimate the error."""
    rows, truth = table(n_labels=2)
    write("t.csv", [row | {"chosen": "x"} for row in rows])  # a column that is another one
    assert done(run(f"{SUGGEST} --drop chosen -k 7 --out n.csv -q")) == ""
    fill("n.csv", truth)
    answers = read("n.csv")
    assert [row["lapwing chosen"] for row in answers] == ["suggested"] * 7
    fit = "fit t.csv n.csv --label y --id name --drop chosen -q"
    assert "7 of the 13 labels are of rows that were suggested" in run(fit).err
    # Rows chosen by other means, such as drawn at random.
    write("n.csv", [row | {"lapwing chosen": "by chance"} for row in answers])
    assert run(fit) == (0, "", "")
    write("n.csv", [{k: v for k, v in row.items() if k != "lapwing chosen"} for row in answers])
    assert run(fit) == (0, "", "")


def test_ids_in_a_column_without_a_name() -> None:
    rows, truth = table(n_labels=2)
    write("t.csv", [{"": row["name"]} | {name: row[name] for name in "aby"} for row in rows])
    done(run("suggest t.csv --label y --id '' -k 3 --out n.csv"))
    fill("n.csv", truth, "")
    told = found(run("fit t.csv n.csv --label y --id '' --method laperls --json"))
    assert told["labeled"] == 9


def test_more_clusters_than_classes_are_covered_too() -> None:
    _, truth = table(100, 5)
    done(run("suggest t.csv --label y --drop name -k 5 --out n.csv"))
    assert len({truth[int(row["row"]) - 1] for row in read("n.csv")}) == 5


def test_rows_cover_the_table_if_all_labels_are_of_one_class() -> None:
    rows, truth = table()
    rows[truth.index("u")]["y"] = "u"
    write("t.csv", rows)
    said = done(run(f"{SUGGEST} -k 2 --out n.csv"))
    assert "There is no label of a second class yet: the rows cover the table\n" in said
    assert {truth[i] for i in fill("n.csv", truth)} == {"v", "w"}


def test_regression_can_start_without_labels() -> None:
    table()  # the method is that of the labels
    said = done(run(f"{SUGGEST} --out n.csv -k 3"))
    assert "There is no label yet: the rows cover the table\n" in said
    write("n.csv", [row | {"y": row["a"]} for row in read("n.csv")])
    told = found(run("suggest t.csv n.csv --label y --id name --out n-2.csv -k 3 --json"))
    assert (told["labeled"], told["chosen_by"]) == (3, "variance")
    assert told["method"] == "laprls-regressor"
    assert not set(names("n.csv")) & set(told["suggested"])


# --- none -----------------------------------------------------------------------------------------


def test_a_fully_labelled_table_has_no_rows_to_suggest() -> None:
    rows, truth = table()
    write("t.csv", [row | {"y": c} for row, c in zip(rows, truth, strict=True)])
    code, out, err = run(f"{SUGGEST} --out n.csv")
    assert (code, out) == (2, "")
    assert "error: t.csv: every row has a label. There is none to label next.\n" in err


def test_equal_rows_are_asked_for_once() -> None:
    rows, truth = table(20)
    twins = [row | {"name": f"{row['name']}x"} for row in rows]
    write("t.csv", rows + twins)
    done(run(f"{SUGGEST} --out n.csv -k 40"))
    assert {name.removesuffix("x") for name in names("n.csv")} == {row["name"] for row in rows}
    assert len(names("n.csv")) == 20
    # Rows that are equal to labelled ones are not asked for.
    known = [row | {"y": c} for row, c in zip(rows, truth, strict=True)]
    write("t.csv", known + twins)
    told = "the rows without a label are equal to labelled rows"
    refused(run(f"{SUGGEST} --out n.csv"), f"t.csv: {told}. There is none to label next")
    said = done(run("fit t.csv --label y --id name --method s3vc --set tol=0.01 --next f.csv"))
    assert "are equal to labelled rows: there is none to label next" in said
    assert "Fill in" not in said
    assert read("f.csv") == []
