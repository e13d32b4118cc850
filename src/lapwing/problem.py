"""Problem of a fit: checked X and y.

A *row* is one of the user's X; a *vertex* is a point of the problem. They differ where rows
repeat: equal rows are one vertex (with as many observations as labels), so that repeating a row
equals weighting it, and copies do not fill each other's neighbourhoods. Labelled rows of weight 0
are left out, as if removed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lapwing._arrays import Array, as_dense, is_sparse, refuse_masked, row_blocks
from lapwing._rows.base import PickedRows, PointData, blocks_of, is_rows, rows_of

# Seeds of the hashes, fixed: the same rows have the same hashes in every process.
_SEED, _SECOND_SEED = 0x1AB, 0x2CD
_BLOCK_BYTES = 2**25  # of points that are hashed or compared at a time, with copies of their bits
_LARGEST_WEIGHT = 1e100  # squares and products with other weights stay in float64


@dataclass(frozen=True, eq=False)
class Problem:
    """Learning problem.

    Attributes
    ----------
    X : ndarray, CSR or Rows of shape (n, n_features); (n, n) if precomputed
        The vertices.
    vertex : ndarray of shape (n_rows,)
        Vertex of each row; -1 for rows left out.
    rows : ndarray of shape (n,)
        One row of each vertex.
    index : ndarray of shape (l,)
        Vertex of each observation.
    observed : ndarray of shape (l,)
        First row with each observation.
    targets : ndarray of shape (l, c)
    weights : ndarray of shape (l,)
        Positive.
    labeled_rows : ndarray of bool of shape (n_rows,)
        Labelled rows, including those left out.
    row_weights : ndarray of shape (n_rows,)
        Weights of all rows.
    """

    X: Any
    vertex: Array
    rows: Array
    index: Array
    observed: Array
    targets: Array
    weights: Array
    labeled_rows: Array
    row_weights: Array

    @property
    def n_points(self) -> int:
        return int(self.X.shape[0])

    @property
    def labeled(self) -> Array:
        """Mask of the vertices with an observation."""
        mask = np.zeros(self.n_points, dtype=bool)
        mask[self.index] = True
        return mask

    def relabeled(self, labeled: Array, targets: Array, weights: Array) -> Problem:
        """Replace the labels of all rows, with the same points.

        Unlike in `make_problem`, labelled rows of weight 0 are kept as unlabelled points.

        Parameters
        ----------
        labeled : ndarray of bool of shape (n_rows,)
        targets : ndarray of shape (n_rows, c)
            Only read where labelled.
        weights : ndarray of shape (n_rows,)
        """
        observed = np.flatnonzero(labeled & (weights > 0) & (self.vertex >= 0))
        first, summed = _merge_observations(
            self.vertex[observed], targets[observed], weights[observed]
        )
        rows = observed[first]
        return replace(
            self,
            index=self.vertex[rows],
            observed=rows,
            targets=targets[rows],
            weights=summed,
            labeled_rows=labeled,
            row_weights=weights,
        )


def check_weights(sample_weight: ArrayLike | None, labeled: Array, class_weights: Array) -> Array:
    """Return the weights of all rows as float64; those of unlabelled rows need only be finite.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,) or None
    labeled : ndarray of bool of shape (n_rows,)
    class_weights : ndarray of shape (n_rows,)
        Factors of the sample weights.

    Raises
    ------
    ValueError
        If weights have the wrong length, are masked, negative, NaN or too large, or no labelled row
        has a positive weight.
    """
    if sample_weight is None:
        return check_weight_sizes(class_weights, labeled)
    weights = read_row_weights(sample_weight, len(labeled))
    if (weights[labeled] < 0).any():
        row = np.flatnonzero(labeled & (weights < 0))[0]
        raise ValueError(
            f"sample_weight must not be negative on labelled rows: row {row} has {weights[row]}."
        )
    if not (weights[labeled] > 0).any():
        raise ValueError(
            "sample_weight is zero on every labelled row, so no label is left to learn from."
        )
    with np.errstate(over="ignore"):
        return check_weight_sizes(weights * class_weights, labeled)


def read_row_weights(sample_weight: ArrayLike, n_rows: int) -> Array:
    """Convert weights of all rows to float64.

    Raises
    ------
    ValueError
        If they are not one finite number for each row.
    """
    refuse_masked(sample_weight, "sample_weight", "Give every row a weight.")
    given = np.asarray(sample_weight)
    if given.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has the shape {given.shape}, and X has {n_rows} rows. Give one number "
            "for each row."
        )
    try:
        weights = given.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight must be numbers, and its type is {given.dtype}.") from None
    wrong = np.flatnonzero(~np.isfinite(weights))
    if len(wrong):
        # At an unlabelled row it would only cause an error when `add_labels` labels it.
        raise ValueError(
            f"sample_weight holds NaN or infinity, first at row {wrong[0]}. Give every row a "
            "finite weight, unlabelled ones too, e.g. 1."
        )
    return weights


def check_weight_sizes(weights: Array, rows: Array) -> Array:
    """Return the weights; raise ValueError if sums over a mask of rows overflow.

    Raises
    ------
    ValueError
        If they do; the message has the largest one.
    """
    largest = float(weights[rows].max(initial=0.0))
    if largest > _LARGEST_WEIGHT:
        raise ValueError(
            f"Weights of rows (sample_weight times class_weight) must be at most "
            f"{_LARGEST_WEIGHT:g}, as sums of larger ones overflow; the largest is {largest:.3g}. "
            "Divide all of them by the largest. Only their size relative to the other terms "
            "of the objective matters."
        )
    return weights


def make_problem(
    X: PointData,
    labeled: Array,
    targets: Array,
    weights: Array,
    *,
    merge: bool,
    pairwise: bool = False,
) -> Problem:
    """Build the problem of a fit.

    Parameters
    ----------
    X : ndarray, CSR or Rows of shape (n_rows, n_features); (n_rows, n_rows) if pairwise
    labeled : ndarray of bool of shape (n_rows,)
    targets : ndarray of shape (n_rows, c)
        Only read where labelled.
    weights : ndarray of shape (n_rows,)
    merge : bool
        Whether equal rows become one vertex.
    pairwise : bool, default=False
        Whether X is a kernel matrix.
    """
    n_rows = X.shape[0]
    kept = ~(labeled & (weights == 0))
    rows = np.flatnonzero(kept)
    position = np.arange(len(rows))
    if merge:
        first, position = distinct_rows(some_rows(X, rows))
        rows = rows[first]
    vertex = np.full(n_rows, -1, dtype=np.intp)
    vertex[kept] = position
    some = pairwise and len(rows) < n_rows
    points = _submatrix(X, rows) if some else some_rows(X, rows)
    observed = np.flatnonzero(labeled & kept)
    first, summed = _merge_observations(vertex[observed], targets[observed], weights[observed])
    carriers = observed[first]
    return Problem(
        *(points, vertex, rows, vertex[carriers], carriers),
        *(targets[carriers], summed, labeled, weights),
    )


def some_rows(X: PointData, rows: Array) -> Any:
    """Select points by ascending indices; all of them are X itself."""
    if len(rows) == X.shape[0]:
        return X
    return PickedRows(X, rows) if is_rows(X) else X[rows]


def _submatrix(K: Any, rows: Array) -> Any:
    return K[rows][:, rows] if is_sparse(K) else K[np.ix_(rows, rows)]


def _merge_observations(index: Array, targets: Array, weights: Array) -> tuple[Array, Array]:
    """Find the first of equal labels of one vertex, and the sum of their weights."""
    if len(np.unique(index)) == len(index):
        return np.arange(len(index)), weights
    # Labels are compared as well: contradicting labels of a point remain separate observations.
    keys = np.column_stack([index, targets])
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    total = np.bincount(inverse.ravel(), weights, minlength=len(first))
    order = np.argsort(first)
    return first[order], total[order]


def distinct_rows(X: PointData) -> tuple[Array, Array]:
    """Return the first row of each distinct row, and the index of the distinct row of every row.

    Rows are compared by a hash, in one pass over X, and exactly if hashes are equal.
    """
    keys = _row_hashes(X)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    inverse = inverse.ravel()
    if len(first) < len(keys) and not _rows_equal(X, np.arange(len(keys)), first[inverse]):
        if not is_rows(X):
            keys = as_dense(X)
        else:  # 128 bits are enough
            keys = np.stack([keys, _row_hashes(X, _SECOND_SEED)], axis=1)
        _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        inverse = inverse.ravel()
    # In order of appearance, so that without duplicate rows the points are X itself.
    rank = np.empty(len(first), dtype=np.intp)
    order = np.argsort(first)
    rank[order] = np.arange(len(first))
    return first[order], rank[inverse]


def value_order(X: PointData, *, pairwise: bool = False) -> Array:
    """Order rows by their values, so that draws from them do not depend on the order of X.

    Rows are sorted by their projections on a fixed random direction, which rounding hardly changes;
    duplicate rows keep their order.

    Parameters
    ----------
    X : ndarray, sparse or Rows of shape (n_rows, n_features); (n_rows, n_rows) if pairwise
    pairwise : bool, default=False
        Whether X is a kernel matrix, whose columns are permuted like its rows.

    Returns
    -------
    ndarray of int of shape (n_rows,)
    """
    direction = np.random.default_rng(_SEED).standard_normal(X.shape[1])
    keys = np.empty(X.shape[0])
    for rows, points in blocks_of(X, 8 * X.shape[1], _BLOCK_BYTES):
        if pairwise:
            points = np.sort(as_dense(points), axis=1)
        keys[rows] = points @ direction
    return np.asarray(np.argsort(keys, kind="stable"))


def _row_hashes(X: PointData, seed: int = _SEED) -> Array:
    """Hash each row: sum_j bits(x_j) r_j modulo 2^64, exact in any order of summation."""
    rng = np.random.default_rng(seed)
    odd = rng.integers(0, 2**63, size=X.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    if is_sparse(X):
        bits = _bits(X.data) * odd[X.indices]
        total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(bits, dtype=np.uint64)])
        return np.asarray(total[X.indptr[1:]] - total[X.indptr[:-1]])
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    for rows, points in blocks_of(X, 8 * X.shape[1], _BLOCK_BYTES):
        hashes[rows] = _bits(points) @ odd
    return hashes


def _bits(values: Array) -> Array:
    # + 0.0 converts -0.0 to 0.0; zeros hash to zero, stored or not. The shift mixes high bits into
    # low ones, which multiplication by an odd number does not.
    bits = np.ascontiguousarray(values + values.dtype.type(0)).view(f"u{values.dtype.itemsize}")
    bits = bits.astype(np.uint64)
    return np.asarray(bits ^ (bits >> np.uint64(29)))


def _rows_equal(X: PointData, a: Array, b: Array) -> bool:
    differ = a != b
    if not differ.any():
        return True
    if is_sparse(X):
        return int((X[a[differ]] != X[b[differ]]).nnz) == 0
    if not is_rows(X):
        return bool((X[a[differ]] == X[b[differ]]).all())
    a, b = a[differ], b[differ]
    blocks = row_blocks(len(a), X.shape[1] * X.dtype.itemsize, _BLOCK_BYTES)
    return all((rows_of(X, a[some]) == rows_of(X, b[some])).all() for some in blocks)
