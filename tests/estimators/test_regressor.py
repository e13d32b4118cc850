"""What all regressors share: the intercept takes up what is constant in the targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from lapwing import (
    KNNGraph,
    Landmarks,
    LapERLSRegressor,
    LapESVR,
    LapRLSRegressor,
    LapRLSRegressorCV,
    LapSVR,
)
from lapwing.estimators import choice, prepared
from lapwing.exceptions import ConstantFitWarning
from tests.helpers.data import labeled_curve


def test_a_constant_target_is_fitted_by_the_intercept() -> None:
    X, _, _ = labeled_curve()
    y = np.full(len(X), np.nan)
    y[:10] = 4.0
    flat = KNNGraph(6, normalized=False)  # whose norm a constant does not raise
    for regressor in (LapRLSRegressor(graph=flat), LapSVR(graph=flat, epsilon=0)):
        with pytest.warns(ConstantFitWarning, match="All 10 targets are 4, so the answer is"):
            regressor.fit(X, y)
        np.testing.assert_allclose(regressor.predict(X), 4.0, atol=1e-6)


def test_targets_shift_with_the_intercept() -> None:
    X, y, _ = labeled_curve()
    flat = KNNGraph(6, normalized=False)
    for regressor in (LapRLSRegressor(graph=flat), LapSVR(graph=flat)):
        f = clone(regressor).fit(X, y).predict(X)
        g = clone(regressor).fit(X, y + 1000).predict(X)
        np.testing.assert_allclose(g, f + 1000, atol=1e-5)


FLAT = KNNGraph(6, normalized=False)
WITH_INTERVALS = [
    LapRLSRegressor(graph=FLAT),
    LapRLSRegressor(),  # whose bias is part of the kernel
    LapRLSRegressor("linear", gamma_A=0.1, solver="dual", fit_intercept=False),
    LapRLSRegressorCV(gammas=[0.5], gamma_As=[0.01], gamma_Is=[0.01], graphs=[FLAT]),
    LapERLSRegressor(graph=FLAT, n_eigenvectors=12),
    LapERLSRegressor(graph=FLAT, n_eigenvectors=12, space=Landmarks(10, random_state=0)),
    LapERLSRegressor("linear", n_eigenvectors=None, fit_intercept=False),
    LapERLSRegressor(n_eigenvectors=12, space=Landmarks(1000, random_state=0)),
]


@pytest.mark.parametrize("model", WITH_INTERVALS)
def test_intervals_are_order_statistics_of_errors_without_a_target(model: Any) -> None:
    """By a fit for each target."""
    X, y, _ = labeled_curve()
    known = np.flatnonzero(~np.isnan(y))
    new = X[:7] + 0.05
    errors, others = [], []
    for row in known:
        without = y.copy()
        without[row] = np.nan
        again = clone(model).fit(X, without)
        errors.append(y[row] - again.predict(X[[row]])[0])  # an embedded fit's own values are g
        others.append(again.predict(new))
    fitted = clone(model).fit(X, y)
    residuals = fitted.left_out_residuals_
    np.testing.assert_allclose(np.sort(residuals), np.sort(errors), atol=1e-6)
    for coverage in (0.5, 0.8):
        place = int(np.ceil((len(known) + 1) * coverage))
        off = np.abs(errors)[:, None]
        low = np.sort(others - off, axis=0)[::-1][place - 1]
        high = np.sort(others + off, axis=0)[place - 1]
        found = fitted.predict_interval(new, coverage)
        np.testing.assert_allclose(found, np.column_stack([low, high]), atol=1e-6)


@pytest.mark.parametrize("model", [LapRLSRegressor(graph=FLAT), LapERLSRegressor(graph=FLAT)])
def test_intervals_of_many_targets_are_as_wide_for_all_points(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, _ = labeled_curve()
    monkeypatch.setattr(prepared, "_MOST_KEPT", 10)
    fitted = clone(model).fit(X, y)
    assert not hasattr(fitted, "left_out_coef_")
    off = np.sort(np.abs(fitted.left_out_residuals_))
    low, high = fitted.predict_interval(X, 0.8).T
    half = off[int(np.ceil((len(off) + 1) * 0.8)) - 1]
    np.testing.assert_allclose((low + high) / 2, fitted.predict(X), atol=1e-9)
    np.testing.assert_allclose(high - low, 2 * half)


def test_intervals_hold_what_they_say() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (300, 2))
    truth = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(300)
    held = []
    for draw in range(6):
        known = np.random.default_rng(draw).choice(300, 39, replace=False)
        y = np.full(300, np.nan)
        y[known] = truth[known]
        low, high = LapRLSRegressor().fit(X, y).predict_interval(X).T
        hidden = np.isnan(y)
        held.append(np.mean((low <= truth)[hidden] & (truth <= high)[hidden]))
    assert 0.85 < np.mean(held) < 0.95


def test_intervals_that_nothing_supports_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = labeled_curve()
    y[np.flatnonzero(~np.isnan(y))[5:]] = np.nan
    fitted = LapRLSRegressor(graph=FLAT).fit(X, y)
    told = r"coverage=0\.9 needs 9 targets that can be left out, but there are 5\. Use a smaller"
    with pytest.raises(ValueError, match=told):
        fitted.predict_interval(X)
    assert fitted.predict_interval(X, 0.8).shape == (len(X), 2)
    assert (np.diff(fitted.predict_interval(X, 0.01), axis=1) >= 0).all()
    np.testing.assert_array_equal(
        fitted.predict_interval(X, 1e-12), fitted.predict_interval(X, 0.01)
    )
    for coverage in (0, 1, 90, "a", None):
        with pytest.raises(ValueError, match="must be a number between 0 and 1"):
            fitted.predict_interval(X, coverage)
    exact = LapERLSRegressor(graph=FLAT, n_eigenvectors=None, space=Landmarks(5))
    monkeypatch.setattr(choice, "_OPERATOR_POINTS", 0)
    monkeypatch.setattr(choice, "_OPERATOR_RATIO", 0)
    for model in (LapSVR(graph=FLAT), LapESVR(graph=FLAT), exact):
        with pytest.raises(ValueError, match=r"no left-out values in closed form.*LapRLSRegr"):
            model.fit(X, y).predict_interval(X)
