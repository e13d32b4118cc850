r"""Balanced flow: minimise the cut for several candidate volumes, and select one by its evidence.

With *known* volumes the cut is refined (`lapwing.solvers.graph.refine`) from harmonic functions.

*Unknown* volumes are first estimated by descent on an objective J of class memberships Q (n, c),
called shares, with variable volumes (`lapwing.objectives.volumes`). From coarse to fine scales,
shares are alternately smoothed and balanced,

.. math:: F = \mathrm{resolvent}(Q, s) / c, \qquad Q = \mathrm{balance}(F, T, \tau),

with the shares of labelled points fixed. The second step minimises J linearised at F, so that J
decreases; a step that does not decrease J is rejected and ends the scale. Then the cut is refined
at the resulting volumes.

J penalises volumes that differ from a prior. With one label per class this prior is uniform, which
cuts through large classes if class sizes differ tenfold. There are therefore several candidates:
descents with the prior from the numbers of labels, started from Poisson learning and from centred
harmonic functions (they continue as one if they reach the same partition at the coarsest scale); a
descent with the volumes of Poisson learning as the prior; and, if a class has several labels, the
volumes of harmonic functions and, for two classes, those nearest the prior that left-out labels do
not contradict.

The candidate with the largest evidence is selected, which depends on its cut, its volumes, the
labels contradicted by their neighbours and the left-out labels (`lapwing.solvers.graph.evidence`).
J cannot be used for this, as a partition with more equal volumes may have a smaller J than the true
one.

Most of the time of a refinement is spent on splits of pairs of classes. Candidates are therefore
refined without splits first. Pairs are then split in the candidates whose evidence is close to the
best, until all of these have been split. A split that lowers the evidence, as more labels
contradict it, is rejected.

A descent that confuses two classes ends at wrong volumes, and a split does not change them. The
volumes of the selected candidate are therefore estimated again, by a descent from its partition and
a refinement, as long as its evidence increases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import softmax

from lapwing._arrays import Array
from lapwing.classes.balance import balance
from lapwing.objectives.volumes import Scale, VolumeProblem, entropy, relative_entropy
from lapwing.solvers.graph.evidence import (
    LeftOut,
    count_left_out,
    nearest_to_prior,
    negative_log_evidence,
)
from lapwing.solvers.graph.partition import Partition, PriorEvidence, side_by_side
from lapwing.solvers.graph.propagation import (
    first_codes,
    harmonic,
    jeffreys_prior,
    laplace,
    reach_of,
    resolvent,
    scaled,
    scales_of_contrast,
    temperature_of,
)
from lapwing.solvers.graph.refine import (
    SMOOTH,
    Path,
    diffused,
    partition_of,
    refine,
    share_out,
    split,
    walk_down,
)

# Constants of a prototype, selected by the test errors on MNIST and USPS (`docs/notes/volumes.md`).
# At coarser scales soft volumes may merge two classes and divide a third. For unknown volumes tau
# decreased from 0.7 to 0.3 in the prototype: with 2 to 0.5 the error on full USPS was 16.6 %, not
# 4.8 %, and below 0.3 volumes collapsed. The two coarsest of its six scales are omitted here.
_CONTRASTS = (0.6, 0.75, 0.85, 0.92)
_SOFTNESS = (0.5, 0.42, 0.36, 0.3)
_STEPS = 5  # maximum steps at one scale, as the next scale makes up for the rest
_STILL = 1e-3  # a smaller change of the shares (half their 1-norm, per point) ends a scale
_TRUST = 0.8  # weight of the volumes of Poisson learning in a prior, so that no class has volume 0
_VOLUMES = 1e-7  # tolerance of a balance
# In nats: the cut of volumes by Poisson learning must be 5 % smaller. They are the worst volumes if
# classes have similar sizes, and the only good ones if some are ten times smaller. Without it the
# mean error is 20.7 instead of 20.3 %; with 0.1 it is 2 points higher if classes are thinned.
_HANDICAP = 0.05
# In nats: as the evidence includes the logarithm of the cut, a 10 % larger cut is about as likely.
_AS_LIKELY = 0.1
# Candidates that differ in fewer points are one answer, and only the likelier one is split: a
# quarter fewer splits with the same errors (with 0.03 that of Digit1 with one label is 3 points
# higher).
_SAME = 0.01
_WALKS = (10, 6, 4, 2)  # steps of the walks; longer ones are not needed after a descent


@dataclass(frozen=True, eq=False)
class CandidatePartition:
    """Partition by a refined cut, one of several to choose from.

    Attributes
    ----------
    problem : VolumeProblem
        Problem with the prior of the descent to its volumes.
    path : Path
        Its refinement. `n_iter` does not count the products before the choice of a candidate.
    handicap : float
        Nats added to the evidence against the candidate.
    """

    problem: VolumeProblem
    path: Path
    handicap: float = 0.0


def flow(problem: VolumeProblem) -> Partition:
    """Partition the points by the balanced flow."""
    left_out = count_left_out(problem)
    if problem.exact:
        return _at_known_volumes(problem, left_out)
    begun, scales, spent = _candidates(problem, left_out)
    candidates, nats = _likeliest_split(problem, begun, left_out)
    best = int(np.argmin(nats))
    candidates[best], nats[best] = _reestimate_volumes(
        problem, candidates[best], float(nats[best]), scales, left_out
    )
    smooth, shares = _averaged(problem, candidates, nats)
    found = partition_of(problem, candidates[best].path, smooth, shares)
    spent += left_out.n_iter + sum(each.path.n_iter + SMOOTH for each in candidates)
    in_doubt = _in_doubt(problem, [each.path.codes for each in candidates], nats)
    return replace(found, n_iter=spent, left_out=left_out.counts, in_doubt=in_doubt)


def _against(problem: VolumeProblem, candidate: CandidatePartition, left_out: LeftOut) -> float:
    """Compute the evidence against a candidate, in nats."""
    return candidate.handicap + negative_log_evidence(problem, candidate.path.codes, left_out)


def _likeliest_split(
    problem: VolumeProblem, candidates: Sequence[CandidatePartition], left_out: LeftOut
) -> tuple[list[CandidatePartition], Array]:
    """Split pairs of the likeliest candidates until no unsplit one is about as likely.

    Returns
    -------
    candidates : list of CandidatePartition
        In the order of their likelihood before the splits; of candidates that are the same
        partition, only the likeliest.
    nats : ndarray
        Evidence against each candidate.
    """
    before = np.array([_against(problem, each, left_out) for each in candidates])
    distinct: list[int] = []
    for k in np.argsort(before, kind="stable").tolist():
        codes = candidates[k].path.codes
        if all(problem.differing(codes, candidates[j].path.codes) > _SAME for j in distinct):
            distinct.append(k)
    found, nats = [candidates[k] for k in distinct], before[distinct]
    waiting = set(range(len(found)))
    while near := [k for k in sorted(waiting) if nats[k] < nats.min() + _AS_LIKELY]:
        waiting -= set(near)
        jobs = [partial(split, _held(problem, found[k].path.codes), found[k].path) for k in near]
        for k, end in zip(near, side_by_side(problem, jobs), strict=True):
            after = _against(problem, replace(found[k], path=end), left_out)
            accepted = after < nats[k]
            path = end if accepted else replace(found[k].path, n_iter=end.n_iter)
            found[k] = replace(found[k], path=path)
            nats[k] = min(nats[k], after)
    return found, nats


def _reestimate_volumes(
    problem: VolumeProblem,
    candidate: CandidatePartition,
    nats: float,
    scales: Sequence[Scale],
    left_out: LeftOut,
) -> tuple[CandidatePartition, float]:
    """Estimate the volumes of a candidate again, as long as its evidence increases.

    Returns
    -------
    candidate : CandidatePartition
    nats : float
        Evidence against it.
    """
    while True:
        before = candidate.path
        (again,) = _by_descents(candidate.problem, [before.codes], scales, candidate.handicap)
        after = _against(problem, again, left_out)
        spent = before.n_iter + again.path.n_iter
        if not after < nats:
            return replace(candidate, path=replace(before, n_iter=spent)), nats
        candidate, nats = replace(again, path=replace(again.path, n_iter=spent)), after
        if problem.differing(again.path.codes, before.codes) < _STILL:
            return candidate, nats


def _at_known_volumes(problem: VolumeProblem, left_out: LeftOut) -> Partition:
    """Refine the cut at the prior, and compare its evidence with that of free volumes."""
    free = problem.with_prior(jeffreys_prior(problem.labels), exact=False)
    # The descent comes first because it leaves less in memory than a partition.
    jobs: list[Callable[[], Any]] = [
        partial(_at_free_volumes, free),
        partial(_refined_from_harmonic, problem),
    ]
    (codes, spent), answer = side_by_side(problem, jobs)
    nats = negative_log_evidence(free, answer.codes, left_out)
    nats -= negative_log_evidence(free, codes, left_out)
    return replace(
        answer,
        n_iter=left_out.n_iter + answer.n_iter + spent,
        prior_evidence=PriorEvidence(free.volumes(free.members(codes)), nats),
        left_out=left_out.counts,
    )


def _in_doubt(problem: VolumeProblem, answers: Sequence[Array], nats: Array) -> float:
    """Return the largest fraction of points whose class differs in another likely partition."""
    chosen = answers[int(np.argmin(nats))]
    near = zip(answers, nats < nats.min() + _AS_LIKELY, strict=True)
    return max(problem.differing(codes, chosen) for codes, likely in near if likely)


def _averaged(
    problem: VolumeProblem, candidates: Sequence[CandidatePartition], nats: Array
) -> tuple[Array, Array]:
    """Return scores of the likeliest partition, and their average over all candidates.

    The average is weighted by the likelihoods.
    """
    best = int(np.argmin(nats))
    chosen = diffused(problem, candidates[best].path.codes, SMOOTH)
    weights = softmax(-nats).astype(chosen.dtype)
    shares = chosen * weights[best]
    for k, each in enumerate(candidates):
        if k != best:
            shares += weights[k] * diffused(problem, each.path.codes, SMOOTH)
    return chosen, shares


def _refined_from_harmonic(problem: VolumeProblem) -> Partition:
    """Refine the cut from harmonic functions.

    Poisson learning is not a better start with one label per class, and a worse one with several
    (`docs/notes/volumes.md`).
    """
    begun = harmonic(problem)
    values, spent = begun.x, begun.n_iter
    del begun  # its residual takes as much memory
    found = refine(problem, values)
    return replace(found, n_iter=spent + found.n_iter)


def _at_free_volumes(problem: VolumeProblem) -> tuple[Array, int]:
    """Find a partition with free volumes by a descent from Poisson learning.

    It does not start from the partition at known volumes, from which it would hardly move.

    Returns
    -------
    codes : ndarray of int of shape (n,)
    n_iter : int
        Products with the graph.
    """
    codes, scales, spent = _from_poisson(problem)[1:]
    reached = descend(problem, Descent.of(problem.whole(codes)), scales, _SOFTNESS)
    return _codes_of(problem, reached.shares), spent + reached.n_iter


def _candidates(
    problem: VolumeProblem, left_out: LeftOut
) -> tuple[list[CandidatePartition], list[Scale], int]:
    """Compute the candidates for unknown volumes; see the module docstring.

    Returns
    -------
    candidates : list of CandidatePartition
    scales : list of Scale
        Of the descents.
    n_iter : int
        Products with the graph.
    """
    starts: list[Callable[[], Any]] = [
        partial(_from_poisson, problem),
        partial(_from_harmonic, problem),
    ]
    (reach, codes, scales, spent), (centred, harmonics, more) = side_by_side(problem, starts)
    poisson = problem.with_prior(
        _TRUST * problem.volumes(problem.members(reach.argmax(axis=1)))
        + (1 - _TRUST) * problem.prior,
        exact=False,
    )
    nearby = first_codes(poisson, reach)
    del reach
    jobs = [
        partial(_by_descents, problem, [centred, codes], scales),
        partial(_by_descents, poisson, [nearby], scales, _HANDICAP),
    ]
    # With one label per class harmonic functions are spikes, whose volumes are meaningless.
    if left_out.counts.any():
        partitions = [harmonics.argmax(axis=1)]
        # USPS 80:20 with ten labels has 20.8 instead of 22.9 % (draws 100 to 139). With more
        # classes there are too few labels for each error (Uspst with five: 0.3 points more).
        if problem.n_classes == 2:
            nearest = nearest_to_prior(left_out, problem.prior)
            partitions.append(share_out(problem.with_prior(nearest, exact=True), harmonics))
        jobs.append(partial(_by_volumes, problem, partitions, harmonics))
    found = [candidate for some in side_by_side(problem, jobs) for candidate in some]
    spent += more + sum(candidate.path.n_iter for candidate in found)
    return [replace(each, path=replace(each.path, n_iter=0)) for each in found], scales, spent


def _from_poisson(problem: VolumeProblem) -> tuple[Array, Array, list[Scale], int]:
    """Return Poisson learning, its balanced classes, the scales of descents, and the products."""
    reach, spent = reach_of(problem)
    codes = first_codes(problem, reach)
    scales, tried = scales_of_contrast(problem, problem.whole(codes), _CONTRASTS)
    return reach, codes, scales, spent + tried


def _from_harmonic(problem: VolumeProblem) -> tuple[Array, Array, int]:
    """Return classes of centred harmonic functions, the functions, and the products."""
    found = laplace(problem)
    centred = scaled(found.state - found.state.mean(axis=0))
    return first_codes(problem, centred), found.state, found.n_iter


def _by_descents(
    problem: VolumeProblem,
    starts: Sequence[Array],
    scales: Sequence[Scale],
    handicap: float = 0.0,
) -> list[CandidatePartition]:
    """Find volumes by descents from partitions, and refine the cut at these volumes.

    Those that reach the same partition at the coarsest scale, which takes more than half of the
    time, continue as one.
    """
    points: list[Descent] = []
    for start in starts:
        point = Descent.of(problem.whole(start))
        point = descend(problem, point, scales[:1], _SOFTNESS[:1])
        if points and _same(problem, point, points[-1]):
            points[-1] = replace(points[-1], n_iter=points[-1].n_iter + point.n_iter)
        else:
            points.append(point)
    candidates = []
    while points:
        point = descend(problem, points.pop(0), scales[1:], _SOFTNESS[1:])
        codes, spent = _codes_of(problem, point.shares), point.n_iter
        del point
        path = walk_down(_held(problem, codes), problem.whole(codes), _WALKS)
        path = replace(path, n_iter=path.n_iter + spent)
        candidates.append(CandidatePartition(problem, path, handicap))
    return candidates


def _by_volumes(
    problem: VolumeProblem, partitions: Sequence[Array], scores: Array
) -> list[CandidatePartition]:
    """Refine the cut from scores at the volumes of partitions."""
    problems = [_held(problem, codes) for codes in partitions]
    return [CandidatePartition(problem, walk_down(each, scores)) for each in problems]


def _same(problem: VolumeProblem, one: Descent, other: Descent) -> bool:
    """Return whether two descents have reached the same partition."""
    codes = (_codes_of(problem, each.shares) for each in (one, other))
    return problem.differing(*codes) <= _SAME


def _held(problem: VolumeProblem, codes: Array) -> VolumeProblem:
    """Return the problem with the volumes of a partition, at least one free point in each class."""
    free, sizes = problem.free, problem.sizes
    held = np.bincount(problem.codes, sizes[problem.index], problem.n_classes)
    parts = np.bincount(codes[free], sizes[free], problem.n_classes)
    if len(free):
        parts = np.where(held > 0, np.maximum(parts, sizes.min()), parts)
        parts *= sizes[free].sum() / parts.sum()
    return problem.with_prior((held + parts) / sizes.sum(), exact=True)


def _codes_of(problem: VolumeProblem, shares: Array) -> Array:
    """Return the classes of the largest shares; labelled points keep theirs."""
    codes = shares.argmax(axis=1)
    codes[problem.index] = problem.codes
    return np.asarray(codes)


@dataclass(frozen=True, eq=False)
class Descent:
    """State of a descent on J.

    Attributes
    ----------
    shares : ndarray of shape (n, c)
        Q.
    offsets : ndarray of shape (c,)
        Of the last balance, used to start the next one.
    fitted : ndarray of shape (n, c) or None
        Resolvent of the shares.
    value : float
        J at the last scale.
    changed : float
        Fraction of the shares that the last step changed; 0 if a step was rejected.
    n_iter : int
        Products with the graph.
    """

    shares: Array
    offsets: Array
    fitted: Array | None = None
    value: float = np.inf
    changed: float = 1.0
    n_iter: int = 0

    @classmethod
    def of(cls, shares: Array) -> Descent:
        """Begin at some shares."""
        return cls(shares, np.zeros(shares.shape[1]))


def descend(
    problem: VolumeProblem, point: Descent, scales: Sequence[Scale], softness: Sequence[float]
) -> Descent:
    """Minimise J at several scales in turn, each time from the previous shares.

    Parameters
    ----------
    problem : VolumeProblem
    point : Descent
    scales : sequence of Scale
        From coarse to fine.
    softness : sequence of float
        tau at each scale; with a smaller tau the volumes may differ more from the prior.
    """
    for scale, tau in zip(scales, softness, strict=True):
        point = replace(_evaluated(problem, point, scale, tau), changed=1.0)
        for _ in range(_STEPS):
            following = _evaluated(problem, _stepped(problem, point, scale, tau), scale, tau)
            if not following.value < point.value:
                point = replace(point, changed=0.0, n_iter=following.n_iter)
                break
            point = following
            if point.changed < _STILL:
                break
    return point


def _evaluated(problem: VolumeProblem, point: Descent, scale: Scale, tau: float) -> Descent:
    """Compute the resolvent of the shares, and J."""
    Q, masses = point.shares, problem.sizes
    found = resolvent(problem, Q, scale.s, start=point.fitted)
    value = problem.energy(Q, found.x, found.residual) / scale.contrast
    value -= temperature_of(problem) * float(masses @ entropy(Q)) / float(masses.sum())
    value += tau * relative_entropy(problem.volumes(Q), problem.prior)
    return replace(point, fitted=found.x, value=value, n_iter=point.n_iter + found.n_iter)


def _stepped(problem: VolumeProblem, point: Descent, scale: Scale, tau: float) -> Descent:
    """Compute the next shares by balancing the resolvent."""
    assert point.fitted is not None
    free = problem.free
    values = point.fitted[free]
    values /= values.dtype.type(scale.contrast)
    found = balance(
        values,
        problem.prior,
        temperature_of(problem),
        tau,
        masses=problem.sizes[free],
        known=problem.known,
        start=point.offsets,
        tol=_VOLUMES,
    )
    Q = np.empty_like(point.shares)
    Q[free], Q[problem.index] = found.shares, problem.labels
    moved = Q - point.shares
    np.abs(moved, out=moved)
    changed = float(problem.sizes @ moved.sum(axis=1) / problem.sizes.sum()) / 2
    return replace(point, shares=Q, offsets=found.offsets, changed=changed)
