"""Balanced flow: annealed shares of the classes, then non-local moves.

1. Poisson learning with a leak, balanced, gives every point a class.
2. Scales are taken at which this partition keeps given parts of its contrast.
3. The energy is followed from the coarsest scale to the finest, the volumes soft where the prior is
   not known, and ever softer.
4. What is wrong with the names of parts, with a class that lost its place and with the cuts of
   pairs is repaired (`lapwing.solvers.graph.moves`).
5. Where the prior is known, labels are still contradicted by their neighbours, and a class has more
   than one, the finer scales are also followed from harmonic functions, which obey every label. The
   partition that contradicts the fewest labels is taken, if they are fewer by two.
6. Where the prior is known, the cut is refined at these volumes (`lapwing.solvers.graph.refine`),
   and the finest scale followed from there. That is kept if it lowers the objective.
7. Where the prior is known, the finer scales are followed with the volumes left free, too, and what
   speaks for the one and the other is compared: the answer stays, but a warning may come of it.

Where the prior is not known, equal volumes are what one label a class says. But if classes differ
tenfold, equal volumes cut through the large ones. So step 3 is done for several volumes: those that
Poisson learning and, from a second label of a class on, harmonic functions reach, and those of the
prior. Harmonic functions' ones begin at the harmonic partition, for from another the same volumes
may lead to another cut; they are followed twice, free to move and held.

Soft volumes leave the coarse scales room to put two classes under one name and a third under two.
So the volumes of the prior are followed from a middle scale on, which keeps more of where the
labels reach, from Poisson learning and from harmonic functions.

Of all these, cuts, labels that are contradicted and labels that are left out say which two are
repaired, and which of the two is kept (`lapwing.solvers.graph.evidence`). The objective does not:
it holds volumes more strongly, and a partition of more equal volumes may have less of it than the
true one.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np

from lapwing._arrays import Array
from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.base import Status
from lapwing.solvers.graph.annealing import (
    SOFTNESS,
    Run,
    best_runs,
    descend,
    runs_of,
    several,
    side_by_side,
)
from lapwing.solvers.graph.evidence import LeftOut, against, count_left_out, most_credible
from lapwing.solvers.graph.linear import (
    believed_volumes,
    first_codes,
    laplace,
    reach_of,
    scales_of_contrast,
    temperature_of,
)
from lapwing.solvers.graph.moves import apply_moves
from lapwing.solvers.graph.partition import Partition, PriorEvidence, assigned, soft_shares
from lapwing.solvers.graph.refine import refine

_CONTRASTS = (0.3, 0.45, 0.6, 0.75, 0.85, 0.92)
_REPAIRED = 2  # runs
_OBEDIENT_FROM = (2, 4)
_CONTRADICTED = 2  # labels: one alone may lie at a boundary
_WALKS = (10, 6, 4, 2)  # steps; from 40 on, as for answers of other methods, it is no better
_DOUBTED_FROM = 3
_STILL = 1e-2  # part of the shares: the finest scale has come to rest


def flow(problem: VolumeProblem) -> Partition:
    """Part the points by the balanced flow."""
    reach, n_iter = reach_of(problem)
    begun = first_codes(problem, reach)
    scales = scales_of_contrast(problem, problem.whole(begun), _CONTRASTS)
    left_out = count_left_out(problem, begun)
    credible = partial(most_credible, problem, left_out=left_out)
    runs = runs_of(problem, reach, scales.scales)
    chosen = best_runs(runs, credible, _REPAIRED)
    mended = list(chain.from_iterable(side_by_side(problem, apply_moves, chosen)))
    best = best_runs(mended, credible, 1)[0]
    last, prior_evidence = best, None
    if problem.exact:  # else harmonic functions are among the runs, labels in what is credible
        last = _sharpened(_obedient(best))
        prior_evidence, last = _prior_evidence(last, reach, left_out)
    # Once each: runs that are mended go on from others.
    followed = {id(each): each for c in (*runs, *mended, last) for each in c.traces}
    traces = followed.values()
    n_iter += scales.n_iter + left_out.n_iter + sum(trace.n_iter for trace in traces)
    problem, reached = last.problem, last.reached
    scores = assigned(problem, reached.scores)
    return Partition(
        scores,
        soft_shares(problem, scores, temperature_of(problem)),
        reached.objective,
        tuple(stage for trace in traces for stage in trace.history),
        n_iter,
        Status.CONVERGED if reached.change <= _STILL else Status.MAX_ITER,
        reached.change,
        prior_evidence,
        left_out.counts,
    )


def _obedient(run: Run) -> Run:
    """Where many labels are contradicted, take the better of a partition and harmonic functions."""
    problem = run.problem
    most = problem.disagreeing(run.reached.shares) - _CONTRADICTED
    if most < 0 or not several(problem):
        return run
    harmonic = laplace(problem)
    begin = problem.whole(harmonic.scores.argmax(axis=1))
    followed = [
        descend(problem, begin, run.stages[first:], "from harmonic functions")
        for first in _OBEDIENT_FROM
    ]
    found = min(followed, key=lambda each: (problem.disagreeing(each.shares), each.objective))
    taken = problem.disagreeing(found.shares) <= most
    for each in followed:
        run = run.tried(each, kept=taken and each is found)
    return run.having_spent(harmonic.n_iter)


def _sharpened(run: Run) -> Run:
    """The cut refined: walks see what is between two points, and pairs are cut anew by the cut.

    With volumes that are not known there is nothing to hold while walks share the points out.
    """
    problem = run.problem
    found = refine(problem, problem.whole(run.codes), steps=_WALKS)
    run = run.having_spent(found.n_products)
    if not found.improved:
        return run
    begin = problem.whole(found.codes)
    again = descend(problem, begin, run.stages[-1:], "after refinement")
    return run.tried(again, kept=again.objective < run.reached.objective)


def _prior_evidence(run: Run, reach: Array, left_out: LeftOut) -> tuple[PriorEvidence, Run]:
    """Compute the evidence for free volumes, from Poisson learning at the finest scales.

    From the partition itself they do not move: it was made for its volumes.
    """
    given = run.problem
    free = given.with_prior(believed_volumes(given.labels), exact=False)
    begin = free.whole(first_codes(free, reach))
    stages = [replace(stage, softness=SOFTNESS[1]) for stage in run.stages[_DOUBTED_FROM:]]
    found = descend(free, begin, stages, "volumes left free")
    codes = np.asarray(assigned(free, found.scores).argmax(axis=1))
    nats = against(free, run.codes, left_out) - against(free, codes, left_out)
    volumes = free.volumes(free.members(codes))
    return PriorEvidence(volumes, nats), run.having_spent(found.trace.n_iter)
