"""Balanced flow: shares of the classes from coarse to fine, started anew where labels disagree.

1. Poisson learning with a leak, balanced, gives every point a class.
2. Scales are taken at which this partition keeps given parts of its contrast.
3. The energy is followed from the coarsest scale to the finest, the volumes soft where the prior is
   not known, and ever softer.
4. Where labels are contradicted by their neighbours in the graph, descents from finer scales are
   tried, which move less. The one with fewer contradictions counts, of equals the one of least
   energy.
5. Pairs of classes are cut anew (`lapwing.solvers.graph.swap`).
6. Where that changed anything, the finest scales follow, and the energy decides which is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.balance import balance
from lapwing.objectives.volumes import Scale, VolumeProblem
from lapwing.solvers.base import Status
from lapwing.solvers.graph.descent import Stage, descend
from lapwing.solvers.graph.partition import Partition, assigned
from lapwing.solvers.graph.resolvent import scales_of_contrast, shifted_solve
from lapwing.solvers.graph.swap import swap_pairs

__all__ = ["flow"]

_CONTRASTS = (0.3, 0.45, 0.6, 0.75, 0.85, 0.92)
_SOFTNESS = (0.7, 0.3)  # at the coarsest and at the finest scale
_PAIRS_FROM, _LAST_FROM = 2, 3
_STILL = 1e-2  # part of the shares: the finest scale has come to rest
_ROUGH = 1e-4  # tolerance of the volumes of a start
_LEAK = 1e-3
_START_TOL = 1e-3
_START_ITER = 1000


def flow(problem: VolumeProblem) -> Partition:
    """Part the points by the balanced flow."""
    codes, n_iter = _start(problem)
    begin = problem.whole(codes)
    scales = scales_of_contrast(problem, begin, _CONTRASTS)
    stages = _stages(problem, scales.scales)
    found = [descend(problem, begin, stages, "flow")]
    best = found[0]
    swapped = swap_pairs(problem, best.shares, _exact(stages[_PAIRS_FROM:]))
    if swapped.pairs:
        again = descend(problem, problem.whole(swapped.codes), stages[_LAST_FROM:], "after swaps")
        found.append(again)
        best = min(best, again, key=lambda each: each.objective)
    return Partition(
        assigned(problem, best.scores),
        best.shares,
        best.objective,
        tuple(stage for each in found for stage in each.history),
        n_iter + scales.n_iter + sum(each.n_iter for each in found) + round(swapped.n_iter),
        Status.CONVERGED if best.change <= _STILL else Status.MAX_ITER,
        best.change,
    )


def _start(problem: VolumeProblem) -> tuple[Array, int]:
    """Classes of all points by Poisson learning with a leak, and products with the graph.

    Without the leak the system is singular, and on graphs of several parts it has no solution.
    """
    graph, labels = problem.graph, problem.labels
    source = np.zeros((problem.n_points, problem.n_classes))
    mean = problem.weights @ labels / problem.weights.sum()
    source[problem.index] = problem.weights[:, None] * (labels - mean)
    solved = shifted_solve(
        graph, _LEAK * graph.masses, 1.0, source, tol=_START_TOL, max_iter=_START_ITER
    )
    unit = float(solved.x.std(dtype=np.float64)) * np.sqrt(problem.n_classes)
    scores = solved.x / graph.dtype.type(unit if unit > 0 else 1.0)
    softness = np.inf if problem.exact else _SOFTNESS[0]
    found = balance(
        scores, problem.prior, _temperature(problem), softness, masses=problem.sizes, tol=_ROUGH
    )
    return np.asarray((scores + found.offsets).argmax(axis=1)), solved.n_iter


def _temperature(problem: VolumeProblem) -> float:
    return min(0.1, 1 / problem.n_classes)


def _stages(problem: VolumeProblem, scales: Sequence[Scale]) -> list[Stage]:
    softness = np.geomspace(*_SOFTNESS, len(scales))
    if problem.exact:
        softness = np.full(len(scales), np.inf)
    temperature = _temperature(problem)
    return [
        Stage(scale, temperature, float(tau)) for scale, tau in zip(scales, softness, strict=True)
    ]


def _exact(stages: Sequence[Stage]) -> list[Stage]:
    return [replace(stage, softness=np.inf) for stage in stages]
