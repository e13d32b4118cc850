"""Conjugate gradient for many right-hand sides, against dense solutions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lapwing._arrays import Array
from lapwing.solvers.base import Status
from lapwing.solvers.conjugate_gradient import conjugate_gradient

N = 30


def system(n_columns: int, dtype: type = np.float64) -> tuple[Array, Array]:
    """A matrix, and right-hand sides of which the first ones need fewer steps."""
    rng = np.random.default_rng(0)
    B = rng.standard_normal((N, N))
    A = B @ B.T / N + np.diag(np.linspace(1, 5, N))
    _, vectors = np.linalg.eigh(A)
    right = np.column_stack(
        [vectors[:, : k + 1] @ rng.standard_normal(k + 1) for k in range(n_columns)]
    )
    return A.astype(dtype), np.ascontiguousarray(right.astype(dtype))


def product(A: Array, widths: list[int] | None = None) -> Callable[[Array], Array]:
    def apply(F: Array) -> Array:
        if widths is not None:
            widths.append(F.shape[1])
        assert F.flags.c_contiguous
        return A @ F

    return apply


def ones() -> Array:
    return np.ones(N)


@pytest.mark.parametrize("n_columns", [1, 2, 12])
@pytest.mark.parametrize(("started", "tol"), [(False, 1e-12), (True, 1e-12), (False, 1e-3)])
def test_solution_is_the_dense_one(n_columns: int, started: bool, tol: float) -> None:
    A, right = system(n_columns)
    before = right.copy()
    start = np.full_like(right, 0.3) if started else None
    found = conjugate_gradient(product(A), right, A.diagonal(), start=start, tol=tol, max_iter=200)
    assert_allclose(found.x, np.linalg.solve(A, right), atol=100 * tol)
    assert found.status is Status.CONVERGED
    residual = right - A @ found.x
    assert_allclose(found.residual, residual, atol=1e-10)
    relative = np.linalg.norm(residual, axis=0) / np.linalg.norm(right, axis=0)
    assert_allclose(found.optimality, relative, atol=1e-10)
    assert (found.optimality <= tol).all()
    assert_array_equal(right, before)
    assert start is None or (start == 0.3).all()


def test_a_good_preconditioner_saves_steps() -> None:
    A, right = system(4)
    steep = np.diag(np.geomspace(1, 1e4, N))
    plain = conjugate_gradient(product(A + steep), right, ones(), tol=1e-8, max_iter=500)
    told = conjugate_gradient(
        product(A + steep), right, (A + steep).diagonal(), tol=1e-8, max_iter=500
    )
    assert told.n_iter < plain.n_iter / 2


@pytest.mark.parametrize("tol", [0.1, 1e-6])
def test_solved_columns_stay_as_they_are(tol: float) -> None:
    """Columns do not depend on each other, and the first ones are solved after a few steps."""
    A, right = system(12)
    widths: list[int] = []
    together = conjugate_gradient(product(A, widths), right, ones(), tol=tol, max_iter=200)
    # They leave the products once they are half.
    assert widths[0] == 12
    assert widths[-1] < 4 or tol == 0.1
    assert all(b == a or b <= a / 2 for a, b in pairwise(widths))
    steps = []
    for k in range(12):
        alone = conjugate_gradient(product(A), right[:, [k]], ones(), tol=tol, max_iter=200)
        assert_allclose(together.x[:, [k]], alone.x, atol=1e-12)
        assert_allclose(together.residual[:, [k]], alone.residual, atol=1e-12)
        assert_allclose(together.optimality[k], alone.optimality[0], rtol=1e-3, atol=1e-12)
        steps.append(alone.n_iter)
    assert together.n_iter == max(steps) > min(steps)
    assert len(set(steps)) > 4 or tol == 0.1
    assert np.abs(right - A @ together.x).max() > tol / 100


def test_columns_that_are_solved_from_the_start_take_no_step() -> None:
    A, right = system(3)
    right[:, 1] = 0
    found = conjugate_gradient(product(A), right, ones(), tol=1e-10, max_iter=100)
    assert (found.x[:, 1] == 0).all()
    assert found.optimality[1] == 0
    start = np.linalg.solve(A, right)
    for b, x in ((right, start), (np.zeros((N, 2)), None)):
        nothing = conjugate_gradient(product(A), b, ones(), start=x, tol=1e-8, max_iter=100)
        assert (nothing.n_iter, nothing.status) == (0, Status.CONVERGED)
        assert_array_equal(nothing.x, b if x is None else x)


def test_status_names_the_reason_for_stopping() -> None:
    A, right = system(8)
    few = conjugate_gradient(product(A), right, ones(), tol=1e-12, max_iter=3)
    assert (few.status, few.n_iter) == (Status.MAX_ITER, 3)
    assert few.optimality.max() > 1e-12
    calls: list[int] = []
    told = conjugate_gradient(
        product(A),
        right,
        ones(),
        tol=1e-12,
        max_iter=99,
        on_iteration=lambda: len(calls) == 4 or bool(calls.append(1)),
    )
    assert (told.status, told.n_iter) == (Status.CALLBACK, 5)
    assert_allclose(told.residual, right - A @ told.x, atol=1e-10)
    right[3, 2] = np.nan
    lost = conjugate_gradient(product(A), right, ones(), tol=1e-12, max_iter=99)
    assert lost.status is Status.PRECISION


def test_the_precision_is_that_of_the_right_hand_side() -> None:
    A, right = system(5, np.float32)
    found = conjugate_gradient(product(A), right, ones(), tol=1e-5, max_iter=100)
    assert found.x.dtype == found.residual.dtype == np.float32
    assert_allclose(found.x, np.linalg.solve(A, right), atol=1e-3)
