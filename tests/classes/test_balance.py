"""Soft balance, against scipy's solvers of the primal and the dual."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import logsumexp, rel_entr, xlogy

from lapwing.classes.balance import balance


def dual(b: Any, F: Any, prior: Any, T: float, tau: float, m: Any, known: Any) -> float:
    """The module's formula, with known mass as rows whose class no offset changes."""
    M = m.sum() + known.sum()
    value = (T * (m @ logsumexp((F + b) / T, axis=1)) + known @ b) / M
    if np.isinf(tau):
        return float(value - prior @ b)
    return float(value + tau * logsumexp(-b / tau, b=prior))


def primal(Q: Any, F: Any, prior: Any, T: float, tau: float, m: Any, known: Any) -> float:
    M = m.sum() + known.sum()
    value = m @ ((Q * F).sum(axis=1) - T * xlogy(Q, Q).sum(axis=1)) / M
    volumes = (m @ Q + known) / M
    return float(value if np.isinf(tau) else value - tau * rel_entr(volumes, prior).sum())


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 40),
    c=st.integers(2, 5),
    T=st.sampled_from([0.02, 0.1, 1.0]),
    tau=st.sampled_from([0.1, 0.7, np.inf]),
)
def test_shares_and_offsets_solve_the_primal_and_the_dual(
    seed: int, n: int, c: int, T: float, tau: float
) -> None:
    rng = np.random.default_rng(seed)
    F, prior, m = (
        rng.standard_normal((n, c)),
        rng.dirichlet(np.full(c, 3.0)),
        rng.uniform(0.5, 2, n),
    )
    known = m.sum() * prior * rng.uniform(size=c) * rng.integers(2)
    problem = F, prior, T, tau, m, known
    found = balance(F, prior, T, tau, masses=m, known=known)
    general = minimize(dual, np.zeros(c), problem, method="BFGS", options={"gtol": 1e-9})
    assert found.converged
    assert_allclose(found.objective, dual(found.offsets, *problem), atol=1e-12)
    assert found.objective <= general.fun + 1e-9
    assert found.objective >= general.fun - 1e-5 * max(1, abs(general.fun))
    assert_allclose(found.shares.sum(axis=1), 1)
    assert_allclose(primal(found.shares, *problem), found.objective, atol=1e-7)
    volumes = (m @ found.shares + known) / (m.sum() + known.sum())
    assert_allclose(found.volumes, volumes, atol=1e-9)
    if np.isinf(tau):
        assert_allclose(volumes, prior, atol=1e-6)


@pytest.mark.parametrize("T", [0.1, 0.01, 1e-3, 1e-4])
@pytest.mark.parametrize("tau", [0.3, np.inf])
def test_temperatures_far_below_the_values_are_balanced(T: float, tau: float) -> None:
    """Newton's method from offsets of 0 begins where all shares are whole."""
    F = np.array([[0, 1.2], [0, 1.25], [0, 1.3], [0, 1.21]])
    prior = np.array([0.7, 0.3])
    for dtype in (np.float32, np.float64):
        found = balance(F.astype(dtype), prior, T, tau)
        assert found.converged
        assert found.shares.dtype == dtype
        if np.isinf(tau):
            assert_allclose(found.volumes, prior, atol=1e-6)
        assert_allclose(found.shares.mean(axis=0), found.volumes, atol=1e-6)
    many = np.random.default_rng(0).standard_normal((300, 100))
    assert balance(many, np.full(100, 0.01), T, tau).converged


def test_a_class_filled_by_its_labels_gets_no_share() -> None:
    F = np.random.default_rng(4).standard_normal((20, 3))
    known = np.array([5.0, 0.0, 2.7])
    prior = np.array([15.0, 10.0, 2.7]) / 27.7
    found = balance(F, prior, 0.3, known=known)
    assert found.converged
    assert not found.shares[:, 2].any()
    assert_allclose(found.volumes, prior, atol=1e-9)
    two = balance(F[:, :2], np.array([0.6, 0.4]), 0.3, known=known[:2])
    assert_allclose(found.shares[:, :2], two.shares, atol=1e-9)
    assert np.isfinite(found.offsets).all()
    assert ((F + found.offsets).argmax(axis=1) < 2).all()


def test_a_class_of_prior_0_gets_nothing() -> None:
    rng = np.random.default_rng(3)
    F, prior = rng.standard_normal((40, 3)), np.array([0.4, 0.0, 0.6])
    found = balance(F, prior, 0.1, start=np.zeros(3))
    assert not found.shares[:, 1].any()
    assert_allclose(found.shares[:, [0, 2]], balance(F[:, [0, 2]], prior[[0, 2]], 0.1).shares)
    assert found.offsets[1] == -np.inf


def test_a_warm_start_ends_where_a_cold_one_does() -> None:
    rng = np.random.default_rng(6)
    F, prior = rng.standard_normal((60, 5)), rng.dirichlet(np.ones(5))
    cold = balance(F, prior, 0.05)
    warm = balance(F, prior, 0.05, start=cold.offsets)
    assert warm.n_iter <= 1 < cold.n_iter
    assert_allclose(warm.shares, cold.shares, atol=1e-7)


def test_more_labels_of_a_class_than_its_prior_leaves_are_refused() -> None:
    with pytest.raises(ValueError, match=r"prior of class number 1 is 0.1, .* is 0.25"):
        balance(np.zeros((15, 2)), np.array([0.9, 0.1]), 0.1, known=np.array([0.0, 5.0]))
