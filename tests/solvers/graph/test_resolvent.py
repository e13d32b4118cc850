"""The resolvent and its scales, against dense solves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.base import Status
from lapwing.solvers.conjugate_gradient import Solved
from lapwing.solvers.graph import partition as partition_module
from lapwing.solvers.graph.propagation import resolvent, scales_of_contrast, shifted_solve
from tests.helpers.volumes import blob_problem, dense_system, graph_problem


@pytest.mark.parametrize("s", [0.1, 3.0, 300.0])
@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-10), (np.float32, 1e-5)])
@pytest.mark.parametrize("sizes", [(40, 40, 40), (70, 50)])
def test_resolvent_solves_the_dense_system(sizes: Any, s: float, dtype: Any, tol: float) -> None:
    problem, codes = blob_problem(sizes, dtype=dtype)
    Q = problem.whole(codes)
    A, pull, d = dense_system(problem, s)
    expected = np.linalg.solve(A, d[:, None] * Q + pull)
    found = resolvent(problem, Q, s, tol=tol)
    assert found.x.dtype == dtype
    assert_allclose(found.x, expected, atol=100 * tol)
    left = d[:, None] * Q + pull - A @ found.x
    assert_allclose(found.residual, left, atol=1e3 * tol * np.abs(A).max())
    assert found.optimality.shape == (len(sizes),)


@pytest.mark.parametrize("shift", [0.0, 0.5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_held_rows_are_zero(shift: float, dtype: Any) -> None:
    problem, _ = blob_problem(dtype=dtype)
    graph, held, free = problem.graph, problem.index, problem.free
    right = np.random.default_rng(0).standard_normal((problem.n_points, 3)).astype(dtype)
    given = right.copy()
    W = graph.affinity.toarray().astype(np.float64)  # type: ignore[attr-defined]
    A = np.diag(shift * graph.masses + 2.0 * graph.degrees) - 2.0 * W
    expected = np.linalg.solve(A[np.ix_(free, free)], right[free])
    found = shifted_solve(graph, shift * graph.masses, 2.0, right, held=held, tol=1e-6)
    assert_allclose(found.x[free], expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
    assert not found.x[held].any()
    assert (right == given).all()


@pytest.mark.parametrize("started", [False, True])
def test_blocks_of_columns_have_the_same_solution(
    monkeypatch: pytest.MonkeyPatch, started: bool
) -> None:
    problem, _ = blob_problem()
    right = np.random.default_rng(0).standard_normal((problem.n_points, 7))
    start = np.full_like(right, 0.1) if started else None

    def solved() -> Solved:
        return shifted_solve(problem.graph, problem.graph.masses, 9.0, right, start=start, tol=1e-8)

    whole = solved()
    monkeypatch.setattr(partition_module, "_LARGE", 0)
    monkeypatch.setattr(partition_module, "COLUMNS", 3)
    found = solved()
    assert_allclose(found.x, whole.x, atol=1e-12)
    assert_allclose(found.residual, whole.residual, atol=1e-12)
    assert_allclose(found.optimality, whole.optimality, rtol=1e-3)
    assert (found.n_iter, found.status) == (whole.n_iter, Status.CONVERGED)
    stopped = shifted_solve(
        problem.graph, problem.graph.masses, 9.0, right * ([0] * 3 + [1] * 4), max_iter=2
    )
    assert (stopped.n_iter, stopped.status) == (2, Status.MAX_ITER)


def test_solution_as_start_takes_no_iteration() -> None:
    problem, codes = blob_problem()
    Q = problem.whole(codes)
    once = resolvent(problem, Q, 5.0, tol=1e-8)
    again = resolvent(problem, Q, 5.0, start=once.x, tol=1e-7)
    assert once.n_iter > 0 == again.n_iter


def test_energy_is_the_minimum_over_values() -> None:
    problem, _ = blob_problem()
    rng = np.random.default_rng(0)
    Q = rng.dirichlet(np.ones(3), problem.n_points)
    A, pull, d = dense_system(problem, 4.0)
    F = np.linalg.solve(A, d[:, None] * Q + pull)
    L = (A - np.diag(d) - np.diag(problem.clamp)) / 4.0
    fit = (d @ ((F - Q) ** 2).sum(axis=1) + 4.0 * np.trace(F.T @ L @ F)) / 2
    misfit = problem.labels - F[problem.index]
    fit += problem.clamp[problem.index] @ (misfit**2).sum(axis=1) / 2
    expected = (fit + d @ (1 - (Q**2).sum(axis=1)) / 2) / d.sum()
    # Far from the solution of the system: the residual makes up for it.
    rough = resolvent(problem, Q, 4.0, tol=1e-2)
    assert problem.energy(Q, rough.x, rough.residual) == pytest.approx(expected, abs=1e-4)
    exact = resolvent(problem, Q, 4.0, tol=1e-12)
    assert problem.energy(Q, exact.x, exact.residual) == pytest.approx(expected, rel=1e-9)


def contrast(problem: VolumeProblem, Q: np.ndarray, s: float) -> float:
    A, pull, d = dense_system(problem, s)
    F = np.linalg.solve(A, d[:, None] * Q + pull)

    def spread(values: np.ndarray) -> float:
        return float(np.sqrt(d @ ((values - d @ values / d.sum()) ** 2).sum(axis=1)))

    return spread(F) / spread(Q)


@pytest.mark.parametrize("sizes", [(60, 30), (60, 30, 12), (8,) * 30])
def test_scales_have_the_given_contrasts(sizes: tuple[int, ...]) -> None:
    problem, codes = blob_problem(sizes, gap=3.0)
    Q = problem.whole(codes)
    wanted = (0.5, 0.7, 0.9)
    found, _ = scales_of_contrast(problem, Q, wanted)
    assert [scale.contrast for scale in found] == list(wanted)
    for scale in found:
        assert contrast(problem, Q, scale.s) == pytest.approx(scale.contrast, abs=0.02)
    # Whatever the unit of the weights.
    labeled = dict(zip(problem.index.tolist(), problem.codes.tolist(), strict=True))
    W = problem.graph.affinity  # type: ignore[attr-defined]
    again, _ = scales_of_contrast(graph_problem(1e-3 * W, labeled, len(sizes)), Q, wanted)
    assert_allclose(again, found, rtol=1e-6)


def test_disconnected_components_keep_their_contrast() -> None:
    W = np.kron(np.eye(2), np.ones((4, 4)))
    problem = graph_problem(W, {0: 0, 4: 1}, 2)
    found, _ = scales_of_contrast(problem, problem.whole(np.repeat([0, 1], 4)), (0.3, 0.9))
    assert [scale.contrast for scale in found] == pytest.approx([1.0, 1.0], abs=0.02)
    assert all(np.isfinite(scale.s) for scale in found)
