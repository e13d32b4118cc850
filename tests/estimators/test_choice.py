"""Which solver is taken, and that they agree."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from lapwing import KNNGraph, LapRLSClassifier, LapSVC
from lapwing.estimators import choice
from tests.helpers.answers import scores
from tests.helpers.data import labeled_clusters

NAMES = np.array(["ash", "beech", "cedar", "dogwood"])
FLAT = KNNGraph(6, normalized=False)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("graph", [None, FLAT], ids=["normalised", "D - W"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("estimator", [LapSVC, LapRLSClassifier])
def test_newton_pcg_and_dual_agree(
    estimator: Any, n_classes: int, kernel: str, graph: Any, fit_intercept: bool
) -> None:
    X, y, _ = labeled_clusters(n_classes)
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
    X, y, _ = labeled_clusters(3)
    with caplog.at_level(logging.INFO, logger="lapwing"):
        fitted = LapSVC(gamma_A=0.1, **options).fit(X, y)
    assert fitted.solver_ == solver
    assert f"solver {solver!r}: {reason}" in caplog.text


def test_sparse_kernels_and_wide_sparse_points_are_not_factored_without_being_asked() -> None:
    X, y, _ = labeled_clusters(2)
    K = sp.csr_array(np.where(rbf_kernel(X) > 0.05, rbf_kernel(X), 0) + 3 * np.eye(len(X)))
    W = KNNGraph(5).affinity(X)
    assert LapSVC("precomputed", graph=W, gamma_A=0.1).fit(K, y).solver_ == "pcg"
    wide = sp.csr_array(np.hstack([X, np.zeros((len(X), 80))]))
    assert LapSVC("linear", gamma_A=0.1).fit(wide, y).solver_ == "dual"


@pytest.mark.parametrize("kernel", ["poly", "laplacian", "cosine"])
def test_other_kernels_agree_over_solvers_and_with_sparse_points(kernel: str) -> None:
    X, y, _ = labeled_clusters(3)
    dual, newton, pcg = (
        LapSVC(kernel, gamma_A=0.1, solver=solver, tol=1e-9).fit(X, y)
        for solver in ("dual", "newton", "pcg")
    )
    sparse = LapSVC(kernel, gamma_A=0.1).fit(sp.csr_array(X), y)
    f = dual.decision_function(X)
    for other in (newton, pcg, sparse):
        np.testing.assert_allclose(other.decision_function(X), f, atol=1e-4 * np.abs(f).max())
