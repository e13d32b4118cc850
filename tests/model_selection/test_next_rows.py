"""Rows to label next, with any model and with none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from lapwing import S3VC, FewLabelClassifier, KNNGraph, LapRLSRegressor, LapSVC
from lapwing.datasets import mask_labels
from lapwing.model_selection import Candidate, rows_to_label

CENTERS = [[-6, -6], [-6, 6], [6, -6], [6, 6]]


@pytest.fixture(scope="module")
def clusters() -> tuple[Any, Any]:
    return make_blobs(120, centers=CENTERS, random_state=0)


@pytest.fixture(scope="module")
def labels(clusters: tuple[Any, Any]) -> Any:
    return mask_labels(clusters[1], 2, random_state=0)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_first_rows_show_every_cluster(clusters: tuple[Any, Any], as_sparse: bool) -> None:
    X, truth = clusters
    rows = rows_to_label(sparse.csr_array(X) if as_sparse else X, k=4)
    assert sorted(truth[rows]) == [0, 1, 2, 3]


def test_labels_say_which_clusters_are_left(clusters: tuple[Any, Any]) -> None:
    X, truth = clusters
    y = np.full(len(truth), "", dtype=object)
    y[np.flatnonzero(truth == 2)[:3]] = "two"  # one class: no model can be fitted yet
    rows = rows_to_label(X, y, k=3)
    assert sorted(truth[rows]) == [0, 1, 3]


def test_the_same_rows_as_an_updatable_regression_suggests(
    clusters: tuple[Any, Any], labels: Any
) -> None:
    X = clusters[0]
    y = np.where(labels < 0, np.nan, labels + 0.5)
    model = LapRLSRegressor(updatable=True).fit(X, y)
    assert_array_equal(rows_to_label(X, k=6, model=model), model.suggest(6))
    model.add_labels([1, 2], [1.5, 2.5])
    assert_array_equal(rows_to_label(X, k=6, model=model), model.suggest(6))


def test_rows_are_where_the_model_is_unsure(clusters: tuple[Any, Any], labels: Any) -> None:
    X, truth = clusters
    model = S3VC().fit(X, labels)
    model.transduction_proba_ = np.where((truth == 3)[:, None], 0.25, np.eye(4)[truth])
    assert truth[rows_to_label(X, k=2, model=model)].tolist() == [3, 3]
    assert len(set(truth[rows_to_label(X, labels, k=2)])) == 2


def test_a_pipeline_is_asked_by_what_its_last_step_sees(
    clusters: tuple[Any, Any], labels: Any
) -> None:
    X = clusters[0] * [1, 1000]
    scaled = StandardScaler().fit_transform(X)
    expected = rows_to_label(scaled, k=5, model=S3VC().fit(scaled, labels))
    model = make_pipeline(StandardScaler(), S3VC()).fit(X, labels)
    assert_array_equal(rows_to_label(X, k=5, model=model), expected)
    candidate = Candidate("one", make_pipeline(StandardScaler(), S3VC()), "classes are clusters")
    chooser = FewLabelClassifier([candidate], n_draws=1, max_left_out=0).fit(X, labels)
    assert_array_equal(rows_to_label(X, k=5, model=chooser), expected)
    assert_array_equal(
        rows_to_label(scaled, k=5, model=make_pipeline(S3VC().fit(scaled, labels))), expected
    )


def test_the_graph_is_the_one_that_was_asked_for_then_that_of_the_model(
    clusters: tuple[Any, Any], labels: Any
) -> None:
    X = clusters[0]
    own = LapSVC(graph=KNNGraph(12)).fit(X, labels)
    usual = LapSVC().fit(X, labels)
    usual.transduction_proba_ = own.transduction_proba_
    by_own = rows_to_label(X, k=8, model=own)
    assert (by_own != rows_to_label(X, k=8, model=usual)).any()
    assert_array_equal(by_own, rows_to_label(X, k=8, model=usual, graph=KNNGraph(12)))


def test_labels_that_are_given_count_in_place_of_those_of_the_fit(
    clusters: tuple[Any, Any], labels: Any
) -> None:
    X, truth = clusters
    model = S3VC().fit(X, labels)
    first = rows_to_label(X, k=3, model=model)
    y = labels.copy()
    y[first] = truth[first]
    assert not set(first) & set(rows_to_label(X, y, k=3, model=model))


def test_there_are_as_many_as_are_left_and_equal_rows_are_one() -> None:
    X = np.array([[0.0], [1.0], [1.0], [2.0], [3.0]])
    assert sorted(rows_to_label(X, [-1, -1, 5, -1, 5], k=9)) == [0, 3]
    assert len(rows_to_label(X, [5, 5, -1, 5, 5], k=2)) == 0


@pytest.mark.parametrize("k", [0, -1, 1.5, "3", True])
def test_a_wrong_number_is_refused(k: Any) -> None:
    with pytest.raises(ValueError, match=r"k=.* must be a whole number of rows, 1 or more"):
        rows_to_label(np.eye(4), k=k)


def test_what_does_not_fit_together_is_refused(clusters: tuple[Any, Any], labels: Any) -> None:
    X = clusters[0]
    with pytest.raises(TypeError, match="SVC is no estimator of lapwing"):
        rows_to_label(X, k=2, model=SVC())
    with pytest.raises(NotFittedError):
        rows_to_label(X, k=2, model=S3VC())
    model = S3VC().fit(X, labels)
    with pytest.raises(ValueError, match=r"X has 100 rows and the model was fitted to 120"):
        rows_to_label(X[:100], k=2, model=model)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        rows_to_label(X, labels[:50], k=2)
    with pytest.raises(ValueError, match="X contains NaN in 58 places"):
        rows_to_label(np.where(X > 6, np.nan, X), k=2)
