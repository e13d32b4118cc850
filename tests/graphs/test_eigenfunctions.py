"""Eigenfunctions of a product density, and the classifier made of them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.linalg as sla
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from lapwing.exceptions import TiedPointsWarning
from lapwing.graphs import eigenfunctions
from lapwing.graphs.eigenfunctions import (
    density_eigenfunctions,
    fit_eigenfunctions,
    principal_rotation,
)
from tests.helpers.data import factorial, labeled_clusters

clusters = partial(labeled_clusters, n=120, n_labels=4, n_features=4, distance=4.0)


def box(n: int = 20_000, sides: tuple[float, ...] = (3.0, 2.0), seed: int = 0) -> np.ndarray:
    """Points spread evenly over a box."""
    return np.random.default_rng(seed).uniform(0, sides, size=(n, len(sides)))


# --- one dimension ------------------------------------------------------------------------------


@pytest.mark.parametrize("spacing", [0.2, 1.0])
def test_functions_solve_the_generalised_eigenproblem(spacing: float) -> None:
    """(D - PWP) g = sigma P D^ g, D^ the sums of the columns of PW, as the paper prints it."""
    density = np.random.default_rng(0).uniform(0.1, 1, 30)
    density /= density.sum()
    sigma, g = density_eigenfunctions(density, spacing, 6)
    t = np.arange(30) * spacing
    W = np.exp(-((t[:, None] - t) ** 2) / 2)
    P = np.diag(density)
    smoothness = np.diag((P @ W @ P).sum(axis=0)) - P @ W @ P
    mass = P @ np.diag((P @ W).sum(axis=0))
    expected, vectors = sla.eigh(smoothness, mass)
    assert abs(expected[0]) < 1e-12  # the constant, which is left out
    assert_allclose(sigma, expected[1:7], atol=1e-12)
    assert_allclose(smoothness @ g, mass @ g * sigma, atol=1e-14)
    assert_allclose(g.T @ mass @ g, np.eye(6), atol=1e-9)
    for found, vector in zip(g.T, vectors.T[1:7], strict=True):
        assert_allclose(found * np.sign(found @ vector), vector, atol=1e-6)


# --- many dimensions ----------------------------------------------------------------------------


def test_functions_of_all_directions_are_taken_by_their_eigenvalues() -> None:
    # On a box of sides 3 and 2 the frequencies are 1/3, 1/2, 2/3, 1, 1, 4/3, 3/2.
    found = fit_eigenfunctions(box(), n_functions=7, bandwidth=0.05, clip=0.0)
    assert_array_equal(found.dimension[:3], [0, 1, 0])
    assert sorted(found.dimension[3:5]) == [0, 1]
    assert_array_equal(found.dimension[5:], [0, 1])
    frequency = np.array([1 / 3, 1 / 2, 2 / 3, 1, 1, 4 / 3, 3 / 2])
    expected = 1 - np.exp(-((0.05 * np.pi * frequency) ** 2) / 2)
    assert found.eigenvalues[0] == 0
    assert_allclose(found.eigenvalues[1:], expected, rtol=0.1)
    assert (np.diff(found.eigenvalues) >= 0).all()


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eigenfunctions, "_BLOCK_BYTES", 1000)


@pytest.mark.usefixtures("small_blocks")
def test_values_at_points_are_interpolated_linearly() -> None:
    X = box(500)
    found = fit_eigenfunctions(X, n_functions=6, n_bins=20)
    far = np.vstack([X, [[100.0, -50.0]], [[-100.0, 50.0]]])
    S = (far - X.mean(axis=0)) @ found.rotation.directions
    U = found.evaluate(far)
    assert U.shape == (502, 7)
    assert_allclose(U[:, 0], 1 / np.sqrt(500))
    for k, j in enumerate(found.dimension):
        centres = found.starts[j] + found.widths[j] * np.arange(20)
        assert_allclose(U[:, k + 1], np.interp(S[:, j], centres, found.values[k]), atol=1e-12)
    # Vectors of unit length over the points, but for interpolation within the bins.
    assert_allclose(np.linalg.norm(U[:500], axis=0), 1, atol=0.06)
    alpha, intercept = np.random.default_rng(1).normal(size=(6, 3)), np.array([1.0, 2.0, 3.0])
    assert_allclose(found.expand(far, alpha, intercept), U[:, 1:] @ alpha + intercept, atol=1e-12)


@pytest.mark.usefixtures("small_blocks")
def test_histograms_divide_points_between_bins() -> None:
    X = np.random.default_rng(0).normal(size=(400, 3)) * [3, 2, 1]
    turned = principal_rotation(X, 3)
    assert_allclose(turned.deviations, np.sort(sla.svdvals(X - X.mean(axis=0)))[::-1] / 20)
    assert_allclose(turned.directions.T @ turned.directions, np.eye(3), atol=1e-12)
    shares, starts, widths = eigenfunctions._histograms(
        turned, eigenfunctions._columns(X), 400, 16, 0.05
    )
    S = (X - X.mean(axis=0)) @ turned.directions
    for j in range(3):
        low, high = np.quantile(S[:, j], [0.05, 0.95])
        edges = np.linspace(low, high, 17)
        centres = (edges[1:] + edges[:-1]) / 2
        assert_allclose(starts[j] + widths[j] * np.arange(16), centres)
        # Each point is divided between the nearest two centres, as hats over the centres divide it.
        hats = [np.interp(S[:, j], centres, hat) for hat in np.eye(16)]
        assert_allclose(shares[j], np.mean(hats, axis=1), atol=1e-12)


def test_a_coordinate_that_nearly_all_points_share() -> None:
    X = np.zeros((100, 1))
    X[:2] = [[1.0], [2.0]]
    found = fit_eigenfunctions(X, n_bins=10)
    assert found.widths[0] == pytest.approx(0.2)
    assert np.isfinite(found.evaluate(X)).all()
    assert found.evaluate(X)[0, 1] != found.evaluate(X)[1, 1]


def test_points_that_are_all_equal_have_the_constant_only() -> None:
    found = fit_eigenfunctions(np.ones((9, 3)))
    assert len(found.dimension) == 0
    assert_array_equal(found.eigenvalues, [0])
    assert_allclose(found.evaluate(np.zeros((2, 3))), 1 / 3)


def test_constant_and_dependent_features_add_nothing() -> None:
    X = clusters(3)[0]
    more = np.hstack([X, np.full((120, 1), 7.0), np.zeros((120, 1))])
    few, many = fit_eigenfunctions(X), fit_eigenfunctions(more)
    assert len(few.rotation.deviations) == len(many.rotation.deviations) == 4
    assert_allclose(many.eigenvalues, few.eigenvalues, atol=1e-12)
    twice = fit_eigenfunctions(np.hstack([X, X]))
    assert len(twice.rotation.deviations) == 4
    assert_allclose(twice.eigenvalues, few.eigenvalues, atol=1e-9)


def test_the_default_bandwidth_and_numbers() -> None:
    X = clusters(3)[0]
    found = fit_eigenfunctions(X)
    assert_allclose(found.bandwidth, 0.2 * found.rotation.deviations[0])
    assert len(found.dimension) == 2 * 4
    coarse = fit_eigenfunctions(X, n_bins=4)
    assert_allclose(coarse.bandwidth, coarse.widths.max())
    assert len(fit_eigenfunctions(X, n_components=2, n_functions=3).dimension) == 3
    # Few unless asked for, and no more than there are.
    assert len(fit_eigenfunctions(np.random.default_rng(0).normal(size=(99, 20))).dimension) == 30
    assert len(fit_eigenfunctions(X, n_components=2, n_bins=5, n_functions=99).dimension) == 8


def test_rejects_bandwidths_that_the_bins_cannot_resolve() -> None:
    X = box(500)
    message = r"bandwidth=0\.01 is less than the width of the 20 bins, up to 0\.1\d+: .* more bins"
    with pytest.raises(ValueError, match=message):
        fit_eigenfunctions(X, bandwidth=0.01, n_bins=20)
    fit_eigenfunctions(X, bandwidth=0.01, n_bins=400)


def test_many_features_by_lanczos(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 30)) * np.geomspace(10, 0.1, 30)
    expected = fit_eigenfunctions(X, n_components=5)
    monkeypatch.setattr(eigenfunctions, "_COVARIANCE_FEATURES", 29)
    for points in (X, sp.csr_array(X)):
        found = fit_eigenfunctions(points, n_components=5)
        assert_allclose(
            found.rotation.deviations, expected.rotation.deviations * np.sqrt(80 / 79), rtol=1e-9
        )
        alike = np.abs((found.rotation.directions * expected.rotation.directions).sum(axis=0))
        assert_allclose(alike, 1, atol=1e-8)
        assert_allclose(found.evaluate(points) ** 2, expected.evaluate(X) ** 2, atol=0.02)
        assert_array_equal(
            found.evaluate(points), fit_eigenfunctions(points, n_components=5).evaluate(points)
        )
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "1k")
    with pytest.raises(MemoryError, match=r"5 principal directions of 30 features"):
        fit_eigenfunctions(X, n_components=5)


# --- directions and functions that tie ----------------------------------------------------------


def test_axes_of_equal_variance_are_those_of_the_features() -> None:
    grid = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0), [0.0, 9.0]), -1).reshape(-1, 3)
    found = principal_rotation(grid, 3)
    assert_allclose(np.abs(found.directions), np.eye(3)[:, [2, 0, 1]], atol=1e-12)
    assert_allclose(found.deviations, [4.5, 2**0.5, 2**0.5])
    # One direction a level, and one for the two levels of a code of two.
    found = principal_rotation(factorial(2, 4), 64)
    assert found.directions.shape == (6, 5)
    assert_allclose(np.linalg.norm(found.directions, axis=0), 1)
    assert_allclose(np.abs(found.directions[:2, 0]), 0.5**0.5)
    levels = np.eye(4) - 0.25
    assert_allclose(found.directions[2:, 1:], levels / np.linalg.norm(levels, axis=0), atol=1e-12)
    assert_allclose(found.deviations, np.std(factorial(2, 4) @ found.directions, axis=0))


@pytest.mark.parametrize("lanczos", [False, True])
def test_tied_directions_are_all_taken(lanczos: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if lanczos:
        monkeypatch.setattr(eigenfunctions, "_COVARIANCE_FEATURES", 8)
    X = factorial(3, 3, 3)
    assert principal_rotation(X, 64).directions.shape == (9, 9)
    # By Lanczos' method the rest of the tie is not computed.
    known = 2 if lanczos else 6
    with pytest.warns(TiedPointsWarning, match=rf"equally along {known} directions: .* n_comp"):
        assert principal_rotation(X, 1).directions.shape == (9, 1)
    square = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), -1).reshape(-1, 2)
    assert principal_rotation(square, 1).directions.shape == (2, 2)
    # Axes of opposite directions are one.
    assert principal_rotation(factorial(2, 2), 64).directions.shape == (4, 2)


@pytest.mark.parametrize(
    ("k", "expected"), [(1, 1), (2, 1), (3, 3), (4, 4), (5, 5), (6, 5), (7, 8), (8, 8), (99, 8)]
)
def test_tied_functions_are_taken_together_or_not_at_all(k: int, expected: int) -> None:
    eigenvalues = np.array([0.3, 0.1, 0.2, 0.2 + 1e-12, 0.4, 0.5, 0.5, 0.5])
    chosen = eigenfunctions._smoothest(eigenvalues, k)
    assert_array_equal(np.sort(chosen), np.sort(np.argsort(eigenvalues)[:expected]))


def test_too_many_tied_functions_are_cut_with_a_warning() -> None:
    eigenvalues = np.concatenate([np.full(9, 0.2), np.full(5, 1.0)])
    with pytest.warns(TiedPointsWarning, match=r"9 eigenfunctions .* the 2, .*_eigenfunctions=9\."):
        assert len(eigenfunctions._smoothest(eigenvalues, 2)) == 2
    # At 1 there is no warning: they differ by rounding.
    assert len(eigenfunctions._smoothest(eigenvalues, 11)) == 11
