"""Fits to the same points with other labels: what a family keeps between them.

Leave-one-out, labels drawn from an answer and added labels fit one estimator to one set of points
again and again. The graph, the kernel and its factorisation do not know the labels, so a family
that can says what they are and takes only what is left of a fit. This base asks nothing of a
family: every fit is `solve` of what was prepared once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.voting import elect
from lapwing.estimators.prepared import Prepared, Solution
from lapwing.estimators.progress import SILENT


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
