"""Direct systems where digits or memory are scarce."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lapwing.spaces import systems
from lapwing.spaces.full import FullKernelSpace
from lapwing.spaces.linear import LinearSpace
from lapwing.spaces.systems import DeformedSystem, FactoredSystem
from tests.helpers.problems import affinity, laplacian, rbf
from tests.helpers.rows import ArrayRows
from tests.helpers.spaces import MAKERS, N, applied, penalty, point_weights, random

C = 3

# --- precision ------------------------------------------------------------------------------------


@pytest.mark.parametrize("graph", ["no graph", "normalized"])
@pytest.mark.parametrize("name", ["full", "linear", "linear wide"])
def test_float32_spaces_keep_products_and_solve_in_float64(name, graph):
    known = MAKERS[name]()
    X = known.X.astype(np.float32)
    space = FullKernelSpace(known.k.astype(np.float32)) if name == "full" else LinearSpace(X)
    assert space.dtype == np.float32
    a, u = random(space.n_coef, C).astype(np.float32), random(N, C).astype(np.float32)
    assert space.values(a).dtype == np.float32
    assert space.represent(u).dtype == np.float32
    np.testing.assert_allclose(space.values(a), known.Phi @ a, rtol=1e-4, atol=1e-4)
    S, D = penalty(known, graph), point_weights("some")
    solution = space.system(applied(S), 0.07, True).factor(D)(u.astype(np.float64))
    reference = known.space.system(applied(S), 0.07, True).factor(D)(u.astype(np.float64))
    assert solution.values.dtype == np.float64
    np.testing.assert_allclose(solution.values, reference.values, atol=1e-4)


@pytest.mark.parametrize("graph", [0.0, 0.5])
@pytest.mark.parametrize("gamma_A", [1e-8, 1.0])
def test_a_smooth_rbf_of_duplicates_is_solved(graph, gamma_A):
    """Numerically singular in another way: eigenvalues fall off without a gap."""
    X = np.repeat(random(8, 2), 2, axis=0)
    K = rbf(X, X, 1e-3)
    S = graph * laplacian(affinity(X), normalized=True)
    D, u = np.zeros(16), np.zeros((16, 1))
    D[[0, 5, 9]], u[[0, 5, 9], 0] = 1, [1, -1, 1]
    solution = FullKernelSpace(K).system(applied(S), gamma_A, False).factor(D)(u)
    f = K @ solution.coef
    np.testing.assert_allclose(f, solution.values, atol=1e-6)
    gradient = K @ (S @ f + D[:, None] * f - u + gamma_A * solution.coef)
    assert np.abs(gradient).max() < 1e-6


def test_feature_coordinates_include_unweighted_points():
    """u off the weighted points, bias free: the model that Newton never asks for."""
    X, D, gamma_A = 5 * random(12, 2), np.where(np.arange(12) < 5, 2.0, 0.0), 1e-8
    u = random(12, 2, seed=1)
    coef, intercept, _ = FullKernelSpace(X @ X.T).system(None, gamma_A, True).factor(D)(u)
    w = X.T @ coef
    v = D[:, None] * (X @ w + intercept) - u
    tolerance = 1e-6 * np.abs(X.T @ u).max()
    np.testing.assert_allclose(X.T @ v + gamma_A * w, 0, atol=tolerance)
    np.testing.assert_allclose(v.sum(axis=0), 0, atol=tolerance)


ZEROS = {"full": FullKernelSpace(np.zeros((6, 6))), "linear": LinearSpace(np.zeros((6, 3)))}


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("space", ZEROS.values(), ids=ZEROS)
def test_a_kernel_of_zeros_has_the_zero_function(space, graph, fit_intercept):
    S = graph * laplacian(np.ones((6, 6)) - np.eye(6), normalized=True)
    D, u = np.array([1.0, 1, 1, 0, 0, 0]), np.array([[1.0], [1], [-1], [0], [0], [0]])
    solution = space.system(applied(S), 0.1, fit_intercept).factor(D)(u)
    expected = 1 / 3 if fit_intercept else 0.0  # the constant is all there is to fit
    np.testing.assert_allclose(solution.values, expected, atol=1e-12)


def test_loss_of_digits_is_detected_in_a_sample_of_columns() -> None:
    """Of low rank, with a small gamma_A: coefficients of the expansion cancel (errata L14)."""
    rng = np.random.default_rng(0)
    n = 150
    F = rng.standard_normal((n, 3))
    K, L = F @ F.T, np.eye(n) - 1 / n
    given = K, lambda values: L @ values, 1e-13, False
    found, sure = (
        system(*given).factor()(np.eye(n)) for system in (DeformedSystem, FactoredSystem)
    )
    np.testing.assert_array_equal(found.values, sure.values)


# --- memory --------------------------------------------------------------------------------------


def test_columns_of_a_design_on_disk_are_held_a_few_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At most sixteen of many points, and the same matrix as in memory."""
    X = np.random.default_rng(0).standard_normal((50, 40))
    on_disk = LinearSpace(ArrayRows(X)).features
    widths: list[int] = []

    def smooth(block: Any) -> Any:
        widths.append(block.shape[1])
        return 2 * block

    monkeypatch.setattr(systems, "_READ_BYTES", 0)
    weights = np.r_[np.ones(5), np.zeros(45)]
    u = X[:, :1] * weights[:, None]
    found = systems.PrimalSystem(on_disk, smooth, 0.1, True).factor(weights)(u)
    assert max(widths) == 16
    expected = systems.PrimalSystem(X, lambda block: 2 * block, 0.1, True).factor(weights)(u)
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e-10)
    np.testing.assert_allclose(found.intercept, expected.intercept, atol=1e-10)
