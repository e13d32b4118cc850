"""The learner: what the page's model knows, and how few labels it needs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from lapwing import LapERLSClassifier, LapSVC
from lapwing._label.history import NO_CODE
from lapwing._label.learner import Learner
from tests.label.pages import problem

AT_ONCE, MOST = 5, 60
NONE = np.empty(0, dtype=np.intp)


def labels_needed(X: Any, truth: Any, mark: float, rng: np.random.Generator | None) -> int:
    """Labels until the error stays at the mark; of suggested rows, or of random ones."""
    learner = Learner(LapERLSClassifier(), X, 10)
    point_graph, _ = learner.prepare()
    codes = np.full(len(truth), NO_CODE, dtype=np.int32)
    answers, needed = None, MOST + AT_ONCE
    for n in range(AT_ONCE, MOST + 1, AT_ONCE):
        if rng is not None:
            rows = rng.choice(np.flatnonzero(codes < 0), AT_ONCE, replace=False)
        elif answers is None:
            rows = point_graph.cover(codes >= 0, AT_ONCE, NONE)
        else:
            rows = answers.suggest(AT_ONCE, NONE)
        codes[rows] = truth[rows]
        answers = learner.learn(codes)
        assert answers is not None
        error = np.mean((answers.codes != truth)[codes < 0])
        needed = MOST + AT_ONCE if error > mark else min(needed, n)
    return needed


def test_suggested_digits_reach_the_error_of_lapsvc_with_fewer_labels_than_random_ones() -> None:
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:400], truth[:400]
    errors, by_chance = [], []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        rows = [rng.choice(np.flatnonzero(truth == k), 3, replace=False) for k in range(10)]
        y = np.full(len(truth), -1)
        y[np.concatenate(rows)] = truth[np.concatenate(rows)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of components without a label
            answers = LapSVC().fit(X, y).transduction_
        errors.append(np.mean((answers != truth)[y < 0]))
    mark = float(np.mean(errors))
    suggested = labels_needed(X, truth, mark, None)
    by_chance = [labels_needed(X, truth, mark, np.random.default_rng(s)) for s in range(2)]
    assert suggested < np.mean(by_chance) - AT_ONCE
    assert suggested <= 30, "no more than LapSVC had"


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_the_ground_covers_what_has_no_label(form: Any) -> None:
    X, truth = problem()
    learner = Learner(LapERLSClassifier(), form(X))
    point_graph, said = learner.prepare()
    assert said == ()
    labeled = np.zeros(60, dtype=bool)
    assert {truth[row] for row in point_graph.cover(labeled, 3, NONE)} == {"u", "v", "w"}
    labeled[[truth.index("u"), truth.index("v")]] = True
    assert truth[point_graph.cover(labeled, 1, NONE)[0]] == "w"
    first = point_graph.cover(labeled, 1, NONE)
    assert first[0] not in point_graph.cover(labeled, 57, first)


def test_rows_that_no_label_reaches() -> None:
    X, truth = problem()
    point_graph, _ = Learner(LapERLSClassifier(), X).prepare()
    names = np.array(truth)
    assert point_graph.unreached(names == "u") == (2, 40, min(truth.index("v"), truth.index("w")))
    assert point_graph.unreached(names != "u") == (1, 20, truth.index("u"))
    assert point_graph.unreached(names != "") is None


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_the_first_row_that_differs_may_come_late(form: Any) -> None:
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
    _, said = Learner(LapERLSClassifier(), X).prepare()
    assert len(said) == 1
    assert said[0].startswith("Features differ in scale by more than")
