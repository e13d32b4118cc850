"""Rows to label next, with any model and with none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from lapwing import (
    AffinityGraph,
    BalancedGraphClassifier,
    FewLabelClassifier,
    KNNGraph,
    LapRLSRegressor,
    LapRLSRegressorCV,
    LapSVC,
)
from lapwing.dask import DaskLapERLSClassifier
from lapwing.datasets import mask_labels
from lapwing.estimators import prepared as points_module
from lapwing.exceptions import NothingUnlabeledWarning
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
    model = LapSVC().fit(X, labels)
    model.transduction_proba_ = np.where((truth == 3)[:, None], 0.25, np.eye(4)[truth])
    assert truth[rows_to_label(X, k=2, model=model)].tolist() == [3, 3]
    assert len(set(truth[rows_to_label(X, labels, k=2)])) == 2


def test_a_pipeline_is_asked_by_what_its_last_step_sees(
    clusters: tuple[Any, Any], labels: Any
) -> None:
    X = clusters[0] * [1, 1000]
    scaled = StandardScaler().fit_transform(X)
    expected = rows_to_label(scaled, k=5, model=LapSVC().fit(scaled, labels))
    model = make_pipeline(StandardScaler(), LapSVC()).fit(X, labels)
    assert_array_equal(rows_to_label(X, k=5, model=model), expected)
    candidate = Candidate("one", make_pipeline(StandardScaler(), LapSVC()), "classes are sheets")
    chooser = FewLabelClassifier([candidate], n_draws=1, max_left_out=0).fit(X, labels)
    assert_array_equal(rows_to_label(X, k=5, model=chooser), expected)
    assert_array_equal(
        rows_to_label(scaled, k=5, model=make_pipeline(LapSVC().fit(scaled, labels))), expected
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
    model = LapSVC().fit(X, labels)
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
    with pytest.raises(TypeError, match="SVC is not a fitted estimator of"):
        rows_to_label(X, k=2, model=SVC())
    with pytest.raises(TypeError, match="DaskLapERLSClassifier is not a fitted estim"):
        rows_to_label(X, k=2, model=DaskLapERLSClassifier())
    with pytest.raises(NotFittedError):
        rows_to_label(X, k=2, model=LapSVC())
    model = LapSVC().fit(X, labels)
    with pytest.raises(ValueError, match=r"X has 100 rows, but the model was fitted to 120"):
        rows_to_label(X[:100], k=2, model=model)
    with pytest.raises(ValueError, match="X has 120 rows, but y has 50 entries"):
        rows_to_label(X, labels[:50], k=2)
    with pytest.raises(TypeError, match=r"y=5 must have an entry for each row.*X, k=5"):
        rows_to_label(X, 5)
    frame = pd.DataFrame(X, columns=["a", "b"])
    named = LapSVC().fit(frame, labels)
    with pytest.raises(ValueError, match="feature names should match"):
        rows_to_label(frame[["b", "a"]], k=2, model=named)
    with pytest.raises(ValueError, match="X contains NaN in 58 places"):
        rows_to_label(np.where(X > 6, np.nan, X), k=2)


def test_a_matrix_is_about_all_rows(clusters: tuple[Any, Any], labels: Any) -> None:
    X, y = np.vstack([clusters[0], clusters[0][:9]]), np.append(labels, [0] + [-1] * 8)
    W = KNNGraph(5).affinity(np.vstack([clusters[0], clusters[0][:9] + 50]))
    model = LapSVC(graph=W).fit(X, y)
    far = rows_to_label(X, k=5, graph=W)
    assert (far >= 120).any()
    assert_array_equal(far, rows_to_label(X, k=5, graph=AffinityGraph(W)))
    K = rbf_kernel(X)
    of_kernel = LapSVC("precomputed", graph=W).fit(K, y)
    of_kernel.transduction_proba_ = model.transduction_proba_
    expected = rows_to_label(X, k=5, model=model)
    assert_array_equal(rows_to_label(K, k=5, model=of_kernel), expected)


def test_a_kernel_matrix_has_no_points_for_a_graph(clusters: tuple[Any, Any], labels: Any) -> None:
    K = rbf_kernel(clusters[0])
    model = LapSVC("precomputed", gamma_I=0).fit(K, labels)
    for graph in (None, KNNGraph()):
        with pytest.raises(ValueError, match=r"fitted to a kernel matrix, .*graph=AffinityGraph"):
            rows_to_label(K, k=2, model=model, graph=graph)
    graph = KNNGraph(10).affinity(clusters[0])
    assert len(rows_to_label(K, k=2, model=model, graph=graph)) == 2


def test_the_graph_is_that_of_the_fit_where_a_family_has_its_own_or_chooses(
    clusters: tuple[Any, Any], labels: Any
) -> None:
    X = clusters[0]
    model = BalancedGraphClassifier().fit(X, labels)
    own = KNNGraph(10, weights="steep", power=1)
    assert_array_equal(
        rows_to_label(X, k=9, model=model), rows_to_label(X, k=9, model=model, graph=own)
    )
    assert (
        rows_to_label(X, k=9, model=model) != rows_to_label(X, k=9, model=model, graph=KNNGraph(10))
    ).any()
    y = np.where(labels < 0, np.nan, labels + 0.5)
    graph = KNNGraph(20, normalized=False)
    chosen = LapRLSRegressorCV(graphs=[graph], updatable=True).fit(X, y)
    assert_array_equal(rows_to_label(X, k=9, model=chosen), chosen.suggest(9))
    assert (chosen.suggest(9) != rows_to_label(X, k=9, model=LapRLSRegressor().fit(X, y))).any()


def test_labels_are_read_as_the_model_read_its_own(clusters: tuple[Any, Any], labels: Any) -> None:
    X = clusters[0]
    for known, model in [
        (np.where(labels < 0, 99, labels), LapSVC(unlabeled=99)),
        (np.where(labels < 0, None, np.where(labels < 2, -1, 1)), LapSVC()),
        (np.where(labels < 0, np.nan, labels - 2.0), LapRLSRegressor()),  # -1 is a target
    ]:
        fitted = model.fit(X, known)
        expected = rows_to_label(X, k=4, model=fitted)
        assert_array_equal(rows_to_label(X, known, k=4, model=fitted), expected)


@pytest.mark.parametrize(
    ("rest", "cure"),
    [
        (-1, "If -1 means no label, pass unlabeled=-1."),
        ("unlabeled", "If 'unlabeled' means no label, pass unlabeled='unlabeled'."),
        (2, "If some have none, set y to None or NaN there"),
    ],
)
def test_labels_of_which_none_is_missing_are_reported(
    clusters: tuple[Any, Any], rest: Any, cure: str
) -> None:
    label = "one" if isinstance(rest, str) else 1
    with pytest.warns(NothingUnlabeledWarning, match=f"No row of y is unlabelled .*{cure}"):
        rows = rows_to_label(clusters[0], [label] * 3 + [rest] * 117, k=4)
    assert len(rows) == 0
    assert len(rows_to_label(clusters[0], [label] * 3 + [rest] * 117, k=4, unlabeled=rest)) == 4


@pytest.mark.parametrize("in_blocks", [False, True])
def test_points_on_disk(
    clusters: tuple[Any, Any],
    labels: Any,
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
    in_blocks: bool,
) -> None:
    X = clusters[0]
    np.save(tmp_path / "X.npy", X)
    expected = rows_to_label(X, k=4)
    model = LapSVC().fit(X, labels)
    if in_blocks:
        monkeypatch.setattr(points_module, "_SMALL_BYTES", 0)
    assert_array_equal(rows_to_label(tmp_path / "X.npy", k=4), expected)
    assert_array_equal(
        rows_to_label(tmp_path / "X.npy", k=4, model=model), rows_to_label(X, k=4, model=model)
    )
    found = KNeighborsTransformer(n_neighbors=5)
    assert_array_equal(
        rows_to_label(tmp_path / "X.npy", k=4, graph=found), rows_to_label(X, k=4, graph=found)
    )
    with pytest.raises(FileNotFoundError, match=r"There is no .*Y\.npy"):
        rows_to_label(tmp_path / "Y.npy", k=4)


def test_points_on_disk_that_a_graph_takes_as_an_array_must_fit(
    clusters: tuple[Any, Any], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "X.npy", np.tile(clusters[0], 9000))
    monkeypatch.setattr(points_module, "_SMALL_BYTES", 0)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "1m")
    with pytest.raises(MemoryError, match=r"TransformerGraph takes X as an array .*Use KNNGraph"):
        rows_to_label(tmp_path / "X.npy", k=2, graph=KNeighborsTransformer())
