"""Laplacian support vector machines and Laplacian regularised least squares."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_class_weight

from lapwing import diagnostics
from lapwing.estimators.base import ManifoldEstimator, Targets
from lapwing.labels import code_classes, decode, read_targets
from lapwing.losses import LOSSES, EpsilonInsensitive, Loss, Squared
from lapwing.problem import Problem, one_vs_rest
from lapwing.solvers.stopping import elect
from lapwing.spaces.base import Array

__all__ = ["LapRLSClassifier", "LapRLSRegressor", "LapSVC", "LapSVR"]


class _Classifier(ClassifierMixin, ManifoldEstimator):
    """What classifiers share: labels in, scores and labels out."""

    def _read_targets(self, y: Any) -> Targets:
        labels = code_classes(y, self.unlabeled)
        self.classes_ = labels.classes
        known = labels.codes[labels.labeled]
        weights = np.ones(len(labels.codes))
        of_class = compute_class_weight(
            self.class_weight, classes=labels.classes, y=labels.classes[known]
        )
        weights[labels.labeled] = of_class[known]
        return Targets(one_vs_rest(labels.codes, len(labels.classes)), labels.labeled, weights)

    def _validation_targets(self, y: Any) -> Array:
        y = np.asarray(y)
        codes = np.searchsorted(self.classes_, y)
        codes = np.minimum(codes, len(self.classes_) - 1)
        if not (self.classes_[codes] == y).all():
            raise ValueError(
                "validation_data holds labels that the training labels do not: "
                f"{sorted(set(y.tolist()) - set(self.classes_.tolist()))}."
            )
        return codes

    def _answer(self, X: Any, problem: Problem, values: Array) -> None:
        super()._answer(X, problem, values)
        diagnostics.warn_single_class(elect(values), ~problem.labeled, self.classes_)

    def _transduce(self, values: Array) -> Array:
        return decode(elect(values), self.classes_)

    def decision_function(self, X: Any) -> Array:
        """Decision values of points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points; their kernel values with the training points, (n_samples, n_samples_fit), if
            ``kernel='precomputed'``.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One value for two classes, positive for ``classes_[1]``; else one column a class, in
            the order of `classes_`. Labels are fitted at -1 and +1.
        """
        values = self._decision_values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> Array:
        """Classes of points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, as for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class with the largest decision value, the first one of equals; of two classes the
            second where the value is >= 0.
        """
        return self._transduce(self._decision_values(X))


class _Regressor(RegressorMixin, ManifoldEstimator):
    """What regressions share: NaN is unlabelled, values are the answers."""

    _regression = True

    def _read_targets(self, y: Any) -> Targets:
        targets, labeled = read_targets(y)
        return Targets(targets[:, None], labeled, np.ones(len(targets)))

    def _validation_targets(self, y: Any) -> Array:
        targets, labeled = read_targets(y)
        if not labeled.all():
            raise ValueError("validation_data holds targets that are NaN; give labelled points.")
        return targets[:, None]

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


class LapSVC(_Classifier):
    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        gamma_A: float = 1e-4,
        gamma_I: float = 1.0,
        graph: Any = None,
        loss: str = "squared_hinge",
        solver: str = "auto",
        stopping: str | None = None,
        validation_fraction: float | None = 0.2,
        fit_intercept: bool = False,
        tol: float = 1e-6,
        max_iter: int = 1000,
        class_weight: Any = None,
        unlabeled: Any = -1,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gamma_A = gamma_A
        self.gamma_I = gamma_I
        self.graph = graph
        self.loss = loss
        self.solver = solver
        self.stopping = stopping
        self.validation_fraction = validation_fraction
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.unlabeled = unlabeled
        self.warm_start = warm_start
        self.random_state = random_state

    def _loss(self) -> Loss:
        return LOSSES[self.loss]()


class LapRLSClassifier(_Classifier):
    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        gamma_A: float = 1e-4,
        gamma_I: float = 1.0,
        graph: Any = None,
        solver: str = "auto",
        stopping: str | None = None,
        validation_fraction: float | None = 0.2,
        fit_intercept: bool = False,
        tol: float = 1e-6,
        max_iter: int = 1000,
        class_weight: Any = None,
        unlabeled: Any = -1,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gamma_A = gamma_A
        self.gamma_I = gamma_I
        self.graph = graph
        self.solver = solver
        self.stopping = stopping
        self.validation_fraction = validation_fraction
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.unlabeled = unlabeled
        self.warm_start = warm_start
        self.random_state = random_state

    def _loss(self) -> Loss:
        return Squared()


class LapRLSRegressor(_Regressor):
    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        gamma_A: float = 1e-4,
        gamma_I: float = 1.0,
        graph: Any = None,
        solver: str = "auto",
        stopping: str | None = None,
        validation_fraction: float | None = 0.2,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 1000,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gamma_A = gamma_A
        self.gamma_I = gamma_I
        self.graph = graph
        self.solver = solver
        self.stopping = stopping
        self.validation_fraction = validation_fraction
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state

    def _loss(self) -> Loss:
        return Squared()


class LapSVR(_Regressor):
    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        gamma_A: float = 1e-4,
        gamma_I: float = 1.0,
        epsilon: float = 0.1,
        graph: Any = None,
        solver: str = "auto",
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 1000,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gamma_A = gamma_A
        self.gamma_I = gamma_I
        self.epsilon = epsilon
        self.graph = graph
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def _loss(self) -> Loss:
        return EpsilonInsensitive(float(self.epsilon))
