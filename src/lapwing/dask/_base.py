"""Base of the estimators for clusters: Dask collections in, Dask arrays out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import accuracy_score
from sklearn.utils import ClassifierTags, RegressorTags, Tags, _safe_indexing
from sklearn.utils.validation import check_is_fitted

from lapwing._arrays import Array
from lapwing._host.modules import require
from lapwing.classes.decoding import predict_codes
from lapwing.classes.labels import as_targets, decode, read_known
from lapwing.classes.markers import missing_mask, read_column
from lapwing.classes.probabilities import class_probabilities
from lapwing.dask._data import (
    check_length,
    chunks_of,
    is_array,
    is_collection,
    one_column,
    read_labels,
    read_points,
    table_of,
)
from lapwing.dask._row_blocks import RowBlocks
from lapwing.dask._session import Session
from lapwing.estimators.template import is_fitted_name, only_labeled


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

    def _answers(self, values: RowBlocks) -> Mapping[str, Any]:
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

    def _answers(self, values: RowBlocks) -> Mapping[str, Any]:
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

    def _answers(self, values: RowBlocks) -> Mapping[str, Any]:
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
    return decode(predict_codes(values), classes)


def _first_column(values: Array) -> Array:
    return values[:, 0]


def answers(values: RowBlocks, task: Callable[[Array], Array], like: Array) -> Any:
    """A Dask array of what a task makes of the values of each block.

    Parameters
    ----------
    values : Tall
    task : callable
    like : ndarray
        Of no rows: type and further dimensions of the answers.
    """
    delayed = require("dask", extra="dask", purpose="lapwing.dask").delayed(task, pure=False)
    return _array([delayed(part) for part in values.parts], values.sizes, like)


def lazily(values: RowBlocks) -> Any:
    """The values themselves as a Dask array."""
    return answers(values, _same, np.empty((0, values.n_columns), dtype=values.dtype))


def predictions(model: Any, method: str, X: Any, like: Array) -> Any:
    """A Dask array of what a method of a fitted estimator answers for the chunks of X.

    The model is one key of the graph: it is sent once, and again if its worker dies.

    Parameters
    ----------
    model : estimator
    method : str
    X : Dask array or frame
    like : ndarray
        Of no rows.
    """
    dask = require("dask", extra="dask", purpose="lapwing.dask")
    chunks = chunks_of(X, "X")
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, one row a point; it has {X.ndim}.")
    width = int(X.shape[1])
    if width != model.n_features_in_:
        raise ValueError(
            f"X has {width} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )
    sizes = X.chunks[0] if is_array(X) else [np.nan] * len(chunks)
    shared, task = dask.delayed(model, pure=False), dask.delayed(_answer, pure=False)
    return _array([task(shared, method, chunk, like) for chunk in chunks], sizes, like)


def _answer(model: Any, method: str, chunk: Any, like: Array) -> Array:
    # scikit-learn asks for a row at the least, and chunks may have none.
    return getattr(model, method)(chunk).astype(like.dtype, copy=False) if len(chunk) else like


def _array(parts: list[Any], sizes: Any, like: Array) -> Any:
    """Delayed blocks as one array that keeps empty ones, which `dask.array.concatenate` drops."""
    array = require("dask.array", extra="dask", purpose="lapwing.dask")
    graphs = require("dask.highlevelgraph", extra="dask", purpose="lapwing.dask").HighLevelGraph
    name = f"lapwing-{parts[0].key}"
    rest = (0,) * (like.ndim - 1)
    layer = {(name, i, *rest): (_same, part.key) for i, part in enumerate(parts)}
    graph = graphs.from_collections(name, layer, dependencies=parts)
    chunks = (tuple(sizes), *((size,) for size in like.shape[1:]))
    return array.Array(graph, name, chunks, meta=like)


def _same(block: Array) -> Array:
    return block


def accuracy_of(session: Session, model: Any, X: Any, y: Any) -> float:
    """The share of the labelled rows that a fitted classifier answers right.

    Parameters
    ----------
    session : Session
    model : classifier
        Of points in memory.
    X : Dask array or frame
    y : Dask array or series, array-like, or table (row, label)

    Raises
    ------
    ValueError
        If X and y do not go together, or no row is labelled.
    """
    found = np.array(_each_chunk(session, _right, model, X, y))
    _check_labeled(int(found[:, 0].sum()), 1)
    return float(found[:, 1].sum() / found[:, 0].sum())


def determination_of(session: Session, model: Any, X: Any, y: Any) -> float:
    """R^2 of a fitted regression on the labelled rows; see `accuracy_of`."""
    found = [each for each in _each_chunk(session, _errors, model, X, y) if each.n]
    n = np.array([each.n for each in found])
    _check_labeled(int(n.sum()), 2)
    means = np.array([each.mean for each in found])
    around = means - np.average(means, weights=n)
    total = sum(each.variation for each in found) + float(n @ around**2)
    left = sum(each.squares for each in found)
    if total == 0:  # as scikit-learn has it
        return float(left == 0)
    return float(1 - left / total)


def _check_labeled(n: int, least: int) -> None:
    if n < least:
        raise ValueError(
            f"score takes at least {least} labelled {'row' if least == 1 else 'rows'}, and y has "
            f"{n}. Give rows whose labels are known."
        )


class _Piece(NamedTuple):
    """Part of y that belongs to a chunk of X.

    Attributes
    ----------
    rows : ndarray of int or None
        The rows of the chunk that it is for; None for all.
    columns : list of array-like, or delayed
    slices : list of slice
        The part of each column.
    """

    rows: Array | None
    columns: list[Any]
    slices: list[slice]


def _each_chunk(session: Session, task: Callable[..., Any], model: Any, X: Any, y: Any) -> Any:
    """Map a task over the chunks of X that have labels, and over their labels."""
    dask = require("dask", extra="dask", purpose="lapwing.dask")
    chunks = chunks_of(X, "X")
    sizes = _sizes(session, X, chunks)
    shared, delayed = dask.delayed(model, pure=False), dask.delayed(task, pure=False)
    # One graph and not futures of the chunks: none is held longer than it takes to answer it.
    tasks = [
        delayed(shared, chunk, *piece)
        for chunk, piece in zip(chunks, _pieces(session, y, sizes), strict=True)
        if piece.columns
    ]
    _check_labeled(len(tasks), 1)
    return session.gather(session.client.compute(tasks))


def _sizes(session: Session, X: Any, chunks: list[Any]) -> list[int]:
    if is_array(X) and not np.isnan(X.chunks[0]).any():
        return [int(size) for size in X.chunks[0]]
    length = require("dask", extra="dask", purpose="lapwing.dask").delayed(len, pure=False)
    return session.gather(session.client.compute([length(chunk) for chunk in chunks]))


def _pieces(session: Session, y: Any, sizes: list[int]) -> Iterator[_Piece]:
    ends = np.cumsum([0, *sizes])
    if (table := table_of(y, int(ends[-1]))) is not None:
        for start, stop in pairwise(ends):
            some = slice(*np.searchsorted(table.rows, [start, stop]))
            rows = table.rows[some] - start
            yield _Piece(rows, [table.labels[some]] if len(rows) else [], [slice(None)])
        return
    if is_collection(y):
        y = one_column(y)
        columns = chunks_of(y, "y")
        held = _sizes(session, y, columns)
        check_length(int(ends[-1]), sum(held))
    else:
        y, held = read_column(y), sizes
        check_length(int(ends[-1]), len(y))
        columns = [y[start:stop] for start, stop in pairwise(ends)]
    starts = np.cumsum([0, *held])
    for start, stop in pairwise(ends):
        first = np.searchsorted(starts, start, side="right") - 1
        last = np.searchsorted(starts, stop, side="left")
        needed = [i for i in range(first, last) if held[i]]
        cut = [slice(max(start - starts[i], 0), stop - starts[i]) for i in needed]
        yield _Piece(None, [columns[i] for i in needed], cut)


def _labels_of(columns: list[Any], slices: list[slice]) -> Array:
    parts = [read_column(column)[some] for column, some in zip(columns, slices, strict=True)]
    kinds = {part.dtype.kind for part in parts}
    return np.concatenate(parts if len(kinds) == 1 else [part.astype(object) for part in parts])


def _right(
    model: Any, chunk: Any, rows: Array | None, columns: list[Any], slices: list[slice]
) -> tuple[int, int]:
    """Numbers of labelled rows and of right answers."""
    labels, labeled = read_known(_labels_of(columns, slices), model.unlabeled, model.classes_)
    if not labeled.any():
        return 0, 0
    answers = model.predict(_labeled_points(chunk, rows, labeled))
    return len(labels), int(accuracy_score(labels, answers, normalize=False))


class _Errors(NamedTuple):
    """Labelled rows of a chunk.

    Attributes
    ----------
    n : int
    mean : float
        Of their targets.
    variation : float
        Sum of the squares of the targets around their mean.
    squares : float
        Sum of the squared errors.
    """

    n: int
    mean: float = 0.0
    variation: float = 0.0
    squares: float = 0.0


def _errors(
    model: Any, chunk: Any, rows: Array | None, columns: list[Any], slices: list[slice]
) -> _Errors:
    y = as_targets(_labels_of(columns, slices))
    labeled = ~missing_mask(y)
    if not labeled.any():
        return _Errors(0)
    y, values = y[labeled], model.predict(_labeled_points(chunk, rows, labeled))
    mean = float(y.mean())
    return _Errors(len(y), mean, float(((y - mean) ** 2).sum()), float(((y - values) ** 2).sum()))


def _labeled_points(chunk: Any, rows: Array | None, labeled: Array) -> Any:
    """The rows of a chunk that have a label: no others are to be answered."""
    points, _ = only_labeled(labeled, chunk if rows is None else _safe_indexing(chunk, rows), None)
    return points
