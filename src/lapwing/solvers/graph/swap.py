"""Pairs of classes cut anew, where the cut between them is short-sighted.

A descent may end with two classes that each hold a part of the other: a wrong cut that no small
step repairs. So for the pairs of classes with the largest cut between them, relative to the smaller
one, the points of both are looked at by themselves. Their graph's smooth functions (the
eigenvectors 2 to 4 of L v = lambda D v) say where it may be parted; each is split at the volumes of
the pair, its sides named by the labels, and followed down the scales, as the present split is. The
one of least energy at the finest scale takes the place of the present one, unless more labels would
then be contradicted by their neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
import scipy.linalg as sla

from lapwing._arrays import Array
from lapwing.objectives.volumes import GraphOperator, VolumeProblem
from lapwing.solvers.graph.descent import Balanced, Stage, descend, side_by_side
from lapwing.solvers.graph.pairs import present_pair
from lapwing.solvers.graph.resolvent import shifted_solve

_FUNCTIONS = 3
_SPARE = 3  # columns beside those that are wanted, which make the iteration converge
_ROUNDS = 4


@dataclass(frozen=True, eq=False)
class Swapped:
    """What cutting pairs anew has changed.

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
    for _ in range(_ROUNDS):
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
