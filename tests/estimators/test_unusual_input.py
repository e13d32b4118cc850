"""Unusual inputs that are supported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning

from lapwing import (
    FewLabelClassifier,
    LapESVC,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    LapSVR,
)
from lapwing.exceptions import RowOrderWarning
from lapwing.model_selection import (
    Candidate,
    LabeledKFold,
    calibrate,
    compare,
    labeled_cross_val_predict,
    rows_to_label,
)
from lapwing.model_selection.candidates import LABELS_ALONE
from tests.estimators.test_sklearn import quick
from tests.helpers.data import halves, labeled_clusters, labeled_curve, long_indices
from tests.helpers.warned import texts


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian", "cosine"])
def test_degenerate_points_give_finite_answers(kernel: str) -> None:
    X, y, _ = labeled_clusters(2)
    X = np.hstack([X, np.full((len(X), 1), 7.0), np.zeros((len(X), 1))])
    with_zero_row = np.where(np.arange(len(X))[:, None] == 5, 0, X)
    for points in (X, with_zero_row):
        assert np.isfinite(LapSVC(kernel).fit(points, y).decision_function(points)).all()


@pytest.mark.parametrize("regressor", [LapRLSRegressor(), LapSVR()])
def test_a_single_target_gives_finite_answers(regressor: Any) -> None:
    X, y, _ = labeled_curve()
    y[np.flatnonzero(~np.isnan(y))[1:]] = np.nan
    assert np.isfinite(regressor.fit(X, y).predict(X)).all()


@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian", "cosine", "poly"])
@pytest.mark.parametrize("form", [halves, long_indices])
def test_sparse_points_of_unusual_form_equal_dense_points(form: Any, kernel: str) -> None:
    X, y, _ = labeled_clusters(2)
    dense = LapSVC(kernel, gamma_A=1e-2).fit(X, y)
    f, given = dense.decision_function(X), form(X)
    before = given.nnz, given.indices.dtype
    fitted = LapSVC(kernel, gamma_A=1e-2).fit(given, y)
    for found in (
        dense.decision_function(given),
        fitted.decision_function(X),
        fitted.decision_function(given),
    ):
        np.testing.assert_allclose(found, f, atol=1e-6)
    assert (given.nnz, given.indices.dtype) == before


def test_new_points_too_far_off_to_be_squared_have_the_value_of_the_bias() -> None:
    X, y, _ = labeled_clusters(3)
    model = LapSVC(fit_intercept=True).fit(X.astype(np.float32), y)
    far = model.decision_function(np.full((2, 3), 1e30, dtype=np.float32))
    np.testing.assert_array_equal(far, np.tile(model.intercept_, (2, 1)))


INDEX = pd.Index([f"row {k}" for k in range(60)])
PAIRS = pd.MultiIndex.from_arrays([range(60), range(60)])


@pytest.mark.parametrize(
    "model", [LapRLSClassifier(), quick(FewLabelClassifier)], ids=["plain", "few"]
)
def test_labels_in_another_order_of_the_same_index_are_reported_once(model: Any) -> None:
    X, y, _ = labeled_clusters(2, n=60, n_labels=6)
    frame, turned = pd.DataFrame(X, index=INDEX).add_prefix("x"), pd.Series(y, index=INDEX[::-1])
    (message,) = texts(lambda: model.fit(frame, turned), RowOrderWarning)
    assert "row 0 is 'row 0' in X and 'row 59' in y" in message
    found = model.transduction_
    np.testing.assert_array_equal(found, model.fit(frame, turned.to_numpy()).transduction_)
    one = [Candidate("alone", LapRLSClassifier(gamma_I=0), LABELS_ALONE)]
    plain = LapRLSClassifier()
    for act in (
        lambda: compare(frame, turned, candidates=one),
        lambda: rows_to_label(frame, turned),
        lambda: labeled_cross_val_predict(plain, frame, turned, cv=2),
    ):
        (message,) = texts(act, RowOrderWarning)
        assert "give y.loc[X.index]" in message


def test_labels_in_a_column_are_reported_once() -> None:
    X, y, _ = labeled_clusters(2, n=60, n_labels=3)
    column, alone = y[:, None], LapRLSClassifier(gamma_I=0)
    model = LapESVC().fit(X, y)
    for act in (
        lambda: compare(X, column, candidates=[Candidate("alone", alone, LABELS_ALONE)]),
        lambda: labeled_cross_val_predict(alone, X, column, cv=2),
        lambda: list(LabeledKFold(2).split(X, column)),
        lambda: calibrate(model, X, column),
    ):
        assert len(texts(act, DataConversionWarning)) == 1


@pytest.mark.parametrize(
    "index",
    [INDEX, INDEX + "?", pd.RangeIndex(60), [*INDEX[1:], "another"], PAIRS],
    ids=["same", "others", "counted", "one-other", "levels"],
)
def test_other_indices_are_taken_in_order(index: Any) -> None:
    X, y, _ = labeled_clusters(2, n=60, n_labels=6)
    frame, labels = pd.DataFrame(X, index=INDEX).add_prefix("x"), pd.Series(y, index=index)
    LapRLSClassifier().fit(frame, labels)
    LapRLSClassifier().fit(frame.set_index(PAIRS), labels)


@pytest.mark.parametrize("make", [pd.Categorical, pd.array, pd.Index])
def test_labels_of_pandas_without_an_index(make: Any) -> None:
    X, y, _ = labeled_clusters(2, n=60, n_labels=6)
    found = LapRLSClassifier().fit(pd.DataFrame(X).add_prefix("x"), make(y))
    assert found.transduction_.tolist() == LapRLSClassifier().fit(X, y).transduction_.tolist()
