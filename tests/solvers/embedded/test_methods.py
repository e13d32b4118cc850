"""The solvers of embedded regression by name: one problem, one minimum."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lapwing.kernels import make_kernel
from lapwing.losses.labeled import EpsilonInsensitive, Loss, Squared
from lapwing.objectives.embedded import EmbeddedObjective, Units
from lapwing.solvers.base import Settings, Status
from lapwing.solvers.embedded import tube
from lapwing.solvers.embedded.methods import EMBEDDED_METHODS
from lapwing.solvers.embedded.systems import EmbeddedResult, in_units
from lapwing.spaces.full import FullKernelSpace
from lapwing.spaces.linear import LinearSpace
from lapwing.spaces.mapped import full_map, landmark_map
from tests.helpers.problems import DenseTerm, affinity, laplacian
from tests.helpers.spaces import random

N, MU, C, GAMMA = 30, 3.0, 5.0, 0.4
X = random(N, 3)
KERNEL = make_kernel("rbf", X, gamma=GAMMA)
INDEX = np.array([3, 0, 9, 3, 21, 17])
WEIGHTS = np.array([10.0, 5.0, 20.0, 40.0, 8.0, 8.0])
TARGETS = random(6, 2, seed=1)
EDGES, APART = affinity(X), affinity(X)
APART[:24, 24:] = APART[24:, :24] = 0  # the last points have no label
LAPLACIANS: dict[str, Any] = {
    "D - W": laplacian(EDGES, normalized=False),
    "normalized": laplacian(EDGES, normalized=True),
    "component without a label": laplacian(APART, normalized=False),
    "no smoothness": np.zeros((N, N)),
}
LOSSES: dict[str, Loss] = {loss.name: loss for loss in (Squared(), EpsilonInsensitive(0.05))}

SPACES: dict[str, Any] = {
    "linear": lambda: LinearSpace(X),
    "full": lambda: FullKernelSpace.computed(KERNEL, X),
    "full map": lambda: full_map(KERNEL, KERNEL.gram(X), X),
    "landmarks": lambda: landmark_map(KERNEL, X, X[:8]),
    "landmarks stored": lambda: landmark_map(KERNEL, X, X[:8]).stored(),
}


def objective(
    space: Any, *, few: bool, bias: bool = True, loss: str = "squared", graph: str = "D - W"
) -> EmbeddedObjective:
    values, vectors = np.linalg.eigh(LAPLACIANS[graph])
    basis = (vectors[:, :9], MU * values[:9]) if few else (None, None)
    parts = INDEX, WEIGHTS, TARGETS, DenseTerm(MU * LAPLACIANS[graph]), C, bias
    return EmbeddedObjective(space, *parts, *basis, loss=LOSSES[loss])


def run(problem: EmbeddedObjective, held: str, **options: Any) -> EmbeddedResult:
    method = EMBEDDED_METHODS[problem.loss.name, held]
    settings: Any = Settings(**{"tol": 1e-10, "max_iter": 2000} | options)
    return method.solve(problem, method.form(problem), settings)


def value(problem: EmbeddedObjective, result: EmbeddedResult) -> Any:
    """(14) and (33) at a result, a column, f by the coefficients of the space."""
    space = problem.space
    h = space.values(result.state.coef)
    g, r = result.state.virtual, h + result.state.intercept - result.state.virtual
    norm = space.dot(result.state.coef, result.state.coef, h)
    misfit = (WEIGHTS[:, None] * (g[INDEX] - problem.targets) ** 2).sum(axis=0)
    smooth = np.einsum("ij,ij->j", g, problem.smoothness(g))
    of_loss = (
        C / 2 * r**2 if problem.loss.name == "squared" else C * np.maximum(np.abs(r) - 0.05, 0)
    )
    return (norm + misfit + smooth) / 2 + of_loss.sum(axis=0)


# Features want a basis of g and the operator none; the full kernel has no coordinates.
BASES = {"matrix": (True, False), "features": (True,), "operator": (False,)}
WAYS = [
    (loss, held, name, few)
    for loss, held in EMBEDDED_METHODS
    for name in SPACES
    for few in BASES[held]
    if held == "matrix" or name != "full"
]


@pytest.mark.parametrize("bias", [False, True], ids=["", "bias"])
@pytest.mark.parametrize("graph", LAPLACIANS)
@pytest.mark.parametrize(("loss", "held", "name", "few"), WAYS)
def test_all_methods_find_the_minimum(
    loss: str, held: str, name: str, few: bool, graph: str, bias: bool
) -> None:
    """Results are in the coefficients of the space, and the objective is that of the function."""
    problem = objective(SPACES[name](), few=few, loss=loss, graph=graph, bias=bias)
    result = run(problem, held)
    assert result.state.coef.shape == (problem.space.n_coef, 2)
    np.testing.assert_allclose(result.objective, value(problem, result), rtol=1e-7)
    assert result.status == Status.CONVERGED
    reference = run(problem, "matrix")
    np.testing.assert_allclose(result.objective, reference.objective, rtol=1e-7)
    # |f - f*|^2 <= 2 gap of a loss with kinks
    tolerance = 1e-7 if loss == "squared" else 1e-3
    if loss == "squared" or graph in ("D - W", "normalized"):  # else g is free within the tube
        np.testing.assert_allclose(result.state.virtual, reference.state.virtual, atol=tolerance)
    f, expected = (
        problem.space.values(r.state.coef) + r.state.intercept for r in (result, reference)
    )
    np.testing.assert_allclose(f, expected, atol=tolerance)


@pytest.mark.parametrize("scale", [0.25, 8.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_problems_in_other_units_have_the_same_minimum(loss: str, scale: float) -> None:
    """D - W and a bias leave constants free; the insensitive loss is measured too."""
    problem = objective(SPACES["full"](), few=False, loss=loss)
    units = Units(np.array([2.0, -1.0]), scale)
    plain = run(problem, "matrix")
    found = in_units(run(problem.measured(units), "matrix"), units)
    tolerance = 1e-8 if loss == "squared" else 1e-4
    np.testing.assert_allclose(found.objective, plain.objective, rtol=1e-7)
    np.testing.assert_allclose(found.state.virtual, plain.state.virtual, atol=tolerance)
    np.testing.assert_allclose(found.state.intercept, plain.state.intercept, atol=tolerance * 10)
    np.testing.assert_allclose(found.objective, value(problem, found), rtol=1e-6)


@pytest.mark.parametrize(
    ("loss", "held", "few"),
    [
        ("squared", "operator", False),
        ("epsilon_insensitive", "matrix", False),
        ("epsilon_insensitive", "features", True),
    ],
)
def test_iterations_are_limited_and_reported(
    loss: str, held: str, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = replace(objective(SPACES["linear"](), few=few, loss=loss), targets=TARGETS[:, :1])
    ticks: list[int] = []

    def tick(state: Any) -> bool:
        ticks.append(1)
        return len(ticks) == 3

    stopped = run(problem, held, on_iteration=tick)
    assert stopped.status == Status.CALLBACK
    assert (stopped.n_iter, len(ticks)) == (3, 3)
    monkeypatch.setattr(tube, "_REVISIONS", 0)  # which may well find the optimum
    limited = run(problem, held, max_iter=2)
    assert (limited.n_iter, limited.status) == (2, Status.MAX_ITER)
    assert limited.optimality.max() > 1e-6


@pytest.mark.parametrize("loss", LOSSES)
def test_forming_a_system_forecasts_its_memory(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any g takes twice the matrices of a few eigenvectors; features take none."""
    few, any_g = (objective(SPACES["linear"](), few=few) for few in (True, False))
    form = EMBEDDED_METHODS[loss, "matrix"].form
    one = 8 * N * N
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", str(5 * one))
    form(few)
    with pytest.raises(MemoryError, match=r"n x n kernel matrix of n = 30 points"):
        form(any_g)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", str(3 * one))
    with pytest.raises(MemoryError, match=r"n x n kernel matrix of n = 30 points"):
        form(few)
    form = EMBEDDED_METHODS[loss, "features"].form
    form(few)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "1k")
    message = r"The normal equations of 13 coordinates .*Use fewer landmarks, features or eigen"
    with pytest.raises(MemoryError, match=message):
        form(few)
