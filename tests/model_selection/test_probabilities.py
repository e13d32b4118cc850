"""Calibration of probabilities by left-out labels, and confident rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import (
    S3VC,
    BalancedGraphClassifier,
    FewLabelClassifier,
    LapESVC,
    LapRLSRegressor,
    LapSVC,
)
from lapwing.classes.decoding import of_each_class
from lapwing.classes.probabilities import fit_sharpness
from lapwing.exceptions import FewLabelsWarning
from lapwing.model_selection import Candidate, calibrate, sure_rows
from tests.helpers.answers import scores
from tests.helpers.data import labeled_clusters
from tests.helpers.low_density import ONE_DESCENT

# --- calibration ----------------------------------------------------------------------------------

AGAIN = [S3VC(**ONE_DESCENT), BalancedGraphClassifier(), LapESVC(class_prior="labels")]
GAP = Candidate("gap", AGAIN[0], "classes are clusters")
IDS = ["S3VC", "balanced", "LapESVC"]


@pytest.fixture(scope="module")
def fitted() -> tuple[Any, Any, Any, Any]:
    X, y, truth = labeled_clusters(2, n_labels=3)
    return X, y, truth, S3VC(**ONE_DESCENT).fit(X, y)


def test_sharpness_is_that_of_fits_without_a_label_of_each_class() -> None:
    """With two labels per class two rounds leave all of them out, one of each class together."""
    X, y, _ = labeled_clusters(2, n_labels=2)
    model = S3VC(**ONE_DESCENT).fit(X, y)
    found, F = calibrate(model, X, y), scores(model, X)
    first, second = (np.flatnonzero(y == code) for code in (0, 1))
    expected = []
    for pairs in (np.c_[first, second], np.c_[first, second[::-1]]):  # the pairing is drawn
        values = []
        for pair in pairs:
            left = y.copy()
            left[pair] = -1
            values.append(scores(clone(model).fit(X, left), X[pair]))
        parts = F[y < 0], F[y >= 0], np.vstack(values), np.tile([0, 1], 2)
        expected.append(fit_sharpness(S3VC._sharpness_prior, *parts).value)
    assert found.probability_n_labels_ == 4
    assert any(found.probability_sharpness_ == pytest.approx(one, rel=1e-3) for one in expected)


@pytest.mark.parametrize("estimator", AGAIN, ids=IDS)
def test_answers_stay_and_probabilities_are_sharpened(estimator: Any) -> None:
    X, y, _ = labeled_clusters(3, n_labels=3)
    model = clone(estimator).fit(X, y)
    before = model.probability_sharpness_, model.transduction_proba_.copy()
    found = calibrate(model, X, y, max_left_out=6)
    assert found is not model
    assert (model.probability_sharpness_, model.probability_n_labels_) == (before[0], 0)
    np.testing.assert_array_equal(model.transduction_proba_, before[1])
    np.testing.assert_array_equal(found.predict(X), model.predict(X))
    assert found.probability_n_labels_ == 6  # two rounds of three
    assert found.probability_spread_ < model.probability_spread_
    P = found.predict_proba(X)
    s = found.probability_sharpness_ * of_each_class(scores(found, X))
    e = np.exp(s - s.max(axis=1, keepdims=True))
    np.testing.assert_allclose(P, e / e.sum(axis=1, keepdims=True), rtol=1e-9)
    np.testing.assert_array_equal(
        found.classes_[found.transduction_proba_.argmax(axis=1)], model.transduction_
    )


def test_calibration_makes_rows_sure_of_models_that_leave_no_label_out() -> None:
    X, y, truth = labeled_clusters(2, n_labels=8, distance=5.0)
    model, graph = S3VC(**ONE_DESCENT).fit(X, y), LapSVC().fit(X, y)
    with pytest.warns(FewLabelsWarning, match=r"S3VC has left no label out.*calibrate\(model"):
        assert not sure_rows(model, precision=0.9).sure.any()
    sure = sure_rows(calibrate(model, X, y), precision=0.9).sure
    assert sure.mean() > 0.3
    assert (model.transduction_ == truth)[sure].mean() > 0.9
    same = calibrate(graph, X, y)
    assert same is not graph
    assert same.probability_sharpness_ == graph.probability_sharpness_


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.NoClassStructureWarning")
def test_a_pipeline_and_an_updatable_model() -> None:
    X, y, truth = labeled_clusters(2, n_labels=3)
    model = make_pipeline(StandardScaler(), BalancedGraphClassifier(updatable=True)).fit(X, y)
    found = calibrate(model, X, y)
    assert found[-1].probability_n_labels_ == 6
    assert model[-1].probability_n_labels_ == 0
    np.testing.assert_array_equal(found.predict(X), model.predict(X))
    row = int(np.flatnonzero(y < 0)[0])
    assert found[-1].add_labels(row, truth[row]).labeled_[row]
    assert not model[-1].labeled_[row]


@pytest.mark.parametrize(("max_left_out", "piped"), [(6, False), (0, False), (0, True)])
def test_the_chosen_estimator_is_calibrated(fitted: Any, max_left_out: int, piped: bool) -> None:
    """By the labels that the comparison left out, or by `calibrate` if it left out none."""
    X, y, _, plain = fitted
    model = FewLabelClassifier([GAP], n_draws=1, max_left_out=max_left_out)
    pipe = make_pipeline(StandardScaler(with_mean=False, with_std=False), model)
    given = (pipe if piped else model).fit(X, y)
    assert model.best_estimator_.probability_n_labels_ == max_left_out
    found = given if max_left_out else calibrate(given, X, y)
    twin = found[-1] if piped else found
    expected = calibrate(plain, X, y, max_left_out=6)
    assert twin.best_estimator_.probability_n_labels_ == 6
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=1e-6)
    for one in (twin, twin.best_estimator_):
        proba = one.transduction_proba_
        np.testing.assert_allclose(proba, expected.transduction_proba_, rtol=1e-6)
    assert model.best_estimator_.probability_n_labels_ == max_left_out  # it stays as it is


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.LapwingWarning")
def test_data_of_another_fit_is_refused(fitted: Any) -> None:
    X, y, truth, model = fitted
    other = LogisticRegression().fit(X, truth)
    one, lonely, _ = labeled_clusters(2, n_labels=1)
    alone = S3VC(**ONE_DESCENT).fit(one, lonely)
    double, both = np.tile(X, (2, 1)), np.r_[y, np.where(y < 0, -1, 1 - y)]
    flat = S3VC(**ONE_DESCENT).fit(double, both)  # every labelled point has both labels
    refused: list[tuple[Any, Any, Any, float, type[Exception], str]] = [
        (model, X, y, 0, ValueError, "max_left_out=0 must be a whole number"),
        (model, X, y, 2.5, ValueError, r"max_left_out=2\.5 must be a whole number"),
        (other, X, y, 9, TypeError, "LogisticRegression cannot be cali.*searches give best_esti"),
        (model, X[:, :1], y, 9, ValueError, "X has 1 features, and the model was fitted to 3"),
        (model, X, y + 7 * (y >= 0), 9, ValueError, r"y has the classes \[7, 8\], and the"),
        (alone, one, lonely, 9, ValueError, "every class has one label only"),
        (flat, double, both, 9, ValueError, "all decision values are equal"),
    ]
    for given, points, labels, most, error, message in refused:
        with pytest.raises(error, match=message):
            calibrate(given, points, labels, max_left_out=most)


# --- confident rows -------------------------------------------------------------------------------


def sure_model(n_labels: int = 30, n_classes: int = 2) -> tuple[Any, Any, Any]:
    X, y, truth = labeled_clusters(n_classes, n_labels=n_labels, distance=4.0)
    return LapSVC().fit(X, y), X, truth


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probability_is_the_mean_over_the_open_sharpness(n_classes: int) -> None:
    """By drawing the sharpness, where the code integrates."""
    model, X, _ = sure_model(3, n_classes)
    values = of_each_class(scores(model, X))
    draws = np.exp(model.probability_spread_ * np.random.default_rng(0).normal(size=20_000))
    gaps = values.max(axis=1, keepdims=True) - values
    best = [1 / np.exp(-model.probability_sharpness_ * t * gaps).sum(axis=1) for t in draws]
    n = model.probability_n_labels_ - n_classes
    expected = (1 - 0.5 / (n + 1)) * np.mean(best, axis=0)
    np.testing.assert_allclose(sure_rows(model, X).probability, expected, atol=5e-3)


@pytest.mark.parametrize("precision", [0.8, 0.9, 0.95])
def test_as_many_rows_as_the_precision_allows(precision: float) -> None:
    model, X, _ = sure_model()
    found = sure_rows(model, X, precision=precision)
    p = np.sort(found.probability)[::-1]
    best = max((k for k in range(1, len(p) + 1) if p[:k].mean() >= precision), default=0)
    assert found.sure.sum() == best > 0
    assert found.threshold == found.probability[found.sure].min()
    assert found.probability[~found.sure].max(initial=0) < found.threshold
    assert found.precision == pytest.approx(found.probability[found.sure].mean())
    low, high = found.interval
    assert 0 < low < found.precision < high <= 1


def test_labeled_training_rows_are_not_sure() -> None:
    model, X, _ = sure_model()
    found, new = sure_rows(model, precision=0.8), sure_rows(model, X, precision=0.8)
    np.testing.assert_allclose(found.probability, new.probability, rtol=1e-6)
    assert not found.sure[model.labeled_].any()
    assert found.sure.any()
    assert new.sure[model.labeled_].any()
    model.labeled_ = np.ones_like(model.labeled_)
    assert not sure_rows(model, precision=0.5).sure.any()


def test_equal_rows_are_all_sure_or_none_is() -> None:
    model, X, _ = sure_model()
    rows = np.repeat(X, 3, axis=0)
    p = sure_rows(model, rows).probability
    for precision in np.linspace(p.mean(), p.max(), 12)[1:-1]:
        found = sure_rows(model, rows, precision=precision)
        sure = found.sure.reshape(-1, 3)
        np.testing.assert_array_equal(sure.all(axis=1), sure.any(axis=1))
        assert sure.any()
        assert found.precision >= precision


@pytest.mark.parametrize("model", [LapSVC(), S3VC(**ONE_DESCENT)])
def test_no_row_is_sure_if_no_label_was_left_out(model: Any) -> None:
    X, y, _ = labeled_clusters(2, n_labels=1)
    with pytest.warns(FewLabelsWarning, match="left no label out, so that no answer is sure"):
        found = sure_rows(model.fit(X, y))
    assert not found.sure.any()
    assert found.threshold == np.inf
    assert np.isnan([found.precision, *found.interval]).all()


def test_99_percent_needs_49_labels_and_one_per_class() -> None:
    for n_labels, possible in ((25, False), (26, True)):
        model, X, _ = sure_model(n_labels)
        model.transduction_proba_ = np.eye(2)[np.zeros(len(X), dtype=int)]  # certain of all
        assert model.probability_n_labels_ == 2 * n_labels
        assert sure_rows(model).sure.any() == possible


def test_few_label_classifiers_use_the_selected_estimator() -> None:
    X, y, _ = labeled_clusters(2, n_labels=30, distance=4.0)
    inner = make_pipeline(StandardScaler(), LapSVC())
    chosen = FewLabelClassifier([Candidate("graph", inner, "sheets")], n_draws=1).fit(X, y)
    model = make_pipeline(StandardScaler(), chosen)
    scaler, last = chosen.best_estimator_
    expected = sure_rows(last, precision=0.9)
    assert expected.sure.any()
    np.testing.assert_array_equal(sure_rows(chosen, precision=0.9).sure, expected.sure)
    np.testing.assert_array_equal(
        sure_rows(chosen, X, precision=0.9).probability,
        sure_rows(last, scaler.transform(X), precision=0.9).probability,
    )
    np.testing.assert_array_equal(sure_rows(model, precision=0.9).sure, expected.sure)


@pytest.mark.parametrize(
    ("model", "precision", "error", "message"),
    [
        *((LapSVC(), p, ValueError, r"must be a number in \(0, 1\], suc") for p in (0, 1.01, "a")),
        (LogisticRegression(), 0.9, TypeError, "LogisticRegression is not a classifier of lapwing"),
        (LapRLSRegressor(), 0.9, TypeError, "LapRLSRegressor is not a classifier of lapwing"),
        (LapSVC(), 0.9, NotFittedError, "LapSVC"),
        (FewLabelClassifier(), 0.9, NotFittedError, "FewLabelClassifier"),
    ],
)
def test_wrong_arguments_are_refused(model: Any, precision: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        sure_rows(model, precision=precision)
