"""The parts of a partition named anew, where the labels say so.

A label that lies between classes may begin amid another's points. Then the parts that a descent
finds are right, and two or three of them have each other's names. No small step mends that, and no
cut of a pair, for all their cuts are where the edges are few.

Names that change places move no boundary between points without a label. So what they change of the
cut are the edges of the labelled points alone, a sum over the classes: the names of least cut are a
linear assignment.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from lapwing._arrays import Array
from lapwing.objectives.volumes import VolumeProblem

__all__ = ["renamed"]


def renamed(problem: VolumeProblem, codes: Array) -> Array | None:
    """Classes of all points by the names of least cut; None if they have these.

    Parameters
    ----------
    problem : VolumeProblem
    codes : ndarray of int of shape (n,)
        Those of labelled points are not looked at: they keep their labels.

    Notes
    -----
    O(nnz(W_l) + c^3), W_l being the rows of the labelled points.
    """
    c, free = problem.n_classes, problem.free
    # Edges between labelled points stay as they are, so the labels have no part in it.
    ones = np.ones(len(free), dtype=problem.graph.dtype)
    shares = sp.csr_array((ones, (free, codes[free])), shape=(problem.n_points, c))
    votes = problem.graph.vote(shares, problem.index)
    # Weight of the edges from the labels of each class (row) to each part.
    agreement = np.zeros((c, c))
    np.add.at(agreement, problem.codes, problem.graph.masses[problem.index, None] * votes)
    labels, parts = linear_sum_assignment(agreement, maximize=True)
    if not agreement[labels, parts].sum() > np.trace(agreement):
        return None
    name = np.empty(c, dtype=codes.dtype)
    name[parts] = labels
    found = name[codes]
    found[problem.index] = problem.codes
    return np.asarray(found)
