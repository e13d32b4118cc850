"""Model of the page: graph, warnings, equal rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing import LapERLSClassifier
from lapwing._label.history import NO_CODE
from lapwing._label.learner import Learner
from tests.label.pages import problem

NONE = np.empty(0, dtype=np.intp)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_graph_suggests_rows_of_clusters_without_a_label(form: Any) -> None:
    X, truth = problem()
    learner = Learner(LapERLSClassifier(), form(X))
    point_graph, warnings = learner.prepare()
    assert warnings == ()
    labeled = np.zeros(60, dtype=bool)
    assert {truth[row] for row in point_graph.cover(labeled, 3, NONE)} == {"u", "v", "w"}
    labeled[[truth.index("u"), truth.index("v")]] = True
    assert truth[point_graph.cover(labeled, 1, NONE)[0]] == "w"
    first = point_graph.cover(labeled, 1, NONE)
    assert first[0] not in point_graph.cover(labeled, 57, first)


def test_unreached_rows_are_those_of_components_without_a_label() -> None:
    X, truth = problem()
    point_graph, _ = Learner(LapERLSClassifier(), X).prepare()
    names = np.array(truth)
    assert point_graph.unreached(names == "u") == (2, 40, min(truth.index("v"), truth.index("w")))
    assert point_graph.unreached(names != "u") == (1, 20, truth.index("u"))
    assert point_graph.unreached(names != "") is None


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_learns_if_the_first_rows_are_equal(form: Any) -> None:
    X = np.ones((2500, 2))
    X[2400:] = np.random.default_rng(0).normal(size=(100, 2))
    learner = Learner(LapERLSClassifier(), form(X))
    learner.prepare()
    codes = np.full(2500, NO_CODE, dtype=np.int32)
    codes[[3, 2401]] = 1, 0
    answers = learner.learn(codes)
    assert answers is not None
    assert (answers.codes[:2400] == 1).all()


def test_points_of_another_scale_are_reported() -> None:
    X = problem().X * np.array([1.0, 1e6])
    _, warnings = Learner(LapERLSClassifier(), X).prepare()
    assert len(warnings) == 1
    assert warnings[0].startswith("Features differ in scale by more than")
