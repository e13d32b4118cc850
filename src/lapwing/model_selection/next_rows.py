"""Choice of the rows to label next, with or without a model of the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from lapwing._arrays import Array
from lapwing._host.memory import require_memory
from lapwing._host.terminal import StatusLine
from lapwing._host.warn import warn
from lapwing._parameters import COUNT, check
from lapwing._rows.base import PointData, PointsLike, all_of, is_rows
from lapwing.classes.label_checks import nothing_unlabeled_warning
from lapwing.classes.markers import find_unlabeled, is_auto, missing_mask, read_column
from lapwing.estimators.input_checks import warn_row_order
from lapwing.estimators.prepared import check_one_entry_a_row, check_rows, read_points
from lapwing.estimators.template import SemiSupervisedEstimator
from lapwing.graphs import AffinityGraph, GraphRecipe, as_graph, build_laplacian, default_graph
from lapwing.graphs.base import GraphLike, check_points
from lapwing.graphs.design import design_of, most_informative
from lapwing.graphs.registry import graph_reads_rows
from lapwing.model_selection.candidates import chosen_estimator, transform_before_last
from lapwing.problem import distinct_rows, some_rows, value_order


def rows_to_label(
    X: PointsLike,
    y: ArrayLike | None = None,
    k: int = 1,
    *,
    model: BaseEstimator = None,
    graph: GraphLike = None,
    unlabeled: object = "auto",
) -> Array:
    """Choose the rows to label next.

    The rows are those most informative about all other rows according to the graph and, with a
    model, with uncertain predictions. The rows of a batch are chosen together, so that they are not
    redundant. Without labels and model they cover the data, so that there are labels in every
    region.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        All rows, labelled or not. With a model, the rows or the kernel matrix of its fit, in the
        same order. Points on disk are read as by `fit`.
    y : array-like of shape (n_samples,), default=None
        Labels, with the marker `unlabeled` for unlabelled rows; only their positions are used. None
        means the labels of the model, or none without a model.
    k : int, default=1
        Number of rows.
    model : estimator of lapwing, Pipeline that ends in one, or FewLabelClassifier, default=None
        Fitted to these rows. A pipeline's first steps are applied to X before the graph is made.
    graph : recipe, matrix or transformer, default=None
        As for estimators; a matrix must include all rows. None means the graph of the model, or
        `lapwing.graphs.default_graph`.
    unlabeled : 'auto', number, str, None or NaN, default='auto'
        Marker of unlabelled rows in y. 'auto' means that of the model; without a model, None
        makes -1 a label.

    Returns
    -------
    ndarray of int of shape (k,)
        Unlabelled rows, the most informative first; fewer if no more are unlabelled. Of duplicate
        rows only the first is returned.

    Raises
    ------
    TypeError
        If the model is not an estimator of this library, or is one of `lapwing.dask`.
    ValueError
        If k is not a positive whole number, X, y and the model have different rows, or the model
        was fitted to a kernel matrix without a graph.

    Warns
    -----
    NothingUnlabeledWarning
        If no row of y is unlabelled.

    See Also
    --------
    lapwing.LapSVC.suggest : Choice by the graph that an updatable fit keeps.

    Notes
    -----
    The labels of these rows are not representative of the class proportions, which `S3VC` takes
    from the labels: pass ``balance=`` if you know them.

    For a regression with ``updatable=True`` the rows are those of its `suggest`, by posterior
    variances, unless y or graph is given. Otherwise they are chosen by greedy reduction of the
    variance on the graph's smoothest eigenvectors [1]_, which for classification is multiplied by
    the uncertainty of the prediction, 1 minus the difference of the two largest values of
    `transduction_proba_`, as in [2]_. Each such call computes a graph and about a hundred of its
    eigenvectors: 2 s for 20,000 rows of 50 features.

    References
    ----------
    .. [1] M. Ji and J. Han, "A variance minimization criterion to active learning on graphs",
       AISTATS 2012.
    .. [2] K. Miller and A. L. Bertozzi, "Model change active learning in graph-based
       semi-supervised learning", Communications on Applied Mathematics and Computation, 2024.

    Examples
    --------
    Without labels: four rows that cover the data, one of each cluster.

    >>> from sklearn.datasets import make_blobs
    >>> from lapwing.model_selection import rows_to_label
    >>> X, truth = make_blobs(200, centers=4, cluster_std=0.5, random_state=0)
    >>> rows = rows_to_label(X, k=4)
    >>> sorted(truth[rows].tolist())
    [0, 1, 2, 3]
    """
    check({"k": k}, {"k": COUNT})
    if y is not None:
        warn_row_order(X, y)
    usual, unsure, regression = default_graph, None, False
    if model is None:
        points = _read(X)
        labeled = np.zeros(points.shape[0], dtype=bool)
    else:
        X, model = _transform_for_last(model, X)
        model._refuse_several("rows_to_label")
        points = model._read_points(X, reset=False)
        _check_same_rows(points, model)
        given = y is None and graph is None
        graph = model._graph_of_fit() if graph is None else graph
        _check_graph_of_kernel(model, graph)
        usual = model._default_graph
        labeled, regression = model.labeled_, not is_classifier(model)
        if regression and given and getattr(model, "_kept", None) is not None:
            return np.asarray(model.suggest(int(k)))
        if not regression:
            two = np.sort(model.transduction_proba_, axis=1)[:, -2:]
            unsure = 1 - (two[:, 1] - two[:, 0])
    if y is not None:
        labeled = _labeled_in(y, points, unlabeled, model)
    points = _load_for_graph(points, graph)
    with StatusLine(f"Choosing rows to label among {points.shape[0]}"):
        return informative_rows(
            points, labeled, int(k), graph, usual=usual, unsure=unsure, regression=regression
        )


def informative_rows(
    points: PointData,
    labeled: Array,
    k: int,
    graph: GraphLike = None,
    *,
    usual: Callable[[Any], GraphRecipe] = default_graph,
    unsure: Array | None = None,
    regression: bool = False,
) -> Array:
    """Choose the rows to label next, for checked points.

    Parameters
    ----------
    points : ndarray, sparse or Rows of shape (n_samples, n_features)
    labeled : ndarray of bool of shape (n_samples,)
    k : int
    graph : recipe, matrix or transformer, optional
        None means `usual`.
    usual : callable (points) -> recipe, default=default_graph
    unsure : ndarray of shape (n_samples,), optional
        Uncertainties >= 0 of the answers; 1 by default.
    regression : bool, default=False
        Whether to predict values instead of classes.

    Returns
    -------
    ndarray of int of shape (k,)
        Fewer if no more are unlabelled. Equal rows are one point, unless the graph is a matrix of
        rows.
    """
    rows = np.arange(points.shape[0])
    of_rows = _is_of_rows(graph)
    first, vertex = (rows, rows) if of_rows else distinct_rows(points)
    points = some_rows(points, first)
    if graph is None:
        graph = usual(points)
    laplacian = build_laplacian(graph, points, regression=regression)
    free = np.ones(len(first), dtype=bool)
    free[vertex[labeled]] = False
    # In the order of values, by which ties are broken, so that the order of rows has no effect.
    order = rows if of_rows else value_order(points)
    chosen = most_informative(
        design_of(laplacian)[order],
        np.flatnonzero(~free[order]),
        min(k, int(free.sum())),
        np.ones(len(first)) if unsure is None else unsure[first[order]],
        free[order],
        np.bincount(vertex).astype(np.float64)[order],
        laplacian.affinity[order][:, order],
    )
    return np.asarray(first[order[chosen]], dtype=np.intp)


def _is_of_rows(graph: GraphLike) -> bool:
    """Return whether a graph is a matrix of rows, so that equal rows cannot be merged."""
    return graph is not None and isinstance(as_graph(graph), AffinityGraph)


def _read(X: PointsLike) -> Any:
    """Read and check points without a model."""
    points, _ = read_points(X, in_blocks=lambda rows: True, name="rows_to_label")
    if is_rows(points):
        check_rows(points)
    return check_points(points, "rows_to_label")


def _load_for_graph(points: PointData, graph: GraphLike) -> Any:
    """Read points on disk into memory, unless the graph is built in blocks."""
    if not is_rows(points) or graph_reads_rows(graph):
        return points
    n, d = points.shape
    require_memory(
        float(n) * d * points.dtype.itemsize,
        f"{type(as_graph(graph)).__name__} takes X as an array in memory, and {n} x {d} points of "
        "a file as one",
        "Use KNNGraph() or AnchorGraph(), which read row blocks.",
    )
    return all_of(points)


def _transform_for_last(model: BaseEstimator, X: PointsLike) -> tuple[Any, Any]:
    """Transform X by the steps before the last, and return the last step."""
    while True:
        if isinstance(model, Pipeline):
            check_is_fitted(model)
            X = transform_before_last(model, X)
            model = model[-1]
        elif (chosen := chosen_estimator(model)) is not None:
            model = chosen
        else:
            break
    if not isinstance(model, SemiSupervisedEstimator):
        name = getattr(model, "__name__", type(model).__name__)
        raise TypeError(
            f"{name} is not a fitted estimator of lapwing for points in memory. Give one, or a "
            "Pipeline that ends in one; of searches give best_estimator_. Without a model the rows "
            "cover the data."
        )
    check_is_fitted(model)
    return X, model


def _check_same_rows(points: PointData, model: BaseEstimator) -> None:
    if len(model.labeled_) != points.shape[0]:
        raise ValueError(
            f"X has {points.shape[0]} rows, but the model was fitted to {len(model.labeled_)}. "
            "Give the rows of the fit."
        )


def _check_graph_of_kernel(model: BaseEstimator, graph: GraphLike) -> None:
    if model._pairwise() and not _is_of_rows(graph):
        raise ValueError(
            "The model was fitted to a kernel matrix, which leaves no points to build a graph "
            "from: pass the graph as graph=AffinityGraph(affinity) or a sparse matrix."
        )


def _labeled_in(y: ArrayLike, points: PointData, marker: object, model: BaseEstimator) -> Array:
    """Return the mask of the labelled rows, by the marker of the model unless another is given."""
    if np.isscalar(y):
        raise TypeError(
            f"y={y!r} must have an entry for each row. The number of rows to label is k: "
            "rows_to_label(X, k=5)."
        )
    regression = model is not None and not is_classifier(model)
    check_one_entry_a_row(points, y, regression=regression)
    column = read_column(y)
    if model is None or not is_auto(marker):
        mask = find_unlabeled(column, marker)
    elif regression:
        mask = missing_mask(column)
    else:
        mask = find_unlabeled(column, model.unlabeled, model.classes_)
    if not mask.any():
        warning = nothing_unlabeled_warning(column, marker)
        warn(str(warning), type(warning))
    return np.asarray(~mask)
