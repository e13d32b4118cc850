"""The verbs `fit`, `predict`, `report` and `info`: their files and messages."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.io
import scipy.sparse as sp
from rich.console import Console
from sklearn.compose import ColumnTransformer
from sklearn.datasets import dump_svmlight_file, make_blobs
from sklearn.preprocessing import OneHotEncoder

from lapwing import LapSVC
from lapwing._app import console
from lapwing._app.forecast import FitSize
from lapwing._app.methods import AUTO, COMMAND_METHODS
from lapwing._app.requests import FitRequest
from lapwing.models import load_model
from tests.helpers.commandline import done, found, refused, run, warned
from tests.helpers.tables import read, write

ROOT = Path(__file__).resolve().parents[2]
KINDS = ["setosa", "versicolor", "virginica"]
OPTIONS = "--label kind --id flower --truth truth"
FIT = f"fit home/t.csv {OPTIONS}"

pytestmark = pytest.mark.usefixtures("home")


def write_rows(path: str, names: str, rows: Any) -> None:
    lines = [",".join(map(str, row)) for row in rows]
    Path(path).write_text("\n".join([names, *lines]) + "\n", encoding="utf-8")


# --- fit, predict, report -------------------------------------------------------------------------


def test_pipeline_of_a_model_encodes_text_with_scikit_learn(flowers: pl.DataFrame) -> None:
    pipeline = load_model("home/m").pipeline
    columns = pipeline.named_steps["columns"]
    assert isinstance(columns, ColumnTransformer)
    assert isinstance(columns.named_transformers_["categorical"], OneHotEncoder)
    table = flowers.select("sl", "sw", "pl", "pw", "site")
    assert pipeline.predict(table).tolist() == pl.read_csv("home/p.csv")["label"].to_list()
    # By hand: the same numbers give the same estimator.
    sites = np.unique(flowers["site"].to_numpy())
    one_hot = (flowers["site"].to_numpy()[:, None] == sites).astype(float)
    Z = np.hstack([table.drop("site").to_numpy(), one_hot])
    own = LapSVC(unlabeled="").fit(Z, flowers["kind"].fill_null("").to_numpy())
    F = pipeline.decision_function(table)
    np.testing.assert_allclose(F, own.decision_function(Z), rtol=1e-8, atol=1e-10)


def test_the_same_seed_gives_the_same_bytes_in_all_files(home: Path) -> None:
    places = "--predictions p.csv --report r.html --model m --onnx m.onnx"
    assert run(f"{FIT} {places} --quiet") == (0, "", "")
    for name in ("p.csv", "r.html", "m", "m.onnx"):
        assert Path(name).read_bytes() == (home / name).read_bytes(), name
    assert "again.html" in done(run("report home/m --out again.html"))
    assert Path("again.html").read_bytes() == Path("r.html").read_bytes()


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_readme_transcript_is_current(monkeypatch: pytest.MonkeyPatch, every: bool) -> None:
    monkeypatch.setattr(FitRequest, "default_method", AUTO)
    script = runpy.run_path(str(ROOT / "docs" / "make_transcript.py"))
    told = script["TRANSCRIPT"].read_text(encoding="utf-8")
    if every:
        assert script["transcript"]() == told
        return
    # Without the fit, which compares all methods, and what reads its files.
    quick = [one for one in script["COMMANDS"] if "predictions" not in one]
    assert len(quick) == 3
    parts = script["transcript"](quick).strip().split("\n\n")
    assert [part for part in parts if part not in told.strip().split("\n\n")] == []


# --- tables ---------------------------------------------------------------------------------------


def test_features_by_name() -> None:
    fit = "fit home/t.csv --label kind --id flower"
    for options, names in (
        ("--features pw,sl --features site", ["pw", "sl", "site"]),
        ("--drop 'truth, site' --map pl --map pw", ["sl", "sw"]),
    ):
        assert found(run(f"{fit} {options} --json"))["features"] == names


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_missing_values_are_imputed_on_request(flowers: pl.DataFrame, suffix: str) -> None:
    rows = pl.int_range(pl.len())
    holes = flowers.with_columns(
        pl.when(rows % 7 != 0).then("pl").alias("pl"), pl.when(rows % 9 != 0).then("site")
    )
    holes.write_csv("h.csv") if suffix == "csv" else holes.write_parquet("h.parquet")
    fit = f"fit h.{suffix} {OPTIONS}"
    refused(run(f"{fit} --strict"), "missing values in 'pl' (9), 'site' (7)", "--impute median")
    refused(run(f"{fit} --impute none"), "missing values in 'pl' (9);")
    said = done(run(f"{fit} --impute median --model m"))
    assert "missing numbers replaced by the median of their column" in said
    # Without a word it is the median too.
    assert "replaced by the median" in found(run(f"{fit} --json"))["scaling"]
    columns = load_model("m").pipeline.named_steps["columns"]
    medians = columns.named_transformers_["numeric"].named_steps["impute"].statistics_
    assert medians[2] == holes["pl"].median()
    done(run(f"predict m h.{suffix} --predictions q.csv"))


@pytest.mark.parametrize("suffix", ["svm", "mtx", "npy", "npz"])
def test_matrices_with_labels(suffix: str) -> None:
    X, y = make_blobs(60, 4, centers=2, random_state=0)
    X[np.abs(X) < 1] = 0
    known = np.arange(60) < 10
    Path("labels.txt").write_text("\n".join(np.where(known, y.astype(str), "")) + "\n")
    options = {"svm": "--unlabeled -1", "npz": "--label y"}.get(suffix, "--labels labels.txt")
    if suffix == "svm":
        dump_svmlight_file(X, np.where(known, y, -1), "t.svm", zero_based=False)
    elif suffix == "mtx":
        X[7, 1] = np.nan
        scipy.io.mmwrite("t.mtx", sp.csr_matrix(X))
    elif suffix == "npy":
        np.save("t.npy", X)
    else:
        np.savez("t.npz", X=X, y=np.where(known, y, -1))
    fit = f"fit t.{suffix} {options} --predictions p.csv --model m --next next.csv"
    said = done(run(fit))
    assert ("missing numbers replaced by the median of their column" in said) == (suffix == "mtx")
    answers = pl.read_csv("p.csv")
    assert answers["label"].to_list() == y.tolist()
    assert answers["id"].to_list() == list(range(1, 61))
    one = answers["score_1"].to_numpy()
    np.testing.assert_array_equal(answers["score_0"], -one)
    np.testing.assert_array_equal(answers["margin"], 2 * np.abs(one))
    done(run(f"predict m t.{suffix} --predictions q.csv"))
    assert pl.read_csv("q.csv").drop("was_labeled").equals(answers.drop("was_labeled"))
    done(run(f"info t.{suffix} {options}"))
    # The rows to label next, filled in.
    column = {"svm": "target", "npz": "y"}.get(suffix, "label")
    rows = read("next.csv")
    for row in rows:
        here = int(row["row"]) - 1
        cells = [row[name] for name in row if name not in ("row", column, "chosen")]
        np.testing.assert_allclose(np.array(cells, dtype=float), X[here])
        row[column] = str(y[here])
    write("next.csv", rows)
    assert found(run(f"fit t.{suffix} next.csv {options} --json"))["labeled"] == 20


# --- what predict and report say of wrong input ---------------------------------------------------


def test_predict_rejects_wrong_columns_and_accepts_others(flowers: pl.DataFrame) -> None:
    predict = "predict home/m n.csv --predictions q.csv"
    Path("q.csv").write_text("precious")
    for table, *told in (
        (flowers.rename({"sl": "SL"}), "has no column 'sl'", "Is it 'SL' here?"),
        (flowers.with_columns(sw=pl.lit("wide")), "'sw' holds text in 60 rows", "row 1: 'wide'"),
        (flowers.with_columns(flower=pl.lit("f")), "id column 'flower' does not tell rows apart"),
        (flowers.with_columns(pl.when(pl.col("sl") > 5).then("sl")), "missing values in 'sl'"),
        (flowers.with_columns(sl=pl.lit(float("inf"))), "infinite values in 'sl'"),
        (flowers.drop("sw"), "has no column 'sw'"),
    ):
        table.write_csv("n.csv")
        answer = run(predict)
        refused(answer, "n.csv", *told)
        # It advises nothing that it cannot do.
        assert set(re.findall(r"--[a-z]+", answer.err)) <= {"--id"}
    assert Path("q.csv").read_text() == "precious"
    # Other order, more columns, no label, other text: said, and predicted.
    other = flowers.select(reversed(flowers.columns)).drop("kind", "truth")
    other.with_columns(new=pl.lit(1), site=pl.lit("moon")).write_csv("n.csv")
    told = "does not know the column 'new'", "'moon' in 'site' did not occur in the fit"
    warned(run(f"{predict} -q"), *told)


# --- info -----------------------------------------------------------------------------------------


def test_the_truth_is_not_a_feature() -> None:
    told = found(run(f"info home/t.csv {OPTIONS} --json"))
    assert [one["column"] for one in told["columns"]] == ["sl", "sw", "pl", "pw", "site"]
    assert "--truth truth" in told["command"]


def test_info_reports_errors_of_a_fit(flowers: pl.DataFrame) -> None:
    rows = pl.int_range(pl.len())
    wrong = flowers.with_columns(
        pl.when(rows != 3).then("sl"),
        pl.when(rows == 5).then(np.inf).otherwise("sw").alias("sw"),
        pl.when(rows == 9).then(pl.lit("big")).otherwise(pl.col("pw").cast(str)).alias("pw"),
    )
    wrong.write_csv("t.csv")
    info = "info t.csv --label kind"
    told = json.loads(done(run(f"{info} --json")))
    assert told["missing"] == {"sl": 1, "pw": 1}
    assert told["infinite"] == {"sw": 1}
    assert told["labels"] == {"": 45, **dict.fromkeys(KINDS, 5)}
    words = {entry["column"]: entry["what"] for entry in told["columns"]}
    assert words["flower"] == "names the rows: 60 different values in 60 rows"
    bad = "1 cell is something else ('big' in row 10) and counted as missing"
    assert words["pw"] == f"numbers; {bad}"
    assert not told["errors"]
    assert told["categorical"] == {"site": 3, "truth": 3}
    said = done(run(info))
    for part in ("missing 'sl': 1 row", "infinite 'sw'", "left out 'flower': names", "(none)"):
        assert part in said
    strict = run(f"{info} --strict")
    assert strict.code == 0
    assert "error: column 'pw' holds text in 1 row" in strict.out
    assert "error: column 'flower' cannot be used: not num" in strict.out


@pytest.mark.parametrize(
    ("labels", "options", "numbers", "classes"),
    [
        (["0.5", "1.5", "2.5", "1.5"], "--label y", True, False),
        (["a", "b", "1", "2"], "--label y", False, True),
        (["1", "2", "1", "2"], "--label y", True, True),
        (["1", "2", "3", "2"], "--label y", True, True),
        (["1 \u20ac", "2 \u20ac", "1 \u20ac", "2 \u20ac"], "--label y", True, True),
        (["1.5", "2.5", *["?"] * 10], "--label y", True, True),
        (["a", "b", "a", "b"], "", True, True),
    ],
)
def test_info_forecasts_the_methods_that_can_learn_the_labels(
    labels: list[str], options: str, numbers: bool, classes: bool
) -> None:
    repeated = (2 * labels)[:12]
    rows = zip(np.arange(12) / 7, repeated + [""] * (12 - len(repeated)), strict=True)
    write_rows("t.csv", "x,y", rows)
    methods = found(run(f"info t.csv {options} --json"))["forecast"]
    known = {
        name for name, one in COMMAND_METHODS.items() if (numbers, classes)[not one.regression]
    }
    assert set(methods) == {AUTO, *known}
    # A method for numbers has one column, whatever the number of classes.
    for name in known if "3" in labels else ():
        one = COMMAND_METHODS[name]
        need = one.forecast(FitSize(12, 1, 1 if one.regression else 3, n_labels=8))
        assert (methods[name]["seconds"], methods[name]["memory_bytes"]) == (
            need.seconds,
            need.memory,
        ), name


def test_info_distinguishes_quantities_from_classes() -> None:
    info = "info t.csv --label y"

    def write(labels: list[str], x: str = "{}") -> None:
        cells = (x.format(i / 7) for i in range(20))
        write_rows("t.csv", "x;y", ([f"{a};{b}"] for a, b in zip(cells, labels, strict=True)))

    write([f"{1000 + 37 * i} \u20ac" for i in range(12)] + [""] * 8)
    told = "the 12 labels are 12 different amounts, such as '1000 \u20ac', and each"
    command = warned(run(info), told).splitlines()[-1]
    assert command.endswith("--label y --method laprls-regressor --predictions predictions.csv")
    write(["ab"] * 20)
    done(run(info))
    write([f"{i},25" for i in range(12)] + [""] * 8, "1,5")
    labels = found(run(f"{info} --json"))["labels"]
    assert labels == {"": 8, "numbers, 0.25 to 11.25": 12}
    Path("t.svm").write_text("".join(f"{i % 2} 1:{i}\n" for i in range(12)))
    assert found(run("info t.svm --json"))["labels"] == {"": 0, "0": 6, "1": 6}


@pytest.mark.parametrize("one", ["1", "1.0"])
def test_info_counts_classes_as_fit_does(one: str) -> None:
    labels = ["1.0", "2.0", one, "2.0"] + [""] * 16
    write_rows("t.csv", "x,y", [(i % 7, label) for i, label in enumerate(labels)])
    assert found(run("info t.csv --label y --json"))["labels"] == {"": 16, "1": 2, "2": 2}


def test_info_counts_components_without_a_label() -> None:
    X, y = make_blobs(90, 2, centers=[[0, 0], [50, 0], [0, 50]], random_state=0)
    labels = ["ab"[c] if c < 2 and i < 30 else "" for i, c in enumerate(y)]
    write_rows("t.csv", "x,z,y", zip(*X.T, labels, strict=True))
    graph = found(run("info t.csv --label y --json"))["graph"]
    assert (graph["components"], graph["components_without_label"]) == (3, 1)
    assert "1 of them without a label" in run("info t.csv --label y").out


def test_info_and_fit_agree_on_scaling() -> None:
    """They differed where text becomes many one-hot columns of small spread."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(2, 60)) * [[40], [1]]
    labels = ["u", "v"] * 3 + [""] * 54
    rows = zip(*numbers, rng.choice(list("abcdefgh"), 60), labels, strict=True)
    write_rows("t.csv", "x,z,site,y", rows)
    told = found(run("info t.csv --label y --json"))["scaling"]
    assert "standardised: 'x' varies" in told
    assert found(run("fit t.csv --label y --json"))["scaling"].partition(";")[0] == told


# --- names that are markup, escapes or formulas ---------------------------------------------------

HOSTILE = ("[/bold]", "\x1b[31mred\x1b[0m", "=1+1", ":smile:")


@pytest.mark.filterwarnings("ignore")
def test_names_are_neither_markup_nor_escapes() -> None:
    """Classes, ids, columns and file of four clusters are named to do harm."""
    X, y = make_blobs(80, 2, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], random_state=0)
    truth = np.array(HOSTILE)[y]
    rows = zip(X[:, 0], X[:, 1], np.where(np.arange(80) < 24, truth, ""), truth, strict=True)
    named = ((f"{HOSTILE[i % 4]}{i}", *row) for i, row in enumerate(rows))
    write_rows("[red]t.csv", "who,[/i]x,z\x07,kind,truth", named)
    fit = "fit [red]t.csv --label kind --id who --truth truth"
    code, said, err = run(f"{fit} --model m --report r.html --predictions p.csv")
    assert code == 0, err
    for name in ("[/bold]", "␛[31mred␛[0m", "=1+1", ":smile:", "[red]t.csv"):
        assert name in said
    again = run("predict m [red]t.csv --predictions p.csv")
    assert again.code == 0, again.err
    assert "[/bold]" in again.out
    infos = run("info [red]t.csv --label kind"), run("info [red]t.csv --label", "\x1b[2Jx")
    for text in (said, err, *again[1:], *infos[0][1:], *infos[1][1:]):
        assert "\x1b" not in text
        assert "\x07" not in text
    assert set(found(run(f"{fit} --json"))["predicted"]) == set(HOSTILE)


def test_commands_in_errors_have_lines_of_their_own() -> None:
    rows = [(f"{i / 7}", f"{i % 3}", f"{100 + 37 * i}") for i in range(20)]
    write_rows("t.csv", '"two  blanks",z,"two\nlines"', rows)
    fit = "fit t.csv --method auto --label"
    code, said, err = run(fit, "two\nlines", "--drop", "two  blanks")
    first, *others = err.splitlines()
    assert (code, said) == (2, "")
    assert first.startswith("error: ")
    shown = r"lapwing fit t.csv --label $'two\nlines' --drop 'two  blanks'"
    assert others == [
        f"  For numbers, run: {shown} --method laprls-regressor",
        f"  For classes, run: {shown} --method laperls",
    ]


def test_json_holds_no_control_character_of_terminals() -> None:
    text = console.json_text({"a\x9b": "\x7f\x1bé"})
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    assert json.loads(text) == {"a\x9b": "\x7f\x1bé"}


def test_a_command_that_cannot_print_leaves_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise ValueError("no words")

    monkeypatch.setattr(console, "describe_fit", fail)
    monkeypatch.setattr(console, "describe_predictions", fail)
    refused(run(f"{FIT} --predictions p.csv --report r.html"), "no words")
    refused(run("predict home/m home/t.csv --predictions p.csv"), "no words")
    assert list(map(str, Path().iterdir())) == ["home"]


# --- the answer first -----------------------------------------------------------------------------


def test_a_table_breaks_no_heading_in_a_narrow_terminal() -> None:
    headings = ("class", "rows", "share", "labelled", "sure", "to check")
    grid = console._grid(headings, [("Barolo", "50", "28.1\u00a0%", "3", "0", "47")])
    text = console._draw(grid, Console(width=40))
    words = text.split()
    assert {"class", "rows", "share", "labelled", "sure", "to", "check"} <= set(words)
    assert max(map(len, text.splitlines())) <= 40


def test_summary_begins_with_predictions_and_errors() -> None:
    lines = [line.strip() for line in done(run(FIT)).splitlines() if line.strip()]
    told = found(run(f"{FIT} --json"))
    assert lines[0].endswith("t.csv: 60 rows, 15 with a label")
    assert lines[1].split()[:3] == ["class", "rows", "share"]
    answers = {line.split()[0]: [int(n) for n in line.split()[-3:]] for line in lines[3:6]}
    assert {name: sum(counts) for name, counts in answers.items()} == told["predicted"]
    table = pl.read_csv("home/p.csv")
    assert told["predicted"] == {kind: table["label"].to_list().count(kind) for kind in KINDS}
    assert (told["rows"], told["labeled"], told["method"]) == (60, 15, "lapsvc")
    assert sum(counts[1] for counts in answers.values()) == told["sure"]
    assert sum(counts[2] for counts in answers.values()) == told["to_check"]
    assert lines[6].startswith(f"{told['sure']} of 45 rows without a label have a sure answer")
    assert lines[7].startswith("This comes from 15 labels that were left out: ")
    missed = table["label"].to_numpy() != np.repeat(KINDS, 20)
    wrong = int(missed[~table["was_labeled"].to_numpy()].sum())
    assert told["error"] == {"rows": 45, "share_wrong": wrong / 45}
    assert lines[8].startswith(f"Wrong: {wrong} of 45 rows with a known answer in 'truth' (")
    assert lines[9] == f"Next: {told['next']}"
    assert lines[10].startswith("LapSVC, 5 columns")
    assert "one-hot encoded: site" in lines[10]
    assert lines[-1].startswith("Nothing was written")


def test_summary_page_and_model_show_equal_figures() -> None:
    said = done(run(f"{FIT} --report r.html --model m")).replace("\u00a0", " ")
    page = re.sub("<[^>]*>", " ", Path("r.html").read_text(encoding="utf-8"))
    page = " ".join(page.replace("&#39;", "'").split())
    assert next(line for line in said.splitlines() if "sure answer" in line) in page
    wrong = re.search(r"Wrong: (\d+) of .*\((.*)\)", said)
    assert wrong is not None
    assert f"known answer {wrong[1]} are wrong ({wrong[2]})" in page
    assert next(line for line in said.splitlines() if "Next: " in line)[6:] in page
    # New rows are judged by the threshold of the fit.
    model = load_model("m")
    assert model.info["trust"] == model.report.volumes["trust"]
    said = done(run("predict m home/t.csv --predictions q.csv"))
    again = re.search(r"(\d+) of 60 rows without a label have .*, (\d+) are to check", said)
    assert again is not None
    sure, to_check = map(int, again.groups())
    # The labelled rows of the fit are new rows here; its own answers are those of no other X.
    assert to_check >= model.report.volumes["n_to_check"]
    assert pl.read_csv("q.csv")["sure"].sum() == sure
    assert sure + to_check == 60


def test_summary_of_a_regression_and_its_errors(flowers: pl.DataFrame) -> None:
    known = pl.int_range(pl.len()) % 6 == 0
    numbers = flowers.with_columns(kind=pl.when(known).then("pl"), truth=pl.col("pl")).drop("pl")
    numbers.write_csv("t.csv")
    said = done(run(f"fit t.csv {OPTIONS} --method lapsvr"))
    assert "Numbers from " in said
    assert "Root mean square error of 50 rows with a known answer in 'truth': 0." in said
    assert "Next: No label stands out from the others. Use the model for new rows" in said


# --- rows to label next ---------------------------------------------------------------------------


def test_rows_to_label_next_are_those_of_suggest_and_no_part_of_the_answers() -> None:
    assert "Rows to label next: next.csv" in done(run(f"{FIT} --next next.csv --predictions p.csv"))
    assert "--truth truth" in done(run(f"suggest home/t.csv {OPTIONS} --out s.csv"))
    assert Path("s.csv").read_bytes() == Path("next.csv").read_bytes()
    assert "truth" not in pl.read_csv("s.csv").columns
    answers, alone = pl.read_csv("p.csv"), pl.read_csv("home/p.csv")
    assert alone["label"].to_list() == answers["label"].to_list()
    np.testing.assert_allclose(alone["margin"], answers["margin"], rtol=1e-6)


def test_next_rows_are_the_least_certain_if_a_graph_would_take_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def suggested(method: str) -> list[str]:
        tol = "--set tol=0.01" if method == "s3vc" else ""
        done(run(f"{FIT} --method {method} {tol} --next n.csv --predictions q.csv"))
        return pl.read_csv("n.csv")["flower"].to_list()

    telling = suggested("s3vc")
    least = pl.read_csv("q.csv").filter(~pl.col("was_labeled")).sort("margin")
    monkeypatch.setattr("lapwing._app.fitting._GRAPH_ROWS", 10)
    assert suggested("s3vc") == least["id"].to_list()[:10] != telling
    # A fit that made a graph has it, or makes it once more.
    assert len(suggested("balanced")) == 10
    assert "most informative" in run(f"{FIT} --method balanced --next n.csv").out
