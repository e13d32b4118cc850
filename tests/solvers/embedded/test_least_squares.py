"""LapERLS with f eliminated, against the whole system, dense oracles and brute force."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lapwing.objectives.embedded import GraphSide, graph_side, spectral_side
from lapwing.solvers.base import Status
from lapwing.solvers.embedded.posterior import left_out_values
from lapwing.solvers.embedded.systems import DenseSystem, FeatureSystem
from lapwing.spaces.linear import LinearSpace
from tests.helpers.problems import affinity, laplacian

N, M, R = 40, 6, 9
RNG = np.random.default_rng(0)
POINTS = RNG.standard_normal((N, 3))
Z = RNG.standard_normal((N, M)) / 2
INDEX = np.append(RNG.permutation(N)[:7], 3)
INDEX[-1] = INDEX[0]  # one point is observed twice
TARGETS = RNG.standard_normal((8, 2))
SHARES = RNG.uniform(0.5, 2, 8)

every_bias = pytest.mark.parametrize("bias", [False, True], ids=["", "bias"])
every_way = pytest.mark.parametrize("features", [False, True], ids=["matrix", "features"])
every_graph = pytest.mark.parametrize("normalized", [False, True], ids=["D - W", "normalized"])


def graph(
    mu: float, *, normalized: bool, lam: float = 30.0, targets: Any = TARGETS, index: Any = INDEX
) -> GraphSide:
    values, vectors = np.linalg.eigh(laplacian(affinity(POINTS), normalized=normalized))
    weights = lam * SHARES[: len(index)]
    return spectral_side(vectors[:, :R], mu * values[:R], index, weights, targets)


def system_of(side: GraphSide, *, features: bool, bias: bool) -> Any:
    if features:
        return FeatureSystem(LinearSpace(Z), side, bias)
    return DenseSystem(Z @ Z.T, side, bias)


def removed(side: GraphSide, i: int) -> GraphSide:
    """Another side, of the observations but one."""
    kept = np.arange(len(side.index)) != i
    penalties = side.smoothness(np.ones((R, 1)))[:, 0]
    parts = side.index[kept], side.weights[kept], side.targets[kept]
    return spectral_side(side.basis, penalties, *parts)


# ---- the elimination -----------------------------------------------------------------------------


def solved(A: Any, B: Any) -> Any:
    """A^-1 B of a positive definite A in extended precision."""
    A, B = A.copy(), B.copy()
    for k in range(len(A)):
        rest = np.arange(len(A)) != k
        B[k] /= A[k, k]
        A[k] /= A[k, k]
        B[rest] -= np.outer(A[rest, k], B[k])
        A[rest] -= np.outer(A[rest, k], A[k])
    return B


def exact(side: GraphSide, C: float, *, bias: bool) -> tuple[Any, Any]:
    """g and f + b by the normal equations in extended precision."""
    assert side.basis is not None
    long = np.longdouble
    design = np.hstack([Z, np.ones((N, int(bias))), -side.basis]).astype(long)
    rows = np.zeros((len(side.index), design.shape[1]), long)
    rows[:, -R:] = side.basis[side.index]
    penalty = np.r_[np.ones(M), np.zeros(int(bias)), side.smoothness(np.ones((R, 1)))[:, 0]]
    weighted = rows.T * side.weights.astype(long)
    A = long(C) * design.T @ design + np.diag(penalty.astype(long)) + weighted @ rows
    theta = solved(A, weighted @ side.targets.astype(long))
    return side.basis @ theta[-R:], design[:, :-R] @ theta[:-R]


EXTREMES = [(C, mu, lam) for C in (1e-6, 1e6) for mu in (0.0, 1e-6, 1e6) for lam in (1e-4, 1e6)]


@every_bias
@every_way
@pytest.mark.parametrize(("C", "mu", "lam"), [*EXTREMES, (10.0, 1e4, 1e4)])
def test_elimination_is_as_precise_as_the_whole_system(
    C: float, mu: float, lam: float, features: bool, bias: bool
) -> None:
    side = graph(mu, normalized=False, lam=lam)
    system = system_of(side, features=features, bias=bias)
    found = system.eliminate(C).minimize(side)
    whole = system.factor(np.full(N, C))(np.zeros((N, 2)), side.pull).fit
    expected, f = exact(side, C, bias=bias)
    scale = float(np.abs(expected).max())
    atol = max(1e-8 * scale, 10 * np.abs(side.values(whole.graph_coef) - expected).max())
    np.testing.assert_allclose(found.state.virtual, expected, atol=atol, rtol=0)
    h = Z @ (found.state.coef if features else Z.T @ found.state.coef) + found.state.intercept
    its = Z @ (whole.coef if features else Z.T @ whole.coef) + whole.intercept
    np.testing.assert_allclose(h, f, atol=max(1e-8 * scale, 10 * np.abs(its - f).max()), rtol=0)


@every_bias
@every_way
def test_one_elimination_serves_all_labels_and_smoothness(features: bool, bias: bool) -> None:
    first = graph(3.0, normalized=False)
    kernel = system_of(first, features=features, bias=bias).eliminate(5.0)
    targets = np.random.default_rng(1).standard_normal((5, 3))
    side = graph(0.2, normalized=False, targets=targets, index=np.array([1, 9, 30, 2, 17]))
    expected = system_of(side, features=features, bias=bias).eliminate(5.0).minimize(side)
    found = kernel.minimize(side)
    for mine, its in zip(found.state[:3], expected.state[:3], strict=True):
        np.testing.assert_array_equal(mine, its)
    np.testing.assert_array_equal(found.objective, expected.objective)
    np.testing.assert_array_equal(side.values(kernel.graph_coef(side)), expected.state.virtual)


def test_a_wrong_solution_is_reported() -> None:
    """The optimality is measured on the full equations, not on the reduced ones."""
    side = graph(3.0, normalized=True)
    for features in (False, True):
        kernel = system_of(side, features=features, bias=True).eliminate(5.0)
        result = replace(kernel, coef=kernel.coef * (1 + 1e-3)).minimize(side)
        assert result.optimality.min() > 1e-6
        assert result.status == Status.PRECISION


# ---- leave-one-out -------------------------------------------------------------------------------


@every_bias
@every_graph
@every_way
@pytest.mark.parametrize("lam", [1e-3, 30.0, 1e4])
def test_left_out_values_are_those_of_the_rest(
    lam: float, features: bool, normalized: bool, bias: bool
) -> None:
    side = graph(1.0, normalized=normalized, lam=lam)
    kernel = system_of(side, features=features, bias=bias).eliminate(5.0)
    found = left_out_values(kernel, side)
    assert found.reliable.any() or lam == 1e4
    for i in np.flatnonzero(found.reliable):
        rest = removed(side, i)
        expected = rest.values(kernel.graph_coef(rest))[side.index[i]]
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(found.values[i], expected, atol=1e-10 * scale)


def test_values_that_one_label_alone_determines_are_unreliable() -> None:
    side = graph(0.0, normalized=False, lam=1e9)
    kernel = system_of(side, features=False, bias=False).eliminate(1e-3)
    assert not left_out_values(kernel, side).reliable[1:-1].any()
    # Two observations of one point hold it together; of equal weights, each for a half.
    pair = spectral_side(side.basis, np.ones(R), INDEX[[0, -1]], np.full(2, 1e9), TARGETS[:2])
    found = left_out_values(kernel, pair)
    assert found.reliable.all()
    np.testing.assert_allclose(found.values, TARGETS[[1, 0]], atol=1e-5)


def test_few_of_many_observations_are_unreliable() -> None:
    """Leverages sum to the number of eigenvectors: no more can hold a part of g alone."""
    basis = graph(1.0, normalized=True).basis
    assert basis is not None
    weights = np.ones(N)
    heavy = np.arange(0, 4 * R, 4)
    weights[heavy] = 1e6
    targets = np.random.default_rng(2).standard_normal((N, 1))
    side = spectral_side(basis, np.ones(R), np.arange(N), weights, targets)
    kernel = system_of(side, features=True, bias=True).eliminate(1.0)
    np.testing.assert_array_equal(np.flatnonzero(~left_out_values(kernel, side).reliable), heavy)


@every_bias
def test_left_out_values_without_a_basis(bias: bool) -> None:
    """Without a basis, g is a separate vector."""
    values, vectors = np.linalg.eigh(laplacian(affinity(POINTS), normalized=False))
    whole = spectral_side(vectors, values, INDEX, SHARES, TARGETS)
    L = vectors * values @ vectors.T
    free = graph_side(lambda F: L @ F, N, INDEX, SHARES, TARGETS)
    found, expected = (
        left_out_values(system_of(side, features=False, bias=bias).eliminate(5.0), side)
        for side in (free, whole)
    )
    assert found.reliable.all()
    np.testing.assert_allclose(found.values, expected.values, atol=1e-9)
