"""Which graphs there are, and what users may give for ``graph=``."""

from __future__ import annotations

from reprlib import repr as short_repr
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing._rows import is_rows
from lapwing.graphs.affinity import AffinityGraph, TransformerGraph
from lapwing.graphs.anchors import AnchorGraph
from lapwing.graphs.base import GraphRecipe, check_power, is_normalized
from lapwing.graphs.laplacian import Laplacian
from lapwing.graphs.neighbors import KNNGraph

# The shared test suite runs over these: a new graph is one file and one line here.
GRAPHS: dict[str, type[GraphRecipe]] = {
    graph.__name__: graph for graph in (KNNGraph, AffinityGraph, TransformerGraph, AnchorGraph)
}


def as_graph(graph: Any) -> GraphRecipe:
    """Turn what a user gives for ``graph=`` into a recipe.

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


def graph_reads_rows(graph: Any) -> bool:
    """Whether the graph of points on disk is made of their blocks; None is the default graph."""
    if graph is None or isinstance(graph, np.ndarray) or sp.issparse(graph):
        return True
    if isinstance(graph, KNNGraph):
        return graph.reads_rows
    return isinstance(graph, AffinityGraph | AnchorGraph)


def build_laplacian(
    graph: Any,
    X: Any,
    dtype: Any = np.float64,
    *,
    memory: Any = None,
    regression: bool = False,
) -> Laplacian:
    """Build the Laplacian of points from anything that `as_graph` accepts.

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
