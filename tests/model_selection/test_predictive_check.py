"""Contradiction of predictions by a fit to the labels alone."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from lapwing import S3VC, LapSVC
from lapwing.exceptions import LapwingWarning
from lapwing.model_selection import Candidate
from lapwing.model_selection.candidates import CLUSTERS, LABELS_ALONE
from lapwing.model_selection.trials import contradiction, start_supervised

SVM = Candidate("SVM", LapSVC(gamma_I=0), LABELS_ALONE)
GAP = Candidate("gap", S3VC(), CLUSTERS)


def crossed(n: int = 120, n_labels: int = 3) -> tuple[Any, Any, Any, Any]:
    """Clusters left and right, and classes above and below: points, labels, classes, clusters."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2))
    side, above = np.arange(n) % 2, (np.arange(n) // 2) % 2
    X[:, 0] += np.where(side == 1, 4, -4)
    X[:, 1] += np.where(above == 1, 2.5, -2.5)
    y = np.full(n, -1)
    for code in (0, 1):
        y[rng.permutation(np.flatnonzero(above == code))[:n_labels]] = code
    return X, y, above, side


def against(X: Any, y: Any, answer: Any, weights: Any = None) -> float:
    """Contradiction of an answer by a fit to the labels alone."""
    found = start_supervised([GAP, SVM], X, y, weights)
    assert found is not None
    return contradiction(found, answer, 0)


def test_wrong_answers_with_wide_gaps_are_contradicted_and_right_ones_not() -> None:
    """Half of the rows differ, where labels of such clusters would leave next to none."""
    X, y, truth, side = crossed()
    assert against(X, y, truth) == 0
    assert against(X, y, side) == pytest.approx(0.5, abs=0.15)


def test_repeated_rows_are_contradicted_like_single_ones() -> None:
    """Points are merged where rows are equal; the answer has a code a row."""
    X, y, _, side = crossed()
    twice = np.vstack([X, X]), np.concatenate([y, np.full(len(y), -1)])
    assert against(*twice, np.tile(side, 2)) > 0.3


def test_rows_that_are_left_out_of_the_fit_do_not_count() -> None:
    X, y, truth, _ = crossed()
    weights = np.ones(len(y))
    gone = np.flatnonzero(y == 0)[0]
    weights[gone] = 0
    kept = np.arange(len(y)) != gone
    expected = against(X[kept], y[kept], truth[kept], weights[kept])
    # Whatever the answer of the row is.
    for code in (-1, 0, 1):
        assert against(X, y, np.where(kept, truth, code), weights) == expected


def test_fully_labeled_data_is_not_contradicted() -> None:
    X, _, truth, side = crossed(20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LapwingWarning)  # of just that
        for answer in (side, np.arange(20) >= 15):  # draws label all rows, or some
            assert against(X, truth, answer.astype(int)) == 0


def test_draws_of_every_row_contradict_nothing() -> None:
    X, y, _, _ = crossed(4, 1)
    y = np.array([0, -1, 1, -1])
    assert against(X, y, np.array([0, 0, 1, 1])) >= 0


def test_no_supervised_trial_without_a_candidate_that_can_be_fitted() -> None:
    X, y, _, _ = crossed()
    broken = Candidate("broken", LapSVC(gamma_A=-1, gamma_I=0), LABELS_ALONE)
    for candidates in ([GAP], [broken]):
        assert start_supervised(candidates, X, y, None) is None
