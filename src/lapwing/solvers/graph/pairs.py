"""The problem of two classes on some of the points."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lapwing._arrays import Array
from lapwing.objectives.volumes import VolumeProblem


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
