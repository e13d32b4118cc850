"""Registry of the methods that partition a graph into classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from lapwing._arrays import Array
from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.graph.flow import flow
from lapwing.solvers.graph.linear import laplace, poisson, random_walk
from lapwing.solvers.graph.mbo import cut, mbo
from lapwing.solvers.graph.partition import Partition, n_side_by_side

_CACHED = 250_000  # shares: fewer stay in the cache in any order

# Arrays of a number for every point and class that are alive at once, measured by one thread: 10
# for known volumes and 16 for unknown ones.
_ALONE, _BESIDE = 14, 6
# Answers that are compared, and the most jobs that run in threads.
_KNOWN, _UNKNOWN = (2, 2), (4, 3)


@dataclass(frozen=True)
class PartitionMethod:
    """A method by name.

    Attributes
    ----------
    name : str
    part : callable
        From a problem to a `Partition`.
    holds_volumes : bool
        Whether volumes are part of what it minimises. Others meet known ones by offsets at the end.
    """

    name: str
    part: Callable[[VolumeProblem], Partition]
    holds_volumes: bool = False

    def solve(self, problem: VolumeProblem) -> Partition:
        """Part the points, in an order that products with the graph are quick in."""
        ordered = in_order(problem)
        found = self.part(ordered.problem)
        scores, shares = ordered.back(found.scores), ordered.back(found.shares)
        return replace(found, scores=scores, shares=shares)


PARTITIONS: Mapping[str, PartitionMethod] = MappingProxyType(
    {
        method.name: method
        for method in (
            PartitionMethod("laplace", laplace),
            PartitionMethod("random-walk", random_walk),
            PartitionMethod("poisson", poisson),
            PartitionMethod("mbo", mbo, holds_volumes=True),
            PartitionMethod("flow", flow, holds_volumes=True),
            PartitionMethod("cut", cut, holds_volumes=True),
        )
    }
)


@dataclass(frozen=True, eq=False)
class Ordered:
    """A problem with its points in another order.

    Attributes
    ----------
    problem : VolumeProblem
    order : ndarray of int of shape (n,) or None
        Which point of the problem before is the i-th one; None where it is the same problem.
    """

    problem: VolumeProblem
    order: Array | None

    def there(self, rows: Array) -> Array:
        """Rows of the points before, as those of this problem."""
        return rows if self.order is None else rows[self.order]

    def back(self, rows: Array) -> Array:
        """Rows of this problem, as those of the points before."""
        if self.order is None:
            return rows
        found = np.empty_like(rows)
        found[self.order] = rows
        return found


def in_order(problem: VolumeProblem) -> Ordered:
    """The problem with neighbours near each other, where its shares do not fit the cache anyway."""
    if _stays(problem):
        return Ordered(problem, None)
    order, graph = problem.graph.ordered
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    moved = replace(problem, graph=graph, index=place[problem.index], sizes=problem.sizes[order])
    return Ordered(moved, order)


def order_bytes(problem: VolumeProblem) -> int:
    """Memory that the graph in another order takes."""
    return 0 if _stays(problem) else problem.graph.nbytes


def _stays(problem: VolumeProblem) -> bool:
    return problem.n_points * problem.n_classes < _CACHED


def partition_bytes(problem: VolumeProblem) -> float:
    """Memory that parting a graph takes, beside the graph as it came."""
    n, c = problem.n_points, problem.n_classes
    shares = float(problem.graph.dtype.itemsize) * n * c
    return share_arrays(n, c, exact=problem.exact) * shares + order_bytes(problem)


def share_arrays(n_points: int, n_classes: int, *, exact: bool) -> int:
    """Arrays of the size of the shares (n, c) that parting a graph holds at most.

    Parameters
    ----------
    n_points, n_classes : int
    exact : bool
        Whether the volumes are known.
    """
    answers, jobs = _KNOWN if exact else _UNKNOWN
    beside = min(n_side_by_side(n_points * n_classes), jobs)
    return _ALONE + answers + _BESIDE * (beside - 1)
