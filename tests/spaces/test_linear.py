"""The linear space, and features that nothing uses."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.spaces import LinearSpace
from tests.helpers.spaces import points, random


def hashed(n_features: int, used: list[int]) -> sp.csr_array:
    X = np.zeros((6, n_features))
    X[:, used] = 1 + np.abs(random(6, len(used)))
    return sp.csr_array(X)


def test_features_that_are_0_at_all_points_are_left_out_if_they_are_many():
    X = hashed(9, [1, 4, 5, 8])
    space = LinearSpace.of_used(X)
    assert (space.n_coef, space.n_features) == (4, 9)
    assert space.columns.tolist() == [1, 4, 5, 8]
    np.testing.assert_array_equal(space.X.toarray(), X[:, [1, 4, 5, 8]].toarray())


@pytest.mark.parametrize(
    "X", [hashed(8, [1, 4, 5, 7]), points(4)[0], np.zeros((4, 9))], ids=["half", "dense", "zeros"]
)
def test_else_the_points_are_taken_as_they_are(X):
    space = LinearSpace.of_used(X)
    assert space.X is X
    assert space.columns is None


def test_functions_are_of_all_features():
    space = LinearSpace.of_used(hashed(9, [1, 4, 5, 8]))
    coef = random(4, 2)
    part, embed = space.restrict(np.array([0, 3]))
    for made in (space, part):
        function = made.function(coef, np.array([0.5, -0.5]))
        assert function.coef.shape == (9, 2)
        np.testing.assert_array_equal(function.coef[[1, 4, 5, 8]], coef)
        assert np.count_nonzero(function.coef) == coef.size
    assert embed(coef) is coef


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_nothing_is_copied_for_nothing(container):
    X = container(points(4)[0])
    space = LinearSpace(X)
    assert space.stored() is space
    assert space.features is X
    assert space.restrict(np.arange(X.shape[0])).space is space


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_functions_have_the_precision_of_the_points(dtype):
    for space in (
        LinearSpace(points(4)[0].astype(dtype)),
        LinearSpace.of_used(hashed(9, [1, 4, 5, 8]).astype(dtype)),
    ):
        function = space.function(random(4, 2), np.ones(2))
        assert function.coef.dtype == function.intercept.dtype == dtype
        assert space.gram().dtype == np.float64
