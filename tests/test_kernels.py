"""Kernels against scikit-learn's, and their other guarantees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import pairwise

from lapwing import kernels
from lapwing._arrays import even_blocks, row_blocks
from lapwing.kernels import KERNELS, Kernel, make_kernel, scale_gamma
from tests.helpers.data import gaussian_points
from tests.helpers.members import check_examples

REFERENCES: dict[str, Any] = {
    "rbf": lambda X, Z: pairwise.rbf_kernel(X, Z, gamma=0.3),
    "poly": lambda X, Z: pairwise.polynomial_kernel(X, Z, degree=3, gamma=0.3, coef0=0.7),
    "linear": pairwise.linear_kernel,
    "laplacian": lambda X, Z: pairwise.laplacian_kernel(X, Z, gamma=0.3),
    "cosine": pairwise.cosine_similarity,
    "sigmoid": lambda X, Z: pairwise.sigmoid_kernel(X, Z, gamma=0.3, coef0=0.7),
}
PARAMETERS: dict[str, Any] = {"gamma": 0.3, "degree": 3, "coef0": 0.7}
TOLERANCE = {np.float64: 1e-12, np.float32: 3e-6}


def cross(kernel: Kernel, X: Any, Z: Any) -> Any:
    """The matrix between two sets of points, by the public way."""
    return kernel.expand(X, Z, np.eye(Z.shape[0], dtype=X.dtype))


def test_every_kernel_has_a_reference():
    check_examples(
        REFERENCES,
        KERNELS,
        registry="KERNELS in lapwing.kernels",
        place="REFERENCES in tests/test_kernels.py",
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("name", REFERENCES)
def test_kernels_agree_with_scikit_learn(name, container, dtype, monkeypatch):
    """As a whole, in tiles and in blocks, for new points in any container."""
    X, Z = gaussian_points(23, dtype=dtype), gaussian_points(9, seed=1, dtype=dtype)
    X[3] = 0  # the cosine of a zero vector is 0, not NaN
    X[:, 1] *= X[:, 1] > 0
    points = container(X.copy())
    kernel = make_kernel(name, points, **PARAMETERS)
    gram, new = (REFERENCES[name](one.astype(float), X.astype(float)) for one in (X, Z))
    near = TOLERANCE[dtype] * max(1.0, np.abs(gram).max())
    for tile, block in ((kernels._TILE, kernels.BLOCK_BYTES), (7, 3 * 23 * X.itemsize)):
        monkeypatch.setattr(kernels, "_TILE", tile)  # 23 = 3 * 7 + 2: the last tiles are narrow
        monkeypatch.setattr(kernels, "BLOCK_BYTES", block)
        K = kernel.gram(points)
        np.testing.assert_allclose(K, gram, atol=near)
        np.testing.assert_array_equal(K, K.T)
        if KERNELS[name].unit_diagonal:
            np.testing.assert_array_equal(np.diag(K), 1)
        for form in (np.asarray, container):
            np.testing.assert_allclose(cross(kernel, form(Z), points), new, atol=near)
        assert K.dtype == cross(kernel, Z, points).dtype == dtype
    after = points.toarray() if sp.issparse(points) else points
    np.testing.assert_array_equal(after, X)


@pytest.mark.parametrize("kernel", ["rbf", pairwise.linear_kernel])
def test_new_points_come_in_blocks_of_the_budget(kernel, monkeypatch):
    X, Z = gaussian_points(11), gaussian_points(23, seed=1)
    monkeypatch.setattr(kernels, "BLOCK_BYTES", 3 * 11 * 8)
    blocks = list(make_kernel(kernel, X).cross_blocks(Z, X))
    assert [rows.stop - rows.start for rows, _ in blocks] == [3] * 7 + [2]
    assert all(block.shape == (rows.stop - rows.start, 11) for rows, block in blocks)


@pytest.mark.parametrize(("dtype", "shift"), [(np.float64, 1e6), (np.float32, 300.0)])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_rbf_is_exact_far_from_the_origin(container, dtype, shift):
    """|x|^2 + |z|^2 - 2 x'z of shifted points loses all digits of a distance of order one."""
    X = np.round(gaussian_points(20) * 64) / 64  # exact in float32, shifted too
    Z = X[:5] + 0.5
    shifted = (X + shift).astype(dtype)
    given = container(shifted)
    kernel = make_kernel("rbf", given, gamma=0.3)
    np.testing.assert_allclose(kernel.gram(given), REFERENCES["rbf"](X, X), atol=2e-6)
    for form in (np.asarray, container):
        new = cross(kernel, form((Z + shift).astype(dtype)), given)
        np.testing.assert_allclose(new, REFERENCES["rbf"](Z, X), atol=2e-6)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_rbf_is_exact_beside_an_outlier(container):
    X = np.vstack([gaussian_points(20), np.full((1, 4), 1e12)])
    kernel = make_kernel("rbf", container(X), gamma=0.3)
    np.testing.assert_allclose(
        kernel.gram(container(X))[:20, :20], REFERENCES["rbf"](X[:20], X[:20]), atol=1e-12
    )


@pytest.mark.parametrize("exponent", [-80, 80])
@pytest.mark.parametrize("name", [name for name in KERNELS if KERNELS[name].gamma_degree])
def test_units_of_float32_points_have_no_effect(name, exponent):
    """Squares would overflow or underflow, though gamma matches the scale of the points."""
    X = gaussian_points(9, dtype=np.float32)
    gamma = 0.3 * 2.0 ** (-exponent * KERNELS[name].gamma_degree)
    scaled = np.ldexp(X, exponent)
    found = make_kernel(name, scaled, **PARAMETERS | {"gamma": gamma}).gram(scaled)
    expected = make_kernel(name, X, **PARAMETERS).gram(X)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_cosine_does_not_depend_on_the_size_of_points(container):
    X = gaussian_points(6)
    scaled = container(np.ldexp(X, np.array([-600, 0, 600, 1000, -1000, 3])[:, None]))
    found = make_kernel("cosine", scaled).gram(scaled)
    np.testing.assert_allclose(found, pairwise.cosine_similarity(X), rtol=1e-12)


def test_rbf_of_new_points():
    """0 where the square of a distance overflows, and at most 1 for points of the fit."""
    X = 100 * gaussian_points(20, dtype=np.float32)
    kernel = make_kernel("rbf", X, gamma=1.0)
    far = np.full((2, 4), np.float32(3e38)) * [[1], [-1]]
    np.testing.assert_array_equal(cross(kernel, far.astype(np.float32), X), 0)
    assert cross(kernel, X, X).max() <= 1


@pytest.mark.parametrize("name", ["rbf", "poly"])
def test_rejects_points_with_infinite_kernel_values(name):
    X = 1e25 * gaussian_points(5, dtype=np.float32)
    kernel = make_kernel(name, X, gamma=1.0)
    with pytest.raises(ValueError, match=f"kernel='{name}' with .* infinite values in float32"):
        kernel.gram(X)
    if name == "rbf":  # as a basis too
        with pytest.raises(ValueError, match="Scale the features"):
            cross(kernel, X[:2], X)


def test_sparse_points_are_not_centred_if_columns_are_sparse():
    X = sp.csr_array(gaussian_points(30) * (gaussian_points(30, seed=1) > 0.5))
    assert make_kernel("rbf", X).center is None


@pytest.mark.parametrize("name", [name for name in KERNELS if KERNELS[name].unit_diagonal])
def test_duplicate_points_have_equal_kernel_rows(name):
    X = np.repeat(gaussian_points(6), 2, axis=0)
    K = make_kernel(name, X, gamma=0.3).gram(X)
    np.testing.assert_allclose(K[::2], K[1::2], atol=1e-14)
    assert K.max() == 1


@pytest.mark.parametrize("degree", [1, 2, 5, 7, 64, 65, 1.5])
def test_poly_kernel_agrees_with_powers(degree):
    X = np.abs(gaussian_points(8)) / 3
    K = make_kernel("poly", X, gamma=0.5, degree=degree, coef0=0.6).gram(X)
    np.testing.assert_allclose(K, (0.5 * X @ X.T + 0.6) ** degree, rtol=1e-12)


# --- resolving parameters -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "dtype", "rel"),
    [(0, float, 1e-12), (0, np.float32, 1e-6), (1, float, 1e-10), (1e7, float, 1e-7)],
)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_scale_gamma_is_twice_the_width_of_errata_e2(container, size, dtype, rel):
    """Twice n^2 / sum_ij |x_i - x_j|^2, i = j included; a shift has no effect."""
    X = gaussian_points(15) * [1, 3, 0.1, 20] * (gaussian_points(15, seed=1) > 0)
    total = sum(((x - z) ** 2).sum() for x in X for z in X)
    shifted = (X + size * np.array([10, -5, 3, 100])).astype(dtype)
    assert scale_gamma(container(shifted)) == pytest.approx(2 * len(X) ** 2 / total, rel=rel)


def test_values_of_gamma_by_name():
    X = gaussian_points(7)
    scale = scale_gamma(X)
    for name, gamma in (("scale", scale), ("wide", scale / 10), ("auto", 1 / X.shape[1])):
        assert make_kernel("rbf", X, gamma=name).gamma == pytest.approx(gamma)
    assert make_kernel("rbf", X).gamma == scale
    for equal in (np.ones((5, 3)), sp.csr_array(np.ones((5, 3)))):
        assert scale_gamma(equal) == 1


def test_positive_definite_kernels_are_declared():
    X = gaussian_points(30) * 2
    for name in REFERENCES:
        kernel = make_kernel(name, X, **PARAMETERS)
        if kernel.surely_positive_definite:
            values = np.linalg.eigvalsh(kernel.gram(X))
            assert values[0] > -1e-10 * values[-1]
    assert not make_kernel("sigmoid", X).surely_positive_definite
    assert not make_kernel("poly", X, degree=1.5).surely_positive_definite
    assert not make_kernel("poly", X, coef0=-1).surely_positive_definite
    assert not make_kernel("precomputed", X).surely_positive_definite
    assert not make_kernel(pairwise.linear_kernel, X).surely_positive_definite


# --- precomputed and callable ---------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_precomputed_kernel_is_used_unchanged(container):
    K, alpha = gaussian_points(6, 6), gaussian_points(6, 2, seed=1)
    kernel = make_kernel("precomputed", K)
    given_matrix = container(K)
    assert kernel.precomputed
    assert kernel.gram(given_matrix) is given_matrix
    values = kernel.expand(container(K[:4]), None, alpha)
    assert isinstance(values, np.ndarray)
    np.testing.assert_allclose(values, K[:4] @ alpha)


def test_callable_kernel_gets_two_sets_of_points():
    calls = []

    def kernel_function(X, Z):
        calls.append((len(X), len(Z)))
        return X @ Z.T

    X, Z = gaussian_points(6, dtype=np.float32), gaussian_points(4, dtype=np.float32, seed=1)
    kernel = make_kernel(kernel_function, X)
    gram = kernel.gram(X)
    assert gram.dtype == np.float32
    np.testing.assert_allclose(gram, X @ X.T)
    np.testing.assert_allclose(cross(kernel, Z, X), Z @ X.T, atol=1e-6)
    assert calls == [(6, 6), (4, 6)]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X, Z: np.ones(len(X)), r"array of shape .* for {0} and 6 points.*\({0}, 6\)"),
        (lambda X, Z: np.ones((2, 2)), r"for {0} and 6 points.*kernel\(X, Z\).*\({0}, 6\)"),
        (lambda X, Z: X @ Z.T * np.nan, "kernel function returned NaN or infinite"),
        (lambda X, Z: np.where(X @ Z.T > 0, np.inf, 0), "kernel function returned NaN or infinite"),
    ],
)
def test_rejects_wrong_values_of_callable_kernels(function, message):
    X = gaussian_points(6)
    kernel = make_kernel(function, X)
    with pytest.raises(ValueError, match=message.format(6)):
        kernel.gram(X)
    with pytest.raises(ValueError, match=message.format(3)):
        kernel.expand(X[:3], X, np.ones((6, 1)))


# --- memory ---------------------------------------------------------------------------------------


def test_rejects_too_large_matrices_before_allocation(monkeypatch):
    monkeypatch.delenv("LAPWING_MEMORY_LIMIT", raising=False)
    X = sp.csr_array((10**6, 3))  # 8 TB of kernel: the message must come at once
    for kernel in (make_kernel("rbf", X, gamma=1.0), make_kernel(lambda X, Z: X @ Z.T, X)):
        with pytest.raises(MemoryError, match=r"kernel matrix of 1000000 points .* needs 7\.3 TB"):
            kernel.gram(X)


@given(st.integers(0, 200), st.integers(0, 50), st.integers(1, 400))
def test_row_blocks_cover_all_rows_within_the_budget(n_rows, bytes_per_row, budget):
    blocks = list(row_blocks(n_rows, bytes_per_row, budget))
    assert [row for block in blocks for row in range(block.start, block.stop)] == [*range(n_rows)]
    for block in blocks:
        height = block.stop - block.start
        assert height == 1 or height * bytes_per_row <= budget
    # As few blocks as the budget allows.
    assert all((a.stop - a.start + 1) * max(1, bytes_per_row) > budget for a in blocks[:-1])


@given(st.lists(st.integers(0, 30), max_size=60), st.integers(1, 9))
def test_even_blocks_cover_all_rows_with_even_work(counts, n_blocks):
    indptr = np.concatenate([[0], np.cumsum(counts, dtype=int)])
    blocks = even_blocks(indptr, n_blocks)
    assert [row for block in blocks for row in range(block.start, block.stop)] == [
        *range(len(counts))
    ]
    assert len(blocks) <= n_blocks
    for block in blocks:
        work = indptr[block.stop] - indptr[block.start]
        assert work <= indptr[-1] / n_blocks + 30  # and the entries of a row
