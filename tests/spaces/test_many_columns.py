"""Systems with more right sides than are looked at for lost digits."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from lapwing.spaces.systems import DeformedSystem, FactoredSystem


def test_a_kernel_that_loses_digits_is_seen_in_some_of_many_columns() -> None:
    """Of low rank, with a small gamma_A: coefficients of the expansion cancel (errata L14)."""
    rng = np.random.default_rng(0)
    n = 150
    F = rng.standard_normal((n, 3))
    K, L = F @ F.T, np.eye(n) - 1 / n
    given = K, lambda values: L @ values, 1e-13, False
    found, sure = (
        system(*given).factor()(np.eye(n)) for system in (DeformedSystem, FactoredSystem)
    )
    assert_array_equal(found.values, sure.values)


def test_columns_are_what_each_is_alone() -> None:
    rng = np.random.default_rng(0)
    n = 80
    F = rng.standard_normal((n, n))
    K, L = F @ F.T / n, np.eye(n) - 1 / n
    solve = DeformedSystem(K, lambda values: L @ values, 0.1, True).factor()
    together = solve(np.eye(n))
    for j in (0, 41, 79):
        alone = solve(np.eye(n)[:, [j]])
        assert_allclose(together.values[:, [j]], alone.values, atol=1e-12)
        assert_allclose(together.coef[:, [j]], alone.coef, atol=1e-12)
