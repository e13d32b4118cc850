"""Leave-one-out, left-out rounds, reproducibility and contradiction, against plain fits."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.svm import SVC

from lapwing import (
    S3VC,
    FewLabelClassifier,
    LapERLSClassifier,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
)
from lapwing.exceptions import LapwingWarning
from lapwing.model_selection import Candidate, leave_one_out, reproducibility, trials
from lapwing.model_selection.candidates import CLUSTERS, LABELS_ALONE
from lapwing.model_selection.trials import (
    LeaveOneOut,
    contradiction,
    leave_out_rounds,
    make_rounds,
    start,
    start_supervised,
)
from tests.estimators.test_prepare import data_for
from tests.helpers.data import labeled_clusters, labeled_curve
from tests.helpers.estimators import EXAMPLES
from tests.helpers.low_density import ONE_DESCENT

SOME = ["LapSVC", "LapRLSClassifier", "S3VC", "LapERLSClassifier", "LapRLSRegressor"]


def unlabeled(y: Any, rows: Any) -> Any:
    left = y.copy()
    left[rows] = np.nan if y.dtype.kind == "f" else -1
    return left


# --- leave-one-out --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOME)
def test_every_label_is_predicted_by_the_fit_without_it(name: str) -> None:
    estimator = EXAMPLES[name].estimator
    X, y, _, weights = data_for(estimator)
    found = leave_one_out(estimator, X, y, sample_weight=weights)
    rows = np.flatnonzero(~np.isnan(y) if y.dtype.kind == "f" else y >= 0)
    copies = np.isin(found.rows, [10, 11])
    np.testing.assert_array_equal(found.labels, y[found.rows])
    assert set(found.rows) <= set(rows)
    for k in np.flatnonzero(~copies)[::5]:
        row = found.rows[k]
        model = clone(estimator).fit(X, unlabeled(y, [row]), sample_weight=weights)
        if is_classifier(estimator):
            assert found.predicted[k] == model.transduction_[row]
        else:
            assert found.predicted[k] == pytest.approx(model.transduction_[row], abs=1e-6)


def test_of_equal_rows_the_labeled_one_is_suspicious() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 0.3, (40, 2)), rng.normal(4, 0.3, (40, 2))])
    y = np.full(80, -1)
    y[:6], y[40:46], y[3] = 0, 1, 1  # the label of row 3 is that of the other cluster
    X, y = np.vstack([X[3], X[3], X]), np.concatenate([[-1, 0], y])  # rows 0 and 1 equal row 5
    found = leave_one_out(LapRLSClassifier(), X, y)
    np.testing.assert_array_equal(found.rows, np.flatnonzero(y >= 0))
    np.testing.assert_array_equal(found.labels, y[found.rows])
    model = LapRLSClassifier(updatable=True).fit(X, y)
    assert found.suspicious.tolist() == model.suspicious_labels().tolist() == [5]


def test_single_labels_of_classes_are_not_left_out() -> None:
    X, y, _ = labeled_clusters(3, n_labels=1)
    found = leave_one_out(LapSVC(), X, y)
    assert not found.left_out.any()
    assert np.isnan([found.error, found.standard_error]).all()
    assert len(found.suspicious) == 0
    np.testing.assert_array_equal(found.predicted, found.labels)


def test_the_error_of_a_regression_is_the_unexplained_variance() -> None:
    X, y, _ = labeled_curve()
    found = leave_one_out(LapRLSRegressor(), X, y)
    total = ((found.labels - found.labels.mean()) ** 2).sum()
    missed = ((found.labels - found.predicted) ** 2).sum()
    assert found.error == pytest.approx(missed / total)
    assert np.isnan(found.standard_error)
    assert len(found.suspicious) == 0


def test_a_class_prior_shifts_the_left_out_values_as_the_fit() -> None:
    X, y, _ = labeled_clusters(3, n_labels=5)
    estimator = LapRLSClassifier(class_prior=[0.7, 0.2, 0.1])
    model = clone(estimator).fit(X, y)
    with_prior = leave_one_out(estimator, X, y).decision_values
    plain = leave_one_out(LapRLSClassifier(), X, y).decision_values
    np.testing.assert_allclose(
        with_prior - plain, np.tile(model.class_offsets_, (15, 1)), atol=1e-9
    )


# --- left-out rounds ------------------------------------------------------------------------------

ROUND_FITS = {
    "LapSVC": LapSVC(),
    "prior": LapSVC(class_prior="uniform"),
    "LapERLS": LapERLSClassifier(),
    "S3VC": S3VC(balance=None, **ONE_DESCENT),
}


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
@pytest.mark.parametrize("estimator", ROUND_FITS.values(), ids=ROUND_FITS.keys())
def test_each_round_is_a_fit_without_its_labels(estimator: Any, n_classes: int) -> None:
    X, y, _ = labeled_clusters(n_classes, n_labels=4, distance=2.0, seed=5)
    y[np.flatnonzero(y == 0)[0]] = -1  # three labels in four rounds: one is left out twice
    trial = start(estimator, X, y)
    found = leave_out_rounds(trial, 4 * n_classes, seed=1)
    problem = trial.prepared.problem
    times, missed = np.zeros(len(found.codes)), np.zeros(len(found.codes))
    possible = np.ones(len(found.codes), dtype=bool)
    for left in make_rounds(found.codes, possible, trial.ranks[problem.index], 4, seed=1):
        rows = problem.rows[problem.index[left]]
        without = y.copy()
        without[rows] = -1
        answers = clone(estimator).fit(X, without).transduction_[rows]
        times[left] += 1
        missed[left] += answers != y[rows]
    np.testing.assert_array_equal(found.missed, missed / times)
    assert found.missed.any()
    assert found.n_left_out(n_classes).tolist() == [3, *[4] * (n_classes - 1)]
    assert found.n_missed(n_classes).sum() == pytest.approx(found.missed.sum())


# --- reproducibility ------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [S3VC(**ONE_DESCENT), LapSVC()])
def test_labelled_rows_of_weight_0_count_for_nothing(estimator: Any) -> None:
    X, y, _ = labeled_clusters(2, distance=3.0)
    gone = np.flatnonzero(y == 0)[0]
    weights = np.ones(len(y))
    weights[gone] = 0
    found = reproducibility(estimator, X, y, sample_weight=weights, n_draws=2, random_state=0)
    without = np.delete(np.arange(len(y)), gone)
    alone = reproducibility(estimator, X[without], y[without], n_draws=2, random_state=0)
    assert found.share == alone.share


@pytest.mark.parametrize("name", SOME)
def test_shares_are_those_of_plain_fits_to_the_drawn_labels(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recompute the shares from the recorded draws."""
    estimator = EXAMPLES[name].estimator
    X, y, _, _ = data_for(estimator)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    drawn: list[Any] = []
    draw = trials._draw
    monkeypatch.setattr(trials, "_draw", lambda *args: drawn.append(draw(*args)) or drawn[-1])
    found = reproducibility(estimator, X, y, 3, sample_weight=weights, random_state=0)
    answer = clone(estimator).fit(X, y, sample_weight=weights).transduction_
    single = np.unique(X, axis=0, return_index=True)[1]  # of equal rows one
    changes = []
    for rows in drawn:
        labels, of_drawn = unlabeled(y, slice(None)), weights.copy()
        labels[rows] = answer[rows]
        # A drawn label has the mean weight of the labels of its class.
        if is_classifier(estimator):
            assert np.bincount(labels[rows]).tolist() == np.bincount(y[y >= 0]).tolist()
            for label in found.classes:
                of_drawn[labels == label] = weights[y == label].mean()
        else:
            of_drawn[rows] = weights[~np.isnan(y)].mean()
        again = clone(estimator).fit(X, labels, sample_weight=of_drawn).transduction_
        if is_classifier(estimator):
            change = (again != answer).astype(float)
        else:
            change = (again - answer) ** 2 / np.var(answer[single])
        change[rows] = np.nan
        changes.append(change)
    each = np.array(changes)
    close = partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-9)
    close(found.draws, np.nanmean(each, axis=1))
    judged = ~np.isnan(each).all(axis=0)
    close(1 - found.of_rows[judged], np.nanmean(each[:, judged], axis=0))
    for share, label in zip(found.of_class, found.classes, strict=True):
        close(share, np.nanmean(each[:, answer == label], axis=1).mean())
    assert found.share == pytest.approx(found.draws.mean())
    assert found.standard_error >= found.draws.std(ddof=1) / np.sqrt(3) * (1 - 1e-12)


def test_the_standard_error_includes_shared_pools() -> None:
    """It covers the scatter of means over seeds, unlike that of independent draws."""
    X, y, _ = labeled_clusters(3, n_labels=4)
    found = [reproducibility(LapRLSClassifier(), X, y, 40, random_state=s) for s in range(8)]
    scatter = np.std([one.share for one in found], ddof=1)
    of_independent = found[0].draws.std(ddof=1) / np.sqrt(40)
    assert of_independent < scatter < np.mean([one.standard_error for one in found]) < 2 * scatter


def test_classes_without_rows_and_rows_left_out_have_no_share() -> None:
    X, y, _ = labeled_clusters(3, n_labels=3)
    weights, gone = np.ones(len(y)), np.flatnonzero(y == 0)[0]
    weights[gone] = 0
    model = LapRLSClassifier(class_prior=[0.5, 0.4999, 0.0001])
    for n_draws in (1, 5):
        found = reproducibility(model, X, y, n_draws, sample_weight=weights, random_state=0)
        assert np.isnan(found.of_class).tolist() == [False, False, True]
        assert np.isnan(found.of_class_standard_error).tolist() == [n_draws == 1] * 2 + [True]
        assert np.isnan(found.standard_error) == (n_draws == 1)
    # A class without rows keeps its labels in each draw, so that their rows are never judged.
    assert set(np.flatnonzero(np.isnan(found.of_rows))) == {gone, *np.flatnonzero(y == 2)}
    for wrong in (0, 1.5, "5"):
        with pytest.raises(ValueError, match=f"n_draws={wrong!r} must be a whole number of at lea"):
            reproducibility(model, X, y, wrong)


# --- contradiction --------------------------------------------------------------------------------

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


# --- estimators -----------------------------------------------------------------------------------


@pytest.mark.parametrize("trial", [leave_one_out, reproducibility])
def test_other_estimators_are_refused(trial: Any) -> None:
    X, y, _ = labeled_clusters(2, n_labels=4)
    with pytest.raises(TypeError, match=r"SVC cannot be tried.* of searches give best_estimator_"):
        trial(SVC(), X, y)
    with pytest.raises(TypeError, match=r"FewLabelClassifier would choose .*best_estimator_\."):
        trial(FewLabelClassifier(), X, y)


def test_leave_one_out_is_printed_in_words() -> None:
    ten, empty = np.arange(10), np.empty(0)
    some = np.array([4, 9, 1, 2, 3, 5, 6])
    found = LeaveOneOut(ten, empty, empty, empty, ten > 0, 7 / 9, 0.1386, some)
    assert str(found).splitlines() == [
        "9 of 10 labels left out, one by one; 1 could not be, as the only ones of their class",
        "error: 77.8% (standard error 13.9%)",
        "probably labelled wrong: rows 4, 9, 1, 2, 3 and 2 more",
    ]
    few = replace(found, suspicious=some[:1])
    assert str(few).endswith("\nprobably labelled wrong: rows 4")
    of_regression = replace(few, standard_error=np.nan, left_out=ten >= 0)
    assert str(of_regression).splitlines()[:2] == [
        "10 of 10 labels left out, one by one",
        "error: 0.778 of the variance is not explained",
    ]
    assert "\nerror: not known\n" in str(replace(few, error=np.nan))
