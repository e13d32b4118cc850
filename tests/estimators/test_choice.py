"""Choice of solvers and of the form of embedded systems."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from lapwing import KNNGraph, Landmarks, LapERLSClassifier, LapSVC
from lapwing.estimators import choice
from lapwing.kernels import make_kernel
from lapwing.losses.labeled import EpsilonInsensitive, Squared
from lapwing.objectives.embedded import EmbeddedObjective
from lapwing.solvers.embedded.methods import EMBEDDED_METHODS
from lapwing.spaces.full import FullKernelSpace
from lapwing.spaces.linear import LinearSpace
from lapwing.spaces.mapped import landmark_map
from tests.helpers.data import labeled_clusters
from tests.helpers.problems import DenseTerm

FLAT = KNNGraph(6, normalized=False)


LARGE = {"_MAX_POINTS": 71}
WIDE = {"_MAX_FEATURES": 50}


# (number of features, limits, parameters, solver and the reason in the log)
SOLVERS: list[tuple[int, dict[str, int], dict[str, Any], str, str]] = [
    (3, {}, {}, "dual", "n = 72: one factorisation for all classes"),
    (3, LARGE, {}, "pcg (stability)", "n = 72 > 71: products instead of a factorisation"),
    (3, {"_MAX_LABELS": 14}, {}, "pcg", "more than 14 labels"),
    (3, {}, {"stopping": "stability"}, "pcg", "the stopping rule needs its iterates"),
    (3, {}, {"loss": "hinge"}, "dual", "the only solver of the hinge loss"),
    (3, {}, {"kernel": "linear"}, "newton", "3 features: a small primal system"),
    (3, {"_MAX_FEATURES": 2}, {"kernel": "linear"}, "pcg", "3 features and n = 72: products"),
    (60, WIDE, {"kernel": "linear"}, "pcg", "60 features and n = 72: products"),
    (60, WIDE | LARGE, {"kernel": "linear"}, "pcg (stability)", "60 features and n = 72: prod"),
    (90, {}, {"kernel": "linear"}, "dual", "n = 72: one factorisation for all classes"),
    (90, LARGE, {"kernel": "linear"}, "pcg (stability)", "n = 72 > 71: products"),
    (3, {}, {"solver": "newton"}, "newton", "asked for"),
]


@pytest.mark.parametrize("case", SOLVERS)
def test_choice_of_solver_is_logged(
    case: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    n_features, limits, options, solver, reason = case
    for limit, value in limits.items():
        monkeypatch.setattr(choice, limit, value)
    X, y, _ = labeled_clusters(3)
    if n_features > 3:
        X = X @ np.random.default_rng(0).normal(size=(3, n_features))
    with caplog.at_level(logging.INFO, logger="lapwing"):
        fitted = LapSVC(gamma_A=0.1, **options).fit(X, y)
    assert fitted.solver_ == solver
    assert f"solver {solver.split()[0]!r}: {reason}" in caplog.text


def test_does_not_factor_sparse_kernels() -> None:
    X, y, _ = labeled_clusters(2)
    K = sp.csr_array(np.where(rbf_kernel(X) > 0.05, rbf_kernel(X), 0) + 3 * np.eye(len(X)))
    W = KNNGraph(5).affinity(X)
    assert LapSVC("precomputed", graph=W, gamma_A=0.1).fit(K, y).solver_ == "pcg"
    wide = sp.csr_array(np.hstack([X, np.zeros((len(X), 80))]))
    assert LapSVC("linear", gamma_A=0.1).fit(wide, y).solver_ == "dual"


# ---- embedded regression ---------------------------------------------------------------------

SQUARED, INSENSITIVE = Squared(), EpsilonInsensitive(0.1)


def embedding(n: int, space: str, *, few: bool) -> EmbeddedObjective:
    """Make an objective of n points; choices depend on its sizes only."""
    X = np.random.default_rng(0).standard_normal((n, 3))
    kernel = make_kernel("rbf", X)
    made: Any = {
        "full": lambda: FullKernelSpace.computed(kernel, X),
        "landmarks": lambda: landmark_map(kernel, X, X[:20]),
        "linear": lambda: LinearSpace(X),
        "wide": lambda: LinearSpace(np.ones((n, n + 1))),
    }[space]()
    basis = (np.eye(n)[:, :2], np.ones(2)) if few else (None, None)
    parts = np.zeros(1, int), np.ones(1), np.ones((1, 1)), DenseTerm(np.eye(n)), 1.0, True
    return EmbeddedObjective(made, *parts, *basis)


POINTS, RATIO = "_OPERATOR_POINTS", "_OPERATOR_RATIO"
MATRIX, HELD = ("matrix", False), ("matrix", True)
# (space, few eigenvectors, limits on 60 points, choice for the squared and the insensitive loss)
SYSTEMS: list[tuple[str, bool, dict[str, Any], tuple[str, bool], tuple[str, bool]]] = [
    ("full", True, {}, MATRIX, MATRIX),
    ("full", False, {}, MATRIX, MATRIX),
    ("wide", True, {}, MATRIX, MATRIX),
    ("landmarks", True, {}, ("features", False), ("features", True)),
    ("linear", True, {}, ("features", False), ("features", True)),
    ("landmarks", False, {}, HELD, HELD),
    ("linear", False, {POINTS: 59}, ("operator", True), HELD),
    ("landmarks", False, {POINTS: 60}, HELD, HELD),  # not more than that
    ("landmarks", False, {POINTS: 59}, ("operator", True), HELD),
    ("landmarks", False, {POINTS: 0, RATIO: 3}, HELD, HELD),  # 3 x 20 landmarks
    ("landmarks", False, {POINTS: 0}, ("operator", True), HELD),
]


@pytest.mark.parametrize("case", SYSTEMS)
def test_choice_of_embedded_systems(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrix for few points; features for repeated passes are stored."""
    space, few, limits, squared, insensitive = case
    for limit, value in limits.items():
        monkeypatch.setattr(choice, limit, value)
    problem = embedding(60, space, few=few)
    for loss, expected in ((SQUARED, squared), (INSENSITIVE, insensitive)):
        found = choice.choose_embedding(replace(problem, loss=loss))
        assert (found.solver, found.stored) == expected
        assert (loss.name, found.solver) in EMBEDDED_METHODS
        assert found.reason
    if found.solver == "matrix" and found.stored:  # too many points for a matrix at all
        monkeypatch.setattr(choice, "_MATRIX_POINTS", {"squared": 59})
        assert choice.choose_embedding(replace(problem, loss=SQUARED)).solver == "operator"


def test_choice_of_embedding_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    X, y, _ = labeled_clusters(2)
    with caplog.at_level(logging.INFO, logger="lapwing"):
        LapERLSClassifier(space=Landmarks(20)).fit(X, y)
    assert "the kernel side as features: normal equations of 20 features" in caplog.text
