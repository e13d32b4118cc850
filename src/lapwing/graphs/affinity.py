"""Graphs from a given matrix or a scikit-learn transformer."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from lapwing._parameters import named, parameters
from lapwing._rows.base import PointData
from lapwing.graphs.base import CSR, check_affinity, check_points, check_recipe
from lapwing.graphs.weights import (
    WEIGHT_FUNCTION,
    WEIGHTS,
    Edges,
    WeightFunction,
    affinity_of_edges,
)


class AffinityGraph(BaseEstimator):
    """Graph given by its affinity matrix.

    Parameters
    ----------
    affinity : array-like or sparse of shape (n, n)
        Weights between the rows of X of the fit, labelled and unlabelled, in the same order.
        Symmetric (up to rounding), finite and not negative; the diagonal is ignored. Zero means
        no edge.
    normalized : bool or 'auto', default=True
        Whether the Laplacian is D^-1/2 (D - W) D^-1/2 (True) or D - W (False). The normalised
        Laplacian does not depend on the scale of the weights, but shrinks the values of a
        regression towards 0: use False for regression if the weights are about 1. 'auto' is as for
        `KNNGraph`.
    power : int, default=1
        p of the graph term f'L^p f.

    See Also
    --------
    KNNGraph : Computes the affinity from points.

    Notes
    -----
    The parameter and the method have the same name: ``recipe.affinity`` is the method, and
    ``get_params()["affinity"]`` is the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.graphs import AffinityGraph
    >>> AffinityGraph(np.array([[1.0, 0.5], [0.5, 1.0]])).affinity().toarray()
    array([[0. , 0.5],
           [0.5, 0. ]])
    """

    def __init__(self, affinity: Any, *, normalized: bool | str = True, power: int = 1) -> None:
        self._matrix = affinity
        self.normalized = normalized
        self.power = power

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters.

        Parameters
        ----------
        deep : bool, default=True
            Ignored, as no parameter has parameters.

        Returns
        -------
        dict
            Parameters by name; ``affinity`` is the matrix itself, not a copy.
        """
        # The inherited method would read the attribute `affinity`, which is the method below.
        return {"affinity": self._matrix, "normalized": self.normalized, "power": self.power}

    def set_params(self, **params: object) -> AffinityGraph:
        """Set parameters.

        Parameters
        ----------
        **params : dict
            New values by name.

        Returns
        -------
        AffinityGraph
            The recipe itself.
        """
        rest = {name: value for name, value in params.items() if name != "affinity"}
        super().set_params(**rest)
        if "affinity" in params:
            self._matrix = params["affinity"]
        return self

    def affinity(self, X: Any = None) -> CSR:
        """Return a copy of the affinity matrix.

        Parameters
        ----------
        X : array-like or sparse of shape (n, n_features), optional
            The points; only their number is used.

        Returns
        -------
        csr_array of shape (n, n)
            Symmetric and non-negative, with an empty diagonal.

        Raises
        ------
        ValueError
            If the matrix is not square, symmetric, finite and non-negative, or its size is not the
            number of rows of X.
        """
        check_recipe(self)
        n_points = None if X is None else X.shape[0] if hasattr(X, "shape") else len(X)
        return check_affinity(self._matrix, n_points)


@parameters
class TransformerGraph(BaseEstimator):
    """Graph computed by a scikit-learn neighbours transformer.

    Parameters
    ----------
    transformer : object with fit_transform
        `sklearn.neighbors.KNeighborsTransformer`, `sklearn.neighbors.RadiusNeighborsTransformer`,
        or any other object whose ``fit_transform(X)`` returns a sparse matrix (n, n); it may be the
        last step of a pipeline. The entries are distances, and a stored zero is an edge between
        duplicates. If its parameter ``mode`` is 'connectivity', the entries are weights, and zeros
        are not edges. A clone is fitted, not the object itself.
    weights : {'heat', 'binary', 'self-tuning', 'steep'} or callable, default='heat'
        Weights as functions of distances, as for `KNNGraph`, where the longest edge of a point
        replaces the distance to its k-th neighbour. Ignored for a transformer in 'connectivity'
        mode.
    normalized : bool or 'auto', default='auto'
        Whether the Laplacian is D^-1/2 (D - W) D^-1/2 (True) or D - W (False). 'auto' is True for
        classification and False for regression, as D - W does not penalise constants while the
        normalised Laplacian shrinks values towards 0.
    power : int, default=1
        p of the graph term f'L^p f.

    See Also
    --------
    KNNGraph : The k-nearest-neighbour graph, without a transformer.
    """

    transformer: BaseEstimator
    _: KW_ONLY
    weights: str | WeightFunction = "heat"
    normalized: bool | str = "auto"
    power: int = 1

    def affinity(self, X: PointData) -> CSR:
        """Compute the affinity matrix of the graph.

        Parameters
        ----------
        X : array-like or sparse of shape (n, n_features)
            The points.

        Returns
        -------
        csr_array of shape (n, n), float64
            Symmetric (an edge has the larger of the weights of both directions) and non-negative,
            with an empty diagonal.

        Raises
        ------
        ValueError
            If the output of the transformer is not a sparse (n, n) matrix of finite, non-negative
            distances.
        """
        check_recipe(self, weights=named(lambda: WEIGHTS, WEIGHT_FUNCTION, callable))
        X = check_points(X, "TransformerGraph")
        name = type(self.transformer).__name__
        matrix = clone(self.transformer, safe=False).fit_transform(X)
        n = X.shape[0]
        edges = _edges(matrix, n, name)
        if _mode(self.transformer) == "distance":
            return affinity_of_edges(edges, n, self.weights)
        return affinity_of_edges(edges, n, lambda stored: stored)  # stored values are weights


def _edges(matrix: Any, n: int, name: str) -> Edges:
    sparse = bool(sp.issparse(matrix))
    if not sparse or matrix.shape != (n, n):
        got = f"{type(matrix).__name__} of shape {getattr(matrix, 'shape', None)}"
        raise ValueError(
            f"{name}.fit_transform(X) must give a sparse matrix of shape {(n, n)}, the distances "
            f"to the neighbours; it gave {got}. Use one of sklearn.neighbors' transformers."
        )
    stored = sp.csr_array(matrix).tocoo()  # keeps stored zeros, the distances between duplicates
    lengths = np.asarray(stored.data, dtype=np.float64)
    if not np.isfinite(lengths).all() or (lengths < 0).any():
        raise ValueError(f"{name}.fit_transform(X) gave negative, NaN or infinite distances.")
    other = stored.row != stored.col
    return Edges(stored.row[other], stored.col[other], lengths[other])


def _mode(transformer: BaseEstimator) -> str:
    while isinstance(transformer, Pipeline):
        transformer = transformer[-1]
    return str(getattr(transformer, "mode", "distance"))
