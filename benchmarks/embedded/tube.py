r"""LapESVR for many settings, by the alternating direction method of multipliers on its dual.

.. math:: \min_\alpha \tfrac12 \alpha^T (K + \Phi S^{-1} \Phi^T) \alpha - \tilde y^T \alpha
    \quad \text{s.t.} \quad \mathbf 1^T \alpha = 0, \; |\alpha_i| \le C

((18) with (25)-(27), epsilon = 0 and the signs of errata E4). A step solves the problem with a
ridge for all columns by products with one n x n or n x m matrix, and clips. S, which may be
singular (errata E8), is not inverted. The accuracy is sufficient for a grid of errors; the
library's interior point method would take 10 to 30 factorisations for each of thousands of
settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.embedded.grid import Embedding, GridFit, GridSide

Array = NDArray[Any]
N_ITER, CHECK, RELAX = 300, 20, 1.6


def tube_fit(
    embedding: Embedding, C: float, sides: Sequence[GridSide], tol: float = 1e-3
) -> GridFit:
    """Fit LapESVR (epsilon = 0, with a bias) for several graph sides, one column each.

    Parameters
    ----------
    embedding : Embedding
    C : float
    sides : sequence of GridSide
        With one column each, and equal numbers of eigenvectors.
    tol : float, default=1e-3
        Stops when the relative change of f in 20 steps is at most this.
    """
    r = len(sides[0].pull)
    n, J = embedding.coordinates.shape[0], len(sides)
    basis = np.hstack([embedding.eigenvectors[:, :r], np.full((n, 1), -1.0)])
    curvature = np.zeros((J, r + 1, r + 1))
    curvature[:, :r, :r] = np.stack([side.curvature for side in sides])
    pull = np.vstack([np.hstack([side.pull for side in sides]), np.zeros((1, J))])
    z, u = (np.zeros((n, J), dtype=np.float32) for _ in range(2))
    rho = min(max(0.3 / C, 1e-4), 1e2)
    ridge = _Ridge(embedding, basis, curvature, pull, rho)
    before = np.zeros((embedding.spectrum.size, J))
    for number in range(1, N_ITER + 1):
        v = rho * (z - u)
        x, y = ridge.solve(v)
        mixed = RELAX * x + (1 - RELAX) * z
        old, z = z, np.clip(mixed + u, -C, C)
        u += mixed - z
        if number % CHECK == 0 or number == N_ITER:
            coef = ridge.coordinates(v, y)
            moved, size = (
                _size(np.sqrt(embedding.spectrum)[:, None] * w) for w in (coef - before, coef)
            )
            before = coef
            if moved <= tol * size:
                break
            factor = np.sqrt(_size(x - z) / max(_size(z - old), 1e-30))
            if not 0.3 < factor < 3 and number < N_ITER // 2:
                factor = min(max(factor, 0.1), 10.0)
                rho, u = rho * factor, u / np.float32(factor)
                ridge = _Ridge(embedding, basis, curvature, pull, rho)
    return GridFit(before, y[r], y[:r])


class _Ridge:
    """v -> x and y = (zeta, b): K x + rho x = v + E y, E = (Phi, -1), S zeta + Phi'x = h, 1'x = 0.

    x = M (v + E y) with M = (K + rho I)^-1, as a matrix or in coordinates.
    """

    def __init__(
        self, embedding: Embedding, basis: Array, curvature: Array, pull: Array, rho: float
    ) -> None:
        T, self._weights = embedding.coordinates, 1 / (embedding.spectrum + rho)
        self._T, self._basis, self._pull, self._rho = T, basis, pull, np.float32(rho)
        self._matrix = None
        self._light = self._weights.astype(np.float32)[:, None]
        if T.shape[0] == T.shape[1]:
            M = -(T * self._weights) @ T.T / rho
            M.flat[:: len(M) + 1] += 1 / rho
            self._matrix, reached = M.astype(np.float32), M @ basis
        else:
            inner = self._weights[:, None] * (T.T @ basis.astype(T.dtype))
            reached = (basis - T @ inner.astype(T.dtype)) / rho
        form = basis.T @ reached
        self._inverses = np.linalg.inv(curvature + (form + form.T) / 2)
        self._reached = reached.astype(np.float32)

    def solve(self, v: Array) -> tuple[Array, Array]:
        right = self._pull - (self._reached.T @ v).astype(np.float64)
        y = np.einsum("jab,bj->aj", self._inverses, right)
        if self._matrix is not None:
            x = self._matrix @ v
        else:
            x = (v - self._T @ (self._light * (self._T.T @ v))) / self._rho
        return x + self._reached @ y.astype(np.float32), y

    def coordinates(self, v: Array, y: Array) -> Array:
        """Compute T'x without x, most of which would cancel."""
        right = (v + self._basis @ y).astype(self._T.dtype)
        return np.asarray(self._weights[:, None] * (self._T.T @ right))


def _size(values: Array) -> float:
    return float(np.sqrt(np.mean(np.square(values, dtype=np.float64))))
