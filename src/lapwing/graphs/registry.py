"""Registry of graphs, the default graph, and the values of ``graph=``."""

from __future__ import annotations

from reprlib import repr as short_repr
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from lapwing._arrays import is_sparse
from lapwing._rows.base import PointData, is_rows
from lapwing.graphs.affinity import AffinityGraph, TransformerGraph
from lapwing.graphs.anchors import AnchorGraph
from lapwing.graphs.base import GraphLike, GraphRecipe, check_power, is_normalized
from lapwing.graphs.laplacian import Laplacian
from lapwing.graphs.neighbors import KNNGraph

# The recipes of ``graph=``, in the order of messages. `lapwing.graphs` fills it, and the shared
# tests run over it.
GRAPHS: dict[str, type[GraphRecipe]] = {}

# The term f'L^p f controls the values of f, and not only its average, if p exceeds half the
# dimension of the manifold. Up to this number of features p = 1 suffices, while p = 2 would not
# penalise linear trends along a curve, which one label per class cannot determine.
_FEW_FEATURES = 3

# Fraction of non-zero entries: 1 to 2 % or less for texts; 19 % and more for images of digits,
# where the norm is informative.
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
        Recipe with the method ``affinity(X)`` and the attributes ``normalized`` and ``power``.

    Raises
    ------
    TypeError
        If `graph` is anything else.
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
        f"graph={short_repr(graph)} is not a graph. Use None (the default graph), one of "
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
        See `as_graph`. Estimators replace None by `default_graph` before.
    X : array-like or sparse of shape (n, n_features)
        The points.
    dtype : data-type, default=float64
        Precision of the Laplacian's matrix.
    memory : str or joblib.Memory, default=None
        Cache of finished stages of the neighbour search for points on disk.
    regression : bool, default=False
        Whether the graph is for regression, for ``normalized='auto'``.

    Returns
    -------
    Laplacian
        L^p of the graph.
    """
    recipe = as_graph(graph)
    # Checked before the search, which may take minutes.
    power = check_power(recipe.power)
    normalized = is_normalized(recipe.normalized, regression=regression)
    if is_rows(X) and isinstance(recipe, KNNGraph):
        affinity = recipe.affinity_of_rows(X, memory)
    else:
        affinity = recipe.affinity(X)
    return Laplacian.from_affinity(affinity, normalized=normalized, power=power, dtype=dtype)


def default_graph(X: PointData, *, regression: bool = False) -> GraphRecipe:
    """Choose the default graph for points.

    Parameters
    ----------
    X : array-like or sparse of shape (n, n_features)
        The points.
    regression : bool, default=False
        Whether the graph is for regression.

    Returns
    -------
    GraphRecipe
        For classification ``KNNGraph(n_neighbors=5, power=2)``, or
        ``KNNGraph(n_neighbors=10, power=1)`` for at most 3 features; for regression
        ``KNNGraph(n_neighbors=5, power=2, normalized=False)``, which does not penalise constants.
        If most entries of X are 0, as for texts, with ``metric='cosine'``. With too few points for
        this number of neighbours, all points are connected.

    Notes
    -----
    The defaults were chosen by the error of `LapSVC` on the unlabelled points of seventeen data
    sets with 1 to 5 labels per class: on eleven sets of 4 to 7511 features the mean error is 11.8 %
    with k = 5, p = 2 and 20.0 % with k = 10, p = 1; on six sets of 2 and 3 features (moons,
    circles, clock, blobs, rolls) it is 21.2 % and 4.7 %.
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
    """Return the metric of the default graph: 'cosine' for points that are mostly 0, as texts.

    The cosine does not depend on the lengths of texts: on the word counts of 1440 texts in 12
    classes with 3 labels each the error of LapSVC is 25 % with it, and 38 % without. The number of
    zeros matters, not the storage format, so that dense and sparse X give the same results.

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
        return "euclidean"  # an error is raised later, when the points are read
    filled = values.nnz if is_sparse(values) else np.count_nonzero(values)
    return "cosine" if filled < _MOSTLY_ZERO * np.prod(values.shape) else "euclidean"


def _shape(X: PointData) -> tuple[int, ...]:
    return X.shape if is_rows(X) else np.shape(X)


# k and p of parameter paths: few neighbours for series of images, p = 3 for clusters in many
# dimensions (figures in `lapwing.estimators.manifold_cv`).
_FEW = 5
_TRIED = ((5, 2), (5, 1), (5, 3), (10, 2), (10, 1), (10, 3), (2, 2), (2, 1))


def default_graphs(X: PointData, *, regression: bool = False) -> list[GraphRecipe]:
    """Choose the graphs of a parameter path, the default graph first.

    Parameters
    ----------
    X : array-like or sparse of shape (n, n_features)
        The points.
    regression : bool, default=False
        Whether the graphs are for regression.

    Returns
    -------
    list of GraphRecipe
        Graphs with ``n_neighbors`` 5 and 10 and ``power`` 1 to 3, and with 2 neighbours and powers
        1 and 2, without duplicates if there are few points. For regression 5 neighbours only: on
        five sets other numbers changed the error by less than 1 %.
    """
    first = default_graph(X, regression=regression)
    if not isinstance(first, KNNGraph):
        return [first]
    most = _shape(X)[0] - 1
    tried = [(first.n_neighbors, first.power)]
    more = [(k, p) for k, p in _TRIED if k == _FEW or not regression]
    tried += [(min(k, most), p) for k, p in more]
    return [clone(first).set_params(n_neighbors=k, power=p) for k, p in dict.fromkeys(tried)]
