"""Linear space: h(x) = w'x for dense or sparse X; the kernel matrix X X' is never formed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from lapwing._arrays import BLOCK_BYTES, Array, is_sparse
from lapwing._rows.base import PickedRows, PointsLike, is_rows, rows_of
from lapwing.linalg import sparse_product
from lapwing.spaces.base import Restriction
from lapwing.spaces.block_operator import RowFeatures
from lapwing.spaces.functions import LinearFunction
from lapwing.spaces.mapped import factored_restriction, same_coordinates
from lapwing.spaces.systems import Coordinates

# Few sparse points are represented by dense coordinates if their number squared is less than this
# factor times the number of features: a product with 500 dense rows of 500 costs less than the
# vector operations of L-BFGS in dimension 20,000.
_WIDE = 20


@dataclass(frozen=True, eq=False)
class LinearSpace(Coordinates):
    """Phi = X, G = I: O(nnz) for every product.

    Attributes
    ----------
    X : ndarray, sparse or Rows of shape (n, m)
    columns : ndarray of shape (m,) or None
        Indices of these columns among the user's features; None if all are used.
    n_features : int
        Number of the user's features.
    """

    X: Any
    columns: Array | None = None
    n_features: int = 0

    @classmethod
    def of_used(cls, X: PointsLike) -> LinearSpace:
        """Create the space, without features that are 0 at all points if these are many.

        Hashed text has 2^18 columns, of which only thousands are used: operations on vectors of
        coefficients would cost more than the products.
        """
        if is_sparse(X):
            used = np.unique(X.indices)
            if 2 * len(used) < X.shape[1]:
                return cls(X[:, used], used, int(X.shape[1]))
        return cls(X)

    @property
    def features(self) -> Any:
        return self._read if is_rows(self.X) else self.X

    @cached_property
    def _read(self) -> RowFeatures:
        return RowFeatures(self.X)

    @property
    def _is_csr(self) -> bool:
        return is_sparse(self.X) and self.X.format == "csr"

    @cached_property
    def _transposed(self) -> Any:
        # Gathering is faster than scattering, besides the gain by threads: 16 ms instead of 24.
        return self.X.T.tocsr()

    def values(self, coef: Array) -> Any:
        return sparse_product(self.X, coef) if self._is_csr else super().values(coef)

    def represent(self, u: Array) -> Any:
        return sparse_product(self._transposed, u) if self._is_csr else super().represent(u)

    def stored(self) -> LinearSpace:
        return replace(self, X=self._read.array) if is_rows(self.X) else self

    def restrict(self, rows: Array) -> Restriction:
        if len(rows) == self.n_points:
            return same_coordinates(self)
        X = self.points(rows)
        few = len(rows) < self.n_coef and len(rows) ** 2 < _WIDE * self.n_coef
        if not (few and is_sparse(X)):
            return same_coordinates(replace(self, X=X))
        # Not selected from the products of all points, which are far apart in memory.
        gram = safe_sparse_dot(X, X.T, dense_output=True)
        return factored_restriction(X, gram, self.function)

    def points(self, rows: Array) -> Any:
        """Return some points; few points on disk are read into memory."""
        if not is_rows(self.X):
            return self.X[rows]
        few = len(rows) * self.n_coef * self.dtype.itemsize <= BLOCK_BYTES
        return rows_of(self.X, rows) if few else PickedRows(self.X, rows)

    def products(self, X: Any) -> tuple[Array, Array]:
        """Return products of new points with those of the space (n, q) and with themselves (q,)."""
        features = self.features
        X = X if self.columns is None else X[:, self.columns]
        cross = safe_sparse_dot(features, X.T, dense_output=True)
        return np.asarray(cross, dtype=np.float64), row_norms(X, squared=True).astype(np.float64)

    def function(self, coef: Array, intercept: Array) -> LinearFunction:
        w = coef.astype(self.dtype, copy=False)
        if self.columns is not None:
            w = np.zeros((self.n_features, coef.shape[1]), dtype=self.dtype)
            w[self.columns] = coef
        return LinearFunction(w, intercept.astype(self.dtype, copy=False))
