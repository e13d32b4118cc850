"""Conjugate gradient with a diagonal preconditioner, many right-hand sides together."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from lapwing._arrays import Array
from lapwing.linalg import column_dot
from lapwing.solvers.base import Status

__all__ = ["Apply", "Solved", "conjugate_gradient"]

Apply: TypeAlias = Callable[[Array], Array]


class Solved(NamedTuple):
    """Solution of a positive definite system.

    Attributes
    ----------
    x : ndarray of shape (n, c)
    optimality : ndarray of shape (c,)
        Norm of the residual relative to the right-hand side.
    n_iter : int
        Products with the matrix, that for the start left out.
    status : Status
    residual : ndarray of shape (n, c)
    """

    x: Array
    optimality: Array
    n_iter: int
    status: Status
    residual: Array


def conjugate_gradient(
    apply: Apply,
    right: Array,
    scale: Array,
    *,
    start: Array | None = None,
    tol: float,
    max_iter: int,
    on_iteration: Callable[[], bool] = lambda: False,
) -> Solved:
    """Solve A x = right for a symmetric positive definite A.

    Parameters
    ----------
    apply : callable
        From a block (n, k) of columns to A times it.
    right : ndarray of shape (n, c)
        All is computed in its precision, inner products in float64.
    scale : ndarray of shape (n, 1)
        The diagonal of the preconditioner, about that of A^-1.
    start : ndarray of shape (n, c), optional
        0 by default.
    tol : float
        Of `Solved.optimality`. Columns that have reached it leave.
    max_iter : int
    on_iteration : callable, optional
        Called after every iteration; True stops.
    """
    x = np.zeros_like(right) if start is None else start.astype(right.dtype)
    r = right.copy() if start is None else right - apply(x)
    size = _norms(right)
    size = np.where(size > 0, size, 1.0)
    z = scale * r
    p, rz = z.copy(), column_dot(r, z)
    relative = _norms(r) / size
    n_iter, status = 0, Status.CONVERGED
    # Not `> tol`: NaN is not solved.
    while (active := np.flatnonzero(~(relative <= tol))).size:
        if n_iter == max_iter:
            status = Status.MAX_ITER
            break
        if not np.isfinite(relative).all():
            status = Status.PRECISION
            break
        # Columns picked by number are copied twice an iteration.
        at: slice | Array = slice(None) if len(active) == right.shape[1] else active
        direction = p[:, at]
        image = apply(direction)
        step = (rz[at] / column_dot(direction, image)).astype(x.dtype)
        x[:, at] += step * direction
        image *= step
        r[:, at] -= image
        left = r[:, at]
        z = scale * left
        new = column_dot(left, z)
        direction = direction * (new / rz[at]).astype(x.dtype)
        direction += z
        p[:, at] = direction
        rz[at] = new
        relative[at] = _norms(left) / size[at]
        n_iter += 1
        if on_iteration():
            status = Status.CALLBACK
            break
    return Solved(x, relative, n_iter, status, r)


def _norms(block: Array) -> Array:
    return np.asarray(np.sqrt(column_dot(block, block)))
