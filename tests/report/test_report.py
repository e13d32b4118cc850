"""The report's figures against independent counts; its page as a parser reads it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources
from itertools import pairwise
from pathlib import Path
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
from sklearn.metrics import confusion_matrix, mean_absolute_error, r2_score, root_mean_squared_error
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from lapwing import (
    AffinityGraph,
    KNNGraph,
    LapRLSClassifier,
    LapRLSClassifierCV,
    LapRLSRegressorCV,
    LapSVC,
    LapSVR,
)
from lapwing._app import fitting, reading
from lapwing._app.requests import FitRequest
from lapwing._report import page as page_module
from lapwing._report import svg, text
from lapwing._report.association import ColumnParts
from lapwing._report.findings import (
    _about_classes,
    next_step,
    python_lines,
    sure_words,
    trust_words,
    write_notes,
)
from lapwing._report.page import collect, render
from lapwing._report.record import Hints, ReportData
from lapwing._report.rows import ClassRows, NumberRows, row_columns
from lapwing._report.svg import choose_rows, place
from lapwing._tables.cells import cells_of_texts
from lapwing._tables.encoders import Features
from lapwing._tables.predictions import Predictions
from lapwing._tables.tables import Table
from lapwing.model_selection import leave_one_out, sure_rows
from tests.helpers.colors import contrast, rgb_of
from tests.helpers.report_cases import EVIL, QUOTES, asked, curve, hostile, moons, outcome

VOID = {"wbr", "meta", "link", "br", "hr", "img", "input", "path", "rect", "circle"}


class Page(HTMLParser):
    """A page's elements in order, its text, and whether its tags close in order."""

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

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

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


def words_of(data: ReportData) -> str:
    """The text of a page, with single spaces."""
    return " ".join(Page(render(data)).text.split())


# The figures


def test_volumes_are_counts(two_moons: Any, of_moons: ReportData) -> None:
    fit, truth = two_moons
    volumes = of_moons.volumes
    for line in volumes["classes"]:
        name = line["name"]
        mine = fit.predictions.label == name
        assert line["n_labels"] == 3
        assert line["label_share"] == 0.5
        assert line["n_rows"] == mine.sum()
        assert line["row_share"] == pytest.approx(mine.mean())
        assert line["true_share"] == pytest.approx(np.mean(truth == name))
        free = mine & ~fit.table.labeled
        assert line["median_margin"] == pytest.approx(np.median(fit.predictions.margin[free]))
        assert line["n_sure"] + line["n_to_check"] == line["n_unlabeled"] == free.sum()
        assert line["n_rows"] == line["n_labels"] + line["n_unlabeled"]
    assert [line["name"] for line in volumes["classes"]] == ["lower", "upper"]
    # The best claim that three labels per class allow.
    found = [(level, sure_rows(fit.pipeline, precision=level)) for level in (0.99, 0.95, 0.9)]
    level, best = next((one for one in found if one[1].sure.any()), found[0])
    assert volumes["trust"]["level"] == level
    free = ~fit.table.labeled
    assert (volumes["n_sure"], volumes["n_to_check"]) == (
        best.sure.sum(),
        (free & ~best.sure).sum(),
    )
    assert volumes["n_sure"] == sum(line["n_sure"] for line in volumes["classes"])


def test_rows_are_sorted_by_margin_and_named(
    two_moons: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit, truth = two_moons
    monkeypatch.setattr(page_module, "_LISTED", 5)
    rows = collect(fit, truth=truth).rows
    free = ~fit.table.labeled
    margin = fit.predictions.margin[free]
    ids = fit.table.ids[free]
    assert [r["id"] for r in rows["least_certain"]] == [str(i) for i in ids[np.argsort(margin)][:5]]
    assert [r["id"] for r in rows["most_certain"]] == [str(i) for i in ids[np.argsort(-margin)][:5]]
    assert rows["least_certain"][0]["margin"] == pytest.approx(margin.min())
    assert sum(rows["margins"]["series"][0]) == free.sum()
    first = rows["least_certain"][0]
    assert first["truth"] == truth[int(first["id"]) - 1]
    assert {first["predicted"], first["runner_up"]} == {"lower", "upper"}


def test_a_label_that_the_model_contradicts_is_named() -> None:
    fit, truth = moons(per_class=8)
    y = fit.table.y.copy()
    slip = int(np.flatnonzero(fit.table.labeled & (truth == "lower"))[0])
    y[slip] = "upper"
    other = outcome(fit.table.X, y, LapSVC(gamma_A=1.0, unlabeled=""), unlabeled="")
    if other.predictions.label[slip] == "upper":
        pytest.fail("the case is not one: the model believes the wrong label")
    data = collect(other)
    assert str(slip + 1) in [r["id"] for r in data.rows["contradicted"]]
    assert any("another class than the label" in note["text"] for note in data.notes)


def test_twin_and_truth_are_counted(two_moons: Any, of_moons: ReportData) -> None:
    (fit, truth), data = two_moons, of_moons
    free = ~fit.table.labeled
    twin = fit.twin.answers
    assert data.twin["n_differing"] == np.sum(twin[free] != fit.predictions.label[free])
    assert sum(m["n_rows"] for m in data.twin["class_pairs"]) == data.twin["n_differing"]
    assert data.truth["column"] == "shape"
    assert data.truth["n"] == free.sum()
    assert data.truth["n_errors"] == np.sum(truth[free] != fit.predictions.label[free])
    assert data.truth["twin_n_errors"] == np.sum(truth[free] != twin[free])
    expected = confusion_matrix(truth[free], fit.predictions.label[free])
    assert data.truth["matrix"] == expected.tolist()


def test_truth_may_be_partial_and_know_more_classes(two_moons: Any) -> None:
    fit, truth = two_moons
    known = truth.copy()
    known[60:] = None
    known[50] = "third"
    data = collect(fit, truth=known)
    free = ~fit.table.labeled
    assert data.truth["n"] == free[:60].sum()
    assert data.truth["classes"] == ["lower", "upper", "third"]
    assert data.truth["confusions"][-1]["truth"] == "third" or data.truth["n_errors"] == 1
    assert "third" in words_of(data)


def test_truth_of_no_unlabeled_row_is_reported(two_moons: Any) -> None:
    data = collect(asked(two_moons[0], truth="shape"), truth=[""] * 120)
    assert data.truth == {"column": "shape", "n": 0}
    assert "No unlabelled row has an entry in the column shape" in words_of(data)


def test_the_tables_own_truth_and_layout_are_used(two_moons: Any) -> None:
    fit, truth = two_moons
    coded = np.where(np.arange(120) < 60, truth, "")
    table = replace(fit.table, truth=coded, layout=fit.table.X[:, ::-1], source="moons.csv")
    data = collect(replace(fit, table=table))
    assert data.truth["n"] == (~fit.table.labeled)[:60].sum()
    assert data.map["projection"] == "your columns"
    assert data.fitted["source"] == "moons.csv"


def test_integer_classes_are_compared_as_numbers() -> None:
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    fit = outcome(X, np.array([3, -1, -1, 7, -1, -1]), LapSVC(graph=KNNGraph(2)))
    for truth in ([3.0, 3.0, 3.0, 7.0, 7.0, np.nan], [3, 3, 3, 7, 7, None], [*"33377", ""]):
        data = collect(fit, truth=truth)
        assert (data.truth["n"], data.truth["n_errors"]) == (3, 0)


def test_graph_health_of_a_graph_that_is_known() -> None:
    """Points 0-1-2 in a path, 3-4 a pair without label, 5 alone; 0 is labelled, and 5."""
    W = sp.lil_array((6, 6))
    for i, j in ((0, 1), (1, 2), (3, 4)):
        W[i, j] = W[j, i] = 1.0
    X = np.arange(6.0)[:, None]
    y = np.array([0, -1, -1, -1, -1, 1])
    fit = outcome(X, y, LapSVC(graph=AffinityGraph(W.tocsr())), twin=False)
    data = collect(fit)
    graph = data.graph
    assert graph["n_edges"] == 3
    assert graph["n_components"] == 3
    assert graph["components"] == [
        {"n_points": 3, "n_labels": 1}, {"n_points": 2, "n_labels": 0},
        {"n_points": 1, "n_labels": 1}
    ]  # fmt: skip
    assert (graph["n_components_unlabeled"], graph["n_points_unlabeled"]) == (1, 2)
    assert graph["unlabeled_components"] == [{"n_points": 2, "ids": ["4", "5"]}]
    assert graph["n_isolated"] == 1
    assert (graph["degree"]["min"], graph["degree"]["max"]) == (0, 2)
    assert graph["degree"]["series"] == [[1, 4, 1]]
    given_classes = fit.predictions.label
    cut = sum(given_classes[i] != given_classes[j] for i, j in ((0, 1), (1, 2), (3, 4))) / 3
    assert graph["share_between_classes"] == pytest.approx(cut)
    texts = [note["text"] for note in data.notes]
    assert any("1 part of the graph (2 points) holds no label" in t for t in texts)
    assert any("1 point without any neighbour" in t for t in texts)


def test_equal_rows_are_one_point_labeled_if_one_is() -> None:
    X = np.array([[0.0], [0.0], [1.0], [5.0], [6.0], [6.0]])
    y = np.array([-1, 0, -1, -1, -1, 1])
    graph = collect(outcome(X, y, LapSVC(graph=KNNGraph(1)))).graph
    assert (graph["n_points"], graph["n_rows"]) == (4, 6)
    assert graph["n_components_unlabeled"] == 0
    assert sum(c["n_labels"] for c in graph["components"]) == 2


def test_without_graph_and_twin(two_moons: Any) -> None:
    fit = two_moons[0]
    alone = outcome(
        fit.table.X, fit.table.y, LapSVC(gamma_I=0, unlabeled=""), unlabeled="", twin=False
    )
    data = collect(alone)
    assert data.graph == {}
    assert data.twin == {}
    assert "There was no graph" in words_of(data)
    assert "supervised twin" not in words_of(data).lower()
    assert any("did not use the unlabelled rows" in note["text"] for note in data.notes)


def test_intervals_of_numbers_are_drawn(sine: Any) -> None:
    fit, truth = sine
    ends = np.column_stack([fit.predictions.label - 0.1, fit.predictions.label + 0.2])
    known = replace(fit, predictions=replace(fit.predictions, interval=ends))
    data = collect(known, truth=truth)
    free = ~fit.table.labeled
    held = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    assert data.truth["coverage"] == held[free].mean()
    assert data.truth["intervals"] == ends[free].tolist()
    page = render(data)
    path = re.search(r'<path class="band" d="([^"]+)"', page)
    assert path is not None
    assert path[1].count("V") == free.sum()
    assert f"contain {text.percent(held[free].mean())} of the true values" in page
    without = replace(fit, predictions=replace(fit.predictions, interval=None))
    plain = render(collect(without, truth=truth))
    assert 'class="band"' not in plain
    assert "intervals for nine" not in plain


def test_regression_figures(sine: Any, of_sine: ReportData) -> None:
    (fit, truth), data = sine, of_sine
    free = ~fit.table.labeled
    predicted, twin = fit.predictions.label, fit.twin.answers
    assert data.kind == "regression"
    for found, answers in ((data.truth, predicted), (data.truth["twin"], twin)):
        pair = truth[free], answers[free]
        assert found["rmse"] == pytest.approx(root_mean_squared_error(*pair))
        assert found["mae"] == pytest.approx(mean_absolute_error(*pair))
        assert found["r2"] == pytest.approx(r2_score(*pair))
    assert data.twin["rms_difference"] == pytest.approx(
        root_mean_squared_error(twin[free], predicted[free])
    )
    furthest = np.flatnonzero(free)[np.argmax(np.abs(twin - predicted)[free])]
    assert data.twin["rows"][0]["id"] == str(furthest + 1)
    assert data.volumes["labels"]["n"] == 25
    assert data.volumes["rows"]["mean"] == pytest.approx(predicted.mean())
    labels, rows = data.volumes["histogram"]["series"]
    assert (sum(labels), sum(rows)) == (25, 150)
    lowest = np.flatnonzero(free)[np.argmin(predicted[free])]
    assert data.rows["lowest"][0]["id"] == str(lowest + 1)


def test_a_regression_that_hardly_varies_is_reported(sine: Any) -> None:
    fit = sine[0]
    flat = outcome(fit.table.X, fit.table.y, LapSVR(gamma_A=1e4), unlabeled=float("nan"))
    assert [n["level"] for n in collect(flat).notes if "hardly vary" in n["text"]] == ["problem"]
    assert not any("hardly vary" in n["text"] for n in collect(fit).notes)


def test_convergence_is_reported() -> None:
    X = np.random.default_rng(0).normal(size=(80, 3))
    y = np.where(np.arange(80) < 20, np.arange(80) % 3, -1)
    fit = outcome(X, y, LapSVC(solver="pcg", max_iter=2, tol=1e-12))
    data = collect(fit)
    assert data.convergence["status"] == "not converged"
    assert data.convergence["n_iter"] == 2
    assert data.convergence["columns"] == ["0", "1", "2"]
    assert data.convergence["optimality"] == pytest.approx(fit.pipeline[-1].optimality_)
    assert data.notes[0]["level"] == "problem"
    assert "not converged" in data.notes[0]["text"]
    assert "history" in " ".join(svg_ids(render(data)))  # of solver='pcg'


def test_a_history_is_drawn_where_it_is_kept(two_moons: Any) -> None:
    fit = two_moons[0]
    estimator = fit.pipeline[-1]
    estimator.history_ = {"gradient": [np.array([10.0**-k, np.nan]) for k in range(1000)]}
    try:
        data = collect(fit)
    finally:
        del estimator.history_
    trace = data.convergence["history"]["gradient"]
    assert len(trace) == 400
    assert trace[0] == 1.0
    assert any(ident.startswith("history") for ident in svg_ids(render(data)))


def svg_ids(html: str) -> list[str]:
    return [a["aria-labelledby"] or "" for a in Page(html).all("svg") if "aria-labelledby" in a]


def notes_of(truth: Any = None, **changes: Any) -> list[str]:
    line = {"name": "a", "n_labels": 5, "label_share": 0.5, "row_share": 0.5, "n_unlabeled": 50}
    others = 0 if changes.get("n_unlabeled") == 100 else 50
    report = {
        "kind": "classification",
        "fitted": {
            "unlabeled_use": "a graph",
            "remedies": {"unlabeled_weight": "l", "convergence": "s", "underfitting": "c"},
            "margin_note": "",
        },
        "convergence": {"status": "converged", "n_iter": 1, "max_iter": 10},
        "graph": {"n_components_unlabeled": 0, "n_isolated": 0},
        "twin": {"n_differing": 3, "n_unlabeled": 100, "share_differing": 0.03},
        "volumes": {
            "classes": [line | changes, *(line | {"name": n, "n_unlabeled": others} for n in "bc")]
        },
        "rows": {"n_contradicted": 0},
        "truth": truth or {},
    }
    return [f"{note['level']}: {note['text']}" for note in write_notes(report)]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"n_unlabeled": 100}, "problem: Every unlabelled row was given the class “a”"),
        ({"n_unlabeled": 0}, "problem: No unlabelled row was given the class “a”"),
        (
            {"row_share": 0.1},
            "warning: The class “a” has 50.0\u00a0% of the labels but 10.0\u00a0%",
        ),
        ({"n_labels": 1}, "warning: The class “a” was learnt from a single label"),
    ],
)
def test_notes_on_classes(changes: dict[str, Any], expected: str) -> None:
    assert any(note.startswith(expected) for note in notes_of(**changes))
    assert not any(note.startswith(expected) for note in notes_of())


def test_a_class_without_more_rows_is_no_problem_where_the_user_said_so() -> None:
    assert any("No unlabelled row" in note for note in notes_of(n_unlabeled=0, fills_prior=False))
    assert not any(
        "No unlabelled row" in note for note in notes_of(n_unlabeled=0, fills_prior=True)
    )


def test_notes_on_several_classes_are_one() -> None:
    lines = [
        {
            "name": str(k),
            "n_labels": 1,
            "label_share": 0.1,
            "row_share": 0.1,
            "n_unlabeled": 50 * (k > 6),
        }
        for k in range(10)
    ]
    found = [text for _, text in _about_classes({"classes": lines}, {"n_contradicted": 0}, "less")]
    assert found == [
        "No unlabelled row was given the classes “0”, “1”, “2”, “3”, “4” and 2 more. Label more "
        "rows of them, or try less.",
        "Each of the classes “0”, “1”, “2”, “3”, “4” and 5 more was learnt from a single label.",
    ]


def test_a_better_twin_is_reported(sine: Any, of_sine: ReportData) -> None:
    (fit, truth), data = sine, of_sine
    free = ~fit.table.labeled
    ours, twins = (np.abs(a - truth)[free] for a in (fit.predictions.label, fit.twin.answers))
    assert twins.mean() < ours.mean()
    assert data.truth["p_value"] == pytest.approx(stats.wilcoxon(ours, twins).pvalue, rel=1e-6)
    (note,) = (note for note in data.notes if "mislead" in note["text"])
    assert note["level"] == "problem"
    assert "Try a smaller gamma_I" in note["text"]
    assert data.fitted["next_step"].startswith(f"Look at this problem first. {note['text']}")


def test_a_gain_by_unlabeled_rows_is_reported(two_moons: Any, of_moons: ReportData) -> None:
    (fit, truth), data = two_moons, of_moons
    free = ~fit.table.labeled
    ours, twins = ((a != truth)[free] for a in (fit.predictions.label, fit.twin.answers))
    expected = stats.binomtest(int((ours & ~twins).sum()), int((ours ^ twins).sum())).pvalue
    assert data.truth["p_value"] == pytest.approx(expected)
    assert [n["level"] for n in data.notes if "rows help" in n["text"]] == ["good"]


@pytest.mark.parametrize(
    ("errors", "twin_errors", "level"),
    [(14, 13, "info"), (13, 14, "info"), (0, 0, "info"), (20, 4, "problem"), (4, 20, "good")],
)
def test_few_errors_decide_nothing(errors: int, twin_errors: int, level: str) -> None:
    """Of 166 rows; the two never miss the same one."""
    place = np.arange(166)
    predicted = (place < errors).astype(np.intp)
    twin = ((place >= 50) & (place < 50 + twin_errors)).astype(np.intp)
    nobody = np.zeros(166, dtype=bool)
    rows = ClassRows(
        ["a", "b"], 2, place, nobody, np.full(166, -1), predicted, 1 - predicted, np.ones(166),
        nobody, None, twin, np.zeros(166, dtype=np.intp),
    )  # fmt: skip
    truth = rows.compare_with_truth("known")
    assert (truth["n_errors"], truth["twin_n_errors"]) == (errors, twin_errors)
    both = errors + twin_errors
    assert truth["p_value"] == (stats.binomtest(errors, both).pvalue if both else 1.0)
    words = ("mislead", "rows help:", "too small a difference")
    told = [note for note in notes_of(truth=truth) if any(word in note for word in words)]
    assert [note.partition(":")[0] for note in told] == [level]


def test_differences_to_the_twin_are_not_reported_as_a_gain(of_moons: ReportData) -> None:
    (note,) = (note for note in of_moons.notes if "would get another class" in note["text"])
    assert note["level"] == "info"
    assert "<strong>Note</strong>" in render(of_moons)


def test_notes_come_gravest_first() -> None:
    levels = [note.partition(":")[0] for note in notes_of(n_unlabeled=0, n_labels=1)]
    assert levels == sorted(levels, key=["problem", "warning", "good", "info"].index)


# The first screen, and what comes next


def test_the_first_screen_answers(pages: dict[str, str], of_moons: ReportData) -> None:
    volumes = of_moons.volumes
    first = " ".join(Page(pages["classes"].partition("<nav")[0]).text.split())
    assert " ".join(sure_words(volumes).split()) in first
    assert " ".join(trust_words(volumes["trust"]).split()) in first
    assert "Next Label the least certain rows" in first
    assert "Map of 120 rows" in first
    assert "solver" not in first


def test_the_rest_is_folded(pages: dict[str, str]) -> None:
    for name in ("classes", "numbers"):
        page = Page(pages[name])
        assert [a for a in page.all("details") if "open" in a] == []
        folded = pages[name][pages[name].index("<details") :]
        for title in ("Health of the graph", "Convergence", "Repeat it"):
            assert f"<summary><h2>{title}</h2>" in folded


def test_the_least_certain_rows_come_with_their_columns(
    two_moons: Any, of_moons: ReportData
) -> None:
    data, page = of_moons, render(of_moons)
    assert data.rows["columns"] == ["x0", "x1"]
    assert len(data.rows["least_certain"]) == 10
    for row in data.rows["least_certain"]:
        values = two_moons[0].table.X[int(row["id"]) - 1]
        np.testing.assert_allclose([float(cell) for cell in row["cells"]], values, rtol=1e-5)
        assert f'data-th="x0"><bdi class="word">{row["cells"][0]}</bdi></td>' in page
    assert not {r["id"] for r in data.rows["least_certain"]} & {
        r["id"] for r in data.rows["most_certain"]
    }


def test_no_column_of_the_rows_to_check_is_left_out() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 9)), np.repeat([0, 1, -1], [3, 3, 34])
    fold = re.compile(
        r"<summary>All (\d+) columns of these rows</summary>(.*?)</details>", re.DOTALL
    )
    for width, folded in ((8, False), (9, True)):
        data = collect(outcome(X[:, :width], y, LapSVC()))
        assert [len(row["cells"]) for row in data.rows["least_certain"]] == [width] * 10
        page = render(data)
        head = page[page.index("Least certain") :].partition("</thead>")[0]
        found = fold.search(page)
        assert bool(found) == folded
        assert head.count('class="cell"') == (6 if folded else width)
        if found:
            assert found[1] == "9"
            for row in data.rows["least_certain"]:
                for cell in row["cells"]:
                    assert f"<bdi>{cell}</bdi>" in found[2]
    wide = sp.csr_array(rng.normal(size=(40, 600)))
    data = collect(outcome(wide, y, LapSVC(), names=[f"c{j}" for j in range(600)]))
    assert len(data.rows["columns"]) == 500
    assert "These are the first 500 columns." in render(data)


def test_cells_are_written_as_the_user_has_them() -> None:
    X = np.array([[1.0, 0.1234567890123, np.nan], [2e20, -3.0, 0.0]])
    names = ("a", "b", "c")
    table = SimpleNamespace(X=X, feature_names=names, originals={})
    assert row_columns(table, [0]) == {"a": ["1"], "b": ["0.123457"], "c": [""]}
    assert row_columns(table, [0, 1], most=2, exact=True) == {
        "a": ["1", "2e+20"], "b": ["0.1234567890123", "-3"],
    }  # fmt: skip
    sparse = SimpleNamespace(X=sp.csr_array(np.nan_to_num(X)), feature_names=names, originals={})
    assert row_columns(sparse, [1]) == {"a": ["2e+20"], "b": ["-3"]}
    frame = pl.DataFrame({"a": [1.5, 2.0], "b": ["x" * 99, None], "c": [0.0, 1.0]})
    table = SimpleNamespace(X=frame, feature_names=names, originals={})
    assert row_columns(table, [1, 0], most=2) == {"a": ["2", "1.5"], "b": ["", "x" * 59 + "…"]}
    assert row_columns(table, [0], exact=True)["b"] == ["x" * 99]
    assert row_columns(table, []) == {"a": [], "b": [], "c": []}


def test_cells_of_columns_that_were_made_into_something_else() -> None:
    since = cells_of_texts(["3.4.2020", "", "5"])
    table = SimpleNamespace(
        X=np.array([[0.0, 1.5], [np.nan, 2.0], [7.0, 3.0]]),
        feature_names=("since (days)", "b"),
        originals={"since": since, "b": None},
    )
    assert row_columns(table, [0, 1, 2]) == {
        "since": ["3.4.2020", "", "5"], "b": ["1.5", "2", "3"],
    }  # fmt: skip


def test_labelled_rows_are_neither_sure_nor_to_check() -> None:
    scores = np.array([[4.0, 0], [0, 2], [1.1, 0], [0.9, 0], [0, 0], [3, 0]])
    answers = Predictions(
        np.arange(6), np.array(list("abaaaa")), np.arange(6) < 2, np.array(list("ab")), scores
    )
    y = np.array(["a", "b", "", "", "", ""])
    rows = ClassRows.read(answers, y)
    assert not rows.sure.any()
    assert rows.unsure.tolist() == [False, False, True, True, True, True]
    assert rows.least_certain(2).tolist() == [4, 3]
    sure = np.array([True, False, False, False, False, True])
    told = ClassRows.read(replace(answers, sure=sure), y)
    assert told.sure.tolist() == [False, False, False, False, False, True]
    assert told.unsure.tolist() == [False, False, True, True, True, False]


def test_labels_that_differ_in_what_is_not_shown_are_different_classes() -> None:
    classes = np.array(["x" * 300 + "a", "x" * 300 + "b"], dtype=object)
    scores = np.array([[2.0, 0], [0, 2], [1, 0]])
    answers = Predictions(
        np.arange(3), classes[[0, 1, 0]], np.arange(3) < 2, classes, scores
    )  # fmt: skip
    y = np.array([*classes, ""], dtype=object)
    rows = ClassRows.read(answers, y, truth=[*classes, classes[1]])
    assert rows.given.tolist() == [0, 1, -1]
    assert rows.predicted.tolist() == [0, 1, 0]
    assert rows.truth is not None
    assert rows.truth.tolist() == [0, 1, 1]
    assert [len(name) for name in rows.names] == [300, 300]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "To claim 99 % takes 52 labels or more. Look at some"),
        ({"level": 0.99}, "97.0 % of the sure answers are expected to be right, 90.0 % to 99.0 %"),
        (
            {"threshold": None},
            "or too many of them were predicted wrongly. To claim 99 % takes",
        ),
        ({"n_needed": 0}, "Nothing here says how often this method is right"),
        ({"n_tests": 1}, "This comes from 1 label that was left out"),
    ],
)
def test_what_sure_answers_rest_on_is_said(changes: dict[str, Any], expected: str) -> None:
    trust = {
        "level": 0.9, "threshold": 0.8, "expected": 0.97, "low": 0.9, "high": 0.99,
        "n_tests": 9, "n_needed": 52,
    }  # fmt: skip
    words = trust_words(trust | changes).replace("\u00a0", " ")
    assert expected in words
    assert ("To claim 99 %" in words) == (changes not in ({"level": 0.99}, {"n_needed": 0}))


def test_how_many_are_sure_is_said() -> None:
    volumes = {"n_sure": 3, "n_to_check": 1, "trust": {"level": 0.95}}
    words = sure_words(volumes).replace("\u00a0", " ")
    assert words.startswith(
        "3 of 4 rows without a label have a sure answer (75.0 %), 1 is to check"
    )
    assert words.endswith("Of the sure answers 95 % or more should be right.")
    assert sure_words(volumes | {"n_sure": 0}) == (
        "No answer is sure: the row without a label is to check."
    )


def step(**changes: Any) -> str:
    row = {"id": "r7", "label": "a", "predicted": "b"}
    report = {
        "kind": "classification",
        "fitted": {"margin_note": ""},
        "rows": {
            "n_contradicted": 0,
            "suggested": [],
            "contradicted": [row],
            "least_certain": [{"id": f"u{i}"} for i in range(10)],
        },
        "graph": {
            "n_points": 200,
            "n_points_unlabeled": 0,
            "n_components_unlabeled": 0,
            "unlabeled_components": [],
        },
        "volumes": {"n_to_check": 20},
    }
    notes = changes.pop("notes", [{"level": "good", "text": "fine"}])
    for section, values in changes.items():
        report[section] = values if isinstance(values, str) else report[section] | values
    return next_step(report, notes, Hints("--next next.csv writes them.", "lapwing predict"))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "Label the least certain rows (u0, u1, u2, …) and fit again. --next next.csv"),
        ({"volumes": {"n_to_check": 2}}, "Label the least certain rows (u0, u1) and"),
        ({"volumes": {"n_to_check": 0}}, "Look at some of the answers, and use them: all are"),
        ({"rows": {"suggested": [{"id": "t1"}]}}, "Label the most informative rows (t1) and"),
        ({"rows": {"least_certain": []}}, "Every row has a label. Use the model for new rows"),
        ({"rows": {"n_contradicted": 1}}, "Check the label of row r7: it is “a”, but"),
        (
            {"rows": {"n_contradicted": 1,
                      "contradicted": [{"id": "r7", "label": "a", "predicted": "?"}]}},
            "“?” counts as a class here. If it means no label, mark its rows as unlabelled",
        ),
        (
            {"graph": {"n_points_unlabeled": 9, "n_components_unlabeled": 2,
                       "unlabeled_components": [{"ids": ["s1", "s2"]}, {"ids": ["s3"]}]}},
            "Label a row in each of the 2 parts of the graph that no label reaches, such as s1,",
        ),
        (
            {"graph": {"n_points_unlabeled": 9, "n_components_unlabeled": 1,
                       "unlabeled_components": [{"ids": ["s1"]}]}},
            "Label a row in the 1 part of the graph",
        ),
        # A speck is not worth a label.
        (
            {"graph": {"n_points_unlabeled": 2, "n_components_unlabeled": 1}},
            "Label the least certain rows",
        ),
        (
            {"notes": [{"level": "problem", "text": "It burns."}], "rows": {"n_contradicted": 1}},
            "Look at this problem first. It burns.",
        ),
        (
            {"kind": "regression",
             "rows": {"outliers": [{"id": "r9", "label": 2.0, "predicted": 5.5}]}},
            "Compare row r9 with your records: its label is 2.00, the others point to 5.50",
        ),
        (
            {"kind": "regression", "rows": {"outliers": []}},
            "No label stands out from the others. Use the model for new rows: lapwing predict.",
        ),
    ],
)  # fmt: skip
def test_one_next_step(changes: dict[str, Any], expected: str) -> None:
    assert step(**changes).startswith(expected)


def test_a_label_stands_out_by_the_fit_without_it() -> None:
    """Also where the fit follows it; where labels are missed by much, no one stands out."""
    rng = np.random.default_rng(0)
    given = np.where(np.arange(20) < 15, 5 + rng.normal(size=20), np.nan)
    given[3] = 1e6
    predicted = np.nan_to_num(given, nan=5.0)  # followed exactly
    rows = NumberRows(np.arange(20).astype(str), ~np.isnan(given), given, predicted, None, None)
    errors = rng.normal(size=15)
    errors[3] = 1e6 - 5
    (found,) = rows.list_rows(3, errors)["outliers"]
    assert (found["index"], found["label"], found["predicted"]) == (3, 1e6, 5.0)
    assert rows.list_rows(3, rng.uniform(-60, 60, 15))["outliers"] == []
    assert rows.list_rows(3, None)["outliers"] == []
    assert rows.list_rows(3, errors[:9])["outliers"] == []  # equal rows are one error


# The map


def test_every_point_says_what_it_is(of_moons: ReportData) -> None:
    data = of_moons
    drawn = render(data).partition('<figure id="map">')[2].partition("</figure>")[0]
    names = re.findall(r'<tspan class="who" x="360">row (\d+)</tspan>', drawn)
    assert sorted(map(int, names)) == list(range(1, 121))
    # The keyboard stops at the listed ones alone.
    stops = re.findall(r'tabindex="0" role="img" aria-label="row (\d+): [^"]+"', drawn)
    assert set(stops) == {row["id"] for row in data.rows["least_certain"]}
    assert drawn.count('tabindex="-1"') == 110
    worst = data.rows["least_certain"][0]
    assert f"{worst['predicted']}, margin {text.number(worst['margin'])}" in drawn
    assert drawn.count('<path class="ring"') == data.truth["n_errors"] > 0


def test_the_map_is_thinned_with_a_note_and_figures_do_not_grow(
    of_moons: ReportData, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "rows are drawn" not in render(of_moons)
    monkeypatch.setattr(page_module, "_DRAWN", 100)
    few, many = (collect(moons(n, twin=False)[0]) for n in (200, 800))
    assert (many.map["n_drawn"], many.map["n_rows"]) == (100, 800)
    assert sum(many.map["labeled"]) == 6
    assert "100 of 800 rows are drawn" in words_of(many)
    # The rows that are listed are on the map, whatever the sample.
    assert {row["index"] for row in many.rows["least_certain"]} <= set(many.map["index"])
    sizes = [len(json.dumps(data.to_dict())) for data in (few, many)]
    assert sizes[1] < 1.1 * sizes[0]


def test_principal_components_are_those_of_a_decomposition() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 5)) * [5, 3, 1, 1, 1]
    placed = place(X, np.arange(150))
    centred = X - X.mean(axis=0)
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    for axis, k in (("x", 0), ("y", 1)):
        drawn = np.array(placed[axis], dtype=float)
        assert abs(np.corrcoef(drawn, U[:, k])[0, 1]) > 0.9999
        assert text.percent(s[k] ** 2 / np.sum(s**2)) in placed["axes"][k]
    sparse = place(sp.csr_array(X), np.arange(150))
    assert np.abs(np.subtract(sparse["x"], placed["x"])).max() <= 2


def test_own_columns_place_the_rows(two_moons: Any) -> None:
    fit = two_moons[0]
    plane = np.column_stack([np.arange(120.0), np.zeros(120)])
    data = collect(asked(fit, layout=("east", EVIL)), embedding=plane)
    assert data.map["x"] == sorted(data.map["x"])
    assert len(set(data.map["y"])) == 1
    assert data.map["axes"] == ["east", EVIL]
    assert EVIL in words_of(data)


def test_a_far_row_is_drawn_at_the_border() -> None:
    X = np.random.default_rng(0).normal(size=(400, 2))
    X[7] = 1e6
    placed = place(X, np.arange(400), embedding=X)
    assert placed["n_outside"] >= 1
    spread = np.ptp(np.delete(np.array(placed["x"]), 7))
    assert spread > 5000  # tenths: the others still fill the map


@pytest.mark.parametrize(
    "X",
    [np.zeros((8, 3)), np.arange(8.0)[:, None], np.arange(16.0).reshape(8, 2), np.eye(8)],
    ids=["constant", "one column", "a line", "identity"],
)
def test_every_shape_has_a_map(X: Any) -> None:
    for form in (X, sp.csr_array(X)):
        placed = place(form, np.arange(8))
        assert np.isfinite(placed["x"]).all()
        assert all(0 <= v <= 10 * placed["height"] for v in placed["y"])


@pytest.mark.parametrize("constant", [True, False])
def test_many_sparse_columns_have_a_map(constant: bool) -> None:
    X = np.ones((6, 1500))
    if not constant:
        X[:3] = 0.0
    placed = place(sp.csr_array(X), np.arange(6))
    assert len(set(placed["x"])) == (1 if constant else 2)


def test_drawn_rows_are_the_same_every_time() -> None:
    labeled = np.arange(5000) < 1000
    first = choose_rows(labeled, 700)
    assert np.array_equal(first, choose_rows(labeled, 700))
    assert len(set(first.tolist())) == 700
    assert labeled[first].sum() == 300


# Storing


def test_figures_survive_json_exactly(
    all_data: dict[str, ReportData], pages: dict[str, str]
) -> None:
    for name, data in all_data.items():
        again = ReportData.from_dict(json.loads(json.dumps(data.to_dict(), allow_nan=False)))
        assert again == data
        assert render(again) == pages[name]


@pytest.mark.parametrize("wrong", [None, [], {}, {"kind": "classification"}, "text"])
def test_other_data_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="not the figures of a report"):
        ReportData.from_dict(wrong)


def test_damaged_data_are_refused_in_one_line(of_moons: ReportData) -> None:
    data = of_moons.to_dict()
    with pytest.raises(ValueError, match="damaged in 'map'"):
        ReportData.from_dict(data | {"map": 3})
    with pytest.raises(ValueError, match="damaged in 'kind'"):
        ReportData.from_dict(data | {"kind": "else"})
    for part in ("fitted", "map", "volumes", "convergence", "repeat"):
        with pytest.raises(ValueError, match="figures of the report are damaged"):
            render(ReportData.from_dict(data | {part: {}}))


def test_a_forged_figure_cannot_become_markup(of_moons: ReportData) -> None:
    data = of_moons.to_dict()
    data["fitted"]["n_features"] = 2
    data["convergence"]["solver"] = data["notes"][0]["text"] = data["notes"][0]["level"] = EVIL
    data["map"]["classes"][0] = data["graph"]["construction"] = EVIL
    page = Page(render(ReportData.from_dict(data)))
    assert page.all("script") == []
    data["map"]["x"][0] = EVIL
    with pytest.raises(ValueError, match="damaged"):
        render(ReportData.from_dict(data))


# The page


@pytest.mark.parametrize("name", ["classes", "numbers", "hostile"])
def test_the_page_is_well_formed_and_needs_nothing(pages: dict[str, str], name: str) -> None:
    html = pages[name]
    page = Page(html)
    assert page.wrong == []
    assert html.startswith("<!doctype html>")
    for tag in ("script", "img", "iframe", "object", "base"):
        assert page.all(tag) == []
    for _, attributes in page.elements:
        assert not [key for key in attributes if key.startswith("on")]
        for key in ("src", "href", "data", "action"):
            value = attributes.get(key)
            assert value is None or value.startswith("#") or value == "data:,"
    style = html.partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    assert "default-src 'none'" in html
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", html)
    html.encode("utf-8")


@pytest.mark.parametrize("name", ["classes", "numbers", "hostile"])
def test_the_page_is_ordered_for_screen_readers(pages: dict[str, str], name: str) -> None:
    page = Page(pages[name])
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert Counter(ids).most_common(1)[0][1] == 1
    for _, attributes in page.elements:
        for key in ("aria-labelledby", "href"):
            for target in (attributes.get(key) or "").split():
                if key != "href" or target.startswith("#"):
                    assert target.lstrip("#") in ids
    for picture in page.all("svg"):
        assert picture.get("aria-hidden") == "true" or picture.get("role") in ("img", "group")
    assert all(cell.get("scope") in ("row", "col") for cell in page.all("th"))
    assert all(
        region.get("aria-label") for _, region in page.elements if region.get("tabindex") == "0"
    )
    # Nothing that can be reached is in a picture that is one thing to a screen reader.
    assert page.inside_pictures == []
    assert page.all("html")[0]["lang"] == "en"


def test_hostile_names_are_shown_as_they_are(pages: dict[str, str]) -> None:
    page = Page(pages["hostile"])
    assert EVIL in page.text
    assert QUOTES in page.text
    assert "\u2400?" in page.text  # the null and the lone surrogate of the ids


@pytest.mark.slow
def test_same_data_same_bytes() -> None:
    code = (
        "import sys; from tests.helpers.report_cases import moons\n"
        "from lapwing._report.page import collect, render\n"
        "fit, truth = moons()\n"
        "page = render(collect(fit, truth=truth))\n"
        "sys.stdout.buffer.write(page.encode())"
    )
    # Processes of their own: the last digits depend on the threads of BLAS, which other tests set.
    made = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]
    assert made[0] == made[1]
    assert made[0].startswith(b"<!doctype html>")


def test_the_time_of_the_fit_is_not_in_the_page(two_moons: Any) -> None:
    fit = two_moons[0]
    assert collect(replace(fit, seconds=123.456)) == collect(fit)


def palettes() -> list[dict[str, str]]:
    style = resources.files("lapwing._report").joinpath("style.css").read_text(encoding="utf-8")
    found = []
    for block in re.findall(r":root \{(.*?)\n\s*\}", style, re.DOTALL):
        colors = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6});", block))
        short = {k: "#" + "".join(2 * c for c in v[1:]) for k, v in colors.items() if len(v) == 4}
        found.append(colors | short)
    assert len(found) == 3  # light, dark, print
    return found


@pytest.mark.parametrize("colors", palettes(), ids=["light", "dark", "print"])
def test_colors_are_far_enough_from_their_ground(colors: dict[str, str]) -> None:
    text_on = [(t, g) for t in ("ink", "soft", "accent") for g in ("paper", "card", "accent-soft")]
    text_on += [("problem", "paper"), ("problem", "accent-soft"), ("ink", "ground")]
    for level in ("good", "warning", "problem"):
        text_on += [(level, f"{level}-soft"), ("ink", f"{level}-soft")]
    rgb = {name: rgb_of(code) for name, code in colors.items()}
    assert {p: r for p in text_on if (r := contrast(rgb[p[0]], rgb[p[1]])) < 4.5} == {}
    signs = [f"k{i}" for i in range(10)] + [f"s{i}" for i in range(7)] + ["problem"]
    assert {s: r for s in signs if (r := contrast(rgb[s], rgb["ground"])) < 3} == {}


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast([0, 0, 0], [1, 1, 1]) == pytest.approx(21)
    assert contrast(rgb_of("#777777"), [1, 1, 1]) == pytest.approx(4.48, abs=0.01)


def test_many_classes_are_cut_with_a_note() -> None:
    rng = np.random.default_rng(0)
    X, truth = rng.normal(size=(180, 2)), np.arange(180) % 60
    y = np.where(np.arange(180) < 60, truth, -1)
    data = collect(outcome(X, y, LapRLSClassifier(), twin=False), truth=truth)
    assert len(data.volumes["classes"]) == 40
    assert data.truth["matrix"] == []
    assert "20 smaller classes" in words_of(data)


def test_every_row_labeled(two_moons: Any) -> None:
    _, truth = two_moons
    X = two_moons[0].table.X
    data = collect(outcome(X, truth, LapSVC(unlabeled=""), unlabeled=""), truth=truth)
    assert data.rows["least_certain"] == []
    assert data.twin == {}
    assert "Every row has a label" in words_of(data)


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


# Repeating


@pytest.mark.parametrize("case", ["two_moons", "sine"])
def test_the_lines_of_python_repeat_the_fit(case: str, request: pytest.FixtureRequest) -> None:
    fit, _ = request.getfixturevalue(case)
    lines = python_lines(fit.pipeline, fit.table.unlabeled)
    names: dict[str, Any] = {"X": fit.table.X, "y": fit.table.y}
    exec(lines, names)
    assert np.array_equal(names["model"].predict(fit.table.X), fit.pipeline.predict(fit.table.X))
    assert "_" not in "".join(re.findall(r"from ([\w.]+) import", lines)).replace("model_", "")


def test_the_lines_of_python_know_nested_steps() -> None:
    steps = ColumnTransformer(
        [("numeric", Pipeline([("scale", StandardScaler())]), [0]), ("text", OneHotEncoder(), [1])]
    )
    pipeline = Pipeline([("columns", steps), ("estimator", LapSVC(graph=KNNGraph(3)))])
    names: dict[str, Any] = {
        "X": np.array([[0.0, 1.0], [1.0, 0.0], [0.1, 1.0], [0.9, 0.0]]),
        "y": [0, 1, -1, -1],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(python_lines(pipeline, -1), names)
    assert names["model"].get_params()["estimator__graph"].n_neighbors == 3


def test_parameters_and_versions_are_listed(of_moons: ReportData) -> None:
    repeat = of_moons.repeat
    values = {p["name"]: p for p in repeat["parameters"]}
    assert values["unlabeled"] == {"name": "unlabeled", "value": "''", "changed": True}
    assert values["gamma_I"] == {"name": "gamma_I", "value": "1.0", "changed": False}
    assert set(repeat["versions"]) == {"Python", "lapwing", "numpy", "scipy", "scikit-learn"}
    assert repeat["versions"]["numpy"] == np.__version__
    assert repeat["command"] == "lapwing fit 'a b.csv'"


# Errors


def test_wrong_arguments_are_named(two_moons: Any) -> None:
    fit = two_moons[0]
    with pytest.raises(
        ValueError, match="truth must have an entry for each of the 120 rows, got 3"
    ):
        collect(fit, truth=[1, 2, 3])
    for wrong in (np.zeros((120, 3)), np.zeros((5, 2)), np.full((120, 2), np.nan)):
        with pytest.raises(ValueError, match="embedding must be two columns of finite numbers"):
            collect(fit, embedding=wrong)


def test_a_missing_jinja2_names_the_extra(
    of_moons: ReportData, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"'jinja2'.*'lapwing-learn\[report\]'"):
        render(of_moons)


# Words and numbers


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, "0"), (2.0, "2.00"), (0.00431, "0.00431"), (999.9, "1,000"), (123.4, "123"),
     (1234.5, "1,234"), (1e-9, "1.0e-09"), (2e7, "2.0e+07"), (None, "–"), (float("nan"), "–")],
)  # fmt: skip
def test_numbers(value: Any, expected: str) -> None:
    assert text.number(value) == expected


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.0, "0.0 %"), (1.0, "100.0 %"), (1e-6, "< 0.1 %"), (0.99999, "> 99.9 %"), (0.1234, "12.3 %"),
     (None, "–")],
)  # fmt: skip
def test_shares(share: Any, expected: str) -> None:
    assert text.percent(share) == expected.replace(" ", "\u00a0")


def test_words() -> None:
    assert text.plural(1, "row") == "1 row"
    assert text.plural(1200, "class", "classes") == "1,200 classes"
    assert text.clean("a\x00b\x7f\x9b\ud800") == "a␀b␡␡?"
    assert len(text.clean("x" * 1000)) == 300
    assert [text.label_text(v) for v in (3.0, 3, "3.0", None, float("nan"), "")] == [
        "3", "3", "3.0", "", "", ""
    ]  # fmt: skip
    assert text.shorten("class 21", 5) == "cl…21"
    assert [text.tick(v) for v in (0, 2.0, 0.25, 5000, 1e9)] == ["0", "2", "0.25", "5,000", "1e+09"]


def test_a_fit_of_a_file_with_texts_and_its_repetition(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = np.array(["dove", "<gull>"])[np.arange(60) % 2]
    lines = ["id,size,colour,known,truth,east,north"]
    for i in range(60):
        size, colour = rng.normal() + 3 * (i % 2), ("red", "blue", "red", "green")[i % 4]
        known = truth[i] if i < 12 else ""
        lines.append(f"b{i},{size:.3f},{colour},{known},{truth[i]},{i},{i % 7}")
    file = tmp_path / "birds.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    request = FitRequest(
        data=(file,), label="known", id="id", truth="truth", layout=("east", "north"),
        method="lapsvc", report=tmp_path / "r.html",
    )  # fmt: skip
    table = reading.read(request)
    fit = fitting.fit(table, request)
    data = collect(fit)
    assert data.truth["n"] == 48
    assert data.fitted["n_columns"] == 4
    assert data.map["x"] == sorted(data.map["x"])
    assert data.fitted["source"].endswith("birds.csv")
    assert Page(render(data)).wrong == []
    names: dict[str, Any] = {"X": table.X, "y": table.y}
    exec(data.repeat["python"], names)
    assert np.array_equal(names["model"].predict(table.X), fit.pipeline.predict(table.X))


def test_a_path_of_parameters_is_shown(two_moons: Any, sine: Any) -> None:
    for fit, estimator in (
        (two_moons[0], LapRLSClassifierCV(unlabeled="")),
        (sine[0], LapRLSRegressorCV()),
    ):
        table = fit.table
        data = collect(outcome(table.X, table.y, estimator, unlabeled=table.unlabeled, twin=False))
        assert data.path["n_settings"] > 1
        page = render(data)
        assert "settings were tried" in page
        told = "the error on left-out labels is"
        assert (told in page) is (data.kind == "regression")


# Labels that were left out, and columns that tell classes apart


def test_left_out_labels_are_counted_as_by_exact_leave_one_out() -> None:
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
    assert sum(one["accuracy"] * one["n_labels"] for one in groups) == pytest.approx(
        np.trace(expected)
    )
    assert [one["probability"] for one in groups] == sorted(o["probability"] for o in groups)
    for one in groups:  # Clopper and Pearson: the tails beyond the ends have 5 %
        k, n = round(one["accuracy"] * one["n_labels"]), one["n_labels"]
        assert k == n or stats.binom.cdf(k, n, one["high"]) == pytest.approx(0.05)
        assert k == 0 or stats.binom.sf(k - 1, n, one["low"]) == pytest.approx(0.05)
    page = render(data)
    assert "Labels that were left out" in page
    assert "Fraction of right answers by their probability" in page


def test_few_left_out_labels_have_no_calibration() -> None:
    found = collect(moons(60, 4)[0])
    assert found.rows["left_out"]["calibration"] == []
    assert "right answers over their probability" not in render(found)


def test_columns_tell_by_goodman_and_kruskals_tau() -> None:
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
    features = Features(frame, tuple(frame.columns), kinds)
    table = Table(features, codes, codes, codes >= 0, -1)
    columns = ColumnParts.of(table)
    assert columns.names == ["size", "team", "noise", "name"]
    told = dict(zip(columns.names, columns.association(codes), strict=True))
    assert 0.9 < told["size"] < 1.0  # one eighth holds two classes
    joint = np.array([[np.mean((columns.parts[1] == i) & (codes == j)) for j in range(3)]
                      for i in range(2)])  # fmt: skip
    alone = (joint.sum(axis=0) ** 2).sum()
    tau = ((joint**2 / joint.sum(axis=1, keepdims=True)).sum() - alone) / (1 - alone)
    assert told["team"] == pytest.approx((tau - 1 / 299) / (1 - 1 / 299))
    assert told["noise"] < 0.05
    assert told["name"] == 0.0  # as many values as rows tell nothing, though they guess all
    # Of two classes alone the team is the class, or nothing.
    assert columns.association(codes, among=[0, 2])[1] == pytest.approx(1.0)
    assert columns.association(codes, among=[1, 2])[1] == 0.0
    assert not columns.association(codes, among=[1]).any()
    # Texts that a pipeline in Python makes points of.
    texts = np.array([[f"red {k}"] for k in range(300)])
    alone = ColumnParts.of(replace(table, features=Features(texts, ("x0",))))
    assert alone.association(codes).tolist() == [0.0]


def test_the_telling_columns_stand_with_their_medians(two_moons: Any, of_moons: ReportData) -> None:
    fit = two_moons[0]
    found = of_moons.volumes["associations"]
    assert {one["name"] for one in found["columns"]} <= {"x0", "x1"}
    first = found["columns"][0]
    place = fit.table.feature_names.index(first["name"])
    codes = np.searchsorted(fit.estimator.classes_, fit.predictions.label)
    medians = [np.median(fit.table.X[codes == one["code"], place]) for one in found["classes"]]
    assert first["typical"] == [text.number(value) for value in medians]
    assert "Columns that tell the classes apart" in render(of_moons)


def test_seventy_classes_differ_and_forty_have_the_signs_of_the_labelling_page() -> None:
    assert len({svg.sign_of(k) for k in range(70)}) == 70
    script = (resources.files("lapwing._label") / "page" / "palette.js").read_text("utf-8")
    shapes = json.loads(re.search(r"SHAPE_OF = (\[.*?\])", script)[1])
    assert [svg.sign_of(code) for code in range(40)] == [
        (code % 10, (shapes[code % 10] + code // 10) % 4) for code in range(40)
    ]
