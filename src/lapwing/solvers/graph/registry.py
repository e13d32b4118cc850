"""Methods that part a graph into classes, by name: a new one is a file and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.graph.cut import cut
from lapwing.solvers.graph.flow import flow
from lapwing.solvers.graph.laplace import laplace
from lapwing.solvers.graph.mbo import mbo
from lapwing.solvers.graph.partition import Partition
from lapwing.solvers.graph.poisson import poisson
from lapwing.solvers.graph.random_walk import random_walk

__all__ = ["PARTITIONS", "PartitionMethod"]


@dataclass(frozen=True)
class PartitionMethod:
    """A method by name.

    Attributes
    ----------
    name : str
    solve : callable
        From a problem to a `Partition`.
    holds_volumes : bool
        Whether volumes are part of what it minimises. Others meet known ones by offsets at the end.
    """

    name: str
    solve: Callable[[VolumeProblem], Partition]
    holds_volumes: bool = False


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
