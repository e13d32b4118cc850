"""The parameters `graph` and `space`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lapwing
from lapwing import S3VC, KNNGraph, Landmarks, LapRLSRegressor, Linear
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


# Recipes by their names in SPACES, with the kernel that gives the same functions without them.
SPACE_EXAMPLES: dict[str, tuple[Any, str]] = {
    "Landmarks": (Landmarks(10**6), "rbf"),
    "Linear": (Linear(), "linear"),
}
TAKERS = [
    thing
    for thing in (getattr(lapwing, name) for name in lapwing.estimators.__all__)
    if "space" in thing().get_params() and not issubclass(thing, PathEstimator)
]


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("estimator", TAKERS)
def test_a_space_of_the_same_functions_gives_the_same_answers(estimator: Any, name: str) -> None:
    X, y, _ = data_for(estimator)
    recipe, kernel = SPACE_EXAMPLES[name]
    before = recipe.get_params()
    options: dict[str, Any] = {"gamma": 0.2}
    if "tol" in estimator().get_params():
        options["tol"] = 1e-8
    if estimator is S3VC:
        options |= {"gamma_I": 0.2, **ONE_DESCENT}
    expected = scores(estimator(kernel=kernel, **options).fit(X, y), X)
    found = scores(estimator(space=recipe, **options).fit(X, y), X)
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())
    assert recipe.get_params() == before
