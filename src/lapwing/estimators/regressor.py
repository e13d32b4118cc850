"""Base of regressors: missing targets are unlabelled, values are the answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from lapwing._arrays import Array
from lapwing.classes.label_checks import target_warning
from lapwing.classes.labels import as_targets, read_targets
from lapwing.estimators.manifold import ManifoldEstimator, StoppableEstimator
from lapwing.estimators.prepared import Solution, Targets
from lapwing.estimators.template import SemiSupervisedEstimator, only_labeled
from lapwing.problem import Problem


class SemiSupervisedRegressor(RegressorMixin, SemiSupervisedEstimator):
    """Base of regressors: missing targets are unlabelled, values are the answers."""

    _regression = True

    def _read_targets(self, y: Any) -> Targets:
        targets, labeled = read_targets(y)
        doubt = target_warning(targets, labeled)
        return Targets(targets[:, None], labeled, np.ones(len(targets)), {}, doubt)

    def _answer(self, X: Any, problem: Problem, solution: Solution) -> Array:
        values = super()._answer(X, problem, solution)
        self._warn_constant(X, problem, solution, "The fitted values")
        return values

    def _transduce(self, values: Array) -> Array:
        return values[:, 0]

    def predict(self, X: Any) -> Array:
        """Values of the fitted function at points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points; their kernel values with the training points, (n_samples, n_samples_fit), if
            ``kernel='precomputed'``.

        Returns
        -------
        ndarray of shape (n_samples,)
            In the units of y.
        """
        return self._transduce(self._decision_values(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination R^2 on the labelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, as for `predict`.
        y : array-like of shape (n_samples,)
            Targets, missing (NaN, say) where there is none: those rows are left out, so that a
            search or cross-validation may hold out any rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            At most 1.

        Raises
        ------
        ValueError
            If no row is labelled.
        """
        targets = as_targets(y)
        labeled = ~np.isnan(targets)
        X, sample_weight = only_labeled(labeled, X, sample_weight)
        return float(super().score(X, targets[labeled], sample_weight=sample_weight))


class ManifoldRegressor(SemiSupervisedRegressor, ManifoldEstimator):
    """A regression by manifold regularisation."""


class StoppableRegressor(SemiSupervisedRegressor, StoppableEstimator):
    """One with the squared loss."""

    def _validation_targets(self, y: Any) -> Array:
        targets, labeled = read_targets(y)
        if not labeled.all():
            raise ValueError("validation_data holds targets that are NaN; give labelled points.")
        return targets[:, None]
