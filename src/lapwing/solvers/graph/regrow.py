"""A class that lost the place of its labels, grown anew from them.

A descent may give a class away: its points are elsewhere, and the neighbours of its labels belong
to another class. Small steps do not bring it back, and no cut of a pair does, as three classes take
part: the one that is misplaced, the one that holds its place, and the one whose place it holds. So
the misplaced class leaves its points to those that come second there, and the class that holds its
place is split between the two by their labels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lapwing._arrays import Array
from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.graph.descent import Balanced, Stage, descend
from lapwing.solvers.graph.pairs import pair_problem
from lapwing.solvers.graph.start import first_codes, reach_of


def regrown(problem: VolumeProblem, found: Balanced, stages: Sequence[Stage]) -> Array | None:
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
