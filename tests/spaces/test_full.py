"""The full-kernel space, with its matrix held or computed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing._host.threads import share
from lapwing.kernels import Kernel, make_kernel
from lapwing.spaces import full
from lapwing.spaces.full import ComputedKernel, FullKernelSpace
from tests.helpers.problems import rbf
from tests.helpers.spaces import GAMMA, N, points, random

ROWS = np.array([1, 2, 5, 9, 13])


def computed(dtype: Any = np.float64) -> tuple[FullKernelSpace, Any]:
    """The space of computed kernel values, and its kernel matrix."""
    X = points(4)[0].astype(dtype)
    space = FullKernelSpace.computed(make_kernel("rbf", X, gamma=GAMMA), X)
    return space, rbf(X.astype(np.float64), X.astype(np.float64), GAMMA)


def test_space_without_a_kernel_rejects_new_points():
    space = FullKernelSpace(np.eye(3))
    with pytest.raises(ValueError, match="has no kernel"):
        space.function(np.ones((3, 1)), np.zeros(1))
    with pytest.raises(ValueError, match="has no kernel"):
        space.restrict(np.array([0, 2]))


def test_only_the_matrix_of_a_restriction_is_formed(monkeypatch):
    sizes = []
    original = Kernel.gram

    def watched(self: Kernel, X: Any) -> Any:
        sizes.append(X.shape[0])
        return original(self, X)

    monkeypatch.setattr(Kernel, "gram", watched)
    space, a = computed()[0], random(N, 2)
    assert space.represent(a) is a
    space.dot(a, a, space.values(a))
    list(space.blocks())
    space.function(a, np.zeros(2))(points(4)[1])
    part, embed = space.restrict(ROWS)
    space.values(embed(part.represent(random(len(ROWS), 2))))
    assert sizes == [len(ROWS)]


def test_a_restriction_of_a_singular_precomputed_kernel():
    """Its coordinates are fewer than its points."""
    X = np.repeat(points(4)[0], 2, axis=0)
    K, rows = rbf(X, X, GAMMA), np.array([0, 2, 3, 4, 5])
    space = FullKernelSpace.computed(make_kernel("precomputed", K), K)
    part, embed = space.restrict(rows)
    coef = random(part.n_coef, 2)
    assert part.n_coef == 3
    np.testing.assert_allclose(space.values(embed(coef))[rows], part.values(coef), atol=1e-9)


def test_threads_may_restrict_at_the_same_time() -> None:
    """The size of the cache is computed while other threads add to it."""
    space = computed()[0].stored()
    rows = [np.flatnonzero([number >> i & 1 for i in range(N)]) for number in range(3, 600)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        parts = share(4, space.restrict, rows)
    finally:
        sys.setswitchinterval(before)
    for part, chosen in zip(parts[::50], rows[::50], strict=True):
        np.testing.assert_allclose(part.space.gram(), space.K[np.ix_(chosen, chosen)], atol=1e-12)


def test_restrictions_are_kept_up_to_a_limit(monkeypatch):
    space = computed()[0].stored()
    assert space.restrict(ROWS) is space.restrict(ROWS)
    monkeypatch.setattr(full, "KEPT_BYTES", 0)
    assert space.restrict(ROWS[:3]) is not space.restrict(ROWS[:3])


def test_precomputed_kernel_is_used_unchanged():
    X, _ = points(4)
    for K in (rbf(X, X, GAMMA), sp.csr_array(rbf(X, X, GAMMA))):
        space = FullKernelSpace.computed(make_kernel("precomputed", K), K, np.arange(N))
        assert space.K is K
        assert space.basis is None
        assert space.stored() is space


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_precision_of_computed_kernel_values(dtype):
    """Products in that of the points; the matrix in float64 from the start, not rounded."""
    space, K = computed(dtype)
    assert isinstance(space.K, ComputedKernel)
    assert space.dtype == dtype
    assert space.values(random(N, 2)).dtype == dtype  # though the coefficients are float64
    stored = space.stored()
    assert (type(stored.K), stored.K.dtype) == (np.ndarray, dtype)
    assert (stored.kernel, stored.basis, stored.rows) == (space.kernel, space.basis, space.rows)
    assert space.gram().dtype == stored.gram().dtype == np.float64
    np.testing.assert_allclose(space.gram(), K, atol=1e-14)
    np.testing.assert_allclose(stored.gram(), K, atol=1e-14 if dtype == np.float64 else 1e-6)
