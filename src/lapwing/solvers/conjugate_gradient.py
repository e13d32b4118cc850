"""Conjugate gradient with a diagonal preconditioner for many right-hand sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self, TypeAlias

import numpy as np

from lapwing._arrays import Array
from lapwing.linalg import column_dot, scaled_columns
from lapwing.solvers.base import Status

Apply: TypeAlias = Callable[[Array], Array]


class Solved(NamedTuple):
    """Solution of a positive definite system.

    Attributes
    ----------
    x : ndarray of shape (n, c)
    optimality : ndarray of shape (c,)
        Norm of the residual relative to the right-hand side.
    n_iter : int
        Number of products with the matrix, without the one for the start.
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
    diagonal: Array,
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
        Maps a block (n, k) of columns to its product with A, in a new array.
    right : ndarray of shape (n, c)
        Its precision is used throughout, except for inner products, which are in float64.
    diagonal : ndarray of shape (n,)
        The preconditioner, positive: the diagonal of A or an approximation.
    start : ndarray of shape (n, c), optional
        0 by default.
    tol : float
        Tolerance of `Solved.optimality`. Columns that have reached it are not changed any more.
    max_iter : int
    on_iteration : callable, optional
        Called after every iteration; True stops.
    """
    x = np.zeros_like(right) if start is None else start.astype(right.dtype)
    r = right.copy() if start is None else right - apply(x)
    size = _norms(right)
    size = np.where(size > 0, size, 1.0)
    whole = Solved(x, _norms(r) / size, 0, Status.CONVERGED, r)
    running = _Running.of(whole, size, diagonal)
    n_iter, status = 0, Status.CONVERGED
    while (left := running.unsolved(tol)).any():
        if n_iter == max_iter:
            status = Status.MAX_ITER
            break
        if not np.isfinite(running.relative).all():
            status = Status.PRECISION
            break
        # Solved columns are kept until they are half: selecting columns copies all arrays.
        if 2 * left.sum() <= left.size:
            running.store(whole)
            running, left = running.among(left), left[left]
        running.advance(apply, left)
        n_iter += 1
        if on_iteration():
            status = Status.CALLBACK
            break
    running.store(whole)
    return whole._replace(n_iter=n_iter, status=status)


@dataclass(eq=False)
class _Running:
    """Columns that have not converged, with their indices."""

    columns: Array
    x: Array
    r: Array
    p: Array
    rz: Array
    relative: Array
    size: Array
    diagonal: Array  # repeated for all columns, as broadcasting is slow for few columns

    @classmethod
    def of(cls, begun: Solved, size: Array, diagonal: Array) -> Self:
        x, relative, r = begun.x, begun.optimality, begun.residual
        diagonal = np.repeat(diagonal.astype(r.dtype)[:, None], r.shape[1], axis=1)
        p = r / diagonal
        return cls(np.arange(len(size)), x, r, p, column_dot(r, p), relative.copy(), size, diagonal)

    def unsolved(self, tol: float) -> Array:
        return ~(self.relative <= tol)  # not `> tol`: NaN is not solved

    def advance(self, apply: Apply, left: Array) -> None:
        """Do one iteration of the remaining columns."""
        image = apply(self.p)
        step = _ratio(self.rz, column_dot(self.p, image), left)
        # Products overwrite the image, as the pages of a new array would have to be allocated.
        self.r -= scaled_columns(image, step, out=image)
        self.x += scaled_columns(self.p, step, out=image)
        z = np.divide(self.r, self.diagonal, out=image)
        new = column_dot(self.r, z)
        scaled_columns(self.p, _ratio(new, self.rz, left), out=self.p)
        self.p += z
        self.rz = new
        self.relative = _norms(self.r) / self.size

    def among(self, left: Array) -> _Running:
        """Select some of the columns."""
        x, r, p = (np.ascontiguousarray(block[:, left]) for block in (self.x, self.r, self.p))
        columns, rz, relative, size = (
            row[left] for row in (self.columns, self.rz, self.relative, self.size)
        )
        diagonal = np.ascontiguousarray(self.diagonal[:, : len(columns)])
        return _Running(columns, x, r, p, rz, relative, size, diagonal)

    def store(self, whole: Solved) -> None:
        """Write the solutions to their columns."""
        if self.x is not whole.x:
            whole.x[:, self.columns], whole.residual[:, self.columns] = self.x, self.r
        whole.optimality[self.columns] = self.relative


def _ratio(a: Array, b: Array, left: Array) -> Array:
    """Divide in the remaining columns; 0 in the others, where both may be 0."""
    return np.divide(a, b, out=np.zeros_like(a), where=left)


def _norms(block: Array) -> Array:
    return np.asarray(np.sqrt(column_dot(block, block)))
