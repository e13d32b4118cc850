"""Dense matrices of manifold regularisation from the attributes of a fitted estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics.pairwise import rbf_kernel

from lapwing import AffinityGraph
from lapwing.graphs import default_graph
from tests.helpers.problems import laplacian

Array = np.ndarray[Any, Any]


def is_linear(estimator: Any) -> bool:
    return isinstance(estimator.kernel, str) and estimator.kernel == "linear"


def gram(estimator: Any, X: Array) -> Array:
    """The kernel matrix of the points of a fitted estimator with a Gaussian or linear kernel."""
    return X @ X.T if is_linear(estimator) else rbf_kernel(X, gamma=estimator.kernel_.gamma)


def _recipe(estimator: Any) -> Any:
    """The graph asked for, or the default of these few features."""
    if estimator.graph is not None:
        return estimator.graph
    X = np.empty((99, estimator.n_features_in_))
    return default_graph(X, regression=not is_classifier(estimator))


def given_graph(estimator: Any, affinity: Any = None) -> AffinityGraph:
    """The graph of a fitted estimator, or another affinity with the same operator."""
    options = _recipe(estimator)
    W = estimator.affinity_ if affinity is None else affinity
    return AffinityGraph(W, normalized=options.normalized, power=options.power)


def dense_laplacian(estimator: Any) -> Array:
    """L^p of a fitted estimator, formed."""
    options = _recipe(estimator)
    W = estimator.affinity_.toarray()
    formed: Array = laplacian(W, normalized=options.normalized, power=options.power)
    return formed


def dense_smoothness(estimator: Any) -> Array:
    """gamma_I L^p, formed; zero without a graph."""
    if estimator.gamma_I == 0:
        n = len(estimator.labeled_)
        return np.zeros((n, n))
    smoothness: Array = estimator.gamma_I * dense_laplacian(estimator)
    return smoothness
