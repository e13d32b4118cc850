"""One suite for every estimator; a new one gets its examples here.

Optimality is judged by stationarity conditions that are written out densely here, from the fitted
attributes and formulas of the papers (with their errata), never by what a solver says of itself.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.metrics.pairwise import rbf_kernel

import lapwing
from lapwing import (
    AnchorGraph,
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    KNNGraph,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    LapSVR,
)
from lapwing.estimators.manifold import ManifoldEstimator
from lapwing.exceptions import UnlabeledComponentWarning
from tests.helpers.answers import coded_targets, labeled_rows, scores
from tests.helpers.data import Data, labeled_clusters, labeled_curve
from tests.helpers.manifold import dense_smoothness, given_graph, gram, is_linear
from tests.helpers.members import check_examples
from tests.helpers.problems import loss_slope, loss_value

FLAT = KNNGraph(6, normalized=False)


# What every estimator is tried with. gamma_A is such that conjugate gradient ends soon, and every
# tolerance so fine that solutions can be compared.
EXAMPLES: dict[str, tuple[Any, Callable[..., Data]]] = {
    "LapSVC, 2 classes": (LapSVC(gamma_A=1e-2), partial(labeled_clusters, 2)),
    "LapSVC, 4 classes": (LapSVC(gamma_A=1e-2), partial(labeled_clusters, 4)),
    "LapSVC, intercept": (LapSVC(gamma_A=1e-2, fit_intercept=True), partial(labeled_clusters, 3)),
    "LapSVC, intercept, D - W": (
        LapSVC(gamma_A=1e-2, graph=FLAT, fit_intercept=True),
        partial(labeled_clusters, 3),
    ),
    "LapSVC, newton": (LapSVC(solver="newton", gamma_A=1e-2), partial(labeled_clusters, 3)),
    "LapSVC, pcg, intercept": (
        LapSVC(solver="pcg", gamma_A=1e-1, tol=1e-10, graph=FLAT, fit_intercept=True),
        partial(labeled_clusters, 2),
    ),
    "LapSVC, hinge": (LapSVC(loss="hinge", gamma_A=1e-2), partial(labeled_clusters, 2)),
    "LapSVC, hinge, intercept": (
        LapSVC(loss="hinge", gamma_A=1e-2, fit_intercept=True),
        partial(labeled_clusters, 2),
    ),
    "LapSVC, hinge, intercept, D - W": (
        LapSVC(loss="hinge", gamma_A=1e-2, graph=FLAT, fit_intercept=True),
        partial(labeled_clusters, 3),
    ),
    "LapSVC, linear": (
        LapSVC("linear", gamma_A=1e-2, fit_intercept=True),
        partial(labeled_clusters, 3),
    ),
    "LapSVC, no graph": (LapSVC(gamma_A=1e-2, gamma_I=0), partial(labeled_clusters, 3)),
    "LapRLSClassifier, 4 classes": (LapRLSClassifier(gamma_A=1e-2), partial(labeled_clusters, 4)),
    "LapRLSClassifier, pcg": (
        LapRLSClassifier(solver="pcg", gamma_A=1e-1, tol=1e-10),
        partial(labeled_clusters, 3),
    ),
    "LapRLSRegressor": (LapRLSRegressor(gamma_A=1e-2), labeled_curve),
    "LapRLSRegressor, linear": (LapRLSRegressor("linear", gamma_A=1e-2), labeled_curve),
    "LapRLSRegressor, pcg": (
        LapRLSRegressor(solver="pcg", gamma_A=1e-1, tol=1e-10, graph=FLAT),
        labeled_curve,
    ),
    "LapSVR": (LapSVR(gamma_A=1e-2), labeled_curve),
    "LapSVR, no intercept, D - W": (
        LapSVR(gamma_A=1e-2, epsilon=0.3, fit_intercept=False, graph=FLAT),
        labeled_curve,
    ),
}
every_example = pytest.mark.parametrize("name", EXAMPLES)


# Those that are no kernel methods. What holds of any estimator is tried with them too.
BASELINES: dict[str, tuple[Any, Callable[..., Data]]] = {
    "AnchorGraphClassifier, 2 classes": (
        AnchorGraphClassifier(AnchorGraph(12)),
        partial(labeled_clusters, 2),
    ),
    "AnchorGraphClassifier, embedding": (
        AnchorGraphClassifier(AnchorGraph(12, weights="embedding")),
        partial(labeled_clusters, 4),
    ),
    "AnchorGraphClassifier, random": (
        AnchorGraphClassifier(AnchorGraph(25, anchors="random"), class_mass_normalization=False),
        partial(labeled_clusters, 3),
    ),
    "EigenfunctionClassifier, 3 classes": (
        EigenfunctionClassifier(lam=10),
        partial(labeled_clusters, 3),
    ),
    "EigenfunctionClassifier, two directions": (
        EigenfunctionClassifier(None, n_components=2, n_bins=30, clip=0.0, lam=10),
        partial(labeled_clusters, 3),
    ),
}
every_estimator = pytest.mark.parametrize("name", [*EXAMPLES, *BASELINES])


def test_every_manifold_estimator_has_an_example() -> None:
    public = {name: getattr(lapwing, name) for name in lapwing.__all__}
    check_examples(
        {type(estimator).__name__ for estimator, _ in EXAMPLES.values()},
        [
            name
            for name, thing in public.items()
            if isinstance(thing, type) and issubclass(thing, ManifoldEstimator)
        ],
        registry="__all__ of lapwing",
        place="EXAMPLES in tests/estimators/test_every.py",
    )


def example(name: str) -> tuple[Any, Data]:
    estimator, make = (EXAMPLES | BASELINES)[name]
    return clone(estimator), make()


@cache
def fitted_example(name: str) -> tuple[Any, np.ndarray, np.ndarray]:
    """A fit that tests share, and leave as it is."""
    estimator, (X, y, _) = example(name)
    assert estimator.fit(X, y) is estimator
    return estimator, X, y


@cache
def weighted_example(name: str) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """The same with weights."""
    estimator, (X, y, _) = example(name)
    weights = np.random.default_rng(1).uniform(0.5, 2, len(X))
    return estimator.fit(X, y, sample_weight=weights), X, y, weights


@every_example
def test_attributes(name: str) -> None:
    estimator, X, y = fitted_example(name)
    n, c = len(X), coded_targets(estimator, y).shape[1]
    assert estimator.n_features_in_ == 3
    assert isinstance(estimator.n_iter_, int)
    assert 1 <= estimator.n_iter_ <= estimator.max_iter
    assert estimator.solver_ in ("newton", "pcg", "dual")
    if estimator.solver != "auto":
        assert estimator.solver_ == estimator.solver
    assert estimator.objective_.shape == (c,)
    assert estimator.intercept_.shape == (c,)
    np.testing.assert_array_equal(estimator.labeled_, labeled_rows(y))
    assert estimator.transduction_.shape == (n,)
    if is_linear(estimator):
        assert estimator.coef_.shape == (c, 3)
        assert not hasattr(estimator, "alpha_")
    else:
        assert estimator.alpha_.shape == (n, c)
        np.testing.assert_array_equal(estimator.X_fit_, X)
        assert not hasattr(estimator, "coef_")
    if estimator.gamma_I:
        assert sp.issparse(estimator.affinity_)
        assert estimator.affinity_.shape == (n, n)
    else:
        assert not hasattr(estimator, "affinity_")
    if not estimator.fit_intercept:
        np.testing.assert_array_equal(estimator.intercept_, 0)


@every_example
def test_scores_are_the_function_of_the_attributes(name: str) -> None:
    estimator, X, _ = fitted_example(name)
    Z = X[:20] + 0.1
    expected = (
        Z @ estimator.coef_.T
        if is_linear(estimator)
        else rbf_kernel(Z, X, gamma=estimator.kernel_.gamma) @ estimator.alpha_
    )
    np.testing.assert_allclose(scores(estimator, Z), expected + estimator.intercept_, atol=1e-8)


@every_example
def test_stationarity(name: str) -> None:
    """The gradient of the objective vanishes, or a subgradient does: recomputed densely.

    With u_i = -(derivative of the loss at i), zero off the labels, the function minimises iff
    K (u - gamma_I L f) = gamma_A h, and 1'(u - gamma_I L f) = 0 for the bias (errata L3).
    """
    estimator, X, y, weights = weighted_example(name)
    at, Y, f = labeled_rows(y), coded_targets(estimator, y), scores(estimator, X)
    w, score = weights[at][:, None], f[at]
    K, S = gram(estimator, X), dense_smoothness(estimator)
    h = f - estimator.intercept_
    loss = estimator._loss()
    if loss.kind.differentiable:
        u = np.zeros_like(f)
        u[at] = -w * loss_slope(loss, Y, score)
    else:
        # Points at a kink may have any subgradient: what the rest of the equation leaves for them
        # must be one. Of all expansions of h the fitted one has u = gamma_A alpha + gamma_I L f.
        alpha = getattr(estimator, "alpha_", None)
        if alpha is None:
            pytest.skip("the multipliers of a linear function are not kept")
        u = estimator.gamma_A * alpha + S @ f
        np.testing.assert_allclose(u[~at], 0, atol=1e-8)
        # The slopes on either side of a score: one number, but for scores at a kink.
        left, right = (loss_slope(loss, Y, score + step) for step in (-1e-6, 1e-6))
        assert (left < right).any()
        slope = -u[at] / w
        assert (slope > left - 1e-6).all()
        assert (slope < right + 1e-6).all()
    size = np.abs(K[:, at] @ (w * Y)).max()
    residual = K @ (u - S @ f) - estimator.gamma_A * h
    np.testing.assert_allclose(residual, 0, atol=1e-7 * size)
    if estimator.fit_intercept:
        np.testing.assert_allclose((u - S @ f).sum(axis=0), 0, atol=1e-6 * np.abs(Y).sum())


@every_example
def test_objective_is_that_of_the_paper(name: str) -> None:
    estimator, X, y, weights = weighted_example(name)
    at, Y, f = labeled_rows(y), coded_targets(estimator, y), scores(estimator, X)
    S = dense_smoothness(estimator)
    loss = estimator._loss()
    if is_linear(estimator):
        norm = (estimator.coef_**2).sum(axis=1)
    else:
        norm = np.einsum("ij,ik,kj->j", estimator.alpha_, gram(estimator, X), estimator.alpha_)
    printed = 2 * loss_value(loss, Y, f[at])
    total = weights[at] @ printed + estimator.gamma_A * norm + np.einsum("ij,ik,kj->j", f, S, f)
    # Only the squared hinge is printed with an overall 1/2: LapSVM paper, (4), (7) and (14).
    np.testing.assert_allclose(
        estimator.objective_, total * (0.5 if loss.name == "squared_hinge" else 1.0), rtol=1e-6
    )


@every_estimator
def test_transduction_is_the_prediction_of_the_training_points(name: str) -> None:
    estimator, X, _ = fitted_example(name)
    if is_classifier(estimator):
        f = np.sort(scores(estimator, X), axis=1)
        sure = np.abs(f[:, 0]) > 1e-9 if f.shape[1] == 1 else f[:, -1] - f[:, -2] > 1e-9
        assert sure.sum() > 60
        np.testing.assert_array_equal(estimator.transduction_[sure], estimator.predict(X)[sure])
    else:
        np.testing.assert_allclose(estimator.transduction_, estimator.predict(X), atol=1e-9)


@every_estimator
def test_predictions_follow_the_scores(name: str) -> None:
    estimator, X, _ = fitted_example(name)
    Z = X[::3] + 0.1
    f = scores(estimator, Z)
    if not is_classifier(estimator):
        assert estimator.predict(Z).shape == (len(Z),)
        return
    k = len(estimator.classes_)
    assert estimator.decision_function(Z).shape == ((len(Z),) if k == 2 else (len(Z), k))
    winner = (f[:, 0] >= 0).astype(int) if k == 2 else f.argmax(axis=1)
    np.testing.assert_array_equal(estimator.predict(Z), estimator.classes_[winner])


@every_estimator
def test_order_of_the_points_is_immaterial(name: str) -> None:
    estimator, X, y, w = weighted_example(name)
    f = scores(estimator, X)
    order = np.random.default_rng(2).permutation(len(X))
    g = scores(clone(estimator).fit(X[order], y[order], sample_weight=w[order]), X)
    np.testing.assert_allclose(g, f, atol=1e-6 * np.abs(f).max())


@every_estimator
def test_a_row_twice_is_a_row_of_weight_two(name: str) -> None:
    estimator, (X, y, _) = example(name)
    twice = np.flatnonzero(labeled_rows(y))[::2]
    weights = np.ones(len(X))
    weights[twice] = 2
    f = scores(clone(estimator).fit(X, y, sample_weight=weights), X)
    repeated = clone(estimator).fit(np.vstack([X, X[twice]]), np.append(y, y[twice]))
    np.testing.assert_array_equal(scores(repeated, X), f)
    assert repeated.transduction_.shape == repeated.labeled_.shape == (len(X) + len(twice),)
    np.testing.assert_array_equal(
        repeated.transduction_[len(X) :], repeated.transduction_[: len(X)][twice]
    )


@every_estimator
def test_copies_of_points_without_a_label_change_nothing(name: str) -> None:
    estimator, X, y = fitted_example(name)
    f = scores(estimator, X)
    blank = np.full(len(X), np.nan if y.dtype.kind == "f" else -1)
    np.testing.assert_array_equal(
        scores(clone(estimator).fit(np.vstack([X, X]), np.append(y, blank)), X), f
    )


@every_estimator
def test_a_labelled_row_of_weight_zero_is_removed(name: str) -> None:
    estimator, (X, y, _) = example(name)
    gone = np.flatnonzero(labeled_rows(y))[::3]
    weights = np.ones(len(X))
    weights[gone] = 0
    fitted = clone(estimator).fit(X, y, sample_weight=weights)
    removed = clone(estimator).fit(np.delete(X, gone, axis=0), np.delete(y, gone))
    np.testing.assert_array_equal(scores(fitted, X), scores(removed, X))
    # It is answered all the same.
    assert fitted.transduction_.shape == (len(X),)
    expected, answer = fitted.predict(X), fitted.transduction_
    if is_classifier(estimator):
        np.testing.assert_array_equal(answer[gone], expected[gone])
    else:
        np.testing.assert_allclose(answer, expected, atol=1e-9)


@every_estimator
def test_weights_of_unlabelled_rows_are_ignored(name: str) -> None:
    estimator, X, y = fitted_example(name)
    weights = np.where(labeled_rows(y), 1.0, [[-3.0, 0.0, 7.0][i % 3] for i in range(len(X))])
    np.testing.assert_array_equal(
        scores(clone(estimator).fit(X, y, sample_weight=weights), X), scores(estimator, X)
    )


@every_example
def test_weights_scale_as_the_penalties_do(name: str) -> None:
    estimator, (X, y, _) = example(name)
    f = scores(clone(estimator).fit(X, y, sample_weight=np.full(len(X), 4.0)), X)
    smaller = clone(estimator)
    smaller.set_params(gamma_A=estimator.gamma_A / 4, gamma_I=estimator.gamma_I / 4)
    g = scores(smaller.fit(X, y), X)
    np.testing.assert_allclose(f, g, atol=1e-6 * np.abs(f).max())


@every_estimator
def test_fit_changes_neither_parameters_nor_data(name: str) -> None:
    estimator, (X, y, _) = example(name)
    params = {k: v for k, v in estimator.get_params().items() if k != "graph"}
    graph = getattr(estimator, "graph", None)
    X, y, w = X.copy(), y.copy(), np.ones(len(X))
    for array in (X, y, w):
        array.flags.writeable = False
    estimator.fit(X, y, sample_weight=w).predict(X)
    after = estimator.get_params()
    assert {key: after[key] for key in params} == params
    assert getattr(estimator, "graph", None) is graph


@every_estimator
def test_same_input_same_output_and_nothing_printed(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    estimator, X, y = fitted_example(name)
    first = pickle.dumps(scores(estimator, X))
    fitted = clone(estimator).fit(X, y)
    assert pickle.dumps(scores(fitted, X)) == first
    assert pickle.dumps(scores(fitted.fit(X, y), X)) == first
    fitted.predict(X)
    assert capfd.readouterr() == ("", "")


SPARSE = (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array, sp.csc_matrix)


@every_estimator
def test_sparse_points_are_dense_points(name: str) -> None:
    estimator, (X, y, _) = example(name)
    X = np.where(np.abs(X) < 0.7, 0, X)
    dense = clone(estimator).fit(X, y)
    f = scores(dense, X)
    for form in SPARSE[:2]:
        fitted = clone(estimator).fit(form(X), y)
        np.testing.assert_allclose(scores(fitted, X), f, atol=1e-6 * np.abs(f).max())
        for other in SPARSE:
            np.testing.assert_allclose(scores(fitted, other(X)), scores(fitted, X), atol=1e-9)
    np.testing.assert_allclose(scores(dense, sp.csr_array(X)), f, atol=1e-9)


@every_example
def test_float32_is_near_float64_and_stays_float32(name: str) -> None:
    estimator, (X, y, _) = example(name)
    X = X.astype(np.float32)
    f = scores(clone(estimator).fit(X.astype(np.float64), y), X.astype(np.float64))
    estimator.tol = max(estimator.tol or 1e-8, 1e-5)
    fitted = estimator.fit(X, y)
    g = scores(fitted, X)
    assert g.dtype == np.float32
    for attribute in ("alpha_", "coef_", "intercept_"):
        assert getattr(fitted, attribute, g).dtype == np.float32
    np.testing.assert_allclose(g, f, atol=2e-3 * np.abs(f).max())


@every_example
def test_precomputed_is_computed(name: str) -> None:
    estimator, _ = example(name)
    if is_linear(estimator):
        pytest.skip("has its own test")
    fitted, X, y = fitted_example(name)
    K = gram(fitted, X)
    Z = X[::5] + 0.1
    new = rbf_kernel(Z, X, gamma=fitted.kernel_.gamma)
    graph = given_graph(fitted) if estimator.gamma_I else None
    # A sparse kernel is solved by conjugate gradient.
    other = clone(estimator).set_params(kernel="precomputed", graph=graph, tol=1e-10)
    f = scores(fitted, Z)
    for form in (np.asarray, sp.csr_array):
        given = clone(other).fit(form(K), y)
        np.testing.assert_allclose(scores(given, form(new)), f, atol=1e-6 * np.abs(f).max())
        assert given.n_features_in_ == len(X)
        assert given.X_fit_ is None
    # Rows of weight zero leave the kernel and the graph as they leave the points.
    w = np.ones(len(X))
    w[np.flatnonzero(labeled_rows(y))[::3]] = 0
    fixed = clone(estimator).set_params(gamma=fitted.kernel_.gamma, graph=graph)
    f = scores(fixed.fit(X, y, sample_weight=w), Z)
    given = clone(other).fit(K, y, sample_weight=w)
    np.testing.assert_allclose(scores(given, new), f, atol=1e-6 * np.abs(f).max())
    assert given.transduction_.shape == (len(X),)


@every_example
def test_an_isolated_unlabelled_point_changes_nothing(name: str) -> None:
    estimator, _ = example(name)
    if not estimator.gamma_I:
        pytest.skip("there is no graph")
    fitted, X, y = fitted_example(name)
    n = len(X)
    W = sp.block_array([[fitted.affinity_, None], [None, sp.csr_array((1, 1))]]).tocsr()
    gamma = 1.0 if is_linear(estimator) else fitted.kernel_.gamma
    more = clone(estimator).set_params(graph=given_graph(fitted, W), gamma=gamma)
    blank = np.nan if y.dtype.kind == "f" else -1
    with pytest.warns(UnlabeledComponentWarning, match="1 of the graph's 2 connected components"):
        more.fit(np.vstack([X, [[1.0, 2.0, 3.0]]]), np.append(y, blank))
    f = scores(fitted, X)
    np.testing.assert_allclose(scores(more, X), f, atol=1e-6 * np.abs(f).max())
    if not is_linear(estimator):
        np.testing.assert_allclose(more.alpha_[n], 0, atol=1e-9)


@every_estimator
def test_pickle_is_small_and_predicts_to_the_bit(name: str) -> None:
    estimator, make = (EXAMPLES | BASELINES)[name]
    X, y, _ = make(n=200)
    fitted = clone(estimator).fit(X, y)
    content = pickle.dumps(fitted)
    n = len(X)
    assert len(content) < n * n * 8 / 4  # neither the kernel nor a factor of it
    again = pickle.loads(content)
    np.testing.assert_array_equal(scores(again, X), scores(fitted, X))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(again.transduction_, fitted.transduction_)


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.SingleClassWarning")
@every_example
def test_a_fit_leaves_no_trace_in_the_next(name: str) -> None:
    estimator, (X, y, _) = example(name)
    other = "rbf" if is_linear(estimator) else "linear"
    used = clone(estimator).set_params(kernel=other, gamma_I=0.5).fit(X[:40], y[:40])
    used.set_params(**{key: getattr(estimator, key) for key in ("kernel", "gamma_I")})
    fresh = clone(estimator).fit(X, y)
    np.testing.assert_array_equal(scores(used.fit(X, y), X), scores(fresh, X))
    assert sorted(vars(used)) == sorted(vars(fresh))
