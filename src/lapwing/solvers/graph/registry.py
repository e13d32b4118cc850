"""Methods that part a graph into classes, by name: a new one is a file and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.graph.cut import cut
from lapwing.solvers.graph.flow import flow
from lapwing.solvers.graph.laplace import laplace
from lapwing.solvers.graph.mbo import mbo
from lapwing.solvers.graph.order import in_order
from lapwing.solvers.graph.partition import Partition
from lapwing.solvers.graph.poisson import poisson
from lapwing.solvers.graph.random_walk import random_walk


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
