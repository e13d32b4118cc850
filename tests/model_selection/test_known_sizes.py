"""What left-out labels say of the rows where the sizes of the classes are told."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

from lapwing import S3VC, BalancedGraphClassifier, LapERLSClassifier, LapSVC
from lapwing.classes.labels import code_classes
from lapwing.datasets import mask_labels
from lapwing.model_selection import (
    Candidate,
    compare,
    default_candidates,
    leave_one_out,
)
from lapwing.model_selection.candidates import (
    LABELS_ALONE,
    SHEETS,
    agreed_sizes,
    guessing,
    known_sizes,
    label_rows,
    with_sizes,
)
from lapwing.model_selection.comparison import in_order
from lapwing.model_selection.evidence import CONSTANTS, estimate_error, posterior
from tests.helpers.data import around_corners
from tests.model_selection.test_compare import row

NAMES = np.array(["a", "b"])
CODES = np.array([0, 0, 0, 1, -1])
QUICK = {"n_draws": 2, "max_left_out": 4, "random_state": 0}


def problem(sizes: Any = (160, 40), n_labels: int = 4, seed: int = 0) -> tuple[Any, Any, Any]:
    """Clusters that overlap, labels in equal numbers."""
    truth = np.repeat(np.arange(len(sizes)), sizes)
    X = around_corners(truth, np.random.default_rng(seed), distance=1.5)
    return X, mask_labels(truth, n_labels, random_state=seed), truth


def figures(X: Any, y: Any, **options: Any) -> list[Any]:
    """All that a comparison says in numbers, its times aside."""
    frame = compare(X, y, **options, **QUICK).to_frame()
    return frame.drop(columns=["name", "seconds", "objection"]).to_numpy().tolist()


# --- labels and rows ------------------------------------------------------------------------------


def test_labels_stand_for_rows_as_an_answer_of_those_sizes_misses_them() -> None:
    """Brute force: swap as many rows of two classes of 80:20, and count."""
    truth = np.repeat([0, 1], [80, 20])
    for swapped in (1, 5, 16):
        answer = truth.copy()
        answer[:swapped], answer[80 : 80 + swapped] = 1, 0
        wrong = answer != truth
        rates = [wrong[truth == k].mean() for k in (0, 1)]
        stands_for = np.divide(rates, wrong.mean())
        np.testing.assert_allclose(label_rows(2, np.array([0.8, 0.2])), stands_for)


def test_an_answer_by_sizes_alone_is_the_guess_and_misses_in_that_proportion() -> None:
    """Three classes: classes drawn by their sizes, whatever the row."""
    sizes = np.array([0.7, 0.2, 0.1])
    wrong = 1 - sizes  # of the rows of each class
    assert guessing(3, sizes) == pytest.approx(sizes @ wrong)
    np.testing.assert_allclose(label_rows(3, sizes), wrong / (sizes @ wrong))
    assert (guessing(4), guessing(4, np.full(4, 0.25))) == (0.75, pytest.approx(0.75))


@pytest.mark.parametrize("sizes", [[0.8, 0.2], [0.5, 0.3, 0.2], [0.97, 0.02, 0.01]])
def test_labels_in_proportion_to_the_sizes_stand_for_themselves(sizes: list[float]) -> None:
    parts = np.array(sizes)
    assert (100 * parts) @ label_rows(len(parts), parts) == pytest.approx(100)


# --- the estimate ---------------------------------------------------------------------------------


def test_the_estimate_by_hand() -> None:
    """80:20, ten labels each: 25 and 6.25 rows, two labels missed, 0.32 wrong by guessing."""
    found = estimate_error(
        0.1, np.array([1, 1]), np.array([10, 10]), contradiction=0.05, sizes=np.array([0.8, 0.2])
    )
    weight = CONSTANTS.prior_labels * 0.5 / 0.32
    mean = (CONSTANTS.unseen + 0.1 + 0.05) * 0.32 / 0.5
    a = weight * mean + CONSTANTS.of_a_label * 2
    b = weight * (1 - mean) + CONSTANTS.of_a_label * (31.25 - 2)
    assert found.error == pytest.approx(a / (a + b))
    np.testing.assert_allclose([found.low, found.high], beta(a, b).interval(0.9))


def test_without_other_rows_the_labels_speak_alone() -> None:
    found = estimate_error(
        math.nan, np.array([8, 8]), np.array([40, 40]), sizes=np.array([0.8, 0.2])
    )
    counted = CONSTANTS.of_a_label * np.array([16, 125])
    assert found.error == pytest.approx((counted[0] + 0.5) / (counted[1] + 1))


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_equal_sizes_change_no_estimate(n_classes: int) -> None:
    missed, left_out = np.arange(n_classes) % 3, np.full(n_classes, 4)
    even = np.full(n_classes, 1 / n_classes)
    plain = estimate_error(0.2, missed, left_out, contradiction=0.1)
    np.testing.assert_allclose(
        estimate_error(0.2, missed, left_out, contradiction=0.1, sizes=even), plain
    )


def test_labels_in_proportion_to_the_sizes_count_as_they_are() -> None:
    left_out, missed = np.array([12, 6, 2]), np.array([1, 2, 1])
    a, b = posterior(math.nan, missed, left_out, CONSTANTS, sizes=left_out / 20)
    assert a == pytest.approx(CONSTANTS.of_a_label * 4 + 0.5)
    assert b == pytest.approx(CONSTANTS.of_a_label * 16 + 0.5)


def test_a_class_without_a_left_out_label_is_known_by_the_other() -> None:
    """What one class of two loses the other gets: five labels of it are three rows."""
    sizes, left_out = np.array([0.8, 0.2]), np.array([5, 0])
    a, b = posterior(math.nan, np.array([1, 0]), left_out, CONSTANTS, sizes=sizes)
    assert a == pytest.approx(CONSTANTS.of_a_label * 1 + 0.5)
    assert b == pytest.approx(CONSTANTS.of_a_label * (5 * 0.625 - 1) + 0.5)
    every = estimate_error(0.1, np.array([5, 0]), left_out, sizes=sizes)  # more than can be
    assert 0 < every.low < every.error < every.high <= 1


def test_the_interval_holds_the_share_it_is_of() -> None:
    """Labels of answers that hold the sizes, without the prior and with labels that count whole."""
    sizes, left_out = np.array([0.8, 0.2]), np.array([20, 20])
    whole = CONSTANTS._replace(of_a_label=1.0)
    rng = np.random.default_rng(0)
    for error in (0.05, 0.15, 0.25):
        rates = error * label_rows(2, sizes)
        drawn = [rng.binomial(left_out, rates) for _ in range(400)]
        found = [estimate_error(math.nan, one, left_out, whole, sizes=sizes) for one in drawn]
        assert np.mean([one.low <= error <= one.high for one in found]) >= 0.88
        assert np.mean([one.error for one in found]) == pytest.approx(error, abs=0.02)


def test_nothing_is_found_where_guessing_with_the_sizes_does_as_well() -> None:
    rows = [row("graph", error=0.27), row("SVM", LABELS_ALONE, error=0.3)]
    assert in_order(rows, 2)[0].name == "graph"
    assert in_order(rows, 2, np.array([0.8, 0.2]))[0].name == "SVM"  # guessing: 0.32
    few = [replace(one, n_left_out=0) for one in rows]
    assert in_order(few, 2, np.array([0.8, 0.2]))[0].name == "graph"


# --- who knows ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "known"),
    [
        (LapSVC(class_prior={"b": 1, "a": 4}), [0.8, 0.2]),
        (LapERLSClassifier(class_prior=[0.8, 0.2]), [0.8, 0.2]),
        (BalancedGraphClassifier(class_prior=np.array([80, 20])), [0.8, 0.2]),
        (S3VC(balance={"a": 0.8, "b": 0.2}), [0.8, 0.2]),
        # What the labels say by themselves is not known.
        (LapSVC(), None),
        (LapSVC(class_prior="unknown"), None),
        (LapSVC(class_prior="labels"), None),
        (S3VC(), None),
        (S3VC(balance=None), None),
        (S3VC(balance=(0.1, 0.4)), None),
    ],
)
def test_sizes_that_an_estimator_was_told_are_known(estimator: Any, known: Any) -> None:
    assert known_sizes(estimator, CODES, NAMES) == (None if known is None else pytest.approx(known))


def test_all_candidates_are_judged_by_the_sizes_that_some_know() -> None:
    def agreed(*estimators: Any) -> Any:
        candidates = [Candidate(str(k), one, SHEETS) for k, one in enumerate(estimators)]
        return agreed_sizes(candidates, CODES, NAMES)

    told, same = LapSVC(class_prior=[4, 1]), S3VC(balance={"a": 0.8, "b": 0.2})
    np.testing.assert_allclose(agreed(LapSVC(), told, same), [0.8, 0.2])
    assert agreed(LapSVC(), LapSVC(class_prior="labels")) is None
    assert agreed(told, LapSVC(class_prior="uniform")) is None
    np.testing.assert_allclose(agreed(told, LapSVC(class_prior=[1, 2, 3])), [0.8, 0.2])


# --- all together ---------------------------------------------------------------------------------


def test_a_comparison_is_that_of_candidates_that_were_told() -> None:
    X, y, _ = problem((48, 12), n_labels=2)
    told = with_sizes(default_candidates(X, n_classes=2), [4, 1], code_classes(y))
    assert figures(X, y, class_prior=[4, 1]) == figures(X, y, candidates=told)


# --- one estimator --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator", [LapSVC(class_prior={0: 4, 1: 1}), S3VC(balance={0: 0.8, 1: 0.2})]
)
def test_leave_one_out_says_the_share_of_rows(estimator: Any) -> None:
    X, y, _ = problem(n_labels=6)
    found = leave_one_out(estimator, X, y)
    n_missed = (found.predicted != found.labels)[found.left_out].sum()
    rows = 6 * 0.2 / 0.32 + 6 * 0.8 / 0.32
    assert n_missed > 0
    assert found.error == pytest.approx(n_missed / rows)
    assert found.standard_error == pytest.approx(np.sqrt(found.error * (1 - found.error) / rows))


def test_leave_one_out_of_equal_or_counted_sizes_is_the_share_of_labels() -> None:
    X, y, _ = problem(n_labels=6)
    y[np.flatnonzero(y == 1)[3:]] = -1
    for prior in (None, "unknown", "labels", "uniform"):
        found = leave_one_out(LapSVC(class_prior=prior), X, y)
        wrong = (found.predicted != found.labels)[found.left_out]
        assert found.error == wrong.mean()
