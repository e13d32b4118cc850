"""Least squares at the anchors, and class masses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from lapwing.solvers.penalized import (
    left_out_values,
    mass_scales,
    normalize_masses,
    penalized_least_squares,
)


def test_penalized_least_squares_is_that_of_the_stacked_problem() -> None:
    rng = np.random.default_rng(0)
    F, Y, w = rng.normal(size=(9, 5)), rng.normal(size=(9, 2)), rng.uniform(0.5, 2, 9)
    R = rng.normal(size=(3, 5))
    stacked = np.vstack([F * np.sqrt(w)[:, None], R])
    target = np.vstack([Y * np.sqrt(w)[:, None], np.zeros((3, 2))])
    expected, rest, *_ = np.linalg.lstsq(stacked, target)
    for design in (F, sp.csr_array(F)):
        fit = penalized_least_squares(design, Y, w, R.T @ R)
        assert_allclose(fit.coef, expected, atol=1e-10)
        assert_allclose(fit.objective, rest, rtol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_a_singular_system_has_the_solution_of_least_norm(seed: int) -> None:
    rng = np.random.default_rng(seed)
    F, Y = rng.normal(size=(4, 8)), rng.normal(size=(4, 2))
    R = rng.normal(size=(2, 8))
    fit = penalized_least_squares(F, Y, np.ones(4), R.T @ R)
    expected = np.linalg.pinv(F.T @ F + R.T @ R, rcond=1e-10) @ F.T @ Y
    assert_allclose(fit.coef, expected, atol=1e-8)


def test_pivots_of_rounding_size_are_ignored() -> None:
    # Cholesky's factorisation goes through, and would give (1, 0).
    eps = float(np.finfo(float).eps)
    fit = penalized_least_squares(
        np.ones((1, 2)), np.ones((1, 1)), np.ones(1), np.diag([0, 2 * eps])
    )
    assert_allclose(fit.coef, 0.5)


def test_masses_not_above_zero_are_replaced_by_label_counts() -> None:
    # Two points on two anchors; the memberships of class 1 sum to less than nothing.
    values = np.array([[0.9], [-4.0]])
    scales = mass_scales(values, np.ones(2), np.array([[1.0], [-1.0]]))
    found = normalize_masses(values, scales)
    members = np.hstack([1 - values, 1 + values]) / 2
    assert members[:, 1].sum() < 0
    shares = members / [members[:, 0].sum(), 1.0]
    assert_allclose(found, shares[:, 1:] - shares[:, :1])
    assert np.isfinite(found).all()


# --- without a label ------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("singular", [False, True])
def test_left_out_values_are_those_of_fits_without_them(sparse: bool, singular: bool) -> None:
    rng = np.random.default_rng(2)
    design, targets = rng.standard_normal((9, 4)), rng.standard_normal((9, 2))
    weights, penalty = rng.uniform(0.5, 2, 9), np.diag([0.0, 0.1, 1.0, 2.0])
    if singular:
        design[:, 1], penalty[1, 1] = 0.0, 0.0
    made: Any = sp.csr_array(design) if sparse else design
    found = left_out_values(
        penalized_least_squares(made, targets, weights, penalty), made, targets, weights
    )
    for i in range(9):
        rest = np.arange(9) != i
        fit = penalized_least_squares(made[rest], targets[rest], weights[rest], penalty)
        assert_allclose(found[i], design[i] @ fit.coef, atol=1e-10)


def test_left_out_value_is_nan_without_other_evidence() -> None:
    design = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    given = design, np.array([[1.0], [-1.0], [1.0]]), np.ones(3)
    found = left_out_values(penalized_least_squares(*given, np.zeros((2, 2))), *given)
    assert np.isnan(found[0]).all()
    assert_allclose(found[1:], [[1], [-1]])


@pytest.mark.parametrize(("n", "m", "left_out"), [(5000, 2, 500), (700, 600, 600)])
def test_only_some_of_many_labels_are_left_out(n: int, m: int, left_out: int) -> None:
    rng = np.random.default_rng(0)
    given = rng.standard_normal((n, m)), rng.standard_normal((n, 1)), np.ones(n)
    found = left_out_values(penalized_least_squares(*given, np.eye(m)), *given)
    assert np.isfinite(found).sum() == left_out
