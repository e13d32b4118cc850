r"""Threshold dynamics with class volumes: alternately smooth the classes and reassign the points.

.. math:: F = \mathrm{resolvent}(Q, s), \qquad Q = \text{the one-hot shares that maximise }
    \sum_i m_i\, q_i \cdot f_i \text{ at the volumes of the prior}

(E. Merkurjev, T. Kostic and A. Bertozzi, "An MBO scheme on graphs for classification and image
processing", SIAM Journal on Imaging Sciences 6, 1903-1930, 2013; the volumes as by M. Jacobs, E.
Merkurjev and S. Esedoglu, "Auction dynamics", Journal of Computational Physics 354, 288-310, 2018),
from Poisson learning (PoissonMBO of J. Calder et al., 2020). Volumes are those of the prior even if
they are not known, as there is no threshold for soft volumes. The energy of the scale decreases in
every step; a step that does not decrease it, by rounding, is rejected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lapwing._arrays import Array
from lapwing.objectives.volumes import Scale, VolumeProblem
from lapwing.solvers.base import Status
from lapwing.solvers.conjugate_gradient import Solved
from lapwing.solvers.graph.partition import Partition, assigned, recorded
from lapwing.solvers.graph.propagation import poisson, resolvent, scales_of_contrast, shifted_solve
from lapwing.solvers.graph.refine import open_volumes, refine

_CONTRAST = 0.5  # 0.45 to 0.6 are within a point of each other on Uspst, COIL-20 and Digit1
_MAX_ITER = 50
_STILL = 1e-4  # fraction of points that change class below which the iteration ends

_LEVELS = tuple(2.0**-power for power in range(8, -1, -1))  # s
_LATE = _LEVELS[4:]  # for the start from threshold dynamics
_ROUNDS = 8  # at each s
_AGREED = 1e-3  # mean over the points of |X - Z|_1 below which X and Z agree
_TOL = 1e-2  # of the systems, each started from the previous solution
_CUT_MAX_ITER = 200


def mbo(problem: VolumeProblem) -> Partition:
    """Partition the points by volume-constrained threshold dynamics."""
    begun = poisson(problem)
    scores = assigned(problem, begun.state, exact=True)
    codes = scores.argmax(axis=1)
    (scale,), spent = scales_of_contrast(problem, problem.whole(codes), (_CONTRAST,))
    step = _step(problem, codes, scores, scale, None)
    n_iter, values, change = begun.n_iter + spent + step.n_iter, [step.objective], 1.0
    for _ in range(_MAX_ITER):
        scores = assigned(problem, step.fitted, exact=True)
        following = _step(problem, scores.argmax(axis=1), scores, scale, step.fitted)
        n_iter += following.n_iter
        if not following.objective < step.objective:
            change = 0.0
            break
        change = problem.differing(following.codes, step.codes)
        step = following
        values.append(step.objective)
        if change <= _STILL:
            break
    return Partition(
        step.scores,
        step.objective,
        change,
        n_iter,
        Status.CONVERGED if change <= _STILL else Status.MAX_ITER,
        recorded(values),
        shares=problem.whole(step.codes),
    )


@dataclass(frozen=True, eq=False)
class _DynamicsStep:
    codes: Array
    scores: Array  # whose largest entries are the codes
    fitted: Array  # resolvent of the shares
    objective: float
    n_iter: int


def _step(
    problem: VolumeProblem, codes: Array, scores: Array, scale: Scale, start: Array | None
) -> _DynamicsStep:
    shares = problem.whole(codes)
    found = resolvent(problem, shares, scale.s, start=start)
    energy = problem.energy(shares, found.x, found.residual) / scale.contrast
    return _DynamicsStep(codes, scores, found.x, energy, found.n_iter)


def cut(problem: VolumeProblem) -> Partition:
    r"""Partition the points by the minimum cut at the volumes of the prior, known or not.

    The cut is relaxed to shares X and solved by continuation in s,

    .. math:: \min_X \tfrac12 \mathrm{tr}\, X^T (L - sD) X \qquad \text{subject to } X \ge 0,\;
        X 1 = 1,\; X^T m = v,\; x_i = y_i \text{ for labelled points}

    (C. Holtz, P. Chen, Z. Wan, C.-K. Cheng and G. Mishne, "Continuous partitioning for graph-based
    semi-supervised learning", Advances in Neural Information Processing Systems 37, 2024). For
    one-hot shares tr X'DX = tr D, so that s does not change which are the best. For s = 0 the
    problem is convex; if s is at least the largest eigenvalue of D^-1 L, which is at most 2, minima
    are vertices of the polytope, that is, one-hot. With few labels the convex problem carries
    little information, so a second path starts from the result of `mbo`, at larger s. All results,
    that of `mbo` included, are refined, and the one with the smallest cut is returned.

    Differences from the paper: D replaces the identity in both terms, so that s and rho do not
    depend on the unit of the weights; rho = 2 s; and shares are rounded by an exact transport.
    """
    begun = mbo(problem)
    paths = [_continued(problem, None, _LEVELS), _continued(problem, begun.shares, _LATE)]
    ends = [refine(problem, scores) for scores in (begun.state, *(path[0] for path in paths))]
    spent = sum(spent for _, spent in paths) + sum(end.n_iter for end in ends)
    found = min(ends, key=lambda end: end.objective)
    return replace(found, n_iter=begun.n_iter + spent)


@dataclass(frozen=True, eq=False)
class _Equations:
    """Equations X1 = 1 and X'm = v with given labels, for shares minus 1 / c.

    Rows of labelled points are fixed at 0, and enter the equations of their neighbours.

    Attributes
    ----------
    problem : VolumeProblem
    pulled : ndarray of shape (n, c)
        W times the labels minus 1 / c.
    volumes : ndarray of shape (c,)
        Volumes of the classes without the labelled points.
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
            graph, diagonal, 1.0, right, held=held, start=start, tol=_TOL, max_iter=_CUT_MAX_ITER
        )


def _continued(
    problem: VolumeProblem, start: Array | None, levels: Sequence[float]
) -> tuple[Array, int]:
    r"""Compute relaxed shares at the last s, and the number of products with the graph.

    For each s by the alternating direction method of multipliers,

    .. math:: X &= \arg\min \tfrac12 \mathrm{tr}\, X^T (L - sD) X + \tfrac\rho2 \|X - Z + U\|_D^2
        \text{ under the equations}, \\
        Z &= \max(X + U, 0), \qquad U \leftarrow U + X - Z.

    Without a start, the initial shares of every point are the volumes without the labelled points.
    """
    c, free = problem.n_classes, problem.free
    whole = problem.whole(np.zeros(problem.n_points, dtype=np.intp))
    if c == 1 or not len(free):
        return whole, 0
    equations = _Equations.of(problem)
    masses = problem.graph.masses[:, None]
    # All shares are minus 1 / c.
    if start is None:
        X = np.tile(equations.volumes / equations.volumes.sum() - 1 / c, (problem.n_points, 1))
    else:
        X = start.astype(np.float64) - 1 / c
    X[problem.index] = 0
    Z, U, n_iter = X, np.zeros_like(X), 0
    unit: Array | None = None
    for s in levels:
        # The multiplier of the inequalities is rho U, and rho doubles with s.
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
    """Move X along the solution for the sizes so that it has the volumes; rows still sum to 0."""
    m = equations.sizes
    missing = equations.volumes - m.sum() / X.shape[1] - m @ X
    column = unit.astype(np.float64)
    return np.asarray(X + column * (missing / (m @ column)))
