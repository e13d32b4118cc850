"""Explicit coordinates of a kernel's functions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.kernels import Kernel, make_kernel
from lapwing.spaces.full import FullKernelSpace
from lapwing.spaces.linear import LinearSpace
from lapwing.spaces.mapped import deformed, full_map, landmark_map
from tests.helpers.problems import rbf
from tests.helpers.spaces import GAMMA, MAKERS, N, points, random

POINTS = random(10, 3, seed=2)
TWICE, CENTRED = np.repeat(POINTS[:5], 2, axis=0), np.eye(10) - 0.1
DEFICIENT = {  # kernel matrices and their ranks
    "duplicates": (rbf(TWICE, TWICE, GAMMA), 5),
    "linear of rank 3": (POINTS @ POINTS.T, 3),
    # On all points: never of full rank (errata C8).
    "centred": (CENTRED @ rbf(POINTS, POINTS, GAMMA) @ CENTRED, 9),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("K", "rank"), DEFICIENT.values(), ids=DEFICIENT)
def test_null_directions_of_a_kernel_are_dropped(K, rank, dtype):
    """A'KA = I and A A' a generalised inverse, whatever the rank (errata C8)."""
    space = full_map(make_kernel("precomputed", K), K.astype(dtype))
    assert space.n_coef == rank
    assert space.dtype == dtype
    A, tol = space.lift, 1e-9 if dtype == np.float64 else 2e-4
    np.testing.assert_allclose(A.T @ K @ A, np.eye(rank), atol=tol)
    np.testing.assert_allclose(K @ A @ A.T @ K, K, atol=tol)
    np.testing.assert_allclose(space.features, K @ A, atol=tol)


def test_coordinates_of_full_rank_are_kept_once():
    X, _ = points(4)
    kernel = make_kernel("rbf", X, gamma=GAMMA)
    space = full_map(kernel, kernel.gram(X), X)
    assert np.shares_memory(space.psi, space.lift._factor)


@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-13), (np.float32, 1e-5)])
def test_computed_coordinates_are_an_operator(dtype, tol):
    """With vectors as with blocks of columns, in the precision of the points or of what comes."""
    X = random(300, 4).astype(dtype)
    space = landmark_map(make_kernel("rbf", X, gamma=GAMMA), X, X[:25])
    psi, array = space.psi, space.psi.array
    assert psi.dtype == array.dtype == space.dtype == space.stored().dtype == dtype
    np.testing.assert_array_equal(space.stored().features, array)
    w, u = random(25, 2), random(300, 2, seed=1)
    for given in (np.float64, np.float32):
        a, b = w.astype(given), u.astype(given)
        assert (psi @ a).dtype == (psi.T @ b).dtype == np.result_type(dtype, given)
        loose = tol if given == np.float64 else 1e-5
        for columns in (slice(None), 0):
            c, e = a[:, columns], b[:, columns]
            np.testing.assert_allclose(psi @ c, array @ c, atol=loose * 10)
            np.testing.assert_allclose(psi.T @ e, array.T @ e, atol=loose * 100)


def test_a_product_with_computed_coordinates_holds_a_block_at_a_time(monkeypatch):
    X = random(300, 4)
    space = landmark_map(make_kernel("rbf", X, gamma=GAMMA), X, X[:25])
    seen = []
    original = Kernel.cross_blocks

    def watched(self, *args):
        for rows, block in original(self, *args):
            seen.append(len(block))
            yield rows, block

    monkeypatch.setattr("lapwing.kernels.BLOCK_BYTES", 50 * 25 * 8)
    monkeypatch.setattr(Kernel, "cross_blocks", watched)
    space.values(np.ones((25, 1)))
    assert seen == [50] * 6


def test_the_gram_matrix_of_float32_landmarks_is_summed_in_float64():
    X = random(40, 4).astype(np.float32)
    space = landmark_map(make_kernel("rbf", X, gamma=GAMMA), X, X[:10])
    Z = space.stored().features.astype(np.float64)
    gram = space.gram()
    assert gram.dtype == np.float64
    np.testing.assert_allclose(gram, Z @ Z.T, atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_functions_have_the_precision_of_the_space(dtype):
    X = points(4)[0].astype(dtype)
    kernel = make_kernel("rbf", X, gamma=GAMMA)
    for space in (
        FullKernelSpace.computed(kernel, X),
        full_map(kernel, kernel.gram(X), X),
        landmark_map(kernel, X, X[:5]),
        deformed(LinearSpace(X), lambda F: F),
        LinearSpace(X),
        LinearSpace.of_used(sp.csr_array(np.hstack([X, 0 * X, 0 * X]))),
    ):
        assert space.gram().dtype == np.float64
        function = space.function(random(space.n_coef, 2), np.ones(2))
        assert function.coef.dtype == function.intercept.dtype == dtype


# --- restrictions ---------------------------------------------------------------------------------

ROWS = np.array([1, 2, 5, 9, 13])


def test_a_small_restriction_of_many_coordinates_is_factored():
    """Products then cost its own size, as solutions lie in the span of its points."""
    space = MAKERS["wide map of equal points"]().space
    assert space.restrict(ROWS).space.n_coef == len(ROWS) - 1  # two points are equal
    assert space.restrict(np.arange(N)).space is space
    X, _ = points(4)
    kernel = make_kernel("rbf", X, gamma=GAMMA)
    alike = full_map(kernel, kernel.gram(X), X)
    assert alike.restrict(ROWS).space.n_coef == alike.n_coef
