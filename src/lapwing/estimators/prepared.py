"""The values that a fit is made of: y read, what was prepared, what solving it found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from lapwing._arrays import Array
from lapwing.exceptions import LapwingWarning
from lapwing.graphs import AffinityGraph, Eigenpairs, GraphRecipe
from lapwing.problem import Problem, check_weights
from lapwing.spaces import FittedFunction

__all__ = ["Prepared", "Solution", "Targets", "WantedGraph"]


class Targets(NamedTuple):
    """y, read: one row a row of X."""

    columns: Array  # (n_rows, c), read only where labelled
    labeled: Array  # (n_rows,) bool
    class_weights: Array  # (n_rows,) factors of the sample weights
    attributes: Mapping[str, Any]  # what decoding needs, as the fitted attributes that it is
    doubt: LapwingWarning | None = None  # of how y was read


class WantedGraph(NamedTuple):
    """Whether a fit has a graph, decided once, and which one if the user gave any."""

    wanted: bool
    given: GraphRecipe | None = None

    @property
    def of_rows(self) -> bool:
        """Whether it is a matrix about the user's rows, which can then not be merged."""
        return isinstance(self.given, AffinityGraph)


@dataclass(frozen=True, eq=False)
class Prepared:
    """What can be solved again where only labels, weights or parameters of the objective change.

    Attributes
    ----------
    targets : Targets
        y, read.
    problem : Problem
    laplacian : Laplacian, AnchorLaplacian or None
        None: there is no graph.
    space : Space or what a family has in its place
    eigenpairs : Eigenpairs or None
        Of the Laplacian, where the family wants some.
    """

    targets: Targets
    problem: Problem
    laplacian: Any
    space: Any
    eigenpairs: Eigenpairs | None = None

    def relabeled(self, targets: Targets, sample_weight: Any = None) -> Prepared:
        """The same points with other labels; see `Problem.relabeled`."""
        weights = check_weights(sample_weight, targets.labeled) * targets.class_weights
        problem = self.problem.relabeled(targets.labeled, targets.columns, weights)
        return replace(self, targets=targets, problem=problem)


@dataclass(frozen=True, eq=False)
class Solution:
    """What solving a prepared problem has found.

    Attributes
    ----------
    function : FittedFunction
    values : ndarray of shape (n, c)
        Decision values on the points, of which the transductive answers are taken.
    attributes : mapping of str
        Fitted attributes beside those of the function.
    """

    function: FittedFunction
    values: Array
    attributes: Mapping[str, Any]

    def left_out(self) -> Array | None:
        """Decision values (l, c) of each observation by the fit without it, to first order.

        None where a family would have to fit again for them: every fit asks, and must not become
        slower by it. `Refits.left_out` has them in any case, and exactly.
        """
        return None
