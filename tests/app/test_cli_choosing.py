"""`fit --method auto`, `compare` and `tune`: what is chosen, what is said, what repeats it."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.preprocessing import StandardScaler

from lapwing import S3VC, FewLabelClassifier, FewLabelRegressor, LapRLSClassifierCV, LapSVC
from lapwing._app import choosing, effort, forecast
from lapwing._app import requests as fit_requests
from lapwing._app.effort import EffortLimits, EffortPlan, Rounds
from lapwing._app.fitting import LEVELS
from lapwing._app.forecast import FitSize
from lapwing._app.methods import AUTO, COMMAND_METHODS, METHODS, method_of
from lapwing._app.requests import CompareRequest, FitRequest, TuneRequest
from lapwing._app.settings import make_estimator, parse_settings, settings_of
from lapwing._report.text import number
from lapwing.graphs import KNNGraph, default_graph
from lapwing.model_selection import Candidate, compare, default_candidates, sure_rows
from lapwing.models import load_model

Main = Any


def plain(text: str) -> str:
    return " ".join(text.replace("\u00a0", " ").split())


@pytest.fixture
def blobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sixty rows of two groups, eight of them labelled, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = []
    for i in range(60):
        x, y = rng.normal(size=2) + 5 * (i % 2)
        kind = "ab"[i % 2]
        rows.append({"cell": f"c{i}", "x": x, "y": y, "kind": kind if i < 8 else "", "truth": kind})
    pl.DataFrame(rows).write_csv(tmp_path / "t.csv")
    return tmp_path / "t.csv"


FIT = ["--label", "kind", "--id", "cell", "--drop", "truth"]
# A comparison of little evidence, and as the command line says it.
LITTLE = {"n_draws": 1, "max_left_out": 2}
QUICK = [word for name, value in LITTLE.items() for word in ("--set", f"{name}={value}")]


def test_auto_says_what_it_chose_why_and_what_to_expect(blobs: Path, main: Main) -> None:
    places = ["--model", "m.lapwing", "--report", "r.html", "--predictions", "p.csv"]
    code, said, err = main("fit", "t.csv", *FIT, "--method", "auto", *places, "--json")
    assert (code, err) == (0, "")
    found = json.loads(said)
    table = pl.read_csv(blobs)
    X, y = table.select("x", "y").to_numpy(), np.array([k or "" for k in table["kind"]])
    alone = compare(X, y, random_state=0)
    choice = found["choice"]
    assert [row["name"] for row in choice["methods"]] == [row.name for row in alone.table]
    assert choice["verdict"] == alone.verdict
    assert choice["methods"][0]["error"] == pytest.approx(alone.error)
    name, method = method_of(alone.best) or ("", None)
    assert found["method"] == name

    page = Path("r.html").read_text(encoding="utf-8")
    assert method is not None
    assert f"Why {method.name}" in page
    assert "seconds" not in json.dumps(choice)  # what differs from run to run is in no file
    assert load_model("m.lapwing").info["method"] == name
    assert type(load_model("m.lapwing").pipeline[-1]) is method.estimator

    code, said, err = main("fit", "t.csv", *FIT, "--method", "auto")
    said = plain(said)
    low, high = alone.error_interval
    assert f"About {100 * alone.error:.0f} % of the answers are wrong by the estimate" in said
    assert f"{100 * low:.0f} to {100 * high:.0f} % with a probability of 90 %" in said
    assert alone.verdict in said
    assert all(row.name in said for row in alone.table)


def test_the_command_that_does_not_choose_again_gives_the_same(blobs: Path, main: Main) -> None:
    code, said, _ = main("fit", "t.csv", *FIT, "--method", "auto", "--predictions", "a.csv")
    assert code == 0
    lines = said.splitlines()
    command = lines[lines.index("To fit the same without choosing again:") + 1].strip()
    first = Path("a.csv").read_bytes()
    Path("a.csv").unlink()
    assert main(*shlex.split(command)[1:])[0] == 0
    assert "--method auto" not in command
    assert Path("a.csv").read_bytes() == first


def test_auto_is_the_default_of_fit_and_lapsvc_that_of_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fit_requests, "DEFAULT_METHOD", AUTO)
    data = (Path("t.csv"),)
    assert FitRequest(data=data, label="y").method == AUTO
    assert FitRequest(data=data, label="y", settings=("gamma_I=2",)).method == "lapsvc"
    assert "--method" not in FitRequest(data=data, label="y").full_command
    named = FitRequest(data=data, label="y", method="lapsvc").full_command
    assert named.endswith("--method lapsvc")


def test_numbers_get_a_method_for_numbers(blobs: Path, main: Main) -> None:
    table = pl.read_csv(blobs)
    known = pl.int_range(pl.len()) < 20
    numbers = table.with_columns(kind=pl.when(known).then(pl.col("x") + 0.5))
    numbers.write_csv(blobs)
    report = ["--report", "r.html"]
    code, said, err = main("fit", "t.csv", *FIT, "--method", "auto", "--json", *report)
    assert (code, err) == (0, "")
    found = json.loads(said)
    X, y = table.select("x", "y").to_numpy(), numbers["kind"].to_numpy().astype(float)
    alone = compare(StandardScaler().fit_transform(X) if "standard" in found["scaling"] else X, y)
    assert [row["name"] for row in found["choice"]["methods"]] == [r.name for r in alone.table]
    assert found["choice"]["verdict"] == alone.verdict
    assert found["choice"]["methods"][0]["error"] == pytest.approx(alone.error)
    page = Path("r.html").read_text(encoding="utf-8")
    assert alone.verdict in page
    assert "assumes values to be" in page
    said = plain(main("fit", "t.csv", *FIT, "--method", "auto")[1])
    assert f"Numbers are off by about {number(alone.error)} (root mean square)" in said
    assert alone.verdict in said
    assert main("fit", "t.csv", *FIT, "--method", "auto", "--next", "n.csv")[0] == 0
    assert main("suggest", "t.csv", *FIT, "--method", "auto", "--out", "s.csv")[0] == 0
    assert pl.read_csv("n.csv").equals(pl.read_csv("s.csv"))
    assert set(pl.read_csv("n.csv")["cell"]) <= set(numbers.filter(~known)["cell"])
    code, _, err = main("fit", "t.csv", *FIT, "--method", "auto", "--set", "n_draws=3")
    assert (code, "to the comparison of methods for classes" in err) == (2, True)
    code, said, err = main("compare", "t.csv", *FIT, "--out", "c.csv")
    assert (code, err) == (0, "")
    assert alone.verdict in plain(said)
    assert pl.read_csv("c.csv")["name"].to_list() == [row.name for row in alone.table]
    line = said.splitlines()[said.splitlines().index("To fit it:") + 1]
    assert main(*shlex.split(line)[1:], "--predictions", "p.csv")[0] == 0
    assert main("compare", "t.csv", *FIT, "--out", "c.html")[0] == 0
    assert "assumes values to be" in Path("c.html").read_text(encoding="utf-8")
    # Whole numbers are classes.
    table.with_columns(kind=pl.when(known).then(pl.int_range(pl.len()) % 2)).write_csv(blobs)
    assert "numbers" not in main("fit", "t.csv", *FIT, "--method", "auto")[1].partition("\n")[0]


def test_columns_that_numbers_depend_on_are_scaled_in_the_model_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, main: Main
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.where(np.arange(60) < 30, np.sin(3 * X[:, 0]) + 0.05 * rng.normal(size=60), np.nan)
    columns = {f"x{j}": X[:, j] for j in range(4)}
    pl.DataFrame({**columns, "y": y}).fill_nan(None).write_csv("t.csv")
    options = ("--predictions", "p.csv", "--model", "m.lapwing", "--next", "n.csv")
    code, said, err = main("fit", "t.csv", "--label", "y", "--method", "auto", *options, "--json")
    assert (code, err) == (0, "")
    found = json.loads(said)
    assert "scaled columns" in found["choice"]["methods"][0]["name"]
    assert "columns scaled by their relevance" in found["scaling"]
    assert "command" not in found  # no option does that
    fitted = FewLabelRegressor().fit(X, y)
    answers = pl.read_csv("p.csv")
    np.testing.assert_allclose(answers["label"], fitted.predict(X), atol=1e-6)
    ends = answers.select("low", "high").to_numpy()
    np.testing.assert_allclose(ends, fitted.predict_interval(X), atol=1e-6)
    pipeline = load_model("m.lapwing").pipeline
    np.testing.assert_allclose(pipeline.predict(X), fitted.predict(X), atol=1e-6)
    assert main("suggest", "t.csv", "--label", "y", "--method", "auto", "--out", "s.csv")[0] == 0
    assert pl.read_csv("n.csv").equals(pl.read_csv("s.csv"))


def test_how_far_numbers_are_off_is_what_other_labels_say_of_each(blobs: Path, main: Main) -> None:
    table = pl.read_csv(blobs)
    values = (table["x"] + 0.3 * table["x"].sin() + 0.25).to_list()
    n = 8

    def write(*, hidden: int | None = None) -> None:
        told = [v if i < n and i != hidden else None for i, v in enumerate(values)]
        table.with_columns(kind=pl.Series(told, dtype=pl.Float64)).write_csv(blobs)

    write()
    fit = ("fit", "t.csv", *FIT, "--method", "auto")
    found = json.loads(main(*fit, "--json")[1])
    off = found["choice"]["methods"][0]["error"]
    assert f"Numbers are off by about {number(off)} (root mean square)" in plain(main(*fit)[1])
    errors = []
    for i in range(n):
        write(hidden=i)
        again = [*shlex.split(found["command"])[1:], "--predictions", "p.csv", "-q"]
        assert main(*again)[0] == 0
        errors.append(pl.read_csv("p.csv")["label"][i] - values[i])
    assert off == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-4)


def test_a_label_that_is_known_from_its_twin_says_nothing(blobs: Path, main: Main) -> None:
    table = pl.read_csv(blobs).with_columns(kind=pl.col("x") + 0.25)
    table = table.with_columns(kind=pl.when(pl.int_range(pl.len()) < 8).then("kind"))
    fit = ("fit", "t.csv", *FIT, "--method", "laprls-regressor-cv", "--json", "--report", "r.html")
    for shift, told in ((0.0, True), (0.5, False)):
        twins = table.head(8).with_columns(pl.col("kind") + shift, cell=pl.col("cell") + "x")
        pl.concat([table, twins.select(table.columns)]).write_csv(blobs)
        code, said, _ = main(*fit)
        assert code == 0
        assert ("left_out" in json.loads(said)) is told
        assert ("the error on left-out labels is" in Path("r.html").read_text()) is told


def test_the_usual_setting_is_said_to_be_kept(blobs: Path, main: Main) -> None:
    said = plain(main("fit", "t.csv", *FIT, "--method", "laprls-cv", "--report", "r.html")[1])
    model = LapRLSClassifierCV(unlabeled="")
    table = pl.read_csv(blobs)
    y = np.array([k or "" for k in table["kind"]], dtype=object)
    model.fit(table.select("x", "y").to_numpy(), y)
    errors = model.cv_results_["left_out_squared_error"]
    least = model.cv_results_["params"][int(np.nanargmin(errors))]
    usual = least != model.best_params_
    assert ("the usual ones, as no others are better by more than chance" in said) is usual
    assert ("The usual setting was kept" in Path("r.html").read_text()) is usual
    assert ("so the true error is larger" in Path("r.html").read_text()) is not usual


def test_settings_of_the_comparison(blobs: Path, main: Main) -> None:
    given = ["--set", "n_draws=1", "--set", "max_left_out=0", "--set", "max_samples=30"]
    code, said, _ = main("fit", "t.csv", *FIT, "--method", "auto", *given, "--json")
    assert code == 0
    assert json.loads(said)["choice"]["n_used"] == 30
    code, _, err = main("fit", "t.csv", *FIT, "--method", "auto", "--set", "n_draws=many")
    assert (code, err) == (2, "error: --set n_draws=many: this must be a whole number.\n")
    code, _, err = main("fit", "t.csv", *FIT, "--method", "auto", "--set", "gamma_I=1")
    assert code == 2
    assert "FewLabelClassifier has no parameter 'gamma_I'" in err


# --- sizes of the classes -------------------------------------------------------------------------


def three_kinds(path: Path) -> tuple[Any, Any]:
    """Three clusters of 68, 10 and 2 rows, two labels of each."""
    truth = np.repeat([0, 1, 2], [68, 10, 2])
    X = np.random.default_rng(0).normal(size=(80, 3)).round(3) + 2 * np.eye(3)[truth]
    labels = np.where(
        np.isin(np.arange(80), [0, 1, 68, 69, 78, 79]), np.array(list("abc"))[truth], ""
    )
    lines = [",".join(map(str, [*x, label])) for x, label in zip(X.tolist(), labels, strict=True)]
    path.write_text("\n".join(["p,q,r,kind", *lines]), encoding="utf-8")
    return X, labels


KINDS = ["three.csv", "--label", "kind", "--method", "auto"]


def test_known_sizes_are_told_to_what_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, main: Main
) -> None:
    monkeypatch.chdir(tmp_path)
    X, labels = three_kinds(tmp_path / "three.csv")
    sizes = {"a": 0.85, "b": 0.12, "c": 0.03}
    given = ["--scale", "none", "--set", "class_prior=a:0.85,b:0.12,c:0.03", *QUICK]
    written = ["--model", "m.lapwing", "--report", "r.html", "--predictions", "p.csv"]
    code, said, err = main("fit", *KINDS, *given, *written, "--json")
    assert (code, err) == (0, "")
    model = FewLabelClassifier(class_prior=sizes, random_state=0, **LITTLE).fit(X, labels)
    names = [row["name"] for row in json.loads(said)["choice"]["methods"]]
    assert names == [row.name for row in model.evidence_.table]
    assert "LapSVC(class_prior=...)" in names
    assert pl.read_csv("p.csv")["label"].to_list() == model.transduction_.tolist()
    assert all(name in Path("r.html").read_text(encoding="utf-8") for name in names)
    assert str(sizes) in json.dumps(json.loads(said)["parameters"])

    kept = load_model("m.lapwing").pipeline[-1]
    assert type(kept) is type(model.best_estimator_)
    assert kept.class_prior == sizes
    assert kept.class_prior_.tolist() == model.best_estimator_.class_prior_.tolist()
    assert main("predict", "m.lapwing", "three.csv", "--predictions", "q.csv")[0] == 0
    assert pl.read_csv("q.csv")["label"].to_list() == model.predict(X).tolist()

    first = Path("p.csv").read_bytes()
    command = json.loads(said)["command"]
    assert "a:0.85,b:0.12,c:0.03" in command
    assert main(*shlex.split(command)[1:])[0] == 0
    assert Path("p.csv").read_bytes() == first


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a:0.85,b:0.15", "has no proportion for ['c']. Give every class a prop"),
        (
            "a:0.8,b:0.1,c:0.05,d:0.05",
            "names ['d'], which are not classes. Give every class a proportion.",
        ),
        ("a:0.97,b:0.03,c:0", "class_prior is 0 for the class 'c', which has labels (2)."),
        ("a:0,b:0,c:0", "it is 0 for every class."),
        ("a:1.5,b:-1,c:0.5", "it holds -1 for the class 'b'."),
        ("a:0.9,b", "--set class_prior=a:0.9,b: write each class once"),
        ("even", "class_prior='even' must be 'labels', 'uniform', 'unknown'"),
        ("3", "class_prior=3 must be 'labels', 'uniform', 'unknown'"),
    ],
)
def test_wrong_sizes_are_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, main: Main, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    three_kinds(tmp_path / "three.csv")
    code, said, err = main("fit", *KINDS, "--set", f"class_prior={text}")
    assert (code, said) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err


def test_sizes_ask_for_no_more_evidence(
    blobs: Path, main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "affordable", lambda *_: EffortPlan(2000, None, None))
    sizes = ["--method", "auto", "--set", "class_prior=a:1,b:3"]
    assert "S3VC(balance=...) was not compared" in main("fit", "t.csv", *FIT, *sizes)[1]
    more = main("fit", "t.csv", *FIT, *sizes, "--set", "n_draws=1", "--json")[1]
    names = [row["name"] for row in json.loads(more)["choice"]["methods"]]
    assert "S3VC(balance=...)" in names


def test_thirds_can_be_repeated(blobs: Path, main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of S3VC must sum to 1, and six digits of a third do not."""
    gap = Candidate("S3VC()", S3VC(), "classes are clusters")
    monkeypatch.setattr(choosing, "default_candidates", lambda *_: (gap,))
    table = pl.read_csv(blobs)
    kinds = [kind and "abc"[i % 3] for i, kind in enumerate(table["kind"].fill_null(""))]
    table.with_columns(kind=pl.Series(kinds)).head(24).write_csv(blobs)
    words = ["--method", "auto", "--set", "class_prior=uniform", *QUICK]
    found = json.loads(main("fit", "t.csv", *FIT, *words, "--json")[1])
    command = next(value for value in found.values() if "balance=a:0.3333" in str(value))
    assert main(*shlex.split(command)[1:])[0] == 0


def test_sizes_are_of_classes(blobs: Path, main: Main) -> None:
    table = pl.read_csv(blobs)
    known = pl.int_range(pl.len()) < 20
    table.with_columns(kind=pl.when(known).then(pl.col("x") + 0.5)).write_csv(blobs)
    for verb in ("fit", "tune"):
        words = [verb, "t.csv", *FIT, "--method", "auto", "--set", "class_prior=uniform"]
        code, _, err = main(*words)
        assert (code, "--set class_prior applies to the comparison" in err) == (2, True)


def test_tune_holds_them_too(blobs: Path, main: Main) -> None:
    words = ["--method", "auto", "--set", "class_prior=a:1,b:3", "--model", "m.lapwing"]
    assert main("tune", "t.csv", *FIT, *words, "--next", "n.csv")[0] == 0
    assert pl.read_csv("n.csv").height == 10
    fitted = load_model("m.lapwing").pipeline[-1]
    assert fitted.class_prior_.tolist() == [0.25, 0.75]


# --- what can be afforded -------------------------------------------------------------------------


def test_fewer_rounds_and_then_fewer_methods_where_time_is_short() -> None:
    small = effort.affordable(FitSize(300, 10, 1, 10), EffortLimits())
    assert small == EffortPlan(2000, Rounds(5, 16), Rounds(5, 16))
    large = effort.affordable(FitSize(100_000, 10, 1, 30), EffortLimits())
    assert 500 <= large.rows < 2000
    assert large.clusters == Rounds(2, 16)
    six = effort.affordable(FitSize(5000, 20_000, 6, 60, n_stored=400_000), EffortLimits())
    assert six.clusters == Rounds(2, 6)  # with the usual evidence it would take twice the budget
    assert six.volumes == Rounds(5, 16)
    for n_classes in (30, 100):
        many = effort.affordable(FitSize(2000, 60, n_classes, 3 * n_classes), EffortLimits())
        assert many.clusters is None
    huge = effort.affordable(FitSize(10**6, 60, 500, 5000), EffortLimits())
    assert huge == EffortPlan(2000, None, None)  # it would be minutes


def test_a_candidate_is_tried_with_the_rounds_of_the_plan(
    blobs: Path, main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "affordable", lambda *_: EffortPlan(2000, Rounds(1, 2), None))
    said = main("fit", "t.csv", *FIT, "--method", "auto", "--json")[1]
    left_out = {row["name"]: row["n_left_out"] for row in json.loads(said)["choice"]["methods"]}
    assert set(left_out.values()) == {2}  # all are judged by the same labels


def test_the_forecast_of_a_comparison_is_longer_than_that_of_a_fit() -> None:
    size = FitSize(1000, 10, 1, 10)
    auto = METHODS[AUTO].forecast(size)
    assert auto.seconds > 5 * COMMAND_METHODS["lapsvc"].forecast(size).seconds
    large = FitSize(10**6, 50, 10, 100)  # volumes may be what is chosen
    assert METHODS[AUTO].forecast(large).seconds > METHODS["balanced"].forecast(large).seconds
    unlimited = effort.forecast_comparison(replace_n(size, 2000), limited=False)
    assert unlimited.seconds > effort.forecast_comparison(replace_n(size, 2000)).seconds


def replace_n(size: FitSize, n: int) -> FitSize:
    return FitSize(n, size.n_features, size.n_columns, size.n_labels)


def test_methods_that_take_too_long_are_named(
    blobs: Path, main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "affordable", lambda *_: EffortPlan(2000, None, None))
    code, said, _ = main("fit", "t.csv", *FIT, "--method", "auto", "--report", "r.html")
    assert code == 0
    assert "S3VC() was not compared, as it would take long: lapwing compare does it." in said
    assert "Not compared, as it would take long: <code>S3VC()</code>" in Path("r.html").read_text()


def test_a_long_comparison_is_announced(
    blobs: Path, main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main("compare", "t.csv", *FIT)[2] == ""
    monkeypatch.setattr(forecast, "SPEED", (1e4, 1e4))
    err = main("compare", "t.csv", *FIT)[2]
    assert err.startswith("warning: Comparing methods on t.csv will take about ")


# --- compare --------------------------------------------------------------------------------------


def test_compare_prints_the_table_and_the_command(blobs: Path, main: Main) -> None:
    code, said, err = main("compare", "t.csv", *FIT, "--out", "c.json")
    assert (code, err) == (0, "")
    found = json.loads(Path("c.json").read_text(encoding="utf-8"))
    assert [row["name"] for row in found["methods"]] != []
    assert plain(found["verdict"]) in plain(said)
    best = found["methods"][0]["command"]
    assert best in said
    assert main(*shlex.split(best)[1:])[0] == 0
    commands = [row["command"] for row in found["methods"]]
    assert any(command.endswith(" --set gamma_I=0") for command in commands)


def test_compare_writes_csv_and_html_or_nothing(blobs: Path, main: Main) -> None:
    assert main("compare", "t.csv", *FIT, "--out", "c.csv", "-q")[:2] == (0, "")
    rows = list(csv.DictReader(Path("c.csv").read_text(encoding="utf-8").splitlines()))
    assert {"name", "error", "low", "high", "command"} <= set(rows[0])
    assert len(rows) == len(default_candidates(np.zeros((60, 2)), n_classes=2))
    assert main("compare", "t.csv", *FIT, "--out", "c.html", "-q")[0] == 0
    page = Path("c.html").read_text(encoding="utf-8")
    assert all(row["name"] in page for row in rows)
    code, said, err = main("compare", "t.csv", *FIT, "--out", "c.txt")
    assert (code, said) == (2, "")
    assert "the extension of --out is .csv, .json or .html" in err
    err = main("compare", "t.csv", *FIT, "--out", "c.xlsx")[2]
    assert "is .csv, .json or .html. Excel and LibreOffice open a .csv file.\n" in err
    code, _, err = main("compare", "t.csv", *FIT, "--out", "t.csv")
    assert "is the input itself" in err
    assert not Path("c.txt").exists()


def test_names_of_a_table_are_no_markup_in_the_page_of_a_comparison(
    blobs: Path, main: Main
) -> None:
    evil = Path("<b>t<b>.csv")
    blobs.rename(evil)
    assert main("compare", evil, *FIT, "--out", "c.html")[0] == 0
    assert "<b>t" not in Path("c.html").read_text(encoding="utf-8")


# --- tune -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["lapsvc", "laperls"])
def test_tune_says_what_it_took_and_how_to_repeat_it(blobs: Path, main: Main, method: str) -> None:
    words = ["tune", "t.csv", *FIT, "--method", method, "--predictions", "a.csv"]
    code, said, _ = main(*words, "--report", "r.html", "--json")
    assert code == 0
    command = json.loads(said)["command"]
    assert f"--method {method}" in command or method == "lapsvc"
    first = pl.read_csv("a.csv")
    page = Path("r.html").read_text(encoding="utf-8")
    assert "Chosen parameters" in page
    assert "Settings of least error" in page
    assert main(*shlex.split(command)[1:])[0] == 0
    again = pl.read_csv("a.csv")
    assert again["label"].to_list() == first["label"].to_list()
    np.testing.assert_allclose(again["margin"].to_numpy(), first["margin"].to_numpy(), rtol=1e-6)


def test_tune_takes_a_grid_and_shows_it(blobs: Path, main: Main) -> None:
    grid = ["--set", "gamma_Is=0.5,2", "--set", "gamma_As=0.01", "--set", "gammas=1"]
    code, said, _ = main("tune", "t.csv", *FIT, *grid, "--model", "m.lapwing")
    assert code == 0
    assert "settings tried, each label left out in turn" in said
    fitted = load_model("m.lapwing").pipeline[-1]
    assert {p["gamma_I"] for p in fitted.cv_results_["params"]} == {0.5, 2.0}
    assert f"gamma_I={fitted.best_params_['gamma_I']:.3g}" in said


def test_tune_of_numbers_and_of_single_labels(blobs: Path, main: Main) -> None:
    table = pl.read_csv(blobs)
    known = pl.int_range(pl.len()) < 2
    table.with_columns(kind=pl.when(known).then("kind")).write_csv(blobs)
    code, said, _ = main("tune", "t.csv", *FIT, "--report", "r.html")
    assert code == 0
    assert "A class has one label only: nothing can be left out. The usual parameters:" in said
    assert "these are the usual parameters" in Path("r.html").read_text(encoding="utf-8")
    known = pl.int_range(pl.len()) < 20
    table.with_columns(kind=pl.when(known).then("x")).write_csv(blobs)
    code, said, _ = main("tune", "t.csv", *FIT, "--drop", "x")
    assert code == 0
    assert "LapRLSRegressorCV" in said


def test_tune_refuses_what_has_nothing_to_choose() -> None:
    data = (Path("t.csv"),)
    assert TuneRequest(data=data, label="y", method="laprls").method == "laprls-cv"
    with pytest.raises(ValueError, match=r"s3vc has no parameters that tune can choose\. Use one"):
        TuneRequest(data=data, label="y", method="s3vc")


# --- probabilities --------------------------------------------------------------------------------


def test_probabilities_of_a_fit_and_of_new_rows(blobs: Path, main: Main) -> None:
    places = ["--predictions", "a.csv", "--model", "m.lapwing", "--probabilities"]
    assert main("fit", "t.csv", *FIT, *places)[0] == 0
    own = pl.read_csv("a.csv")
    assert own.columns[:6] == [
        "id", "label", "probability", "sure", "probability_a", "probability_b",
    ]  # fmt: skip
    shares = own.select("probability_a", "probability_b").to_numpy()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(own["probability"].to_numpy(), shares.max(axis=1))
    table = pl.read_csv(blobs)
    X = table.select("x", "y").to_numpy()
    model = LapSVC(unlabeled="", random_state=0).fit(X, [k or "" for k in table["kind"]])
    np.testing.assert_allclose(shares, model.predict_proba(X), rtol=1e-7)

    code, said, _ = main("predict", "m.lapwing", "t.csv", "--id", "cell", "--probabilities")
    assert code == 0
    new = pl.read_csv(said.encode())
    assert new.drop("was_labeled").equals(own.drop("was_labeled"))
    # The sure rows of the file are those of `sure_rows`.
    found = [sure_rows(model, precision=level).sure for level in LEVELS]
    best = next((sure for sure in found if sure.any()), found[0])
    free = ~own["was_labeled"].to_numpy()
    np.testing.assert_array_equal(own["sure"].to_numpy() & free, best)


def test_predictions_as_arrays(blobs: Path, main: Main) -> None:
    places = ["--predictions", "a.npz", "--model", "m.lapwing", "--probabilities"]
    assert main("fit", "t.csv", *FIT, *places)[0] == 0
    first = Path("a.npz").read_bytes()
    assert main("fit", "t.csv", *FIT, "--predictions", "a.csv", "--probabilities")[0] == 0
    table = pl.read_csv("a.csv")
    with np.load("a.npz", allow_pickle=False) as arrays:
        assert arrays.files == table.columns
        for name in arrays.files:
            assert arrays[name].tolist() == table[name].to_list()
    assert main("fit", "t.csv", *FIT, "--predictions", "b.npz", "--probabilities")[0] == 0
    assert Path("b.npz").read_bytes() == first
    assert main("predict", "m.lapwing", "t.csv", "--predictions", "c.npz", "-q")[0] == 0
    with np.load("c.npz", allow_pickle=False) as arrays:
        assert "probability_a" not in arrays.files
        assert "probability" in arrays.files


def test_what_was_chosen_is_as_sure_as_the_labels_left_out_say(
    blobs: Path, main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    gap = Candidate("S3VC()", S3VC(), "classes are clusters")
    monkeypatch.setattr(choosing, "default_candidates", lambda *_: (gap,))
    written = ["--method", "auto", "--model", "m.lapwing", "--predictions", "p.npz"]
    found = json.loads(main("fit", "t.csv", *FIT, *written, "--json")[1])
    table = pl.read_csv(blobs)
    X, y = table.select("x", "y").to_numpy(), np.array([k or "" for k in table["kind"]])
    model = FewLabelClassifier([gap], random_state=0).fit(X, y)
    assert found["trust"]["n_tests"] == model.best_estimator_.probability_n_labels_ == 8
    kept = load_model("m.lapwing").pipeline
    np.testing.assert_allclose(kept.predict_proba(X), model.predict_proba(X), rtol=1e-6)
    with np.load("p.npz", allow_pickle=False) as arrays:
        best = model.transduction_proba_.max(axis=1)
        np.testing.assert_allclose(arrays["probability"], best, rtol=1e-6)


def test_what_leaves_no_label_out_has_no_sure_rows(blobs: Path, main: Main) -> None:
    code, said, _ = main("fit", "t.csv", *FIT, "--method", "s3vc", "--json")
    found = json.loads(said)
    assert (code, found["sure"], found["trust"]["threshold"]) == (0, 0, None)
    said = main("fit", "t.csv", *FIT, "--method", "s3vc")[1]
    assert "No answer is sure: all 52 rows without a label are to check." in said
    assert "Nothing here says how often this method is right" in said


# --- settings of an estimator ---------------------------------------------------------------------


def test_settings_make_the_same_estimator() -> None:
    X = np.random.default_rng(0).normal(size=(30, 5))
    usual = default_graph(X)
    for texts in (
        ["gamma_I=2.5", "kernel=laplacian", "graph.n_neighbors=7"],
        ["gamma_I=0"],
        ["class_prior=a:0.25,b c:0.75"],
        ["graph.power=3"],
        [],
    ):
        method = COMMAND_METHODS["lapsvc"]
        made = make_estimator(method, parse_settings(texts, method), 0, graph=usual)
        found = settings_of(made, method, usual)
        assert found is not None
        again = make_estimator(method, parse_settings(found, method), 0, graph=usual)
        assert repr(again) == repr(made)
    other = LapSVC(graph=KNNGraph(2), class_weight={0: 1, 1: 2})
    assert settings_of(other, COMMAND_METHODS["lapsvc"], usual) is None


def test_every_usual_candidate_can_be_fitted_from_the_command_line() -> None:
    for shape in ((50, 3), (20, 90), (13_000, 2)):
        points = np.zeros(shape)
        for candidate in default_candidates(points):
            known = method_of(candidate.estimator)
            assert known is not None, candidate.name
            assert settings_of(candidate.estimator, known[1], KNNGraph()) is not None
    assert method_of(FewLabelClassifier()) is None


def test_what_is_to_be_exported_is_chosen_among_what_can_be(blobs: Path, main: Main) -> None:
    pytest.importorskip("onnx")
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 3
    X = 6 * np.eye(3)[truth] + rng.standard_normal((60, 3))
    lines = [
        ",".join([*(f"{value:.3f}" for value in row), "abc"[code] if i < 6 else ""])
        for i, (row, code) in enumerate(zip(X, truth, strict=True))
    ]
    Path("three.csv").write_text("\n".join(["p,q,r,kind", *lines]), encoding="utf-8")
    asked = ("fit", "three.csv", "--label", "kind", "--onnx")
    code, said, _ = main(*asked, "m.onnx", "--json", "--method", "auto", *QUICK)
    assert code == 0
    names = [row["name"] for row in json.loads(said)["choice"]["methods"]]
    assert "BalancedGraphClassifier(n_votes=0)" in names
    assert main(*asked, "n.onnx", "--method", "balanced", "--set", "n_votes=0")[0] == 0


def test_a_comparison_asks_for_the_same_again() -> None:
    asked = CompareRequest(data=(Path("a b.csv"),), label="y", max_rows=70, out=Path("o.csv"))
    words = shlex.split(asked.full_command)
    assert words == [
        "lapwing",
        "compare",
        "a b.csv",
        "--label",
        "y",
        "--rows",
        "70",
        "--out",
        "o.csv",
    ]
