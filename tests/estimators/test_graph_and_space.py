"""The parameters `graph` and `space`: defaults, accepted values and effects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lapwing
from lapwing import (
    KNNGraph,
    Landmarks,
    LapRLSRegressor,
    Linear,
)
from lapwing.estimators.path import PathEstimator
from lapwing.spaces.recipes import SPACES
from tests.helpers.answers import scores
from tests.helpers.data import data_for, labeled_clusters
from tests.helpers.low_density import ONE_DESCENT


def test_a_matrix_is_normalised_as_its_weights_may_have_any_size() -> None:
    X, y, _ = labeled_clusters(2)
    W, y = KNNGraph(3).affinity(X), np.where(y == -1, np.nan, y + X[:, 0])
    values = [LapRLSRegressor(graph=graph).fit(X, y).transduction_ for graph in (W, 100 * W)]
    np.testing.assert_allclose(values[1], values[0], atol=1e-8)


# Recipes by their names in SPACES, with the parameters that give the same functions without them.
SPACE_EXAMPLES: dict[str, tuple[Any, dict[str, Any]]] = {
    "Landmarks": (Landmarks(10**6), {"kernel": "rbf"}),
    "Linear": (Linear(), {"kernel": "linear"}),
}


TAKERS = [
    thing
    for thing in (getattr(lapwing, name) for name in lapwing.estimators.__all__)
    if "space" in thing().get_params() and not issubclass(thing, PathEstimator)
]
every_taker = pytest.mark.parametrize("estimator", TAKERS)


def ending(estimator: Any, tol: float) -> dict[str, Any]:
    """Return the parameters of the stopping criterion, if there are any, and a graph for S3VC."""
    short = {"gamma_I": 0.2, **ONE_DESCENT} if estimator is lapwing.S3VC else {}
    return {"tol": tol, **short} if "tol" in estimator().get_params() else {}


@pytest.mark.parametrize("name", SPACES)
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
