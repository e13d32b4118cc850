"""`fit --method auto`, `compare` and `tune`: choices, messages and commands that repeat them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn.preprocessing import StandardScaler

from lapwing import (
    S3VC,
    BalancedGraphClassifier,
    FewLabelClassifier,
    FewLabelRegressor,
    LapERLSClassifier,
    LapRLSClassifierCV,
    LapSVC,
)
from lapwing._app import choosing, forecast, reading
from lapwing._app.forecast import EFFORT, EffortPlan, FitSize
from lapwing._app.methods import AUTO, COMMAND_METHODS, METHODS, method_of
from lapwing._app.requests import FitRequest, TuneRequest
from lapwing._app.settings import make_estimator, parse_settings, settings_of
from lapwing._report.text import number
from lapwing.graphs import KNNGraph
from lapwing.model_selection import Candidate, compare, comparison, default_candidates
from lapwing.model_selection.candidates import last_step
from lapwing.model_selection.evidence import Effort
from lapwing.models import load_model
from tests.helpers.commandline import done, found, refused, run


def plain(text: str) -> str:
    return " ".join(text.replace("\u00a0", " ").split())


def page(path: str = "r.html") -> str:
    return Path(path).read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def blobs(folder: Path) -> pl.DataFrame:
    """Sixty rows of two groups, eight of them labelled."""
    rng = np.random.default_rng(0)
    group = np.arange(60) % 2
    X = rng.normal(size=(60, 2)) + 5 * group[:, None]
    truth = ["ab"[g] for g in group]
    kind = [label if i < 8 else "" for i, label in enumerate(truth)]
    cells = [f"c{i}" for i in range(60)]
    columns = {"cell": cells, "x": X[:, 0], "y": X[:, 1], "kind": kind, "truth": truth}
    frame = pl.DataFrame(columns)
    frame.write_csv("t.csv")
    return frame


def arrays(table: pl.DataFrame) -> tuple[Any, Any]:
    return table.select("x", "y").to_numpy(), table["kind"].to_numpy().astype(object)


def write_numbers(table: pl.DataFrame, values: Any, n: int) -> Any:
    """Write the table with the first of these numbers in the place of labels; the targets."""
    known = pl.when(pl.int_range(pl.len()) < n).then(values)
    numbers = table.with_columns(kind=known)
    numbers.write_csv("t.csv")
    return numbers["kind"].to_numpy().astype(float)


def two_candidates(monkeypatch: pytest.MonkeyPatch, *estimators: Any) -> list[Candidate]:
    """Compare few estimators, for tests of something else."""
    chosen = [Candidate(repr(one), one, "classes are clusters") for one in estimators]
    monkeypatch.setattr(choosing, "default_candidates", lambda *_: tuple(chosen))
    return chosen


DATA = (Path("t.csv"),)
LABELS = "t.csv --label kind --id cell --drop truth"
FIT, AUTO_FIT = f"fit {LABELS}", f"fit {LABELS} --method auto"
# A comparison of little evidence, and as the command line says it.
LITTLE = {"n_draws": 1, "max_left_out": 2}
QUICK = " ".join(f"--set {name}={value}" for name, value in LITTLE.items())


# --- choice ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("numbers", [False, True], ids=["classes", "numbers"])
def test_fit_and_compare_describe_the_choice(blobs: pl.DataFrame, numbers: bool) -> None:
    X, y = arrays(blobs)
    assumes, estimate = "assumes classes to be", "About {:.0f} % of the answers are wrong"
    if numbers:
        y = write_numbers(blobs, pl.col("x") + 0.5, 20)
        assumes, estimate = "assumes values to be", "Numbers are off by about {}"
    places = "--model m --report r.html --predictions a.csv --next n.csv"
    told = json.loads(done(run(f"{AUTO_FIT} {places} --json")))
    scaled = StandardScaler().fit_transform(X) if "standard" in told["scaling"] else X
    alone = compare(scaled, y, random_state=0)
    names = [row.name for row in alone.table]
    choice = told["choice"]
    assert [row["name"] for row in choice["methods"]] == names
    assert choice["verdict"] == alone.verdict
    if not numbers:
        assert [row["labels_kept"] for row in choice["methods"]] == [r.fitted for r in alone.table]
    assert choice["methods"][0]["error"] == pytest.approx(alone.error)
    method = method_of(last_step(alone.best))
    assert method is not None
    assert told["method"] == method.name == load_model("m").info["method"]
    assert type(load_model("m").pipeline[-1]) is method.estimator
    assert f"Why {method.class_name}" in page()
    assert assumes in page()
    assert "seconds" not in json.dumps(choice)  # what differs from run to run is in no file
    done(run(f"suggest {LABELS} --method auto --out s.csv"))
    assert pl.read_csv("n.csv").equals(pl.read_csv("s.csv"))

    lines = done(run(f"{AUTO_FIT} --predictions a.csv")).splitlines()
    said = plain(" ".join(lines))
    ends = [number(end) if numbers else f"{100 * end:.0f}" for end in alone.error_interval]
    assert estimate.format(number(alone.error) if numbers else 100 * alone.error) in said
    assert f"{ends[0]} to {ends[1]}" in said
    assert "with a probability of 90 %" in said
    assert alone.verdict in said
    assert all(name in said for name in names)
    # The command that does not choose again gives the same.
    command = lines[lines.index("To fit the same without choosing again:") + 1].strip()
    assert "--method auto" not in command
    first = pl.read_csv("a.csv")
    done(run(command))
    assert_frame_equal(pl.read_csv("a.csv"), first, abs_tol=1e-9)

    said = done(run(f"compare {LABELS} --out c.json"))
    told = json.loads(Path("c.json").read_text(encoding="utf-8"))
    assert told["verdict"] == alone.verdict
    assert plain(alone.verdict) in plain(said)
    commands = [row["command"] for row in told["methods"]]
    assert said.splitlines()[said.splitlines().index("To fit it:") + 1].strip() == commands[0]
    assert any(" --set gamma_I=0" in command for command in commands)
    done(run(f"{commands[0]} --predictions p.csv"))
    assert done(run(f"compare {LABELS} --out c.csv -q")) == ""
    assert pl.read_csv("c.csv")["name"].to_list() == names
    assert {"error", "low", "high", "command"} <= set(pl.read_csv("c.csv").columns)
    Path("t.csv").rename("<b>t<b>.csv")
    done(run(f"compare '<b>t<b>.csv' {LABELS.partition(' ')[2]} --out c.html -q"))
    assert all(name in page("c.html") for name in [*names, assumes])
    assert "<b>t" not in page("c.html")  # names of a table are no markup


def test_auto_is_the_default_of_fit_and_lapsvc_that_of_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(FitRequest, "default_method", AUTO)
    assert FitRequest(data=DATA, label="y").method == AUTO
    assert FitRequest(data=DATA, label="y", settings=("gamma_I=2",)).method == "lapsvc"
    assert "--method" not in FitRequest(data=DATA, label="y").full_command
    named = FitRequest(data=DATA, label="y", method="lapsvc").full_command
    assert named.endswith("--method lapsvc")


def test_settings_of_classes_are_not_for_numbers(blobs: pl.DataFrame) -> None:
    # Whole numbers are classes.
    write_numbers(blobs, pl.int_range(pl.len()) % 2, 20)
    assert "numbers" not in run(f"{AUTO_FIT} {QUICK}").out.partition("\n")[0]
    write_numbers(blobs, pl.col("x") + 0.5, 20)
    for name, value in (("n_draws", 3), ("class_prior", "uniform")):
        for verb in ("fit", "tune"):
            told = f"--set {name} applies to the comparison of methods for classes"
            refused(run(f"{verb} {LABELS} --method auto --set {name}={value}"), told)


def test_columns_that_numbers_depend_on_are_scaled_in_the_model_too() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.where(np.arange(60) < 30, np.sin(3 * X[:, 0]) + 0.05 * rng.normal(size=60), np.nan)
    frame = pl.DataFrame(X, schema=[f"x{j}" for j in range(4)]).with_columns(y=pl.Series(y))
    frame.fill_nan(None).write_csv("t.csv")
    fit = "t.csv --label y --method auto"
    told = json.loads(done(run(f"fit {fit} --predictions p.csv --model m --json")))
    assert "scaled columns" in told["choice"]["methods"][0]["name"]
    assert "columns scaled by their relevance" in told["scaling"]
    assert "command" not in told  # no option does that
    fitted = FewLabelRegressor().fit(X, y)
    answers = pl.read_csv("p.csv")
    np.testing.assert_allclose(answers["label"], fitted.predict(X), atol=1e-6)
    ends = answers.select("low", "high").to_numpy()
    np.testing.assert_allclose(ends, fitted.predict_interval(X), atol=1e-6)
    pipeline = load_model("m").pipeline
    np.testing.assert_allclose(pipeline.predict(X), fitted.predict(X), atol=1e-6)


@pytest.mark.parametrize(("shift", "told"), [(0.0, True), (0.5, False)])
def test_left_out_error_is_missing_if_every_label_has_an_equal_row(
    blobs: pl.DataFrame, shift: float, told: bool
) -> None:
    kind = pl.when(pl.int_range(pl.len()) < 8).then(pl.col("x") + 0.25)
    table = blobs.with_columns(kind=kind)
    twins = table.head(8).with_columns(pl.col("kind") + shift, cell=pl.col("cell") + "x")
    pl.concat([table, twins.select(table.columns)]).write_csv("t.csv")
    answer = found(run(f"{FIT} --method laprls-regressor-cv --json --report r.html"))
    assert ("left_out" in answer) is told
    assert ("the error on left-out labels is" in page()) is told


def test_a_kept_default_setting_is_reported(blobs: pl.DataFrame) -> None:
    said = plain(run(f"{FIT} --method laprls-cv --report r.html").out)
    model = LapRLSClassifierCV(unlabeled="").fit(*arrays(blobs))
    errors = model.cv_results_["left_out_squared_error"]
    least = model.cv_results_["params"][int(np.nanargmin(errors))]
    usual = least != model.best_params_
    assert ("the usual ones, as no others are better by more than chance" in said) is usual
    assert ("The usual setting was kept" in page()) is usual
    assert ("so the true error is larger" in page()) is not usual


def test_a_fit_to_export_compares_methods_that_can_be_exported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("onnx")
    two_candidates(monkeypatch, BalancedGraphClassifier())
    told = found(run(f"{AUTO_FIT} --onnx m.onnx --json --set n_draws=1 --set max_left_out=0"))
    assert [r["name"] for r in told["choice"]["methods"]] == ["BalancedGraphClassifier(n_votes=0)"]
    assert told["parameters"]["n_votes"] == 0


def test_the_chosen_method_is_calibrated_by_left_out_labels(
    blobs: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    gap = two_candidates(monkeypatch, S3VC(tol=1e-2))
    told = found(run(f"{AUTO_FIT} --model m --predictions p.npz --json"))
    X, y = arrays(blobs)
    model = FewLabelClassifier(gap, random_state=0).fit(X, y)
    assert told["trust"]["n_tests"] == model.best_estimator_.probability_n_labels_ == 8
    # 49 without error give 1 - (1/2) / 50 = 0.99, besides one of each class.
    assert told["trust"]["n_needed"] == 49 + len(model.classes_)
    chances = load_model("m").pipeline.predict_proba(X)
    np.testing.assert_allclose(chances, model.predict_proba(X), rtol=1e-6)
    with np.load("p.npz", allow_pickle=False) as answers:
        best = model.transduction_proba_.max(axis=1)
        np.testing.assert_allclose(answers["probability"], best, rtol=1e-6)


# --- sizes of the classes -------------------------------------------------------------------------


def test_known_sizes_are_passed_to_candidates(
    blobs: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = tuple(two_candidates(monkeypatch, LapSVC(), LapERLSClassifier()))
    monkeypatch.setattr(comparison, "default_candidates", lambda *_, **__: usual)
    sizes = {"a": 0.45, "b": 0.55}
    given = f"--scale none --set class_prior=a:0.45,b:0.55 {QUICK}"
    places = "--model m --report r.html --predictions p.csv"
    told = json.loads(done(run(f"{AUTO_FIT} {given} {places} --json")))
    model = FewLabelClassifier(class_prior=sizes, random_state=0, **LITTLE)
    model.fit(*arrays(blobs))
    names = [row["name"] for row in told["choice"]["methods"]]
    assert names == [row.name for row in model.evidence_.table]
    assert "LapSVC(class_prior=...)" in names
    assert pl.read_csv("p.csv")["label"].to_list() == model.transduction_.tolist()
    assert all(name in page() for name in names)
    assert str(sizes) in json.dumps(told["parameters"])
    kept, best = load_model("m").pipeline[-1], model.best_estimator_
    assert (type(kept), kept.class_prior) == (type(best), sizes)
    assert kept.class_prior_.tolist() == best.class_prior_.tolist()
    assert "a:0.45,b:0.55" in told["command"]


def test_tune_passes_class_sizes_to_the_estimator() -> None:
    columns = {"label": "kind", "id": "cell", "drop": ("truth",)}
    sizes = ("class_prior=a:1,b:3",)
    assert TuneRequest(data=DATA, label="y", method="laprls").method == "laprls-cv"
    request = TuneRequest(data=DATA, method=AUTO, settings=sizes, **columns)
    table = reading.read(request)
    assert choosing.choose(table, request, table.X).estimator.class_prior == {"a": 1, "b": 3}


# --- what can be afforded -------------------------------------------------------------------------


def test_short_budgets_reduce_draws_then_methods() -> None:
    small = forecast.affordable(FitSize(300, 10, 1, 10))
    assert small == EffortPlan(2000, Effort(5, 16), Effort(5, 16))
    large = forecast.affordable(FitSize(100_000, 10, 1, 30))
    assert 500 <= large.rows < 2000
    assert large.clusters == Effort(2, 16)
    six = forecast.affordable(FitSize(5000, 20_000, 6, 60, n_stored=400_000))
    assert six.clusters == Effort(2, 6)  # with the usual evidence it would take twice the budget
    assert six.volumes == Effort(5, 16)
    for n_classes in (30, 100):
        many = forecast.affordable(FitSize(2000, 60, n_classes, 3 * n_classes))
        assert many.clusters is None
    huge = forecast.affordable(FitSize(10**6, 60, 500, 5000))
    assert huge == EffortPlan(2000, None, None)  # it would be minutes


def test_the_forecast_of_a_comparison_is_longer_than_that_of_a_fit() -> None:
    size = FitSize(1000, 10, 1, 10)
    auto = METHODS[AUTO].forecast(size)
    assert auto.seconds > 5 * COMMAND_METHODS["lapsvc"].forecast(size).seconds
    large = FitSize(10**6, 50, 10, 100)  # "balanced" is a candidate
    assert METHODS[AUTO].forecast(large).seconds > METHODS["balanced"].forecast(large).seconds
    more = replace(size, n=2000)
    limited = forecast.comparison(more)
    unlimited = forecast.comparison(more, EffortPlan(2000, EFFORT, EFFORT))
    assert unlimited.seconds > limited.seconds


@pytest.mark.parametrize("clusters", [Effort(1, 2), None])
def test_a_candidate_is_tried_with_the_rounds_of_the_plan(
    monkeypatch: pytest.MonkeyPatch, clusters: Effort | None
) -> None:
    monkeypatch.setattr(forecast, "affordable", lambda *_: EffortPlan(2000, clusters, None))
    two_candidates(monkeypatch, LapSVC(), S3VC())
    fit = f"{AUTO_FIT} --set class_prior=a:1,b:3 --report r.html"
    if clusters is not None:
        methods = found(run(f"{fit} --json"))["choice"]["methods"]
        assert [row["n_left_out"] for row in methods] == [2, 2]  # judged by the same labels
        return
    told = "S3VC(balance=...) was not compared, as it would take long: lapwing compare does it."
    assert told in done(run(fit))
    assert "Not compared, as it would take long: <code>S3VC(balance=...)</code>" in page()
    # But with the evidence that is asked for.
    choice = found(run(f"{fit} {QUICK} --set max_samples=30 --json"))["choice"]
    assert "S3VC(balance=...)" in [row["name"] for row in choice["methods"]]
    assert choice["n_used"] == 30


def test_a_long_comparison_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast, "SPEED", 1e4)
    monkeypatch.setattr(forecast, "TRAFFIC", 1e4)
    err = run(f"compare {LABELS}").err
    assert err.startswith("warning: Comparing methods on t.csv will take about ")


# --- tune -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "grid"),
    [("lapsvc", "--set gamma_Is=0.5,2 --set gamma_As=0.01 --set gammas=1"), ("laperls", "")],
)
def test_tune_reports_the_setting_and_the_command(method: str, grid: str) -> None:
    tune = f"tune {LABELS} --method {method} {grid} --predictions a.csv --model m"
    said = run(f"{tune} --report r.html").out
    assert "settings tried, each label left out in turn" in said
    fitted = load_model("m").pipeline[-1]
    if grid:
        assert {p["gamma_I"] for p in fitted.cv_results_["params"]} == {0.5, 2.0}
        assert f"gamma_I={fitted.best_params_['gamma_I']:.3g}" in said
    assert "Chosen parameters" in page()
    assert "Settings of least error" in page()
    first = pl.read_csv("a.csv")
    command = said.partition("To fit the same without choosing again:\n")[2].splitlines()[0]
    assert f"--method {method}" in command or method == "lapsvc"
    assert run(command.strip()).code == 0
    again = pl.read_csv("a.csv")
    assert again["label"].to_list() == first["label"].to_list()
    np.testing.assert_allclose(again["margin"], first["margin"], rtol=1e-6)


def test_tune_of_numbers_and_of_single_labels(blobs: pl.DataFrame) -> None:
    known = pl.when(pl.int_range(pl.len()) < 2).then("kind")
    blobs.with_columns(kind=known).write_csv("t.csv")
    answer = run(f"tune {LABELS} --report r.html")
    assert answer.code == 0
    told = "A class has one label only: nothing can be left out. The usual parameters:"
    assert told in answer.out
    assert "these are the usual parameters" in page()
    write_numbers(blobs, pl.col("x"), 20)
    assert "LapRLSRegressorCV" in run(f"tune {LABELS} --drop x").out


# --- settings of an estimator ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("lapsvc", ["gamma_I=2.5", "kernel=laplacian", "graph.n_neighbors=7"]),
        ("lapsvc", ["gamma_I=0"]),
        ("lapsvc", ["class_prior=a:0.25,b c:0.75"]),
        ("lapsvc", ["graph.power=3"]),
        ("balanced", ["graph.n_neighbors=7"]),
        ("lapsvc", []),
        # Proportions of S3VC must sum to 1, and six digits of a third do not.
        ("s3vc", [f"balance={','.join(f'{c}:{1 / 3}' for c in 'abc')}", "space.method=random"]),
    ],
)
def test_settings_make_the_same_estimator(name: str, texts: list[str]) -> None:
    points = np.random.default_rng(0).normal(size=(30, 5))
    method = COMMAND_METHODS[name]
    made = make_estimator(method, parse_settings(texts, method), 0, points)
    settings = settings_of(made, method, points)
    assert settings is not None
    again = make_estimator(method, parse_settings(settings, method), 0, points)
    if name == "s3vc":
        assert sum(again.balance.values()) == pytest.approx(1, abs=1e-11)
        made.set_params(balance=again.balance)
    assert repr(again) == repr(made)
    if name == "balanced":  # with a default graph of its own
        assert repr(made.graph) == repr(KNNGraph(7, weights="steep", power=1))


def test_other_graphs_have_no_settings() -> None:
    other = LapSVC(graph=KNNGraph(2), class_weight={0: 1, 1: 2})
    assert settings_of(other, COMMAND_METHODS["lapsvc"], np.zeros((9, 2))) is None


def test_every_usual_candidate_can_be_fitted_from_the_command_line() -> None:
    for shape in ((50, 3), (20, 90), (13_000, 2)):
        for candidate in default_candidates(np.zeros(shape)):
            method = method_of(candidate.estimator)
            assert method is not None, candidate.name
            points = np.random.default_rng(0).normal(size=(30, 5))
            settings = settings_of(candidate.estimator, method, points)
            assert settings is not None
            again = make_estimator(method, parse_settings(settings, method), 0, points)
            assert settings_of(again, method, points) == settings
    assert method_of(FewLabelClassifier()) is None
