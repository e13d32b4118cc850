"""One suite for every estimator, then what each promises beyond it.

Optimality is judged by stationarity conditions that are written out densely here, from the fitted
attributes and formulas of the papers (with their errata), never by what a solver says of itself.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsTransformer
from sklearn.svm import SVC, SVR, LinearSVC

from lapwing import (
    AffinityGraph,
    AnchorGraph,
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    KNNGraph,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    LapSVR,
)
from lapwing.datasets import make_two_moons
from lapwing.estimators import choice
from lapwing.estimators import manifold as base
from lapwing.exceptions import LapwingWarning, UnlabeledComponentWarning
from lapwing.graphs import default_graph

NAMES = np.array(["ash", "beech", "cedar", "dogwood"])


class Data(NamedTuple):
    X: np.ndarray
    y: np.ndarray  # with the usual marker
    truth: np.ndarray


def clusters(n_classes: int, n: int = 72, n_labels: int = 5, seed: int = 0) -> Data:
    """Overlapping Gaussian clusters, n_labels labels of each, in random order."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = rng.standard_normal((n, 3)) + 1.6 * np.eye(4)[truth][:, :3]
    y = np.full(n, -1)
    for code in range(n_classes):
        rows = rng.choice(np.flatnonzero(truth == code), n_labels, replace=False)
        y[rows] = code
    order = rng.permutation(n)
    return Data(X[order], y[order], truth[order])


def curve(n: int = 72, n_labels: int = 20, seed: int = 0) -> Data:
    """Noisy values of a smooth function; NaN is unlabelled."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 3))
    truth = np.sin(2 * X[:, 0]) + X[:, 1] + 3
    y = np.full(n, np.nan)
    rows = rng.choice(n, n_labels, replace=False)
    y[rows] = truth[rows] + 0.2 * rng.standard_normal(n_labels)
    return Data(X, y, truth)


FLAT = KNNGraph(6, normalized=False)
# What every estimator is tried with. gamma_A is such that conjugate gradient ends soon, and every
# tolerance so fine that solutions can be compared.
EXAMPLES: dict[str, tuple[Any, Callable[..., Data]]] = {
    "LapSVC, 2 classes": (LapSVC(gamma_A=1e-2), partial(clusters, 2)),
    "LapSVC, 4 classes": (LapSVC(gamma_A=1e-2), partial(clusters, 4)),
    "LapSVC, intercept": (LapSVC(gamma_A=1e-2, fit_intercept=True), partial(clusters, 3)),
    "LapSVC, intercept, D - W": (
        LapSVC(gamma_A=1e-2, graph=FLAT, fit_intercept=True),
        partial(clusters, 3),
    ),
    "LapSVC, newton": (LapSVC(solver="newton", gamma_A=1e-2), partial(clusters, 3)),
    "LapSVC, pcg": (LapSVC(solver="pcg", gamma_A=1e-1, tol=1e-10), partial(clusters, 3)),
    "LapSVC, pcg, intercept": (
        LapSVC(solver="pcg", gamma_A=1e-1, tol=1e-10, graph=FLAT, fit_intercept=True),
        partial(clusters, 2),
    ),
    "LapSVC, hinge": (LapSVC(loss="hinge", gamma_A=1e-2), partial(clusters, 2)),
    "LapSVC, hinge, 3 classes": (LapSVC(loss="hinge", gamma_A=1e-2), partial(clusters, 3)),
    "LapSVC, hinge, intercept": (
        LapSVC(loss="hinge", gamma_A=1e-2, fit_intercept=True),
        partial(clusters, 2),
    ),
    "LapSVC, hinge, intercept, D - W": (
        LapSVC(loss="hinge", gamma_A=1e-2, graph=FLAT, fit_intercept=True),
        partial(clusters, 3),
    ),
    "LapSVC, linear": (
        LapSVC("linear", gamma_A=1e-2, fit_intercept=True),
        partial(clusters, 3),
    ),
    "LapSVC, linear, hinge": (
        LapSVC("linear", gamma_A=1e-2, loss="hinge"),
        partial(clusters, 2),
    ),
    "LapSVC, no graph": (LapSVC(gamma_A=1e-2, gamma_I=0), partial(clusters, 3)),
    "LapRLSClassifier, 2 classes": (LapRLSClassifier(gamma_A=1e-2), partial(clusters, 2)),
    "LapRLSClassifier, 4 classes": (LapRLSClassifier(gamma_A=1e-2), partial(clusters, 4)),
    "LapRLSClassifier, pcg": (
        LapRLSClassifier(solver="pcg", gamma_A=1e-1, tol=1e-10),
        partial(clusters, 3),
    ),
    "LapRLSRegressor": (LapRLSRegressor(gamma_A=1e-2), curve),
    "LapRLSRegressor, linear": (LapRLSRegressor("linear", gamma_A=1e-2), curve),
    "LapRLSRegressor, pcg": (
        LapRLSRegressor(solver="pcg", gamma_A=1e-1, tol=1e-10, graph=FLAT),
        curve,
    ),
    "LapRLSRegressor, no intercept": (LapRLSRegressor(gamma_A=1e-2, fit_intercept=False), curve),
    "LapSVR": (LapSVR(gamma_A=1e-2), curve),
    "LapSVR, epsilon 0": (LapSVR(gamma_A=1e-2, epsilon=0), curve),
    "LapSVR, no intercept, D - W": (
        LapSVR(gamma_A=1e-2, epsilon=0.3, fit_intercept=False, graph=FLAT),
        curve,
    ),
}
LOSSES = {"LapRLSClassifier": "squared", "LapRLSRegressor": "squared", "LapSVR": "epsilon"}
every_example = pytest.mark.parametrize("name", EXAMPLES)

# Those that are no kernel methods. What holds of any estimator is tried with them too.
BASELINES: dict[str, tuple[Any, Callable[..., Data]]] = {
    "AnchorGraphClassifier, 2 classes": (
        AnchorGraphClassifier(AnchorGraph(12)),
        partial(clusters, 2),
    ),
    "AnchorGraphClassifier, embedding": (
        AnchorGraphClassifier(AnchorGraph(12, weights="embedding")),
        partial(clusters, 4),
    ),
    "AnchorGraphClassifier, random": (
        AnchorGraphClassifier(AnchorGraph(20, anchors="random"), class_mass_normalization=False),
        partial(clusters, 3),
    ),
    "EigenfunctionClassifier, 2 classes": (EigenfunctionClassifier(), partial(clusters, 2)),
    "EigenfunctionClassifier, 3 classes": (EigenfunctionClassifier(lam=10), partial(clusters, 3)),
}
every_estimator = pytest.mark.parametrize("name", [*EXAMPLES, *BASELINES])


def example(name: str) -> tuple[Any, Data]:
    estimator, make = (EXAMPLES | BASELINES)[name]
    return clone(estimator), make()


def is_classifier(estimator: Any) -> bool:
    return not isinstance(estimator, (LapSVR, LapRLSRegressor))


def is_linear(estimator: Any) -> bool:
    return isinstance(estimator.kernel, str) and estimator.kernel == "linear"


def scores(estimator: Any, X: Any) -> np.ndarray:
    """Fitted functions at points, one column each."""
    answer = estimator.decision_function if is_classifier(estimator) else estimator.predict
    values = answer(X)
    return values[:, None] if values.ndim == 1 else values


def labeled_rows(y: np.ndarray) -> np.ndarray:
    return ~np.isnan(y) if y.dtype.kind == "f" else y != -1


def coded(estimator: Any, y: np.ndarray) -> np.ndarray:
    """Targets at the labelled rows, one column a function, positive for the class of the column."""
    known = y[labeled_rows(y)]
    if not is_classifier(estimator):
        return known[:, None]
    classes = estimator.classes_[1:] if len(estimator.classes_) == 2 else estimator.classes_
    return np.where(known[:, None] == classes, 1.0, -1.0)


def recipe(estimator: Any) -> Any:
    if estimator.graph is not None:
        return estimator.graph
    return default_graph(np.empty((99, 3)), regression=not is_classifier(estimator))


def given_graph(estimator: Any, affinity: Any = None) -> AffinityGraph:
    """The graph of a fitted estimator, or another affinity with the same operator."""
    options = recipe(estimator)
    W = estimator.affinity_ if affinity is None else affinity
    return AffinityGraph(W, normalized=options.normalized, power=options.power)


def dense_smoothness(estimator: Any) -> np.ndarray:
    """gamma_I L^p, formed."""
    n = len(estimator.labeled_)
    if estimator.gamma_I == 0:
        return np.zeros((n, n))
    W = estimator.affinity_.toarray()
    degrees = W.sum(axis=1)
    L = np.diag(degrees) - W
    options = recipe(estimator)
    if options.normalized:
        L = L / np.sqrt(np.outer(degrees, degrees))
    return estimator.gamma_I * np.linalg.matrix_power(L, options.power)


def gram(estimator: Any, X: np.ndarray) -> np.ndarray:
    return X @ X.T if is_linear(estimator) else rbf_kernel(X, gamma=estimator.kernel_.gamma)


# ---- the shared suite --------------------------------------------------------------------------


@every_example
def test_attributes(name: str) -> None:
    estimator, (X, y, _) = example(name)
    assert estimator.fit(X, y) is estimator
    n, c = len(X), coded(estimator, y).shape[1]
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
    estimator, (X, y, _) = example(name)
    estimator.fit(X, y)
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
    estimator, (X, y, _) = example(name)
    weights = np.random.default_rng(1).uniform(0.5, 2, len(X))
    estimator.fit(X, y, sample_weight=weights)
    at, Y, f = labeled_rows(y), coded(estimator, y), scores(estimator, X)
    w, score = weights[at][:, None], f[at]
    K, S = gram(estimator, X), dense_smoothness(estimator)
    h = f - estimator.intercept_
    loss = getattr(estimator, "loss", LOSSES.get(type(estimator).__name__))
    if loss in ("squared", "squared_hinge"):
        u = np.zeros_like(f)
        u[at] = w * (Y - score) * (1.0 if loss == "squared" else Y * score < 1)
    else:
        # Points at a kink may have any subgradient: what the rest of the equation leaves for them
        # must be one. Of all expansions of h the fitted one has u = gamma_A alpha + gamma_I L f.
        alpha = getattr(estimator, "alpha_", None)
        if alpha is None:
            pytest.skip("the multipliers of a linear function are not kept")
        u = estimator.gamma_A * alpha + S @ f
        np.testing.assert_allclose(u[~at], 0, atol=1e-8)
        excess, sign = (
            (1 - Y * score, Y)
            if loss == "hinge"
            else (np.abs(Y - score) - estimator.epsilon, np.sign(Y - score))
        )
        share = 2 * u[at] * sign / w  # libsvm's convention has no 1/2
        kink = np.abs(excess) < 1e-6
        assert kink.any()
        inside = share[kink] if loss == "hinge" or estimator.epsilon else np.abs(share[kink])
        assert (inside > -1e-6).all()
        assert (inside < 1 + 1e-6).all()
        np.testing.assert_allclose(share[~kink], excess[~kink] > 0, atol=1e-6)
    size = np.abs(K[:, at] @ (w * Y)).max()
    residual = K @ (u - S @ f) - estimator.gamma_A * h
    np.testing.assert_allclose(residual, 0, atol=1e-7 * size)
    if estimator.fit_intercept:
        np.testing.assert_allclose((u - S @ f).sum(axis=0), 0, atol=1e-6 * np.abs(Y).sum())


@every_example
def test_objective_is_that_of_the_paper(name: str) -> None:
    estimator, (X, y, _) = example(name)
    weights = np.random.default_rng(1).uniform(0.5, 2, len(X))
    estimator.fit(X, y, sample_weight=weights)
    at, Y, f = labeled_rows(y), coded(estimator, y), scores(estimator, X)
    S = dense_smoothness(estimator)
    margin = Y * f[at]
    losses = {
        "squared_hinge": lambda: np.maximum(1 - margin, 0) ** 2,
        "hinge": lambda: np.maximum(1 - margin, 0),
        "squared": lambda: (Y - f[at]) ** 2,
        "epsilon": lambda: np.maximum(np.abs(Y - f[at]) - estimator.epsilon, 0),
    }
    loss = getattr(estimator, "loss", LOSSES.get(type(estimator).__name__))
    if is_linear(estimator):
        norm = (estimator.coef_**2).sum(axis=1)
    else:
        norm = np.einsum("ij,ik,kj->j", estimator.alpha_, gram(estimator, X), estimator.alpha_)
    total = (
        weights[at] @ losses[loss]() + estimator.gamma_A * norm + np.einsum("ij,ik,kj->j", f, S, f)
    )
    # Only the squared hinge is printed with an overall 1/2: LapSVM paper, (4), (7) and (14).
    np.testing.assert_allclose(
        estimator.objective_, total * (0.5 if loss == "squared_hinge" else 1.0), rtol=1e-6
    )


@every_estimator
def test_transduction_is_the_prediction_of_the_training_points(name: str) -> None:
    estimator, (X, y, _) = example(name)
    estimator.fit(X, y)
    if is_classifier(estimator):
        f = np.sort(scores(estimator, X), axis=1)
        sure = np.abs(f[:, 0]) > 1e-9 if f.shape[1] == 1 else f[:, -1] - f[:, -2] > 1e-9
        assert sure.sum() > 60
        np.testing.assert_array_equal(estimator.transduction_[sure], estimator.predict(X)[sure])
    else:
        np.testing.assert_allclose(estimator.transduction_, estimator.predict(X), atol=1e-9)


@every_estimator
def test_predictions_follow_the_scores(name: str) -> None:
    estimator, (X, y, _) = example(name)
    Z = X[::3] + 0.1
    f = scores(estimator.fit(X, y), Z)
    if not is_classifier(estimator):
        assert estimator.predict(Z).shape == (len(Z),)
        return
    k = len(estimator.classes_)
    assert estimator.decision_function(Z).shape == ((len(Z),) if k == 2 else (len(Z), k))
    winner = (f[:, 0] >= 0).astype(int) if k == 2 else f.argmax(axis=1)
    np.testing.assert_array_equal(estimator.predict(Z), estimator.classes_[winner])


@every_estimator
def test_order_of_the_points_is_immaterial(name: str) -> None:
    estimator, (X, y, _) = example(name)
    w = np.random.default_rng(1).uniform(0.5, 2, len(X))
    f = scores(estimator.fit(X, y, sample_weight=w), X)
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
    estimator, (X, y, _) = example(name)
    f = scores(clone(estimator).fit(X, y), X)
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
    estimator, (X, y, _) = example(name)
    weights = np.where(labeled_rows(y), 1.0, [[-3.0, 0.0, 7.0][i % 3] for i in range(len(X))])
    np.testing.assert_array_equal(
        scores(clone(estimator).fit(X, y, sample_weight=weights), X),
        scores(clone(estimator).fit(X, y), X),
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
def test_same_input_same_output(name: str) -> None:
    estimator, (X, y, _) = example(name)
    first = pickle.dumps(scores(clone(estimator).fit(X, y), X))
    assert pickle.dumps(scores(clone(estimator).fit(X, y), X)) == first
    fitted = clone(estimator).fit(X, y)
    assert pickle.dumps(scores(fitted.fit(X, y), X)) == first


@every_estimator
def test_nothing_is_printed(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    estimator, (X, y, _) = example(name)
    estimator.fit(X, y).predict(X)
    assert capfd.readouterr() == ("", "")


SPARSE = (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array, sp.csc_matrix)


@every_estimator
def test_sparse_points_are_dense_points(name: str) -> None:
    estimator, (X, y, _) = example(name)
    X = np.where(np.abs(X) < 0.7, 0, X)
    f = scores(clone(estimator).fit(X, y), X)
    for form in SPARSE[:2]:
        fitted = clone(estimator).fit(form(X), y)
        np.testing.assert_allclose(scores(fitted, X), f, atol=1e-6 * np.abs(f).max())
        for other in SPARSE:
            np.testing.assert_allclose(scores(fitted, other(X)), scores(fitted, X), atol=1e-9)
    dense = clone(estimator).fit(X, y)
    np.testing.assert_allclose(scores(dense, sp.csr_array(X)), f, atol=1e-9)


@every_example
def test_float32_is_near_float64_and_stays_float32(name: str) -> None:
    estimator, (X, y, _) = example(name)
    X = X.astype(np.float32)
    f = scores(clone(estimator).fit(X.astype(np.float64), y), X.astype(np.float64))
    estimator.tol = max(estimator.tol, 1e-5)
    fitted = estimator.fit(X, y)
    g = scores(fitted, X)
    assert g.dtype == np.float32
    for attribute in ("alpha_", "coef_", "intercept_"):
        assert getattr(fitted, attribute, g).dtype == np.float32
    np.testing.assert_allclose(g, f, atol=2e-3 * np.abs(f).max())


@every_example
def test_precomputed_is_computed(name: str) -> None:
    estimator, (X, y, _) = example(name)
    if is_linear(estimator):
        pytest.skip("has its own test")
    fitted = clone(estimator).fit(X, y)
    K = gram(fitted, X)
    Z = X[::5] + 0.1
    new = rbf_kernel(Z, X, gamma=fitted.kernel_.gamma)
    graph = given_graph(fitted) if estimator.gamma_I else None
    # A sparse kernel is solved by conjugate gradient.
    other = clone(estimator).set_params(kernel="precomputed", graph=graph, tol=1e-10)
    f = scores(fitted, Z)
    for form in (np.asarray, sp.csr_array, sp.csr_matrix):
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
    estimator, (X, y, _) = example(name)
    if not estimator.gamma_I:
        pytest.skip("there is no graph")
    fitted = clone(estimator).fit(X, y)
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


# ---- solvers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("graph", [None, FLAT], ids=["normalised", "D - W"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("estimator", [LapSVC, LapRLSClassifier])
def test_newton_pcg_and_dual_agree(
    estimator: Any, n_classes: int, kernel: str, graph: Any, fit_intercept: bool
) -> None:
    X, y, _ = clusters(n_classes)
    y = np.where(y == -1, "?", NAMES[y])
    options = {"graph": graph, "fit_intercept": fit_intercept, "unlabeled": "?", "gamma_A": 0.1}
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X))
    newton, pcg, dual = (
        estimator(kernel, solver=solver, tol=1e-9, **options).fit(X, y, sample_weight=weights)
        for solver in ("newton", "pcg", "dual")
    )
    assert newton.classes_.tolist() == NAMES[:n_classes].tolist()
    f = scores(newton, X)
    for other in (pcg, dual):
        np.testing.assert_allclose(other.objective_, newton.objective_, rtol=1e-8)
        np.testing.assert_allclose(scores(other, X), f, atol=1e-5 * np.abs(f).max())
        np.testing.assert_array_equal(other.transduction_, newton.transduction_)
    assert set(newton.transduction_) <= set(NAMES)


@pytest.mark.parametrize("gamma_A", [1e-4, 1e-6])
def test_the_linear_kernel_is_the_linear_space(gamma_A: float) -> None:
    def inner(X: Any, Z: Any) -> Any:
        return X @ Z.T

    for X, y, _ in (clusters(3), clusters(2)):
        for loss in ("squared_hinge", "hinge"):
            for bias in (False, True):
                options = {"gamma_A": gamma_A, "loss": loss, "fit_intercept": bias}
                linear = LapSVC("linear", **options).fit(X, y)
                kernel = LapSVC(inner, **options).fit(X, y)
                np.testing.assert_allclose(kernel.objective_, linear.objective_, rtol=1e-6)
                np.testing.assert_allclose(
                    kernel.decision_function(X), linear.decision_function(X), atol=1e-5
                )


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("solver", ["auto", "newton", "pcg", "dual"])
def test_more_features_than_points(solver: str, form: Any) -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 150)) < 0.8, 0, rng.standard_normal((40, 150)))
    y = np.full(40, -1)
    y[:12] = np.arange(12) % 2
    options = {"gamma_A": 0.1, "tol": 1e-9}
    f = LapSVC(lambda X, Z: X @ Z.T, **options).fit(X, y).decision_function(X)
    linear = LapSVC("linear", solver=solver, **options).fit(form(X), y)
    assert linear.coef_.shape == (1, 150)
    np.testing.assert_allclose(linear.decision_function(form(X)), f, atol=1e-6)


@pytest.mark.parametrize(
    ("limits", "options", "solver", "reason"),
    [
        ({}, {}, "dual", "n = 72: one factorisation for all classes"),
        ({"_MAX_POINTS": 71}, {}, "pcg", "n = 72 > 71: products instead of a factorisation"),
        ({"_MAX_LABELS": 14}, {}, "pcg", "more than 14 labels"),
        ({}, {"stopping": "stability"}, "pcg", "a stopping rule looks at its iterates"),
        ({}, {"loss": "hinge"}, "dual", "the only solver of the hinge loss"),
        ({}, {"kernel": "linear"}, "newton", "3 features: a small primal system"),
        ({"_MAX_FEATURES": 2}, {"kernel": "linear"}, "pcg", "3 features and n = 72: products"),
        ({}, {"solver": "newton"}, "newton", "asked for"),
    ],
)
def test_the_choice_of_solver_is_logged(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    limits: dict[str, int],
    options: dict[str, Any],
    solver: str,
    reason: str,
) -> None:
    for limit, value in limits.items():
        monkeypatch.setattr(choice, limit, value)
    X, y, _ = clusters(3)
    with caplog.at_level(logging.INFO, logger="lapwing"):
        fitted = LapSVC(gamma_A=0.1, **options).fit(X, y)
    assert fitted.solver_ == solver
    assert f"solver {solver!r}: {reason}" in caplog.text


def test_sparse_kernels_and_wide_sparse_points_are_not_factored_without_being_asked() -> None:
    X, y, _ = clusters(2)
    K = sp.csr_array(np.where(rbf_kernel(X) > 0.05, rbf_kernel(X), 0) + 3 * np.eye(len(X)))
    W = KNNGraph(5).affinity(X)
    assert LapSVC("precomputed", graph=W, gamma_A=0.1).fit(K, y).solver_ == "pcg"
    wide = sp.csr_array(np.hstack([X, np.zeros((len(X), 80))]))
    assert LapSVC("linear", gamma_A=0.1).fit(wide, y).solver_ == "dual"


# ---- what the special cases are ----------------------------------------------------------------


@pytest.mark.parametrize("gamma_A", [0.05, 1.0])
def test_without_a_graph_the_hinge_is_the_svm(gamma_A: float) -> None:
    X, y, _ = clusters(2, n_labels=20)
    y = np.where(y == -1, "?", NAMES[y])
    at = y != "?"
    w = np.random.default_rng(0).uniform(0.5, 2, len(X))
    ours = LapSVC(
        gamma=0.3, gamma_A=gamma_A, gamma_I=0, loss="hinge", fit_intercept=True, unlabeled="?"
    ).fit(X, y, sample_weight=w)
    svc = SVC(C=1 / (2 * gamma_A), gamma=0.3, tol=1e-9).fit(X[at], y[at], sample_weight=w[at])
    np.testing.assert_allclose(ours.decision_function(X), svc.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), svc.predict(X))


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_without_a_graph_the_squared_hinge_is_the_primal_svm(fit_intercept: bool) -> None:
    X, y, _ = clusters(3, n_labels=12)
    at = y != -1
    ours = LapSVC("linear", gamma_A=0.5, gamma_I=0, fit_intercept=fit_intercept).fit(X, y)
    # liblinear penalises its bias, as that of one more feature: the larger that, the less.
    theirs = LinearSVC(
        C=1.0,
        dual=False,
        tol=1e-12,
        max_iter=10**5,
        fit_intercept=fit_intercept,
        intercept_scaling=1e4,
    ).fit(X[at], y[at])
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


def test_without_a_graph_least_squares_is_ridge_regression() -> None:
    X, y, _ = curve()
    at = ~np.isnan(y)
    w = np.random.default_rng(0).uniform(0.5, 2, len(X))
    kernel = LapRLSRegressor(gamma=0.3, gamma_A=0.2, gamma_I=0, fit_intercept=False)
    theirs = KernelRidge(alpha=0.2, kernel="rbf", gamma=0.3).fit(X[at], y[at], w[at])
    np.testing.assert_allclose(
        kernel.fit(X, y, sample_weight=w).predict(X), theirs.predict(X), atol=1e-9
    )
    linear = LapRLSRegressor("linear", gamma_A=0.2, gamma_I=0).fit(X, y, sample_weight=w)
    ridge = Ridge(alpha=0.2).fit(X[at], y[at], sample_weight=w[at])
    np.testing.assert_allclose(linear.predict(X), ridge.predict(X), atol=1e-9)
    np.testing.assert_allclose(linear.coef_[0], ridge.coef_, atol=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_without_a_graph_the_insensitive_loss_is_support_vector_regression(
    epsilon: float,
) -> None:
    X, y, _ = curve()
    at = ~np.isnan(y)
    ours = LapSVR(gamma=0.3, gamma_A=0.2, gamma_I=0, epsilon=epsilon).fit(X, y)
    theirs = SVR(C=1 / 0.4, gamma=0.3, epsilon=epsilon, tol=1e-9).fit(X[at], y[at])
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)


def test_least_squares_is_the_closed_form_of_the_paper() -> None:
    """alpha = (J K + gamma_A I + gamma_I L K)^-1 y: LapSVM paper, (15), without a bias."""
    X, y, _ = clusters(3)
    ours = LapRLSClassifier(gamma=0.3, gamma_A=0.02, gamma_I=0.7).fit(X, y)
    K, S = gram(ours, X), dense_smoothness(ours)
    J = np.diag((y != -1).astype(float))
    Y = np.where(y[:, None] == np.arange(3), 1.0, -1.0) * (y != -1)[:, None]
    alpha = np.linalg.solve(J @ K + 0.02 * np.eye(len(X)) + S @ K, Y)
    np.testing.assert_allclose(ours.decision_function(X), K @ alpha, atol=1e-8)


@pytest.mark.parametrize(
    "estimator",
    [LapSVC(gamma_A=1e-2), LapSVC(gamma_A=1e-2, loss="hinge"), LapRLSClassifier(gamma_A=1e-2)],
    ids=["squared_hinge", "hinge", "squared"],
)
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.SingleClassWarning")
def test_columns_are_one_against_the_rest_in_the_order_of_the_classes(estimator: Any) -> None:
    X, y, _ = clusters(4)
    y = np.where(y == -1, "?", NAMES[::-1][y])
    estimator = clone(estimator).set_params(unlabeled="?")
    joint = clone(estimator).fit(X, y)
    assert joint.classes_.tolist() == NAMES.tolist()
    for column, label in enumerate(NAMES):
        binary = np.where(y == "?", "?", np.where(y == label, "this", "rest"))
        alone = clone(estimator).fit(X, binary)
        assert alone.classes_.tolist() == ["rest", "this"]
        np.testing.assert_allclose(
            joint.decision_function(X)[:, column], alone.decision_function(X), atol=1e-7
        )


def test_the_two_classes_are_mirror_images() -> None:
    X, y, _ = clusters(2)
    f = LapSVC(gamma_A=1e-2).fit(X, y).decision_function(X)
    g = LapSVC(gamma_A=1e-2).fit(X, np.where(y == -1, -1, 1 - y)).decision_function(X)
    np.testing.assert_allclose(g, -f, atol=1e-9)


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.NothingUnlabeledWarning")
def test_ties_are_predicted_positive() -> None:
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    fitted = LapSVC("linear", gamma_I=0, unlabeled=None).fit(X, ["a", "a", "b", "b"])
    assert fitted.decision_function([[0.0]]).tolist() == [0.0]
    assert fitted.predict([[0.0]]).tolist() == ["b"]


LABEL_TYPES: dict[str, tuple[list[Any], Any]] = {
    "int": ([3, 7, 5], -1),
    "bool": ([True, False], None),
    "bool, marker -1": ([True, False], -1),
    "str": (["b", "c", "a"], "?"),
    "str, None": (["b", "c", "a"], None),
    "str, NaN": (["b", "c", "a"], np.nan),
    "float": ([1.0, 2.0, 0.0], np.nan),
    "minus and plus one": ([-1, 1], 0),
    "np.str_": ([np.str_("b"), np.str_("a")], "?"),
}


@pytest.mark.parametrize(
    "estimator",
    [
        LapSVC(),
        LapRLSClassifier(),
        AnchorGraphClassifier(AnchorGraph(12)),
        EigenfunctionClassifier(),
    ],
    ids=["LapSVC", "LapRLS", "anchors", "eigenfunctions"],
)
@pytest.mark.parametrize(("labels", "marker"), LABEL_TYPES.values(), ids=LABEL_TYPES.keys())
def test_labels_of_any_type(estimator: Any, labels: list[Any], marker: Any) -> None:
    X, codes, _ = clusters(len(labels))
    y = [marker if code == -1 else labels[code] for code in codes]
    numbers = clone(estimator).fit(X, codes)
    fitted = clone(estimator).set_params(unlabeled=marker).fit(X, y)
    assert fitted.classes_.tolist() == sorted(labels)
    predicted = fitted.predict(X)
    assert predicted.tolist() == [labels[code] for code in numbers.predict(X)]
    assert {type(label) for label in predicted.tolist()} == {type(sorted(labels)[0])} - {
        np.str_
    } or isinstance(labels[0], np.str_)
    assert fitted.transduction_.dtype == fitted.classes_.dtype == predicted.dtype
    assert fitted.score(X, predicted) == 1.0


# ---- weights -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator", [LapSVC(), LapSVC(loss="hinge"), LapRLSClassifier()], ids=["sqh", "hinge", "rls"]
)
def test_class_weights_are_sample_weights(estimator: Any) -> None:
    X, y, _ = clusters(3)
    y[np.flatnonzero(y == 0)[1:]] = -1
    names = np.where(y == -1, "?", NAMES[y])
    base_weight = np.random.default_rng(0).uniform(0.5, 2, len(X))

    def fitted(weights: np.ndarray, class_weight: Any) -> np.ndarray:
        model = clone(estimator).set_params(gamma_A=1e-2, class_weight=class_weight, unlabeled="?")
        return model.fit(X, names, sample_weight=weights).decision_function(X)

    plain = fitted(base_weight, None)
    weighted = fitted(base_weight, {"ash": 3.0, "beech": 0.5})  # those not named keep 1
    factors = np.select([y == 0, y == 1], [3.0, 0.5], 1.0)
    np.testing.assert_array_equal(weighted, fitted(base_weight * factors, None))
    assert np.abs(weighted - plain).max() > 1e-3
    counts = np.bincount(y[y != -1])
    assert counts.tolist() == [1, 5, 5]
    balanced = counts.sum() / (3 * counts)
    np.testing.assert_allclose(
        fitted(base_weight, "balanced"),
        fitted(base_weight * np.where(y == -1, 1, balanced[y]), None),
        atol=1e-9,
    )


def test_conflicting_labels_of_one_point_are_all_heard() -> None:
    X, y, _ = curve()
    i, j = np.flatnonzero(~np.isnan(y))[:2]
    extra = np.append(y, [y[i] + 3, y[j]])
    both = LapRLSRegressor(gamma_A=1e-2).fit(np.vstack([X, X[i], X[j]]), extra)
    mean, w = y.copy(), np.ones(len(X))
    mean[i] += 1.5
    w[[i, j]] = 2
    averaged = LapRLSRegressor(gamma_A=1e-2).fit(X, mean, sample_weight=w)
    np.testing.assert_allclose(both.predict(X), averaged.predict(X), atol=1e-8)
    # The spread about the mean is part of the objective, and of nothing else.
    np.testing.assert_allclose(both.objective_, averaged.objective_ + 2 * 1.5**2, rtol=1e-8)


@pytest.mark.parametrize("solver", ["newton", "pcg", "dual"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_conflicting_labels_of_classes(solver: str, kernel: str) -> None:
    X, y, _ = clusters(2)
    i = np.flatnonzero(y == 0)[0]
    X2, y2 = np.vstack([X, X[i], X[i]]), np.append(y, [1, 1])
    fitted = LapSVC(kernel, gamma_A=0.1, solver=solver, tol=1e-9).fit(X2, y2)
    f = fitted.decision_function(X)
    # Apart by a hair they are different points, whose graph is not the same: so without one.
    near = X2.copy()
    near[-2:] += [[1e-9], [-1e-9]]
    options = {"gamma_A": 0.1, "gamma_I": 0, "solver": solver, "gamma": 0.3, "tol": 1e-9}
    equal, apart = (LapSVC(kernel, **options).fit(points, y2) for points in (X2, near))
    np.testing.assert_allclose(equal.decision_function(X), apart.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(equal.objective_, apart.objective_, rtol=1e-6)
    assert fitted.transduction_[i] == fitted.transduction_[-1] == fitted.predict(X[[i]])[0]
    assert (
        f[i]
        > LapSVC(kernel, gamma_A=0.1, solver=solver, tol=1e-9).fit(X, y).decision_function(X)[i]
    )


# ---- graphs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_features", "estimator", "graph"),
    [
        (3, LapSVC(), KNNGraph(n_neighbors=10, power=1)),
        (4, LapSVC(), KNNGraph(n_neighbors=5, power=2)),
        (4, LapSVR(), KNNGraph(n_neighbors=5, power=2, normalized=False)),
    ],
    ids=["few features", "more features", "a regression"],
)
def test_the_default_graph_is_the_documented_one(
    n_features: int, estimator: Any, graph: KNNGraph
) -> None:
    X, y, _ = clusters(2)
    X = np.hstack([X, X[:, :1] ** 2])[:, :n_features]
    y = y if is_classifier(estimator) else np.where(y == -1, np.nan, y)
    default = scores(clone(estimator).fit(X, y), X)
    written = scores(clone(estimator).set_params(graph=graph).fit(X, y), X)
    np.testing.assert_array_equal(default, written)


def test_the_default_graph_shrinks_to_few_points() -> None:
    few = np.array([[0.0], [1.0], [3.0]])
    assert LapSVC().fit(few, [0, -1, 1]).affinity_.nnz == 6
    assert LapRLSRegressor().fit(few[:2], [0.5, np.nan]).affinity_.nnz == 2
    # Two rows that are one point.
    assert LapRLSRegressor().fit(few[[0, 0]], [0.5, np.nan]).affinity_.nnz == 0


def test_bare_matrices_and_transformers_are_graphs() -> None:
    X, y, _ = clusters(2)
    W = KNNGraph(5).affinity(X)
    f = LapSVC(graph=AffinityGraph(W)).fit(X, y).decision_function(X)
    for graph in (W, W.toarray(), sp.csr_matrix(W), sp.coo_array(W)):
        g = LapSVC(graph=graph).fit(X, y).decision_function(X)
        np.testing.assert_array_equal(g, f)
    g = LapSVC(graph=KNeighborsTransformer(n_neighbors=5)).fit(X, y).decision_function(X)
    np.testing.assert_allclose(g, f, atol=1e-8)


def test_with_a_given_graph_equal_rows_are_different_points() -> None:
    X, y, _ = clusters(2)
    X2, y2 = np.vstack([X, X[:3]]), np.append(y, [-1, -1, -1])
    W = KNNGraph(5).affinity(X2)
    fitted = LapSVC(graph=AffinityGraph(W)).fit(X2, y2)
    assert fitted.alpha_.shape == (len(X2), 1)
    assert fitted.affinity_.shape == W.shape


@pytest.mark.parametrize("seed", [0, 1, 3])
@pytest.mark.parametrize(
    "estimator", [LapSVC(), LapSVC(loss="hinge"), LapRLSClassifier()], ids=["sqh", "hinge", "rls"]
)
def test_unlabelled_points_help(estimator: Any, seed: int) -> None:
    X, y, truth = make_two_moons(random_state=seed, return_truth=True)
    supervised = clone(estimator).set_params(gamma_I=0).fit(X, y)
    semi = clone(estimator).fit(X, y)
    assert np.mean(supervised.predict(X) != truth) > 0.05
    assert np.mean(semi.predict(X) != truth) == 0
    assert np.mean(semi.transduction_ != truth) == 0


# ---- early stopping ----------------------------------------------------------------------------


class Iterates:
    """A callback that keeps the scores of every iterate at some points."""

    def __init__(self, X: Any, stop_after: int | None = None) -> None:
        self.X = X
        self.stop_after = stop_after
        self.scores: list[np.ndarray] = []

    def setup(self, estimator: Any, context: Any) -> None:
        pass

    def teardown(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> bool | None:
        if context.task_name != "iteration":
            return None
        self.scores.append(scores(fitted_estimator, self.X))
        return self.stop_after is not None and len(self.scores) >= self.stop_after


def elected(f: np.ndarray) -> np.ndarray:
    return f[:, 0] >= 0 if f.shape[1] == 1 else f.argmax(axis=1)


def first_stop(
    stopping: str,
    iterates: list[np.ndarray],
    every: int,
    unstable: Callable[[np.ndarray, np.ndarray], float],
    error: Callable[[np.ndarray], float],
) -> int:
    """Algorithms 2 and 3 of the LapSVM paper, read off the list of all iterates."""
    old, old_error = None, np.inf
    for t in range(every, len(iterates) + 1, every):
        f = iterates[t - 1]
        stable = old is not None and unstable(f, old) < 0.015
        no_better = error(f) >= old_error
        old, old_error = f, error(f)
        if {"stability": stable, "validation": no_better, "mixed": stable and no_better}[stopping]:
            return t
    return 0


@pytest.mark.parametrize("stopping", ["stability", "validation", "mixed"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_early_stopping_of_classes(n_classes: int, stopping: str) -> None:
    X, y, truth = clusters(n_classes, n=120, seed=3)
    X_val, names = X[:25], NAMES[truth[:25]]
    X, y = X[25:], np.where(y[25:] == -1, "?", NAMES[y[25:]])
    options = {"unlabeled": "?", "gamma_A": 1e-6, "tol": 1e-12}
    data = {} if stopping == "stability" else {"validation_data": (X_val, names.tolist())}
    record = Iterates(np.vstack([X[y == "?"], X_val]), stop_after=150)
    model = LapSVC(solver="pcg", **options)
    model.set_callbacks(record).fit(X, y)
    every = round(np.sqrt(len(X)) / 2)  # theta of the paper, errata L20
    u = int((y == "?").sum())
    codes = elected(np.eye(n_classes)[truth[:25]] if n_classes > 2 else truth[:25, None] - 0.5)
    expected = first_stop(
        stopping,
        record.scores,
        every,
        lambda new, old: float(np.mean(elected(new)[:u] != elected(old)[:u])),
        lambda f: float(np.sum(elected(f)[u:] != codes)),
    )
    assert expected
    fitted = LapSVC(solver="auto", stopping=stopping, **options).fit(X, y, **data)
    assert fitted.solver_ == "pcg"
    assert fitted.n_iter_ == expected
    assert fitted.n_iter_ % every == 0
    np.testing.assert_allclose(
        scores(fitted, record.X), record.scores[expected - 1], rtol=1e-6, atol=1e-9
    )
    assert (fitted.objective_ >= model.objective_).all()


@pytest.mark.parametrize("stopping", ["stability", "validation", "mixed"])
def test_early_stopping_of_a_regression(stopping: str) -> None:
    X, y, truth = curve(n=120, n_labels=30, seed=1)
    X_val, y_val, X, y = X[:20], truth[:20], X[20:], y[20:]
    data = {} if stopping == "stability" else {"validation_data": (X_val, y_val)}
    record = Iterates(np.vstack([X[np.isnan(y)], X_val]), stop_after=200)
    options = {"gamma_A": 1e-4, "solver": "pcg", "tol": 1e-12}
    LapRLSRegressor(**options).set_callbacks(record).fit(X, y)
    u = int(np.isnan(y).sum())
    expected = first_stop(
        stopping,
        record.scores,
        5,
        lambda new, old: float(np.linalg.norm(new[:u] - old[:u]) / np.linalg.norm(new[:u])),
        lambda f: float(np.sum((f[u:, 0] - y_val) ** 2)),
    )
    assert expected
    fitted = LapRLSRegressor(stopping=stopping, **options).fit(X, y, **data)
    assert fitted.n_iter_ == expected
    np.testing.assert_allclose(fitted.predict(record.X), record.scores[expected - 1][:, 0])


@pytest.mark.parametrize("fraction", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("stopping", ["validation", "mixed"])
def test_held_out_labels_take_no_part_in_the_fit(
    monkeypatch: pytest.MonkeyPatch, stopping: str, fraction: float
) -> None:
    X, y, _ = clusters(3, n=100, n_labels=6)
    kept: list[np.ndarray] = []

    def spy(objective: Any, *args: Any, **kwargs: Any) -> Any:
        rest, validation = hold_out(objective, *args, **kwargs)
        kept.append(rest.index)
        return rest, validation

    hold_out = base.hold_out
    monkeypatch.setattr(base, "hold_out", spy)
    options = {"stopping": stopping, "gamma_A": 1e-6, "tol": 1e-12}
    fitted = LapSVC(validation_fraction=fraction, random_state=1, **options).fit(X, y)
    held = np.setdiff1d(np.flatnonzero(y != -1), kept[0])
    n_held = min(round(fraction * 6), 5)  # every class keeps a label
    assert np.bincount(y[held]).tolist() == [n_held] * 3
    rest = y.copy()
    rest[held] = -1
    told = LapSVC(**options).fit(X, rest, validation_data=(X[held], y[held]))
    assert told.n_iter_ == fitted.n_iter_
    np.testing.assert_allclose(told.decision_function(X), fitted.decision_function(X), atol=1e-9)


def test_the_seed_decides_what_is_held_out() -> None:
    X, y, _ = clusters(2, n=100, n_labels=10)

    def fitted(seed: Any) -> bytes:
        model = LapSVC(stopping="validation", random_state=seed, gamma_A=1e-6)
        return model.fit(X, y).decision_function(X).tobytes()

    assert fitted(0) == fitted(0) == fitted(np.random.RandomState(0))
    assert len({fitted(seed) for seed in range(5)}) > 1


def test_held_out_targets_of_a_regression() -> None:
    X, y, _ = curve(n=100, n_labels=20)
    model = LapRLSRegressor(stopping="validation", gamma_A=1e-4, random_state=0)
    assert model.fit(X, y).n_iter_ < LapRLSRegressor(solver="pcg", gamma_A=1e-4).fit(X, y).n_iter_
    # labeled_ says what was given, not what was held out
    np.testing.assert_array_equal(model.labeled_, ~np.isnan(y))


def test_validation_data_may_be_sparse_or_precomputed() -> None:
    X, y, truth = clusters(2, n=100)
    X_val, y_val, X, y = X[:20], truth[:20], X[20:], y[20:]
    options = {"stopping": "validation", "gamma_A": 1e-6, "gamma": 0.2}
    f = LapSVC(**options).fit(X, y, validation_data=(X_val, y_val))
    sparse = LapSVC(**options).fit(sp.csr_array(X), y, validation_data=(sp.csr_array(X_val), y_val))
    assert sparse.n_iter_ == f.n_iter_
    graph = given_graph(f)
    K, K_val = rbf_kernel(X, gamma=0.2), rbf_kernel(X_val, X, gamma=0.2)
    given = LapSVC("precomputed", graph=graph, **options).fit(K, y, validation_data=(K_val, y_val))
    assert given.n_iter_ == f.n_iter_
    # Rows of weight zero leave the kernel between validation and training points, too.
    w = np.where((y != -1) & (np.arange(len(y)) % 3 == 0), 0.0, 1.0)
    assert (w == 0).any()
    options["graph"] = graph
    f = LapSVC(**options).fit(X, y, w, validation_data=(X_val, y_val))
    given = LapSVC("precomputed", **options).fit(K, y, w, validation_data=(K_val, y_val))
    assert given.n_iter_ == f.n_iter_
    np.testing.assert_allclose(
        given.decision_function(K_val), f.decision_function(X_val), atol=1e-6
    )


# ---- warm start and callbacks ------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize(
    ("estimator", "data"),
    [(LapSVC, clusters(3)), (LapRLSClassifier, clusters(2)), (LapRLSRegressor, curve())],
)
def test_warm_start_takes_fewer_iterations_to_the_same_place(
    estimator: Any, data: Data, kernel: str
) -> None:
    X, y, _ = data
    options = {"kernel": kernel, "solver": "pcg", "gamma_A": 0.1, "tol": 1e-8}
    if kernel == "linear":
        options["fit_intercept"] = True
    cold = estimator(**options).fit(X, y)
    warm = estimator(warm_start=True, **options).fit(X, y)
    assert warm.n_iter_ == cold.n_iter_  # there is nothing to start from
    warm.fit(X, y)
    assert warm.n_iter_ <= 2
    np.testing.assert_allclose(warm.objective_, cold.objective_, rtol=1e-8)
    warm.set_params(gamma_I=1.02).fit(X, y)
    cold = estimator(**options, gamma_I=1.02).fit(X, y)
    # A linear function of 3 features takes 4 steps, wherever it starts.
    assert warm.n_iter_ < cold.n_iter_ + (kernel == "linear")
    np.testing.assert_allclose(warm.objective_, cold.objective_, rtol=1e-8)
    cold.fit(X, y)
    assert cold.n_iter_ > 2  # without being asked nothing is reused


@pytest.mark.parametrize("change", ["points", "kernel", "classes", "solver"])
def test_warm_start_from_something_else_is_harmless(change: str) -> None:
    X, y, _ = clusters(3)
    model = LapSVC(solver="pcg", gamma_A=0.1, tol=1e-9, warm_start=True).fit(X, y)
    if change == "points":
        X, y = X[:-1], y[:-1]
    elif change == "kernel":
        model.set_params(kernel="linear")
    elif change == "classes":
        y = np.where(y == 2, 1, y)
    else:
        model.set_params(solver="newton")
    model.fit(X, y)
    cold = clone(model).set_params(warm_start=False).fit(X, y)
    np.testing.assert_allclose(model.objective_, cold.objective_, rtol=1e-8)
    np.testing.assert_allclose(model.decision_function(X), cold.decision_function(X), atol=1e-5)


def test_a_warm_start_continues_a_fit_that_was_stopped() -> None:
    X, y, _ = clusters(3)
    options = {"solver": "pcg", "gamma_A": 0.1, "tol": 1e-9}
    model = LapSVC(warm_start=True, **options).set_callbacks(Iterates(X, stop_after=4)).fit(X, y)
    assert model.n_iter_ == 4
    model.set_callbacks().fit(X, y)
    cold = LapSVC(**options).fit(X, y)
    np.testing.assert_allclose(model.objective_, cold.objective_, rtol=1e-8)


@pytest.mark.parametrize(
    "estimator",
    [
        LapSVC(solver="pcg", gamma_A=0.1),
        LapSVC("linear", solver="pcg", gamma_A=0.1),
        LapSVC(solver="newton", gamma_A=0.1),
        LapSVC(solver="dual", gamma_A=0.1),
        LapSVC(loss="hinge", gamma_A=0.1),
        LapRLSClassifier(solver="pcg", gamma_A=0.1),
    ],
    ids=repr,
)
def test_callbacks_see_every_iteration_and_a_fitted_estimator(estimator: Any) -> None:
    X, y, _ = clusters(3)
    record = Iterates(X)
    fitted = clone(estimator).set_callbacks(record).fit(X, y)
    assert len(record.scores) == fitted.n_iter_
    np.testing.assert_allclose(record.scores[-1], fitted.decision_function(X), rtol=1e-6, atol=1e-6)
    plain = clone(estimator).fit(X, y)
    np.testing.assert_array_equal(plain.decision_function(X), fitted.decision_function(X))


def test_callbacks_see_the_iteration_at_which_a_rule_stops() -> None:
    X, y, _ = clusters(3, n=100)
    record = Iterates(X)
    model = LapSVC(stopping="stability", gamma_A=1e-6).set_callbacks(record).fit(X, y)
    assert len(record.scores) == model.n_iter_
    np.testing.assert_allclose(record.scores[-1], model.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("solver", ["pcg", "newton", "dual"])
def test_a_callback_can_stop_the_fit(solver: str) -> None:
    X, y, _ = clusters(3)
    record = Iterates(X, stop_after=1)
    options = {"solver": solver, "gamma_A": 1e-2, "gamma_I": 1e-2}
    fitted = LapSVC(**options).set_callbacks(record).fit(X, y)  # no warning
    assert fitted.n_iter_ == len(record.scores) == 1
    np.testing.assert_allclose(record.scores[0], fitted.decision_function(X), atol=1e-7)
    done = LapSVC(**options).fit(X, y)
    assert done.n_iter_ > 1
    assert (fitted.objective_ >= done.objective_ * (1 - 1e-9)).all()
    assert fitted.objective_.sum() > done.objective_.sum()


def test_a_callback_sees_the_kernel_of_this_fit_and_not_of_the_last() -> None:
    X, y, _ = clusters(2)
    record = Iterates(X)
    model = LapSVC("linear", gamma_A=0.1).fit(X, y).set_params(kernel="rbf", solver="pcg")
    model.set_callbacks(record).fit(X, y)
    np.testing.assert_allclose(record.scores[-1], scores(model, X), rtol=1e-6, atol=1e-6)
    fresh = Iterates(X)
    LapSVC("rbf", solver="pcg", gamma_A=0.1).set_callbacks(fresh).fit(X, y)
    np.testing.assert_array_equal(record.scores[0], fresh.scores[0])


# ---- odd inputs that must work -----------------------------------------------------------------


def test_degenerate_points_give_finite_answers() -> None:
    X, y, _ = clusters(2)
    constant = np.hstack([X, np.full((len(X), 1), 7.0), np.zeros((len(X), 1))])
    with_zero_row = X.copy()
    with_zero_row[5] = 0
    for points in (constant, with_zero_row):
        for kernel in ("rbf", "linear", "poly", "laplacian", "cosine"):
            fitted = LapSVC(kernel).fit(points, y)
            assert np.isfinite(fitted.decision_function(points)).all()


def test_a_constant_feature_changes_nothing() -> None:
    X, y, _ = clusters(2)
    constant = np.hstack([X, np.full((len(X), 1), 7.0)])
    model = LapSVC(gamma_A=1e-2, graph=KNNGraph(6))  # the default graph depends on n_features
    f = clone(model).fit(X, y).decision_function(X)
    g = clone(model).fit(constant, y).decision_function(constant)
    np.testing.assert_allclose(g, f, atol=1e-7)


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.NothingUnlabeledWarning")
def test_all_points_labelled() -> None:
    X, _, truth = clusters(3)
    fitted = LapSVC(unlabeled=None).fit(X, truth)
    assert fitted.labeled_.all()
    assert fitted.score(X, truth) > 0.7


def test_one_label_a_class_and_one_target() -> None:
    X, _, truth = clusters(2)
    y = np.full(len(X), -1)
    y[[np.argmax(truth == 0), np.argmax(truth == 1)]] = [0, 1]
    assert len(np.unique(LapSVC().fit(X, y).predict(X))) == 2
    target = np.full(len(X), np.nan)
    target[3] = 2.5
    for regressor in (LapRLSRegressor(), LapSVR()):
        assert np.isfinite(regressor.fit(X, target).predict(X)).all()


def test_a_constant_target_is_fitted_by_the_intercept() -> None:
    X, _, _ = curve()
    y = np.full(len(X), np.nan)
    y[:10] = 4.0
    flat = KNNGraph(6, normalized=False)  # whose norm a constant does not raise
    for regressor in (LapRLSRegressor(graph=flat), LapSVR(graph=flat, epsilon=0)):
        np.testing.assert_allclose(regressor.fit(X, y).predict(X), 4.0, atol=1e-6)


def test_targets_shift_with_the_intercept() -> None:
    X, y, _ = curve()
    flat = KNNGraph(6, normalized=False)
    for regressor in (LapRLSRegressor(graph=flat), LapSVR(graph=flat)):
        f = clone(regressor).fit(X, y).predict(X)
        g = clone(regressor).fit(X, y + 1000).predict(X)
        np.testing.assert_allclose(g, f + 1000, atol=1e-5)


def test_sparse_points_with_repeated_entries_are_their_sums() -> None:
    X, y, _ = clusters(2)
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
    X, y, _ = clusters(2)
    long = sp.csr_array(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    fitted = LapSVC(kernel, gamma_A=1e-2).fit(long, y)
    f = LapSVC(kernel, gamma_A=1e-2).fit(X, y).decision_function(X)
    np.testing.assert_allclose(fitted.decision_function(long), f, atol=1e-6)
    assert long.indices.dtype == np.int64


@pytest.mark.parametrize("kernel", ["poly", "laplacian", "cosine"])
def test_other_kernels_agree_over_solvers_and_with_sparse_points(kernel: str) -> None:
    X, y, _ = clusters(3)
    dual, newton, pcg = (
        LapSVC(kernel, gamma_A=0.1, solver=solver, tol=1e-9).fit(X, y)
        for solver in ("dual", "newton", "pcg")
    )
    sparse = LapSVC(kernel, gamma_A=0.1).fit(sp.csr_array(X), y)
    f = dual.decision_function(X)
    for other in (newton, pcg, sparse):
        np.testing.assert_allclose(other.decision_function(X), f, atol=1e-4 * np.abs(f).max())


def test_warnings_have_a_common_base() -> None:
    X, y, _ = clusters(2)
    with pytest.warns(LapwingWarning):
        LapSVC().fit(X * [1, 1, 1e6], y)


def test_score_leaves_unlabelled_rows_out() -> None:
    X, truth = make_moons(60, noise=0.05, random_state=0)
    y = np.where(np.arange(60) % 3 == 0, truth, -1)
    model = LapSVC().fit(X, y)
    shown = y >= 0
    accuracy = float((model.predict(X[shown]) == truth[shown]).mean())
    assert model.score(X, y) == accuracy
    w = np.random.default_rng(0).uniform(size=60)
    assert model.score(X, y, w) == model.score(X[shown], y[shown], w[shown])
    texts = np.array(["?", "a", "b"], dtype=object)[y + 1]
    assert LapSVC(unlabeled="?").fit(X, texts).score(X.tolist(), texts.tolist()) == accuracy
    with pytest.raises(ValueError, match="score needs labelled rows, and all 5 are unlabelled"):
        model.score(X[:5], [-1] * 5)

    values = np.where(shown, X[:, 0], np.nan)
    regressor = LapRLSRegressor().fit(X, values)
    assert regressor.score(X, values) == regressor.score(X[shown], values[shown])
    assert np.isfinite(cross_val_score(LapSVC(), X, y, cv=3)).all()
