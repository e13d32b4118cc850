"""Class priors and probabilities of all classifiers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from lapwing import (
    S3VC,
    AnchorGraph,
    AnchorGraphClassifier,
    BalancedGraphClassifier,
    EigenfunctionClassifier,
    LapERLSClassifier,
    LapESVC,
    LapRLSClassifier,
    LapSVC,
)
from lapwing.classes.probabilities import GRAPH_PRIOR, class_probabilities, fit_sharpness
from lapwing.estimators.template import prepare, solve
from lapwing.exceptions import ClassPriorWarning
from lapwing.model_selection import leave_one_out
from tests.estimators.test_sklearn import EVERY_CLASSIFIER, quick
from tests.helpers.answers import check_answers, scores
from tests.helpers.data import Data, labeled_clusters
from tests.helpers.estimators import EXAMPLES


def clusters(n_classes: int) -> Data:
    """Overlapping Gaussian clusters of 40 points, three labels of each."""
    return labeled_clusters(n_classes, n=40 * n_classes, n_labels=3, distance=1.7)


CLASSIFIERS = {
    name: example.estimator
    for name, example in EXAMPLES.items()
    # A partition meets volumes itself.
    if "class_prior" in example.estimator.get_params()
    and not isinstance(example.estimator, BalancedGraphClassifier)
}


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_transduction_has_the_prior(name: str, n_classes: int) -> None:
    X, y, _ = clusters(n_classes)
    plain = clone(CLASSIFIERS[name]).fit(X, y)
    assert not hasattr(plain, "class_prior_")
    n, parts = len(X), np.arange(1.0, 1 + n_classes)
    for prior in (np.ones(n_classes), parts, parts[::-1]):  # at most one of them is near the truth
        model = clone(plain).set_params(class_prior=prior).fit(X, y)
        assert model.class_offsets_.shape == plain.intercept_.shape
        wanted = n * prior / prior.sum()
        assert np.abs(np.bincount(model.transduction_, minlength=n_classes) - wanted).max() < 1
        np.testing.assert_allclose(model.class_prior_, prior / prior.sum())
        # Columns are only shifted by constants.
        before, after = (getattr(m, "virtual_labels_", scores(m, X)) for m in (plain, model))
        np.testing.assert_allclose(after, before + model.class_offsets_, atol=1e-9)
        np.testing.assert_allclose(
            scores(model, X), scores(plain, X) + model.class_offsets_, atol=1e-9
        )
        np.testing.assert_allclose(model.objective_, plain.objective_, rtol=1e-9)


def test_prior_counts_repeated_rows_and_rows_of_weight_zero() -> None:
    X, y, _ = clusters(3)
    weight = np.ones(len(X))
    weight[np.flatnonzero(y == 0)[0]] = 0
    twice = np.append(np.arange(len(X)), [5, 6, 7])
    model = LapSVC(class_prior="uniform").fit(X[twice], y[twice], sample_weight=weight[twice])
    volumes = np.bincount(model.transduction_, minlength=3)
    assert volumes.sum() == 123
    assert np.abs(volumes - 41).max() <= 2


def test_warm_start_ignores_class_offsets() -> None:
    X, y, _ = clusters(3)
    options = {"solver": "pcg", "warm_start": True, "fit_intercept": True, "gamma_A": 1e-2}
    held = LapSVC(class_prior=[8, 1, 1], **options).fit(X, y)
    first = held.n_iter_
    held.fit(X, y)
    assert held.n_iter_ <= 2 < first
    assert np.abs(np.bincount(held.transduction_, minlength=3) - [96, 12, 12]).max() <= 1


@pytest.mark.parametrize("stopping", ["stability", "validation"])
def test_early_stopping_ignores_the_prior(stopping: str) -> None:
    X, y, _ = clusters(3)
    plain = LapSVC(stopping=stopping, random_state=0).fit(X, y)
    held = LapSVC(stopping=stopping, random_state=0, class_prior=[8, 1, 1]).fit(X, y)
    assert (held.n_iter_, held.status_) == (plain.n_iter_, plain.status_)
    np.testing.assert_array_equal(held.alpha_, plain.alpha_)
    assert np.abs(np.bincount(held.transduction_, minlength=3) - [96, 12, 12]).max() <= 1


# --- errors and warnings of priors ----------------------------------------------------------------


def test_warns_if_ties_miss_the_prior() -> None:
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], [30, 10], axis=0)
    y = np.where(np.arange(40) % 10 == 0, (np.arange(40) >= 30).astype(int), -1)
    model = LapSVC(class_prior="uniform", gamma_I=0)
    with pytest.warns(ClassPriorWarning, match="missed by 10 points: the class 0 got 30"):
        model.fit(X, y)
    assert np.bincount(model.transduction_, minlength=2).tolist() == [30, 10]


every_classifier = pytest.mark.parametrize("estimator", EVERY_CLASSIFIER)
TESTED = [LapSVC, LapRLSClassifier]  # by their labels, in each fit


data = partial(labeled_clusters, n=48, n_labels=4)


@every_classifier
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.FewLabelsWarning")
def test_sharpness_with_one_label_per_class_is_the_prior(estimator: Any) -> None:
    X, y, _ = data(n_labels=1)
    model = quick(estimator).fit(X, y)
    check_answers(model, X)
    assert model.probability_n_labels_ == 0
    assert model.probability_spread_ == estimator._sharpness_prior.spread


@pytest.mark.parametrize("class_prior", [None, [0.5, 0.3, 0.2]])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("estimator", TESTED)
def test_sharpness_is_that_of_exact_leave_one_out(
    estimator: Any, fit_intercept: bool, class_prior: Any
) -> None:
    """Exact for the squared loss, and for the squared hinge inside the margin."""
    X, y, _ = data()
    alone = np.flatnonzero(y == y.max())[1:]
    y[alone] = -1  # one class has a single label, which cannot be left out
    model = estimator(gamma_A=1.0, class_prior=class_prior, fit_intercept=fit_intercept).fit(X, y)
    known = leave_one_out(clone(model), X, y)
    F = model.decision_function(X)
    expected = fit_sharpness(
        GRAPH_PRIOR,
        F[y == -1],
        F[known.rows],
        known.decision_values,
        np.searchsorted(model.classes_, known.labels),
    )
    assert model.probability_n_labels_ == known.left_out.sum() < len(known.left_out)
    assert model.probability_sharpness_ == pytest.approx(expected.value, rel=1e-4)
    assert model.probability_spread_ == pytest.approx(expected.spread, rel=1e-4)
    np.testing.assert_array_equal(model.left_out_rows_, known.rows[known.left_out])
    shares = class_probabilities(known.decision_values[known.left_out], expected.value)
    np.testing.assert_allclose(model.left_out_proba_, shares, atol=1e-3)


# --- input at its limits --------------------------------------------------------------------------

MANY = np.random.default_rng(0).normal(size=(150, 4))
LIMITS: dict[str, tuple[Any, Any]] = {
    "equal points": (np.ones((20, 3)), np.r_[0, 0, 1, 1, np.full(16, -1)]),
    "60 classes": (MANY, np.where(np.arange(150) < 120, np.arange(150) % 60, -1)),
    "all labelled": (data().X, data().truth),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize(
    "estimator",
    [LapRLSClassifier, LapSVC, LapERLSClassifier, AnchorGraphClassifier, EigenfunctionClassifier],
)
def test_probabilities_of_unusual_data(estimator: Any, name: str) -> None:
    X, y = LIMITS[name]
    check_answers(estimator().fit(X, y), X)


ANCHORS = AnchorGraph(n_anchors=30)
# Tolerance of left-out values in closed form (approximate with class masses), None without one.
LEFT_OUT: list[tuple[Any, float | None]] = [
    (LapRLSClassifier(), 1e-6),
    (LapERLSClassifier(), 1e-6),
    (EigenfunctionClassifier(), 1e-6),
    (AnchorGraphClassifier(ANCHORS, class_mass_normalization=False), 1e-6),
    (AnchorGraphClassifier(ANCHORS), 0.5),
    *((LapSVC(gamma_A=0.1, solver=solver), None) for solver in ("pcg", "newton")),
    (LapSVC(loss="hinge"), None),
    *((estimator, None) for estimator in (quick(S3VC), LapESVC(), BalancedGraphClassifier())),
]


@pytest.mark.parametrize(("estimator", "atol"), LEFT_OUT, ids=str)
def test_labels_are_left_out_only_in_closed_form(estimator: Any, atol: float | None) -> None:
    X, y, _ = data()
    prepared = prepare(estimator, X, y)
    found = solve(estimator, prepared).left_out()
    model = clone(estimator).fit(X, y)
    if atol is None:
        assert found is None
        assert model.probability_n_labels_ == 0
        assert model.left_out_proba_.shape == (0, 3)
        return
    known = np.isfinite(found).all(axis=1)
    assert model.probability_n_labels_ == known.sum() >= len(found) - 1
    expected = estimator._refits(prepared).left_out()
    np.testing.assert_allclose(found[known], expected[known], atol=atol)
    assert np.corrcoef(found[known].ravel(), expected[known].ravel())[0, 1] > 0.9
