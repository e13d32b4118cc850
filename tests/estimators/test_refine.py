"""Refinement of classifiers by refine='cut': transduction_ and predict."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits

from lapwing import Landmarks, LapERLSClassifier, LapESVC, LapRLSClassifier, LapSVC
from lapwing.estimators.template import prepare, solve
from tests.helpers.data import Data, around_corners, first_labels, shuffled

ESTIMATORS = {
    "LapSVC": LapSVC(),
    "LapSVC hinge": LapSVC(loss="hinge"),
    "LapSVC pcg": LapSVC(solver="pcg", max_iter=500, tol=1e-4),
    "LapSVC linear": LapSVC("linear"),
    "LapRLSClassifier": LapRLSClassifier(fit_intercept=True),
    "LapERLSClassifier": LapERLSClassifier(),
    "LapERLSClassifier landmarks": LapERLSClassifier(space=Landmarks(60), fit_intercept=True),
    "LapERLSClassifier exact": LapERLSClassifier(n_eigenvectors=None),
    "LapESVC": LapESVC(),
    "LapESVC landmarks": LapESVC(space=Landmarks(60)),
}
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)
SIZES = [60, 40, 30]


def clusters(n_classes: int = 3, seed: int = 0, distance: float = 2.0) -> Data:
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(n_classes), SIZES[:n_classes])
    X = around_corners(truth, rng, distance=distance)
    return shuffled(rng, X, first_labels(truth, 2), truth)


@cache
def plain_and_refined(name: str, n_classes: int) -> tuple[Any, Any]:
    """Return fits that are shared between tests, which must not change them."""
    X, y, _ = clusters(n_classes, seed=1)
    plain = clone(ESTIMATORS[name]).set_params(class_prior=SIZES[:n_classes]).fit(X, y)
    return plain, clone(plain).set_params(refine="cut").fit(X, y)


def cut(W: Any, codes: Any) -> float:
    W = W.toarray()
    return float(W[codes[:, None] != codes].sum() / 2)


@pytest.mark.parametrize(
    ("name", "n_classes"),
    [*((name, 3) for name in ESTIMATORS), ("LapSVC", 2), ("LapERLSClassifier", 2)],
)
def test_the_cut_falls_at_the_volumes_of_the_prior(name: str, n_classes: int) -> None:
    _, y, truth = clusters(n_classes, seed=1)
    sizes = SIZES[:n_classes]
    plain, model = plain_and_refined(name, n_classes)
    assert model.refined_
    assert np.bincount(model.transduction_).tolist() == sizes
    assert_array_equal(model.transduction_[y >= 0], y[y >= 0])
    assert_allclose(model.cut_history_[-1], cut(model.affinity_, model.transduction_))
    assert cut(model.affinity_, model.transduction_) < cut(plain.affinity_, plain.transduction_)
    assert_array_equal(model.transduction_proba_.argmax(axis=1), model.transduction_)
    assert (model.transduction_ != truth).mean() < 0.2


def digits(seed: int, n: int) -> Data:
    """Return some digits below five, with one label of each."""
    X, truth = load_digits(return_X_y=True)
    rows = np.random.default_rng(seed + 3).permutation(len(X))[:n]
    X, truth = X[rows][truth[rows] < 5], truth[rows][truth[rows] < 5]
    y, rng = np.full(len(truth), -1), np.random.default_rng(seed)
    for k in range(5):
        y[rng.choice(np.flatnonzero(truth == k))] = k
    return X, y, truth


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("seed", "n"), [(3, 100), (2, 100)])
def test_volumes_decide_where_scores_are_nearly_equal(seed: int, n: int, dtype: Any) -> None:
    X, y, _ = digits(seed, n)
    model = LapERLSClassifier(class_prior="uniform", refine="cut").fit(X.astype(dtype), y)
    assert model.refined_
    assert np.abs(np.bincount(model.transduction_) - len(X) / 5).max() < 1
    reached = cut(model.affinity_, model.transduction_)
    assert_allclose(model.cut_history_[-1], reached, rtol=1e-6)
    assert_array_equal(model.virtual_labels_.argmax(axis=1), model.transduction_)
    assert_array_equal(model.transduction_proba_.argmax(axis=1), model.transduction_)


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.SingleClassWarning")
@pytest.mark.parametrize("class_prior", [None, "uniform", "labels"])
@pytest.mark.parametrize("seed", range(3))
def test_the_cut_falls_from_that_of_the_answer_before(seed: int, class_prior: Any) -> None:
    X, y, _ = digits(seed, 100)
    y[np.flatnonzero(y == 0)] = 1  # a label that its neighbours contradict
    y[np.flatnonzero(y < 0)[0]] = 0
    plain = LapERLSClassifier(C=0.1, class_prior=class_prior).fit(X, y)
    model = LapERLSClassifier(C=0.1, class_prior=class_prior, refine="cut").fit(X, y)
    before = cut(plain.affinity_, plain.transduction_)
    assert_allclose(model.cut_history_[0], before, atol=1e-9)
    assert (np.diff(model.cut_history_) < 0).all()
    volumes = np.bincount(plain.transduction_, minlength=5)
    assert_array_equal(np.bincount(model.transduction_, minlength=5), volumes)
    assert model.refined_ == (len(model.cut_history_) > 1)
    assert_allclose(model.cut_history_[-1], cut(model.affinity_, model.transduction_))


@every_estimator
def test_predict_follows_the_refined_answer(name: str) -> None:
    X, _, _ = clusters(3, seed=1)
    plain, model = plain_and_refined(name, 3)
    agreeing = (model.predict(X) == model.transduction_).mean()
    assert agreeing > 0.85
    assert agreeing >= (plain.predict(X) == model.transduction_).mean()
    assert not hasattr(model, "class_offsets_")


def test_the_function_is_the_ridge_regression_of_the_answer() -> None:
    X, y, _ = clusters()
    model = LapRLSClassifier(gamma_A=0.5, class_prior=SIZES, refine="cut").fit(X, y)
    K = np.exp(-model.kernel_.gamma * ((X[:, None] - X) ** 2).sum(axis=2))
    target = np.where(model.transduction_[:, None] == np.arange(3), 1.0, -1.0)
    expected = K @ np.linalg.solve(K + 0.5 * np.eye(len(X)), target)
    assert_allclose(model.decision_function(X), expected, atol=1e-7)
    embedded = LapERLSClassifier(C=4.0, class_prior=SIZES, refine="cut").fit(X, y)
    target = np.where(embedded.transduction_[:, None] == np.arange(3), 1.0, -1.0)
    expected = K @ np.linalg.solve(K + np.eye(len(X)) / 4, target)
    assert_allclose(embedded.decision_function(X), expected, atol=1e-7)


@pytest.mark.parametrize("n_eigenvectors", ["auto", None])
def test_features_and_matrix_follow_alike(n_eigenvectors: Any) -> None:
    X, y, _ = clusters()
    found = [
        LapERLSClassifier(space=space, n_eigenvectors=n_eigenvectors, fit_intercept=True)
        .set_params(class_prior=SIZES, refine="cut")
        .fit(X, y)
        for space in (None, Landmarks(centers=X))
    ]
    assert_array_equal(found[0].transduction_, found[1].transduction_)
    values = [each.decision_function(X) for each in found]
    assert_allclose(values[0], values[1], atol=1e-5)


def test_keeps_the_partition_if_no_better_cut_exists() -> None:
    X, y, truth = clusters(distance=9.0)
    plain = LapSVC(class_prior=SIZES).fit(X, y)
    model = LapSVC(class_prior=SIZES, refine="cut").fit(X, y)
    assert not model.refined_
    assert model.cut_history_.min() == model.cut_history_[0]
    assert_array_equal(model.transduction_, truth)
    assert_array_equal(model.decision_function(X), plain.decision_function(X))
    assert_array_equal(model.class_offsets_, plain.class_offsets_)


def test_equal_rows_contradicting_labels_and_weights_of_zero() -> None:
    X, y, _ = clusters()
    first, second, left_out = (np.flatnonzero(y == k)[0] for k in range(3))
    X = np.vstack([X, X[:20]])
    y = np.append(y, np.full(20, -1))
    X[second] = X[first]
    weight = np.ones(len(X))
    weight[[second, left_out]] = 3, 0
    model = LapSVC(class_prior="uniform", refine="cut").fit(X, y, sample_weight=weight)
    assert np.abs(np.bincount(model.transduction_) - 50).max() <= 2  # equal rows count
    assert_array_equal(model.transduction_[:20], model.transduction_[130:])
    assert model.transduction_[first] == model.transduction_[second] == 1  # of the larger weight
    assert model.transduction_[left_out] == model.predict(X[[left_out]])[0]


def test_rejects_refine_without_a_graph() -> None:
    X, y, _ = clusters()
    with pytest.raises(ValueError, match="refine='cut' needs a graph, but with gamma_I=0"):
        LapSVC(refine="cut", gamma_I=0).fit(X, y)


def test_memory_is_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = clusters()
    model = LapERLSClassifier(refine="cut")
    prepared = prepare(model, X, y)
    solution = solve(model, prepared)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "10k")
    with pytest.raises(MemoryError, match=r"Refining the answer for 3 classes at 130 points"):
        model._refined(X, prepared, solution)
