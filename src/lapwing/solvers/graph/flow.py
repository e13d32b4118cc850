"""Balanced flow: shares of the classes followed from coarse to fine, pairs of classes cut anew.

1. Poisson learning with a leak, balanced, gives every point a class.
2. Scales are taken at which this partition keeps given parts of its contrast.
3. The energy is followed from the coarsest scale to the finest, the volumes soft where the prior is
   not known, and ever softer.
4. Where labels say that parts have each other's names, they are named anew
   (`lapwing.solvers.graph.names`). A class whose labels are contradicted by their neighbours is
   grown anew from its labels (`lapwing.solvers.graph.regrow`). The objective decides whether these
   are kept, and not the cut alone: with soft volumes a cut through one class is as short as one
   between two.
5. Pairs of classes are cut anew (`lapwing.solvers.graph.swap`). Where that changed anything, the
   finest scales follow, and the objective decides which is kept.
6. Where labels are still contradicted by their neighbours, and a class has more than one, the finer
   scales are also followed from harmonic functions, which obey every label. The partition that
   contradicts the fewest labels is taken, if they are fewer by two.

Where the prior is not known, equal volumes are what one label a class says. But if classes differ
tenfold, equal volumes cut through the large ones. So step 3 is done for several volumes: those, and
those that Poisson learning and, from a second label of a class on, harmonic functions reach. The
last begin at the harmonic partition: from another, the same volumes may lead to another cut. Cuts
and labels that are left out say which is kept (`lapwing.solvers.graph.evidence`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.balance import balance
from lapwing.objectives.volumes import Scale, VolumeProblem
from lapwing.solvers.base import Status
from lapwing.solvers.graph.descent import Balanced, Stage, Trace, descend
from lapwing.solvers.graph.evidence import LeftOut, count_left_out, most_credible
from lapwing.solvers.graph.laplace import laplace
from lapwing.solvers.graph.names import renamed
from lapwing.solvers.graph.partition import Partition, assigned, soft_shares
from lapwing.solvers.graph.regrow import regrown
from lapwing.solvers.graph.resolvent import scales_of_contrast
from lapwing.solvers.graph.start import SOFTEST, first_codes, reach_of, temperature_of
from lapwing.solvers.graph.swap import swap_pairs

__all__ = ["flow"]

_CONTRASTS = (0.3, 0.45, 0.6, 0.75, 0.85, 0.92)
_SOFTNESS = (SOFTEST, 0.3)  # at the coarsest and at the finest scale
_PAIRS_FROM, _LAST_FROM = 2, 3
_OBEDIENT_FROM = (2, 4)
_CONTRADICTED = 2  # labels: one alone may lie at a boundary
_REGROWTHS = 3
_STILL = 1e-2  # part of the shares: the finest scale has come to rest
_TRUST = 0.8  # in the volumes that were reached: a class may be hidden behind its neighbours


@dataclass(frozen=True, eq=False)
class _Course:
    """A descent, and the problem with the prior that it was for."""

    problem: VolumeProblem
    stages: list[Stage]
    reached: Balanced


def flow(problem: VolumeProblem) -> Partition:
    """Part the points by the balanced flow."""
    reach, n_iter = reach_of(problem)
    begun = first_codes(problem, reach)
    scales = scales_of_contrast(problem, problem.whole(begun), _CONTRASTS)
    left_out = count_left_out(problem, begun)
    course, tried, spent = _chosen(problem, reach, scales.scales, left_out)
    n_iter += scales.n_iter + left_out.n_iter + spent
    problem, stages, best = course.problem, course.stages, course.reached
    best, named = _with_names(problem, best, stages)
    best, regrowths = _with_regrowth(problem, best, stages)
    swapped = swap_pairs(problem, best.shares, _exact(stages[_PAIRS_FROM:]))
    descents = [*tried, *named, *regrowths]
    if swapped.pairs:
        again = descend(problem, problem.whole(swapped.codes), stages[_LAST_FROM:], "after swaps")
        descents.append(again.trace)
        best = min(best, again, key=lambda each: each.objective)
        best, named = _with_names(problem, best, stages)
        best, regrowths = _with_regrowth(problem, best, stages)
        descents += [*named, *regrowths]
    # Of this partition: one that obeys labels hides what its volumes would be.
    loosened = _loosened(problem, best) if problem.exact else None
    best, obedient, spent = _obedient(problem, best, stages)
    descents += obedient
    scores = assigned(problem, best.scores)
    return Partition(
        scores,
        soft_shares(problem, scores, temperature_of(problem)),
        best.objective,
        tuple(stage for each in descents for stage in each.history),
        n_iter + spent + sum(each.n_iter for each in descents) + round(swapped.n_iter),
        Status.CONVERGED if best.change <= _STILL else Status.MAX_ITER,
        best.change,
        loosened,
        left_out.counts,
    )


def _chosen(
    problem: VolumeProblem, reach: Array, scales: Sequence[Scale], left_out: LeftOut
) -> tuple[_Course, list[Trace], int]:
    """The descent at known volumes, or the most credible of those at several; all; products."""
    if problem.exact:
        course = _course(problem, reach, scales)
        return course, [course.reached.trace], 0
    priors = [problem.prior, _drawn(problem, reach.argmax(axis=1))]
    courses = [_course(problem.with_prior(p, exact=False), reach, scales) for p in priors]
    n_iter = 0
    if _several(problem):
        harmonic = laplace(problem)
        codes = harmonic.scores.argmax(axis=1)
        posed = problem.with_prior(_drawn(problem, codes), exact=False)
        courses.append(_followed(posed, codes, scales))
        n_iter += harmonic.n_iter
    reached = [assigned(c.problem, c.reached.scores).argmax(axis=1) for c in courses]
    chosen = courses[most_credible(problem, reached, left_out)]
    return chosen, [course.reached.trace for course in courses], n_iter


def _obedient(
    problem: VolumeProblem, best: Balanced, stages: Sequence[Stage]
) -> tuple[Balanced, list[Trace], int]:
    """The best of a partition and those from harmonic functions; these, and products for them."""
    most = problem.disagreeing(best.shares) - _CONTRADICTED
    if most < 0 or not _several(problem):
        return best, [], 0
    harmonic = laplace(problem)
    begin = problem.whole(harmonic.scores.argmax(axis=1))
    followed = [
        descend(problem, begin, stages[first:], "from harmonic functions")
        for first in _OBEDIENT_FROM
    ]
    found = min(followed, key=lambda each: (problem.disagreeing(each.shares), each.objective))
    if problem.disagreeing(found.shares) <= most:
        best = found
    return best, [each.trace for each in followed], harmonic.n_iter


def _with_names(
    problem: VolumeProblem, best: Balanced, stages: Sequence[Stage]
) -> tuple[Balanced, list[Trace]]:
    """Name the parts anew if that is better."""
    codes = renamed(problem, best.shares.argmax(axis=1))
    if codes is None:
        return best, []
    again = descend(problem, problem.whole(codes), stages[_LAST_FROM:], "after renaming")
    return (again if _better(problem, again, best) else best), [again.trace]


def _with_regrowth(
    problem: VolumeProblem, best: Balanced, stages: Sequence[Stage]
) -> tuple[Balanced, list[Trace]]:
    """Grow contradicted classes anew while that is better."""
    followed: list[Trace] = []
    for _ in range(_REGROWTHS):
        codes = regrown(problem, best, _exact(stages[_PAIRS_FROM:]))
        if codes is None:
            break
        again = descend(problem, problem.whole(codes), stages[_PAIRS_FROM:], "after regrowth")
        followed.append(again.trace)
        if not _better(problem, again, best):
            break
        best = again
    return best, followed


def _better(problem: VolumeProblem, again: Balanced, best: Balanced) -> bool:
    """Whether a repair lowers the objective and contradicts no more labels."""
    lower = again.objective < best.objective
    return lower and problem.disagreeing(again.shares) <= problem.disagreeing(best.shares)


def _several(problem: VolumeProblem) -> bool:
    """Whether a class has more than one label: harmonic functions of one are spikes there."""
    return bool((np.bincount(problem.codes) > 1).any())


def _drawn(problem: VolumeProblem, codes: Array) -> Array:
    """Volumes of the classes of a partition, drawn towards the prior."""
    found = problem.volumes(problem.whole(codes))
    return np.asarray(_TRUST * found + (1 - _TRUST) * problem.prior)


def _loosened(problem: VolumeProblem, found: Balanced) -> Array:
    """Volumes when those of the prior are held as softly as those that are not known."""
    free = problem.free
    values = found.scores[free] - found.offsets.astype(found.scores.dtype)
    return balance(
        values,
        problem.prior,
        temperature_of(problem),
        _SOFTNESS[1],
        masses=problem.sizes[free],
        known=problem.known,
    ).volumes


def _course(problem: VolumeProblem, reach: Array, scales: Sequence[Scale]) -> _Course:
    return _followed(problem, first_codes(problem, reach), scales)


def _followed(problem: VolumeProblem, codes: Array, scales: Sequence[Scale]) -> _Course:
    stages = _stages(problem, scales)
    return _Course(problem, stages, descend(problem, problem.whole(codes), stages, "flow"))


def _stages(problem: VolumeProblem, scales: Sequence[Scale]) -> list[Stage]:
    softness = np.geomspace(*_SOFTNESS, len(scales))
    if problem.exact:
        softness = np.full(len(scales), np.inf)
    temperature = temperature_of(problem)
    return [
        Stage(scale, temperature, float(tau)) for scale, tau in zip(scales, softness, strict=True)
    ]


def _exact(stages: Sequence[Stage]) -> list[Stage]:
    return [replace(stage, softness=np.inf) for stage in stages]
