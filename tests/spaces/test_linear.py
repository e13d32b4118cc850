"""The linear space, and features that nothing uses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing._arrays import is_sparse
from lapwing.spaces.linear import LinearSpace
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
def test_other_points_are_used_unchanged(X):
    space = LinearSpace.of_used(X)
    assert space.X is X
    assert space.columns is None


def wide_text(n: int = 60) -> Any:
    """Fewer points than features, some of them equal."""
    X = sp.random_array((n, 500), density=0.05, rng=np.random.default_rng(2), format="csr")
    return sp.csr_array(sp.vstack([X, X[:2]]))


def test_wide_sparse_points_have_as_many_coordinates_as_they_have_rank():
    part = LinearSpace(wide_text()).restrict(np.append(np.arange(10), [60, 61])).space
    assert part.n_coef == 10  # rows 60 and 61 are 0 and 1 again


def test_many_sparse_points_stay_as_they_are():
    """Products with their matrix would cost more than long vectors do."""
    space = LinearSpace(sp.csr_array(np.tile(np.eye(4), (20, 1))))
    part, embed = space.restrict(np.arange(70))
    assert part.n_coef == 4
    assert is_sparse(part.features)
    coef = random(4)
    assert embed(coef) is coef
    assert is_sparse(LinearSpace(wide_text(130)).restrict(np.arange(110)).space.features)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_arrays_are_not_copied(container):
    X = container(points(4)[0])
    space = LinearSpace(X)
    assert space.stored() is space
    assert space.features is X
    assert space.restrict(np.arange(X.shape[0])).space is space
