"""The parameters `graph` and `space`: defaults, accepted values and effects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.neighbors import KNeighborsTransformer

import lapwing
from lapwing import (
    S3VC,
    AffinityGraph,
    KNNGraph,
    Landmarks,
    LapERLSClassifier,
    LapESVC,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    LapSVR,
    Linear,
)
from lapwing.estimators.path import PathEstimator
from lapwing.spaces.recipes import SPACES
from tests.helpers.answers import scores
from tests.helpers.data import data_for, labeled_clusters
from tests.helpers.low_density import ONE_DESCENT
from tests.helpers.members import check_examples


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
def test_given_graphs_are_normalised_for_classification(estimator: Any) -> None:
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


def test_bare_matrices_and_transformers_are_graphs() -> None:
    X, y, _ = labeled_clusters(2)
    W = KNNGraph(5).affinity(X)
    f = LapSVC(graph=AffinityGraph(W)).fit(X, y).decision_function(X)
    for graph in (W, W.toarray(), sp.csr_matrix(W), sp.coo_array(W)):
        g = LapSVC(graph=graph).fit(X, y).decision_function(X)
        np.testing.assert_array_equal(g, f)
    g = LapSVC(graph=KNeighborsTransformer(n_neighbors=5)).fit(X, y).decision_function(X)
    np.testing.assert_allclose(g, f, atol=1e-8)


# Recipes by their names in SPACES, with the parameters that give the same functions without them.
SPACE_EXAMPLES: dict[str, tuple[Any, dict[str, Any]]] = {
    "Landmarks": (Landmarks(10**6), {"kernel": "rbf"}),
    "Linear": (Linear(), {"kernel": "linear"}),
}
every_space = pytest.mark.parametrize("name", SPACE_EXAMPLES)
TAKERS = [
    thing
    for thing in (getattr(lapwing, name) for name in lapwing.estimators.__all__)
    if "space" in thing().get_params() and not issubclass(thing, PathEstimator)
]
every_taker = pytest.mark.parametrize("estimator", TAKERS)


def test_every_space_has_an_example() -> None:
    check_examples(
        SPACE_EXAMPLES,
        SPACES,
        registry="SPACES in lapwing.spaces.recipes",
        place="SPACE_EXAMPLES in tests/estimators/test_graph_and_space.py",
    )
    for name, (recipe, _) in SPACE_EXAMPLES.items():
        assert type(recipe) is SPACES[name]
    assert len(TAKERS) >= 5


def ending(estimator: Any, tol: float) -> dict[str, Any]:
    """Return the parameters of the stopping criterion, if there are any."""
    short = ONE_DESCENT if estimator is lapwing.S3VC else {}
    return {"tol": tol, **short} if "tol" in estimator().get_params() else {}


@every_space
@every_taker
def test_a_space_of_the_same_functions_gives_the_same_answers(estimator: Any, name: str) -> None:
    X, y, _ = data_for(estimator)
    recipe, same = SPACE_EXAMPLES[name]
    before = recipe.get_params()
    options = {"gamma": 0.2, **ending(estimator, 1e-8)}
    named = estimator(**options, **same).fit(X, y)
    spaced = estimator(**options, space=recipe).fit(X, y)
    expected = scores(named, X)
    np.testing.assert_allclose(scores(spaced, X), expected, atol=1e-3 * np.abs(expected).max())
    assert recipe.get_params() == before


class Strange:
    """Recipe that returns no space."""

    def space(self, kernel: Any, X: Any, /) -> Any:
        return "nothing"

    def __repr__(self) -> str:
        return "Strange()"


@every_taker
def test_rejects_recipe_that_returns_no_space(estimator: Any) -> None:
    X, y, _ = data_for(estimator)
    message = r"space=Strange\(\) returned str, not a space of functions\. Its method space\(kern"
    with pytest.raises(TypeError, match=message):
        estimator(space=Strange()).fit(X, y)
