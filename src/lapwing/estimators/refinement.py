"""An answer refined on the graph of its fit, and the function that follows it.

`lapwing.solvers.graph.refine` does the work on values of the points: what it needs of a fit is put
together here, and what it finds becomes a `Solution` again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from lapwing._arrays import Array
from lapwing._host.memory import require_memory
from lapwing.classes.voting import coded_columns, elect, of_each_class
from lapwing.estimators.posing import volume_problem
from lapwing.estimators.prepared import Prepared, Solution
from lapwing.graphs.diffusion import Diffusion
from lapwing.solvers.graph.order import in_order, order_bytes
from lapwing.solvers.graph.refine import Refinement, refine
from lapwing.spaces import FittedFunction

_NUMBERS = 6  # of every point and class that are alive at once


@dataclass(frozen=True, eq=False)
class RefinedSolution(Solution):
    """The refined answer, and the function that follows it."""

    holds_prior: ClassVar[bool] = True


def refined(
    prepared: Prepared, solution: Solution, follow: Callable[[Array], FittedFunction]
) -> Solution:
    """Refine the answer of a solution.

    Parameters
    ----------
    prepared : Prepared
        With a graph.
    solution : Solution
    follow : callable
        From values (n, c), -1 and +1, at all points to a function that follows them.

    Returns
    -------
    Solution
        The same one, told so, where no smaller cut was found.
    """
    classes = prepared.targets.attributes["classes_"]
    graph, prior = Diffusion.of(prepared.laplacian), _wanted(prepared, solution, len(classes))
    problem = volume_problem(prepared.problem, graph, prior, exact=True)
    require_memory(
        8.0 * _NUMBERS * problem.n_points * len(classes) + order_bytes(problem),
        f"Refining the answer for {len(classes)} classes at {problem.n_points} points",
        "Use refine=None.",
    )
    ordered = in_order(problem)
    found = refine(ordered.problem, ordered.there(of_each_class(solution.values)))
    told = {
        **solution.attributes,
        "refined_": found.improved,
        "cut_history_": found.history,
    }
    if not found.improved:
        return replace(solution, attributes=told)
    function = follow(coded_columns(ordered.back(found.codes), len(classes)))
    return RefinedSolution(function, ordered.back(_values(found, solution.values)), told)


def _wanted(prepared: Prepared, solution: Solution, n_classes: int) -> Array:
    """The class prior; without one the volumes of the answer."""
    prior = prepared.targets.attributes.get("class_prior_")
    if prior is not None:
        return np.asarray(prior)
    vertex = prepared.problem.vertex
    volumes = np.bincount(elect(solution.values[vertex[vertex >= 0]]), minlength=n_classes)
    return np.asarray(volumes / volumes.sum())


def _values(found: Refinement, before: Array) -> Array:
    """Decision values at which the scores 0 and 1 are -1 and +1; one column for two classes."""
    scores: Any = found.scores
    values = 2 * scores - 1 if before.shape[1] > 1 else scores[:, 1:] - scores[:, :1]
    return np.asarray(values.astype(before.dtype, copy=False))
