r"""The least cut at exact class sizes, by continuation from a convex problem to whole shares.

.. math:: \min_X \tfrac12 \mathrm{tr}\, X^T (L - sD) X \qquad \text{subject to } X \ge 0,\;
    X 1 = 1,\; X^T m = v,\; x_i = y_i \text{ where labelled}

(C. Holtz, P. Chen, Z. Wan, C.-K. Cheng and G. Mishne, "Continuous partitioning for graph-based
semi-supervised learning", Advances in Neural Information Processing Systems 37, 2024). Whole shares
give tr X'DX = tr D, so that s does not change which of them is best: it is the cut. For s = 0 the
problem is convex; as s grows the term -s tr X'DX drives shares apart, and from the largest
eigenvalue of D^-1 L on, which is at most 2, the minima are corners of the polytope, and those of
the transport polytope are whole. So s rises, and every solution is where the next begins.

At each s the alternating direction method of multipliers parts the linear equations from the signs,

.. math:: X &= \arg\min \tfrac12 \mathrm{tr}\, X^T (L - sD) X + \tfrac\rho2 \|X - Z + U\|_D^2
    \text{ under the equations}, \\
    Z &= \max(X + U, 0), \qquad U \leftarrow U + X - Z.

With L + (rho - s) D the equations are met in closed form: the one-vector is known to it, so rows
are centred beforehand, and each column is moved along the one more solution that belongs to m.

With few labels the convex problem knows little, and the path from it may end in a poor corner. So
a second one leads from the answer of `lapwing.solvers.graph.mbo` and the last values of s, and the
least of the cuts counts, that of `mbo` itself among them: they are compared at equal volumes.

Where this departs from the paper: D instead of the identity beside s and rho, so that neither
depends on the units of the weights; rho = 2 s, the walks of which are long while s is small; the
solution is made whole by the exact transport, and `lapwing.solvers.graph.refine` lowers the cut
from there, as a refinement of the cut ends C. Holtz, P. Chen, A. Cloninger, C.-K. Cheng and G.
Mishne, "Semi-supervised Laplacian learning on Stiefel manifolds", 2023. Neither the papers' texts
nor their codes were at hand: what is here follows the problem and its continuation, not their
pseudocode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.voting import electing
from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.base import Status
from lapwing.solvers.conjugate_gradient import Solved
from lapwing.solvers.graph.mbo import mbo
from lapwing.solvers.graph.partition import Descent, Partition
from lapwing.solvers.graph.refine import open_volumes, refine
from lapwing.solvers.graph.resolvent import shifted_solve

_LEVELS = tuple(2.0**-power for power in range(8, -1, -1))  # s
_LATE = _LEVELS[4:]  # from the answer of threshold dynamics
_ROUNDS = 8  # at each of them
_AGREED = 1e-3  # in the sum over a point that X and Z may differ by
_TOL = 1e-2  # of the systems, whose solutions are begun with
_MAX_ITER = 200


def cut(problem: VolumeProblem) -> Partition:
    """Part the points by the least cut at the volumes of the prior, known or not."""
    begun = mbo(problem)
    paths = [_continued(problem, None, _LEVELS), _continued(problem, begun.shares, _LATE)]
    ends = [refine(problem, shares) for shares in (begun.scores, *(path[0] for path in paths))]
    found = min(ends, key=lambda end: float(end.history[-1]))
    n_iter = begun.n_iter + sum(spent for _, spent in paths)
    # Divided, values that were raised by a last digit may be equal again.
    soft = electing(found.scores / found.scores.sum(axis=1, keepdims=True), found.codes)
    return Partition(
        found.scores,
        soft,
        float(found.history[-1]),
        (Descent("cut", tuple(found.history.tolist())),),
        n_iter + sum(end.n_products for end in ends),
        found.status,
        0.0 if found.status == Status.CONVERGED else 1.0,
    )


@dataclass(frozen=True, eq=False)
class _Equations:
    """X1 = 1, X'm = v and the labels, for shares over 1 / c, which are held at 0 where labelled.

    Attributes
    ----------
    problem : VolumeProblem
    pulled : ndarray of shape (n, c)
        What the neighbours' labels add to the equations of the points, over the mean of a row.
    volumes : ndarray of shape (c,)
        What the labels leave of the volumes.
    sizes : ndarray of shape (n,)
        m of the points without a label, 0 for the others.
    """

    problem: VolumeProblem
    pulled: Array
    volumes: Array
    sizes: Array

    @classmethod
    def of(cls, problem: VolumeProblem) -> _Equations:
        labels = np.zeros((problem.n_points, problem.n_classes), dtype=problem.graph.dtype)
        labels[problem.index, problem.codes] = 1
        labels[problem.index] -= 1 / problem.n_classes
        volumes = open_volumes(problem, np.zeros((len(problem.free), problem.n_classes)))
        sizes = problem.sizes.astype(np.float64)
        sizes[problem.index] = 0
        return cls(problem, problem.graph.neighbors(labels), volumes, sizes)

    def solve(self, shift: float, right: Array, start: Array | None) -> Solved:
        """Solve (L + shift D) X = right at the points without a label."""
        graph, held = self.problem.graph, self.problem.index
        diagonal = shift * graph.masses
        return shifted_solve(
            graph, diagonal, 1.0, right, held=held, start=start, tol=_TOL, max_iter=_MAX_ITER
        )


def _continued(
    problem: VolumeProblem, start: Array | None, levels: Sequence[float]
) -> tuple[Array, int]:
    """Shares of all points at the last s, and products with the graph.

    Without a start every point has the shares that the labels leave.
    """
    c, free = problem.n_classes, problem.free
    whole = problem.whole(np.zeros(problem.n_points, dtype=np.intp))
    if c == 1 or not len(free):
        return whole, 0
    equations = _Equations.of(problem)
    masses = problem.graph.masses[:, None]
    # All is centred at 1 / c.
    if start is None:
        X = np.tile(equations.volumes / equations.volumes.sum() - 1 / c, (problem.n_points, 1))
    else:
        X = start.astype(np.float64) - 1 / c
    X[problem.index] = 0
    Z, U, n_iter = X, np.zeros_like(X), 0
    unit: Array | None = None
    for s in levels:
        # The multiplier of the inequalities is rho U: rho doubles with s.
        U = U / 2
        shift, rho = s, 2 * s
        solved = equations.solve(shift, equations.sizes[:, None], unit)
        unit, n_iter = solved.x, n_iter + solved.n_iter
        for _ in range(_ROUNDS):
            right = rho * masses * (Z - U) + equations.pulled
            right -= right.mean(axis=1, keepdims=True)
            solved = equations.solve(shift, right, X)
            X = _with_volumes(equations, solved.x.astype(np.float64), unit)
            n_iter += solved.n_iter
            Z = np.maximum(X + U, -1 / c)
            U = U + X - Z
            if np.abs(X - Z).sum() <= _AGREED * len(free):
                break
    whole[free] = X[free] + 1 / c
    return whole, n_iter


def _with_volumes(equations: _Equations, X: Array, unit: Array) -> Array:
    """X with the volumes, moved along the solution for the sizes; rows still sum to 0."""
    m = equations.sizes
    missing = equations.volumes - m.sum() / X.shape[1] - m @ X
    column = unit.astype(np.float64)
    return np.asarray(X + column * (missing / (m @ column)))
