"""The verbs and options that came after fit and demo: mostly in this process, for speed."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import runpy
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.io
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.datasets import dump_svmlight_file, load_iris, make_blobs
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from lapwing import Landmarks, LapERLSClassifier, LapSVC
from lapwing._app import choosing, console, fitting, forecast, reading
from lapwing._app import requests as fit_requests
from lapwing._app.forecast import FitSize
from lapwing._app.methods import COMMAND_METHODS, find_method
from lapwing._app.requests import DEFAULT_METHOD, FitRequest
from lapwing._app.settings import make_estimator, parse_settings, setting_names
from lapwing._host import terminal
from lapwing._tables.encoders import Features
from lapwing._tables.predictions import Predictions, print_predictions, write_predictions
from lapwing.estimators.choice import choose_solver, matrix_points, seconds_of_columns
from lapwing.estimators.s3vm import seconds_of_pairs
from lapwing.exceptions import LapwingWarning
from lapwing.kernels import make_kernel
from lapwing.losses import LOSSES
from lapwing.losses.labeled import EpsilonInsensitive, Squared
from lapwing.models import load_model
from lapwing.objectives.manifold import Objective
from lapwing.solvers.embedded import tube
from lapwing.solvers.graph.registry import share_arrays
from lapwing.spaces import FullKernelSpace
from tests.helpers.commandline import command, refused
from tests.helpers.reading import read_strictly as read_table

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs pipes and limits of POSIX")
ROOT = Path(__file__).resolve().parents[2]
KINDS = ["setosa", "versicolor", "virginica"]


Main = Any


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    """Iris with a column of text, five labels a class, and the truth."""
    X, y = load_iris(return_X_y=True)
    kinds = np.array(KINDS)[y]
    given = np.concatenate([np.flatnonzero(y == c)[:5] for c in range(3)])
    site = np.array(["north", "south", "west"])[np.random.default_rng(0).integers(0, 3, 150)]
    columns: dict[str, Any] = {"flower": [f"f{i}" for i in range(150)]}
    columns |= dict(zip(["sl", "sw", "pl", "pw"], X.T, strict=True))
    columns |= {"site": site, "kind": [kinds[i] if i in given else None for i in range(150)]}
    return pl.DataFrame(columns | {"truth": kinds})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, frame: pl.DataFrame) -> Path:
    """The table in files, and a model of it with everything that a fit can write."""
    folder = tmp_path_factory.mktemp("home")
    frame.write_csv(folder / "t.csv")
    frame.write_parquet(folder / "t.parquet")
    code, _, err = command(
        "fit", folder / "t.csv", *FIT, "--method", "lapsvc",
        "--model", folder / "m.lapwing", "--predictions", folder / "p.csv",
        "--report", folder / "r.html", "--onnx", folder / "m.onnx",
    )  # fmt: skip
    assert (code, err) == (0, "")
    return folder


FIT = ("--label", "kind", "--id", "flower", "--truth", "truth")


# --- fit, predict, report -------------------------------------------------------------------------


def test_a_model_predicts_what_its_fit_predicted(home: Path, tmp_path: Path, main: Main) -> None:
    code, said, err = main(
        "predict", home / "m.lapwing", home / "t.parquet", "--predictions", tmp_path / "q.csv"
    )
    assert (code, err) == (0, "")
    assert "150 rows" in said
    first, second = pl.read_csv(home / "p.csv"), pl.read_csv(tmp_path / "q.csv")
    assert first.drop("was_labeled").equals(second.drop("was_labeled"))
    assert not second["was_labeled"].any()


def test_the_pipeline_encodes_text_and_is_scikit_learns(home: Path, frame: pl.DataFrame) -> None:
    model = load_model(home / "m.lapwing")
    columns = model.pipeline.named_steps["columns"]
    assert isinstance(columns, ColumnTransformer)
    assert isinstance(columns.named_transformers_["categorical"], OneHotEncoder)
    table = frame.select("sl", "sw", "pl", "pw", "site")
    assert model.pipeline.predict(table).tolist() == pl.read_csv(home / "p.csv")["label"].to_list()
    # By hand: the same numbers give the same estimator.
    sites = np.unique(frame["site"].to_numpy())
    one_hot = (frame["site"].to_numpy()[:, None] == sites).astype(float)
    Z = np.hstack([table.drop("site").to_numpy(), one_hot])
    own = LapSVC(unlabeled="").fit(Z, frame["kind"].fill_null("").to_numpy())
    np.testing.assert_allclose(
        model.pipeline.decision_function(table), own.decision_function(Z), rtol=1e-8, atol=1e-10
    )


@pytest.mark.slow
def test_a_table_goes_through_pipes(home: Path, frame: pl.DataFrame) -> None:
    content = (home / "t.csv").read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "lapwing", "predict", home / "m.lapwing", "-"],
        input=content, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    found = pl.read_csv(done.stdout)
    assert found["id"].to_list() == frame["flower"].to_list()
    assert found["label"].to_list() == pl.read_csv(home / "p.csv")["label"].to_list()


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy", "mtx"])
def test_standard_input_tells_its_format(
    home: Path, main: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    path = tmp_path / f"s.{suffix}"
    X = np.random.default_rng(0).normal(size=(12, 2))
    if suffix in ("csv", "parquet"):
        path = home / f"t.{suffix}"
    elif suffix == "npy":
        np.save(path, X)
    else:
        scipy.io.mmwrite(path, X)
    stream = io.TextIOWrapper(io.BytesIO(path.read_bytes()))
    monkeypatch.setattr(sys, "stdin", stream)
    code, said, err = main("info", "-", "--json")
    assert (code, err) == (0, "")
    assert json.loads(said)["rows"] == (150 if suffix in ("csv", "parquet") else 12)
    assert json.loads(said)["source"] == "standard input"


@POSIX
def test_a_named_pipe_without_an_extension_is_not_waited_for(main: Main, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    message = f"{pipe} is a pipe whose name has no extension. Give a file, or - for standard input."
    assert main("info", pipe) == (2, "", f"error: {message}\n")
    said = main("fit", pipe, "--label", "y", "--predictions", tmp_path / "p.csv")
    assert said == (2, "", f"error: {message}\n")


@POSIX
@pytest.mark.parametrize("place", ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
def test_pipes_of_the_shell_are_read(home: Path, place: str) -> None:
    if not Path(place).parent.exists():
        pytest.skip("needs the files of Linux")
    reader, writer = os.pipe()
    kept = os.dup(0)
    os.write(writer, (home / "t.csv").read_bytes())  # less than what a pipe holds
    os.close(writer)
    try:
        os.dup2(reader, 0)
        done = command("info", place, "--json")
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(reader)
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["rows"] == 150


@POSIX
def test_a_named_pipe_is_read_to_its_end(home: Path, main: Main, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    content = (home / "t.csv").read_bytes()
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    code, said, _ = main("info", pipe, "--json")
    writer.join()
    assert (code, json.loads(said)["rows"]) == (0, 150)


def test_the_report_of_a_model_is_the_one_of_the_fit(
    home: Path, tmp_path: Path, main: Main
) -> None:
    code, said, err = main("report", home / "m.lapwing", "--out", tmp_path / "again.html")
    assert (code, err) == (0, "")
    assert "again.html" in said
    page = (tmp_path / "again.html").read_bytes()
    assert page == (home / "r.html").read_bytes()
    assert b"<!doctype html>" in page[:200].lower()


def test_the_same_seed_gives_the_same_bytes_in_all_files(
    home: Path, tmp_path: Path, main: Main
) -> None:
    options = ["--predictions", tmp_path / "p.csv", "--report", tmp_path / "r.html"]
    options += ["--model", tmp_path / "m.lapwing", "--onnx", tmp_path / "m.onnx", "--quiet"]
    # In the same place under another name: the input's name is part of the report.
    assert main("fit", home / "t.csv", *FIT, *options) == (0, "", "")
    for name in ("p.csv", "r.html", "m.lapwing", "m.onnx"):
        assert (tmp_path / name).read_bytes() == (home / name).read_bytes(), name


def test_json_for_machines(home: Path, tmp_path: Path, main: Main) -> None:
    path = tmp_path / "p.parquet"
    code, said, err = main(
        "fit", home / "t.csv", *FIT, "--set", "gamma_I=2", "--set", "graph.n_neighbors=7",
        "--predictions", path, "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    found = json.loads(said)
    assert (found["rows"], found["labeled"], found["method"]) == (150, 15, "lapsvc")
    assert found["parameters"]["gamma_I"] == 2
    assert found["parameters"]["graph.n_neighbors"] == 7
    assert found["written"] == {"predictions": str(path)}
    predicted = pl.read_parquet(path)
    assert found["predicted"] == {k: int((predicted["label"] == k).sum()) for k in KINDS}
    hidden = predicted.filter(~pl.col("was_labeled"))
    truth = np.repeat(KINDS, 50)[~predicted["was_labeled"].to_numpy()]
    assert found["error"] == {
        "rows": 135,
        "share_wrong": float(np.mean(hidden["label"].to_numpy() != truth)),
    }
    code, said, _ = main("predict", home / "m.lapwing", home / "t.csv", "--json", "--predictions",
                         tmp_path / "q.csv")  # fmt: skip
    assert (code, json.loads(said)["rows"]) == (0, 150)


def test_without_outputs_a_fit_says_what_it_found(home: Path, main: Main) -> None:
    code, said, _ = main("fit", home / "t.csv", *FIT)
    assert code == 0
    assert "Nothing was written" in said
    assert "one-hot encoded: site" in said


def test_settings_reach_the_estimator_and_the_graph(home: Path, main: Main, tmp_path: Path) -> None:
    settings = ["gamma_A=0.5", "graph.power=3", "kernel=laplacian", "gamma=0.2"]
    pairs = [part for text in settings for part in ("--set", text)]
    code, *_ = main("fit", home / "t.csv", *FIT, *pairs, "--model", tmp_path / "m.lapwing", "-q")
    assert code == 0
    estimator = load_model(tmp_path / "m.lapwing").pipeline[-1]
    assert (estimator.gamma_A, estimator.kernel, estimator.gamma) == (0.5, "laplacian", 0.2)
    assert (estimator.graph.power, estimator.graph.n_neighbors) == (3, 5)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["gama_I=1"], "LapSVC has no parameter 'gama_I'. Did you mean 'gamma_I'?"),
        (["graph.n_neigbours=1"], "Did you mean 'graph.n_neighbors'?"),
        (["n_neighbors=1"], "Did you mean 'graph.n_neighbors'?"),
        (["zzzz=1"], "It has class_prior, class_weight, coef0"),
        (["gamma_I"], "must be NAME=VALUE, such as --set gamma_I=VALUE."),
        (["=1"], "must be NAME=VALUE"),
        (["gamma_I=1", "gamma_I=2"], "given twice"),
        (["gamma_I=[1]"], "must be a number, true, false, none or a word"),
        (["gamma_I="], "must be a number"),
        (["unlabeled=0"], "use --unlabeled"),
        (["random_state=0"], "use --seed"),
        (["graph=5"], "graph.n_neighbors"),
        (["class_prior=a:0.2,b"], "write each class once with its proportion, such as"),
        (["class_prior=0.2,0.8"], "with its proportion, such as class_prior=a:0.2,b:0.8"),
        (["class_prior=a:0.2,a:0.8"], "write each class once"),
        (["class_prior=:0.2,b:0.8"], "write each class once"),
        (["class_prior=a:much,b:0.8"], "such as class_prior=a:0.2,b:0.8"),
        (["kernel=precomputed"], "no kernel matrix"),
    ],
)
def test_wrong_settings(texts: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=r"--set") as caught:
        parse_settings(texts, COMMAND_METHODS["lapsvc"])
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a:0.2,b:0.8", {"a": 0.2, "b": 0.8}),
        (" red : 3 , dark:blue:5", {"red": 3, "dark:blue": 5}),
        ("1:20,2.5:30,-3:1e2", {1: 20, 2.5: 30, -3: 100.0}),
        ("1:20,two:30", {"1": 20, "two": 30}),
        ("uniform", "uniform"),
        ("none", None),
    ],
)
def test_parts_of_classes_are_written_behind_their_names(text: str, value: Any) -> None:
    found = parse_settings([f"class_prior={text}"], COMMAND_METHODS["lapsvc"])
    assert found == {"class_prior": value}
    assert parse_settings([f"balance={text}"], COMMAND_METHODS["s3vc"]) == {"balance": value}


def test_a_class_may_be_all_labelled_by_the_sizes_that_are_given(main: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [30, 30, 2])
    X = rng.normal(size=(62, 2)) + 9 * np.eye(3, 2)[truth]
    names = np.array(["a", "b", "rare"])[truth]
    labels = np.where((truth == 2) | (np.arange(62) % 15 == 0), names, "")
    lines = [f"{u},{v},{label}" for (u, v), label in zip(X, labels, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["u,v,kind", *lines]))
    asked = ["fit", tmp_path / "t.csv", "--label", "kind", "--method", "balanced"]
    code, said, err = main(*asked, "--set", "class_prior=a:30,b:30,rare:2")
    assert (code, "No unlabelled row was given" in said, err) == (0, False, "")
    code, said, _ = main(*asked, "--set", "class_prior=a:30,b:30,rare:0.1")
    assert code == 2


def test_sizes_of_three_classes_are_held_from_the_shell(main: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [60, 25, 5])
    X = rng.normal(size=(90, 2)) + 4 * np.eye(3, 2)[truth]
    labels = np.where(np.arange(90) % 4 == 0, np.array(["a", "b", "c"])[truth], "")
    lines = [f"{u},{v},{label}" for (u, v), label in zip(X, labels, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["u,v,kind", *lines]))
    for method, setting in (("lapsvc", "class_prior"), ("balanced", "class_prior")):
        out = tmp_path / f"{method}.csv"
        main("fit", tmp_path / "t.csv", "--label", "kind", "--method", method, "--set",
            f"{setting}=a:0.6,b:0.3,c:0.1", "--predictions", out)  # fmt: skip
        found = [line.split(",")[1] for line in out.read_text().splitlines()[1:]]
        assert [found.count(kind) for kind in "abc"] == [54, 27, 9]


def test_values_of_settings() -> None:
    texts = ["gamma_I=1e-3", "max_iter=7", "stopping=none", "fit_intercept=true", "loss=hinge"]
    values = parse_settings(texts, COMMAND_METHODS["lapsvc"])
    assert list(values.values()) == [1e-3, 7, None, True, "hinge"]
    assert parse_settings(["graph__power=2"], COMMAND_METHODS["lapsvc"]) == {"graph.power": 2}
    assert "epsilon" in setting_names(COMMAND_METHODS["lapsvr"])


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("gamma_A=-1", "gamma_A=-1 must be a number > 0"),
        ("graph.n_neighbors=0", "n_neighbors=0 must be a whole number"),
        ("graph.n_neighbors=150", "n_neighbors=150 must be smaller"),
        ("graph.metric=seuclidean2", "metric='seuclidean2' must be one of"),
        ("kernel=rbff", "rbff"),
        ("solver=quick", "solver='quick'"),
    ],
)
def test_settings_out_of_range(home: Path, main: Main, setting: str, message: str) -> None:
    refused(main("fit", home / "t.csv", *FIT, "--set", setting), message)


@pytest.mark.parametrize("name", ["lapsvc", "LapSVC", "LAPRLS", "LapRLSClassifier"])
def test_methods_by_their_names(name: str) -> None:
    assert find_method(name)[0] in ("lapsvc", "laprls")


def test_the_nearest_method_is_named(home: Path, main: Main) -> None:
    refused(
        main("fit", home / "t.csv", *FIT, "--method", "lapsvm"),
        "Did you mean 'lapsvr' or 'lapsvc'?",
    )


# --- tables ---------------------------------------------------------------------------------------


def test_several_files_are_one_table(
    home: Path, frame: pl.DataFrame, main: Main, tmp_path: Path
) -> None:
    frame[:70].write_csv(tmp_path / "a.csv")
    frame[70:].select(reversed(frame.columns)).write_parquet(tmp_path / "b.parquet")
    code, *_ = main(
        "fit", tmp_path / "a.csv", tmp_path / "b.parquet", *FIT, "--predictions",
        tmp_path / "p.csv", "-q",
    )  # fmt: skip
    assert code == 0
    assert (tmp_path / "p.csv").read_bytes() == (home / "p.csv").read_bytes()
    frame[70:].drop("pw").write_csv(tmp_path / "b.csv")
    refused(main("fit", tmp_path / "a.csv", tmp_path / "b.csv", *FIT), "b.csv has no column 'pw'")
    frame[70:].with_columns(more=pl.lit(1)).write_csv(tmp_path / "b.csv")
    refused(main("fit", tmp_path / "a.csv", tmp_path / "b.csv", *FIT), "'more' that the first")


def test_features_by_name(home: Path) -> None:
    table = read_table(home / "t.csv", "kind", id="flower", features=["pw,sl", "site"])
    assert table.feature_names == ("pw", "sl", "site")
    assert table.kinds == ("numeric", "numeric", "categorical")
    table = read_table(home / "t.csv", "kind", drop=["flower, truth", "site"])
    assert table.feature_names == ("sl", "sw", "pl", "pw")
    with pytest.raises(ValueError, match=r"no column 'slx' \(--features\)"):
        read_table(home / "t.csv", "kind", features=["slx"])
    with pytest.raises(ValueError, match="'kind' is in --features and has another role"):
        read_table(home / "t.csv", "kind", features=["sl,kind"])


def test_own_places_on_the_map(home: Path, main: Main, tmp_path: Path) -> None:
    table = read_table(home / "t.csv", "kind", id="flower", layout=["pl", "pw"])
    assert table.layout is not None
    assert table.layout.shape == (150, 2)
    assert "pl" not in table.feature_names
    options = ["--map", "pl", "--map", "pw", "--report", tmp_path / "r.html", "-q"]
    assert main("fit", home / "t.csv", *FIT, *options)[0] == 0
    refused(main("fit", home / "t.csv", *FIT, "--map", "pl"), "--map takes two columns")
    refused(main("fit", home / "t.csv", *FIT, "--map", "pl", "--map", "site"), "'site' (--map)")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_missing_values_are_imputed_on_request(
    main: Main, frame: pl.DataFrame, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"h.{suffix}"
    rows = pl.int_range(pl.len())
    holes = frame.with_columns(
        pl.when(rows % 7 != 0).then("pl").alias("pl"), pl.when(rows % 9 != 0).then("site")
    )
    holes.write_csv(path) if suffix == "csv" else holes.write_parquet(path)
    said = main("fit", path, *FIT, "--strict")
    refused(said, "missing values in 'pl' (22), 'site' (17)", "--impute median")
    refused(main("fit", path, *FIT, "--impute", "none"), "missing values in 'pl' (22);")
    model = tmp_path / "m.lapwing"
    code, said, _ = main("fit", path, *FIT, "--impute", "median", "--model", model)
    assert code == 0
    # Without a word it is the median too.
    assert "replaced by the median" in json.loads(main("fit", path, *FIT, "--json")[1])["scaling"]
    assert "missing numbers replaced by the median of their column" in said
    columns = load_model(model).pipeline.named_steps["columns"]
    medians = columns.named_transformers_["numeric"].named_steps["impute"].statistics_
    assert medians[2] == holes["pl"].median()
    assert main("predict", model, path, "--predictions", tmp_path / "q.csv", "-q")[0] == 0
    refused(main("fit", path, *FIT, "--impute", "zero"), "auto, none, median, mean")


def test_a_column_without_any_value_cannot_be_imputed(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,z,y\n1,,a\n2,,b\n3,,\n")
    with pytest.raises(ValueError, match="no row has a value in 'z'"):
        read_table(tmp_path / "t.csv", "y", missing=True)


def test_text_that_has_too_many_values(home: Path, main: Main) -> None:
    said = main("fit", home / "t.csv", "--label", "kind", "--drop", "truth", "--strict")
    refused(said, "'flower' cannot be used: not numeric", "up to 20", "--drop flower", "--id")


def test_numbers_among_text_keep_their_spelling(tmp_path: Path) -> None:
    rows = "".join(f"{k},{i % 5},{'ab'[i % 2]}\n" for i, k in enumerate(["01", "1", "x", "y"] * 5))
    (tmp_path / "t.csv").write_text("k,v,y\n" + rows)
    with pytest.warns(LapwingWarning, match="every row has a label"):
        table = read_table(tmp_path / "t.csv", "y")
    assert sorted(set(table.X["k"])) == ["01", "1", "x", "y"]


@pytest.mark.parametrize("suffix", ["svm", "mtx", "npy"])
def test_matrices_with_labels(main: Main, tmp_path: Path, suffix: str) -> None:
    X, y = make_blobs(60, 4, centers=2, random_state=0)
    X[np.abs(X) < 1] = 0
    path, labels = tmp_path / f"t.{suffix}", tmp_path / "labels.txt"
    given = [str(c) if i < 10 else "" for i, c in enumerate(y)]
    labels.write_text("\n".join(given) + "\n")
    options: list[object] = ["--labels", labels]
    if suffix == "svm":
        target = np.where(np.arange(60) < 10, y, -1)
        dump_svmlight_file(X, target, str(path), zero_based=False)
        options = ["--unlabeled", "-1"]
    elif suffix == "mtx":
        scipy.io.mmwrite(path, sp.csr_matrix(X))
    else:
        np.save(path, X)
    out = tmp_path / "p.csv"
    model = tmp_path / "m.lapwing"
    code, _, err = main("fit", path, *options, "--predictions", out, "--model", model, "-q")
    assert (code, err) == (0, "")
    assert pl.read_csv(out)["label"].to_list() == y.tolist()
    assert main("predict", model, path, "--predictions", tmp_path / "q.csv", "-q")[0] == 0
    again = pl.read_csv(tmp_path / "q.csv").drop("was_labeled")
    assert again.equals(pl.read_csv(out).drop("was_labeled"))
    assert main("info", path, *options[:2])[0] == 0


def test_wrong_matrices_and_labels(main: Main, tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.ones((4, 2)))
    (tmp_path / "l.txt").write_text("a\nb\n")
    fit = ["fit", tmp_path / "t.npy"]
    refused(main(*fit, "--labels", tmp_path / "l.txt"), "has 2 labels, but the table has 4 rows")
    refused(main(*fit), "name the column of the labels with --label")
    refused(main(*fit, "--label", "y", "--labels", tmp_path / "l.txt"), "two places")
    (tmp_path / "l.txt").write_bytes(b"a\n\xff\n")
    refused(main(*fit, "--labels", tmp_path / "l.txt"), "line 2 is not UTF-8")
    np.save(tmp_path / "l.npy", np.ones((4, 2)))
    refused(main(*fit, "--labels", tmp_path / "l.npy"), "one label for each row")
    for name in ("t.mtx", "t.svm", "bad.npy"):
        (tmp_path / name).write_bytes(b"1 nonsense\x00")
        said = main("fit", tmp_path / name, "--labels", tmp_path / "l.npy")
        refused(said, "is not a readable")
    np.save(tmp_path / "o.npy", np.array([[{}]]), allow_pickle=True)
    refused(main("fit", tmp_path / "o.npy", "--labels", tmp_path / "l.npy"), "holds Python objects")


def test_the_truth_must_be_written_as_the_labels_are(main: Main, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,y,t\n1,0,0\n2.5,1,1\n3,,b\n4,,1\n")
    refused(main("fit", tmp_path / "t.csv", "--label", "y", "--truth", "t"), "row 3 holds 'b'")


def test_a_class_seen_once_among_others_is_told(tmp_path: Path) -> None:
    rows = "".join(f"{i * 3 % 7},{'aabbbc    '[i]}\n" for i in range(10))
    (tmp_path / "t.csv").write_text("x,y\n" + rows)
    with pytest.warns(LapwingWarning, match=r"only one row has the label 'c' \(row 6\)"):
        read_table(tmp_path / "t.csv", "y")


# --- what predict and report say of wrong input ---------------------------------------------------


def test_columns_at_predict_time(
    home: Path, frame: pl.DataFrame, main: Main, tmp_path: Path
) -> None:
    path, model = tmp_path / "n.csv", home / "m.lapwing"
    predict = ["predict", model, path, "--predictions", tmp_path / "q.csv"]
    (tmp_path / "q.csv").write_text("precious")
    frame.rename({"sl": "SL"}).write_csv(path)
    refused(main(*predict), "has no column 'sl'", "Is it 'SL' here?")
    frame.with_columns(sw=pl.lit("wide")).write_csv(path)
    refused(main(*predict), "'sw' holds text in 150 rows; the first is row 1: 'wide'")
    frame.with_columns(flower=pl.lit("f")).write_csv(path)
    refused(main(*predict), "id column 'flower' does not tell rows apart")
    frame.with_columns(pl.when(pl.col("sl") > 5).then("sl")).write_csv(path)
    refused(main(*predict), "missing values in 'sl'")
    assert (tmp_path / "q.csv").read_text() == "precious"
    # Other order, more columns, no label, other text: said, and predicted.
    other = frame.select(reversed(frame.columns)).drop("kind", "truth")
    other.with_columns(new=pl.lit(1), site=pl.lit("moon")).write_csv(path)
    code, _, err = main(*predict, "-q")
    assert code == 0
    assert "does not know the column 'new'" in err
    assert "'moon' in 'site' did not occur in the fit" in err
    refused(main("predict", model, path, "--json"), "--json needs --predictions")
    refused(main(*predict[:3], "--predictions", path), "is the input itself")


def test_model_files_that_are_none(home: Path, main: Main, tmp_path: Path) -> None:
    for content, name in (
        (b"", "empty"),
        (b"garbage", "garbage"),
        ((home / "m.lapwing").read_bytes()[:2000], "cut"),
        ((home / "t.parquet").read_bytes(), "other"),
    ):
        path = tmp_path / f"{name}.lapwing"
        path.write_bytes(content)
        refused(main("predict", path, home / "t.csv"), f"{name}.lapwing")
        refused(main("report", path), f"{name}.lapwing")
        assert not path.with_suffix(".html").exists()
    refused(main("predict", tmp_path / "none.lapwing", home / "t.csv"), "none.lapwing")
    refused(main("predict", tmp_path, home / "t.csv"), "folder")


def test_outputs_are_checked_before_the_work(home: Path, main: Main, tmp_path: Path) -> None:
    fit = ["fit", home / "t.csv", *FIT]
    same = tmp_path / "same.csv"
    for options, part in (
        (["--report", tmp_path / "r.pdf"], "the extension of --report is .html"),
        (["--onnx", tmp_path / "m.zip"], "the extension of --onnx is .onnx"),
        (["--model", tmp_path / "none" / "m"], "there is no folder"),
        (["--model", tmp_path], "it is a folder"),
        (["--model", same, "--predictions", same], "is --predictions itself"),
        (["--model", home / "t.csv"], "is the input itself"),
    ):
        refused(main(*fit, *options), part)
    assert list(tmp_path.iterdir()) == []


@POSIX
def test_a_full_disk_leaves_no_file_and_no_half(home: Path, tmp_path: Path) -> None:
    for name in ("p.csv", "p.parquet", "m.lapwing", "r.html"):
        (tmp_path / name).write_text("precious")
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for outputs in (
        ("--predictions", "p.csv", "--model", "m.lapwing", "--report", "r.html"),
        ("--predictions", "p.parquet"),
    ):
        places = [text if text[0] == "-" else str(tmp_path / text) for text in outputs]
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, limits[1]))
        try:
            answer = command("fit", home / "t.csv", *FIT, *places)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        refused(answer)
    assert {path.read_text() for path in tmp_path.iterdir()} == {"precious"}
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize(
    ("module", "options", "extra"),
    [
        ("skops.io", ["--model", "m.lapwing"], "lapwing-learn[model]"),
        ("jinja2", ["--report", "r.html"], "lapwing-learn[report]"),
        ("onnx", ["--onnx", "m.onnx"], "lapwing-learn[onnx]"),
    ],
)
def test_missing_extras_are_named_before_the_work(
    home: Path,
    main: Main,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    options: list[str],
    extra: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.chdir(tmp_path)
    refused(main("fit", home / "t.csv", *FIT, *options), extra)


# --- info -----------------------------------------------------------------------------------------


def test_info_tells_what_a_fit_would_stumble_over(
    frame: pl.DataFrame, main: Main, tmp_path: Path
) -> None:
    rows = pl.int_range(pl.len())
    wrong = frame.with_columns(
        pl.when(rows != 3).then("sl"),
        pl.when(rows == 5).then(np.inf).otherwise("sw").alias("sw"),
        pl.when(rows == 9).then(pl.lit("big")).otherwise(pl.col("pw").cast(str)).alias("pw"),
    )
    wrong.write_csv(tmp_path / "t.csv")
    code, said, err = main("info", tmp_path / "t.csv", "--label", "kind", "--json")
    assert (code, err) == (0, "")
    found = json.loads(said)
    assert found["missing"] == {"sl": 1, "pw": 1}
    assert found["infinite"] == {"sw": 1}
    assert found["labels"] == {"": 135, "setosa": 5, "versicolor": 5, "virginica": 5}
    words = {entry["column"]: entry["what"] for entry in found["columns"]}
    assert words["flower"] == "names the rows: 150 different values in 150 rows"
    assert (
        words["pw"] == "numbers; 1 cell is something else ('big' in row 10) and counted as missing"
    )
    assert not found["errors"]
    assert found["categorical"] == {"site": 3, "truth": 3}
    code, said, _ = main("info", tmp_path / "t.csv", "--label", "kind")
    assert code == 0
    for part in ("missing 'sl': 1 row", "infinite 'sw'", "left out 'flower': names", "(none)"):
        assert part in said
    strict = main("info", tmp_path / "t.csv", "--label", "kind", "--strict")
    assert strict[0] == 0
    for part in (
        "error: column 'pw' holds text in 1 row",
        "error: column 'flower' cannot be used: not num",
    ):
        assert part in strict[1]


def test_info_forecasts_numbers_as_one_column(main: Main, tmp_path: Path) -> None:
    memory = []
    for labels in ([f"{k}.5" for k in range(20)], ["a", "b"] * 10):
        columns = {"x": [k / 7 for k in range(40)], "y": [*labels, *[""] * 20]}
        pl.DataFrame(columns).write_csv(tmp_path / "t.csv")
        code, said, _ = main("info", tmp_path / "t.csv", "--label", "y", "--json")
        assert code == 0
        found = json.loads(said)["forecast"]
        memory.append({name: forecast["memory_bytes"] for name, forecast in found.items()})
    assert memory[0] == memory[1]


def test_info_tells_quantities_from_classes(main: Main, tmp_path: Path) -> None:
    prices = [f"{1000 + 37 * i} \u20ac" for i in range(12)]
    table = pl.DataFrame({"x": [i / 7 for i in range(20)], "y": prices + [""] * 8})
    table.write_csv(tmp_path / "t.csv")
    code, _, err = main("info", tmp_path / "t.csv", "--label", "y")
    assert code == 0
    assert "the 12 labels are 12 different amounts, such as '1000 \u20ac', and each" in err
    table.with_columns(y=pl.lit("ab")).write_csv(tmp_path / "t.csv")
    assert main("info", tmp_path / "t.csv", "--label", "y")[2] == ""
    numbers = table.with_columns(y=pl.Series([f"{i},25" for i in range(12)] + [""] * 8))
    numbers.with_columns(x=pl.lit("1,5")).write_csv(tmp_path / "t.csv", separator=";")
    said = main("info", tmp_path / "t.csv", "--label", "y", "--json")[1]
    assert json.loads(said)["labels"] == {"": 8, "numbers, 0.25 to 11.25": 12}


def test_info_counts_components_without_a_label(main: Main, tmp_path: Path) -> None:
    X, y = make_blobs(90, 2, centers=[[0, 0], [50, 0], [0, 50]], random_state=0)
    labels = ["ab"[c] if c < 2 and i < 30 else "" for i, c in enumerate(y)]
    pl.DataFrame({"x": X[:, 0], "z": X[:, 1], "y": labels}).write_csv(tmp_path / "t.csv")
    code, said, _ = main("info", tmp_path / "t.csv", "--label", "y", "--json")
    assert code == 0
    graph = json.loads(said)["graph"]
    assert (graph["components"], graph["components_without_label"]) == (3, 1)
    assert "1 of them without a label" in main("info", tmp_path / "t.csv", "--label", "y")[1]


def test_the_forecast_grows_as_it_should(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast, "SPEED", (1e10, 1e10))
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "100g")
    small, large = (forecast.forecast_manifold(FitSize(n, 10)) for n in (1000, 5000))
    assert (small.solver, small.memory, large.memory) == ("dual", 24_000_000, 600_000_000)
    assert large.seconds > 20 * small.seconds / 2
    assert forecast.forecast_manifold(FitSize(20_000, 10)).solver == "pcg (stability)"
    optimum = forecast.gradient_traffic(20_000, 10, 8)
    settling = forecast.gradient_traffic(20_000, 10, 8, settling=True)
    assert optimum / 300 == settling / 142  # two checks, sqrt(n) / 2 iterations apart
    assert settling == 2 * forecast.gradient_traffic(20_000, 10, 8, settling=True, n_threads=2)
    assert forecast.forecast_manifold(FitSize(20_000, 10), kinks=True).solver == "dual"


@pytest.mark.parametrize("method", COMMAND_METHODS)
def test_every_forecast_grows_with_points_and_features(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr(forecast, "SPEED", (1e10, 1e10))
    sizes = [FitSize(1000, 10), FitSize(3000, 10), FitSize(1000, 400)]
    small, many, wide = (COMMAND_METHODS[method].forecast(size) for size in sizes)
    assert many.seconds > small.seconds
    assert many.memory > small.memory
    assert wide.seconds > small.seconds
    # A sparse table costs what it stores.
    sparse = COMMAND_METHODS[method].forecast(FitSize(1000, 400, n_stored=5000))
    assert sparse.seconds < wide.seconds


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.UnlabeledComponentWarning")
@pytest.mark.parametrize("method", COMMAND_METHODS)
def test_the_forecast_names_the_solver_that_a_fit_takes(method: str) -> None:
    chosen = COMMAND_METHODS[method]
    X, y = make_blobs(120, 3, centers=3, random_state=0)
    known = np.arange(120) % 6 == 0
    y = np.where(known, X[:, 0], np.nan) if chosen.regression else np.where(known, y, -1)
    estimator = chosen.make().fit(X, y)
    told = chosen.forecast(FitSize(120, 3, 1 if chosen.regression else 3, int(known.sum())))
    assert told.solver == (chosen.solver or estimator.solver_)


@pytest.mark.parametrize(
    ("n", "n_labels", "limit"),
    [(6000, 10, "8g"), (6001, 10, "8g"), (12_000, 10, "8g"), (12_001, 10, "8g"),
     (9000, 3001, "8g"), (9000, 10, "1g")],
)  # fmt: skip
def test_forecast_and_choice_agree(
    monkeypatch: pytest.MonkeyPatch, n: int, n_labels: int, limit: str
) -> None:
    """What ``solver='auto'`` takes of an objective of that size, without its n x n numbers."""
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", limit)
    kernel = np.broadcast_to(np.zeros(1), (n, n))
    objective = Objective(
        FullKernelSpace(kernel, make_kernel("linear", np.zeros((2, 1))), np.zeros((n, 1))),
        LOSSES["squared_hinge"](), np.arange(n_labels), np.ones((n_labels, 1)),
        np.ones(n_labels), 1.0,
    )  # fmt: skip
    taken = choose_solver("auto", objective, early_stopping=False).shown
    told = forecast.forecast_manifold(FitSize(n, 1, n_labels=n_labels))
    assert told.solver == taken
    assert told.memory == (3 * 8 if taken == "dual" else 8) * n * n


@pytest.mark.parametrize("method", ["laperls", "lapesvc"])
def test_forecasts_of_embedded_regression_turn_where_the_estimator_does(method: str) -> None:
    loss = {"laperls": Squared(), "lapesvc": EpsilonInsensitive()}[method]
    limit = matrix_points(loss)
    full, landmarks = (
        COMMAND_METHODS[method].forecast(FitSize(limit + more, 5)) for more in (0, 1)
    )
    assert landmarks.memory < full.memory / 2
    assert landmarks.seconds < full.seconds


def test_the_forecast_of_columns_is_the_rule_that_the_estimators_warn_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forecast, "SPEED", (4e10, 1e10))
    forecast_of = COMMAND_METHODS["lapesvc"].forecast
    for n, m in ((1200, 1200), (70_000, 1000)):
        few, many = (forecast_of(FitSize(n, 10, columns)).seconds for columns in (10, 300))
        ruled = seconds_of_columns(n, m, 600, 300) - seconds_of_columns(n, m, 50, 10)
        assert many - few == pytest.approx(ruled)
    # Matrices of each thread that shares the columns, as many as fit.
    monkeypatch.setattr(tube, "available_threads", lambda: 4)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "100g")
    assert forecast_of(FitSize(1000, 10, 10)).memory == int(8e6 * (1.2 + 3 * 4))
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "50m")
    assert forecast_of(FitSize(1000, 10, 10)).memory == int(8e6 * (1.2 + 3 * 2))


@pytest.mark.parametrize(("n_classes", "columns"), [(2, 1), (5, 5)])
@pytest.mark.parametrize("regression", [False, True])
def test_a_fit_is_forecast_for_all_its_classes(
    n_classes: int, columns: int, regression: bool
) -> None:
    y = np.arange(30) % (n_classes + 1)
    X = np.ones((30, 4))
    table = SimpleNamespace(
        X=X, y=y, labeled=y < n_classes, numeric=regression, features=Features(X, tuple("abcd"))
    )
    sizes: list[FitSize] = []

    def note(size: FitSize) -> Any:
        sizes.append(size)
        return forecast.Forecast(0, 7.0, "")

    request = SimpleNamespace(chosen=SimpleNamespace(regression=regression, forecast=note))
    told: Any = (table, request)
    assert choosing.forecast_seconds(*told) == 7
    assert sizes == [FitSize(30, 4, 1 if regression else columns, int((y < n_classes).sum()))]


def test_the_forecast_of_a_partition_counts_what_the_fit_asks_for() -> None:
    for n, c in ((3000, 4), (70_000, 10), (10**6, 100)):
        size = FitSize(n, 50, c, 10 * c, itemsize=4)
        shares = 4 * n * c * share_arrays(n, c, exact=False)
        beside = COMMAND_METHODS["balanced"].forecast(size).memory - shares
        assert 0 < beside < 5e8 + 2000 * n
    few, many = (COMMAND_METHODS["balanced"].forecast(FitSize(1000, 50, c, c)) for c in (2, 30))
    assert many.seconds > 3 * few.seconds


def test_the_forecast_of_low_density_separation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast, "SPEED", (1e10, 1e10))
    small, large = (forecast.forecast_low_density(FitSize(n, 10)) for n in (1000, 4000))
    assert (small.solver, small.memory, large.memory) == ("lbfgs", 24_000_000, 384_000_000)
    assert large.seconds > 10 * small.seconds
    # Pairs of ten classes are of a fifth of the points each, and threads share them; the kernel
    # matrix is held.
    monkeypatch.setattr(forecast, "available_threads", lambda: 2)
    pairs = forecast.forecast_low_density(FitSize(1000, 10, 10))
    assert pairs.memory == 8_000_000 + 2 * 24_000_000 / 25
    assert pairs.seconds > seconds_of_pairs(1000, 10)
    single = forecast.forecast_low_density(FitSize(1000, 10, itemsize=4))
    assert single.memory < small.memory
    assert single.seconds < small.seconds


LOW_DENSITY = ("--method", "s3vc", "--set", "C=5")


def test_low_density_separation_from_a_table_to_a_report(home: Path, main: Main) -> None:
    code, said, errors = main(
        "fit", home / "t.csv", *FIT, *LOW_DENSITY, "--json", "--set", "space.n_components=30",
        "--model", home / "m.lapwing", "--onnx", home / "m.onnx", "--report", home / "r.html",
        "--predictions", home / "p.csv", "--seed", "5",
    )  # fmt: skip
    assert (code, errors) == (0, "")
    found = json.loads(said)
    assert (found["method"], found["solver"]) == ("s3vc", "lbfgs")
    assert found["parameters"]["space"] == "Landmarks"
    assert found["parameters"]["space.n_components"] == 30
    assert found["parameters"]["space.random_state"] == 5
    page = (home / "r.html").read_text(encoding="utf-8")
    assert "no balance" in page
    assert "The unlabelled rows were used through their density (C* = " in page
    assert "setosa or versicolor" in page
    assert "supervised one" not in page
    # What is loaded says the same.
    code, said, _ = main("predict", home / "m.lapwing", home / "t.csv", "--id", "flower")
    assert code == 0
    again, first = pl.read_csv(io.StringIO(said)), pl.read_csv(home / "p.csv")
    assert again["label"].to_list() == first["label"].to_list()
    assert first.columns[4:7] == ["score_setosa", "score_versicolor", "score_virginica"]
    assert first.select(pl.col("^score_.*$")).to_numpy().max() <= 1


def fitted(path: Path, **options: Any) -> fitting.Outcome:
    """A fit as the command makes it, with its twin."""
    request = FitRequest(data=(path,), label="kind", id="flower", report=Path("r.html"), **options)
    return fitting.fit(reading.read(request), request)


def test_the_supervised_twin_of_low_density_separation(home: Path) -> None:
    outcome = fitted(home / "t.csv", method="s3vc", settings=("C=5", "gamma_I=0.1"))
    assert outcome.twin is not None
    table, twin, estimator = outcome.table, outcome.twin.estimator, outcome.estimator
    assert (twin.C_star, twin.gamma_I, twin.balance, twin.C) == (0.0, 0.0, None, 5.0)
    assert (estimator.C_star, estimator.balance) == (None, "labels")
    known = np.flatnonzero(table.labeled)
    points = outcome.points
    alone = SVC(C=5.0, gamma=estimator.kernel_.gamma, tol=1e-8)
    alone.fit(points[known], table.y[known])
    assert np.mean(alone.predict(points) == outcome.twin.answers) > 0.98


def test_space_settings() -> None:
    method = COMMAND_METHODS["s3vc"]
    values = parse_settings(["space.n_components=7", "space__method=kmeans", "s=2"], method)
    estimator = make_estimator(method, values, 3)
    assert repr(estimator.space) == repr(Landmarks(7, method="kmeans", random_state=3))
    assert estimator.s == 2
    assert not any(name.startswith("space") for name in setting_names(COMMAND_METHODS["lapsvc"]))
    for text, message in (
        ("space.n_component=7", "Did you mean 'space.n_components'?"),
        ("space=Linear", "set its parameters, such as space.n_components"),
        ("space.random_state=1", "use --seed"),
        ("space.centers=1", "landmarks are drawn from the rows, see space.method"),
        ("Cstar=1", "Did you mean 'C_star'?"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            parse_settings([text], method)


def test_info_says_what_does_not_fit(
    home: Path, main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "50k")
    code, said, _ = main("info", home / "t.csv", "--label", "kind", "--id", "flower")
    assert code == 0
    assert "(too much)" in said


# --- the rest -------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["fit", "predict", "report", "info", "demo"])
def test_every_verb_has_help(main: Main, verb: str) -> None:
    code, said, err = main(verb, "--help")
    assert (code, err) == (0, "")
    assert f"Usage: lapwing {verb}" in said
    assert "\x1b" not in said
    assert verb == "demo" or "Example" in said


def test_missing_values_of_a_sparse_file_are_filled_in(main: Main, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2)) + 4.0 * (np.arange(60) % 2)[:, None]
    X[7, 1] = np.nan
    scipy.io.mmwrite(tmp_path / "t.mtx", sp.coo_matrix(X))
    labels = tmp_path / "labels.txt"
    labels.write_text("".join(f"{'ab'[i % 2] if i < 20 else ''}\n" for i in range(60)))
    code, said, err = main("fit", tmp_path / "t.mtx", "--labels", labels)
    assert (code, err) == (0, "")
    assert "missing numbers replaced by the median of their column" in said


def test_the_method_of_a_page_has_one_default(main: Main) -> None:
    said = " ".join(main("label", "--help")[1].replace("│", " ").split())
    assert "[default: laperls]" in said
    assert "Default: auto, and" not in said


def test_shell_completion() -> None:
    environment = {"_LAPWING_COMPLETE": "complete_bash", "COMP_WORDS": "lapwing pre"}
    code, out, _ = command(COMP_CWORD="1", **environment)
    assert (code, out.split()) == (0, ["predict"])
    environment["COMP_WORDS"] = "lapwing fit --method lapr"
    found = command(COMP_CWORD="3", **environment).out.split()
    assert found == [name for name in COMMAND_METHODS if name.startswith("lapr")]
    assert "laprls-regressor" in found


def test_progress_names_stages_only_when_slow(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with console.StageLine("Reading"):
        pass
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(terminal, "DELAY", 0.0)
    X, y = make_blobs(400, 2, centers=2, random_state=0)
    labels = np.where(np.arange(400) < 20, y, -1)
    model = LapSVC(solver="pcg", tol=1e-2)
    for quiet in (False, True):
        with console.StageLine("LapSVC", quiet, forecast=30.0) as stage:
            model.set_callbacks(*stage.callbacks).fit(X, labels)
            assert (", iteration" in stage._part) is not quiet
        told = capsys.readouterr().err
        assert ("LapSVC: " in told and " s left)" in told) is not quiet
        assert bool(told) is not quiet


def test_progress_names_the_candidate_and_counts_its_steps(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(terminal, "DELAY", 0.0)
    with console.StageLine("Comparing methods") as line, line.stage("S3VC()", 3) as tick:
        tick(dict)
        tick(dict)
        assert line._part == "S3VC(), 2 of 3"
    assert "Comparing methods: S3VC()" in capsys.readouterr().err


def test_standardised_as_scikit_learn_does(main: Main, tmp_path: Path) -> None:
    X, y = make_blobs(60, 3, centers=2, random_state=1)
    X = X * [1, 1000, 1]
    labels = [str(c) if i < 8 else "" for i, c in enumerate(y)]
    columns = dict(zip("abc", X.T, strict=True)) | {"y": labels}
    pl.DataFrame(columns).write_csv(tmp_path / "t.csv")
    model = tmp_path / "m.lapwing"
    assert main("fit", tmp_path / "t.csv", "--label", "y", "--model", model, "-q")[0] == 0
    pipeline = load_model(model).pipeline
    assert isinstance(pipeline[0], StandardScaler)
    np.testing.assert_allclose(pipeline[0].mean_, X.mean(axis=0))


def test_the_readme_transcript_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_requests, "DEFAULT_METHOD", DEFAULT_METHOD)
    script = runpy.run_path(str(ROOT / "docs" / "make_transcript.py"))
    assert script["transcript"]() == script["TRANSCRIPT"].read_text(encoding="utf-8")


@pytest.mark.slow
def test_reading_a_large_table_is_frugal(tmp_path: Path) -> None:
    from benchmarks.reading.command import LIMIT, measure_reading

    use = measure_reading(60_000, 20)
    assert use.numeric_bytes == 9_600_000
    assert use.ratio <= LIMIT


# --- every method, from a table to a report -------------------------------------------------------


@pytest.mark.parametrize("method", COMMAND_METHODS)
def test_every_method_from_a_table_to_a_report(
    home: Path, frame: pl.DataFrame, main: Main, tmp_path: Path, method: str
) -> None:
    chosen = COMMAND_METHODS[method]
    if chosen.regression:
        known = pl.int_range(pl.len()) % 6 == 0
        frame = frame.with_columns(kind=pl.when(known).then("pl"), truth=pl.col("pl")).drop("pl")
    frame.write_csv(tmp_path / "t.csv")
    names = {"model": "m.lapwing", "predictions": "p.csv", "report": "r.html", "onnx": "m.onnx"}
    if chosen.no_onnx:
        del names["onnx"]
    places = [word for what, name in names.items() for word in (f"--{what}", tmp_path / name)]
    code, said, err = main("fit", tmp_path / "t.csv", *FIT, *places, "--method", method, "--json")
    # What chooses its graph may choose one in which a part holds no label, and says so.
    assert (code, err if "-cv" not in method else "") == (0, "")
    found = json.loads(said)
    assert (found["method"], set(found["written"])) == (method, set(names))
    error = found["error"]
    assert error.get("share_wrong", 0) < 0.25
    assert error.get("root_mean_square", 0) < 0.8  # petals have a standard deviation of 1.8

    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert f"{chosen.name} on" in page
    assert ("supervised twin" in page.lower()) == (chosen.twin is not None)
    # Some of its settings have no graph, and the likelihood chooses one of them here.
    assert ("did not use the unlabelled rows" in page) == (method == "laprls-regressor-cv")
    code, said, err = main("predict", tmp_path / "m.lapwing", tmp_path / "t.csv", "--id", "flower")
    assert (code, err) == (0, "")
    new, own = pl.read_csv(io.StringIO(said)), pl.read_csv(tmp_path / "p.csv")
    if chosen.regression:
        ends = ["low", "high"] if method.startswith("laprls") else []
        assert [name for name in own.columns if name in ("low", "high")] == ends
        if ends:
            truth = frame["truth"].to_numpy()
            between = (own["low"].to_numpy() <= truth) & (truth <= own["high"].to_numpy())
            assert 0.7 < between.mean() < 1
            assert (
                np.ptp((own["high"] - own["low"]).to_numpy()) > 0
            )  # of each row by its own left-out values
            for end in ends:
                np.testing.assert_allclose(new[end], own[end], atol=1e-6)
        difference = new["label"] - own["label"]
        assert float((difference**2).mean()) < 0.3
    else:
        # Virtual labels may differ from the function for new rows; nothing else does.
        assert (new["label"] == own["label"]).mean() >= (0.85 if chosen.virtual else 1.0)


@pytest.mark.parametrize("method", ["laperls", "lapesvc", "lapesvr", "laperls-regressor"])
def test_rows_of_the_fit_get_their_virtual_labels(home: Path, method: str) -> None:
    chosen = COMMAND_METHODS[method]
    request = FitRequest(
        data=(home / "t.csv",), id="flower", drop=("truth", "site"), method=method,
        label="pw" if chosen.regression else "kind", features=("sl", "sw", "pl"),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LapwingWarning)  # every row has a width
        outcome = fitting.fit(reading.read(request), request)
    assert outcome.predictions.label.tolist() == outcome.estimator.transduction_.tolist()
    if not chosen.regression:
        np.testing.assert_array_equal(outcome.predictions.scores, outcome.estimator.virtual_labels_)


def test_the_twin_of_embedded_regression_knows_no_unlabeled_row(home: Path) -> None:
    outcome = fitted(home / "t.csv", method="laperls", settings=("graph.n_neighbors=30",))
    assert outcome.twin is not None
    table = outcome.table
    # The same from points moved about where there is no label.
    moved = outcome.points.copy()
    moved[~table.labeled] += 5.0
    twin = fitting.fit_twin(outcome.estimator, outcome.fitted_by, moved, table)
    np.testing.assert_array_equal(twin.answers[table.labeled], outcome.twin.answers[table.labeled])
    np.testing.assert_allclose(
        twin.estimator.decision_function(outcome.points),
        outcome.twin.estimator.decision_function(outcome.points),
    )


def test_the_twin_says_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it warns of is how it was made, and no news of the fit."""
    fit = LapERLSClassifier.fit

    def warning(self: Any, X: Any, y: Any) -> Any:
        if self.mu == 0:
            warnings.warn("nothing is unlabelled", LapwingWarning, stacklevel=1)
        return fit(self, X, y)

    monkeypatch.setattr(LapERLSClassifier, "fit", warning)
    outcome = fitted(home / "t.csv", method="laperls")  # warnings are errors
    assert outcome.twin is not None
    assert outcome.twin.estimator.mu == 0


def test_a_wrong_number_of_anchors_is_named(home: Path, main: Main) -> None:
    fit = ["fit", home / "t.csv", *FIT, "--method", "anchors"]
    refused(main(*fit, "--set", "graph.n_anchor=9"), "Did you mean 'graph.n_anchors'?")
    code, said, _ = main(*fit, "--set", "graph.n_anchors=9", "--seed", "4", "--json")
    assert code == 0
    parameters = json.loads(said)["parameters"]
    assert (parameters["graph.n_anchors"], parameters["graph.random_state"]) == (9, 4)


def test_equal_rows_are_one_vertex_of_the_outcome(tmp_path: Path) -> None:
    rows = [(0, "a"), (0, ""), (1, ""), (2, ""), (5, "b"), (5, ""), (6, ""), (7, "")]
    lines = "".join(f"{i},{x},{kind}\n" for i, (x, kind) in enumerate(rows))
    (tmp_path / "t.csv").write_text("flower,x,kind\n" + lines)
    outcome = fitted(tmp_path / "t.csv")
    assert outcome.vertex.tolist() == [0, 0, 1, 2, 3, 3, 4, 5]
    assert outcome.estimator.affinity_.shape == (6, 6)


def test_info_and_fit_measure_columns_alike(main: Main, tmp_path: Path) -> None:
    """They differed where text becomes many one-hot columns of small spread."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {"x": rng.normal(size=60) * 40, "z": rng.normal(size=60)}
    columns |= {"site": rng.choice(list("abcdefgh"), 60), "y": ["u", "v"] * 3 + [""] * 54}
    pl.DataFrame(columns).write_csv(tmp_path / "t.csv")
    told = json.loads(main("info", tmp_path / "t.csv", "--label", "y", "--json")[1])["scaling"]
    done = json.loads(main("fit", tmp_path / "t.csv", "--label", "y", "--json")[1])["scaling"]
    assert "standardised: 'x' varies" in told
    assert done.partition(";")[0] == told


# --- names that are markup, escapes or formulas ---------------------------------------------------

HOSTILE = ("[/bold]", "\x1b[31mred\x1b[0m", "=1+1", ":smile:")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Four clusters whose classes, ids, columns and file are named to do harm."""
    X, y = make_blobs(80, 2, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], random_state=0)
    rows = [
        {"who": f"{HOSTILE[i % 4]}{i}", "[/i]x": a, "z\x07": b,
         "kind": HOSTILE[c] if i < 24 else None, "truth": HOSTILE[c]}
        for i, ((a, b), c) in enumerate(zip(X, y, strict=True))
    ]  # fmt: skip
    path = tmp_path / "[red]t.csv"
    pl.DataFrame(rows).write_csv(path)
    return path


NAMED = ("--label", "kind", "--id", "who", "--truth", "truth")


@pytest.mark.filterwarnings("ignore")
def test_names_are_neither_markup_nor_escapes(hostile: Path, main: Main, tmp_path: Path) -> None:
    out = tmp_path / "p.csv"
    code, said, err = main("fit", hostile, *NAMED, "--model", tmp_path / "m.lapwing", "--report",
                           tmp_path / "r.html", "--predictions", out)  # fmt: skip
    assert code == 0, err
    assert "\x1b" not in said + err
    for name in ("[/bold]", "␛[31mred␛[0m", "=1+1", ":smile:", "[red]t.csv"):
        assert name in said
    code, said, err = main("predict", tmp_path / "m.lapwing", hostile, "--predictions", out)
    assert code == 0, err
    assert "[/bold]" in said
    assert "\x1b" not in said + err
    for verb in (("info", hostile, "--label", "kind"), ("info", hostile, "--label", "\x1b[2Jx")):
        _, said, err = main(*verb)
        assert "\x1b" not in said + err
        assert "\x07" not in said + err
    code, said, _ = main("fit", hostile, *NAMED, "--json")
    assert code == 0
    assert set(json.loads(said)["predicted"]) == set(HOSTILE)


def test_json_holds_no_control_character_of_terminals() -> None:
    text = console.json_text({"a\x9b": "\x7f\x1bé"})
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    assert json.loads(text) == {"a\x9b": "\x7f\x1bé"}


def test_a_command_that_cannot_speak_leaves_no_file(
    home: Path, main: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise ValueError("no words")

    monkeypatch.setattr(console, "describe_fit", fail)
    monkeypatch.setattr(console, "describe_predictions", fail)
    paths = ["--predictions", tmp_path / "p.csv", "--report", tmp_path / "r.html"]
    refused(main("fit", home / "t.csv", *FIT, *paths), "no words")
    refused(main("predict", home / "m.lapwing", home / "t.csv", *paths[:2]), "no words")
    assert list(tmp_path.iterdir()) == []


def test_formulas_are_quoted_for_spreadsheets(hostile: Path, main: Main, tmp_path: Path) -> None:
    out, exact = tmp_path / "p.csv", tmp_path / "p.parquet"
    code, _, err = main("fit", hostile, *NAMED, "--predictions", out, "-q")
    assert code == 0
    assert "begin like a formula" in err
    found, given = pl.read_csv(out), pl.read_csv(hostile, glob=False)["who"].to_list()
    assert not any(text.startswith("=") for column in ("id", "label") for text in found[column])
    assert "'=1+1" in found["label"].to_list()
    assert found["id"].str.strip_prefix("'").to_list() == given
    assert main("fit", hostile, *NAMED, "--predictions", exact, "-q") == (0, "", "")
    assert pl.read_parquet(exact)["id"].to_list() == given


@pytest.mark.parametrize(
    ("text", "written"),
    [("=1+1", "'=1+1"), ("+cmd|x", "'+cmd|x"), ("@SUM(A1)", "'@SUM(A1)"), ("-a", "'-a"),
     ("\tx", "'\tx"), ("-5", "-5"), ("+1.5e3", "+1.5e3"), ("-", "-"), ("a=1", "a=1"),
     ("a,b", '"a,b"'), ('say "x"', '"say ""x"""'), ("a\rb", '"a\rb"'), (" x", '" x"')],
)  # fmt: skip
def test_cells_of_predictions(text: str, written: str) -> None:
    rows = Predictions(np.array([text], dtype=object), np.array([1.5]), np.array([True]))
    stream = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LapwingWarning)
        print_predictions(rows, stream)
    assert stream.getvalue() == f"id,label,was_labeled\n{written},1.5,true\n"


def test_a_carriage_return_in_an_id_does_not_end_the_row(tmp_path: Path) -> None:
    ids = np.array(["a\rb", "c"], dtype=object)
    rows = Predictions(ids, np.array([1.0, 2.0]), np.array([True, False]))
    write_predictions(rows, tmp_path / "p.csv")
    with (tmp_path / "p.csv").open(newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == ["a\rb", "c"]


def test_a_terminal_gets_no_control_character_in_predictions() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    ids = np.array(["\x1b[2Jx", "c\x9b"], dtype=object)
    rows = Predictions(ids, np.array([1.0, 2.0]), np.array([True, False]))
    for stream, expected in ((Terminal(), ["␛[2Jx", "c␡"]), (io.StringIO(), ids.tolist())):
        print_predictions(rows, stream)
        stream.seek(0)
        assert [row["id"] for row in csv.DictReader(stream)] == expected


# --- options --------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--label", "--seed", "--method", "--predictions", "--truth"])
def test_an_option_of_one_value_given_twice(main: Main, option: str) -> None:
    twice = (option, "1", f"{option}=2")
    cure = "run the command for each" if option == "--label" else "Give it once"
    told = (f"{option} is given 2 times. ", cure, "(see lapwing fit --help)")
    refused(main("fit", "none.csv", *twice), *told)


def test_a_table_breaks_no_heading_in_a_narrow_terminal() -> None:
    text = console._Text()
    text._console.width = 40
    grid = console._grid("class", "rows", "share", "labelled", "sure", "to check")
    grid.add_row("Barolo", "50", "28.1\u00a0%", "3", "0", "47")
    text.grid(grid)
    words = str(text).split()
    assert {"class", "rows", "share", "labelled", "sure", "to", "check"} <= set(words)
    assert max(map(len, str(text).splitlines())) <= 40


def test_options_of_several_values_and_flags_may_be_repeated(home: Path, main: Main) -> None:
    again = ["--drop", "site", "--drop", "sw", "-q", "--quiet"]
    assert main("fit", home / "t.csv", *FIT, *again) == (0, "", "")


@pytest.mark.parametrize(
    ("text", "value"),
    [("yes", True), ("On", True), ("true", True), ("no", False), ("OFF", False), ("false", False)],
)
def test_switches_take_words(text: str, value: bool) -> None:
    lapsvc = COMMAND_METHODS["lapsvc"]
    assert parse_settings([f"graph.mutual={text}"], lapsvc) == {"graph.mutual": value}
    assert parse_settings([f"fit_intercept={text}"], lapsvc) == {"fit_intercept": value}
    assert parse_settings([f"graph.normalized={text}"], lapsvc) == {"graph.normalized": value}


def test_other_words_are_no_switch() -> None:
    with pytest.raises(ValueError, match=r"graph.mutual=maybe: this is a switch; write yes or no"):
        parse_settings(["graph.mutual=maybe"], COMMAND_METHODS["lapsvc"])
    for name in ("graph.normalized", "graph.approximate"):
        told = f"{name}=1: this is a switch; write yes, no or auto"
        with pytest.raises(ValueError, match=told):
            parse_settings([f"{name}=1"], COMMAND_METHODS["lapsvc"])
        auto = parse_settings([f"{name}=Auto"], COMMAND_METHODS["lapsvc"])
        assert auto == {name: "auto"}
    # Of other parameters they are words.
    assert parse_settings(["kernel=no"], COMMAND_METHODS["lapsvc"]) == {"kernel": "no"}


def test_metrics_that_cannot_work_are_not_listed(home: Path, main: Main) -> None:
    code, _, err = main("fit", home / "t.csv", *FIT, "--set", "graph.metric=mahalanobis")
    assert code == 2
    assert "metric='mahalanobis' must be one of" in err
    listed = err.partition("must be one of ")[2]
    for name in ("seuclidean", "mahalanobis", "precomputed", "nan_euclidean"):
        assert f"'{name}'" not in listed
    assert "'cosine'" in listed


def test_predict_advises_nothing_that_it_cannot_do(
    home: Path, frame: pl.DataFrame, main: Main, tmp_path: Path
) -> None:
    path = tmp_path / "n.csv"
    wrong = (
        frame.with_columns(sw=pl.lit("wide")),
        frame.with_columns(pl.when(pl.col("sl") > 5).then("sl")),
        frame.with_columns(sl=pl.lit(float("inf"))),
        frame.drop("sw"),
        frame.with_columns(flower=pl.lit("f")),
    )
    for table in wrong:
        table.write_csv(path)
        code, _, err = main("predict", home / "m.lapwing", path)
        assert code == 2
        assert set(re.findall(r"--[a-z]+", err)) <= {"--id"}, err
        assert "n.csv" in err


# --- the answer first -----------------------------------------------------------------------------


def test_the_summary_answers_first(home: Path, main: Main) -> None:
    code, said, _ = main("fit", home / "t.csv", *FIT)
    assert code == 0
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    found = json.loads(main("fit", home / "t.csv", *FIT, "--json")[1])
    assert lines[0].endswith("t.csv: 150 rows, 15 with a label")
    assert lines[1].split()[:3] == ["class", "rows", "share"]
    answers = {line.split()[0]: [int(n) for n in line.split()[-3:]] for line in lines[3:6]}
    assert {name: sum(counts) for name, counts in answers.items()} == found["predicted"]
    assert sum(counts[1] for counts in answers.values()) == found["sure"]
    assert sum(counts[2] for counts in answers.values()) == found["to_check"]
    assert lines[6].startswith(f"{found['sure']} of 135 rows without a label have a sure answer")
    assert lines[7].startswith("This comes from 15 labels that were left out: ")
    wrong = round(found["error"]["share_wrong"] * 135)
    assert lines[8].startswith(f"Wrong: {wrong} of 135 rows with a known answer in 'truth' (")
    assert lines[9] == f"Next: {found['next']}"
    assert lines[10].startswith("LapSVC, 5 columns")


def test_one_figure_has_one_value_everywhere(home: Path, main: Main, tmp_path: Path) -> None:
    report, model = tmp_path / "r.html", tmp_path / "m.lapwing"
    code, said, _ = main("fit", home / "t.csv", *FIT, "--report", report, "--model", model)
    assert code == 0
    page = " ".join(re.sub("<[^>]*>", " ", report.read_text(encoding="utf-8")).split())
    said = said.replace("\u00a0", " ")
    sentence = next(line for line in said.splitlines() if "sure answer" in line)
    assert sentence in page
    wrong = re.search(r"Wrong: (\d+) of .*\((.*)\)", said)
    assert wrong is not None
    assert f"known answer {wrong[1]} are wrong ({wrong[2]})" in page
    assert next(line for line in said.splitlines() if "Next: " in line)[6:] in page.replace(
        "&#39;", "'"
    )
    # New rows are judged by the threshold of the fit.
    figures = load_model(model).report
    assert load_model(model).info["trust"] == figures.volumes["trust"]
    code, said, _ = main("predict", model, home / "t.csv", "--predictions", tmp_path / "q.csv")
    free = figures.volumes["n_sure"], figures.volumes["n_unsure"]
    again = re.search(r"(\d+) of 150 rows without a label have .*, (\d+) are to check", said)
    assert again is not None
    # The labelled rows of the fit are new rows here; its own answers are those of no other X.
    assert int(again[2]) >= free[1]
    assert pl.read_csv(tmp_path / "q.csv")["sure"].sum() == int(again[1])
    assert int(again[1]) + int(again[2]) == 150


def test_margins_of_low_density_separation_are_not_oversold(
    home: Path, main: Main, tmp_path: Path
) -> None:
    model, report = tmp_path / "m.lapwing", tmp_path / "r.html"
    places = ["--model", model, "--report", report]
    code, said, _ = main("fit", home / "t.csv", *FIT, *LOW_DENSITY, *places)
    assert code == 0
    note = COMMAND_METHODS["s3vc"].margin_note
    assert note in said
    assert "use them: all are sure" not in said
    assert report.read_text(encoding="utf-8").count(note) == 2  # at the figures, and a finding
    code, said, _ = main("predict", model, home / "t.csv", "--predictions", tmp_path / "p.csv")
    assert code == 0
    assert note in said
    assert note not in main("fit", home / "t.csv", *FIT)[1]


def test_numbers_are_summed_up_and_their_errors_told(
    main: Main, frame: pl.DataFrame, tmp_path: Path
) -> None:
    known = pl.int_range(pl.len()) % 6 == 0
    frame = frame.with_columns(kind=pl.when(known).then("pl"), truth=pl.col("pl")).drop("pl")
    frame.write_csv(tmp_path / "t.csv")
    code, said, _ = main("fit", tmp_path / "t.csv", *FIT, "--method", "lapsvr")
    assert code == 0
    assert "Numbers from " in said
    assert "Root mean square error of 125 rows with a known answer in 'truth': 0." in said
    assert "Next: No label stands out from the others. Use the model for new rows" in said


def test_the_rows_to_label_next(
    home: Path, frame: pl.DataFrame, main: Main, tmp_path: Path
) -> None:
    path = tmp_path / "next.csv"
    code, said, _ = main(
        "fit", home / "t.csv", *FIT, "--next", path, "--predictions", tmp_path / "p.csv"
    )
    assert code == 0
    assert f"Rows to label next: {path}" in said
    found = pl.read_csv(path)
    assert found.columns == ["flower", "sl", "sw", "pl", "pw", "site", "kind", "chosen"]
    assert set(found["chosen"]) == {"suggested"}
    assert found["kind"].null_count() == found.height == 10
    # They are those of `suggest`, and no part of the answers.
    words = ["suggest", home / "t.csv", *FIT[:4], "--drop", "truth", "--out", tmp_path / "s.csv"]
    assert main(*words)[0] == 0
    assert (tmp_path / "s.csv").read_bytes() == path.read_bytes()
    answers = pl.read_csv(tmp_path / "p.csv")
    assert main("fit", home / "t.csv", *FIT, "--predictions", tmp_path / "q.csv")[0] == 0
    alone = pl.read_csv(tmp_path / "q.csv")
    assert alone["label"].to_list() == answers["label"].to_list()
    np.testing.assert_allclose(alone["margin"].to_numpy(), answers["margin"].to_numpy(), rtol=1e-6)
    same = found.drop("kind").join(frame, on="flower", how="left", maintain_order="left")
    for name in ("sl", "sw", "pl", "pw", "site"):
        assert found[name].to_list() == same[f"{name}_right"].to_list()
    # Filled in, below the table, it is learnt from.
    found = found.with_columns(kind=pl.lit("setosa")).drop("flower", "chosen")
    found.write_csv(path)
    frame.drop("flower", "truth").write_csv(tmp_path / "t.csv")
    code, said, _ = main("fit", tmp_path / "t.csv", path, "--label", "kind", "--json")
    assert (code, json.loads(said)["labeled"]) == (0, 25)


def test_where_a_graph_for_them_takes_too_long_the_least_certain_rows_are_next(
    home: Path, main: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = ["--next", tmp_path / "n.csv", "--predictions", tmp_path / "q.csv"]
    fit = ["fit", home / "t.csv", *FIT, "--method", "s3vc", *places]

    def is_next() -> list[str]:
        assert main(*fit)[0] == 0
        return pl.read_csv(tmp_path / "n.csv")["flower"].to_list()

    telling = is_next()
    least = pl.read_csv(tmp_path / "q.csv").filter(~pl.col("was_labeled")).sort("margin")
    monkeypatch.setattr("lapwing._app.fitting._GRAPH_ROWS", 10)
    assert is_next() == least["id"].to_list()[:10] != telling
    # A fit that made a graph has it, or makes it once more.
    fit[fit.index("s3vc")] = "balanced"
    assert len(is_next()) == 10
    assert "most informative" in main(*fit)[1]


def test_the_rows_to_label_next_of_a_sparse_table(main: Main, tmp_path: Path) -> None:
    X, y = make_blobs(40, 30, centers=2, random_state=0)
    X = np.where(np.abs(X) > 9, X, 0.0)
    dump_svmlight_file(X, np.where(np.arange(40) < 6, y + 1, 0), str(tmp_path / "t.svm"),
                       zero_based=False)  # fmt: skip
    path = tmp_path / "next.csv"
    assert main("fit", tmp_path / "t.svm", "--unlabeled", "0", "--next", path, "-q")[0] == 0
    found = pl.read_csv(path)
    assert found.height == 10
    assert 2 < found.width < 32
    keys = ("row", "target", "chosen")
    for row in found.iter_rows(named=True):
        cells = [value for name, value in row.items() if name not in keys]
        kept = X[row["row"] - 1]
        np.testing.assert_allclose(sorted(filter(None, cells)), np.sort(kept[kept != 0]))


def test_wrong_places_for_the_rows_to_label_next(home: Path, main: Main, tmp_path: Path) -> None:
    fit = ["fit", home / "t.csv", *FIT, "--next"]
    arrays = main(*fit, tmp_path / "n.npz")
    refused(arrays, "the extension of --next is .csv, .xlsx or .parquet.\n")
    sheet = main(*fit, tmp_path / "n.ods")
    refused(sheet, ".xlsx or .parquet. Excel and LibreOffice open an .xlsx file.\n")


def test_every_row_labeled_leaves_no_row_to_label(main: Main, tmp_path: Path) -> None:
    pl.DataFrame({"x": [i**2 for i in range(20)], "y": ["a"] * 10 + ["b"] * 10}).write_csv(
        tmp_path / "t.csv"
    )
    path = tmp_path / "next.csv"
    code, said, _ = main("fit", tmp_path / "t.csv", "--label", "y", "--next", path)
    assert code == 0
    assert "Every row has a label" in said
    assert path.read_text().splitlines() == ["row,x,y,chosen"]
