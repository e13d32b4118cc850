"""Small pieces of dense linear algebra against plain NumPy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sla
import scipy.sparse as sp

from lapwing import linalg
from tests.helpers.spaces import random


@pytest.mark.parametrize("rounding", [0.0, -1e-14])
def test_spd_halves_multiply_to_the_inverse(rounding):
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    values = np.array([rounding, 1, 2, 3, 4, 5]) if rounding else np.arange(1.0, 7)
    H = V * values @ V.T
    forward, backward = linalg.spd_halves((H + H.T) / 2)
    u = V[:, 1:] @ rng.standard_normal((5, 3))
    inverse = (V[:, 1:] / values[1:]) @ V[:, 1:].T @ u
    np.testing.assert_allclose(backward(forward(u)), inverse, atol=1e-12)
    np.testing.assert_allclose(forward(u).T @ forward(u), u.T @ inverse, atol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
def test_spd_factor_solves_slightly_indefinite_systems(order):
    Q = sla.qr(random(6, 6))[0]
    H = Q @ np.diag([5, 4, 3, 2, -1e-16, -1e-17]) @ Q.T
    H = (H + H.T) / 2
    H[5, 5] -= 1e-15  # the last pivot fails, after the others have been overwritten
    u = H @ random(6, 2, seed=1)
    z = linalg.spd_factor(np.array(H, order=order))(u)
    np.testing.assert_allclose(H @ z, u, atol=1e-12)
    np.testing.assert_allclose(z, sla.pinvh(H, rtol=1e-12) @ u, atol=1e-10)


@pytest.mark.parametrize("rank", [0, 1, 3, 8])
def test_pivoted_cholesky_has_as_many_columns_as_the_rank(rank):
    B = random(8, rank)
    K = B @ B.T
    F, lower, pivots = linalg.pivoted_cholesky(K.copy(), 1e-12 * max(1.0, np.diag(K).max()))
    assert F.shape == (8, rank)
    assert len(set(pivots.tolist())) == rank
    np.testing.assert_allclose(F @ F.T, K, atol=1e-12)
    np.testing.assert_array_equal(lower, F[pivots])
    np.testing.assert_array_equal(np.triu(lower, 1), 0)


def test_extreme_eigenvalues_of_large_matrices():
    few = np.eye(600)
    few[5, 5] = -0.5  # two steps span the range
    assert linalg.extreme_eigenvalues(few) == pytest.approx((-0.5, 1))
    # At most the least entry of the diagonal, which a few steps do not reach.
    least, largest = linalg.extreme_eigenvalues(np.diag(np.linspace(-1e-3, 1, 600)))
    assert least == -1e-3
    assert largest == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize("shape", [(6, 2), (6,)])
def test_product_of_mixed_precision_is_float64(monkeypatch, shape):
    A, B = random(20, 6).astype(np.float32), random(*shape)
    monkeypatch.setattr(linalg, "row_blocks", lambda n, *_: [slice(0, 7), slice(7, n)])
    found = linalg.product(A, B)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, A.astype(np.float64) @ B, rtol=1e-14, atol=1e-14)


def test_column_dot_sums_float32_in_float64():
    a = np.full((10**6, 2), np.float32(0.1))
    expected = 10**6 * float(np.float32(0.1)) ** 2
    np.testing.assert_allclose(linalg.column_dot(a, a), expected, rtol=1e-9)


@pytest.mark.parametrize("n_columns", [0, 1, 2, 10, 70, 500])
@pytest.mark.parametrize("n_rows", [1, 3, 90, 501])
@pytest.mark.parametrize("order", ["C", "F"])
def test_column_products_agree_with_numpy_for_all_shapes(monkeypatch, n_rows, n_columns, order):
    # A hundredth of the sizes: from 500 numbers on several rows are one, up to 64 numbers.
    monkeypatch.setattr(linalg, "_SHORT_ROWS", 500)
    monkeypatch.setattr(linalg, "_LONG_ROW", 64)
    a = np.asarray(random(n_rows, n_columns), order=order)
    b, factors = random(n_rows, n_columns) + 1, random(n_columns)
    np.testing.assert_allclose(linalg.column_dot(a, b), (a * b).sum(axis=0), atol=1e-9 * n_rows)
    before = a.copy()
    expected = before * factors
    np.testing.assert_array_equal(linalg.scaled_columns(a, factors), expected)
    np.testing.assert_array_equal(a, before)
    assert linalg.scaled_columns(a, factors, out=a) is a
    np.testing.assert_array_equal(a, expected)
    turned = np.empty_like(b, order="F" if order == "C" else "C")
    assert linalg.scaled_columns(before, factors, out=turned) is turned
    np.testing.assert_array_equal(turned, expected)
    np.testing.assert_allclose(
        linalg.column_dot(b, turned), linalg.column_dot(b, expected), rtol=1e-9
    )


def test_scaled_columns_keep_float32():
    block = random(5000, 3).astype(np.float32)
    found = linalg.scaled_columns(block, np.array([0.1, 2.0, -3.0]))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, block * np.array([0.1, 2, -3], dtype=np.float32))


# --- normal equations -----------------------------------------------------------------------------


def cut(Z, n_blocks):
    """Row blocks of Z, of different heights."""
    edges = np.unique(np.round(np.linspace(0, 1, n_blocks + 1) ** 2 * Z.shape[0]).astype(int))
    for start, stop in pairwise(edges):
        yield slice(start, stop), Z[start:stop]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_normal_matrix_agrees_with_numpy(container, zeros, bias, dtype):
    Z = (random(23, 4) * (random(23, 4, seed=1) > 0)).astype(dtype)
    weights = np.random.default_rng(2).uniform(0.1, 9, 23)
    if zeros:
        weights[::3] = 0
    B = np.hstack([Z, np.ones((23, 1))]) if bias else Z
    B = B.astype(np.float64)
    before = Z.copy()
    H = linalg.normal_matrix(container(Z), weights, bias=bias)
    assert H.dtype == np.float64
    np.testing.assert_allclose(H, B.T @ np.diag(weights) @ B, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(H, H.T)
    np.testing.assert_array_equal(Z, before)


def test_summed_does_not_depend_on_threads(monkeypatch):
    A = random(40, 6)
    parts = [slice(start, start + 7) for start in range(0, 40, 7)]
    found = []
    for n_threads in (1, 2, 5):
        monkeypatch.setattr("lapwing.linalg.available_threads", lambda n=n_threads: n)
        found.append(linalg.summed(iter(parts), lambda rows: A[rows].T @ A[rows], (6, 6)))
    np.testing.assert_allclose(found[0], A.T @ A, rtol=1e-13, atol=1e-13)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_normal_matrix_of_float32_is_summed_in_float64(container):
    Z = np.full((20_000, 2), np.float32(0.1))
    expected = 20_000 * float(np.float32(0.1)) ** 2
    assert abs(float((Z.T @ Z)[0, 0]) / expected - 1) > 1e-8  # in float32 it is off
    H = linalg.normal_matrix(container(Z), np.ones(20_000), bias=True)
    np.testing.assert_allclose(H[:2, :2], expected, rtol=1e-11)
    np.testing.assert_allclose(H[2, :2], 20_000 * float(np.float32(0.1)), rtol=1e-11)
    assert H[2, 2] == pytest.approx(20_000, rel=1e-12)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_products_of_threads(n_threads: int, dtype: type, monkeypatch: Any) -> None:
    monkeypatch.setattr(linalg, "available_threads", lambda: n_threads)
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(40, 30)) * (rng.random((40, 30)) < 0.2)
    dense[7:9] = 0
    matrix = sp.csr_array(dense.astype(dtype))
    for F in (rng.normal(size=(30, 4)), rng.normal(size=30).astype(dtype)):
        for work in (1e9, 1):
            monkeypatch.setattr(linalg, "_SHARED_WORK", work)
            found = linalg.sparse_product(matrix, F)
            assert found.dtype == np.result_type(dtype, F.dtype)
            np.testing.assert_array_equal(found, matrix @ F)


@pytest.mark.parametrize("n", [7, 8])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_medians_of_sparse_columns_are_those_of_the_dense_matrix(n, sign):
    """Columns with all numbers of stored entries, of one sign."""
    dense = np.tril(np.arange(1.0, n + 1)[:, None] + np.arange(n + 1), -1) * sign
    for X in (dense, np.hstack([dense, -dense])):
        np.testing.assert_allclose(linalg.medians(sp.csr_array(X)), np.median(X, axis=0))
