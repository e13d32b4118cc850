"""Shares of classes: as a dense and as a sparse matrix, and their entropy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lapwing.objectives.volumes import entropy
from tests.helpers.volumes import blob_problem


def test_sparse_shares_equal_the_dense_ones() -> None:
    problem, codes = blob_problem(labels=2, dtype=np.float32)
    # A label whose rows contradict each other has shares, and keeps them whatever its class.
    labels = problem.labels.copy()
    labels[1] = [0.25, 0.75, 0]
    problem = replace(problem, labels=labels)
    for given in (codes, np.roll(codes, 7)):
        dense, sparse = problem.whole(given), problem.members(given)
        assert sparse.dtype == dense.dtype
        assert_array_equal(sparse.toarray(), dense)
        assert sparse.nnz == problem.n_points + 1
        assert problem.disagreeing(sparse) == problem.disagreeing(dense)
    assert problem.disagreeing(dense) > 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_entropy_of_rows(dtype: type) -> None:
    shares: np.ndarray = np.array([[1, 0, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]], dtype=dtype)
    before = shares.copy()
    found = entropy(shares)
    assert found.dtype == dtype
    assert_allclose(found, [0, np.log(2), np.log(3)], rtol=1e-6)
    assert_array_equal(shares, before)
