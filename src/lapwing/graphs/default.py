"""The graph that estimators use for ``graph=None``."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing._rows import is_rows
from lapwing.graphs.affinity import AffinityGraph
from lapwing.graphs.base import GraphRecipe
from lapwing.graphs.neighbors import KNNGraph

# The term f'L^p f controls the values of f, and not only its average, if p exceeds half the
# dimension of the manifold. Up to so many features p = 1 is enough, and p = 2 would leave linear
# trends along a curve free, which one label a class cannot hold down.
_FEW_FEATURES = 3


def default_graph(X: Any, *, regression: bool = False) -> GraphRecipe:
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
        ``KNNGraph(n_neighbors=5, power=2, normalized=False)``, which leaves constants alone. With
        too few points for that all are joined.

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
    if regression:
        return KNNGraph(min(5, n - 1), power=2, normalized=False)
    if n_features <= _FEW_FEATURES:
        return KNNGraph(min(10, n - 1), power=1)
    return KNNGraph(min(5, n - 1), power=2)


def _shape(X: Any) -> tuple[int, ...]:
    return X.shape if is_rows(X) else np.shape(X)


# k and p that paths of parameters try: few neighbours for series of images, p = 3 for clusters in
# many dimensions (`lapwing.estimators.manifold_cv` has the figures).
_TRIED = ((5, 2), (5, 1), (5, 3), (10, 2), (10, 1), (10, 3), (2, 2), (2, 1))


def default_graphs(X: Any, *, regression: bool = False) -> list[GraphRecipe]:
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
        where points are few.
    """
    first = default_graph(X, regression=regression)
    if not isinstance(first, KNNGraph):
        return [first]
    most = _shape(X)[0] - 1
    tried = [(first.n_neighbors, first.power)]
    tried += [(min(k, most), p) for k, p in _TRIED]
    return [KNNGraph(k, power=p, normalized=first.normalized) for k, p in dict.fromkeys(tried)]
