"""Calibration of probabilities by left-out labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import S3VC, BalancedGraphClassifier, FewLabelClassifier, LapESVC, LapSVC
from lapwing.classes.decoding import as_columns, of_each_class
from lapwing.classes.probabilities import fit_sharpness
from lapwing.exceptions import FewLabelsWarning
from lapwing.model_selection import Candidate, calibrate, sure_rows
from tests.helpers.data import labeled_clusters
from tests.helpers.low_density import ONE_DESCENT

AGAIN = [S3VC(**ONE_DESCENT), BalancedGraphClassifier(), LapESVC(class_prior="labels")]
GAP = Candidate("gap", AGAIN[0], "classes are clusters")
IDS = ["S3VC", "balanced", "LapESVC"]


@pytest.fixture(scope="module")
def fitted() -> tuple[Any, Any, Any, Any]:
    X, y, truth = labeled_clusters(2, n_labels=3)
    return X, y, truth, S3VC(**ONE_DESCENT).fit(X, y)


def scores(model: Any, X: Any) -> Any:
    return as_columns(model.decision_function(X))


def test_sharpness_is_that_of_fits_without_a_label_of_each_class() -> None:
    """With two labels per class two rounds leave all of them out, one of each class together."""
    X, y, _ = labeled_clusters(2, n_labels=2)
    model = S3VC(**ONE_DESCENT).fit(X, y)
    found = calibrate(model, X, y)
    rows = np.flatnonzero(y >= 0)
    expected = []
    # Which labels go together is drawn; either way every label is left out once.
    for pairing in (0, 1):
        values, codes = [], []
        first, second = rows[y[rows] == 0], rows[y[rows] == 1]
        for one, other in zip(first, np.roll(second, pairing), strict=True):
            left = y.copy()
            left[[one, other]] = -1
            values.append(scores(S3VC(**ONE_DESCENT).fit(X, left), X[[one, other]]))
            codes += [0, 1]
        F = scores(model, X)
        expected.append(
            fit_sharpness(
                S3VC._sharpness_prior, F[y < 0], F[rows], np.vstack(values), np.array(codes)
            )
        )
    assert found.probability_n_labels_ == 4
    assert any(
        found.probability_sharpness_ == pytest.approx(one.value, rel=1e-3) for one in expected
    )


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


def test_calibration_makes_rows_sure(fitted: Any) -> None:
    X, y, truth = labeled_clusters(2, n_labels=8, distance=5.0)
    model = S3VC(**ONE_DESCENT).fit(X, y)
    with pytest.warns(FewLabelsWarning, match=r"S3VC has left no label out.*calibrate\(model"):
        assert not sure_rows(model, precision=0.9).sure.any()
    sure = sure_rows(calibrate(model, X, y), precision=0.9).sure
    assert sure.mean() > 0.3
    assert (model.transduction_ == truth)[sure].mean() > 0.9


def test_models_that_leave_labels_out_are_not_recalibrated() -> None:
    X, y, _ = labeled_clusters(2, n_labels=3)
    model = LapSVC().fit(X, y)
    found = calibrate(model, X, y)
    assert found is not model
    assert found.probability_sharpness_ == model.probability_sharpness_


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


def test_a_few_label_classifier_is_calibrated_by_its_comparison(fitted: Any) -> None:
    X, y, _, plain = fitted
    asked = {"n_draws": 1, "max_left_out": 6, "random_state": 0}
    model = FewLabelClassifier([GAP], **asked)
    model.fit(X, y)
    expected = calibrate(plain, X, y, max_left_out=6)
    assert model.best_estimator_.probability_n_labels_ == 6
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=1e-6)
    np.testing.assert_array_equal(
        model.transduction_proba_, model.best_estimator_.transduction_proba_
    )


@pytest.mark.parametrize("piped", [False, True])
def test_calibrate_replaces_the_chosen_estimator(fitted: Any, piped: bool) -> None:
    X, y, _, plain = fitted
    asked = {"n_draws": 1, "max_left_out": 0, "random_state": 0}  # so that it knows nothing
    model = FewLabelClassifier([GAP], **asked)
    given = (
        make_pipeline(StandardScaler(with_mean=False, with_std=False), model) if piped else model
    )
    given.fit(X, y)
    assert model.best_estimator_.probability_n_labels_ == 0
    found = calibrate(given, X, y)
    twin = found[-1] if piped else found
    expected = calibrate(plain, X, y)
    assert twin.best_estimator_.probability_n_labels_ == 6
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=1e-6)
    np.testing.assert_allclose(twin.transduction_proba_, expected.transduction_proba_, rtol=1e-6)
    assert model.best_estimator_.probability_n_labels_ == 0  # it stays as it is


def test_data_of_another_fit_is_refused(fitted: Any) -> None:
    X, y, truth, model = fitted
    other = LogisticRegression().fit(X, truth)
    refused: list[tuple[Any, Any, Any, dict[str, int], type[Exception], str]] = [
        (
            model,
            X,
            y,
            {"max_left_out": 0},
            ValueError,
            "max_left_out=0 must be a whole number",
        ),
        (other, X, y, {}, TypeError, "LogisticRegression cannot be cali.*searches give best_esti"),
        (model, X[:, :1], y, {}, ValueError, "X has 1 features, and the model was fitted to 3"),
        (
            model,
            X,
            y + 7 * (y >= 0),
            {},
            ValueError,
            r"y has the classes \[7, 8\], and the",
        ),
    ]
    for given, points, labels, options, error, message in refused:
        with pytest.raises(error, match=message):
            calibrate(given, points, labels, **options)
    X, y, _ = labeled_clusters(2, n_labels=1)
    with pytest.raises(ValueError, match="Every class has one label, and none can be left out"):
        calibrate(S3VC(**ONE_DESCENT).fit(X, y), X, y)
