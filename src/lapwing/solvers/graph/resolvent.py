r"""The resolvent of a graph with labels: shares smoothed at a scale.

.. math:: (D + sL + a D_{\mathrm{labelled}})\, F = D Q + a D_{\mathrm{labelled}} Y

by conjugate gradient with the diagonal as preconditioner, all columns together. Solutions for
shares that changed a little, or another scale, begin with the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from lapwing._arrays import Array
from lapwing.objectives.volumes import GraphOperator, Scale, VolumeProblem
from lapwing.solvers.conjugate_gradient import Solved, conjugate_gradient

# The shares of the next step are taken of these values, through a temperature of a tenth: more
# digits change no answer.
TOL = 1e-2
_MAX_ITER = 500
_STEP = 2.0  # ratio of the scales between which the contrast is interpolated
_FINEST, _COARSEST = 2.0**-6, 2.0**16
_ENOUGH = 0.01  # of contrast that a step up takes away; less says that nothing more will go


def shifted_solve(
    graph: GraphOperator,
    diagonal: Array,
    s: float,
    right: Array,
    *,
    held: Array | None = None,
    start: Array | None = None,
    tol: float = TOL,
    max_iter: int = _MAX_ITER,
) -> Solved:
    """Solve (diag + sL) F = right, some of the rows of F held at 0.

    Parameters
    ----------
    graph : GraphOperator
    diagonal : ndarray of shape (n,)
        Not negative, and positive where nothing else holds a row.
    s : float
        > 0.
    right : ndarray of shape (n, c)
        What it says of held rows does not count.
    held : ndarray of int, optional
        Rows at 0, whose equations are left out; none by default.
    start : ndarray of shape (n, c), optional
        0 in held rows.
    tol : float
        Of the residual, relative to the right-hand side.
    """
    right = right.astype(graph.dtype, copy=held is not None)
    whole = (diagonal + s * graph.degrees).astype(graph.dtype)  # the diagonal of diag + sD - sW
    if held is not None:
        right[held] = 0

    def apply(F: Array) -> Array:
        image = graph.neighbors(F)
        image *= graph.dtype.type(-s)
        image += whole[:, None] * F
        if held is not None:  # cutting the rows out would copy the block twice
            image[held] = 0
        return image

    return conjugate_gradient(apply, right, whole, start=start, tol=tol, max_iter=max_iter)


def resolvent(
    problem: VolumeProblem, shares: Array, s: float, *, start: Array | None = None, tol: float = TOL
) -> Solved:
    """F of shares at a scale; see the module."""
    masses = problem.graph.masses
    right = masses.astype(shares.dtype)[:, None] * shares
    right[problem.index] += problem.pull.astype(right.dtype)
    diagonal = masses + problem.clamp
    if shares.shape[1] != 2:
        return shifted_solve(problem.graph, diagonal, s, right, start=start, tol=tol)
    # Rows of F sum to one as those of Q and Y do: of two columns one says all.
    begin = None if start is None else start[:, 1:]
    found = shifted_solve(problem.graph, diagonal, s, right[:, 1:], start=begin, tol=tol)
    x = np.hstack([1 - found.x, found.x])
    residual = np.hstack([-found.residual, found.residual])
    return found._replace(x=x, residual=residual, optimality=np.tile(found.optimality, 2))


@dataclass(frozen=True, eq=False)
class Scales:
    """Scales in the order of their contrasts, and what finding them took."""

    scales: tuple[Scale, ...]
    n_iter: int


def scales_of_contrast(problem: VolumeProblem, shares: Array, wanted: Sequence[float]) -> Scales:
    """The scales at which the resolvent leaves so much of the contrast of some shares.

    The contrast is |F - mean| / |Q - mean| in the metric of the degrees: 1 at the scale 0, falling
    as the scale grows. So scales are free of the units of the weights and of the density of the
    graph. Where parts of a graph do not hang together contrast may never fall so low: the scale is
    then the one beyond which it hardly falls, with the contrast that it leaves.

    Parameters
    ----------
    problem : VolumeProblem
    shares : ndarray of shape (n, c)
    wanted : sequence of float
        Contrasts between 0 and 1, ascending: from the coarsest scale to the finest.
    """
    spread = partial(_spread, problem.graph.masses)
    whole = spread(shares)
    if not whole > 0:
        return Scales(tuple(Scale(1.0, 1.0) for _ in wanted), 0)
    positions, contrasts = [], []
    s, F, n_iter = _FINEST, None, 0
    while s <= _COARSEST:
        found = resolvent(problem, shares, s, start=F)
        F, n_iter = found.x, n_iter + found.n_iter
        positions.append(np.log(s))
        contrasts.append(spread(F) / whole)
        falls = len(contrasts) < 3 or contrasts[-3] - contrasts[-1] > _ENOUGH
        if contrasts[-1] < wanted[0] or (s > 1 and not falls):
            break
        s *= _STEP
    # Interpolation asks for ascending values.
    falling = np.minimum.accumulate(contrasts)[::-1]
    at = np.interp(wanted, falling, np.array(positions)[::-1])
    left = np.maximum(wanted, falling[0])
    return Scales(
        tuple(Scale(float(np.exp(x)), float(c)) for x, c in zip(at, left, strict=True)), n_iter
    )


def _spread(masses: Array, F: Array) -> float:
    """|F - mean| in the metric of the degrees."""
    mean = masses @ F / masses.sum()
    return float(np.sqrt(masses @ ((F - mean) ** 2).sum(axis=1)))
