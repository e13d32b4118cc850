"""The objective of embedded regression: its graph sides, units and weights, written out densely."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lapwing.objectives.embedded import graph_side, spectral_side
from tests.helpers.problems import DenseTerm, affinity, laplacian
from tests.helpers.spaces import random

N, MU = 14, 3.0
X = random(N, 4)
L = laplacian(affinity(X), normalized=True)
INDEX = np.array([3, 0, 9, 3])  # one point is observed twice
WEIGHTS = np.array([1.0, 0.5, 2.0, 4.0])
TARGETS = random(4, 2, seed=1)
VALUES, VECTORS = np.linalg.eigh(L)


def form(g: Any) -> Any:
    """1/2 (g - y)' Lambda (g - y) + mu/2 g'L g, a column."""
    misfit = (WEIGHTS[:, None] * (g[INDEX] - TARGETS) ** 2).sum(axis=0)
    return (misfit + MU * np.einsum("ij,ij->j", g, L @ g)) / 2


def sides() -> dict[str, Any]:
    parts = INDEX, WEIGHTS, TARGETS
    return {
        "any": graph_side(DenseTerm(MU * L), N, *parts),
        "all eigenvectors": spectral_side(VECTORS, MU * VALUES, *parts),
        "few eigenvectors": spectral_side(VECTORS[:, :5], MU * VALUES[:5], *parts),
    }


every_side = pytest.mark.parametrize("name", sides())


@every_side
def test_the_quadratic_form_of_a_side(name: str) -> None:
    side = sides()[name]
    z = random(len(side.curvature), 2, seed=2)
    g = side.values(z)
    expected = form(g)
    np.testing.assert_allclose(side.energy(z), expected, rtol=1e-12)
    square = np.einsum("ij,ij->j", z, side.curvature @ z) / 2
    pulled = np.einsum("ij,ij->j", side.pull, z)
    np.testing.assert_allclose(square - pulled + side.constant, expected, rtol=1e-11)
    assert side.n_columns == 2


def test_energy_is_not_negative_by_rounding() -> None:
    side = graph_side(lambda F: -1e-17 * F, N, INDEX, WEIGHTS, 0 * TARGETS)
    assert (side.energy(1e-3 * random(N, 2) * (np.arange(N) == 7)[:, None]) >= 0).all()
