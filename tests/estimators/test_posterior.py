"""Posterior standard deviations of regressions equal those of dense Gaussian processes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import pairwise_kernels

from lapwing import KNNGraph, Landmarks, LapERLSRegressor, LapRLSRegressor
from lapwing.graphs import build_laplacian
from tests.helpers.data import labeled_curve

X, Y, _ = labeled_curve(n=24, n_labels=6)
NEW = np.vstack([X[:3], X[:3] + 0.07])
W = np.random.default_rng(0).uniform(0.5, 2, len(X))
FLAT, NORMAL = KNNGraph(5, normalized=False), KNNGraph(5)
manifold = partial(LapRLSRegressor, gamma=2.0, gamma_A=0.1, gamma_I=0.05, updatable=True)
CASES: dict[str, Any] = {
    "no bias": manifold(graph=NORMAL, fit_intercept=False),
    "free bias": manifold(graph=FLAT),
    "bias in the kernel": manifold(graph=NORMAL),
    "no graph": manifold(gamma_I=0.0),
    "polynomial": manifold(kernel="poly", graph=FLAT, degree=2),
    "linear": manifold(kernel="linear", graph=FLAT),
}


def penalty(model: Any) -> Any:
    """Compute gamma_I L^p as a dense matrix."""
    laplacian = build_laplacian(model.graph or NORMAL, X, regression=True)
    return model.gamma_I * laplacian.apply(np.eye(len(X)))


def kernel_of(model: Any, points: Any, basis: Any = None) -> Any:
    options = {"degree": 2, "coef0": 1.0} if model.kernel == "poly" else {}
    return pairwise_kernels(points, basis, metric=model.kernel, gamma=2.0, **options)


def features(model: Any) -> tuple[Any, Any]:
    """Return F with f = F v at X and the new points, and N with |f|^2 = v'N v."""
    points = np.vstack([X, NEW])
    F = points
    if model.kernel != "linear":  # f = k(., basis) A v with A'k(basis, basis)A = I
        mapped = isinstance(getattr(model, "space", None), Landmarks)
        basis = model.X_fit_ if mapped else points  # the process knows the new points too
        values, vectors = np.linalg.eigh(kernel_of(model, basis))
        kept = values > 1e-10 * values.max()
        F = kernel_of(model, points, basis) @ (vectors[:, kept] / np.sqrt(values[kept]))
    norm = np.eye(F.shape[1])
    if model.fit_intercept:
        F = np.column_stack([F, np.ones(len(F))])
        norm = np.diag([*np.ones(F.shape[1] - 1), 0.0])
    return F, norm


def dense(model: Any) -> tuple[Any, Any, Any]:
    """Compute mean and deviation at the new points and covariance at X, from that of v."""
    F, norm = features(model)
    F, there = F[: len(X)], F[len(X) :]
    return process(model.gamma_A * norm + F.T @ penalty(model) @ F, F, there, W)


def process(prior: Any, F: Any, there: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Compute these for coefficients with a prior precision and the design F of the fit."""
    known = np.flatnonzero(~np.isnan(Y))
    L, w, y = F[known], weights[known], Y[known]
    covariance = np.linalg.inv(prior + L.T @ (w[:, None] * L))
    mean = covariance @ L.T @ (w * y)
    twice = w @ (y - L @ mean) ** 2 + mean @ prior @ mean
    free = np.linalg.eigvalsh(prior)[0] < 1e-9
    noise = twice / (len(known) - free)
    spread = np.einsum("ij,jk,ik->i", there, covariance, there)
    return there @ mean, np.sqrt(noise * spread), F @ covariance @ F.T


embedded = partial(
    LapERLSRegressor,
    gamma=2.0,
    C=3.0,
    lam=5.0,
    mu=0.2,
    graph=FLAT,
    n_eigenvectors=8,
    updatable=True,
)
MANY = Landmarks(centers=np.vstack([X, X[:9] + 0.3]))
EMBEDDED_CASES: dict[str, Any] = {
    "eigenvectors": embedded(),
    "normalised graph": embedded(graph=NORMAL),
    "no bias": embedded(fit_intercept=False),
    "any labels": embedded(n_eigenvectors=None),
    "landmarks": embedded(space=Landmarks(9, random_state=0)),
    "linear": embedded(kernel="linear"),
    "more landmarks than points": embedded(space=MANY),
}


def dense_embedded(model: Any) -> tuple[Any, Any, Any]:
    """Compute these from the joint covariance of the coefficients of f and g."""
    n = len(X)
    F, norm = features(model)
    laplacian = build_laplacian(model.graph, X, regression=True)
    values, U = np.linalg.eigh(laplacian.apply(np.eye(n)))
    r = n if model.n_eigenvectors is None else model.n_eigenvectors
    values, U = values[:r], U[:, :r]
    prior = np.zeros((F.shape[1] + r,) * 2)
    prior[: len(norm), : len(norm)] = norm
    prior[len(norm) :, len(norm) :] = model.mu * np.diag(values)
    both = np.hstack([F[:n], -U])
    prior += model.C * both.T @ both
    there = np.hstack([F[n:], np.zeros((len(NEW), r))])
    return process(prior, np.hstack([np.zeros((n, len(norm))), U]), there, model.lam * W)


ALL_CASES = CASES | {f"embedded, {name}": model for name, model in EMBEDDED_CASES.items()}


def test_deviations_are_in_the_units_of_the_targets() -> None:
    model = clone(EMBEDDED_CASES["eigenvectors"])
    std = model.fit(X, Y).predict(NEW, return_std=True)[1]
    wide = model.fit(X, 7 + 50 * Y).predict(NEW, return_std=True)[1]
    np.testing.assert_allclose(wide, 50 * std, rtol=1e-9)


@pytest.mark.parametrize("name", ALL_CASES)
def test_deviations_and_covariances_are_those_of_all_parameters(name: str) -> None:
    model = clone(ALL_CASES[name]).fit(X, Y, sample_weight=W)
    joint = isinstance(model, LapERLSRegressor)
    expected_mean, expected_std, expected = (dense_embedded if joint else dense)(model)
    mean, std = model.predict(NEW, return_std=True)
    np.testing.assert_allclose(mean, expected_mean, atol=1e-7 if joint else 1e-8)
    np.testing.assert_allclose(std, expected_std, rtol=1e-5 if joint else 1e-6, atol=1e-8)
    np.testing.assert_array_equal(mean, model.predict(NEW))
    points = np.array([2, 3, 11])
    found = model._kept.refits.covariance(points)
    np.testing.assert_allclose(
        found.values, expected[:, points], atol=1e-7 * np.abs(expected[:, points]).max()
    )
    assert found.noise_variance == (1 / model.lam if joint else 1)


def test_deviations_follow_added_labels() -> None:
    model, y = clone(CASES["free bias"]).fit(X, Y), Y.copy()
    row = int(np.flatnonzero(np.isnan(Y))[3])
    y[row] = 0.3
    found = model.add_labels(row, 0.3).predict(NEW, return_std=True)
    expected = clone(model).fit(X, y).predict(NEW, return_std=True)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_rejects_deviations_without_a_factorisation() -> None:
    with pytest.raises(ValueError, match=r"return_std=True\) needs .*factorisation.*updatable"):
        LapRLSRegressor().fit(X, Y).predict(NEW, return_std=True)
    early = LapRLSRegressor(solver="pcg", updatable=True).fit(X, Y)
    with pytest.raises(ValueError, match=r"has no factorisation of a Gaussian process.*'dual'"):
        early.predict(NEW, return_std=True)
    K = kernel_of(CASES["no graph"], X)
    given = LapRLSRegressor("precomputed", gamma_I=0, updatable=True).fit(K, Y)
    with pytest.raises(ValueError, match=r"no kernel values of new points with themselves"):
        given.predict(K, return_std=True)
