"""The report's figures against independent counts; its page as a parser reads it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from html.parser import HTMLParser
from importlib import resources
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.metrics import confusion_matrix, mean_absolute_error, r2_score, root_mean_squared_error
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from lapwing import (
    AffinityGraph,
    KNNGraph,
    LapRLSClassifier,
    LapRLSClassifierCV,
    LapRLSRegressorCV,
    LapSVC,
)
from lapwing._report import charts, text
from lapwing._report import page as page_module
from lapwing._report.association import BinnedColumns
from lapwing._report.charts import choose_rows, place
from lapwing._report.findings import next_step, sure_words, trust_words, write_notes
from lapwing._report.page import collect, render
from lapwing._report.program import python_lines
from lapwing._report.record import Hints, ReportData
from lapwing._report.rows import ClassRows, NumberRows, even_sample, row_columns
from lapwing._tables.cells import cells_of_texts
from lapwing._tables.encoders import Features
from lapwing._tables.predictions import Predictions
from lapwing._tables.tables import Table
from lapwing.model_selection import leave_one_out
from tests.helpers.colors import contrast, rgb_of
from tests.helpers.report_cases import EVIL, QUOTES, asked, curve, hostile, moons, outcome

VOID = {"wbr", "meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """A page's elements in order, its text, and tags that are not closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text, self.open, self.wrong = "", [], []
        self.inside_pictures: list[str] = []
        self._roles: list[str | None] = []
        self.feed(html)
        self.close()
        self.wrong += self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "svg":
            self._roles.append(dict(attrs).get("role"))
        if dict(attrs).get("tabindex") and self._roles and self._roles[-1] == "img":
            self.inside_pictures.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "svg":
            self._roles.pop()
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def words_of(page: ReportData | str) -> str:
    """The text of a page, with single spaces."""
    return " ".join(Page(page if isinstance(page, str) else render(page)).text.split())


@pytest.fixture(scope="module")
def two_moons() -> tuple[Any, Any]:
    return moons()


@pytest.fixture(scope="module")
def sine() -> tuple[Any, Any]:
    return curve()


@pytest.fixture(scope="module")
def of_moons(two_moons: Any) -> ReportData:
    fit, truth = two_moons
    return collect(asked(fit, truth="shape", command="lapwing fit 'a b.csv'"), truth=truth)


@pytest.fixture(scope="module")
def of_sine(sine: Any) -> ReportData:
    return collect(asked(sine[0], truth="height"), truth=sine[1])


@pytest.fixture(scope="module")
def all_data(of_moons: ReportData, of_sine: ReportData) -> dict[str, ReportData]:
    evil, truth = hostile()
    strange = collect(asked(evil, truth=EVIL, command=EVIL), truth=truth)
    return {"classes": of_moons, "numbers": of_sine, "hostile": strange}


@pytest.fixture(scope="module")
def pages(all_data: dict[str, ReportData]) -> dict[str, str]:
    return {name: render(one) for name, one in all_data.items()}


# Figures


@given(st.data(), st.integers(1, 12))
def test_class_rows_are_counted(data: st.DataObject, n: int) -> None:
    """Of two classes of the fit and one that only the truth has."""

    def draw(values: st.SearchStrategy[int]) -> Any:
        return np.array(data.draw(st.lists(values, min_size=n, max_size=n)), dtype=np.intp)

    labeled, given, predicted, twin = (draw(st.integers(0, 1)) for _ in range(4))
    free, truth = labeled == 0, draw(st.integers(-1, 2))
    sure, margin = draw(st.integers(0, 1)).astype(bool) & free, np.array(range(n)) % 5 / 4
    given[free] = -1
    rows = ClassRows(
        ["a", "b", "c"], 2, np.arange(n), ~free, given, predicted, 1 - predicted, margin, sure,
        None, twin, truth,
    )  # fmt: skip
    known = truth >= 0
    volumes, allowed = rows.volumes(np.array([0.25, 0.75])), (0.25 * n, 0.75 * n, n)
    assert (volumes["n_sure"], volumes["n_to_check"]) == (sure.sum(), (free & ~sure).sum())
    for k, one in enumerate(volumes["classes"]):
        mine = (predicted == k) & free
        counts = {
            "n_labels": given == k, "n_rows": predicted == k, "n_unlabeled": mine,
            "n_sure": mine & sure, "n_to_check": mine & ~sure,
        }  # fmt: skip
        assert {key: one[key] for key in counts} == {key: v.sum() for key, v in counts.items()}
        assert one["label_share"] == pytest.approx(sum(given == k) / max(1, labeled.sum()))
        assert one["row_share"] == pytest.approx(np.mean(predicted == k))
        assert one["true_share"] == (np.mean(truth[known] == k) if known.any() else None)
        assert one["fills_prior"] == (sum(given == k) >= round(allowed[k]))
        assert one["median_margin"] == (np.median(margin[mine]) if mine.any() else None)
    listed = rows.list_rows(3)
    order = [i for i in np.argsort(margin, kind="stable") if free[i]]
    assert [row["index"] for row in listed["least_certain"]] == order[:3]
    assert [row["index"] for row in listed["most_certain"]] == order[3:][::-1][:3]
    denied = [
        i for i in np.argsort(-margin, kind="stable") if labeled[i] and given[i] != predicted[i]
    ]
    assert [row["index"] for row in listed["contradicted"]] == denied[:3]
    assert listed["n_contradicted"] == len(denied)
    differ, judged = free & (twin != predicted), free & known
    beside = rows.compare_with_twin(3)
    assert beside.get("n_differing", 0) == differ.sum()
    assert sum(pair["n_rows"] for pair in beside.get("class_pairs", [])) == differ.sum()
    found = rows.compare_with_truth("t")
    assert found["n"] == judged.sum()
    if judged.any():
        codes = found["codes"]
        assert found["n_errors"] == (truth != predicted)[judged].sum()
        assert found["twin_n_errors"] == (truth != twin)[judged].sum()
        assert found["matrix"] == [
            [np.sum(judged & (truth == j) & (predicted == k)) for k in codes] for j in codes
        ]
        matrix = np.array(found["matrix"])
        for measure, axis in (("recall", 1), ("precision", 0)):
            counts = zip(matrix.diagonal(), matrix.sum(axis), strict=True)
            assert found[measure] == [right / n if n else None for right, n in counts]


def test_partial_truth_with_unknown_classes(two_moons: Any) -> None:
    fit, truth = two_moons
    known = truth.copy()
    known[60:] = None
    known[50] = "third"
    data = collect(fit, truth=known)
    assert data.truth["n"] == (~fit.table.labeled)[:60].sum()
    assert data.truth["classes"] == ["lower", "upper", "third"]
    assert "third" in words_of(data)
    # Also of the table itself, with its own map.
    coded = np.where(np.arange(120) < 60, truth, "")
    table = replace(fit.table, truth=coded, layout=fit.table.X[:, ::-1], source="moons.csv")
    own = collect(replace(fit, table=table))
    assert own.truth["n"] == data.truth["n"]
    assert (own.map["projection"], own.fitted["source"]) == ("your columns", "moons.csv")


def test_many_true_classes_have_no_matrix() -> None:
    """It would take far more memory than the rows."""
    n, answer = 4000, np.zeros(4000, dtype=np.intp)
    truth = np.arange(n)
    truth[-1] = n - 2
    rows = ClassRows(
        [f"c{k}" for k in range(n)], 2, np.arange(n), answer > 0, answer - 1, answer, answer + 1,
        np.ones(n), answer > 0, None, None, truth,
    )  # fmt: skip
    found = rows.compare_with_truth("t")
    assert (found["n"], found["n_errors"], found["matrix"]) == (n, n - 1, [])
    largest = [tuple(pair.values()) for pair in found["confusions"][:2]]
    assert largest == [("c3998", "c0", 2), ("c1", "c0", 1)]


def test_integer_classes_are_compared_as_numbers() -> None:
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    fit = outcome(X, np.array([3, -1, -1, 7, -1, -1]), LapSVC(graph=KNNGraph(2)))
    for truth in ([3.0, 3.0, 3.0, 7.0, 7.0, np.nan], [3, 3, 3, 7, 7, None], [*"33377", ""]):
        data = collect(fit, truth=truth)
        assert (data.truth["n"], data.truth["n_errors"]) == (3, 0)


def test_graph_of_known_components() -> None:
    """Points 0-1-2 in a path, 3-4 a pair without label, 5 alone; 0 is labelled, and 5."""
    W = sp.lil_array((6, 6))
    edges = ((0, 1), (1, 2), (3, 4))
    for i, j in edges:
        W[i, j] = W[j, i] = 1.0
    y = np.array([0, -1, -1, -1, -1, 1])
    graph = AffinityGraph(W.tocsr())
    fit = outcome(np.arange(6.0)[:, None], y, LapSVC(graph=graph), twin=False)
    data = collect(fit)
    label = fit.predictions.label
    construction = " ".join(repr(graph).split())
    assert data.graph == {
        "n_points": 6,
        "n_rows": 6,
        "n_edges": 3,
        "n_components": 3,
        "n_components_unlabeled": 1,
        "n_points_unlabeled": 2,
        "n_isolated": 1,
        "degree": {
            "min": 0, "median": 1.0, "max": 2, "low": -0.5, "high": 2.5, "series": [[1, 4, 1]],
        },
        "share_between_classes": sum(label[i] != label[j] for i, j in edges) / 3,
        "components": [
            {"n_points": 3, "n_labels": 1},
            {"n_points": 2, "n_labels": 0},
            {"n_points": 1, "n_labels": 1},
        ],
        "unlabeled_components": [{"n_points": 2, "ids": ["4", "5"]}],
        "construction": text.clean(construction),
    }  # fmt: skip


def test_equal_rows_are_one_point_labelled_by_any_of_them() -> None:
    X = np.array([[0.0], [0.0], [1.0], [5.0], [6.0], [6.0]])
    graph = collect(outcome(X, [-1, 0, -1, -1, -1, 1], LapSVC(graph=KNNGraph(1)))).graph
    assert (graph["n_points"], graph["n_rows"], graph["n_components_unlabeled"]) == (4, 6, 0)
    assert sum(one["n_labels"] for one in graph["components"]) == 2


def test_figures_of_numbers(sine: Any, of_sine: ReportData) -> None:
    (fit, truth), data = sine, of_sine
    free = np.flatnonzero(~fit.table.labeled)
    predicted, twin = fit.predictions.label, fit.twin.answers
    for found, answers in ((data.truth, predicted), (data.truth["twin"], twin)):
        for name, measure in (
            ("rmse", root_mean_squared_error), ("mae", mean_absolute_error), ("r2", r2_score),
        ):  # fmt: skip
            assert found[name] == pytest.approx(measure(truth[free], answers[free]))
    apart = (twin - predicted)[free]
    assert data.twin["rms_difference"] == pytest.approx(np.sqrt(np.mean(apart**2)))
    assert data.twin["rows"][0]["id"] == str(free[np.argmax(np.abs(apart))] + 1)
    assert data.volumes["labels"]["n"] == 25
    assert data.volumes["rows"]["mean"] == pytest.approx(predicted.mean())
    assert [sum(series) for series in data.volumes["histogram"]["series"]] == [25, 150]
    assert data.rows["lowest"][0]["id"] == str(free[np.argmin(predicted[free])] + 1)
    # The twin is better here.
    ours, twins = (np.abs(a - truth)[free] for a in (predicted, twin))
    assert twins.mean() < ours.mean()
    assert data.truth["p_value"] == pytest.approx(stats.wilcoxon(ours, twins).pvalue, rel=1e-6)
    (note,) = (note for note in data.notes if "mislead" in note["text"])
    assert note["level"] == "problem"
    assert "Try a smaller gamma_I" in note["text"]
    assert data.fitted["next_step"].startswith(f"Look at this problem first. {note['text']}")


def test_prediction_intervals(sine: Any, of_sine: ReportData) -> None:
    fit, truth = sine
    ends = np.column_stack([fit.predictions.label - 0.1, fit.predictions.label + 0.2])
    data = collect(replace(fit, predictions=replace(fit.predictions, interval=ends)), truth=truth)
    free = ~fit.table.labeled
    held = ((ends[:, 0] <= truth) & (truth <= ends[:, 1]))[free].mean()
    assert (data.truth["coverage"], data.truth["intervals"]) == (held, ends[free].tolist())
    page = render(data)
    path = re.search(r'<path class="band" d="([^"]+)"', page)
    assert path is not None
    assert path[1].count("V") == free.sum()
    assert f"contain {text.percent(held)} of the true values" in page
    assert 'class="band"' not in render(of_sine)


def test_solver_status_and_history() -> None:
    X = np.random.default_rng(0).normal(size=(80, 3))
    y = np.where(np.arange(80) < 20, np.arange(80) % 3, -1)
    fit = outcome(X, y, LapSVC(solver="pcg", max_iter=2, tol=1e-12))
    fit.estimator.history_ = {"gradient": [np.array([10.0**-k, np.nan]) for k in range(1000)]}
    data = collect(fit)
    found = data.convergence
    assert (found["status"], found["n_iter"]) == ("not converged", 2)
    assert found["columns"] == ["0", "1", "2"]
    assert found["optimality"] == pytest.approx(fit.estimator.optimality_)
    assert len(found["history"]["gradient"]) == 400
    assert found["history"]["gradient"][0] == 1.0
    assert data.notes[0]["level"] == "problem"
    assert "not converged" in data.notes[0]["text"]
    assert any(
        "history" in (one.get("aria-labelledby") or "") for one in Page(render(data)).all("svg")
    )


def test_left_out_labels_as_by_exact_leave_one_out() -> None:
    fit, truth = moons(200, 15)
    data = collect(fit, truth=truth)
    found = data.rows["left_out"]
    known = leave_one_out(clone(fit.estimator), fit.points, fit.table.y)
    assert found["n"] == known.left_out.sum() == 30
    expected = confusion_matrix(known.labels, known.predicted)
    np.testing.assert_array_equal(found["matrix"], expected)
    assert found["n_errors"] == expected.sum() - np.trace(expected)
    groups = found["calibration"]
    assert [one["n_labels"] for one in groups] == [5] * 6
    n_right = sum(one["accuracy"] * one["n_labels"] for one in groups)
    assert n_right == pytest.approx(np.trace(expected))
    assert [one["probability"] for one in groups] == sorted(o["probability"] for o in groups)
    for one in groups:  # Clopper and Pearson: the tails beyond the ends have 5 %
        k, n = round(one["accuracy"] * one["n_labels"]), one["n_labels"]
        assert k == n or stats.binom.cdf(k, n, one["high"]) == pytest.approx(0.05)
        assert k == 0 or stats.binom.sf(k - 1, n, one["low"]) == pytest.approx(0.05)
    assert "Fraction of right answers by their probability" in render(data)
    few = collect(moons(60, 4)[0])  # too few for groups
    assert few.rows["left_out"]["calibration"] == []
    assert "Fraction of right answers" not in render(few)


def test_association_of_columns_is_goodman_and_kruskals_tau() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 300)
    kinds = ("numeric", "categorical", "numeric", "categorical", "text")
    frame = pl.DataFrame(
        {
            "size": np.where(codes == 1, np.nan, codes + 0.1 * rng.normal(size=300)),
            "team": np.array(["a", "b", "c"])[np.where(codes == 2, 1, codes)],
            "noise": rng.normal(size=300),
            "name": [f"row {k}" for k in range(300)],
            "note": ["some text"] * 300,
        }
    )
    table = Table(Features(frame, tuple(frame.columns), kinds), codes, codes, codes >= 0, -1)
    columns = BinnedColumns.of(table)
    assert columns.names == ["size", "team", "noise", "name"]
    found = dict(zip(columns.names, columns.association(codes), strict=True))
    assert 0.9 < found["size"] < 1.0  # one eighth holds two classes
    joint = np.array([[np.mean((columns.bins[1] == i) & (codes == j)) for j in range(3)]
                      for i in range(2)])  # fmt: skip
    alone = (joint.sum(axis=0) ** 2).sum()
    tau = ((joint**2 / joint.sum(axis=1, keepdims=True)).sum() - alone) / (1 - alone)
    assert found["team"] == pytest.approx((tau - 1 / 299) / (1 - 1 / 299))
    assert found["noise"] < 0.05
    assert found["name"] == 0.0  # as many values as rows tell nothing, though they guess all
    # Of two classes alone the team is the class, or nothing.
    assert columns.association(codes, among=[0, 2])[1] == pytest.approx(1.0)
    assert columns.association(codes, among=[1, 2])[1] == 0.0
    assert not columns.association(codes, among=[1]).any()
    # Texts that a pipeline in Python makes points of.
    texts = np.array([[f"red {k}"] for k in range(300)])
    of_texts = BinnedColumns.of(replace(table, features=Features(texts, ("x0",))))
    assert of_texts.association(codes).tolist() == [0.0]


def test_associated_columns_have_the_medians_of_classes(
    two_moons: Any, of_moons: ReportData
) -> None:
    fit, found = two_moons[0], of_moons.volumes["associations"]
    assert {one["name"] for one in found["columns"]} <= {"x0", "x1"}
    first = found["columns"][0]
    values = fit.table.X[:, fit.table.feature_names.index(first["name"])]
    codes = np.searchsorted(fit.estimator.classes_, fit.predictions.label)
    medians = [np.median(values[codes == one["code"]]) for one in found["classes"]]
    assert first["typical"] == [text.number(value) for value in medians]


def test_long_labels_with_equal_beginnings_are_different_classes() -> None:
    classes = np.array(["x" * 300 + "a", "x" * 300 + "b"], dtype=object)
    scores = np.array([[2.0, 0], [0, 2], [1, 0]])
    answers = Predictions(np.arange(3), classes[[0, 1, 0]], np.arange(3) < 2, classes, scores)
    rows = ClassRows.read(answers, np.array([*classes, ""], dtype=object), truth=classes[[0, 1, 1]])
    codes = [found.tolist() for found in (rows.given, rows.predicted, rows.truth)]
    assert codes == [[0, 1, -1], [0, 1, 0], [0, 1, 1]]
    assert [len(name) for name in rows.names] == [300, 300]


def test_outlying_label_by_its_leave_one_out_error() -> None:
    """Also if the fit follows it; no label stands out where all are missed by much."""
    rng = np.random.default_rng(0)
    given = np.where(np.arange(20) < 15, 5 + rng.normal(size=20), np.nan)
    given[3] = 1e6
    predicted = np.nan_to_num(given, nan=5.0)  # followed exactly
    rows = NumberRows(np.arange(20).astype(str), ~np.isnan(given), given, predicted, None, None)
    errors = rng.normal(size=15)
    errors[3] = 1e6 - 5
    (found,) = rows.list_rows(3, errors)["outliers"]
    assert (found["index"], found["label"], found["predicted"]) == (3, 1e6, 5.0)
    for others in (rng.uniform(-60, 60, 15), None, errors[:9]):  # equal rows are one error
        assert rows.list_rows(3, others)["outliers"] == []


# Findings and the next step


CLASS = {"name": "a", "n_labels": 5, "label_share": 0.5, "row_share": 0.5, "n_unlabeled": 50}
REPORT: dict[str, Any] = {
    "kind": "classification",
    "fitted": {
        "unlabeled_use": "a graph",
        "remedies": {"unlabeled_weight": "l", "convergence": "s", "underfitting": "c"},
        "margin_note": "",
    },
    "convergence": {"status": "converged", "n_iter": 1, "max_iter": 10},
    "graph": {
        "n_points": 200, "n_points_unlabeled": 0, "n_components_unlabeled": 0, "n_isolated": 0,
        "unlabeled_components": [],
    },
    "twin": {"n_differing": 3, "n_unlabeled": 100, "share_differing": 0.03},
    "volumes": {"classes": [CLASS | {"name": name} for name in "abc"], "n_to_check": 20},
    "rows": {
        "n_contradicted": 0,
        "suggested": [],
        "contradicted": [{"id": "r7", "label": "a", "predicted": "b", "margin": 1.5}],
        "least_certain": [{"id": f"u{i}"} for i in range(10)],
    },
    "truth": {},
}  # fmt: skip


def changed(changes: dict[str, Any]) -> dict[str, Any]:
    """The sections of a report with changes."""
    merged = {k: REPORT.get(k, {}) | v if isinstance(v, dict) else v for k, v in changes.items()}
    return REPORT | merged


def of_class(**changes: Any) -> dict[str, Any]:
    """Three classes, of which the first has changes; one can have all the unlabelled rows."""
    others = 0 if changes.get("n_unlabeled") == 100 else 50
    classes = [CLASS | changes, *(CLASS | {"name": n, "n_unlabeled": others} for n in "bc")]
    return {"volumes": {"classes": classes}}


def of_spread(std: float) -> dict[str, Any]:
    """Predicted numbers, by their standard deviation."""
    return {"kind": "regression", "volumes": {"labels": {"std": 1.0}, "rows": {"std": std}}}


def notes_of(report: dict[str, Any]) -> list[str]:
    return [f"{note['level']}: {note['text']}" for note in write_notes(report)]


USUAL = [
    "good: The solver converged after 1 iteration.",
    "good: Every part of the graph holds at least one label.",
    "info: From the labels alone 3.0\u00a0% of 100 unlabelled rows would get another class.",
]
NOWHERE = "problem: No unlabelled row was given the class “a”. Label more rows of it, or try l."
SINGLE = [
    CLASS | {"name": str(k), "n_labels": 1, "label_share": 0.1, "row_share": 0.1,
             "n_unlabeled": 50 * (k > 6)}
    for k in range(10)
]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        (of_class(n_unlabeled=100),
         ["problem: Every unlabelled row was given the class “a”. Look at the scales of the "
          "columns and at gamma, or try l."]),
        (of_class(n_unlabeled=0), [NOWHERE]),
        (of_class(n_unlabeled=0, fills_prior=False), [NOWHERE]),
        (of_class(n_unlabeled=0, fills_prior=True), []),  # no more rows: the user said so
        (of_class(row_share=0.1),
         ["warning: The class “a” has 50.0\u00a0% of the labels but 10.0\u00a0% of the rows."]),
        (of_class(n_unlabeled=0, n_labels=1),
         [NOWHERE, "warning: The class “a” was learnt from a single label."]),
        ({"volumes": {"classes": SINGLE}},
         ["problem: No unlabelled row was given the classes “0”, “1”, “2”, “3”, “4” and 2 more. "
          "Label more rows of them, or try l.",
          "warning: Each of the classes “0”, “1”, “2”, “3”, “4” and 5 more was learnt from a "
          "single label."]),
        ({"graph": {"n_components_unlabeled": 1, "n_points_unlabeled": 2}},
         ["warning: 1 part of the graph (2 points) holds no label: answers there depend on"]),
        ({"graph": {"n_isolated": 1}}, ["warning: 1 point without any neighbour in the graph."]),
        ({"convergence": {"status": "stopped"}},
         ["problem: The solver ended as “stopped” after 1 iteration: the answers may still "
          "change. Raise max_iter or tol, or use s."]),
        ({"convergence": {"status": "precision reached"}},
         ["good: The solver reached the precision of its arithmetic after 1 iteration."]),
        ({"twin": {"share_differing": 0.6}}, ["warning: From the labels alone 60.0\u00a0% of 100"]),
        ({"twin": {"n_differing": 0}},
         ["warning: The supervised twin gives the same class to all"]),
        ({"fitted": {"margin_note": "Vague."}}, ["warning: Vague."]),
        ({"rows": {"n_contradicted": 1}},
         ["warning: 1 labelled row gets another class than the label says, most clearly row r7 "
          "(margin 1.50). Check these labels."]),
        (of_spread(0.19),
         ["problem: The predictions hardly vary: their standard deviation is 0.190, that of the "
          "labels 1.00. A smaller c lets the function follow the labels."]),
        (of_spread(0.21), []),
    ],
)  # fmt: skip
def test_notes_come_most_serious_first(changes: dict[str, Any], expected: list[str]) -> None:
    notes = notes_of(changed(changes))
    others = [note for note in notes if note not in USUAL]
    assert len(others) == len(expected)
    assert all(map(str.startswith, others, expected))
    levels = [("problem", "warning", "good", "info").index(note.split(":")[0]) for note in notes]
    assert levels == sorted(levels)


@pytest.mark.parametrize(
    ("n_errors", "twin_n_errors", "level", "words"),
    [
        (14, 13, "info", "too small a difference"),
        (6, 14, "info", "too small a difference"),
        (0, 0, "info", "too small a difference"),
        (20, 4, "problem", "The unlabelled rows mislead"),
        (4, 20, "good", "The unlabelled rows help"),
    ],
)
def test_few_errors_decide_nothing(
    n_errors: int, twin_n_errors: int, level: str, words: str
) -> None:
    """Of 166 rows; the two never miss the same one."""
    index = np.arange(166)
    predicted = (index < n_errors).astype(np.intp)
    twin = ((index >= 50) & (index < 50 + twin_n_errors)).astype(np.intp)
    nobody = np.zeros(166, dtype=bool)
    rows = ClassRows(
        ["a", "b"], 2, index, nobody, np.full(166, -1), predicted, 1 - predicted, np.ones(166),
        nobody, None, twin, np.zeros(166, dtype=np.intp),
    )  # fmt: skip
    truth = rows.compare_with_truth("known")
    both = n_errors + twin_n_errors
    assert truth["p_value"] == (stats.binomtest(n_errors, both).pvalue if both else 1.0)
    (note,) = (n for n in notes_of(changed({"truth": truth})) if "wrong instead of" in n)
    assert note.startswith(f"{level}: ")
    assert words in note


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "Label the least certain rows (u0, u1, u2, …) and fit again. --next next.csv writes"),
        ({"volumes": {"n_to_check": 2}}, "Label the least certain rows (u0, u1) and"),
        ({"volumes": {"n_to_check": 0}}, "Look at some of the answers, and use them: all are sure"),
        ({"rows": {"suggested": [{"id": "t1"}]}}, "Label the most informative rows (t1) and fit"),
        ({"rows": {"least_certain": []}}, "Every row has a label. Use the model for new rows"),
        ({"rows": {"n_contradicted": 1}},
         "Check the label of row r7: it is “a”, but everything else points to “b”."),
        ({"rows": {"n_contradicted": 1,
                   "contradicted": [{"id": "r7", "label": "a", "predicted": "?"}]}},
         "“?” counts as a class here. If it means no label, mark its rows as unlabelled"),
        ({"graph": {"n_points_unlabeled": 9, "n_components_unlabeled": 2,
                    "unlabeled_components": [{"ids": ["s1", "s2"]}, {"ids": ["s3"]}]}},
         "Label a row in each of the 2 parts of the graph that no label reaches, such as s1, s3"),
        ({"graph": {"n_points_unlabeled": 9, "n_components_unlabeled": 1,
                    "unlabeled_components": [{"ids": ["s1"]}]}},
         "Label a row in the 1 part of the graph"),
        # A speck is not worth a label.
        ({"graph": {"n_points_unlabeled": 2, "n_components_unlabeled": 1}},
         "Label the least certain rows"),
        ({"notes": [{"level": "problem", "text": "It burns."}], "rows": {"n_contradicted": 1}},
         "Look at this problem first. It burns."),
        ({"kind": "regression",
          "rows": {"outliers": [{"id": "r9", "label": 2.0, "predicted": 5.5}]}},
         "Compare row r9 with your records: its label is 2.00, the others point to 5.50"),
        ({"kind": "regression", "rows": {"outliers": []}},
         "No label stands out from the others. Use the model for new rows: lapwing predict."),
    ],
)  # fmt: skip
def test_next_step(changes: dict[str, Any], expected: str) -> None:
    notes = changes.get("notes", [{"level": "good", "text": "fine"}])
    hints = Hints("--next next.csv writes them.", "lapwing predict")
    assert next_step(changed(changes), notes, hints).startswith(expected)


TRUST = {
    "level": 0.9, "threshold": 0.8, "expected": 0.97, "low": 0.9, "high": 0.99, "n_tests": 9,
    "n_needed": 52,
}  # fmt: skip
LEVEL = {"n_sure": 3, "n_to_check": 1, "trust": {"level": 0.95}}
Format = Callable[..., str]


@pytest.mark.parametrize(
    ("function", "value", "expected"),
    [
        *zip(
            [text.number] * 10 + [text.percent] * 6 + [text.tick] * 5 + [text.label_text] * 5,
            (0.0, 2.0, 0.00431, 999.9, 123.4, 1234.5, 1e-9, 2e7, None, np.nan,
             0.0, 1.0, 1e-6, 0.99999, 0.1234, None, 0, 2.0, 0.25, 5000, 1e9,
             3.0, 3, "3.0", None, np.nan),
            ("0", "2.00", "0.00431", "1,000", "123", "1,234", "1.0e-09", "2.0e+07", "–", "–",
             "0.0 %", "100.0 %", "< 0.1 %", "> 99.9 %", "12.3 %", "–",
             "0", "2", "0.25", "5,000", "1e+09", "3", "3", "3.0", "", ""),
            strict=True,
        ),
        (text.percent, -0.0002, "> -0.1 %"),
        (text.percent, -0.25, "-25.0 %"),
        (lambda n: text.plural(n, "row"), 1, "1 row"),
        (lambda n: text.plural(n, "class", "classes"), 1200, "1,200 classes"),
        (text.clean, "a\x00b\x7f\x9b\ud800", "a␀b␡␡?"),
        (text.clean, "x" * 1000, "x" * 299 + "…"),
        (lambda name: text.cut_middle(name, 5), "class 21", "cl…21"),
        (sure_words, LEVEL,
         "3 of 4 rows without a label have a sure answer (75.0 %), 1 is to check. Of the sure "
         "answers 95 % or more should be right."),
        (sure_words, LEVEL | {"n_sure": 0},
         "No answer is sure: the row without a label is to check."),
        (trust_words, None, ""),
        (trust_words, TRUST,
         "This comes from 9 labels that were left out: 97.0 % of the sure answers are expected to "
         "be right, 90.0 % to 99.0 % with a probability of 90 %. To claim 99 % takes 52 labels or "
         "more. Look at some of them before you take over all."),
        (trust_words, TRUST | {"level": 0.99, "n_tests": 1},
         "This comes from 1 label that was left out: 97.0 % of the sure answers are expected to be "
         "right, 90.0 % to 99.0 % with a probability of 90 %. Look at some of them before you take "
         "over all."),
        (trust_words, TRUST | {"level": 0.99, "threshold": None},
         "This comes from 9 labels that were left out. This is not enough to claim even 90 %: "
         "there are too few labels, or too many of them were predicted wrongly. To claim 99 % "
         "takes 52 labels or more."),
    ],
)  # fmt: skip
def test_words_and_numbers(function: Format, value: Any, expected: str) -> None:
    assert function(value).replace("\u00a0", " ") == expected


def test_trust_in_another_data_set_is_unknown() -> None:
    assert trust_words(TRUST | {"n_needed": 0}).startswith("Nothing here says how often this")


# Columns of the listed rows


def test_all_columns_of_the_rows_to_check(two_moons: Any, of_moons: ReportData) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 9)), np.repeat([0, 1, -1], [3, 3, 34])
    fold = re.compile(r"<summary>All 9 columns of these rows</summary>(.*?)</details>", re.DOTALL)
    for width, shown in ((8, 8), (9, 6)):
        data = collect(outcome(X[:, :width], y, LapSVC()))
        page = render(data)
        for row in data.rows["least_certain"]:
            values = X[int(row["id"]) - 1, :width]
            np.testing.assert_allclose([float(cell) for cell in row["cells"]], values, rtol=1e-5)
            assert f'data-th="x0"><bdi class="word">{row["cells"][0]}</bdi></td>' in page
        head = page[page.index("Least certain") :].partition("</thead>")[0]
        assert head.count('class="cell"') == shown
        found = fold.search(page)
        assert bool(found) == (width == 9)
    assert found is not None
    cells = [cell for row in data.rows["least_certain"] for cell in row["cells"]]
    assert all(f"<bdi>{cell}</bdi>" in found[1] for cell in cells)
    wide = sp.csr_array(rng.normal(size=(40, 600)))
    data = collect(outcome(wide, y, LapSVC(), names=[f"c{j}" for j in range(600)]))
    assert len(data.rows["columns"]) == 500
    assert "These are the first 500 columns." in render(data)


NUMBERS = np.array([[1.0, 0.1234567890123, np.nan], [2e20, -3.0, 0.0]])
FRAME = pl.DataFrame({"a": [1.5, 2.0], "b": ["x" * 99, None], "c": [0.0, 1.0]})


@pytest.mark.parametrize(
    ("X", "rows", "options", "expected"),
    [
        (NUMBERS, [0], {}, {"a": ["1"], "b": ["0.123457"], "c": [""]}),
        (NUMBERS, [0, 1], {"most": 2, "exact": True},
         {"a": ["1", "2e+20"], "b": ["0.1234567890123", "-3"]}),
        (sp.csr_array(np.nan_to_num(NUMBERS)), [1], {}, {"a": ["2e+20"], "b": ["-3"]}),
        (FRAME, [1, 0], {"most": 2}, {"a": ["2", "1.5"], "b": ["", "x" * 59 + "…"]}),
        (FRAME, [0], {"exact": True}, {"a": ["1.5"], "b": ["x" * 99], "c": ["0"]}),
        (FRAME, [], {}, {"a": [], "b": [], "c": []}),
    ],
    ids=str,
)  # fmt: skip
def test_cells_as_in_the_file(X: Any, rows: list[int], options: Any, expected: Any) -> None:
    table = SimpleNamespace(X=X, feature_names=tuple("abc"), originals={})
    assert row_columns(table, rows, **options) == expected


def test_cells_of_encoded_columns_as_in_the_file() -> None:
    since = cells_of_texts(["3.4.2020", "", "5"])
    table = SimpleNamespace(
        X=np.array([[0.0, 1.5], [np.nan, 2.0], [7.0, 3.0]]),
        feature_names=("since (days)", "b"),
        originals={"since": since, "b": None},
    )
    expected = {"since": ["3.4.2020", "", "5"], "b": ["1.5", "2", "3"]}
    assert row_columns(table, [0, 1, 2]) == expected


# The map


def test_every_point_has_a_tooltip(of_moons: ReportData, pages: dict[str, str]) -> None:
    data = of_moons
    drawn = pages["classes"].partition('<figure id="map">')[2].partition("</figure>")[0]
    names = re.findall(r'<tspan class="who" x="360">row (\d+)</tspan>', drawn)
    assert sorted(map(int, names)) == list(range(1, 121))
    # The keyboard stops at the listed ones alone.
    stops = re.findall(r'tabindex="0" role="img" aria-label="row (\d+): [^"]+"', drawn)
    assert set(stops) == {row["id"] for row in data.rows["least_certain"]}
    assert drawn.count('tabindex="-1"') == 110
    worst = data.rows["least_certain"][0]
    assert f"{worst['predicted']}, margin {text.number(worst['margin'])}" in drawn
    assert drawn.count('<path class="ring"') == data.truth["n_errors"] > 0


def test_signs_of_the_maps(of_moons: ReportData, pages: dict[str, str]) -> None:
    """Of the twin, pale ones without a tooltip where it agrees."""
    found = of_moons.map
    columns = (found[name] for name in ("labeled", "opacity", "color", "twin"))
    rows = list(zip(*columns, strict=True))
    full = [("star" if known else f"p{opacity}", str(code)) for known, opacity, code, _ in rows]
    differing = [("p2", str(twin)) for _, _, code, twin in rows if twin != code]
    for ident, expected in (("map", full), ("twin-map", differing)):
        drawn = pages["classes"].partition(f'aria-labelledby="{ident}-t')[2].partition("</svg>")[0]
        assert re.findall(r'<g class="pt (\w+) k(\d)"', drawn) == sorted(expected)
        pale = re.findall(r'<path class="(?:p1|star) k\d" d="(.*?)"', drawn)
        assert "".join(pale).count("M") == 120 - len(expected)
        assert re.findall(r'<text class="name" .*?>(.*?)<', drawn) == found["classes"]


def test_class_names_do_not_overlap_on_the_map() -> None:
    rng, codes = np.random.default_rng(0), np.arange(300) % 10
    places = {"height": 320, "classes": [f"class {k}" for k in range(10)]}
    places |= dict(zip("xy", rng.integers(0, [[7200], [3200]], (2, 300)).tolist(), strict=True))
    written = charts.class_names(places, codes)
    assert len(written) == 10
    assert all(
        abs(x - u) > 2 * 60 or abs(y - v) > 32
        for k, (x, y, _) in enumerate(written)
        for u, v, _ in written[:k]
    )
    crowded = places | {"x": [3600] * 300, "y": [1600] * 300}
    assert [name for _, _, name in charts.class_names(crowded, codes)] == ["class 0"]


def test_plots_scale_values_to_their_axes() -> None:
    axes, series = charts.plot_histogram({"low": 0, "high": 4, "series": [[1, 3], [0, 2]]}, "", "")
    assert series == [[0.25, 0.75], [0.0, 1.0]]
    assert (axes.bars(series[1]), axes.outline([1.0, 0.0])) == (
        "M310.5 198V18H541.5V198z", "M78 198V18H310V198H542V198",
    )  # fmt: skip
    assert (axes.diagonal(), axes.stroke(2, 0, 0.5)) == ("M78 198L542 18", "M310 198V108")
    axes, points = charts.plot_history([100.0, None, 0.0, 1e-3], "g", 6)
    assert (points, axes.line(points)) == ([(0.0, 2.0), (6.0, -3.0)], "M78 18L542 198")
    flat, _ = charts.plot_history([1.0, 1.0], "g", 1)
    assert (flat.up.low, flat.up.high) == (0, 1)
    truth = {"true": [1.0, 2.0], "predicted": [0.5, 2.0], "intervals": [[0, 1], [1, 4]]}
    assert charts.plot_truth(truth).up[:2] == charts.plot_truth(truth).across[:2] == (0, 4)
    groups = [{"low": 0.27, "probability": 0.6}, {"low": 0.5, "probability": 0.21}]
    assert charts.plot_calibration(groups).up[:2] == (0.2, 1.0)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1e9, "0 2e+08 4e+08 6e+08 8e+08 1e+09"),
        (0, 8000, "0 2,000 4,000 6,000 8,000"),
        (1e-12, 2e-12, "1e-12 1.2e-12 1.4e-12 1.6e-12 1.8e-12 2e-12"),
        (1 - 1e-9, 1, "0.999999999 0.9999999992 0.9999999994 0.9999999996 0.9999999998 1"),
        (1e9, 1e9 + 1, "1000000000 1000000000.2 1000000000.4 1000000000.6 1000000000.8 1000000001"),
        (12345677.5, 12345679.5, "12345677.5 12345678 12345678.5 12345679 12345679.5"),
    ],
)
def test_ticks_have_the_digits_that_they_need(low: float, high: float, expected: str) -> None:
    ticks = charts.Axis.with_round_ticks(low, high, "").ticks
    assert " ".join(words for _, words in ticks) == expected
    assert [float(words.replace(",", "")) for _, words in ticks] == [value for value, _ in ticks]


def test_figures_do_not_grow_with_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "_DRAWN", 100)
    few, many = (collect(moons(n, twin=False)[0]) for n in (200, 800))
    assert (many.map["n_drawn"], many.map["n_rows"], sum(many.map["labeled"])) == (100, 800, 6)
    assert "100 of 800 rows are drawn" in words_of(many)
    # The rows that are listed are on the map, whatever the sample.
    assert {row["index"] for row in many.rows["least_certain"]} <= set(many.map["index"])
    sizes = [len(json.dumps(data.to_dict())) for data in (few, many)]
    assert sizes[1] < 1.1 * sizes[0]
    labeled = np.arange(5000) < 1000
    first, again = (choose_rows(labeled, 700) for _ in range(2))
    assert np.array_equal(first, again)
    assert (len(set(first.tolist())), labeled[first].sum()) == (700, 300)


def test_classes_that_are_not_listed_are_noted() -> None:
    codes = np.repeat(np.arange(45), 4)
    places = np.where(np.arange(180) % 4, np.minimum(codes, 43), codes)  # no other row near 44
    X = np.eye(45)[places] + np.random.default_rng(0).normal(0, 0.01, (180, 45))
    y = np.where(np.arange(180) % 4, -1, codes)
    data = collect(outcome(X, y, LapSVC(), twin=False))
    assert data.volumes["n_omitted"] == 5
    assert "No unlabelled row was given the class “44”" in data.notes[0]["text"]
    assert any("and 40 more was learnt from a single label" in one["text"] for one in data.notes)


def test_samples_of_rows_are_even_and_in_order() -> None:
    rows = even_sample(2500, 2000)
    assert len(rows) == 2000 == len(np.unique(rows))
    assert (np.diff(rows) > 0).all()
    assert np.mean(rows < 1250) == pytest.approx(0.5, abs=0.02)
    assert even_sample(5, 5).tolist() == [0, 1, 2, 3, 4]


def test_principal_components_are_those_of_a_decomposition() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 5)) * [5, 3, 1, 1, 1]
    placed = place(X, np.arange(150))
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    for axis, k in (("x", 0), ("y", 1)):
        assert abs(np.corrcoef(placed[axis], U[:, k])[0, 1]) > 0.9999
        assert text.percent(s[k] ** 2 / np.sum(s**2)) in placed["axes"][k]
    sparse = place(sp.csr_array(X), np.arange(150))
    assert np.abs(np.subtract(sparse["x"], placed["x"])).max() <= 2


def test_own_columns_and_distant_rows_on_the_map(two_moons: Any) -> None:
    plane = np.column_stack([np.arange(120.0), np.zeros(120)])
    data = collect(asked(two_moons[0], layout=("east", EVIL)), embedding=plane)
    assert data.map["x"] == sorted(data.map["x"])
    assert (len(set(data.map["y"])), data.map["axes"]) == (1, ["east", EVIL])
    assert EVIL in words_of(data)
    X = np.random.default_rng(0).normal(size=(400, 2))
    X[7] = 1e6
    placed = place(X, np.arange(400), embedding=X)
    assert placed["n_outside"] >= 1
    assert np.ptp(np.delete(placed["x"], 7)) > 5000  # tenths: the others still fill the map


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((8, 3)), np.arange(8.0)[:, None], np.arange(16.0).reshape(8, 2), np.eye(8),
        np.ones((8, 1500)), np.repeat([[0.0], [1.0]], 4, axis=0) * np.ones(1500),
    ],
    ids=["constant", "one column", "line", "identity", "wide and constant", "wide"],
)  # fmt: skip
def test_every_shape_has_a_map(X: Any) -> None:
    for form in (X, sp.csr_array(X)):
        placed = place(form, np.arange(8))
        assert np.isfinite(placed["x"]).all()
        assert all(0 <= v <= 10 * placed["height"] for v in placed["y"])
        if len(np.unique(X, axis=0)) <= 2:
            assert len(set(placed["x"])) == len(np.unique(X, axis=0))


def test_seventy_classes_differ_and_forty_have_the_signs_of_the_labelling_page() -> None:
    assert len({charts.sign_of(k) for k in range(70)}) == 70
    script = (resources.files("lapwing._label") / "page" / "palette.js").read_text("utf-8")
    shapes = json.loads(re.search(r"SHAPE_OF = (\[.*?\])", script)[1])
    assert [charts.sign_of(code) for code in range(40)] == [
        (code % 10, (shapes[code % 10] + code // 10) % 4) for code in range(40)
    ]


# Storage


def test_figures_survive_json(all_data: dict[str, ReportData], pages: dict[str, str]) -> None:
    for name, data in all_data.items():
        again = ReportData.from_dict(json.loads(json.dumps(data.to_dict(), allow_nan=False)))
        assert again == data
        assert render(again) == pages[name]


def test_rejects_damaged_figures(of_moons: ReportData) -> None:
    data = of_moons.to_dict()
    for wrong in (None, [], {}, {"kind": "classification"}, "text"):
        with pytest.raises(ValueError, match="not the figures of a report"):
            ReportData.from_dict(wrong)
    for change in ({"map": 3}, {"kind": "else"}):
        with pytest.raises(ValueError, match=f"damaged in '{next(iter(change))}'"):
            ReportData.from_dict(data | change)
    for part in ("fitted", "map", "volumes", "convergence", "repeat"):
        with pytest.raises(ValueError, match="figures of the report are damaged"):
            render(ReportData.from_dict(data | {part: {}}))
    # A forged figure cannot become markup.
    data["fitted"]["n_features"] = 2
    data["convergence"]["solver"] = data["notes"][0]["text"] = data["notes"][0]["level"] = EVIL
    data["map"]["classes"][0] = data["graph"]["construction"] = EVIL
    assert Page(render(ReportData.from_dict(data))).all("script") == []
    data["map"]["x"][0] = EVIL
    with pytest.raises(ValueError, match="damaged"):
        render(ReportData.from_dict(data))


# The page


@pytest.mark.parametrize("name", ["classes", "numbers", "hostile"])
def test_page_is_valid_self_contained_and_accessible(pages: dict[str, str], name: str) -> None:
    html, page = pages[name], Page(pages[name])
    assert page.wrong == []
    for shown in (
        (EVIL, QUOTES, "\u2400?") if name == "hostile" else ()
    ):  # the ids' null and surrogate
        assert shown in page.text
    assert html.startswith("<!doctype html>")
    assert "default-src 'none'" in html
    for tag in ("script", "img", "iframe", "object", "base"):
        assert page.all(tag) == []
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert Counter(ids).most_common(1)[0][1] == 1
    for _, attributes in page.elements:
        assert not [key for key in attributes if key.startswith("on")]
        for key in ("src", "href", "data", "action"):
            value = attributes.get(key)
            assert value in (None, "data:,") or value.removeprefix("#") in ids
        assert set((attributes.get("aria-labelledby") or "").split()) <= set(ids)
    # For screen readers.
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert (levels[0], levels.count(1)) == (1, 1)
    assert all(b - a <= 1 for a, b in pairwise(levels))
    for picture in page.all("svg"):
        assert picture.get("aria-hidden") == "true" or picture.get("role") in ("img", "group")
    assert all(cell.get("scope") in ("row", "col") for cell in page.all("th"))
    reached = [region for _, region in page.elements if region.get("tabindex") == "0"]
    assert all(region.get("aria-label") for region in reached)
    # Nothing that can be reached is in a picture that is one thing to a screen reader.
    assert page.inside_pictures == []
    assert page.all("html")[0]["lang"] == "en"
    style = html.partition("<style>")[2].partition("</style>")[0]
    assert not re.search(r"url\(|@import", style)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", html)
    html.encode("utf-8")


def test_first_screen_has_the_answer_and_folds_the_rest(
    pages: dict[str, str], of_moons: ReportData, two_moons: Any
) -> None:
    fit, volumes = two_moons[0], of_moons.volumes
    assert volumes["trust"] == asdict(fit.trust)
    assert volumes["n_sure"] == (fit.predictions.sure & ~fit.table.labeled).sum()
    first = words_of(pages["classes"].partition("<nav")[0])
    for words in (sure_words(volumes), trust_words(volumes["trust"]), "Map of 120 rows"):
        assert " ".join(words.split()) in first
    assert "Next Label the least certain rows" in first
    assert "solver" not in first
    for name in ("classes", "numbers"):
        assert not any("open" in details for details in Page(pages[name]).all("details"))
        folded = pages[name][pages[name].index("<details") :]
        for title in ("Health of the graph", "Convergence", "Repeat it"):
            assert f"<summary><h2>{title}</h2>" in folded
    assert "<strong>Note</strong>" in pages["classes"]
    listed = [*of_moons.twin["rows"]]
    for name in ("least_certain", "most_certain", "contradicted"):
        listed += of_moons.rows[name]
    n_wrong = sum(row["truth"] != row["predicted"] for row in listed)
    assert pages["classes"].count('<span class="miss">wrong</span>') == n_wrong > 0


def test_page_without_unlabelled_rows_truth_or_room(two_moons: Any) -> None:
    fit, truth = two_moons
    supervised = LapSVC(gamma_I=0, unlabeled="")
    alone = outcome(fit.table.X, truth, supervised, unlabeled="", twin=False)
    X, codes = np.random.default_rng(0).normal(size=(180, 2)), np.arange(180) % 60
    crowded = outcome(X, np.where(np.arange(180) < 60, codes, -1), LapRLSClassifier(), twin=False)
    cases = (
        (alone, truth, "Every row has a label|There was no graph|did not use the unlabelled rows"),
        (asked(fit, truth="shape"), [""] * 120, "No unlabelled row has an entry in the column sha"),
        (crowded, codes, "20 smaller classes"),
    )
    found = [collect(one, truth=true) for one, true, _ in cases]
    for data, (_, _, words) in zip(found, cases, strict=True):
        page = words_of(data)
        assert [word for word in words.split("|") if word not in page] == []
    assert "supervised twin" not in words_of(found[0]).lower()
    assert (found[0].rows["least_certain"], found[0].graph, found[0].twin) == ([], {}, {})
    assert found[1].truth == {"column": "shape", "n": 0}
    assert (len(found[2].volumes["classes"]), found[2].truth["matrix"]) == (40, [])


@pytest.mark.parametrize("case", ["two_moons", "sine"])
def test_page_of_a_path_of_parameters(case: str, request: pytest.FixtureRequest) -> None:
    table = request.getfixturevalue(case)[0].table
    numbers = case == "sine"
    estimator = LapRLSRegressorCV() if numbers else LapRLSClassifierCV(unlabeled="")
    fit = outcome(table.X, table.y, estimator, unlabeled=table.unlabeled, twin=False)
    data = collect(fit)
    path, results = data.path, fit.estimator.cv_results_
    errors = results["left_out_squared_error"]
    assert path["n_settings"] == len(errors) > 1
    if not numbers:
        best = np.sort(errors)[: len(path["settings"])]
        assert [one["squared_error"] for one in path["settings"]] == pytest.approx(best.tolist())
    assert (path["left_out_rmse"] is not None) == path["by_likelihood"] == numbers
    page = render(data)
    assert "settings were tried" in page
    assert ("the error on left-out labels is" in page) is numbers


def test_no_left_out_error_where_equal_rows_have_different_labels(sine: Any) -> None:
    table = sine[0].table
    first = np.flatnonzero(table.labeled)[0]
    X, y = np.vstack([table.X, table.X[[first]]]), np.append(table.y, table.y[first] + 1)
    fit = outcome(X, y, LapRLSRegressorCV(), unlabeled=table.unlabeled, twin=False)
    assert collect(fit).path["left_out_rmse"] is None


NAME = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)


@settings(max_examples=settings.default.max_examples // 3)  # each is a fit
@given(st.integers(4, 14), st.integers(1, 3), st.integers(2, 4), st.booleans(), NAME)
def test_any_small_fit_has_a_report(n: int, p: int, c: int, sparse: bool, name: str) -> None:
    rng = np.random.default_rng(n * p * c)
    X = rng.normal(size=(n + c, p)).round(1)
    y = np.array([f"{name}{k}" for k in range(c)] + ["no label"] * n, dtype=object)
    X = sp.csr_array(X) if sparse else X
    fit = outcome(X, y, LapSVC(unlabeled="no label"), unlabeled="no label", ids=[name] * (n + c))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = Page(render(collect(fit, truth=[name + "0"] * (n + c))))
    assert page.wrong == []


@pytest.mark.slow
def test_same_data_same_bytes() -> None:
    code = (
        "from tests.helpers.report_cases import moons; from lapwing._report.page import *; "
        "fit, truth = moons(); print(ascii(render(collect(fit, truth=truth))))"
    )
    # Processes of their own: the last digits depend on the threads of BLAS, which other tests set.
    first, second = (
        subprocess.check_output(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}
        )
        for seed in ("1", "2")
    )
    assert first == second
    assert b"<!doctype html>" in first


def palettes() -> list[dict[str, str]]:
    style = resources.files("lapwing._report").joinpath("style.css").read_text(encoding="utf-8")
    found = []
    for block in re.findall(r":root \{(.*?)\n\s*\}", style, re.DOTALL):
        colors = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6});", block))
        short = {k: "#" + "".join(2 * c for c in v[1:]) for k, v in colors.items() if len(v) == 4}
        found.append(colors | short)
    return found


@pytest.mark.parametrize("colors", palettes(), ids=["light", "dark", "print"])
def test_contrast_of_colors(colors: dict[str, str]) -> None:
    pairs = [(t, g) for t in ("ink", "soft", "accent") for g in ("paper", "card", "accent-soft")]
    pairs += [("problem", "paper"), ("problem", "accent-soft"), ("ink", "ground")]
    for level in ("good", "warning", "problem"):
        pairs += [(level, f"{level}-soft"), ("ink", f"{level}-soft")]
    rgb = {name: rgb_of(code) for name, code in colors.items()}
    assert {p: r for p in pairs if (r := contrast(rgb[p[0]], rgb[p[1]])) < 4.5} == {}
    signs = [f"k{i}" for i in range(10)] + [f"s{i}" for i in range(7)] + ["problem"]
    assert {s: r for s in signs if (r := contrast(rgb[s], rgb["ground"])) < 3} == {}


# Repetition, and errors


@pytest.mark.parametrize("case", ["two_moons", "sine"])
def test_python_lines_repeat_the_fit(case: str, request: pytest.FixtureRequest) -> None:
    fit, _ = request.getfixturevalue(case)
    lines = python_lines(fit.pipeline, fit.table.unlabeled)
    names: dict[str, Any] = {"X": fit.table.X, "y": fit.table.y}
    exec(lines, names)
    assert np.array_equal(names["model"].predict(fit.table.X), fit.pipeline.predict(fit.table.X))
    assert not re.search(r"from [\w.]*\b_", lines)


def test_python_lines_are_complete_for_wide_tables_and_arrays() -> None:
    names, vocabulary = [f"c{j}" for j in range(40)], {f"w{j}": j for j in range(35)}
    steps = ColumnTransformer(
        [
            ("numeric", Pipeline([("fill", SimpleImputer(missing_values=np.inf))]), names),
            ("text", CountVectorizer(vocabulary=vocabulary), "text"),
        ]
    )
    weights = np.array([0.25, 0.75], dtype=np.float32)
    model = LapSVC(gamma_A=np.float64(0.5), class_prior=weights, graph=KNNGraph(3))
    double = FunctionTransformer(lambda X: 2 * X)
    pipeline = Pipeline([("columns", steps), ("double", double), ("estimator", model)])
    lines = python_lines(pipeline, np.nan)
    assert "# func: the function of the fit" in lines  # which has no literal
    found: dict[str, Any] = {"func": np.negative}
    exec(lines.partition("model.fit")[0], found)
    params = found["model"].get_params()
    assert params["double__func"] is np.negative
    assert params["columns"].transformers[0][2] == names
    assert params["columns__numeric__fill"].missing_values == np.inf
    assert params["estimator__graph"].n_neighbors == 3
    assert params["columns__text"].vocabulary == vocabulary
    assert type(params["estimator__gamma_A"]) is float
    assert params["estimator__class_prior"].dtype == np.float32
    assert params["estimator__class_prior"].tolist() == [0.25, 0.75]
    assert "from numpy import array, inf, nan" in lines
    assert max(map(len, lines.splitlines())) < 120


def test_parameters_and_versions(of_moons: ReportData) -> None:
    repeat = of_moons.repeat
    values = {p["name"]: (p["value"], p["changed"]) for p in repeat["parameters"]}
    assert (values["unlabeled"], values["gamma_I"]) == (("''", True), ("1.0", False))
    assert set(repeat["versions"]) == {"Python", "lapwing", "numpy", "scipy", "scikit-learn"}
    assert repeat["versions"]["numpy"] == np.__version__
    assert repeat["command"] == "lapwing fit 'a b.csv'"


def test_rejects_wrong_arguments(two_moons: Any) -> None:
    fit = two_moons[0]
    with pytest.raises(
        ValueError, match="truth must have an entry for each of the 120 rows, got 3"
    ):
        collect(fit, truth=[1, 2, 3])
    with pytest.raises(ValueError, match=r"must be two columns of 120 rows, not of shape \(5, 2\)"):
        collect(fit, embedding=np.zeros((5, 2)))
    with pytest.raises(
        ValueError, match=r"embedding has missing or infinite numbers\. Fill them in"
    ):
        collect(fit, embedding=np.full((120, 2), np.nan))
