"""Fits of embedded regression with other labels, where more than labels is different."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from lapwing import AffinityGraph, KNNGraph, Landmarks, LapERLSClassifier, LapERLSRegressor, LapESVR
from lapwing.estimators.embedded import EmbeddedRefits
from lapwing.estimators.prepared import Refits, removable, without
from lapwing.estimators.template import prepare, solve
from lapwing.solvers.base import Status
from lapwing.solvers.embedded.systems import DenseSystem, FeatureSystem, KernelSide
from tests.helpers.data import labeled_clusters, labeled_curve

UNNORMALIZED = KNNGraph(5, normalized=False, power=1)
EXAMPLES: dict[str, Any] = {
    "landmarks": LapERLSClassifier(space=Landmarks(20)),
    "linear": LapERLSClassifier("linear", lam=10.0, mu=1.0),
    "bias": LapERLSClassifier(fit_intercept=True),
    "bias and constants": LapERLSClassifier(fit_intercept=True, graph=UNNORMALIZED),
    "landmarks and a bias": LapERLSClassifier(
        space=Landmarks(20), fit_intercept=True, graph=UNNORMALIZED
    ),
    "regression without a bias": LapERLSRegressor(fit_intercept=False),
    "more features than points": LapERLSRegressor(space=Landmarks(90), n_eigenvectors=12),
    "soft": LapERLSClassifier(lam=0.1, mu=0.01, C=0.1),
    "hard": LapERLSClassifier(lam=1e8, mu=1e-3, C=1e6),
    "no smoothness": LapERLSRegressor(mu=0.0, n_eigenvectors=9),
    "any labels, bias": LapERLSClassifier(n_eigenvectors=None, fit_intercept=True, lam=10.0),
    "any labels, landmarks": LapERLSRegressor(n_eigenvectors=None, space=Landmarks(20)),
}
every_example = pytest.mark.parametrize("name", EXAMPLES)
every_precision = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def problem_for(
    estimator: Any, dtype: Any = np.float64, spread: float = 0.5
) -> tuple[Any, Any, Any, Any]:
    """Points, labels, other labels, and weights of 10^-spread to 10^spread."""
    if is_classifier(estimator):
        X, y, truth = labeled_clusters(3, n_labels=4)
        other = np.full_like(y, -1)
    else:
        X, y, truth = labeled_curve()
        other = np.full_like(y, np.nan)
    rng = np.random.default_rng(5)
    rows = rng.permutation(len(y))[:20]
    other[rows] = truth[rows]
    weights = 10.0 ** rng.uniform(-spread, spread, len(y))
    return X.astype(dtype), y, other, weights


def check_left_out(estimator: Any, prepared: Any, *, every: int = 1, rtol: float = 1e-7) -> None:
    found = estimator._refits(prepared).left_out()
    rows = np.flatnonzero(removable(prepared, estimator._regression))
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(found).any(axis=1)), rows)
    for i in rows[::every]:
        expected = solve(estimator, without(prepared, i)).values
        atol = rtol * max(1.0, np.abs(expected).max())
        at = prepared.problem.index[i]
        np.testing.assert_allclose(found[i], expected[at], atol=atol)


@every_precision
@every_example
def test_other_labels(name: str, dtype: Any) -> None:
    estimator = EXAMPLES[name]
    X, y, other, weights = problem_for(estimator, dtype)
    prepared = prepare(estimator, X, y)
    refits = estimator._refits(prepared)
    assert isinstance(refits, EmbeddedRefits)
    changed = prepared.relabeled(estimator._read_targets(other), weights)
    expected, found = solve(estimator, changed), refits.solve(changed)
    assert found.values.dtype == refits.values(changed).dtype == dtype
    scale = max(1.0, np.abs(expected.values).max())
    for values in (found.values, refits.values(changed)):
        np.testing.assert_allclose(values, expected.values, atol=1e-8 * scale)
    np.testing.assert_allclose(found.function(X), expected.function(X), atol=1e-6 * scale)
    np.testing.assert_allclose(found.result.objective, expected.result.objective, rtol=1e-6)
    assert found.result.status == expected.result.status == Status.CONVERGED
    assert found.formed.method == expected.formed.method


@every_precision
@every_example
def test_left_out(name: str, dtype: Any) -> None:
    estimator = EXAMPLES[name]
    X, y, _, weights = problem_for(estimator, dtype)
    rtol = 1e-7 if dtype is np.float64 else 1e-6
    check_left_out(estimator, prepare(estimator, X, y, weights), every=3, rtol=rtol)


@pytest.mark.parametrize("cls", [LapERLSClassifier, LapERLSRegressor])
def test_weights_are_cut_off_alike_with_and_without_an_observation(cls: Any) -> None:
    """At 1e8 times the larger of C and mu, whatever the other weights are."""
    estimator = cls(C=1e-6, mu=1e-6, lam=1.0)
    X, y, _, weights = problem_for(estimator, spread=6.0)
    prepared = prepare(estimator, X, y, weights)
    assert prepared.problem.weights.max() > 1e8 * 1e-6
    check_left_out(estimator, prepared)


def test_the_only_label_of_a_component() -> None:
    """The kernel alone holds what is left there (errata E7, E8): a solution, as a fit's is."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((20, 2)), rng.standard_normal((10, 2)) + 8])
    y = np.full(30, np.nan)
    y[[0, 3, 7, 11, 25]] = [1.0, -1.0, 0.5, 0.0, 2.0]
    for normalized in (False, True):
        graph = AffinityGraph(KNNGraph(4).affinity(X), normalized=normalized, power=1)
        for options in ({"fit_intercept": False}, {"lam": 1e8}, {"C": 1e-4}, {"mu": 1e5}):
            for k in (2, 8):
                estimator = LapERLSRegressor(graph=graph, n_eigenvectors=k, **options)
                prepared = prepare(estimator, X, y)
                assert prepared.eigenpairs is not None
                assert prepared.eigenpairs.n_components == 2
                check_left_out(estimator, prepared)


def test_one_elimination_serves_all(monkeypatch: pytest.MonkeyPatch) -> None:
    eliminated: list[str] = []
    for cls in (DenseSystem, FeatureSystem):

        def counted(self: Any, *args: Any, original: Any = cls.eliminate) -> Any:
            eliminated.append(type(self).__name__)
            return original(self, *args)

        monkeypatch.setattr(cls, "eliminate", counted)
    for space in (None, Landmarks(20)):
        estimator = LapERLSClassifier(space=space)
        X, y, other, weights = problem_for(estimator)
        prepared = prepare(estimator, X, y)
        refits = estimator._refits(prepared)
        refits.left_out()
        for labels in (other, y):
            changed = prepared.relabeled(estimator._read_targets(labels), weights)
            refits.covering(changed.problem.index).values(changed)
            refits.solve(changed)
    assert eliminated == ["DenseSystem", "FeatureSystem"]


def test_methods_that_know_the_labels_are_run_again() -> None:
    for estimator in (LapESVR(), LapERLSRegressor(n_eigenvectors=None, space=Landmarks(5))):
        estimator = clone(estimator)
        X, y, _, _ = problem_for(estimator)
        prepared = prepare(estimator, X, y)
        kind = Refits if isinstance(estimator, LapESVR) else EmbeddedRefits
        assert type(estimator._refits(prepared)) is kind


def test_answers_that_are_no_numbers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    estimator = LapERLSRegressor()
    X, y, _, _ = problem_for(estimator)
    prepared = prepare(estimator, X, y)
    refits = estimator._refits(prepared)
    coef = KernelSide.graph_coef
    monkeypatch.setattr(KernelSide, "graph_coef", lambda self, side: coef(self, side) * np.nan)
    for answer in (refits.values, refits.solve):
        with pytest.raises(ValueError, match="The solution is not finite"):
            answer(prepared)
