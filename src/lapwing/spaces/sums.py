"""Sums over the points of a design Phi: the matrix of normal equations, and products.

A Gram matrix is summed in float64: an error of float32's size, times the weights, would be larger
than the identity that it is added to. Where Phi = P A (`lapwing.spaces.base.Design`) all is summed
of P and A goes in at the end: a third of the products, and float32 rounds P alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from lapwing._arrays import Array
from lapwing.linalg import summed, summed_gram
from lapwing.spaces.base import Design, Space

# That a sum of kernel values may lose of the identity that is added to it. More, and the rows are
# lifted first: the lost digits are those of small directions, which a fit gets from nowhere else.
_ROUNDING = 1e-4


@dataclass(frozen=True, eq=False)
class Sums:
    """The design of a space as sums of a given weight are taken of it."""

    design: Design
    n_coef: int

    @classmethod
    def of(cls, space: Space, weight: float) -> Sums:
        """Those in which points weigh so much together, beside an identity."""
        design = space.design()
        lift = design.lift
        if lift is None or design.rounding * weight <= _ROUNDING:
            return cls(design, space.n_coef)
        made, right = design.rows_of, lift.astype(space.dtype, copy=False)
        lifted = Design(design.parts, lambda part: made(part) @ right, space.n_coef)
        return cls(lifted, space.n_coef)

    def normal_matrix(
        self,
        weights: Array,
        beside: Callable[[slice], Array] | None = None,
        n_beside: int = 0,
        *,
        bias: bool,
    ) -> Array:
        """I + Z'DZ with the columns Z = [Phi, more of them, ones]; the identity is that of Phi.

        Parameters
        ----------
        weights : ndarray of shape (n,)
            The diagonal of D, not negative.
        beside : callable, optional
            rows -> further columns (b, n_beside) of Z.
        n_beside : int
        bias : bool
            Whether the ones are among them.
        """
        design, root, m = self.design, np.sqrt(weights), self.n_coef
        width = design.width
        size = width + n_beside + bias

        def rows_of(part: tuple[slice, object]) -> Array:
            rows, made_of = part
            B = np.empty((rows.stop - rows.start, size))
            B[:, :width] = design.rows_of(made_of)
            if beside is not None:
                B[:, width : width + n_beside] = beside(rows)
            B[:, width + n_beside :] = 1
            B *= root[rows, None]
            return B

        H = summed_gram(design.parts(), rows_of, size)
        if design.lift is not None:
            H = _lifted(H, design.lift)
        H.flat[: m * (len(H) + 1) : len(H) + 1] += 1
        return H

    def adjoint(self, u: Array) -> Array:
        """Phi'u (m, c) of values u (n, c), in float64."""
        design = self.design

        def product(part: tuple[slice, object]) -> Array:
            rows, made_of = part
            return np.asarray(_float64(design.rows_of(made_of)).T @ u[rows])

        found = summed(design.parts(), product, (design.width, u.shape[1]))
        return found if design.lift is None else np.asarray(design.lift.T @ found)

    def values(self, w: Array) -> Iterator[tuple[slice, Array]]:
        """Row blocks of Phi w for coefficients w (m, c), in float64."""
        design = self.design
        right = w if design.lift is None else design.lift @ w
        for rows, made_of in design.parts():
            yield rows, _float64(design.rows_of(made_of)) @ right


def _float64(block: Array) -> Array:
    return np.asarray(block, dtype=np.float64)


def _lifted(H: Array, lift: Array) -> Array:
    """The normal equations of A w in place of the first unknowns."""
    width, m = lift.shape
    found = np.empty((m + len(H) - width,) * 2)
    found[:m, m:] = lift.T @ H[:width, width:]
    found[m:, :m] = found[:m, m:].T
    found[m:, m:] = H[width:, width:]
    own = lift.T @ (H[:width, :width] @ lift)
    found[:m, :m] = (own + own.T) / 2
    return found
