"""An answer refined on the graph of its fit, and the function that follows it.

`lapwing.solvers.graph.refine` does the work on values of the points: what it needs of a fit is put
together here, and what it finds becomes a `Solution` again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from lapwing._arrays import Array
from lapwing._host.memory import require_memory
from lapwing.classes.voting import coded_columns, electing, of_each_class
from lapwing.estimators.prepared import Prepared, Solution
from lapwing.graphs.diffusion import Diffusion
from lapwing.objectives.volumes import volume_problem
from lapwing.solvers.graph.refine import refine
from lapwing.solvers.graph.registry import in_order, order_bytes
from lapwing.spaces import FittedFunction

_NUMBERS = 6  # of every point and class that are alive at once


@dataclass(frozen=True, eq=False)
class RefinedSolution(Solution):
    """The refined answer, and the function that follows it."""

    holds_prior: ClassVar[bool] = True


def refined(
    prepared: Prepared,
    solution: Solution,
    shown: Array,
    follow: Callable[[Array], FittedFunction],
) -> Solution:
    """Refine the answer of a solution.

    Parameters
    ----------
    prepared : Prepared
        With a graph.
    solution : Solution
    shown : ndarray of int of shape (n,)
        Classes that the solution gives to the points, class prior included.
    follow : callable
        From values (n, c), -1 and +1, at all points to a function that follows them.

    Returns
    -------
    Solution
        The same one, told so, where no smaller cut was found.
    """
    n_classes = len(prepared.targets.attributes["classes_"])
    graph, prior = Diffusion.of(prepared.laplacian), _volumes(prepared, shown, n_classes)
    problem = volume_problem(prepared.problem, graph, prior, exact=True)
    require_memory(
        8.0 * _NUMBERS * problem.n_points * n_classes + order_bytes(problem),
        f"Refining the answer for {n_classes} classes at {problem.n_points} points",
        "Use refine=None.",
    )
    ordered = in_order(problem)
    scores = ordered.there(of_each_class(solution.values))
    found = refine(ordered.problem, scores, before=ordered.there(shown))
    told = {
        **solution.attributes,
        "refined_": found.improved,
        "cut_history_": found.history,
    }
    if not found.improved:
        return replace(solution, attributes=told)
    codes = ordered.back(found.codes)
    function = follow(coded_columns(codes, n_classes))
    values = _values(ordered.back(found.scores), codes, solution.values)
    return RefinedSolution(function, values, told)


def _volumes(prepared: Prepared, shown: Array, n_classes: int) -> Array:
    """Parts of the classes in the answer; the prior if the answer misses it by a row or more."""
    vertex = prepared.problem.vertex
    volumes = np.bincount(shown[vertex[vertex >= 0]], minlength=n_classes)
    prior = prepared.targets.attributes.get("class_prior_")
    if prior is not None and np.abs(volumes - volumes.sum() * prior).max() >= 1:
        return np.asarray(prior)
    return np.asarray(volumes / volumes.sum())


def _values(scores: Array, codes: Array, before: Array) -> Array:
    """Decision values at which the scores 0 and 1 are -1 and +1; one column for two classes."""
    values = 2 * scores - 1 if before.shape[1] > 1 else scores[:, 1:] - scores[:, :1]
    return electing(values.astype(before.dtype, copy=False), codes)
