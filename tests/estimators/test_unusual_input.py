"""Inputs that are unusual and must work."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from lapwing import (
    FewLabelClassifier,
    KNNGraph,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    LapSVR,
)
from lapwing.exceptions import RowOrderWarning
from lapwing.model_selection import Candidate, compare
from lapwing.model_selection.candidates import LABELS_ALONE
from tests.estimators.test_sklearn import quick
from tests.helpers.data import labeled_clusters


def test_degenerate_points_give_finite_answers() -> None:
    X, y, _ = labeled_clusters(2)
    constant = np.hstack([X, np.full((len(X), 1), 7.0), np.zeros((len(X), 1))])
    with_zero_row = X.copy()
    with_zero_row[5] = 0
    for points in (constant, with_zero_row):
        for kernel in ("rbf", "linear", "poly", "laplacian", "cosine"):
            fitted = LapSVC(kernel).fit(points, y)
            assert np.isfinite(fitted.decision_function(points)).all()


def test_a_constant_feature_changes_nothing() -> None:
    X, y, _ = labeled_clusters(2)
    constant = np.hstack([X, np.full((len(X), 1), 7.0)])
    model = LapSVC(gamma_A=1e-2, graph=KNNGraph(6))  # the default graph depends on n_features
    f = clone(model).fit(X, y).decision_function(X)
    g = clone(model).fit(constant, y).decision_function(constant)
    np.testing.assert_allclose(g, f, atol=1e-7)


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.NothingUnlabeledWarning")
def test_all_points_labelled() -> None:
    X, _, truth = labeled_clusters(3)
    fitted = LapSVC(unlabeled=None).fit(X, truth)
    assert fitted.labeled_.all()
    assert fitted.score(X, truth) > 0.7


def test_one_label_a_class_and_one_target() -> None:
    X, _, truth = labeled_clusters(2)
    y = np.full(len(X), -1)
    y[[np.argmax(truth == 0), np.argmax(truth == 1)]] = [0, 1]
    assert len(np.unique(LapSVC().fit(X, y).predict(X))) == 2
    target = np.full(len(X), np.nan)
    target[3] = 2.5
    for regressor in (LapRLSRegressor(), LapSVR()):
        assert np.isfinite(regressor.fit(X, target).predict(X)).all()


def test_sparse_points_with_repeated_entries_are_their_sums() -> None:
    X, y, _ = labeled_clusters(2)
    coo = sp.coo_array(X)
    halves = sp.csr_array(
        (
            np.repeat(coo.data / 2, 2),
            np.repeat(coo.coords[1], 2),
            np.arange(0, 2 * X.size + 1, 2 * X.shape[1]),
        ),
        shape=X.shape,
    )
    for kernel in ("rbf", "linear", "laplacian", "cosine"):
        assert halves.nnz == 2 * X.size
        dense = LapSVC(kernel, gamma_A=1e-2).fit(X, y)
        f = dense.decision_function(X)
        np.testing.assert_allclose(dense.decision_function(halves.copy()), f, atol=1e-6)
        fitted = LapSVC(kernel, gamma_A=1e-2).fit(halves.copy(), y)
        np.testing.assert_allclose(fitted.decision_function(X), f, atol=1e-6)
        np.testing.assert_allclose(fitted.decision_function(halves.copy()), f, atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian", "cosine", "poly"])
def test_sparse_points_may_have_long_indices(kernel: str) -> None:
    X, y, _ = labeled_clusters(2)
    long = sp.csr_array(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    fitted = LapSVC(kernel, gamma_A=1e-2).fit(long, y)
    f = LapSVC(kernel, gamma_A=1e-2).fit(X, y).decision_function(X)
    np.testing.assert_allclose(fitted.decision_function(long), f, atol=1e-6)
    assert long.indices.dtype == np.int64


@pytest.mark.parametrize("kernel", ["rbf", "poly", "cosine"])
def test_the_unit_of_sparse_features_does_not_matter(kernel: str) -> None:
    """test_every tries dense points."""
    X, y, _ = labeled_clusters(3)
    X = X.astype(np.float32)
    f = LapSVC(kernel, gamma_A=0.1).fit(sp.csr_array(X), y).decision_function(X)
    for unit in (2.0**100, 2.0**-100):
        scaled = sp.csr_array((X * unit).astype(np.float32))
        found = LapSVC(kernel, gamma_A=0.1).fit(scaled, y).decision_function(scaled)
        np.testing.assert_allclose(found, f, atol=1e-4)


def test_new_points_too_far_off_to_be_squared_have_the_value_of_the_bias() -> None:
    X, y, _ = labeled_clusters(3)
    model = LapSVC(fit_intercept=True).fit(X.astype(np.float32), y)
    far = model.decision_function(np.full((2, 3), 1e30, dtype=np.float32))
    np.testing.assert_array_equal(far, np.tile(model.intercept_, (2, 1)))


INDEX = pd.Index([f"row {k}" for k in range(60)])


@pytest.mark.parametrize(
    "model", [LapRLSClassifier(), quick(FewLabelClassifier)], ids=["plain", "few"]
)
def test_labels_in_another_order_of_the_same_index_are_reported_once(model: Any) -> None:
    X, y, _ = labeled_clusters(2, n=60, n_labels=6)
    frame, turned = pd.DataFrame(X, index=INDEX).add_prefix("x"), pd.Series(y, index=INDEX[::-1])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = model.fit(frame, turned).transduction_
    (one,) = [each for each in told if each.category is RowOrderWarning]
    assert "row 0 is 'row 0' in X and 'row 59' in y" in str(one.message)
    np.testing.assert_array_equal(found, model.fit(frame, turned.to_numpy()).transduction_)
    model.fit(frame, turned.loc[frame.index][::-1].set_axis(INDEX))  # warnings are errors


@pytest.mark.parametrize(
    "index",
    [INDEX, INDEX + "?", pd.RangeIndex(60), [*INDEX[1:], "another"]],
    ids=["same", "others", "counted", "one-other"],
)
def test_other_indices_are_taken_in_order(index: Any) -> None:
    X, y, _ = labeled_clusters(2, n=60, n_labels=6)
    LapRLSClassifier().fit(pd.DataFrame(X, index=INDEX).add_prefix("x"), pd.Series(y, index=index))


def test_comparison_warns_of_another_row_order() -> None:
    X, y, _ = labeled_clusters(2, n=60, n_labels=6)
    frame, turned = pd.DataFrame(X, index=INDEX), pd.Series(y, index=INDEX[::-1])
    one = [Candidate("alone", LapRLSClassifier(gamma_I=0), LABELS_ALONE)]
    with pytest.warns(RowOrderWarning, match=r"give y\.loc\[X\.index\]"):
        compare(frame, turned, candidates=one)
    numbers = [Candidate("alone", LapRLSRegressor(gamma_I=0), LABELS_ALONE)]
    with pytest.warns(RowOrderWarning, match=r"give y\.loc\[X\.index\]"):
        compare(frame, turned.where(turned >= 0), candidates=numbers)
