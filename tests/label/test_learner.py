"""Model of the page: graph, warnings, equal rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing import LapERLSClassifier
from lapwing._label.history import NO_CODE
from lapwing._label.learner import Learner
from tests.label.pages import TRUTH, X


def test_graph_suggests_rows_of_clusters_without_a_label() -> None:
    point_graph, _ = Learner(LapERLSClassifier(), X).prepare()
    found = point_graph.cover(np.array(TRUTH) == "u", 2, np.empty(0, dtype=np.intp))
    assert {TRUTH[row] for row in found} == {"v", "w"}


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_learns_if_the_first_rows_are_equal(form: Any) -> None:
    points = np.ones((2500, 2))
    points[2400:] = np.random.default_rng(0).normal(size=(100, 2))
    learner = Learner(LapERLSClassifier(), form(points))
    learner.prepare()
    codes = np.full(2500, NO_CODE, dtype=np.int32)
    codes[[3, 2401]] = 1, 0
    answers = learner.learn(codes)
    assert answers is not None
    assert (answers.codes[:2400] == 1).all()


def test_points_of_another_scale_are_reported() -> None:
    _, (warning,) = Learner(LapERLSClassifier(), X * [1.0, 1e6]).prepare()
    assert warning.startswith("Features differ in scale by more than")
