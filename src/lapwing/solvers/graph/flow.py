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
harmonic functions; a descent with the volumes of Poisson learning as the prior; and, if a class has
several labels, the volumes of harmonic functions.

The candidate with the largest evidence is selected, which depends on its cut, its volumes, the
labels contradicted by their neighbours and the left-out labels (`lapwing.solvers.graph.evidence`).
J cannot be used for this, as a partition with more equal volumes may have a smaller J than the true
one.

Most of the time of a refinement is spent on splits of pairs of classes. Candidates are therefore
refined without splits first. Pairs are then split in the candidates whose evidence is close to the
best, until all of these have been split. A split that lowers the evidence, as more labels
contradict it, is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import softmax

from lapwing._arrays import Array
from lapwing.classes.balance import balance
from lapwing.objectives.volumes import Scale, VolumeProblem, entropy, relative_entropy
from lapwing.solvers.base import Result, Status
from lapwing.solvers.graph.evidence import LeftOut, count_left_out, negative_log_evidence
from lapwing.solvers.graph.linear import (
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
from lapwing.solvers.graph.partition import Partition, PriorEvidence, side_by_side
from lapwing.solvers.graph.refine import (
    SMOOTH,
    STEPS,
    Path,
    diffused,
    partition_of,
    refine,
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
class Candidate:
    """Candidate partition: a refined cut.

    Attributes
    ----------
    problem : VolumeProblem
        Problem with the volumes of the cut as the prior.
    path : Path
        Its products with the graph include those of the descent that gave the volumes.
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
    reach, spent = reach_of(problem)
    begun = _unknown(problem, reach)
    spent += left_out.n_iter + sum(each.path.n_iter for each in begun)
    begun = [replace(each, path=replace(each.path, n_iter=0)) for each in begun]
    candidates, nats = _likeliest_split(problem, begun, left_out)
    smooth, shares = _averaged(problem, candidates, nats)
    found = partition_of(problem, candidates[int(np.argmin(nats))].path, smooth, shares)
    spent += sum(each.path.n_iter + SMOOTH for each in candidates)
    in_doubt = _in_doubt(problem, [each.path.codes for each in candidates], nats)
    return replace(found, n_iter=spent, left_out=left_out.counts, in_doubt=in_doubt)


def _likeliest_split(
    problem: VolumeProblem, candidates: Sequence[Candidate], left_out: LeftOut
) -> tuple[list[Candidate], Array]:
    """Split pairs of the likeliest candidates until no unsplit one is about as likely.

    Returns
    -------
    candidates : list of Candidate
        In the order of their likelihood before the splits; of candidates that are the same
        partition, only the likeliest.
    nats : ndarray
        Evidence against each candidate.
    """

    def against(each: Candidate) -> float:
        return each.handicap + negative_log_evidence(problem, each.path.codes, left_out)

    before = np.array([against(each) for each in candidates])
    distinct: list[int] = []
    for k in np.argsort(before, kind="stable").tolist():
        codes = candidates[k].path.codes
        if all(problem.differing(codes, candidates[j].path.codes) > _SAME for j in distinct):
            distinct.append(k)
    found, nats = [candidates[k] for k in distinct], before[distinct]
    waiting = set(range(len(found)))
    while near := [k for k in sorted(waiting) if nats[k] < nats.min() + _AS_LIKELY]:
        waiting -= set(near)
        jobs = [partial(split, found[k].problem, found[k].path) for k in near]
        for k, end in zip(near, side_by_side(problem, jobs), strict=True):
            after = against(replace(found[k], path=end))
            accepted = after < nats[k]
            path = end if accepted else replace(found[k].path, n_iter=end.n_iter)
            found[k] = replace(found[k], path=path)
            nats[k] = min(nats[k], after)
    return found, nats


def _at_known_volumes(problem: VolumeProblem, left_out: LeftOut) -> Partition:
    """Refine the cut at the prior, and compare its evidence with that of free volumes."""
    free = problem.with_prior(jeffreys_prior(problem.labels), exact=False)
    # The descent comes first because it leaves less in memory than a partition.
    jobs: list[Callable[[], Result[Array, float]]] = [
        partial(_at_free_volumes, free),
        partial(_refined_from_harmonic, problem),
    ]
    freed, answer = side_by_side(problem, jobs)
    assert isinstance(answer, Partition)
    nats = negative_log_evidence(free, answer.codes, left_out)
    nats -= negative_log_evidence(free, freed.state, left_out)
    volumes = free.volumes(free.members(freed.state))
    return replace(
        answer,
        n_iter=left_out.n_iter + answer.n_iter + freed.n_iter,
        prior_evidence=PriorEvidence(volumes, nats),
        left_out=left_out.counts,
    )


def _in_doubt(problem: VolumeProblem, answers: Sequence[Array], nats: Array) -> float:
    """Return the largest fraction of points whose class differs in another likely partition."""
    chosen = answers[int(np.argmin(nats))]
    near = zip(answers, nats < nats.min() + _AS_LIKELY, strict=True)
    return max(problem.differing(codes, chosen) for codes, likely in near if likely)


def _averaged(
    problem: VolumeProblem, candidates: Sequence[Candidate], nats: Array
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
    found = refine(problem, begun.x)
    return replace(found, n_iter=begun.n_iter + found.n_iter)


def _at_free_volumes(problem: VolumeProblem) -> Result[Array, float]:
    """Find a partition with free volumes by a descent from Poisson learning.

    It does not start from the partition at known volumes, from which it would hardly move.

    Returns
    -------
    Result
        Its state is the class of each point.
    """
    reach, spent = reach_of(problem)
    start = first_codes(problem, reach)
    del reach
    scales, tried = scales_of_contrast(problem, problem.whole(start), _CONTRASTS)
    reached = descend(problem, problem.whole(start), scales)
    codes = _codes_of(problem, reached.state)
    return replace(reached, state=codes, n_iter=spent + tried + reached.n_iter)


def _unknown(problem: VolumeProblem, reach: Array) -> list[Candidate]:
    """Compute the candidates for unknown volumes; see the module docstring."""
    start = first_codes(problem, reach)
    scales, spent = scales_of_contrast(problem, problem.whole(start), _CONTRASTS)
    poisson = problem.with_prior(
        _TRUST * problem.volumes(problem.whole(reach.argmax(axis=1)))
        + (1 - _TRUST) * problem.prior,
        exact=False,
    )
    jobs: list[Callable[[], list[Candidate]]] = [
        partial(_from_harmonic, problem, scales),
        lambda: [_by_descent(problem, start, scales, spent=spent)],
        lambda: [_by_descent(poisson, first_codes(poisson, reach), scales, handicap=_HANDICAP)],
    ]
    return [each for found in side_by_side(problem, jobs) for each in found]


def _from_harmonic(problem: VolumeProblem, scales: Sequence[Scale]) -> list[Candidate]:
    """Compute the candidates from harmonic functions: by a descent, and with their own volumes.

    The second one is used only if a class has several labels: with one label per class harmonic
    functions are spikes, whose volumes are meaningless.
    """
    begun = laplace(problem)
    centred = first_codes(problem, scaled(begun.state - begun.state.mean(axis=0)))
    found = [_by_descent(problem, centred, scales, spent=begun.n_iter)]
    if (np.bincount(problem.codes) > 1).any():
        found.append(_at_volumes(problem, begun.state.argmax(axis=1), begun.state, STEPS))
    return found


def _by_descent(
    problem: VolumeProblem,
    codes: Array,
    scales: Sequence[Scale],
    *,
    spent: int = 0,
    handicap: float = 0.0,
) -> Candidate:
    """Find volumes by a descent, and refine the cut at these volumes without splits."""
    reached = descend(problem, problem.whole(codes), scales)
    codes = _codes_of(problem, reached.state)
    found = _at_volumes(problem, codes, problem.whole(codes), _WALKS)
    spent += reached.n_iter + found.path.n_iter
    return replace(found, path=replace(found.path, n_iter=spent), handicap=handicap)


def _at_volumes(
    problem: VolumeProblem, codes: Array, scores: Array, steps: tuple[int, ...]
) -> Candidate:
    """Refine the cut at the volumes of a partition without splits."""
    held = problem.with_prior(_volumes_of(problem, codes), exact=True)
    return Candidate(held, walk_down(held, scores, steps))


def _codes_of(problem: VolumeProblem, shares: Array) -> Array:
    """Return the classes of the largest shares; labelled points keep theirs."""
    codes = shares.argmax(axis=1)
    codes[problem.index] = problem.codes
    return np.asarray(codes)


def _volumes_of(problem: VolumeProblem, codes: Array) -> Array:
    """Compute the volumes of a partition, with at least one unlabelled point in each class."""
    free, sizes = problem.free, problem.sizes
    held = np.bincount(problem.codes, sizes[problem.index], problem.n_classes)
    parts = np.bincount(codes[free], sizes[free], problem.n_classes)
    if len(free):
        parts = np.where(held > 0, np.maximum(parts, sizes.min()), parts)
        parts *= sizes[free].sum() / parts.sum()
    return np.asarray((held + parts) / sizes.sum())


def descend(
    problem: VolumeProblem,
    shares: Array,
    scales: Sequence[Scale],
    softness: Sequence[float] = _SOFTNESS,
) -> Result[Array, float]:
    """Minimise J at several scales in turn, each time from the previous shares.

    Parameters
    ----------
    problem : VolumeProblem
    shares : ndarray of shape (n, c)
        Initial shares.
    scales : sequence of Scale
        From coarse to fine.
    softness : sequence of float
        tau at each scale; with a smaller tau the volumes may differ more from the prior.

    Returns
    -------
    Result
        Its state is Q, its objective J at the last scale, its optimality the part of the shares
        that the last step changed, and its iterations are products with the graph.
    """
    point = _Point(shares, np.zeros(problem.n_classes))
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
    status = Status.CONVERGED if point.changed < _STILL else Status.MAX_ITER
    return Result(point.shares, point.value, point.changed, point.n_iter, status)


@dataclass(frozen=True, eq=False)
class _Point:
    shares: Array
    offsets: Array  # of the last balance, used to start the next one
    fitted: Array | None = None  # resolvent of the shares
    value: float = np.inf
    changed: float = 1.0  # part of the shares that differs from those of the step before
    n_iter: int = 0


def _evaluated(problem: VolumeProblem, point: _Point, scale: Scale, tau: float) -> _Point:
    """Compute the resolvent of the shares, and J."""
    Q, masses = point.shares, problem.sizes
    found = resolvent(problem, Q, scale.s, start=point.fitted)
    value = problem.energy(Q, found.x, found.residual) / scale.contrast
    value -= temperature_of(problem) * float(masses @ entropy(Q)) / float(masses.sum())
    value += tau * relative_entropy(problem.volumes(Q), problem.prior)
    return replace(point, fitted=found.x, value=value, n_iter=point.n_iter + found.n_iter)


def _stepped(problem: VolumeProblem, point: _Point, scale: Scale, tau: float) -> _Point:
    """Compute the next shares by balancing the resolvent."""
    assert point.fitted is not None
    free = problem.free
    found = balance(
        point.fitted[free] / np.float32(scale.contrast),
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
    moved = problem.sizes @ np.abs(Q - point.shares).sum(axis=1)
    changed = float(moved / problem.sizes.sum()) / 2
    return replace(point, shares=Q, offsets=found.offsets, changed=changed)
