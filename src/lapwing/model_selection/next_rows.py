"""Which rows to label next, for any model of the library or for none."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from lapwing._arrays import Array, refuse_gaps, refuse_misread, texts_told
from lapwing.classes.column import read_column
from lapwing.classes.markers import find_unlabeled
from lapwing.estimators.parameters import is_count
from lapwing.estimators.template import SemiSupervisedEstimator
from lapwing.graphs import build_laplacian, default_graph
from lapwing.graphs.design import design_of, most_telling
from lapwing.model_selection.candidates import chosen_by
from lapwing.problem import distinct_rows

__all__ = ["rows_to_label", "telling_rows"]


def rows_to_label(
    X: Any,
    y: Any = None,
    k: int = 1,
    *,
    model: Any = None,
    graph: Any = None,
    unlabeled: Any = "auto",
) -> Array:
    """Rows that it would help most to label next.

    Together they say most about all other rows by the graph, and with a model where its answers are
    unsure: a batch holds no two rows that say the same. Without labels and model they cover the
    data, so that the first labels reach every part of it.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        All rows, labelled or not; with a model those of its fit, in their order.
    y : array-like of shape (n_samples,), default=None
        Labels, with the unlabelled marker where there is none; only which rows have one counts.
        None: the labels that the model was fitted to, and without a model none.
    k : int, default=1
        How many rows.
    model : estimator of lapwing, Pipeline that ends in one, or FewLabelClassifier, default=None
        Fitted to these rows. A pipeline's first steps are applied to X before the graph is made.
    graph : recipe, matrix or transformer, default=None
        As estimators take it. None: that of the model, or `lapwing.graphs.default_graph`.
    unlabeled : 'auto', number, str, None or NaN, default='auto'
        What marks unlabelled rows in y.

    Returns
    -------
    ndarray of int of shape (k,)
        Rows without a label, the most telling first; fewer if no more are without one. Of equal
        rows the first.

    Raises
    ------
    TypeError
        If the model is none of this library.
    ValueError
        If k is no positive number, or X, y and the model are not of the same rows.

    See Also
    --------
    lapwing.LapSVC.suggest : The same by the graph that an updatable fit keeps.

    Notes
    -----
    Labels of rows that were chosen so do not show how large the classes are. `S3VC` takes the
    shares of the classes from the labels: if you know them, give ``balance=``.

    Greedy reduction of the variance on the graph's smoothest eigenvectors [1]_, times how unsure an
    answer is: one less the difference of the two largest of `transduction_proba_`, in the manner
    of [2]_. A graph and some hundred of its eigenvectors are computed in every call: 2 s for 20,000
    rows of 50 features.

    References
    ----------
    .. [1] M. Ji and J. Han, "A variance minimization criterion to active learning on graphs",
       AISTATS 2012.
    .. [2] K. Miller and A. L. Bertozzi, "Model change active learning in graph-based
       semi-supervised learning", Communications on Applied Mathematics and Computation, 2024.

    Examples
    --------
    Nothing is labelled yet: four rows that cover the data, one of each cluster.

    >>> from sklearn.datasets import make_blobs
    >>> from lapwing.model_selection import rows_to_label
    >>> X, truth = make_blobs(200, centers=4, cluster_std=0.5, random_state=0)
    >>> rows = rows_to_label(X, k=4)
    >>> sorted(truth[rows].tolist())
    [0, 1, 2, 3]
    """
    if not is_count(k):
        raise ValueError(f"k={k!r} must be a whole number of rows, 1 or more.")
    points = _read(X)
    labeled = np.zeros(points.shape[0], dtype=bool)
    unsure, regression = None, False
    if model is not None:
        points, last = _seen_by_the_last(model, points)
        _check_same_rows(points, last)
        labeled, regression = last.labeled_, not is_classifier(last)
        graph = getattr(last, "graph", None) if graph is None else graph
        if not regression:
            two = np.sort(last.transduction_proba_, axis=1)[:, -2:]
            unsure = 1 - (two[:, 1] - two[:, 0])
    if y is not None:
        check_consistent_length(points, y)
        labeled = ~find_unlabeled(read_column(y), unlabeled).mask
    return telling_rows(points, labeled, int(k), graph, unsure=unsure, regression=regression)


def telling_rows(
    points: Any,
    labeled: Array,
    k: int,
    graph: Any = None,
    *,
    unsure: Array | None = None,
    regression: bool = False,
) -> Array:
    """Rows to label next, of points that were checked.

    Parameters
    ----------
    points : ndarray or sparse of shape (n_samples, n_features)
    labeled : ndarray of bool of shape (n_samples,)
    k : int
    graph : recipe, matrix or transformer, optional
        None: the default one.
    unsure : ndarray of shape (n_samples,), optional
        Factors >= 0; 1 by default.
    regression : bool, default=False
        Whether values are wanted and not classes.

    Returns
    -------
    ndarray of int of shape (k,)
        Fewer if no more are without a label. Equal rows are one point.
    """
    first, vertex = distinct_rows(points)
    points = points[first]
    if graph is None:
        graph = default_graph(points, regression=regression)
    laplacian = build_laplacian(graph, points, regression=regression)
    free = np.ones(len(first), dtype=bool)
    free[vertex[labeled]] = False
    chosen = most_telling(
        design_of(laplacian),
        np.flatnonzero(~free),
        min(k, int(free.sum())),
        np.ones(len(first)) if unsure is None else unsure[first],
        free,
        np.bincount(vertex).astype(np.float64),
        laplacian.affinity,
    )
    return np.asarray(first[chosen], dtype=np.intp)


def _read(X: Any) -> Any:
    refuse_misread(X)
    with texts_told(X):
        points = check_array(
            X,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,
        )
    refuse_gaps(points, None)
    return points


def _seen_by_the_last(model: Any, points: Any) -> tuple[Any, Any]:
    """Points as the estimator at the end sees them, and that estimator."""
    while True:
        if isinstance(model, Pipeline):
            points = model[:-1].transform(points) if len(model) > 1 else points
            model = model[-1]
        elif (chosen := chosen_by(model)) is not None:
            model = chosen
        else:
            break
    if not isinstance(model, SemiSupervisedEstimator):
        raise TypeError(
            f"{type(model).__name__} is no estimator of lapwing: it does not say which rows it was "
            "fitted to. Of a search give best_estimator_. Without a model the rows cover the data."
        )
    check_is_fitted(model)
    return points, model


def _check_same_rows(points: Any, model: Any) -> None:
    if len(model.labeled_) != points.shape[0]:
        raise ValueError(
            f"X has {points.shape[0]} rows and the model was fitted to {len(model.labeled_)}. Give "
            "the rows of the fit."
        )
