r"""The parts of a partition named anew, where the labels say so.

A label that lies between classes may begin amid another's points. Then the parts that a descent
finds are right, and two or three of them have each other's names. No small step mends that, and no
cut of a pair, for all their cuts are where the edges are few.

Names that change places move no boundary between points without a label. So what they change of J
(`lapwing.objectives.volumes`) is how the labels, smoothed at the scale, meet the parts, and the
volumes: with G the resolvent of the labels alone, class k under the name of part p costs

.. math:: -\frac1{cV} \sum_i d_i g_{ik} q_{ip} + \tau\, v_{kp} \log \frac{v_{kp}}{\pi_k},

v_kp being the part of all points that p and the labels of k are together. That is a sum over the
classes: the names of least J are a linear assignment. The votes of the labels' neighbours would say
the same at the scale 0 only, where a label that lies by itself says little.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import rel_entr

from lapwing._arrays import Array
from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.graph.descent import Stage
from lapwing.solvers.graph.resolvent import shifted_solve

_TOL = 1e-4


def renamed(problem: VolumeProblem, shares: Array, stage: Stage) -> Array | None:
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
    """What J has of each class (row) under the name of each part."""
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
