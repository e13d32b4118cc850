"""Scales of columns: the likelihood by its density, the gradient by differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sla
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from lapwing.solvers import relevance
from lapwing.solvers.relevance import column_scales, covariance, objective

RNG = np.random.default_rng(0)
X = RNG.normal(size=(25, 3))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=25)
EXPONENTS = np.array([0.4, -0.3, 0.1, 1.2])


def test_the_objective_is_the_density_of_the_differences() -> None:
    """Of contrasts of the targets, at the variance that makes them likeliest, and the prior."""
    contrasts = sla.null_space(np.ones((1, len(Y))))
    z = contrasts.T @ Y
    values = []
    for exponents in (EXPONENTS, np.array([-0.2, 0.3, 0.8, 0.1])):
        C = contrasts.T @ (covariance(exponents, X, X) + np.eye(len(Y))) @ contrasts
        sigma = z @ np.linalg.solve(C, z) / len(z)
        away = exponents[:-1] - exponents[:-1].mean()
        density = multivariate_normal(cov=sigma * C).logpdf(z) - away @ away / 2
        values.append((density, objective(exponents, X, Y)[0]))
    (one, mine), (other, its) = values
    assert mine - its == pytest.approx(other - one)


def test_gradient() -> None:
    found = approx_fprime(EXPONENTS, lambda e: objective(e, X, Y)[0], 1e-6)
    np.testing.assert_allclose(objective(EXPONENTS, X, Y)[1], found, rtol=1e-4)


def test_relevant_column_has_the_shortest_length_scale() -> None:
    found = column_scales(X, Y)
    assert found.inverse[0] > 5 * found.inverse[1:].max()
    assert found.optimism >= 1


def test_errors_of_columns_of_noise_are_reported_as_too_small() -> None:
    rng = np.random.default_rng(1)
    noise = column_scales(rng.normal(size=(16, 12)), rng.normal(size=16))
    assert noise.optimism > column_scales(X, Y).optimism
    assert noise.optimism > 1.3


def test_folds_see_no_target_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    exponents = relevance._exponents

    def spy(points: np.ndarray, y: np.ndarray) -> np.ndarray:
        seen.append(set(y.tolist()))
        return exponents(points, y)

    monkeypatch.setattr(relevance, "_exponents", spy)
    column_scales(X[:12], Y[:12])
    everything, *folds = seen
    assert everything == set(Y[:12].tolist())
    left_out = [everything - fold for fold in folds]
    assert sorted(value for fold in left_out for value in fold) == sorted(Y[:12].tolist())


def test_a_fold_may_leave_equal_targets() -> None:
    y = np.array([0.0, 0.0, 0.0, 1.0])
    assert np.isfinite(column_scales(X[:4], y).optimism)
