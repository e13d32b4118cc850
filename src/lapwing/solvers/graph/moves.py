"""Non-local moves after the descent of a partition.

1. `relabel`: where labels say that classes have each other's names, they are exchanged.
2. `regrow`: a class whose labels are contradicted by their neighbours grows anew from its labels.
3. `swap`: pairs of classes are cut anew. Where that changed anything, the finest scales follow,
   and 1 and 2 once more.
4. Where volumes are not known, the finest scales are followed until the objective rests.

The objective decides whether a move is kept, and not the cut alone: with soft volumes a cut through
one class is as short as one between two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
import scipy.linalg as sla
from scipy.optimize import linear_sum_assignment
from scipy.special import rel_entr

from lapwing._arrays import Array
from lapwing.objectives.volumes import GraphOperator, VolumeProblem
from lapwing.solvers.graph.annealing import SOFTNESS, Balanced, Run, Stage, descend, side_by_side
from lapwing.solvers.graph.linear import first_codes, reach_of, shifted_solve

_PAIRS_FROM, _LAST_FROM = 2, 3
_NAMED_FROM = (_LAST_FROM, -1)
_ROUNDS = 3
_RESTS, _RESTING = 5, 1e-3  # at most so many descents, each to lower J by such a part

_TOL = 1e-4

_FUNCTIONS = 3
_SPARE = 3  # columns beside those that are wanted, which make the iteration converge
_SWAP_ROUNDS = 4


def apply_moves(run: Run) -> list[Run]:
    """Apply the moves to the partition of a run.

    Where volumes are not known and a class was grown anew, also without that: the objective alone
    would give a class half of a larger one, for it holds volumes near the prior more strongly than
    a cut weighs. Which is right, `lapwing.solvers.graph.evidence` says.
    """
    grown = _moved(run, (_relabel, _regrow_classes))
    if run.problem.exact or not grown.regrow:
        return [grown]
    return [grown, _moved(run, (_relabel,))]


def _moved(run: Run, small: Sequence[Callable[[Run], Run]]) -> Run:
    """Small repairs, pairs cut anew, and small repairs where that changed anything."""
    run = _in_turn(run, small)
    swapped = swap_pairs(run.problem, run.reached.shares, _exact(run.stages[_PAIRS_FROM:]))
    run = run.having_spent(swapped.n_iter)
    if swapped.pairs:
        begin = run.problem.whole(swapped.codes)
        again = descend(run.problem, begin, run.stages[_LAST_FROM:], "after swaps")
        run = run.tried(again, kept=again.objective < run.reached.objective)
        run = _in_turn(run, small)
    return run if run.problem.exact else _rested(run)


def _in_turn(run: Run, small: Sequence[Callable[[Run], Run]]) -> Run:
    for repair in small:
        run = repair(run)
    return run


def _relabel(run: Run) -> Run:
    """Name the parts anew while that lowers the objective and contradicts no more labels."""
    problem, stages = run.problem, run.stages
    for _ in range(_ROUNDS):
        shares = relabelled(problem, run.reached.shares, _soft(stages[-1]))
        if shares is None:
            break
        # At the finest scale alone J falls for certain; the others may find more.
        followed = [
            descend(problem, shares, stages[first:], "after renaming") for first in _NAMED_FROM
        ]
        again = min(followed, key=lambda each: each.objective)
        kept = _better(run, again)
        run = run.tried(again, kept=kept)
        if not kept:
            break
    return run


def _regrow_classes(run: Run) -> Run:
    """Grow contradicted classes anew while J falls and no more labels are contradicted."""
    problem, stages = run.problem, run.stages
    for _ in range(_ROUNDS):
        codes = regrow(problem, run.reached, _exact(stages[_PAIRS_FROM:]))
        if codes is None:
            break
        again = descend(problem, problem.whole(codes), stages[_PAIRS_FROM:], "after regrowth")
        kept = _better(run, again)
        run = run.tried(again, kept=kept)
        if not kept:
            break
        run = replace(run, regrow=True)
    return run


def _rested(run: Run) -> Run:
    """Follow the finest scales from whole shares until the objective hardly falls any more."""
    problem, stages = run.problem, run.stages
    for _ in range(_RESTS):
        begin = problem.whole(run.reached.shares.argmax(axis=1))
        again = descend(problem, begin, stages[_LAST_FROM:], "to rest")
        before = run.reached.objective
        kept = before - again.objective > _RESTING * abs(before)
        run = run.tried(again, kept=kept)
        if not kept:
            break
    return run


def _better(run: Run, again: Balanced) -> bool:
    """Whether J is lower and no more labels are contradicted."""
    before = run.problem.disagreeing(run.reached.shares)
    worse = run.problem.disagreeing(again.shares) > before
    return again.objective < run.reached.objective and not worse


def _soft(stage: Stage) -> Stage:
    """The same with volumes that are not known.

    Volumes that are held say which part is which, but have no part in J. Without them two of twenty
    draws of Uspst, one label a class, took wrong names: 22.6 and 26.6 % errors, not 5.7 and 5.5.
    """
    return replace(stage, softness=SOFTNESS[-1])


def _exact(stages: Sequence[Stage]) -> list[Stage]:
    return [replace(stage, softness=np.inf) for stage in stages]


def pair_problem(
    problem: VolumeProblem, rows: Array, pair: tuple[int, int], second: float
) -> VolumeProblem | None:
    """Two classes by themselves at given volumes.

    Parameters
    ----------
    problem : VolumeProblem
    rows : ndarray of int
        The points. Labels of other classes among them are left out.
    pair : (int, int)
    second : float
        Part of the points that the second class is to have.

    Returns
    -------
    VolumeProblem or None
        None if a class has no label there or its labels leave no room.
    """
    place = np.full(problem.n_points, -1)
    place[rows] = np.arange(len(rows))
    mine = np.flatnonzero((place[problem.index] >= 0) & np.isin(problem.codes, pair))
    codes = (problem.codes[mine] == pair[1]).astype(np.intp)
    part = replace(
        problem,
        graph=problem.graph.restrict(rows),
        index=place[problem.index[mine]],
        labels=np.eye(2)[codes],
        weights=problem.weights[mine],
        prior=np.array([1 - second, second]),
        exact=True,
        sizes=problem.sizes[rows],
    )
    room = part.prior - part.known / part.sizes.sum()
    return part if (part.known > 0).all() and (room > 0).all() else None


class Pair(NamedTuple):
    """Two classes of a partition by themselves, at their present volumes."""

    rows: Array  # their points
    present: Array  # 1 where the second class is
    part: VolumeProblem | None  # as `pair_problem` has it


def present_pair(problem: VolumeProblem, codes: Array, pair: tuple[int, int]) -> Pair:
    """The points that a partition gives to two classes, and their problem.

    Parameters
    ----------
    problem : VolumeProblem
    codes : ndarray of int of shape (n,)
        The partition.
    pair : (int, int)
    """
    rows = np.flatnonzero((codes == pair[0]) | (codes == pair[1]))
    present = (codes[rows] == pair[1]).astype(np.intp)
    sizes = problem.sizes[rows]
    second = float(sizes @ present / sizes.sum())
    return Pair(rows, present, pair_problem(problem, rows, pair, second))


def regrow(problem: VolumeProblem, found: Balanced, stages: Sequence[Stage]) -> Array | None:
    """Classes of all points with the first contradicted class grown anew; None if there is none.

    Parameters
    ----------
    problem : VolumeProblem
    found : Balanced
        Its shares and scores.
    stages : sequence of Stage
        For the split of the place of its labels.
    """
    codes = found.shares.argmax(axis=1)
    codes[problem.index] = problem.codes
    for k, holder in _contradicted(problem, codes):
        mine = problem.index[problem.codes == k]
        rows = np.union1d(np.flatnonzero(codes == holder), mine)
        volumes = problem.prior[[holder, k]]
        part = pair_problem(problem, rows, (holder, k), float(volumes[1] / volumes.sum()))
        if part is None:
            continue
        begin = part.whole(first_codes(part, reach_of(part)[0]))
        split = descend(part, begin, stages, "split").shares.argmax(axis=1)
        left = np.flatnonzero(codes == k)
        others = found.scores[left].copy()
        others[:, k] = -np.inf
        codes[left] = others.argmax(axis=1)
        codes[rows] = np.where(split == 1, k, holder)
        codes[problem.index] = problem.codes
        return np.asarray(codes)
    return None


def _contradicted(problem: VolumeProblem, codes: Array) -> list[tuple[int, int]]:
    """Classes whose labels' neighbours are of another class for the most part, and which."""
    votes = problem.graph.vote(problem.whole(codes), problem.index)
    found = []
    for k in np.unique(problem.codes).tolist():
        mine = problem.codes == k
        total = problem.weights[mine] @ votes[mine]
        holder = int(total.argmax())
        if total[holder] > total[k]:
            found.append((k, holder))
    return found


def relabelled(problem: VolumeProblem, shares: Array, stage: Stage) -> Array | None:
    """Shares by the names of least J at a stage; None if they have these.

    Parameters
    ----------
    problem : VolumeProblem
    shares : ndarray of shape (n, c)
        Those of labelled points are not looked at: they keep their labels.
    stage : Stage

    Notes
    -----
    Sparse products with c columns at one scale, and O(c^3).
    """
    free = shares[problem.free]
    costs = _costs(problem, free, stage)
    classes, parts = linear_sum_assignment(costs)
    if not costs[classes, parts].sum() < np.trace(costs):
        return None
    found = np.empty_like(shares)
    found[problem.free] = free[:, parts]
    found[problem.index] = problem.labels
    return found


def _costs(problem: VolumeProblem, free: Array, stage: Stage) -> Array:
    """Compute J of each class (row) under the name of each part (column)."""
    masses, index = problem.graph.masses, problem.index
    source = np.zeros((problem.n_points, problem.n_classes))
    source[index] = masses[index, None] * problem.labels + problem.pull
    reach = shifted_solve(problem.graph, masses + problem.clamp, stage.scale.s, source, tol=_TOL).x[
        problem.free
    ]
    weighted = masses[problem.free].astype(reach.dtype)[:, None] * reach
    costs = -(weighted.T @ free).astype(np.float64) / (stage.scale.contrast * masses.sum())
    if np.isfinite(stage.softness):
        total = problem.sizes.sum()
        volumes = (problem.known[:, None] + problem.sizes[problem.free] @ free) / total
        costs += stage.softness * rel_entr(volumes, problem.prior[:, None])
    return np.asarray(costs)


@dataclass(frozen=True, eq=False)
class Swapped:
    """Result of cutting pairs of classes anew.

    Attributes
    ----------
    codes : ndarray of shape (n,)
    pairs : tuple of pairs of int
        Those that were cut anew.
    n_iter : int
        Products with the parts of the graph, in products with the whole.
    """

    codes: Array
    pairs: tuple[tuple[int, int], ...]
    n_iter: float


def swap_pairs(problem: VolumeProblem, shares: Array, stages: Sequence[Stage]) -> Swapped:
    """Cut the pairs of classes with the largest cuts anew, as many as there are classes.

    Parameters
    ----------
    problem : VolumeProblem
    shares : ndarray of shape (n, c)
    stages : sequence of Stage
        For the two classes of a pair, from coarse to fine.
    """
    codes = shares.argmax(axis=1)
    codes[problem.index] = problem.codes
    changed, n_iter = [], 0.0
    disagreeing = problem.disagreeing(problem.members(codes))
    for pair in worst_pairs(problem, codes):
        rows, present, part = present_pair(problem, codes, pair)
        if part is None:
            continue
        found, spent = _best_split(part, present, stages)
        n_iter += spent * len(rows) / problem.n_points
        if found is None:
            continue
        proposed = codes.copy()
        proposed[rows] = np.where(found == 1, pair[1], pair[0])
        after = problem.disagreeing(problem.members(proposed))
        if after <= disagreeing:
            codes, disagreeing = proposed, after
            changed.append(pair)
    return Swapped(codes, tuple(changed), n_iter)


def worst_pairs(problem: VolumeProblem, codes: Array) -> list[tuple[int, int]]:
    """Pairs of classes by the cut between them, relative to the smaller one; as many as classes."""
    c = problem.n_classes
    cuts = problem.graph.cuts(codes, c)
    volume = np.bincount(codes, problem.graph.masses, c)
    tiny = np.finfo(float).tiny
    ratio = {
        (k, j): cuts[k, j] / max(min(volume[k], volume[j]), tiny)
        for k, j in combinations(range(c), 2)
    }
    worst = sorted((pair for pair in ratio if ratio[pair] > 0), key=lambda pair: -ratio[pair])
    return worst[:c]


def _best_split(
    part: VolumeProblem, present: Array, stages: Sequence[Stage]
) -> tuple[Array | None, int]:
    """The split of least energy, None if it is the present one; products with the part."""
    vectors, n_iter = smooth_functions(part.graph, _FUNCTIONS, present, stages[0].scale.s)
    splits = [present, *(split_at_volumes(part, vector) for vector in vectors.T)]
    found = side_by_side(part, partial(_followed, part, stages), splits)
    n_iter += sum(each.n_iter for each in found)
    best = min(found, key=lambda each: each.objective)
    codes = best.shares.argmax(axis=1)
    if best is found[0] or (codes == present).mean() > 1 - _SAME:
        return None, n_iter
    return codes, n_iter


_SAME = 1e-3  # part of the points that a descent may still move


def _followed(part: VolumeProblem, stages: Sequence[Stage], codes: Array) -> Balanced:
    return descend(part, part.whole(codes), stages, "pair")


def split_at_volumes(part: VolumeProblem, vector: Array) -> Array:
    """The largest values as the class of more of the labels there, at the volumes of the pair."""
    code = np.where(part.codes == 1, 1.0, -1.0)
    if float((code * part.weights) @ vector[part.index]) < 0:
        vector = -vector
    order = np.argsort(-vector, kind="stable")
    filled = np.cumsum(part.sizes[order]) / part.sizes.sum()
    codes = np.zeros(part.n_points, dtype=np.intp)
    codes[order[filled <= part.prior[1]]] = 1
    return codes


def smooth_functions(
    graph: GraphOperator, wanted: int, guess: Array, s: float
) -> tuple[Array, int]:
    """Eigenvectors of L v = lambda D v after the constant one, about; and products with the graph.

    Powers of the resolvent (D + sL)^-1 D on a few columns, one of which is a guess, then the best
    combinations (Rayleigh and Ritz). Only signs and order of the values are used: two digits do.

    Returns
    -------
    vectors : ndarray of shape (n, wanted), or fewer columns for fewer points
    n_iter : int
    """
    n, d = graph.n_points, graph.masses
    width = min(wanted + _SPARE, n - 1)
    V = np.empty((n, width))
    # By values of the graph: the start of a point does not depend on its place.
    order = np.argsort(graph.laplacian(d[:, None].astype(graph.dtype))[:, 0], kind="stable")
    V[order] = np.random.default_rng(0).standard_normal((n, width))
    V[:, 0] = guess
    n_iter = 0
    for _ in range(_SWAP_ROUNDS):
        V = _orthonormal(V, d)
        found = shifted_solve(graph, d, s, d[:, None] * V, start=None)
        V, n_iter = found.x.astype(np.float64), n_iter + found.n_iter
    V = _orthonormal(V, d)
    small = V.T @ graph.laplacian(V.astype(graph.dtype)).astype(np.float64)
    _, turn = sla.eigh((small + small.T) / 2)
    return V @ turn[:, :wanted], n_iter


def _orthonormal(V: Array, d: Array) -> Array:
    """In the metric of d, and to the constants."""
    root = np.sqrt(d)[:, None]
    V = V - d @ V / d.sum()
    return np.asarray(np.linalg.qr(root * V)[0] / root)
