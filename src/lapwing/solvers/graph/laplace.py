r"""Laplace learning: values that are the labels at their points and harmonic everywhere else.

.. math:: \min_U \tfrac12 \mathrm{tr}\, U^T L U, \qquad u_i = y_i \text{ where labelled}

(X. Zhu, Z. Ghahramani and J. Lafferty, "Semi-supervised learning using Gaussian fields and harmonic
functions", International Conference on Machine Learning, 912-919, 2003). Parts of the graph that no
label reaches are a null space: they get the shares of the classes among the labels.
"""

from __future__ import annotations

import numpy as np

from lapwing.linalg import column_dot
from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.graph.partition import (
    Descent,
    Partition,
    assigned,
    label_shares,
    positive_shares,
)
from lapwing.solvers.graph.resolvent import shifted_solve

_TOL = 1e-5
_MAX_ITER = 5000


def laplace(problem: VolumeProblem) -> Partition:
    """Part the points by harmonic functions."""
    graph, index = problem.graph, problem.index
    mean = label_shares(problem)
    held = np.zeros((problem.n_points, problem.n_classes), dtype=graph.dtype)
    held[index] = problem.labels - mean  # so that what labels do not reach stays at their mean
    right = graph.neighbors(held)
    alone = graph.masses - graph.degrees  # 0 but for points without neighbours, whose L is 0
    found = shifted_solve(graph, alone, 1.0, right, held=index, tol=_TOL, max_iter=_MAX_ITER)
    held += found.x
    energy = float(column_dot(held, graph.laplacian(held)).sum() / 2)
    scores = assigned(problem, held + mean.astype(graph.dtype))
    return Partition(
        scores,
        positive_shares(problem, scores),
        energy,
        (Descent("laplace", (energy,)),),
        max(1, found.n_iter),
        found.status,
        float(found.optimality.max(initial=0.0)),
    )
