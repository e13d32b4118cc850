"""What all regressors share: the intercept takes up what is constant in the targets."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from lapwing import KNNGraph, LapRLSRegressor, LapSVR
from tests.helpers.data import labeled_curve


def test_a_constant_target_is_fitted_by_the_intercept() -> None:
    X, _, _ = labeled_curve()
    y = np.full(len(X), np.nan)
    y[:10] = 4.0
    flat = KNNGraph(6, normalized=False)  # whose norm a constant does not raise
    for regressor in (LapRLSRegressor(graph=flat), LapSVR(graph=flat, epsilon=0)):
        np.testing.assert_allclose(regressor.fit(X, y).predict(X), 4.0, atol=1e-6)


def test_targets_shift_with_the_intercept() -> None:
    X, y, _ = labeled_curve()
    flat = KNNGraph(6, normalized=False)
    for regressor in (LapRLSRegressor(graph=flat), LapSVR(graph=flat)):
        f = clone(regressor).fit(X, y).predict(X)
        g = clone(regressor).fit(X, y + 1000).predict(X)
        np.testing.assert_allclose(g, f + 1000, atol=1e-5)
