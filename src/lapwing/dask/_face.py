"""What the estimators for clusters share: Dask collections in, Dask arrays out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import ClassifierTags, RegressorTags, Tags
from sklearn.utils.validation import check_is_fitted

from lapwing._arrays import Array
from lapwing.classes.labels import decode
from lapwing.classes.probabilities import class_probabilities
from lapwing.classes.voting import elect
from lapwing.dask._labels import read_labels
from lapwing.dask._lazy import answers, predictions
from lapwing.dask._points import read_points
from lapwing.dask._scores import accuracy_of, determination_of
from lapwing.dask._session import Session
from lapwing.dask._tall import Tall
from lapwing.estimators.template import is_fitted_name


class DaskEstimator(BaseEstimator):
    """An estimator of lapwing whose points lie on a cluster; see `lapwing.dask`."""

    _engine: ClassVar[Callable[..., Any]]
    _local: ClassVar[Callable[..., Any]]
    _regression: ClassVar[bool] = False
    # Parameters of both that have one value here.
    _fixed: ClassVar[Mapping[str, Any]] = {}
    # Fitted attributes that are Dask arrays: they need the cluster that made them.
    _lazy: ClassVar[tuple[str, ...]] = ("transduction_",)
    client: Any

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to labelled and unlabelled points.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            All points, labelled or not; best persisted. Chunks may be uneven or empty.
        y : dask.array.Array, dask.dataframe.Series or array-like of shape (n_samples,), or table
            Labels, with the unlabelled marker where there is none; or the labelled rows alone, as
            a frame of two columns or a pair of arrays: numbers of rows from 0, and their labels.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If there is no client, or for X, y and parameters that do not go together.
        ConnectionError, TimeoutError, MemoryError
            If the cluster is gone, has no worker for half a minute, or loses one after the other.

        Warns
        -----
        DaskWarning
            If X is not persisted, or its chunks have unknown sizes.
        """
        session = Session.of(self.client)
        for name in [name for name in vars(self) if is_fitted_name(name)]:
            delattr(self, name)
        engine = self._engine(**self._own_parameters(), **self._fixed)
        points, cut = engine.arranged(read_points(session, X))
        marker = getattr(self, "unlabeled", None)
        labels = read_labels(session, y, marker, points.shape[0], regression=self._regression)
        values = cut(engine.fit_points(points, labels))
        for name, value in vars(engine).items():
            if is_fitted_name(name):
                setattr(self, name, value)
        for name, lazy in self._answers(values).items():
            setattr(self, name, lazy)
        return self

    def _answers(self, values: Tall) -> Mapping[str, Any]:
        """Fitted attributes that stay on the cluster, from the decision values of all points."""
        raise NotImplementedError

    def to_local(self) -> Any:
        """The same model without Dask.

        Returns
        -------
        estimator
            Fitted, to predict, to save by `lapwing.models.save_model` or to export. It has all
            attributes but those of each training point.
        """
        check_is_fitted(self)
        local = self._local(**self._own_parameters(), **self._fixed)
        for name, value in vars(self).items():
            if is_fitted_name(name) and name not in self._lazy:
                setattr(local, name, copy(value))
        return local

    def _own_parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = self.get_params(deep=False)
        del parameters["client"]
        return parameters

    def _predicted(self, method: str, X: Any, like: Array) -> Any:
        return predictions(self.to_local(), method, X, like)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "intercept_")

    def __sklearn_clone__(self) -> Self:
        # A client cannot be copied, and is the same for the clone.
        parameters = {k: clone(v, safe=False) for k, v in self._own_parameters().items()}
        return type(self)(client=self.client, **parameters)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        for name in self._lazy:
            state.pop(name, None)
        return {**state, "client": None}


class DaskClassifier(DaskEstimator):
    """A classifier for clusters."""

    _lazy: ClassVar[tuple[str, ...]] = ("transduction_", "transduction_proba_")
    classes_: Array
    probability_sharpness_: float

    def _answers(self, values: Tall) -> Mapping[str, Any]:
        labels = partial(_classes, classes=self.classes_)
        shares = partial(class_probabilities, sharpness=self.probability_sharpness_)
        return {
            "transduction_": answers(values, labels, self.classes_[:0]),
            "transduction_proba_": answers(values, shares, np.empty((0, len(self.classes_)))),
        }

    def decision_function(self, X: Any) -> Any:
        """Decision values of points.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            Points.

        Returns
        -------
        dask.array.Array of shape (n_samples,) or (n_samples, n_classes)
            Computed when asked for; as the estimator without Dask has them.
        """
        check_is_fitted(self)
        two = len(self.classes_) == 2
        like = np.empty(0 if two else (0, len(self.classes_)), dtype=self.intercept_.dtype)
        return self._predicted("decision_function", X, like)

    def predict(self, X: Any) -> Any:
        """Classes of points.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            Points.

        Returns
        -------
        dask.array.Array of shape (n_samples,)
            Computed when asked for.
        """
        check_is_fitted(self)
        return self._predicted("predict", X, self.classes_[:0])

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes for points.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            Points.

        Returns
        -------
        dask.array.Array of shape (n_samples, n_classes)
            Computed when asked for; as the estimator without Dask has them.
        """
        check_is_fitted(self)
        return self._predicted("predict_proba", X, np.empty((0, len(self.classes_))))

    def score(self, X: Any, y: Any) -> float:
        """Accuracy on the labelled rows.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            Points.
        y : dask.array.Array, dask.dataframe.Series or array-like of shape (n_samples,), or table
            Labels, as `fit` takes them: rows without one are left out. -1 is a label here if it is
            in `classes_`.

        Returns
        -------
        float
            Between 0 and 1, computed on the workers at once.

        Raises
        ------
        ValueError
            If X and y do not go together, or no row is labelled.
        """
        check_is_fitted(self)
        return accuracy_of(Session.of(self.client), self.to_local(), X, y)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags


class DaskRegressor(DaskEstimator):
    """A regression for clusters."""

    _regression = True

    def _answers(self, values: Tall) -> Mapping[str, Any]:
        return {"transduction_": answers(values, _first_column, np.empty(0, dtype=values.dtype))}

    def predict(self, X: Any) -> Any:
        """Values of the fitted function at points.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            Points.

        Returns
        -------
        dask.array.Array of shape (n_samples,)
            Computed when asked for, in the units of y.
        """
        check_is_fitted(self)
        return self._predicted("predict", X, np.empty(0, dtype=self.intercept_.dtype))

    def score(self, X: Any, y: Any) -> float:
        """Coefficient of determination R^2 on the labelled rows.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            Points.
        y : dask.array.Array, dask.dataframe.Series or array-like of shape (n_samples,), or table
            Targets, as `fit` takes them: rows without one are left out.

        Returns
        -------
        float
            At most 1, computed on the workers at once.

        Raises
        ------
        ValueError
            If X and y do not go together, or fewer than two rows are labelled.
        """
        check_is_fitted(self)
        return determination_of(Session.of(self.client), self.to_local(), X, y)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags


def _classes(values: Array, classes: Array) -> Array:
    return decode(elect(values), classes)


def _first_column(values: Array) -> Array:
    return values[:, 0]
