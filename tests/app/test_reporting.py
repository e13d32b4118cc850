"""`lapwing.report`: the page of the command line, from Python."""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import lapwing
from lapwing import (
    S3VC,
    AnchorGraphClassifier,
    FewLabelClassifier,
    FewLabelRegressor,
    KNNGraph,
    LapERLSClassifier,
    LapERLSRegressor,
    LapRLSRegressor,
    LapSVC,
)
from lapwing._app.reporting import find_command_method, fit_record
from lapwing._report.association import BinnedColumns
from lapwing._report.page import _typical
from tests.helpers.commandline import done, run
from tests.helpers.data import first_labels

N = 80
X, TRUTH = make_moons(N, noise=0.05, random_state=0)
Y = first_labels(TRUTH, 3, unlabeled=-1)
FRAMES = [pd.DataFrame, pl.DataFrame]


@pytest.fixture(scope="module")
def model() -> Any:
    """One fit for all tests that change nothing of it."""
    return LapSVC(random_state=0).fit(X, Y)


def lead(page: str) -> str:
    """The answer, in words."""
    (answer,) = re.findall(r'<p class="lead">(.*?)</p>', page, re.DOTALL)[:1]
    return html.unescape(re.sub(r"<[^>]+>", "", answer)).strip()


def test_page_equals_that_of_the_command_line(model: Any) -> None:
    table = pd.DataFrame(X, columns=["a", "b"]).assign(y=Y, truth=TRUTH)
    table.to_csv("t.csv", index=False)
    done(run("fit t.csv --label y --unlabeled -1 --truth truth --report cli.html"))
    ids = range(1, N + 1)
    page = lapwing.report(model, table[["a", "b"]], Y, truth=TRUTH, ids=ids).html
    theirs = Path("cli.html").read_text(encoding="utf-8")
    assert lead(page) == lead(theirs)
    tables = re.compile(r"<tbody>.*?</tbody>", re.DOTALL)
    assert tables.findall(page)[:6] == tables.findall(theirs)[:6]
    assert "0 are wrong" in lead(page)
    assert "The supervised twin" in page
    assert "The supervised twin" not in lapwing.report(model, X, Y, twin=False).html


# --- points in every form -------------------------------------------------------------------------


@pytest.mark.parametrize("frame", FRAMES)
def test_frames_show_their_columns_and_pipelines_their_steps(frame: Any) -> None:
    site = np.where(np.arange(N) % 3 == 0, "north", "south")
    table = frame({"east": X[:, 0], "site <b>": site, "up": X[:, 1]})
    encoders = (StandardScaler(), ["east", "up"]), (OneHotEncoder(), ["site <b>"])
    model = make_pipeline(make_column_transformer(*encoders), LapSVC(random_state=0))
    page = lapwing.report(model.fit(table, Y), table, Y, title="moons").html
    for part in (
        "<bdi>site &lt;b&gt;</bdi>",
        '<bdi class="word">south</bdi>',
        "Columns made by ColumnTransformer",
        "<bdi>moons</bdi>: answers for 74 rows",
    ):
        assert part in page
    assert "site <b>" not in page
    assert "Pipeline(" in html.unescape(page)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("estimator", [LapSVC(), AnchorGraphClassifier()])
def test_models_with_column_names_raise_no_warnings(frame: Any, estimator: Any) -> None:
    table = frame({"east": X[:, 0], "north": X[:, 1]})
    for points in (table, X):  # a model of plain numbers takes a frame of them too
        model = estimator.fit(points, Y)
        assert "<bdi>north</bdi>" in lapwing.report(model, table, Y).html


@pytest.mark.parametrize("given", [list, np.array, pd.Series])
def test_documents_are_shown_as_they_are(given: Any) -> None:
    texts = [f"{'cat purr' if i % 2 else 'dog bark'} word{i % 7} <text> {i % 5}" for i in range(40)]
    y = [["dog", "cat"][i % 2] if i < 6 else None for i in range(40)]
    model = make_pipeline(TfidfVectorizer(), S3VC("linear")).fit(given(texts), y)
    page = lapwing.report(model, given(texts), y).html
    assert "<bdi>document</bdi>" in page
    assert re.search(r"<bdi>(cat purr|dog bark) word\d &lt;text&gt; \d</bdi>", page)


def test_text_labels_and_their_marker() -> None:
    names = np.array(["lower", "upper"], dtype=object)[TRUTH]
    y = first_labels(names, 3, unlabeled=None)
    page = lapwing.report(LapSVC().fit(X, y), X, y, truth=names).html
    assert "Of 74 rows with a known answer 0 are wrong" in lead(page)
    assert "y: the labels, None where there is none" in html.unescape(page)
    # An estimator that was not in a pipeline is shown without one.
    assert "model = LapSVC()" in html.unescape(page)


@pytest.mark.parametrize(("names", "dtype"), [(["a", "b"], "string"), ([1, 2], "Int64")])
def test_missing_values_of_pandas_in_labels_truth_and_cells(names: list[Any], dtype: str) -> None:
    truth = pd.Series([names[k] for k in TRUTH], dtype=dtype)
    y = truth.where(Y != -1)
    truth[Y == -1] = truth[Y == -1].where(np.arange(N - 6) >= 4)  # four are unknown
    site = pd.Series(["north", "south"] * (N // 2), dtype="string").where(np.arange(N) % 3 > 0)
    table = pd.DataFrame({"east": X[:, 0], "up": X[:, 1], "site": site})
    table.index = y.index = truth.index = [f"moon-{i}" for i in range(N)]
    columns = make_column_transformer(("passthrough", ["east", "up"]))
    model = make_pipeline(columns, LapSVC(unlabeled="auto")).fit(table, y)
    page = lapwing.report(model, table, y, truth=truth).html
    assert "Of 70 rows with a known answer 0 are wrong" in lead(page)
    assert "south" in page
    assert "NA&gt;" not in page
    assert "moon-" in page


def test_ties_are_predicted_as_by_the_estimator() -> None:
    points, y = np.repeat([[0.0], [1.0]], 2, axis=0), [1, 2, 1, 2]  # equal rows contradict
    with pytest.warns(lapwing.exceptions.LapwingWarning):
        model = LapSVC().fit(points, y)
    assert not model.decision_function(points).any()
    page = lapwing.report(model, points, y)
    assert [one["n_rows"] for one in page._data.volumes["classes"]] == [0, 4]


def test_missing_values_of_frames_have_no_class() -> None:
    values = pd.Series(np.arange(N), dtype="Int64").where(np.arange(N) % 4 > 0)
    table = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "n": values})
    table["site"] = pd.Series(["north"] * N, dtype="string").where(np.arange(N) % 4 == 0)
    model = make_pipeline(make_column_transformer(("passthrough", ["x", "y"])), LapSVC())
    rows = fit_record(model.fit(table, Y), table, Y).table
    columns = BinnedColumns.of(rows)
    np.testing.assert_array_equal(columns.values[2], values.to_numpy(float, na_value=np.nan))
    assert _typical(columns.values[3]) == "north"


def test_sparse_points_and_a_kernel_matrix(model: Any) -> None:
    S = sp.csr_array(X)
    sparse = lapwing.report(LapSVC().fit(S, Y), S.tocoo(), Y)
    assert lead(sparse.html) == lead(lapwing.report(model, X, Y).html)
    K = np.exp(-2.0 * cdist(X, X, "sqeuclidean"))
    precomputed = LapSVC("precomputed", graph=sp.csr_array((K > 0.7) * K)).fit(K, Y)
    assert "to check" in lead(lapwing.report(precomputed, K, Y).html)


# --- estimators -----------------------------------------------------------------------------------


def test_report_of_a_regression() -> None:
    truth = X[:, 0] ** 2
    y = np.where(np.arange(N) % 4 == 0, truth, np.nan)
    page = lapwing.report(LapRLSRegressor().fit(X, y), X, y, truth=truth).html
    assert "learnt from 20 labelled rows" in lead(page)
    assert "root mean square error" in lead(page)
    y[1:] = np.nan  # a supervised fit needs two labels
    model = LapERLSRegressor(graph=KNNGraph(45)).fit(X, y)
    assert "learnt from 1 labelled row" in lead(lapwing.report(model, X, y).html)


@pytest.mark.parametrize("sizes", [{}, {"class_prior": [0.5, 0.5]}], ids=["labels", "sizes"])
def test_the_report_of_a_choice_shows_the_comparison(sizes: Any) -> None:
    X, truth = make_moons(60, noise=0.05, random_state=0)
    y = first_labels(truth, 3)
    model = FewLabelClassifier(**sizes, n_draws=1, max_left_out=2).fit(X, y)
    page = lapwing.report(model, X, y).html
    assert f"Why {type(model.best_estimator_).__name__}" in page
    assert model.evidence_.verdict in page
    assert "Why " not in lapwing.report(model.best_estimator_, X, y).html
    step = make_pipeline(StandardScaler(with_std=False), clone(model)).fit(X, y)
    assert "Why " in lapwing.report(step, X, y).html
    # The page names the candidates that got the class sizes.
    names = [row.name for row in model.evidence_.table]
    assert all(f"<code>{name}</code>" in page for name in names)
    if sizes:
        assert all("class_prior=..." in name or "balance=..." in name for name in names)


def test_estimators_for_several_targets_are_reported_one_by_one() -> None:
    model = FewLabelRegressor()
    model.estimators_ = []
    with pytest.raises(TypeError, match=r"single target: pass its estimators_\[j\]\.best_estim"):
        find_command_method(model)


# --- display and files ----------------------------------------------------------------------------


def test_reports_are_shown_in_notebooks_and_saved_atomically(model: Any, folder: Path) -> None:
    shown = lapwing.report(model, X, Y)
    assert repr(shown).startswith("<Report of LapSVC: 80 rows, 74 without a label;")
    frame = r'<iframe [^>]*sandbox="" srcdoc="([^"]*)"[^>]*></iframe>'
    match = re.fullmatch(frame, shown._repr_html_())
    assert match
    assert html.unescape(match[1]) == shown.html
    shown.save("r.html")
    assert Path("r.html").read_text(encoding="utf-8") == shown.html
    with pytest.raises(ValueError, match=r"cannot write .*r\.pdf: the extension must be \.html"):
        shown.save("r.pdf")
    with pytest.raises(ValueError, match="there is no folder"):
        shown.save("none/r.html")
    assert [one.name for one in folder.iterdir()] == ["r.html"]


REPEATED = np.vstack([X[1:], X[1:2]])
NUMBERS = np.where(Y == -1, np.nan, X[:, 0])


def without_training_rows() -> Any:
    model = LapSVC().fit(X, Y)
    del model.transduction_
    return model


FITTED: dict[str, Callable[[], Any]] = {
    "classes": lambda: LapSVC(random_state=0).fit(X, Y),
    "numbers": lambda: LapRLSRegressor().fit(X, NUMBERS),
    "graph": lambda: LapERLSClassifier().fit(X, Y),
    "of a cluster": without_training_rows,
    "unfitted": LapSVC,
    "other": LogisticRegression,
    "search": lambda: GridSearchCV(LapSVC(), {}, cv=2).fit(X, TRUTH),
    "no estimator": lambda: Pipeline([("estimator", "passthrough")]),
}


@pytest.mark.filterwarnings("ignore:No row of y is unlabelled")
@pytest.mark.parametrize(
    ("fitted", "points", "y", "error", "told"),
    [
        ("unfitted", X, Y, NotFittedError, "not fitted yet"),
        ("of a cluster", X, Y, ValueError, "This LapSVC has no predictions of its training rows"),
        ("other", X, Y, TypeError, "ends in one; got LogisticRegression"),
        ("search", X, Y, TypeError, r"got GridSearchCV\. Pass its best_estimator_"),
        ("no estimator", X, Y, TypeError, "got str"),
        ("classes", X[1:], Y[1:], ValueError, "X has 79 rows, and the model was fitted to 80"),
        ("classes", X, Y[1:], ValueError, "inconsistent numbers of samples"),
        ("classes", X[::-1], Y, ValueError, r"predictions of \d+ of 80 rows differ .*same order"),
        ("classes", X, TRUTH, ValueError, r"74 rows are labelled in only .*y .*as truth="),
        ("classes", X, np.roll(Y, 1), ValueError, "rows are labelled in only one of y and the fit"),
        ("numbers", X, X[:, 0], ValueError, "74 rows are labelled in only"),
        ("graph", REPEATED, Y, ValueError, "79 different rows, and the graph of the model has 80"),
    ],
)
def test_rejects_models_and_points_that_are_not_those_of_a_fit(
    fitted: str, points: Any, y: Any, error: type[Exception], told: str
) -> None:
    model = FITTED[fitted]()
    with pytest.raises(error, match=told):
        lapwing.report(model, points, y)


def test_labels_that_were_added_belong_to_the_fit() -> None:
    model = LapSVC(updatable=True).fit(X, Y)
    row = int(model.suggest(1)[0])
    model.add_labels([row], [TRUTH[row]])
    with pytest.raises(ValueError, match=rf"1 row is labelled in only one.*row {row}"):
        lapwing.report(model, X, Y)
    y = Y.copy()
    y[row] = TRUTH[row]
    assert "73 without a label" in repr(lapwing.report(model, X, y))


def test_missing_jinja2_is_named_before_other_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"lapwing-learn\[report\]"):
        lapwing.report(LapSVC(), X, TRUTH)
