"""The parameter `graph`: its default, what it takes, and what it is good for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.neighbors import KNeighborsTransformer

from lapwing import (
    S3VC,
    AffinityGraph,
    KNNGraph,
    LapERLSClassifier,
    LapERLSRegressor,
    LapESVC,
    LapESVR,
    LapRLSClassifier,
    LapRLSRegressor,
    LapRLSRegressorCV,
    LapSVC,
    LapSVR,
)
from lapwing.datasets import make_two_moons
from tests.helpers.answers import scores
from tests.helpers.data import labeled_clusters


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
    X, y, _ = labeled_clusters(2)
    X = np.hstack([X, X[:, :1] ** 2])[:, :n_features]
    y = y if is_classifier(estimator) else np.where(y == -1, np.nan, y)
    default = scores(clone(estimator).fit(X, y), X)
    written = scores(clone(estimator).set_params(graph=graph).fit(X, y), X)
    np.testing.assert_array_equal(default, written)


@pytest.mark.parametrize(
    "estimator",
    [LapSVC(), LapRLSClassifier(), LapERLSClassifier(), LapESVC(), S3VC(gamma_I=1.0)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_graph_of_ones_own_is_normalised_for_classes(estimator: Any) -> None:
    X, y, _ = labeled_clusters(2)

    def answers(normalized: Any) -> Any:
        graph = KNNGraph(3, normalized=normalized)
        return scores(clone(estimator).set_params(graph=graph).fit(X, y), X)

    np.testing.assert_array_equal(answers("auto"), answers(True))
    assert np.abs(answers("auto") - answers(False)).max() > 1e-6


def test_a_matrix_is_normalised_as_its_weights_may_have_any_size() -> None:
    X, y, _ = labeled_clusters(2)
    W, y = KNNGraph(3).affinity(X), np.where(y == -1, np.nan, y + X[:, 0])
    values = [LapRLSRegressor(graph=graph).fit(X, y).transduction_ for graph in (W, 100 * W)]
    np.testing.assert_allclose(values[1], values[0], atol=1e-8)


@pytest.mark.parametrize(
    "estimator",
    [LapRLSRegressor(), LapSVR(), LapERLSRegressor(), LapESVR(mu=0.1)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_graph_of_ones_own_leaves_constants_alone_in_regressions(estimator: Any) -> None:
    X, y, _ = labeled_clusters(2)
    y = np.where(y == -1, np.nan, y + X[:, 0])
    for graph in (KNNGraph(3), KNeighborsTransformer(n_neighbors=3)):
        model = clone(estimator).set_params(graph=graph)
        here, there = model.fit(X, y).transduction_, clone(model).fit(X, y + 100).transduction_
        np.testing.assert_allclose(there, here + 100, atol=1e-3)


def test_a_path_of_regressions_leaves_constants_alone() -> None:
    X, y, _ = labeled_clusters(2)
    y = np.where(y == -1, np.nan, y + X[:, 0])
    model = LapRLSRegressorCV(graphs=[KNNGraph(3), KNNGraph(4)])
    here, there = model.fit(X, y).transduction_, clone(model).fit(X, y + 100).transduction_
    np.testing.assert_allclose(there, here + 100, atol=1e-6)


def test_the_default_graph_shrinks_to_few_points() -> None:
    few = np.array([[0.0], [1.0], [3.0]])
    assert LapSVC().fit(few, [0, -1, 1]).affinity_.nnz == 6
    assert LapRLSRegressor().fit(few[:2], [0.5, np.nan]).affinity_.nnz == 2
    # Two rows that are one point.
    assert LapRLSRegressor().fit(few[[0, 0]], [0.5, np.nan]).affinity_.nnz == 0


def test_bare_matrices_and_transformers_are_graphs() -> None:
    X, y, _ = labeled_clusters(2)
    W = KNNGraph(5).affinity(X)
    f = LapSVC(graph=AffinityGraph(W)).fit(X, y).decision_function(X)
    for graph in (W, W.toarray(), sp.csr_matrix(W), sp.coo_array(W)):
        g = LapSVC(graph=graph).fit(X, y).decision_function(X)
        np.testing.assert_array_equal(g, f)
    g = LapSVC(graph=KNeighborsTransformer(n_neighbors=5)).fit(X, y).decision_function(X)
    np.testing.assert_allclose(g, f, atol=1e-8)


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
