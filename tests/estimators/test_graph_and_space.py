"""The parameters `graph` and `space`: defaults, what they take, and what they are good for."""

from __future__ import annotations

import pickle
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
    LapERLSRegressor,
    LapESVC,
    LapESVR,
    LapRLSClassifier,
    LapRLSRegressor,
    LapRLSRegressorCV,
    LapSVC,
    LapSVR,
    Linear,
)
from lapwing.datasets import make_two_moons
from lapwing.estimators.path import PathEstimator
from lapwing.models import Model, load_model, save_model
from lapwing.spaces.recipes import SPACES
from tests.helpers.answers import scores
from tests.helpers.data import Data, labeled_clusters, labeled_curve
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


@pytest.mark.parametrize(
    "estimator",
    [LapRLSRegressor(), LapSVR(), LapERLSRegressor(), LapESVR(mu=0.1)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_given_graphs_do_not_penalise_constants_in_regression(estimator: Any) -> None:
    X, y, _ = labeled_clusters(2)
    y = np.where(y == -1, np.nan, y + X[:, 0])
    for graph in (KNNGraph(3), KNeighborsTransformer(n_neighbors=3)):
        model = clone(estimator).set_params(graph=graph)
        here, there = model.fit(X, y).transduction_, clone(model).fit(X, y + 100).transduction_
        np.testing.assert_allclose(there, here + 100, atol=1e-3)


def test_path_of_regressors_does_not_penalise_constants() -> None:
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


# name in SPACES -> a recipe, and parameters with which the estimator has the same functions
# without it.
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


def data_for(estimator: type) -> Data:
    return labeled_clusters(3) if is_classifier(estimator()) else labeled_curve()


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


@every_space
def test_recipes_are_cloned_pickled_and_shown(name: str) -> None:
    recipe, _ = SPACE_EXAMPLES[name]
    for twin in (clone(recipe), pickle.loads(pickle.dumps(recipe))):
        assert twin is not recipe
        assert twin.get_params() == recipe.get_params()
    assert repr(recipe).startswith(f"{name}(")


def ending(estimator: Any, tol: float) -> dict[str, Any]:
    """The option of those that have one, and a short way to it."""
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


@every_space
@every_taker
def test_a_fit_with_a_space_is_saved(estimator: Any, name: str, tmp_path: Any) -> None:
    X, y, _ = data_for(estimator)
    fitted = estimator(space=SPACE_EXAMPLES[name][0], **ending(estimator, 1e-3)).fit(X, y)
    save_model(Model(fitted), tmp_path / "a.lapwing")
    loaded = load_model(tmp_path / "a.lapwing").pipeline
    assert type(loaded.space) is SPACES[name]
    np.testing.assert_array_equal(scores(loaded, X), scores(fitted, X))


@every_space
@every_taker
def test_a_class_in_place_of_a_recipe_is_recognised(estimator: Any, name: str) -> None:
    X, y, _ = data_for(estimator)
    with pytest.raises(TypeError, match=rf"Did you mean space={name}\(\)\?"):
        estimator(space=SPACES[name]).fit(X, y)


class Strange:
    """A recipe that makes no space."""

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
