"""Labels of a fit as solvers on graphs take them."""

from __future__ import annotations

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.voting import elect
from lapwing.objectives.volumes import GraphOperator, VolumeProblem
from lapwing.problem import Problem


def volume_problem(
    problem: Problem, graph: GraphOperator, prior: Array, *, exact: bool
) -> VolumeProblem:
    """The labels of a problem on its graph, each point with as many rows as it stands for.

    Where the labels of a point contradict each other it has shares of them, by their weights.
    """
    index, place = np.unique(problem.index, return_inverse=True)
    votes = np.zeros((len(index), len(prior)))
    np.add.at(votes, (place.ravel(), elect(problem.targets)), problem.weights)
    weights = votes.sum(axis=1)
    used = problem.vertex[problem.vertex >= 0]
    return VolumeProblem(
        graph,
        index,
        votes / weights[:, None],
        weights / weights.mean(),
        prior,
        exact,
        np.bincount(used, minlength=problem.n_points).astype(np.float64),
    )
