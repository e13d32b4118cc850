"""What may be given for ``space=``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.kernels import make_kernel
from lapwing.spaces.linear import LinearSpace
from lapwing.spaces.recipes import Landmarks, Linear, check_space, make_space
from tests.helpers.problems import rbf
from tests.helpers.spaces import GAMMA, points, random


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_random_landmarks_are_training_points(make):
    X, _ = points(4)
    one, two = (Landmarks(5, random_state=3).select(make(X)) for _ in range(2))
    one, two = (Z if make is np.asarray else Z.toarray() for Z in (one, two))
    np.testing.assert_array_equal(one, two)
    assert all((z == X).all(axis=1).any() for z in one)
    assert len(np.unique(one, axis=0)) == 5


def test_kmeans_landmarks_are_centres_in_the_precision_of_the_points():
    blobs = np.repeat(np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]]), 20, axis=0)
    X = (blobs + 0.1 * random(60, 2)).astype(np.float32)
    Z = Landmarks(3, method="kmeans").select(X)
    assert Z.dtype == np.float32
    means = np.array([X[20 * k : 20 * (k + 1)].mean(axis=0) for k in range(3)])
    distances = np.linalg.norm(Z[:, None] - means, axis=2).min(axis=0)
    assert distances.max() < 0.5


def test_given_centres_need_not_be_points():
    X, _ = points(4)
    kernel, Z = make_kernel("rbf", X, gamma=GAMMA), random(3, 4)
    space = Landmarks(centers=Z.tolist(), n_components=-1).space(kernel, X).stored()
    K_Z = rbf(X, Z, GAMMA)
    np.testing.assert_allclose(
        space.features @ space.features.T, K_Z @ np.linalg.solve(rbf(Z, Z, GAMMA), K_Z.T), atol=1e-9
    )


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (Landmarks(0), r"n_components=0 must be a whole number of at least 1"),
        (Landmarks(2.5), r"n_components=2.5 must be"),
        (Landmarks(True), r"n_components=True must be"),
        (
            Landmarks(3, method="grid"),
            r"method='grid' must be one of 'random', 'kmeans'",
        ),
        (Landmarks(centers=np.ones((2, 3))), r"centers have 3 features, but X has 4"),
        (Landmarks(centers=sp.csr_array(np.ones((2, 4)))), r"both be dense or both be sparse"),
    ],
)
def test_rejects_invalid_landmarks(recipe, message):
    X, _ = points(4)
    with pytest.raises(ValueError, match=message):
        recipe.space(make_kernel("rbf", X, gamma=GAMMA), X)


def test_landmarks_require_a_kernel_function_and_kmeans_dense_points():
    X, _ = points(4)
    with pytest.raises(ValueError, match=r"needs a nonlinear kernel.*Use space=None"):
        Landmarks(3).space(None, X)
    with pytest.raises(ValueError, match=r"a precomputed kernel does not offer"):
        Landmarks(3).space(make_kernel("precomputed", X @ X.T), X @ X.T)
    with pytest.raises(ValueError, match=r"takes dense points.*Use method='random'"):
        Landmarks(3, method="kmeans").select(sp.csr_array(X))


def test_the_linear_recipe_does_not_ask_for_a_kernel():
    X, _ = points(4)
    for kernel in (None, make_kernel("rbf", X, gamma=GAMMA)):
        space = Linear().space(kernel, X)
        assert isinstance(space, LinearSpace)
        assert space.X is X


def test_rejects_values_that_are_no_space():
    for fine in (None, Landmarks(), Linear()):
        check_space(fine)
    with pytest.raises(TypeError, match=r"space='linear' is not a space\. Use None"):
        check_space("linear")
    with pytest.raises(TypeError, match=r"Did you mean space=Landmarks\(\)\?"):
        check_space(Landmarks)


def test_user_defined_recipes_make_spaces():
    X, _ = points(4)

    class Mine:
        made: Any = LinearSpace(X[:, :2])

        def space(self, kernel: Any, X: Any, /) -> Any:
            return self.made

        def __repr__(self) -> str:
            return "Mine()"

    recipe = Mine()
    assert make_space(recipe, None, X) is recipe.made
    recipe.made = X
    with pytest.raises(TypeError, match=r"space=Mine\(\) returned ndarray, not a space of func"):
        make_space(recipe, None, X)
