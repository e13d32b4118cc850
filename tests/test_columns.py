"""Columns of points: variances, centres and shifts that keep their digits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from lapwing import linalg
from lapwing.linalg import center_of, column_variances, shifted

CONTAINERS = [np.asarray, sp.csr_array, sp.csc_matrix]


def points(n: int = 50, d: int = 4, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shift", [0.0, 1e4, 1e6, 1e9])
def test_variances_of_columns_far_from_0(container: Any, dtype: Any, shift: float) -> None:
    X = (points() + np.array([shift, 0, -shift, 1])).astype(dtype)
    exact = [
        float(sum((v - sum(column) / 50) ** 2 for v in column) / 50)
        for column in ([Fraction(float(v)) for v in x] for x in X.T)
    ]
    found = column_variances(container(X))
    assert found.dtype == np.float64
    assert_allclose(found, exact, rtol=1e-12)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("n", [3, 7, 1000, 1001])
def test_constant_columns_have_no_variance(container: Any, n: int) -> None:
    X = np.tile([0.1, 1 / 3, 0.0, 1e17 + 0.1, -0.7], (n, 1))
    assert_array_equal(column_variances(container(X)), 0)


def test_missing_cells_are_left_out_of_variances() -> None:
    X = points()
    X[::3, 0] = np.nan
    X[:, 1] = np.nan
    X[:, 2] = np.where(np.arange(50) % 2, np.nan, 0.1)
    X[4, 3] = np.inf
    kept = np.var(X[~np.isnan(X[:, 0]), 0])
    assert_allclose(column_variances(X), [kept, np.nan, 0, np.nan], rtol=1e-14)


def test_variances_of_blocks_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    X = points(20, 30)
    whole = column_variances(X)
    blocks = linalg.row_blocks
    monkeypatch.setattr(linalg, "row_blocks", lambda n, width: blocks(n, width, 7 * width))
    assert_allclose(column_variances(X), whole, rtol=1e-14)


def test_the_centre_is_the_mean_or_with_outliers_the_median() -> None:
    X = points() + 7
    assert_array_equal(center_of(X), X.mean(axis=0))
    X[3] = 10
    assert_array_equal(center_of(X), X.mean(axis=0))
    for far in (1e6, 1e12, 1e300):
        X[3] = far
        assert_array_equal(center_of(X), np.median(X, axis=0))
    assert center_of(points().astype(np.float32)).dtype == np.float32


def test_the_centre_of_sparse_points_is_0_where_few_are_stored() -> None:
    X = points()
    X[:, 0] += 1e6
    X[::2, 1] = 0  # half of it is stored
    X[1:, 2] = 0
    center = center_of(sp.csr_array(X))
    assert_allclose(center, [np.median(X[:, 0]), 0, 0, np.median(X[:, 3])])
    moved = shifted(sp.csr_array(X), center)
    assert sp.issparse(moved)
    assert_allclose(moved.toarray(), X - center, rtol=1e-15)
    assert_array_equal(moved[:, [1, 2]].toarray(), X[:, [1, 2]])


def test_no_more_than_twice_the_entries_are_stored() -> None:
    rng = np.random.default_rng(0)
    X = points(300, 40) * (rng.random((300, 40)) < np.linspace(0, 1, 40))
    sparse = sp.csr_array(X)
    moved = shifted(sparse, center_of(sparse))
    assert sparse.nnz < moved.nnz <= 2 * sparse.nnz
    text = sp.csr_array(X[:, :20])
    assert shifted(text, center_of(text)) is text


@pytest.mark.parametrize("container", CONTAINERS)
def test_the_centre_of_many_points(container: Any) -> None:
    X = points(4321) + np.array([0, 1e3, 5, -2])
    X[17] = 1e9
    assert np.abs(center_of(container(X)) - [0, 1e3, 5, -2]).max() < 0.2
