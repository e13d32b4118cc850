"""The parameter `space`: one suite for every recipe and every estimator that takes one."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

import lapwing
from lapwing import Landmarks, Linear
from lapwing.estimators.path import PathEstimator
from lapwing.models import Model, load_model, save_model
from lapwing.spaces.recipes import SPACES
from tests.helpers.answers import scores
from tests.helpers.data import Data, labeled_clusters, labeled_curve
from tests.helpers.low_density import ONE_DESCENT
from tests.helpers.members import check_examples

# name in SPACES -> a recipe, and parameters with which the estimator has the same functions
# without it.
EXAMPLES: dict[str, tuple[Any, dict[str, Any]]] = {
    "Landmarks": (Landmarks(10**6), {"kernel": "rbf"}),
    "Linear": (Linear(), {"kernel": "linear"}),
}
every_space = pytest.mark.parametrize("name", EXAMPLES)
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
        EXAMPLES,
        SPACES,
        registry="SPACES in lapwing.spaces.recipes",
        place="EXAMPLES in tests/estimators/test_space_parameter.py",
    )
    for name, (recipe, _) in EXAMPLES.items():
        assert type(recipe) is SPACES[name]
    assert len(TAKERS) >= 5


@every_space
def test_recipes_are_cloned_pickled_and_shown(name: str) -> None:
    recipe, _ = EXAMPLES[name]
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
    recipe, same = EXAMPLES[name]
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
    fitted = estimator(space=EXAMPLES[name][0], **ending(estimator, 1e-3)).fit(X, y)
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
def test_a_recipe_of_something_else_is_refused(estimator: Any) -> None:
    X, y, _ = data_for(estimator)
    message = r"space=Strange\(\) returned str, not a space of functions\. Its method space\(kern"
    with pytest.raises(TypeError, match=message):
        estimator(space=Strange()).fit(X, y)
