"""Data passed between the stages of a fit, and fits to the same points with other labels.

Leave-one-out, labels drawn from an answer and added labels fit one estimator to one set of points
again and again. The graph, the kernel and its factorisation do not know the labels, so a family of
methods keeps them in its `Refits`. The base class keeps nothing: every fit is `solve` of what was
prepared once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.voting import elect
from lapwing.estimators.progress import SILENT
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


@dataclass(frozen=True, eq=False)
class Refits:
    """Fits of an estimator to prepared points.

    Attributes
    ----------
    estimator : SemiSupervisedEstimator
        Its parameters; it stays as it is.
    prepared : Prepared
    """

    # Whether `left_out` costs less than a fit for every label.
    left_out_at_once: ClassVar[bool] = False

    estimator: Any
    prepared: Prepared

    def covering(self, points: Array) -> Self:
        """The same, ready for labels at these points: what they need is made for all at once."""
        return self

    def of(self, prepared: Prepared) -> Self:
        """The same with other labels as those that it begins with."""
        return replace(self, prepared=prepared)

    def again(self, prepared: Prepared) -> Refits:
        """Refits of the same estimator to points that were prepared anew."""
        refits: Refits = self.estimator._refits(prepared)
        return refits

    def holding_shares(self) -> Self:
        """The same, where what a fit takes the shares of the classes to be stays as it is now."""
        return self

    def solve(self, prepared: Prepared) -> Solution:
        """The solution for other labels of the points, by `Prepared.relabeled`."""
        found: Solution = self.estimator._solve(prepared, SILENT)
        return found

    def values(self, prepared: Prepared) -> Array:
        """Its decision values on the points (n, c), no more."""
        return self.solve(prepared).values

    def left_out(self) -> Array:
        """Decision values (l, c) of each observation by the fit without it.

        NaN where a class has no other observation: what would be fitted then is another problem.
        """
        return self.left_out_of(
            np.flatnonzero(removable(self.prepared, self.estimator._regression))
        )

    def left_out_of(self, observations: Array) -> Array:
        """The same of some observations, by one fit for each; NaN for all others."""
        problem = self.prepared.problem
        values = np.full(problem.targets.shape, np.nan)
        for i in observations.tolist():
            values[i] = self.values(without(self.prepared, i))[problem.index[i]]
        return values


def removable(prepared: Prepared, regression: bool) -> Array:
    """Mask (l,) of the observations without which all classes still have one."""
    targets = prepared.problem.targets
    if regression:
        return np.full(len(targets), len(targets) > 1)
    codes = elect(targets)
    return np.asarray(np.bincount(codes)[codes] > 1)


def without(prepared: Prepared, observations: int | Array) -> Prepared:
    """The same with the rows that make an observation, or each of several, unlabelled."""
    problem, targets = prepared.problem, prepared.targets
    labeled = problem.labeled_rows.copy()
    for i in np.atleast_1d(observations).tolist():
        same = (targets.columns == problem.targets[i]).all(axis=1)
        labeled &= ~((problem.vertex == problem.index[i]) & same)
    return relabeled(prepared, labeled, targets.columns, problem.row_weights)


def relabeled(prepared: Prepared, labeled: Array, columns: Array, weights: Array) -> Prepared:
    """The same with other labels and weights of all rows, the factors of their classes included."""
    targets: Any = prepared.targets._replace(columns=columns, labeled=labeled)
    problem = prepared.problem.relabeled(labeled, columns, weights)
    return replace(prepared, targets=targets, problem=problem)
