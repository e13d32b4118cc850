"""Manifold regularisation: stationarity and objectives in dense matrices, and equivalent models.

Optimality is checked by dense stationarity conditions, from the fitted attributes and the formulas
of the papers (with their errata), never by the status of a solver. Properties of all estimators
are tested in test_every.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.svm import SVC, SVR, LinearSVC

from lapwing import AffinityGraph, KNNGraph, LapRLSRegressor, LapSVC, LapSVR
from lapwing.estimators.manifold import ManifoldEstimator
from tests.helpers.answers import coded_targets, labeled_rows, scores
from tests.helpers.data import labeled_clusters, labeled_curve
from tests.helpers.estimators import EXAMPLES as EVERY
from tests.helpers.estimators import Example, weighted
from tests.helpers.manifold import dense_smoothness, gram, is_linear
from tests.helpers.problems import loss_slope, loss_value

FLAT = KNNGraph(6, normalized=False)


# gamma_A is such that conjugate gradient ends soon, and every tolerance so fine that solutions can
# be compared.
EXAMPLES: dict[str, Example] = {
    name: example
    for name, example in EVERY.items()
    if isinstance(example.estimator, ManifoldEstimator)
} | {
    "LapSVC, intercept": Example(LapSVC(gamma_A=1e-2, fit_intercept=True)),
    "LapSVC, intercept, D - W": Example(LapSVC(gamma_A=1e-2, graph=FLAT, fit_intercept=True)),
    "LapSVC, pcg, intercept, D - W": Example(
        LapSVC(solver="pcg", gamma_A=1e-1, tol=1e-10, graph=FLAT, fit_intercept=True), 2
    ),
    "LapSVC, hinge, no intercept": Example(LapSVC(loss="hinge", gamma_A=1e-2), 2),
    "LapSVC, hinge, intercept, D - W": Example(
        LapSVC(loss="hinge", gamma_A=1e-2, graph=FLAT, fit_intercept=True)
    ),
    "LapRLSRegressor, pcg": Example(
        LapRLSRegressor(solver="pcg", gamma_A=1e-1, tol=1e-10, graph=FLAT)
    ),
    "LapSVR, no intercept, D - W": Example(
        LapSVR(gamma_A=1e-2, epsilon=0.3, fit_intercept=False, graph=FLAT)
    ),
}
every_example = pytest.mark.parametrize("name", EXAMPLES)


@every_example
def test_objective_and_stationarity(name: str) -> None:
    """The objective is the printed one, and its gradient or a subgradient vanishes: both densely.

    With u_i = -(derivative of the loss at i), zero off the labels, the function minimises iff
    K (u - gamma_I L f) = gamma_A h, and 1'(u - gamma_I L f) = 0 for the bias (errata L3).
    """
    estimator, X, y, weights = weighted(EXAMPLES[name])
    at, Y, f = labeled_rows(y), coded_targets(estimator, y), scores(estimator, X)
    w, score = weights[at][:, None], f[at]
    K, S = gram(estimator, X), dense_smoothness(estimator)
    h = f - estimator.intercept_
    loss = estimator._loss()
    norm = (estimator.coef_.T**2 if is_linear(estimator) else h * estimator.alpha_).sum(axis=0)
    losses = weights[at] @ (2 * loss_value(loss, Y, score))
    total = losses + estimator.gamma_A * norm + (f * (S @ f)).sum(axis=0)
    # Only the squared hinge is printed with an overall 1/2: LapSVM paper, (4), (7) and (14).
    printed = total * (0.5 if loss.name == "squared_hinge" else 1.0)
    np.testing.assert_allclose(estimator.objective_, printed, rtol=1e-6)
    if loss.kind.differentiable:
        u = np.zeros_like(f)
        u[at] = -w * loss_slope(loss, Y, score)
    else:
        # At a kink any subgradient is allowed; the fitted expansion of h has
        # u = gamma_A alpha + gamma_I L f.
        u = estimator.gamma_A * estimator.alpha_ + S @ f
        np.testing.assert_allclose(u[~at], 0, atol=1e-8)
        # Slopes left and right of each score, which differ at a kink only.
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


# ---- the machines that they become ---------------------------------------------------------------


PRIMAL = partial(LinearSVC, C=1.0, dual=False, tol=1e-12, max_iter=10**5)
# lapwing's estimator, fitted without a graph, and the equal model of scikit-learn, with
# C = 1 / (2 gamma_A) or alpha = gamma_A.
MACHINES: dict[str, tuple[Any, Any]] = {
    "SVC": (LapSVC(gamma_A=0.05, loss="hinge", fit_intercept=True), SVC(C=10, tol=1e-9)),
    "SVC, small C": (LapSVC(gamma_A=1.0, loss="hinge", fit_intercept=True), SVC(C=0.5, tol=1e-9)),
    "LinearSVC": (LapSVC("linear", gamma_A=0.5), PRIMAL(fit_intercept=False)),
    # liblinear penalises the bias, the less the larger intercept_scaling is.
    "LinearSVC, intercept": (
        LapSVC("linear", gamma_A=0.5, fit_intercept=True),
        PRIMAL(intercept_scaling=1e4),
    ),
    "SVR": (LapSVR(gamma_A=0.2, epsilon=0.3), SVR(C=2.5, epsilon=0.3, tol=1e-9)),
    "SVR, no tube": (LapSVR(gamma_A=0.2, epsilon=0), SVR(C=2.5, epsilon=0, tol=1e-9)),
    "KernelRidge": (
        LapRLSRegressor(gamma_A=0.2, fit_intercept=False),
        KernelRidge(alpha=0.2, kernel="rbf"),
    ),
    "Ridge": (LapRLSRegressor("linear", gamma_A=0.2), Ridge(alpha=0.2)),
}


@pytest.mark.parametrize("name", MACHINES)
def test_without_a_graph_it_is_a_model_of_scikit_learn(name: str) -> None:
    ours, theirs = (
        clone(model).set_params(**{"gamma": 0.3} if hasattr(model, "gamma") else {})
        for model in MACHINES[name]
    )
    classes = is_classifier(ours)
    X, y, _ = labeled_clusters(2, n_labels=20) if classes else labeled_curve()
    at, w = labeled_rows(y), np.random.default_rng(0).uniform(0.5, 2, len(X))
    ours.set_params(gamma_I=0).fit(X, y, sample_weight=w)
    theirs.fit(X[at], y[at], sample_weight=w[at])
    expected = getattr(theirs, "decision_function", theirs.predict)(X)
    np.testing.assert_allclose(scores(ours, X)[:, 0], expected, atol=1e-5)
    if classes:
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


# ---- rows that are one point, or are not --------------------------------------------------------


def test_with_a_given_graph_equal_rows_are_different_points() -> None:
    X, y, _ = labeled_clusters(2)
    X2, y2 = np.vstack([X, X[:3]]), np.append(y, [-1, -1, -1])
    W = KNNGraph(5).affinity(X2)
    fitted = LapSVC(graph=AffinityGraph(W)).fit(X2, y2)
    assert fitted.alpha_.shape == (len(X2), 1)
    assert fitted.affinity_.shape == W.shape
