"""The protocol of graph recipes, and the checks that all recipes share.

A recipe is a scikit-learn `BaseEstimator` that computes an affinity of points: a symmetric,
non-negative, sparse matrix W of shape (n, n) with an empty diagonal. Its parameters `normalized`
and `power` define the Laplacian, see `lapwing.graphs.laplacian`.

To add a graph, write a file with a class of these three members, register it in
`lapwing.graphs.GRAPHS`, and add an example to the shared suite in ``tests/graphs/test_base.py``.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from lapwing._arrays import Array, Matrix
from lapwing._features import canonical, reading_features, refuse_gaps
from lapwing._parameters import (
    COUNT,
    FLAG,
    FLAG_OR_AUTO,
    SEED,
    Rule,
    check,
    is_count,
    is_number,
    is_positive,
    optional,
)
from lapwing._rows.base import PointData, is_rows
from lapwing.linalg import largest_value

CSR: TypeAlias = "sp.csr_array[Any, tuple[int, int]]"

# Largest |W - W'| / max |W| that counts as rounding. It is more than a few units in the last place,
# as affinities may have been read from files or computed by products.
_ASYMMETRY = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-8}


@runtime_checkable
class GraphRecipe(Protocol):
    """Recipe of a graph of points; see the module."""

    @property
    def normalized(self) -> bool | str:
        """Whether the Laplacian is normalised; 'auto' depends on classification or regression."""

    @property
    def power(self) -> int:
        """The p of L^p."""

    def affinity(self, X: PointData, /) -> CSR:
        """Compute the affinity matrix of points.

        Parameters
        ----------
        X : array-like or sparse of shape (n, n_features)
            The points.

        Returns
        -------
        csr_array of shape (n, n)
            Symmetric and non-negative, with an empty diagonal.
        """


GraphLike: TypeAlias = GraphRecipe | Matrix | BaseEstimator | None
"""Values of ``graph=`` for `as_graph`; a scikit-learn estimator is a neighbours transformer."""


_RULES: dict[str, Rule] = {
    "normalized": FLAG_OR_AUTO,
    "power": (
        is_count,
        "a whole number of at least 1: the p of the graph term f'L^p f. To leave the graph out set "
        "gamma_I=0",
    ),
    "mutual": FLAG,
    "approximate": FLAG_OR_AUTO,
    "n_neighbors": COUNT,
    "n_nearest": COUNT,
    "n_anchors": optional(COUNT),
    "n_components": optional(COUNT),
    "random_state": SEED,
    "target_recall": (lambda v: is_number(v) and 0 < v <= 1, "a number in (0, 1]"),
    "bandwidth": optional((is_positive, "a finite number > 0 in the units of X")),
    "n_jobs": optional(
        (
            lambda v: isinstance(v, (int, np.integer)) and not isinstance(v, bool) and v != 0,
            "a number of threads, -1 for all cores",
        )
    ),
}


def check_power(power: Any) -> int:
    """Return the power of a Laplacian as an int; raise ValueError if it is not one."""
    check({"power": power}, _RULES)
    return int(power)


def check_normalized(normalized: object) -> bool:
    """Return whether a Laplacian is normalised, or raise ValueError."""
    check({"normalized": normalized}, {"normalized": FLAG})
    return bool(normalized)


def is_normalized(normalized: object, *, regression: bool = False) -> bool:
    """Return whether the Laplacian of a recipe is normalised.

    Parameters
    ----------
    normalized : bool or 'auto'
        Parameter of the recipe. 'auto' is True for classification, where only signs matter and
        vertices with many neighbours should not dominate. It is False for regression: L_n is not 0
        on constants, so it shrinks values towards 0, in particular with few labels.
    regression : bool, default=False
        Whether the graph is for regression.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        For anything else.
    """
    check({"normalized": normalized}, _RULES)
    return not regression if isinstance(normalized, str) else bool(normalized)


def check_points(X: object, owner: str) -> Any:
    """Convert points to a finite, non-empty float32 or float64 array or CSR matrix.

    Rows on disk are returned unchanged, as they were checked when they were first read.

    Parameters
    ----------
    X : array-like, sparse matrix or Rows of shape (n, n_features)
    owner : str
        Name of the recipe, for messages.

    Raises
    ------
    ValueError
        If X is not numeric, has other than two dimensions, or contains NaN or infinite values.
    """
    if is_rows(X):
        return X
    with reading_features(X):
        X = check_array(
            X,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,
            input_name="X",
            estimator=owner,
        )
    refuse_gaps(X)
    return canonical(X)


def check_affinity(affinity: Matrix, n_points: int | None = None) -> CSR:
    """Check an affinity, and convert it to the library's canonical form.

    Parameters
    ----------
    affinity : array-like or sparse of shape (n, n)
        Symmetric up to rounding, finite, non-negative. It is not modified.
    n_points : int, optional
        Expected n.

    Returns
    -------
    csr_array of shape (n, n)
        Exactly symmetric, sorted, without stored zeros and without diagonal: self-loops cancel in D
        - W, but would change the degrees of the normalised Laplacian.

    Raises
    ------
    ValueError
        If the affinity is invalid, with the reason and a remedy.
    """
    checked = check_array(
        affinity, accept_sparse="csr", dtype=(np.float64, np.float32), input_name="affinity"
    )
    n, columns = checked.shape
    if n != columns:
        raise ValueError(
            f"The affinity must be square, one row a point; its shape is {(n, columns)}."
        )
    if n_points is not None and n != n_points:
        raise ValueError(
            f"The affinity has {n} rows but X has {n_points} points. Give the affinity of exactly "
            "the points that are fitted, labelled and unlabelled, in their order. Cross-validation "
            "fits to some of the rows: give it a recipe, such as KNNGraph(), or use leave_one_out "
            "of lapwing.model_selection."
        )
    W = cast("CSR", sp.csr_array(checked, copy=True))
    W.sum_duplicates()
    if W.nnz and W.data.min() < 0:
        raise ValueError(
            f"The affinity has negative entries (smallest: {W.data.min():.3g}). Weights are "
            "similarities, not below 0: clip them, or turn distances into exp(-d**2 / (2 * t**2))."
        )
    return _without_diagonal(_symmetric(W))


def _symmetric(W: CSR) -> CSR:
    mirror = W.T.tocsr()
    if check_symmetry(W, mirror):
        return W
    return cast("CSR", (W + mirror) * W.dtype.type(0.5))


def check_symmetry(W: CSR, mirror: CSR) -> bool:
    """Raise ValueError if an affinity is not symmetric up to rounding.

    Returns
    -------
    bool
        Whether it is exactly symmetric.
    """
    difference = abs(W - mirror)
    gap = float(difference.max()) if difference.nnz else 0.0
    if gap == 0:
        return True
    if gap > _ASYMMETRY[W.dtype] * float(W.max()):
        # Errata L2: with an asymmetric W the graph term is not a sum over edges, and may not be
        # convex.
        raise ValueError(
            f"The affinity is not symmetric: |W - W.T| is up to {gap:.3g} where the largest weight "
            f"is {float(W.max()):.3g}. Symmetrise it: W.maximum(W.T) keeps every edge of a "
            "neighbour graph, W.minimum(W.T) the mutual ones, (W + W.T) / 2 averages."
        )
    return False


def _without_diagonal(W: CSR) -> CSR:
    rows = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
    W.data[rows == W.indices] = 0
    return tidy(W)


def check_values(values: Array, n_points: int) -> None:
    """Raise ValueError unless values have the shape (n,) or (n, n_columns)."""
    if values.ndim not in (1, 2) or values.shape[0] != n_points:
        raise ValueError(
            f"F has shape {values.shape}, but the graph has {n_points} points: the shape must be "
            f"({n_points},) or ({n_points}, n_columns)."
        )


def tidy(W: CSR) -> CSR:
    """Drop stored zeros, sort, and use 32-bit indices where they suffice; in place."""
    W.eliminate_zeros()
    W.sort_indices()
    if max(W.nnz, *W.shape) <= np.iinfo(np.int32).max:
        W.indices, W.indptr = W.indices.astype(np.int32), W.indptr.astype(np.int32)
    return W


def check_recipe(recipe: BaseEstimator, **rules: Rule) -> None:
    """Raise ValueError if parameters of a recipe are out of range.

    Parameters
    ----------
    recipe : BaseEstimator
    **rules : Rule
        Rules of parameters that are specific to the recipe.

    Raises
    ------
    ValueError
        If a parameter is out of range; the message is about the first one.
    """
    check(recipe.get_params(deep=False), _RULES | rules)


_LARGEST = 1e151  # of values and of their inverses: sums of squares of a million points are finite


def check_magnitude(X: PointData, name: str = "X") -> None:
    """Raise ValueError for points whose squares overflow or underflow.

    Parameters
    ----------
    X : ndarray, csr or Rows of shape (n, n_features)
    name : str, default="X"

    Raises
    ------
    ValueError
        If the largest value is beyond 1e151, or below 1e-151 and not 0.
    """
    largest = largest_value(X)
    if not largest < _LARGEST or 0 < largest < 1 / _LARGEST:
        raise ValueError(
            f"{name} contains values up to {largest:.3g}, whose squares overflow or underflow. "
            "Scale the features, e.g. by StandardScaler."
        )
