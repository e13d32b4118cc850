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

X = points(4)[0]
KERNEL = make_kernel("rbf", X, gamma=GAMMA)
SPARSE, PRECOMPUTED = sp.csr_array(X), make_kernel("precomputed", X @ X.T)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_random_landmarks_are_training_points(make):
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


def test_all_points_are_landmarks_if_more_are_asked_for():
    space = Landmarks(10 * len(X)).space(KERNEL, X)
    np.testing.assert_allclose(space.gram(), rbf(X, X, GAMMA), atol=1e-11)


def test_given_centres_need_not_be_points():
    Z = random(3, 4)
    space = Landmarks(centers=Z.tolist(), n_components=-1).space(KERNEL, X)
    K_Z = rbf(X, Z, GAMMA)
    expected = K_Z @ np.linalg.solve(rbf(Z, Z, GAMMA), K_Z.T)
    np.testing.assert_allclose(space.gram(), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("recipe", "options", "message"),
    [
        (Landmarks(0), {}, r"n_components=0 must be a whole number of at least 1"),
        (Landmarks(2.5), {}, r"n_components=2.5 must be"),
        (Landmarks(True), {}, r"n_components=True must be"),
        (Landmarks(3, method="grid"), {}, r"method='grid' must be one of 'random', 'kmeans'"),
        (Landmarks(centers=np.ones((2, 3))), {}, r"centers have 3 features, but X has 4"),
        (Landmarks(centers=SPARSE), {}, r"both be dense or both be sparse"),
        (Landmarks(3), {"kernel": None}, r"needs a nonlinear kernel.*Use space=None"),
        (Landmarks(3), {"kernel": PRECOMPUTED}, r"a precomputed kernel does not offer"),
        (Landmarks(3, method="kmeans"), {"X": SPARSE}, r"takes dense points.*method='random'"),
    ],
)
def test_rejects_invalid_landmarks(recipe, options, message):
    given = {"kernel": KERNEL, "X": X} | options
    with pytest.raises(ValueError, match=message):
        recipe.space(given["kernel"], given["X"])


def test_the_linear_recipe_does_not_ask_for_a_kernel():
    for kernel in (None, KERNEL):
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
    class Mine:
        def __init__(self, made: Any) -> None:
            self.made = made

        def space(self, kernel: Any, X: Any, /) -> Any:
            return self.made

        def __repr__(self) -> str:
            return "Mine()"

    space = LinearSpace(X[:, :2])
    assert make_space(Mine(space), None, X) is space
    with pytest.raises(TypeError, match=r"space=Mine\(\) returned ndarray, not a space of func"):
        make_space(Mine(X), None, X)
