"""Rounds of left-out labels, and the fits without them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from lapwing import S3VC, LapERLSClassifier, LapSVC
from lapwing.model_selection.trials import leave_out_rounds, make_rounds, start
from tests.helpers.data import labeled_clusters
from tests.helpers.low_density import ONE_DESCENT

FAMILIES = [
    LapSVC(),
    LapSVC(class_prior="labels"),
    LapERLSClassifier(),
    S3VC(**ONE_DESCENT),
]


def test_a_round_has_a_label_of_every_class_that_can_spare_one() -> None:
    codes = np.array([0, 0, 0, 1, 1, 2])
    possible = codes < 2
    rounds = make_rounds(codes, possible, np.zeros(6), 6, seed=0)
    assert [codes[left].tolist() for left in rounds] == [[0, 1]] * 6
    times = np.bincount(np.concatenate(rounds), minlength=6)
    assert times.tolist() == [2, 2, 2, 3, 3, 0]
    assert make_rounds(codes, codes < 0, np.zeros(6), 6, seed=0) == []


def test_rounds_are_drawn_by_a_seed_and_not_by_the_order_of_the_labels() -> None:
    codes, rng = np.repeat([0, 1], 5), np.random.default_rng(0)
    key, moved = rng.standard_normal(10), rng.permutation(10)
    rounds = make_rounds(codes, codes >= 0, key, 20, seed=3)
    assert len({tuple(left) for left in rounds}) > 10  # pairings change from turn to turn
    np.testing.assert_array_equal(rounds, make_rounds(codes, codes >= 0, key, 20, seed=3))
    again = make_rounds(codes[moved], codes >= 0, key[moved], 20, seed=3)
    np.testing.assert_array_equal(rounds, moved[np.array(again)])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", FAMILIES, ids=["LapSVC", "prior", "LapERLS", "S3VC"])
def test_each_round_is_a_fit_without_its_labels(estimator: Any, n_classes: int) -> None:
    X, y, _ = labeled_clusters(n_classes, n_labels=4, seed=5)
    trial = start(estimator, X, y)
    found = leave_out_rounds(trial, 3 * n_classes, seed=1)
    problem = trial.prepared.problem
    times, missed = np.zeros(len(found.codes)), np.zeros(len(found.codes))
    possible = np.ones(len(found.codes), dtype=bool)
    for left in make_rounds(found.codes, possible, trial.ranks[problem.index], 3, seed=1):
        rows = problem.rows[problem.index[left]]
        without = y.copy()
        without[rows] = -1
        answers = clone(estimator).fit(X, without).transduction_[rows]
        times[left] += 1
        missed[left] += answers != y[rows]
    told = times > 0
    np.testing.assert_array_equal(found.judged, told)
    np.testing.assert_array_equal(found.missed[told], (missed / np.maximum(times, 1))[told])
    assert found.n_left_out(n_classes).tolist() == [3] * n_classes
    assert found.n_missed(n_classes).sum() == pytest.approx(found.missed[told].sum())
