"""predict_proba of every classifier: what it rests on, and input at its limits."""

from __future__ import annotations

import pickle
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from lapwing import (
    S3VC,
    AffinityGraph,
    AnchorGraph,
    AnchorGraphClassifier,
    BalancedGraphClassifier,
    EigenfunctionClassifier,
    LapERLSClassifier,
    LapERLSClassifierCV,
    LapESVC,
    LapRLSClassifier,
    LapRLSClassifierCV,
    LapSVC,
    LapSVCCV,
)
from lapwing.classes.decoding import as_columns, of_each_class
from lapwing.classes.probabilities import GRAPH_PRIOR, class_probabilities, fit_sharpness
from lapwing.estimators.prepared import without
from lapwing.estimators.template import prepare
from lapwing.model_selection import leave_one_out
from lapwing.models import load_model, save_model
from tests.estimators.test_sklearn import EVERY_CLASSIFIER, quick
from tests.helpers.data import labeled_clusters

every_classifier = pytest.mark.parametrize("estimator", EVERY_CLASSIFIER)
TESTED = [LapSVC, LapRLSClassifier]  # by their labels, in each fit


def data(n_classes: int = 3, n_labels: int = 4, **more: Any) -> tuple[Any, Any, Any]:
    return labeled_clusters(n_classes, **{"n": 48, "n_labels": n_labels} | more)


@cache
def fitted(estimator: Any, n_classes: int = 3) -> Any:
    """A fit to `data` that tests share and leave as it is."""
    X, y, _ = data(n_classes)
    return quick(estimator).fit(X, y)


def check(model: Any, X: Any) -> Any:
    """Probabilities of rows, which agree with what is predicted."""
    P = model.predict_proba(X)
    assert P.shape == (X.shape[0], len(model.classes_))
    for shares, answers in (
        (P, model.predict(X)),
        (model.transduction_proba_, model.transduction_),
    ):
        assert np.isfinite(shares).all()
        assert (shares >= 0).all()
        np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], answers)
    return P


def quietly(estimator: Any, X: Any, y: Any) -> Any:
    """A fit to input that warns, each estimator of something else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
@every_classifier
def test_probabilities_are_the_sharpened_decision_values(estimator: Any, n_classes: int) -> None:
    X, _, _ = data(n_classes)
    model = fitted(estimator, n_classes)
    P = check(model, X)
    scores = model.probability_sharpness_ * of_each_class(as_columns(model.decision_function(X)))
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(P, shares / shares.sum(axis=1, keepdims=True), rtol=1e-9)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(P), rtol=1e-12)


@pytest.mark.parametrize("estimator", [LapERLSClassifier, LapESVC])
def test_transduction_has_the_probabilities_of_the_virtual_labels(estimator: Any) -> None:
    X, _, _ = data()
    model = fitted(estimator)
    expected = class_probabilities(model.virtual_labels_, model.probability_sharpness_)
    np.testing.assert_array_equal(model.transduction_proba_, expected)
    assert not np.allclose(model.transduction_proba_, model.predict_proba(X))


@every_classifier
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.FewLabelsWarning")
def test_with_one_label_a_class_the_scores_decide(estimator: Any) -> None:
    X, y, _ = data(n_labels=1)
    model = quick(estimator).fit(X, y)
    check(model, X)
    assert model.probability_n_labels_ == 0
    assert model.probability_spread_ == estimator._sharpness_prior.spread


@pytest.mark.parametrize("class_prior", [None, [0.5, 0.3, 0.2]])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("estimator", TESTED)
def test_sharpness_is_that_of_exact_leave_one_out(
    estimator: Any, fit_intercept: bool, class_prior: Any
) -> None:
    """Exactly so for the squared loss, and the squared hinge is one inside the margin."""
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


@pytest.mark.parametrize(
    "model",
    [
        EigenfunctionClassifier(),
        AnchorGraphClassifier(AnchorGraph(n_anchors=30), class_mass_normalization=False),
        AnchorGraphClassifier(AnchorGraph(n_anchors=30)),
    ],
    ids=["eigenfunctions", "anchors, raw", "anchors"],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_baselines_leave_their_labels_out(model: Any, n_classes: int) -> None:
    """Exactly; but for the masses of the classes, which hardly change with a label.

    A label that is alone in its part of the graph says nothing of how sharp the scores are.
    """
    X, y, _ = data(n_classes)
    prepared = prepare(model, X, y)
    refits = model._refits(prepared)
    found = refits.solve(prepared).left_out()
    expected = np.full_like(found, np.nan)
    for i in range(len(found)):
        expected[i] = refits.values(without(prepared, i))[prepared.problem.index[i]]
    told = np.isfinite(found).all(axis=1)
    assert told.sum() >= len(found) - 1
    found, expected = found[told], expected[told]
    normalised = getattr(model, "class_mass_normalization", False)
    if not normalised:
        np.testing.assert_allclose(found, expected, atol=1e-8)
    assert np.corrcoef(found.ravel(), expected.ravel())[0, 1] > 0.9
    assert clone(model).fit(X, y).probability_n_labels_ == told.sum()


@pytest.mark.parametrize("parameters", [{"solver": "pcg"}, {"solver": "newton"}, {"loss": "hinge"}])
def test_where_labels_cannot_be_left_out_cheaply_none_is(parameters: dict[str, Any]) -> None:
    X, y, _ = data()
    model = LapSVC(gamma_A=0.1, **parameters).fit(X, y)
    check(model, X)
    assert model.probability_n_labels_ == 0


@pytest.mark.parametrize("estimator", TESTED)
def test_labels_that_are_contradicted_blunt(estimator: Any) -> None:
    X, y, truth = data(2, n_labels=10, distance=4.0)
    right = quick(estimator).fit(X, y)
    y[np.flatnonzero(y == 0)[:4]] = 1
    y[np.flatnonzero(y == 1)[-4:]] = 0
    wrong = quick(estimator).fit(X, y)
    assert wrong.probability_sharpness_ < right.probability_sharpness_
    assert right.predict_proba(X)[np.arange(len(truth)), truth].mean() > 0.9


@every_classifier
def test_names_of_the_classes_do_not_matter(estimator: Any) -> None:
    X, y, _ = data()
    model = fitted(estimator)
    names = np.array(["c", "a", "b", None], dtype=object)
    renamed = quick(estimator).fit(X, names[y])  # -1 takes the last, None
    np.testing.assert_allclose(
        renamed.predict_proba(X)[:, [2, 0, 1]], model.predict_proba(X), rtol=1e-3, atol=1e-4
    )


@every_classifier
def test_a_file_and_a_pickle_keep_the_probabilities(estimator: Any, tmp_path: Any) -> None:
    X, _, _ = data()
    model = fitted(estimator)
    save_model(model, tmp_path / "model.lapwing")
    for copy in (
        load_model(tmp_path / "model.lapwing").pipeline,
        pickle.loads(pickle.dumps(model)),
    ):
        np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(copy.transduction_proba_, model.transduction_proba_)


# --- input at its limits --------------------------------------------------------------------------


@every_classifier
def test_single_precision(estimator: Any) -> None:
    X, y, _ = data()
    X = X.astype(np.float32)
    check(quietly(quick(estimator), X, y), X)


@every_classifier
def test_points_that_are_all_the_same(estimator: Any) -> None:
    X, y = np.ones((20, 3)), np.full(20, -1)
    y[:2], y[2:4] = 0, 1
    try:
        model = quietly(quick(estimator), X, y)
    except ValueError:
        return  # refused for reasons of its own
    check(model, X)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@every_classifier
def test_points_in_other_units(estimator: Any, scale: float) -> None:
    X, y, _ = data()
    check(quietly(quick(estimator), scale * X, y), scale * X)


@pytest.mark.parametrize("estimator", [LapSVC, LapRLSClassifier, LapERLSClassifier, LapESVC, S3VC])
def test_sparse_points(estimator: Any) -> None:
    X, y, _ = data()
    check(quick(estimator).set_params(kernel="linear").fit(sp.csr_array(X), y), sp.csr_array(X))


@pytest.mark.parametrize("estimator", [LapSVC, LapRLSClassifier, LapERLSClassifier, LapESVC, S3VC])
def test_a_kernel_matrix(estimator: Any) -> None:
    X, y, _ = data()
    K = rbf_kernel(X, gamma=0.1)
    model = quick(estimator).set_params(kernel="precomputed", graph=AffinityGraph(sp.csr_array(K)))
    check(model.fit(K, y), K)


@pytest.mark.parametrize(
    "estimator",
    [LapRLSClassifier, LapSVC, LapERLSClassifier, AnchorGraphClassifier, EigenfunctionClassifier],
)
def test_many_classes(estimator: Any) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 4))
    y = np.where(np.arange(150) < 120, np.arange(150) % 60, -1)
    check(quietly(quick(estimator), X, y), X)


@pytest.mark.parametrize("estimator", TESTED)
def test_every_row_has_a_label(estimator: Any) -> None:
    X, _, truth = data()
    model = quietly(quick(estimator), X, truth)
    check(model, X)
    assert model.probability_n_labels_ > 0


def test_a_weight_is_as_many_rows() -> None:
    X, y, _ = data()
    weights = np.where(np.arange(len(y)) % 2, 2.0, 1.0)
    twice = np.repeat(np.arange(len(y)), weights.astype(int))
    one = LapSVC(graph=None).fit(X, y, sample_weight=weights)
    other = LapSVC(graph=None).fit(X[twice], y[twice])
    assert one.probability_sharpness_ == pytest.approx(other.probability_sharpness_, rel=1e-6)


def test_a_solution_that_is_asked_again_has_no_values_of_labels_left_out() -> None:
    """Families that would have to fit again say so, and the fit then does not ask."""
    X, y, _ = data()
    for estimator in (quick(S3VC), LapESVC(), BalancedGraphClassifier()):
        prepared = prepare(estimator, X, y)
        solution = estimator._refits(prepared).solve(prepared)
        assert solution.left_out() is None
    for estimator in (LapRLSClassifier(), LapERLSClassifier(), EigenfunctionClassifier()):
        prepared = prepare(estimator, X, y)
        refits = estimator._refits(prepared)
        found = refits.solve(prepared).left_out()
        np.testing.assert_allclose(found, refits.left_out(), atol=1e-6)


@pytest.mark.parametrize("searching", [LapERLSClassifierCV(), LapRLSClassifierCV(), LapSVCCV()])
def test_a_chosen_setting_has_the_probabilities_of_the_plain_estimator(searching: Any) -> None:
    X, y, _ = data()
    searching.fit(X, y)
    plain = searching._estimator(**searching.best_params_).fit(X, y)
    assert searching.probability_n_labels_ == plain.probability_n_labels_ > 0
    np.testing.assert_allclose(searching.predict_proba(X), plain.predict_proba(X), atol=1e-9)
