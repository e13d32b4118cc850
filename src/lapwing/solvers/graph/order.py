"""Problems on a graph with their points in an order that products are quick in.

See `lapwing.graphs.order`. Sums round in another way then, and of equal points another one comes
first. Methods with several minima may end in another one, as they may on another processor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lapwing._arrays import Array
from lapwing.objectives.volumes import VolumeProblem

_CACHED = 250_000  # shares: fewer stay in the cache in any order


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
