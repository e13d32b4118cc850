"""The regression of values on features, against its equations written out."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lapwing.solvers.ridge import FunctionRegression
from lapwing.spaces import mapped
from tests.helpers.spaces import MAKERS, N, random


def has_coordinates(name: str) -> bool:
    """Whether G = I."""
    G = MAKERS[name]().G
    return bool(np.allclose(G, np.eye(len(G))))


COORDINATES = list(filter(has_coordinates, MAKERS))


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", COORDINATES)
def test_regression_minimises_the_objective(
    name: str, bias: bool, held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapped, "_CACHED_BYTES", 2**28 if held else 0)
    monkeypatch.setattr(mapped, "_PART_BYTES", 3 * 8 * N)
    known, C, g = MAKERS[name](), 3.0, random(N, 4)
    Z, m = known.Phi, known.Phi.shape[1]
    B = np.hstack([Z, np.ones((N, int(bias)))])
    A = C * B.T @ B + np.diag(np.arange(m + bias) < m)
    expected = np.linalg.solve(A, C * B.T @ g)
    regression = FunctionRegression.factor(known.space, C, bias)
    w, b = regression.regress(g)
    assert_allclose(w, expected[:m], atol=1e-9)
    assert_allclose(b, expected[m] if bias else np.zeros(4), atol=1e-9)
    residual = g - B @ expected
    assert_allclose(regression.inverse(g), C * residual, atol=1e-8)
    assert_allclose(regression.squares(g, w, b), (residual**2).sum(axis=0), atol=1e-8)
    again = FunctionRegression.factor(known.space, C, bias, A.copy())
    assert_allclose(again.regress(g)[0], w, atol=1e-9)
