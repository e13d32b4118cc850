r"""Random walks with restart: which class a walker that may stop at any step began at.

.. math:: (D - \alpha W)\, F = Y

(D. Zhou and B. Schoelkopf, "Learning from labeled and unlabeled data using random walks", DAGM
Symposium, 237-244, 2004), Y divided by the number of labels of each class.
"""

from __future__ import annotations

import numpy as np

from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.graph.partition import (
    Descent,
    Partition,
    assigned,
    label_shares,
    positive_shares,
)
from lapwing.solvers.graph.resolvent import shifted_solve

_ALPHA = 0.95
_TOL = 1e-5
_MAX_ITER = 1000


def random_walk(problem: VolumeProblem) -> Partition:
    """Part the points by the visits of walkers from each class."""
    graph, mean = problem.graph, label_shares(problem)
    weighted = problem.weights[:, None] * problem.labels
    right = np.zeros((problem.n_points, problem.n_classes), dtype=graph.dtype)
    right[problem.index] = weighted / weighted.sum(axis=0)
    # (1 - alpha) D + alpha L = D - alpha W.
    leak = (1 - _ALPHA) * graph.masses
    found = shifted_solve(graph, leak, _ALPHA, right, tol=_TOL, max_iter=_MAX_ITER)
    visits = np.maximum(found.x, 0).astype(np.float64)
    total = visits.sum(axis=1, keepdims=True)
    reached = total > 0
    shares = np.where(reached, visits / np.where(reached, total, 1.0), mean)
    scores = assigned(problem, shares)
    quadratic = float((found.x * (right + found.residual)).sum(dtype=np.float64))
    energy = -quadratic / 2  # of 1/2 tr F'(D - alpha W)F - tr F'Y at its minimum
    return Partition(
        scores,
        positive_shares(problem, scores),
        energy,
        (Descent("random walk", (energy,)),),
        max(1, found.n_iter),
        found.status,
        float(found.optimality.max()),
    )
