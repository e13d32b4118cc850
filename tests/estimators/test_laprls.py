"""LapRLS: ridge regression without a graph, and the closed form with one."""

from __future__ import annotations

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from lapwing import LapRLSClassifier, LapRLSRegressor
from tests.helpers.data import labeled_clusters, labeled_curve
from tests.helpers.manifold import dense_smoothness, gram


def test_without_a_graph_least_squares_is_ridge_regression() -> None:
    X, y, _ = labeled_curve()
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


def test_least_squares_is_the_closed_form_of_the_paper() -> None:
    """alpha = (J K + gamma_A I + gamma_I L K)^-1 y: LapSVM paper, (15), without a bias."""
    X, y, _ = labeled_clusters(3)
    ours = LapRLSClassifier(gamma=0.3, gamma_A=0.02, gamma_I=0.7).fit(X, y)
    K, S = gram(ours, X), dense_smoothness(ours)
    J = np.diag((y != -1).astype(float))
    Y = np.where(y[:, None] == np.arange(3), 1.0, -1.0) * (y != -1)[:, None]
    alpha = np.linalg.solve(J @ K + 0.02 * np.eye(len(X)) + S @ K, Y)
    np.testing.assert_allclose(ours.decision_function(X), K @ alpha, atol=1e-8)
