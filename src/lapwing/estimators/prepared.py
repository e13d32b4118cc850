"""The values that a fit is made of: y read, what was prepared, what solving it found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lapwing._arrays import Array
from lapwing.exceptions import LapwingWarning
from lapwing.graphs import AffinityGraph, Eigenpairs, GraphRecipe
from lapwing.problem import Problem, check_weights
from lapwing.spaces import FittedFunction


def _check_nothing(targets: Targets, problem: Problem) -> None:
    return


class Targets(NamedTuple):
    """y, read: one row a row of X."""

    columns: Array  # (n_rows, c), read only where labelled
    labeled: Array  # (n_rows,) bool
    class_weights: Array  # (n_rows,) factors of the sample weights
    attributes: Mapping[str, Any]  # what decoding needs, as the fitted attributes that it is
    doubt: LapwingWarning | None = None  # of how y was read
    # Refuses a problem whose weights leave too little to learn from.
    check: Callable[[Targets, Problem], None] = _check_nothing


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
        """The same points with other labels; see `Problem.relabeled`.

        Raises
        ------
        ValueError
            As `fit` does for such labels and weights, and where a row has a label that is no point
            of the problem.
        """
        weights = check_weights(sample_weight, targets.labeled, targets.class_weights)
        gone = np.flatnonzero(targets.labeled & (weights > 0) & (self.problem.vertex < 0))
        if len(gone):
            raise ValueError(
                f"Row {gone[0]} has a label, but the problem was prepared without it: its weight "
                "was 0. Prepare the problem again."
            )
        problem = self.problem.relabeled(targets.labeled, targets.columns, weights)
        targets.check(targets, problem)
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

    # Whether the values hold the class prior already, and must not be shifted to it.
    holds_prior: ClassVar[bool] = False

    function: FittedFunction
    values: Array
    attributes: Mapping[str, Any]

    def left_out(self) -> Array | None:
        """Decision values (l, c) of each observation by the fit without it, to first order.

        None where a family would have to fit again for them: every fit asks, and must not become
        slower by it. `Refits.left_out` has them in any case, and exactly.
        """
        return None
