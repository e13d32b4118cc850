r"""Threshold dynamics with class volumes: smooth the classes, then assign points to them, in turn.

.. math:: F = \mathrm{resolvent}(Q, s), \qquad Q = \text{the whole shares that maximise }
    \sum_i m_i\, q_i \cdot f_i \text{ at the volumes of the prior}

(E. Merkurjev, T. Kostic and A. Bertozzi, "An MBO scheme on graphs for classification and image
processing", SIAM Journal on Imaging Sciences 6, 1903-1930, 2013; the volumes as by M. Jacobs, E.
Merkurjev and S. Esedoglu, "Auction dynamics", Journal of Computational Physics 354, 288-310, 2018),
from Poisson learning (PoissonMBO of J. Calder et al., 2020). Volumes are those of the prior whether
they are known or not: softer ones have no threshold. The energy of the scale falls with every step;
one that does not lower it is not taken.
"""

from __future__ import annotations

from dataclasses import dataclass

from lapwing._arrays import Array
from lapwing.objectives.volumes import Scale, VolumeProblem
from lapwing.solvers.base import Status
from lapwing.solvers.graph.partition import Descent, Partition, assigned
from lapwing.solvers.graph.poisson import poisson
from lapwing.solvers.graph.resolvent import resolvent, scales_of_contrast

_CONTRAST = 0.5  # 0.45 to 0.6 are within a point of each other on Uspst, COIL-20 and Digit1
_MAX_ITER = 50
_STILL = 1e-4  # part of the points


def mbo(problem: VolumeProblem) -> Partition:
    """Part the points by volume-constrained threshold dynamics."""
    begun = poisson(problem)
    scores = assigned(problem, begun.scores, exact=True)
    codes = scores.argmax(axis=1)
    scales = scales_of_contrast(problem, problem.whole(codes), (_CONTRAST,))
    scale = scales.scales[0]
    step = _step(problem, codes, scores, scale, None)
    n_iter, values, change = begun.n_iter + scales.n_iter + step.n_iter, [step.objective], 1.0
    for _ in range(_MAX_ITER):
        scores = assigned(problem, step.fitted, exact=True)
        following = _step(problem, scores.argmax(axis=1), scores, scale, step.fitted)
        n_iter += following.n_iter
        if not following.objective < step.objective:
            change = 0.0
            break
        moved = following.codes != step.codes
        change = float(problem.sizes @ moved / problem.sizes.sum())
        step = following
        values.append(step.objective)
        if change <= _STILL:
            break
    return Partition(
        step.scores,
        problem.whole(step.codes),
        step.objective,
        (Descent("mbo", tuple(values), *scale),),
        n_iter,
        Status.CONVERGED if change <= _STILL else Status.MAX_ITER,
        change,
    )


@dataclass(frozen=True, eq=False)
class _Point:
    codes: Array
    scores: Array  # that elected them
    fitted: Array  # the resolvent of their shares
    objective: float
    n_iter: int


def _step(
    problem: VolumeProblem, codes: Array, scores: Array, scale: Scale, start: Array | None
) -> _Point:
    shares = problem.whole(codes)
    found = resolvent(problem, shares, scale.s, start=start)
    energy = problem.energy(shares, found.x, found.residual) / scale.contrast
    return _Point(codes, scores, found.x, energy, found.n_iter)
