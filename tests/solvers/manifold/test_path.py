"""Parts of the path: ratios of a grid, energies of powers."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing.solvers.manifold import path
from tests.helpers.data import gaussian_points


def test_a_logarithmic_grid_has_few_ratios() -> None:
    weights = np.logspace(-4, 2, 7)
    assert path.n_ratios(weights, weights) == 13
    assert path.n_ratios(weights, np.array([1.0])) == 7
    assert path.n_ratios(weights, np.empty(0)) == 0


@pytest.mark.parametrize("block", [1, 8 * 7 * 3, 2**22])
def test_energies_of_powers_are_those_of_the_formed_power(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(path, "_BLOCK", block)
    F, A = gaussian_points(12, 7), gaussian_points(12, 12, seed=1)
    L = A @ A.T / 12
    applied = []

    def laplacian(values: np.ndarray) -> np.ndarray:
        applied.append(1)
        return L @ values

    found = dict(path._energies(F, laplacian, [4, 1, 3, 2]))
    for p, energy in found.items():
        expected = F.T @ np.linalg.matrix_power(L, p) @ F
        np.testing.assert_allclose(energy, expected, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(energy, energy.T, rtol=1e-10, atol=1e-12)
    assert sorted(found) == [1, 2, 3, 4]
    assert len(applied) == 4  # one product a power, and half of each power on either side
