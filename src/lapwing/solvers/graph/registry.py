"""Registry of the methods that partition a graph into classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from lapwing._arrays import Array
from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.base import Solver, registry
from lapwing.solvers.graph.flow import flow
from lapwing.solvers.graph.mbo import cut, mbo
from lapwing.solvers.graph.partition import Partition, fraction_at_once, n_side_by_side
from lapwing.solvers.graph.propagation import laplace, poisson, random_walk

_CACHED = 250_000  # entries of the shares: fewer fit into the cache in any order

# Arrays of size n c in memory at once: for one job, of these in systems of the columns that are
# solved at once, and for each further job in a thread. Measured with one thread: 15 for known
# volumes and 18 for unknown ones (12 classes), and 9 in blocks of columns (100 classes).
_ALONE, _OF_SYSTEMS, _BESIDE = 14, 6, 6
# Partitions that are compared, and the maximum number of jobs in threads.
_KNOWN, _UNKNOWN, _TWO_UNKNOWN = (2, 2), (5, 3), (6, 3)
_GRAPHS = 3  # W with its diagonal, a multiple of it, and D^-1 W


@dataclass(frozen=True)
class PartitionMethod(Solver[Callable[[VolumeProblem], Partition]]):
    """Partition method in the registry.

    Attributes
    ----------
    solve : callable (problem) -> Partition
    holds_volumes : bool, default=False
        Whether the method constrains the volumes. Other methods meet known volumes by offsets of
        their scores.
    """

    holds_volumes: bool = False


PARTITIONS = registry(
    PartitionMethod(laplace, "laplace", "is harmonic functions (Zhu et al. 2003)"),
    PartitionMethod(
        random_walk, "random-walk", "is random walks with restart (Zhou and Schölkopf 2004)"
    ),
    PartitionMethod(poisson, "poisson", "is Poisson learning (Calder et al. 2020)"),
    PartitionMethod(
        mbo,
        "mbo",
        "is volume-constrained threshold dynamics (Jacobs et al. 2018); with an unknown prior at "
        "the label counts plus 1/2",
        holds_volumes=True,
    ),
    PartitionMethod(
        flow,
        "flow",
        "minimises the cut at known volumes, or at several candidate volumes",
        holds_volumes=True,
    ),
    PartitionMethod(
        cut,
        "cut",
        "minimises the cut by continuation from several starts, at the volumes of 'mbo'",
        holds_volumes=True,
    ),
)


@dataclass(frozen=True, eq=False)
class Ordered:
    """Problem with reordered points.

    Attributes
    ----------
    problem : VolumeProblem
    order : ndarray of int of shape (n,) or None
        Original index of each point; None if the order is unchanged.
    """

    problem: VolumeProblem
    order: Array | None

    def there(self, rows: Array) -> Array:
        """Reorder rows from the original order."""
        return rows if self.order is None else rows[self.order]

    def back(self, rows: Array) -> Array:
        """Restore the original order of rows."""
        if self.order is None:
            return rows
        found = np.empty_like(rows)
        found[self.order] = rows
        return found

    def solve(self, method: Callable[[VolumeProblem], Partition]) -> Partition:
        """Partition the points by a method, and return the result in the order before."""
        found = method(self.problem)
        return replace(found, state=self.back(found.state), shares=self.back(found.shares))


def in_order(problem: VolumeProblem) -> Ordered:
    """Reorder the points so that neighbours are close, if the shares do not fit into the cache."""
    if _stays(problem):
        return Ordered(problem, None)
    order, graph = problem.graph.ordered
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    moved = replace(problem, graph=graph, index=place[problem.index], sizes=problem.sizes[order])
    return Ordered(moved, order)


def order_bytes(problem: VolumeProblem) -> int:
    """Return the memory in bytes of the reordered graph."""
    return 0 if _stays(problem) else problem.graph.nbytes


def _stays(problem: VolumeProblem) -> bool:
    return problem.n_points * problem.n_classes < _CACHED


def partition_bytes(problem: VolumeProblem) -> float:
    """Return the memory in bytes that a partition method needs besides the graph."""
    n, c = problem.n_points, problem.n_classes
    shares = float(problem.graph.dtype.itemsize) * n * c
    graphs = _GRAPHS * problem.graph.nbytes + order_bytes(problem)
    return share_arrays(n, c, exact=problem.exact) * shares + graphs


def share_arrays(n_points: int, n_classes: int, *, exact: bool) -> float:
    """Return the maximum number of arrays of shape (n, c) that a partition method needs.

    Parameters
    ----------
    n_points, n_classes : int
    exact : bool
        Whether the volumes are known.
    """
    unknown = _TWO_UNKNOWN if n_classes == 2 else _UNKNOWN
    answers, jobs = _KNOWN if exact else unknown
    beside = min(n_side_by_side(n_points * n_classes), jobs)
    later = _OF_SYSTEMS * (1 - fraction_at_once(n_points, n_classes))
    return _ALONE - later + answers + _BESIDE * (beside - 1)
