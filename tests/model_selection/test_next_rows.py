"""Rows to label next, with any model and with none."""

from __future__ import annotations

from functools import partial
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


X, TRUTH = make_blobs(120, centers=CENTERS, random_state=0)
LABELS = mask_labels(TRUTH, 2, random_state=0)
TARGETS = np.where(LABELS < 0, np.nan, LABELS + 0.5)


def test_first_rows_cover_every_cluster_without_a_label() -> None:
    for points in (X, sparse.csr_array(X)):
        assert sorted(TRUTH[rows_to_label(points, k=4)]) == [0, 1, 2, 3]
    y = np.full(len(TRUTH), "", dtype=object)
    y[np.flatnonzero(TRUTH == 2)[:3]] = "two"  # one class: no model can be fitted yet
    assert sorted(TRUTH[rows_to_label(X, y, k=3)]) == [0, 1, 3]


def test_rows_are_where_the_model_is_unsure() -> None:
    model = LapSVC().fit(X, LABELS)
    model.transduction_proba_ = np.where((TRUTH == 3)[:, None], 0.25, np.eye(4)[TRUTH])
    assert TRUTH[rows_to_label(X, k=2, model=model)].tolist() == [3, 3]
    assert len(set(TRUTH[rows_to_label(X, LABELS, k=2)])) == 2


def test_the_last_step_of_a_pipeline_is_used() -> None:
    wide = X * [1, 1000]
    scaled = StandardScaler().fit_transform(wide)
    expected = rows_to_label(scaled, k=5, model=LapSVC().fit(scaled, LABELS))
    model = make_pipeline(StandardScaler(), LapSVC()).fit(wide, LABELS)
    assert_array_equal(rows_to_label(wide, k=5, model=model), expected)
    candidate = Candidate("one", make_pipeline(StandardScaler(), LapSVC()), "classes are sheets")
    chooser = FewLabelClassifier([candidate], n_draws=1, max_left_out=0).fit(wide, LABELS)
    assert_array_equal(rows_to_label(wide, k=5, model=chooser), expected)
    assert_array_equal(
        rows_to_label(scaled, k=5, model=make_pipeline(LapSVC().fit(scaled, LABELS))), expected
    )


def test_given_labels_replace_those_of_the_fit() -> None:
    model = LapSVC().fit(X, LABELS)
    first = rows_to_label(X, k=3, model=model)
    y = LABELS.copy()
    y[first] = TRUTH[first]
    assert not set(first) & set(rows_to_label(X, y, k=3, model=model))


def test_duplicates_are_returned_once_and_labeled_rows_never() -> None:
    X = np.array([[0.0], [1.0], [1.0], [2.0], [3.0]])
    assert sorted(rows_to_label(X, [-1, -1, 5, -1, 5], k=9)) == [0, 3]
    assert len(rows_to_label(X, [5, 5, -1, 5, 5], k=2)) == 0


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        *(
            ({"k": k}, ValueError, r"k=.* must be a whole number of at least 1")
            for k in (0, -1, 1.5, "3", True)
        ),
        ({"model": SVC()}, TypeError, "SVC is not a fitted estimator of"),
        ({"model": DaskLapERLSClassifier()}, TypeError, "DaskLapERLSClassifier is not a fitted e"),
        ({"model": LapSVC()}, NotFittedError, "LapSVC"),
        ({"y": np.zeros(50)}, ValueError, "X has 120 rows, but y has 50 entries"),
        ({"y": 5}, TypeError, r"y=5 must have an entry for each row.*X, k=5"),
    ],
)
def test_wrong_arguments_are_refused(changes: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        rows_to_label(X, **changes)


def test_other_points_than_those_of_the_fit_are_refused() -> None:
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = LapSVC().fit(frame, LABELS)
    for points, message in (
        (frame[:100], "X has 100 rows, but the model was fitted to 120"),
        (frame[["b", "a"]], "feature names should match"),
        (frame.where(frame < 6), "X contains NaN in 58 places"),
    ):
        with pytest.raises(ValueError, match=message):
            rows_to_label(points, k=2, model=model)


def test_a_graph_matrix_keeps_equal_rows_apart() -> None:
    points, y = np.vstack([X, X[:9]]), np.append(LABELS, [0] + [-1] * 8)
    W = KNNGraph(5).affinity(np.vstack([X, X[:9] + 50]))
    model = LapSVC(graph=W).fit(points, y)
    far = rows_to_label(points, k=5, graph=W)
    assert (far >= 120).any()
    assert_array_equal(far, rows_to_label(points, k=5, graph=AffinityGraph(W)))
    K = rbf_kernel(points)
    of_kernel = LapSVC("precomputed", graph=W).fit(K, y)
    of_kernel.transduction_proba_ = model.transduction_proba_
    expected = rows_to_label(points, k=5, model=model)
    assert_array_equal(rows_to_label(K, k=5, model=of_kernel), expected)


def test_a_kernel_matrix_has_no_points_for_a_graph() -> None:
    K = rbf_kernel(X)
    model = LapSVC("precomputed", gamma_I=0).fit(K, LABELS)
    for graph in (None, KNNGraph()):
        with pytest.raises(ValueError, match=r"fitted to a kernel matrix, .*graph=AffinityGraph"):
            rows_to_label(K, k=2, model=model, graph=graph)
    graph = KNNGraph(10).affinity(X)
    assert len(rows_to_label(K, k=2, model=model, graph=graph)) == 2


def test_the_graph_is_that_of_the_fit_if_a_family_has_its_own_or_selects_one() -> None:
    choose = partial(rows_to_label, X, k=9)
    model = BalancedGraphClassifier().fit(X, LABELS)
    own = KNNGraph(10, weights="steep", power=1)
    assert_array_equal(choose(model=model), choose(model=model, graph=own))
    assert (choose(model=model) != choose(model=model, graph=KNNGraph(10))).any()
    graph = KNNGraph(20, normalized=False)
    selected = LapRLSRegressorCV(graphs=[graph], updatable=True).fit(X, TARGETS)
    assert_array_equal(choose(model=selected), selected.suggest(9))
    assert (selected.suggest(9) != choose(model=LapRLSRegressor().fit(X, TARGETS))).any()
    selected.add_labels([1, 2], [1.5, 2.5])
    assert_array_equal(choose(model=selected), selected.suggest(9))


def test_labels_are_read_with_the_marker_of_the_model() -> None:
    for known, model in [
        (np.where(LABELS < 0, 99, LABELS), LapSVC(unlabeled=99)),
        (np.where(LABELS < 0, None, np.where(LABELS < 2, -1, 1)), LapSVC()),
        (np.where(LABELS < 0, np.nan, LABELS - 2.0), LapRLSRegressor()),  # -1 is a target
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
def test_labels_without_a_gap_are_reported(rest: Any, cure: str) -> None:
    label = "one" if isinstance(rest, str) else 1
    with pytest.warns(NothingUnlabeledWarning, match=f"No row of y is unlabelled .*{cure}"):
        rows = rows_to_label(X, [label] * 3 + [rest] * 117, k=4)
    assert len(rows) == 0
    assert len(rows_to_label(X, [label] * 3 + [rest] * 117, k=4, unlabeled=rest)) == 4


@pytest.mark.parametrize("in_blocks", [False, True])
def test_points_on_disk(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, in_blocks: bool) -> None:
    path, model = tmp_path / "X.npy", LapSVC().fit(X, LABELS)
    np.save(path, X)
    if in_blocks:
        monkeypatch.setattr(points_module, "_SMALL_BYTES", 0)
    for options in ({}, {"model": model}, {"graph": KNeighborsTransformer(n_neighbors=5)}):
        expected = rows_to_label(X, k=4, **options)
        assert_array_equal(rows_to_label(path, k=4, **options), expected)
    with pytest.raises(FileNotFoundError, match=r"There is no .*Y\.npy"):
        rows_to_label(tmp_path / "Y.npy", k=4)


def test_points_on_disk_that_a_graph_takes_as_an_array_must_fit(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "X.npy", np.tile(X, 9000))
    monkeypatch.setattr(points_module, "_SMALL_BYTES", 0)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "1m")
    with pytest.raises(MemoryError, match=r"TransformerGraph takes X as an array .*Use KNNGraph"):
        rows_to_label(tmp_path / "X.npy", k=2, graph=KNeighborsTransformer())
