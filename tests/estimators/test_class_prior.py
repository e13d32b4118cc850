"""Classifiers that hold class volumes to a prior: counting, and nothing else changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from lapwing import (
    AffinityGraph,
    AnchorGraph,
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    LapRLSClassifier,
    LapSVC,
)
from lapwing.exceptions import ClassPriorWarning
from tests.helpers.data import Data, around_corners, first_labels, shuffled

CLASSIFIERS = [LapSVC(), LapSVC(loss="hinge"), LapRLSClassifier()]
IDS = ["sqh", "hinge", "rls"]


def clusters(n_classes: int, sizes: Any = None, seed: int = 0) -> Data:
    """Overlapping Gaussian clusters of given sizes, three labels of each."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(n_classes), [40] * n_classes if sizes is None else sizes)
    X = around_corners(truth, rng, distance=1.7)
    return shuffled(rng, X, first_labels(truth, 3), truth)


def counts(labels: Any, n_classes: int) -> Any:
    return np.bincount(labels, minlength=n_classes)


BASELINES = [
    AnchorGraphClassifier(AnchorGraph(n_anchors=40)),
    AnchorGraphClassifier(AnchorGraph(n_anchors=40), class_mass_normalization=False),
    EigenfunctionClassifier(),
]


@pytest.mark.parametrize("estimator", BASELINES, ids=["anchors", "anchors, raw", "eigenfunctions"])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_baselines_have_the_prior(estimator: Any, n_classes: int) -> None:
    X, y, _ = clusters(n_classes)
    plain = clone(estimator).fit(X, y)
    assert not hasattr(plain, "class_prior_")
    n, parts = len(X), np.arange(1.0, 1 + n_classes)
    for prior in (np.ones(n_classes), parts, parts[::-1]):
        model = clone(estimator).set_params(class_prior=prior).fit(X, y)
        wanted = n * prior / prior.sum()
        assert np.abs(counts(model.transduction_, n_classes) - wanted).max() < 1
        np.testing.assert_array_equal(model.predict(X), model.transduction_)
        shift = model.decision_function(X) - plain.decision_function(X)
        offsets = model.class_offsets_ if n_classes > 2 else model.class_offsets_[0]
        np.testing.assert_allclose(shift, np.broadcast_to(offsets, shift.shape), atol=1e-9)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=IDS)
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_transduction_has_the_prior(estimator: Any, n_classes: int, kernel: str) -> None:
    X, y, _ = clusters(n_classes)
    plain = clone(estimator).set_params(kernel=kernel).fit(X, y)
    n, parts = len(X), np.arange(1.0, 1 + n_classes)
    for prior in (np.ones(n_classes), parts, parts[::-1]):  # at most one of them is near the truth
        model = clone(plain).set_params(class_prior=prior).fit(X, y)
        assert model.class_offsets_.shape == plain.intercept_.shape
        wanted = n * prior / prior.sum()
        assert np.abs(counts(model.transduction_, n_classes) - wanted).max() < 1
        np.testing.assert_allclose(model.class_prior_, prior / prior.sum())
        np.testing.assert_array_equal(model.predict(X), model.transduction_)
        # Columns are shifted by constants and nothing else.
        shift = model.decision_function(X) - plain.decision_function(X)
        offsets = model.class_offsets_ if n_classes > 2 else model.class_offsets_[0]
        np.testing.assert_allclose(shift, np.broadcast_to(offsets, shift.shape), atol=1e-9)
        np.testing.assert_allclose(
            model.intercept_, plain.intercept_ + model.class_offsets_, atol=1e-9
        )
        np.testing.assert_allclose(model.objective_, plain.objective_, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_uniform_and_labels(n_classes: int) -> None:
    X, y, _ = clusters(n_classes)
    uniform = LapSVC(class_prior="uniform").fit(X, y)
    assert counts(uniform.transduction_, n_classes).tolist() == [40] * n_classes
    y[np.flatnonzero(y == 0)[1:]] = -1  # one label against three
    labels = LapSVC(class_prior="labels").fit(X, y)
    frequencies = np.array([1, *[3] * (n_classes - 1)]) / (3 * n_classes - 2)
    np.testing.assert_allclose(labels.class_prior_, frequencies)
    volumes = counts(labels.transduction_, n_classes)
    assert np.abs(volumes - len(X) * frequencies).max() < 1


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *BASELINES])
def test_parts_by_class_are_parts_in_order(estimator: Any) -> None:
    X, y, _ = clusters(3)
    by_class = clone(estimator).set_params(class_prior={2: 0.2, 0: 0.5, 1: 0.3}).fit(X, y)
    in_order = clone(estimator).set_params(class_prior=[0.5, 0.3, 0.2]).fit(X, y)
    np.testing.assert_array_equal(by_class.transduction_, in_order.transduction_)
    assert counts(by_class.transduction_, 3).tolist() == [60, 36, 24]


def test_true_prior_helps_where_a_class_is_small() -> None:
    gains = []
    for seed in range(8):
        X, y, truth = clusters(3, sizes=[150, 60, 15], seed=seed)
        plain = LapSVC().fit(X, y)
        held = LapSVC(class_prior=[150, 60, 15]).fit(X, y)
        gains.append((held.transduction_ == truth).mean() - (plain.transduction_ == truth).mean())
    assert np.mean(gains) > 0.02


@pytest.mark.parametrize("unknown", [None, "unknown"])
def test_what_is_not_known_shifts_nothing(unknown: Any) -> None:
    X, y, _ = clusters(3)
    model = LapSVC().fit(X, y)
    assert model.intercept_.tolist() == [0, 0, 0]
    model.set_params(class_prior="uniform").fit(X, y)
    assert np.abs(model.intercept_).max() > 0
    model.set_params(class_prior=unknown).fit(X, y)
    assert model.intercept_.tolist() == [0, 0, 0]
    assert not hasattr(model, "class_offsets_")
    assert not hasattr(model, "class_prior_")


def test_names_are_in_the_order_of_the_classes() -> None:
    X, y, _ = clusters(3)
    names = np.array(["cedar", "ash", "beech", "?"])[y]
    model = LapSVC(class_prior=[0.1, 0.3, 0.6], unlabeled="?").fit(X, names)
    assert [(model.transduction_ == name).sum() for name in ("ash", "beech", "cedar")] == [
        12,
        36,
        72,
    ]


def test_repeated_rows_and_rows_of_weight_zero_are_counted() -> None:
    X, y, _ = clusters(3)
    weight = np.ones(len(X))
    weight[np.flatnonzero(y == 0)[0]] = 0
    twice = np.append(np.arange(len(X)), [5, 6, 7])
    model = LapSVC(class_prior="uniform").fit(X[twice], y[twice], sample_weight=weight[twice])
    volumes = counts(model.transduction_, 3)
    assert volumes.sum() == 123
    assert np.abs(volumes - 41).max() <= 2


def test_single_precision() -> None:
    X, y, _ = clusters(4)
    model = LapSVC(class_prior="uniform").fit(X.astype(np.float32), y)
    assert model.intercept_.dtype == np.float32
    assert counts(model.transduction_, 4).tolist() == [40] * 4


def test_warm_start_starts_from_the_function_that_was_solved_for() -> None:
    X, y, _ = clusters(3)
    options = {"solver": "pcg", "warm_start": True, "fit_intercept": True, "gamma_A": 1e-2}
    held = LapSVC(class_prior=[8, 1, 1], **options).fit(X, y)
    first = held.n_iter_
    held.fit(X, y)
    assert held.n_iter_ <= 2 < first
    assert np.abs(counts(held.transduction_, 3) - [96, 12, 12]).max() <= 1


@pytest.mark.parametrize("stopping", ["stability", "validation"])
def test_early_stopping(stopping: str) -> None:
    X, y, _ = clusters(3)
    plain = LapSVC(stopping=stopping, random_state=0).fit(X, y)
    held = LapSVC(stopping=stopping, random_state=0, class_prior=[8, 1, 1]).fit(X, y)
    assert (held.n_iter_, held.status_) == (plain.n_iter_, plain.status_)
    np.testing.assert_array_equal(held.alpha_, plain.alpha_)
    assert np.abs(counts(held.transduction_, 3) - [96, 12, 12]).max() <= 1


def test_precomputed_kernel() -> None:
    X, y, _ = clusters(3)
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))
    model = LapSVC("precomputed", graph=AffinityGraph(sp.csr_array(K)), class_prior="uniform")
    assert counts(model.fit(K, y).transduction_, 3).tolist() == [40] * 3


# --- what is refused, and what is warned of -----------------------------------------------------


@pytest.mark.parametrize("estimator", [LapSVC(), LapRLSClassifier()], ids=["svc", "rls"])
@pytest.mark.parametrize(
    ("class_prior", "message"),
    [
        ("balanced", "class_prior='balanced' must be 'labels', 'uniform', 'unknown', None"),
        (0.5, "class_prior=0.5 must be 'labels', 'uniform'"),
        ({0: 0.5, 1: 0.5}, r"class_prior=\{.* has no proportion for \[2\]"),
        ([0.5, 0.5], r"class_prior must be one number >= 0 per class.*shape is \(2,\)"),
        ([0.5, -0.5, 1], "holds -0.5 for the class 1"),
        ([1, 0, 1], "class_prior is 0 for the class 1"),
        (["a", "b", "c"], "not an array of numbers"),
    ],
)
def test_wrong_priors(estimator: Any, class_prior: Any, message: str) -> None:
    X, y, _ = clusters(3)
    with pytest.raises(ValueError, match=message):
        clone(estimator).set_params(class_prior=class_prior).fit(X, y)


def test_ties_that_miss_the_prior_are_told() -> None:
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], [30, 10], axis=0)
    y = np.where(np.arange(40) % 10 == 0, (np.arange(40) >= 30).astype(int), -1)
    model = LapSVC(class_prior="uniform", gamma_I=0)
    with pytest.warns(ClassPriorWarning, match="missed by 10 points: the class 0 got 30"):
        model.fit(X, y)
    assert counts(model.transduction_, 2).tolist() == [30, 10]
