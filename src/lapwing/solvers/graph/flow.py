"""Balanced flow: shares of the classes followed from coarse to fine, pairs of classes cut anew.

1. Poisson learning with a leak, balanced, gives every point a class.
2. Scales are taken at which this partition keeps given parts of its contrast.
3. The energy is followed from the coarsest scale to the finest, the volumes soft where the prior is
   not known, and ever softer.
4. A class whose labels are contradicted by their neighbours is grown anew from its labels
   (`lapwing.solvers.graph.regrow`), and kept so if fewer edges are cut.
5. Pairs of classes are cut anew (`lapwing.solvers.graph.swap`). Where that changed anything, the
   finest scales follow, and the objective decides which is kept.

Where the prior is not known, equal volumes are what one label a class says. But if classes differ
tenfold, equal volumes cut through the large ones. Step 3 is then begun a second time with volumes
as Poisson learning reaches them; they replace the equal ones if they save a tenth of the energy at
a middle scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.balance import balance
from lapwing.objectives.volumes import Scale, VolumeProblem
from lapwing.solvers.base import Status
from lapwing.solvers.graph.descent import Balanced, Stage, descend
from lapwing.solvers.graph.partition import Partition, assigned, soft_shares
from lapwing.solvers.graph.regrow import regrown
from lapwing.solvers.graph.resolvent import scales_of_contrast
from lapwing.solvers.graph.start import SOFTEST, first_codes, reach_of, temperature_of
from lapwing.solvers.graph.swap import swap_pairs

__all__ = ["flow"]

_CONTRASTS = (0.3, 0.45, 0.6, 0.75, 0.85, 0.92)
_SOFTNESS = (SOFTEST, 0.3)  # at the coarsest and at the finest scale
_MIDDLE = 3  # scales that are followed before volumes are compared
_PAIRS_FROM, _LAST_FROM = 2, 3
_REGROWTHS = 3
_STILL = 1e-2  # part of the shares: the finest scale has come to rest
# Energy of the volumes that were reached, relative to equal ones, below which those are kept. At
# one to five labels a class: 0.76 to 0.89 on Uspst with half of the classes thinned tenfold, 0.92
# to 1.03 as it is.
_CONTRADICTED = 0.9
_TRUST = 0.8  # in the volumes that were reached: a class may be hidden behind its neighbours


@dataclass(frozen=True, eq=False)
class _Course:
    """A descent to the middle scale, and the problem with the prior that it was for."""

    problem: VolumeProblem
    stages: list[Stage]
    reached: Balanced


def flow(problem: VolumeProblem) -> Partition:
    """Part the points by the balanced flow."""
    reach, n_iter = reach_of(problem)
    begin = problem.whole(first_codes(problem, reach))
    scales = scales_of_contrast(problem, begin, _CONTRASTS)
    course = _course(problem, begin, scales.scales)
    descents = [course.reached]
    if not problem.exact:
        other = problem.with_prior(_reached_prior(problem, reach), exact=False)
        trial = _course(other, other.whole(first_codes(other, reach)), scales.scales)
        descents.append(trial.reached)
        if trial.reached.energy < _CONTRADICTED * course.reached.energy:
            course = trial
    problem, stages = course.problem, course.stages
    best = descend(problem, course.reached.shares, stages[_MIDDLE:], "flow")
    descents.append(best)
    best, regrowths = _with_regrowth(problem, best, stages)
    swapped = swap_pairs(problem, best.shares, _exact(stages[_PAIRS_FROM:]))
    descents += regrowths
    if swapped.pairs:
        again = descend(problem, problem.whole(swapped.codes), stages[_LAST_FROM:], "after swaps")
        descents.append(again)
        best = min(best, again, key=lambda each: each.objective)
        best, regrowths = _with_regrowth(problem, best, stages)
        descents += regrowths
    scores = assigned(problem, best.scores)
    return Partition(
        scores,
        soft_shares(problem, scores, temperature_of(problem)),
        best.objective,
        tuple(stage for each in descents for stage in each.history),
        n_iter + scales.n_iter + sum(each.n_iter for each in descents) + round(swapped.n_iter),
        Status.CONVERGED if best.change <= _STILL else Status.MAX_ITER,
        best.change,
        _loosened(problem, best) if problem.exact else None,
    )


def _with_regrowth(
    problem: VolumeProblem, best: Balanced, stages: Sequence[Stage]
) -> tuple[Balanced, list[Balanced]]:
    """Grow contradicted classes anew while that saves energy and contradicts no more labels."""
    followed: list[Balanced] = []
    for _ in range(_REGROWTHS):
        codes = regrown(problem, best, _exact(stages[_PAIRS_FROM:]))
        if codes is None:
            break
        again = descend(problem, problem.whole(codes), stages[_PAIRS_FROM:], "after regrowth")
        followed.append(again)
        worse = problem.disagreeing(again.shares) > problem.disagreeing(best.shares)
        if worse or not again.energy < best.energy:
            break
        best = again
    return best, followed


def _reached_prior(problem: VolumeProblem, reach: Array) -> Array:
    """Volumes of the classes by the reach of the labels, drawn towards the prior."""
    found = problem.volumes(problem.whole(reach.argmax(axis=1)))
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


def _course(problem: VolumeProblem, begin: Array, scales: Sequence[Scale]) -> _Course:
    stages = _stages(problem, scales)
    return _Course(problem, stages, descend(problem, begin, stages[:_MIDDLE], "flow"))


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
