"""Registry of graphs, the default graph, and the values of ``graph=``."""

from __future__ import annotations

from reprlib import repr as short_repr
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from lapwing._arrays import is_sparse
from lapwing._rows import PointData, is_rows
from lapwing.graphs.affinity import AffinityGraph, TransformerGraph
from lapwing.graphs.anchors import AnchorGraph
from lapwing.graphs.base import GraphLike, GraphRecipe, check_power, is_normalized
from lapwing.graphs.laplacian import Laplacian
from lapwing.graphs.neighbors import KNNGraph

# `lapwing.graphs` fills it; the shared test suite runs over these.
GRAPHS: dict[str, type[GraphRecipe]] = {}

# The term f'L^p f controls the values of f, and not only its average, if p exceeds half the
# dimension of the manifold. Up to so many features p = 1 is enough, and p = 2 would leave linear
# trends along a curve free, which one label a class cannot hold down.
_FEW_FEATURES = 3

# Texts have 1 to 2 % of their words or less; images of digits, whose lengths say something, have
# 19 % and more of their pixels.
_MOSTLY_ZERO = 0.1


def as_graph(graph: GraphLike) -> GraphRecipe:
    """Return the recipe for a value of ``graph=``.

    Parameters
    ----------
    graph : recipe, matrix or transformer
        A recipe is returned as it is; an array or sparse matrix means `AffinityGraph`; an object
        with ``fit_transform``, a neighbours transformer, means `TransformerGraph`.

    Returns
    -------
    GraphRecipe
        With the method ``affinity(X)`` and the attributes ``normalized`` and ``power``.

    Raises
    ------
    TypeError
        For anything else.
    """
    if isinstance(graph, np.ndarray) or sp.issparse(graph):
        return AffinityGraph(graph)
    if not isinstance(graph, type):
        if isinstance(graph, GraphRecipe):
            return graph
        if callable(getattr(graph, "fit_transform", None)):
            return TransformerGraph(graph)
    called = f" Did you mean graph={graph.__name__}(...)?" if isinstance(graph, type) else ""
    raise TypeError(
        f"graph={short_repr(graph)} is no graph. Use None (the default graph), one of "
        f"{', '.join(GRAPHS)}, a symmetric affinity matrix (sparse or dense), or a neighbours "
        f"transformer of scikit-learn.{called}"
    )


def graph_reads_rows(graph: GraphLike) -> bool:
    """Return whether a graph of points on disk is built from blocks; None is the default graph."""
    if graph is None or isinstance(graph, np.ndarray) or sp.issparse(graph):
        return True
    if isinstance(graph, KNNGraph):
        return graph.reads_rows
    return isinstance(graph, AffinityGraph | AnchorGraph)


def build_laplacian(
    graph: object,
    X: PointData,
    dtype: Any = np.float64,
    *,
    memory: Any = None,
    regression: bool = False,
) -> Laplacian:
    """Build the Laplacian of points for a value of ``graph=``.

    Parameters
    ----------
    graph : recipe, matrix or transformer
        See `as_graph`. Estimators make None a `default_graph` first.
    X : array-like or sparse of shape (n, n_features)
        The points.
    dtype : data-type, default=float64
        Precision of the Laplacian's matrix.
    memory : str or joblib.Memory, default=None
        Where a search for neighbours of points on disk keeps its finished stages.
    regression : bool, default=False
        Whether values are to be smoothed and not classes: what ``normalized='auto'`` goes by.

    Returns
    -------
    Laplacian
        L^p of the graph, as its recipe says.
    """
    recipe = as_graph(graph)
    # Before the search, which may take minutes.
    power = check_power(recipe.power)
    normalized = is_normalized(recipe.normalized, regression=regression)
    if is_rows(X) and isinstance(recipe, KNNGraph):
        affinity = recipe.affinity_of_rows(X, memory)
    else:
        affinity = recipe.affinity(X)
    return Laplacian.from_affinity(affinity, normalized=normalized, power=power, dtype=dtype)


def default_graph(X: PointData, *, regression: bool = False) -> GraphRecipe:
    """Choose a graph for points.

    Parameters
    ----------
    X : array-like or sparse of shape (n, n_features)
        The points.
    regression : bool, default=False
        Whether values are to be smoothed and not classes.

    Returns
    -------
    GraphRecipe
        For classes ``KNNGraph(n_neighbors=5, power=2)``, for at most 3 features
        ``KNNGraph(n_neighbors=10, power=1)``; for values
        ``KNNGraph(n_neighbors=5, power=2, normalized=False)``, which leaves constants alone.
        Between points that are mostly 0, such as texts, angles count: ``metric='cosine'``. With too
        few points for that all are joined.

    Notes
    -----
    Chosen by the error of `LapSVC` on the unlabelled points of seventeen sets with 1 to 5 labels a
    class: on eleven sets of 4 to 7511 features k = 5, p = 2 is wrong on 11.8 % in the mean and
    k = 10, p = 1 on 20.0 %; on six sets of 2 and 3 features (moons, circles, clock, blobs, rolls)
    the same two on 21.2 % and 4.7 %.
    """
    n, n_features = _shape(X)
    if n == 1:
        return AffinityGraph(sp.csr_array((1, 1), dtype=np.float64))
    metric = default_metric(X)
    if regression:
        return KNNGraph(min(5, n - 1), power=2, normalized=False, metric=metric)
    if n_features <= _FEW_FEATURES:
        return KNNGraph(min(10, n - 1), power=1, metric=metric)
    return KNNGraph(min(5, n - 1), power=2, metric=metric)


def default_metric(X: PointData) -> str:
    """Name the metric of the default graph: angles between points that are mostly 0, as texts.

    A long text is not far from a short one on the same matter: on the word counts of 1440 texts in
    12 classes with 3 labels each LapSVC is wrong on 25 % with it, and on 38 % without. What
    counts is how many numbers are 0, not how they are stored: a table gives the same answers in
    every format.

    Parameters
    ----------
    X : array-like or sparse of shape (n, n_features)
        The points.

    Returns
    -------
    {'cosine', 'euclidean'}
    """
    if is_rows(X):
        return "euclidean"
    values: Any = X if is_sparse(X) else np.asarray(X)
    if values.dtype.kind not in "biuf":
        return "euclidean"  # what is no number is refused where it is read
    filled = values.nnz if is_sparse(values) else np.count_nonzero(values)
    return "cosine" if filled < _MOSTLY_ZERO * np.prod(values.shape) else "euclidean"


def _shape(X: PointData) -> tuple[int, ...]:
    return X.shape if is_rows(X) else np.shape(X)


# k and p that paths of parameters try: few neighbours for series of images, p = 3 for clusters in
# many dimensions (`lapwing.estimators.manifold_cv` has the figures).
_FEW = 5
_TRIED = ((5, 2), (5, 1), (5, 3), (10, 2), (10, 1), (10, 3), (2, 2), (2, 1))


def default_graphs(X: PointData, *, regression: bool = False) -> list[GraphRecipe]:
    """Choose the graphs of a path for points, the default one first.

    Parameters
    ----------
    X : array-like or sparse of shape (n, n_features)
        The points.
    regression : bool, default=False
        Whether values are to be smoothed and not classes.

    Returns
    -------
    list of GraphRecipe
        With ``n_neighbors`` 5 and 10 and ``power`` 1 to 3, and 2 neighbours with 1 and 2; each once
        where points are few. For values 5 neighbours alone: on five sets others changed the error
        by less than 1 %.
    """
    first = default_graph(X, regression=regression)
    if not isinstance(first, KNNGraph):
        return [first]
    most = _shape(X)[0] - 1
    tried = [(first.n_neighbors, first.power)]
    more = [(k, p) for k, p in _TRIED if k == _FEW or not regression]
    tried += [(min(k, most), p) for k, p in more]
    return [clone(first).set_params(n_neighbors=k, power=p) for k, p in dict.fromkeys(tried)]
