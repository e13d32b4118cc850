"""What every trial of an estimator starts with: its points prepared once, and its answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from lapwing._arrays import Array
from lapwing.classes.volumes import prior_offsets
from lapwing.classes.voting import elect
from lapwing.estimators.prepared import Prepared, Refits
from lapwing.estimators.template import SemiSupervisedEstimator, prepare
from lapwing.model_selection.candidates import Chooser
from lapwing.model_selection.sizes import known_sizes
from lapwing.problem import value_order


@dataclass(frozen=True, eq=False)
class Trial:
    """An estimator on its points.

    Attributes
    ----------
    refits : Refits
    """

    refits: Refits

    @property
    def prepared(self) -> Prepared:
        return self.refits.prepared

    @property
    def regression(self) -> bool:
        return bool(self.refits.estimator._regression)

    @property
    def classes(self) -> Array:
        return np.asarray(self.prepared.targets.attributes["classes_"])

    @property
    def sizes(self) -> Array | None:
        """Parts of the classes that the estimator was told, which the labels do not say."""
        codes = elect(self.prepared.problem.targets)
        return known_sizes(self.refits.estimator, codes, self.classes)

    @cached_property
    def values(self) -> Array:
        """Decision values on the points (n, c) from the labels as they are."""
        return self.refits.values(self.prepared)

    @cached_property
    def ranks(self) -> Array:
        """Ranks (n,) of the points by their values: draws do not depend on the places of rows."""
        ranks = np.empty(self.prepared.problem.n_points, dtype=np.intp)
        order = value_order(self.prepared.problem.X, pairwise=self.refits.estimator._pairwise())
        ranks[order] = np.arange(len(order))
        return ranks

    def offsets(self, values: Array) -> Array | float:
        """What a class prior adds to them."""
        prior = self.prepared.targets.attributes.get("class_prior_")
        if prior is None:
            return 0.0
        # of the rows, as the fit does: equal rows are one point but several members of a class
        vertex = self.prepared.problem.vertex
        return prior_offsets(values[vertex[vertex >= 0]], prior).offsets

    def answers(self, values: Array) -> Array:
        """Class codes, or values (n,) of a regression, of all points."""
        if self.regression:
            return values[:, 0]
        return elect(values + self.offsets(values))


def start(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Trial:
    """Prepare an estimator, or a pipeline that ends in one, for trials.

    The steps before the last are fitted to all points once: they see no labels that a trial would
    have to forget, unless a step asks for y.

    Raises
    ------
    TypeError
        If it is no estimator of this library.
    """
    if isinstance(estimator, Pipeline):
        steps = clone(estimator[:-1])
        estimator = estimator[-1]
        if len(steps):
            X = steps.fit_transform(X, y)
    if isinstance(estimator, Chooser):
        raise TypeError(
            f"{type(estimator).__name__} would choose an estimator anew for other labels. Fit it, "
            "and give the one that it has chosen: model.best_estimator_."
        )
    if not isinstance(estimator, SemiSupervisedEstimator):
        raise TypeError(
            f"{type(estimator).__name__} cannot be tried with other labels. Give an estimator of "
            "lapwing, or a Pipeline that ends in one; of searches give best_estimator_."
        )
    estimator = clone(estimator)
    return Trial(estimator._refits(prepare(estimator, X, y, sample_weight)))
