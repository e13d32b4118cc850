"""Base of the estimators for clusters: Dask collections in, Dask arrays out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import KW_ONLY
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from lapwing._arrays import Array
from lapwing._host.modules import require
from lapwing._parameters import parameters
from lapwing.classes.decoding import predict_codes
from lapwing.classes.labels import as_targets, read_known
from lapwing.classes.markers import missing_mask
from lapwing.classes.probabilities import class_probabilities
from lapwing.dask._data import (
    by_chunks,
    check_two_dimensions,
    chunks_of,
    delayed,
    heights,
    is_array,
    read_label_table,
    read_labels,
    read_points,
    read_weights,
)
from lapwing.dask._row_blocks import RowBlocks
from lapwing.dask._session import ClusterSession, same
from lapwing.estimators.template import is_fitted_name, only_labeled


@parameters
class DaskEstimator(BaseEstimator):
    """Estimator of lapwing for points on a cluster; see `lapwing.dask`."""

    _engine: ClassVar[Callable[..., Any]]
    _local: ClassVar[Callable[..., Any]]
    _regression: ClassVar[bool] = False
    # Parameters of the local estimator that are fixed here.
    _fixed: ClassVar[Mapping[str, Any]] = {}
    # Fitted attributes that are Dask arrays and need the cluster of the fit.
    _lazy: ClassVar[tuple[str, ...]] = ("transduction_",)

    _: KW_ONLY
    client: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to labelled and unlabelled points.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            All points, labelled or not, preferably persisted. Chunks may be uneven or empty; for
            `DaskS3VC` they may be SciPy sparse matrices.
        y : dask.array.Array, dask.dataframe.Series or array-like of shape (n_samples,), or table
            Labels, with the marker for unlabelled rows; or a table of the labelled rows, as a
            dataframe with two columns or a pair of arrays: row numbers from 0, and labels.
        sample_weight : dask.array.Array or array-like of shape (n_samples,), default=None
            Weights of the labelled rows, for `DaskS3VC` also of the unlabelled rows; None means 1.
            A labelled row of weight 0 becomes an unlabelled point, for `DaskS3VC` of weight 0.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If there is no client, or if X, y, weights and parameters do not match.
        ConnectionError, TimeoutError, MemoryError
            If the connection is lost, no worker is available for half a minute, or workers die
            repeatedly.

        Warns
        -----
        DaskWarning
            If X is not persisted, or its chunks have unknown sizes.
        """
        with ClusterSession.of(self.client) as session:
            for name in [name for name in vars(self) if is_fitted_name(name)]:
                delattr(self, name)
            engine = self._engine(**self._own_parameters(), **self._fixed)
            points = read_points(session, X)
            marker = getattr(self, "unlabeled", None)
            labels = read_labels(session, y, marker, points.shape[0], regression=self._regression)
            weights = read_weights(session, sample_weight, points.rows)
            values = engine.fit_points(points, labels, weights)
            session.keep(values.parts)
        for name, value in vars(engine).items():
            if is_fitted_name(name):
                setattr(self, name, value)
        for name, lazy in self._answers(values).items():
            setattr(self, name, lazy)
        return self

    def _answers(self, values: RowBlocks) -> dict[str, Any]:
        """Return the fitted attributes that stay on the cluster, given all decision values."""
        if "virtual_labels_" not in self._lazy:
            return {}
        like = np.empty((0, values.n_columns), dtype=values.dtype)
        return {"virtual_labels_": lazy_blocks(values, same, like)}

    def to_local(self) -> Any:
        """Return the same model without Dask.

        Returns
        -------
        estimator
            Fitted estimator that can predict, be saved by `lapwing.models.save_model`, and be
            exported. It lacks the attributes with a value for each training point.
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
        """Apply a method of the local estimator to the chunks of X, as a lazy Dask array.

        The model is one key of the task graph, so it is sent once, and again if its worker dies.

        Parameters
        ----------
        method : str
            Name of the method.
        X : Dask array or frame
            Points.
        like : ndarray
            Array without rows, of the type and further dimensions of the result.
        """
        model, chunks = self.to_local(), chunks_of(X, "X")
        check_two_dimensions(X)
        width = int(X.shape[1])
        if width != model.n_features_in_:
            raise ValueError(
                f"X has {width} features, but {type(model).__name__} is expecting "
                f"{model.n_features_in_} features as input."
            )
        sizes = X.chunks[0] if is_array(X) else [np.nan] * len(chunks)
        shared, answer = delayed(model), delayed(_answer)
        return _array([answer(shared, method, chunk, like) for chunk in chunks], sizes, like)

    def _score_chunks(self, task: Callable[..., Any], X: Any, y: Any) -> Array:
        """Apply a task to each chunk of X that has labels, and to these labels."""
        model, task = delayed(self.to_local()), delayed(task)
        with ClusterSession.of(self.client) as session:
            chunks = chunks_of(X, "X")
            sizes = heights(session, X, chunks)
            # One task graph, instead of futures of chunks that would be kept after prediction.
            tasks = [task(model, *piece) for piece in _pieces(session, chunks, y, sizes)]
            return np.array(session.gather(session.compute(tasks)))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "intercept_")

    def __sklearn_clone__(self) -> Self:
        # A client cannot be copied; the clone shares it.
        parameters = {k: clone(v, safe=False) for k, v in self._own_parameters().items()}
        return type(self)(client=self.client, **parameters)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        for name in self._lazy:
            state.pop(name, None)
        return {**state, "client": None}


@parameters
class DaskClassifier(ClassifierMixin, DaskEstimator):
    """Classifier for clusters."""

    _lazy: ClassVar[tuple[str, ...]] = ("transduction_", "transduction_proba_")

    _: KW_ONLY
    unlabeled: object = "auto"

    def _answers(self, values: RowBlocks) -> dict[str, Any]:
        labels = partial(_classes, classes=self.classes_)
        shares = partial(class_probabilities, sharpness=self.probability_sharpness_)
        return super()._answers(values) | {
            "transduction_": lazy_blocks(values, labels, self.classes_[:0]),
            "transduction_proba_": lazy_blocks(values, shares, np.empty((0, len(self.classes_)))),
        }

    def decision_function(self, X: Any) -> Any:
        """Compute decision values of points.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            Points.

        Returns
        -------
        dask.array.Array of shape (n_samples,) or (n_samples, n_classes)
            Lazy array, with the values of the in-memory estimator.
        """
        check_is_fitted(self)
        two = len(self.classes_) == 2
        like = np.empty(0 if two else (0, len(self.classes_)), dtype=self.intercept_.dtype)
        return self._predicted("decision_function", X, like)

    def predict(self, X: Any) -> Any:
        """Predict classes of points.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            Points.

        Returns
        -------
        dask.array.Array of shape (n_samples,)
            Lazy array.
        """
        check_is_fitted(self)
        return self._predicted("predict", X, self.classes_[:0])

    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities of the classes.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            Points.

        Returns
        -------
        dask.array.Array of shape (n_samples, n_classes)
            Lazy array, with the values of the in-memory estimator.
        """
        check_is_fitted(self)
        return self._predicted("predict_proba", X, np.empty((0, len(self.classes_))))

    def score(self, X: Any, y: Any) -> float:
        """Return the accuracy on the labelled rows.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            Points.
        y : dask.array.Array, dask.dataframe.Series or array-like of shape (n_samples,), or table
            Labels, as for `fit`; unlabelled rows are left out. -1 is a label if it is in
            `classes_`.

        Returns
        -------
        float
            Between 0 and 1, computed on the workers immediately.

        Raises
        ------
        ValueError
            If X and y do not match, or no row is labelled.
        """
        n, right = self._score_chunks(_count_right, X, y).T
        _check_labeled(int(n.sum()), 1)
        return float(right.sum() / n.sum())


@parameters
class DaskRegressor(RegressorMixin, DaskEstimator):
    """Regressor for clusters."""

    _regression = True

    def _answers(self, values: RowBlocks) -> dict[str, Any]:
        answers = lazy_blocks(values, _first_column, np.empty(0, dtype=values.dtype))
        return super()._answers(values) | {"transduction_": answers}

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict values of the fitted function.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            Points.
        return_std : bool, default=False
            Not supported on a cluster.

        Returns
        -------
        dask.array.Array of shape (n_samples,)
            Lazy array of values in the units of y.

        Raises
        ------
        ValueError
            If `return_std` is true.
        """
        check_is_fitted(self)
        if return_std:
            raise ValueError(
                "return_std=True is not supported on a cluster: a fit there keeps no "
                f"factorisation. Use {self._local.__name__}(updatable=True) with points in memory."
            )
        return self._predicted("predict", X, np.empty(0, dtype=self.intercept_.dtype))

    def score(self, X: Any, y: Any) -> float:
        """Return the coefficient of determination R^2 on the labelled rows.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            Points.
        y : dask.array.Array, dask.dataframe.Series or array-like of shape (n_samples,), or table
            Targets, as for `fit`; unlabelled rows are left out.

        Returns
        -------
        float
            At most 1, computed on the workers immediately.

        Raises
        ------
        ValueError
            If X and y do not match, or fewer than two rows are labelled.
        """
        n, means, variations, squares = self._score_chunks(_moments, X, y).T
        _check_labeled(int(n.sum()), 2)
        total = variations.sum() + n @ (means - np.average(means, weights=n)) ** 2
        if total == 0:  # as in scikit-learn
            return float(squares.sum() == 0)
        return float(1 - squares.sum() / total)


def _classes(values: Array, classes: Array) -> Array:
    return classes[predict_codes(values)]


def _first_column(values: Array) -> Array:
    return values[:, 0]


def lazy_blocks(values: RowBlocks, task: Callable[[Array], Array], like: Array) -> Any:
    """Apply a task to each block, as a lazy Dask array.

    Parameters
    ----------
    values : RowBlocks
        Blocks.
    task : callable
        Function of a block.
    like : ndarray
        Array without rows, of the type and further dimensions of the result.
    """
    answer = delayed(task)
    return _array([answer(part) for part in values.parts], values.sizes, like)


def _answer(model: Any, method: str, chunk: Any, like: Array) -> Array:
    # scikit-learn requires a row, and chunks may be empty.
    if not chunk.shape[0]:
        return like
    answers: Array = getattr(model, method)(chunk).astype(like.dtype, copy=False)
    return answers


def _array(parts: list[Any], sizes: Any, like: Array) -> Any:
    """Join delayed blocks, including empty ones, which `dask.array.concatenate` drops."""
    array = require("dask.array", extra="dask", purpose="lapwing.dask")
    graphs = require("dask.highlevelgraph", extra="dask", purpose="lapwing.dask").HighLevelGraph
    name = f"lapwing-{parts[0].key}"
    rest = (0,) * (like.ndim - 1)
    layer = {(name, i, *rest): (same, part.key) for i, part in enumerate(parts)}
    graph = graphs.from_collections(name, layer, dependencies=parts)
    chunks = (tuple(sizes), *((size,) for size in like.shape[1:]))
    return array.Array(graph, name, chunks, meta=like)


def _check_labeled(n: int, least: int) -> None:
    if n < least:
        raise ValueError(
            f"score needs at least {least} labelled {'row' if least == 1 else 'rows'}, and y has "
            f"{n}. Give rows whose labels are known."
        )


def _pieces(
    session: ClusterSession, chunks: list[Any], y: Any, sizes: list[int]
) -> Iterator[tuple[Any, Any]]:
    """Yield the rows of each chunk that have an entry in y, and these entries."""
    ends = np.cumsum([0, *sizes])
    if (table := read_label_table(y, int(ends[-1]))) is None:
        yield from zip(chunks, by_chunks(session, y, "y", sizes), strict=True)
        return
    for chunk, (start, stop) in zip(chunks, pairwise(ends), strict=True):
        some = slice(*np.searchsorted(table.rows, [start, stop]))
        if some.start < some.stop:
            yield delayed(_safe_indexing)(chunk, table.rows[some] - start), table.column[some]


def _count_right(model: Any, chunk: Any, labels: Array) -> tuple[int, int]:
    """Count the labelled rows and the correct predictions."""
    labels, labeled = read_known(labels, model.unlabeled, model.classes_)
    if not labeled.any():
        return 0, 0
    answers = model.predict(only_labeled(labeled, chunk, None)[0])
    return len(labels), int(accuracy_score(labels, answers, normalize=False))


def _moments(model: Any, chunk: Any, labels: Array) -> tuple[int, float, float, float]:
    """Return the number of targets, their mean, squares around it, and squared errors."""
    y = as_targets(labels)
    labeled = ~missing_mask(y)
    if not labeled.any():
        return 0, 0.0, 0.0, 0.0
    y, values = y[labeled], model.predict(only_labeled(labeled, chunk, None)[0])
    return len(y), y.mean(), ((y - y.mean()) ** 2).sum(), ((y - values) ** 2).sum()
