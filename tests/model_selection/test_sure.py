"""Confident rows, against their definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import S3VC, FewLabelClassifier, LapRLSRegressor, LapSVC
from lapwing.classes.decoding import as_columns, of_each_class
from lapwing.exceptions import FewLabelsWarning
from lapwing.model_selection import Candidate, sure_rows
from tests.helpers.data import labeled_clusters
from tests.helpers.low_density import ONE_DESCENT


def fitted(n_labels: int = 30, n_classes: int = 2) -> tuple[Any, Any, Any]:
    X, y, truth = labeled_clusters(n_classes, n_labels=n_labels, distance=4.0)
    return LapSVC().fit(X, y), X, truth


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probability_is_the_mean_over_the_open_sharpness(n_classes: int) -> None:
    """By drawing the sharpness, where the code integrates."""
    model, X, _ = fitted(8, n_classes)
    scores = of_each_class(as_columns(model.decision_function(X)))
    draws = np.exp(model.probability_spread_ * np.random.default_rng(0).normal(size=20_000))
    gaps = scores.max(axis=1, keepdims=True) - scores
    best = [1 / np.exp(-model.probability_sharpness_ * t * gaps).sum(axis=1) for t in draws]
    n = model.probability_n_labels_ - n_classes
    expected = (1 - 0.5 / (n + 1)) * np.mean(best, axis=0)
    np.testing.assert_allclose(sure_rows(model, X).probability, expected, atol=5e-3)


@pytest.mark.parametrize("precision", [0.8, 0.9, 0.95])
def test_as_many_rows_as_the_precision_allows(precision: float) -> None:
    model, X, _ = fitted()
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
    model, X, _ = fitted()
    found, new = sure_rows(model, precision=0.8), sure_rows(model, X, precision=0.8)
    np.testing.assert_allclose(found.probability, new.probability, rtol=1e-6)
    assert not found.sure[model.labeled_].any()
    assert found.sure.any()
    assert new.sure[model.labeled_].any()


def test_equal_rows_are_all_sure_or_none_is() -> None:
    model, X, _ = fitted()
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
        model, X, _ = fitted(n_labels)
        model.transduction_proba_ = np.eye(2)[np.zeros(len(X), dtype=int)]  # certain of all
        assert model.probability_n_labels_ == 2 * n_labels
        assert sure_rows(model).sure.any() == possible


def test_no_row_is_sure_if_all_are_labeled() -> None:
    model, _, _ = fitted()
    model.labeled_ = np.ones_like(model.labeled_)
    assert not sure_rows(model, precision=0.5).sure.any()


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
        *((LapSVC(), p, ValueError, r"must be in \(0, 1\], e.g. 0.99") for p in (0, 1.01, np.nan)),
        (LogisticRegression(), 0.9, TypeError, "LogisticRegression is not a classifier of lapwing"),
        (LapRLSRegressor(), 0.9, TypeError, "LapRLSRegressor is not a classifier of lapwing"),
        (LapSVC(), 0.9, NotFittedError, "LapSVC"),
        (FewLabelClassifier(), 0.9, NotFittedError, "FewLabelClassifier"),
    ],
)
def test_wrong_arguments_are_refused(
    model: Any, precision: float, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        sure_rows(model, precision=precision)
