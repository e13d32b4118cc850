"""`lapwing.report`: the page of the command line, from Python."""

from __future__ import annotations

import html
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
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
    FewLabelRegressor,
    LapERLSClassifier,
    LapRLSRegressor,
    LapSVC,
)
from lapwing._app import cli
from lapwing._app.methods import COMMAND_METHODS
from lapwing._app.reporting import find_command_method
from tests.helpers.data import first_labels

N = 80


@pytest.fixture(scope="module")
def points() -> Any:
    return make_moons(N, noise=0.05, random_state=0)


@pytest.fixture(scope="module")
def y(points: Any) -> Any:
    return first_labels(points[1], 3, unlabeled=-1)


def lead(page: str) -> str:
    """The answer, in words."""
    found = re.search(r'<p class="lead">(.*?)</p>', page, re.DOTALL)
    assert found
    return html.unescape(re.sub(r"<[^>]+>", "", found[1])).strip()


def test_it_is_the_page_of_the_command_line(points: Any, y: Any, tmp_path: Path) -> None:
    X, truth = points
    table = pd.DataFrame(X, columns=["a", "b"]).assign(y=y, truth=truth)
    table.to_csv(tmp_path / "t.csv", index=False)
    fit = ("fit", tmp_path / "t.csv", "--label", "y", "--unlabeled", "-1", "--truth", "truth")
    assert cli.main([*map(str, fit), "-q", "--report", str(tmp_path / "cli.html")]) == 0
    model = LapSVC(random_state=0).fit(X, y)
    ids = range(1, N + 1)
    page = lapwing.report(model, table[["a", "b"]], y, truth=truth, ids=ids).html
    theirs = (tmp_path / "cli.html").read_text(encoding="utf-8")
    assert lead(page) == lead(theirs)
    tables = re.compile(r"<tbody>.*?</tbody>", re.DOTALL)
    assert tables.findall(page)[:6] == tables.findall(theirs)[:6]
    assert "0 are wrong" in lead(page)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_show_their_columns_and_pipelines_their_steps(
    points: Any, y: Any, frame: Any
) -> None:
    X, _ = points
    site = np.where(np.arange(N) % 3 == 0, "north", "south")
    table = frame({"east": X[:, 0], "site <b>": site, "up": X[:, 1]})
    before = make_column_transformer(
        (StandardScaler(), ["east", "up"]), (OneHotEncoder(), ["site <b>"])
    )
    model = make_pipeline(before, LapSVC(random_state=0)).fit(table, y)
    shown = lapwing.report(model, table, y, title="moons")
    assert "<bdi>site &lt;b&gt;</bdi>" in shown.html
    assert "site <b>" not in shown.html
    assert '<bdi class="word">south</bdi>' in shown.html
    assert "Columns made by ColumnTransformer" in shown.html
    assert "<bdi>moons</bdi>: answers for 74 rows" in shown.html
    assert "Pipeline(" in html.unescape(shown.html)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("estimator", [LapSVC(), AnchorGraphClassifier()])
def test_a_model_of_named_columns_is_given_them(
    points: Any, y: Any, frame: Any, estimator: Any
) -> None:
    X, _ = points
    table = frame({"east": X[:, 0], "north": X[:, 1]})
    model = estimator.fit(table, y)
    assert "<bdi>north</bdi>" in lapwing.report(model, table, y).html
    # A model of plain numbers takes a frame of them too.
    model = estimator.fit(X, y)
    assert "<bdi>north</bdi>" in lapwing.report(model, table, y).html


@pytest.mark.parametrize("given", [list, np.array, pd.Series])
def test_documents_are_shown_as_they_are(given: Any) -> None:
    texts = [f"{'cat purr' if i % 2 else 'dog bark'} word{i % 7} <text> {i % 5}" for i in range(40)]
    y = [["dog", "cat"][i % 2] if i < 6 else None for i in range(40)]
    model = make_pipeline(TfidfVectorizer(), S3VC("linear")).fit(given(texts), y)
    shown = lapwing.report(model, given(texts), y)
    assert "<bdi>document</bdi>" in shown.html
    assert re.search(r"<bdi>(cat purr|dog bark) word\d &lt;text&gt; \d</bdi>", shown.html)


def test_names_of_rows_are_the_index_of_a_frame(points: Any, y: Any) -> None:
    table = pd.DataFrame(points[0], index=[f"moon-{i}" for i in range(N)])
    model = LapSVC().fit(points[0], y)
    assert "moon-" in lapwing.report(model, table, y).html


def test_text_labels_and_what_marked_the_others(points: Any) -> None:
    X, truth = points
    names = np.array(["lower", "upper"], dtype=object)[truth]
    y = first_labels(names, 3, unlabeled=None)
    model = LapSVC().fit(X, y)
    page = lapwing.report(model, X, y, truth=names).html
    assert "Of 74 rows with a known answer 0 are wrong" in lead(page)
    assert "y: the labels, None where there is none" in html.unescape(page)
    # One step is no pipeline to whoever has not made one.
    assert "model = LapSVC()" in html.unescape(page)


def test_sparse_points_and_a_kernel_matrix(points: Any, y: Any) -> None:
    X, _ = points
    dense = lapwing.report(LapSVC().fit(X, y), X, y)
    S = sp.csr_array(X)
    assert lead(lapwing.report(LapSVC().fit(S, y), S, y).html) == lead(dense.html)
    K = np.exp(-2.0 * cdist(X, X, "sqeuclidean"))
    model = LapSVC("precomputed", graph=sp.csr_array((K > 0.7) * K)).fit(K, y)
    assert "to check" in lead(lapwing.report(model, K, y).html)


@pytest.mark.parametrize("estimator", [LapERLSClassifier(), AnchorGraphClassifier()])
def test_methods_of_other_families(points: Any, y: Any, estimator: Any) -> None:
    X, truth = points
    model = estimator.fit(X, y)
    wrong = int((model.transduction_ != truth)[y == -1].sum())
    page = lapwing.report(model, X, y, truth=truth).html
    assert f"Of 74 rows with a known answer {wrong} " in lead(page)


def test_numbers(points: Any) -> None:
    X, _ = points
    truth = X[:, 0] ** 2
    y = np.where(np.arange(N) % 4 == 0, truth, np.nan)
    shown = lapwing.report(LapRLSRegressor().fit(X, y), X, y, truth=truth)
    assert "learnt from 20 labelled rows" in lead(shown.html)
    assert "root mean square error" in lead(shown.html)


def test_without_the_twin(points: Any, y: Any) -> None:
    model = LapSVC().fit(points[0], y)
    assert "The supervised twin" in lapwing.report(model, points[0], y).html
    assert "The supervised twin" not in lapwing.report(model, points[0], y, twin=False).html


@pytest.mark.parametrize("name", ["lapsvc", "laprls", "laperls", "lapesvc"])
def test_the_twin_of_a_refined_answer_is_not_refined(points: Any, y: Any, name: str) -> None:
    # A refinement walks on the graph, which the twin does without.
    method = COMMAND_METHODS[name]
    assert method.twin is not None
    assert method.twin.parameters["refine"] is None
    model = method.estimator(refine="cut").fit(points[0], y)
    assert "The supervised twin" in lapwing.report(model, points[0], y).html


def test_notebooks_show_the_page_in_a_frame(points: Any, y: Any) -> None:
    shown = lapwing.report(LapSVC().fit(points[0], y), points[0], y)
    frame = shown._repr_html_()
    found = re.fullmatch(r'<iframe [^>]*sandbox="" srcdoc="([^"]*)"[^>]*></iframe>', frame)
    assert found
    assert html.unescape(found[1]) == shown.html
    assert repr(shown).startswith("<Report of LapSVC: 80 rows, 74 without a label;")


def test_saving_is_whole_or_not_at_all(points: Any, y: Any, tmp_path: Path) -> None:
    shown = lapwing.report(LapSVC().fit(points[0], y), points[0], y)
    path = tmp_path / "r.html"
    shown.save(path)
    assert path.read_text(encoding="utf-8") == shown.html
    with pytest.raises(ValueError, match=r"cannot write .*r\.pdf: the extension must be \.html"):
        shown.save(tmp_path / "r.pdf")
    with pytest.raises(ValueError, match="there is no folder"):
        shown.save(tmp_path / "none" / "r.html")
    vars(shown)["html"] = "\udcff"
    with pytest.raises(UnicodeEncodeError):
        shown.save(path)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [one.name for one in tmp_path.iterdir()] == ["r.html"]


def test_what_cannot_be_reported_on(points: Any, y: Any) -> None:
    X, _ = points
    model = LapSVC().fit(X, y)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        lapwing.report(LapSVC(), X, y)
    with pytest.raises(TypeError, match="ends in one; got LogisticRegression"):
        lapwing.report(LogisticRegression(), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = GridSearchCV(LapSVC(), {"gamma_A": [0.1]}, cv=2).fit(X, points[1])
    with pytest.raises(TypeError, match=r"got GridSearchCV\. Pass its best_estimator_"):
        lapwing.report(search, X, y)
    with pytest.raises(TypeError, match="got str"):
        lapwing.report(Pipeline([("estimator", "passthrough")]), X, y)
    with pytest.raises(ValueError, match="X has 79 rows, and the model was fitted to 80"):
        lapwing.report(model, X[1:], y[1:])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        lapwing.report(model, X, y[1:])
    with pytest.raises(ValueError, match=r"predictions of \d+ of 80 rows differ .*same order"):
        lapwing.report(model, X[::-1], y)
    model = LapERLSClassifier().fit(X, y)
    with pytest.raises(ValueError, match="79 different rows, and the graph of the model has 80"):
        lapwing.report(model, np.vstack([X[1:], X[1:2]]), y)


def test_a_choice_for_several_targets_is_told_of_its_estimators() -> None:
    model = FewLabelRegressor()
    model.estimators_ = []
    with pytest.raises(TypeError, match=r"single target: pass its estimators_\[j\]\.best_estim"):
        find_command_method(model, model)


def test_labels_are_those_of_the_fit(points: Any, y: Any) -> None:
    X, truth = points
    model = LapSVC().fit(X, y)
    with pytest.raises(ValueError, match=r"74 rows are labelled in only .*y .*as truth="):
        lapwing.report(model, X, truth)
    moved = np.roll(y, 1)
    with pytest.raises(ValueError, match=r"rows are labelled in only one of y and the fit"):
        lapwing.report(model, X, moved)
    numbers = np.where(y == -1, np.nan, X[:, 0])
    with pytest.raises(ValueError, match="74 rows are labelled in only"):
        lapwing.report(LapRLSRegressor().fit(X, numbers), X, X[:, 0])


def test_labels_that_were_added_belong_to_the_fit(points: Any, y: Any) -> None:
    X, truth = points
    model = LapSVC(updatable=True).fit(X, y)
    row = int(model.suggest(1)[0])
    model.add_labels([row], [truth[row]])
    with pytest.raises(ValueError, match=rf"1 row is labelled in only one.*row {row}"):
        lapwing.report(model, X, y)
    y = y.copy()
    y[row] = truth[row]
    assert "73 without a label" in repr(lapwing.report(model, X, y))


def test_jinja2_is_asked_for_first(points: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"lapwing-learn\[report\]"):
        lapwing.report(LapSVC(), *points)


def test_the_report_of_a_choice_shows_the_comparison() -> None:
    X, truth = make_moons(60, noise=0.05, random_state=0)
    y = first_labels(truth, 3)
    model = lapwing.FewLabelClassifier().fit(X, y)
    page = lapwing.report(model, X, y).html
    assert f"Why {type(model.best_estimator_).__name__}" in page
    assert model.evidence_.verdict in page
    assert "Why " not in lapwing.report(model.best_estimator_, X, y).html


def test_the_report_of_a_choice_names_what_was_told_the_sizes() -> None:
    X, truth = make_moons(60, noise=0.05, random_state=0)
    model = lapwing.FewLabelClassifier(class_prior=[0.5, 0.5]).fit(X, first_labels(truth, 3))
    page = lapwing.report(model, X, first_labels(truth, 3)).html
    assert model.evidence_.verdict in page
    assert all(
        "class_prior=..." in r.name or "balance=..." in r.name for r in model.evidence_.table
    )
    assert all(f"<code>{row.name}</code>" in page for row in model.evidence_.table)
