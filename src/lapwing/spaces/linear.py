"""The linear space: h(x) = w'x for dense or sparse X; the kernel matrix X X' is never formed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lapwing._arrays import is_sparse
from lapwing.spaces.base import Array, Restriction
from lapwing.spaces.coordinates import Coordinates
from lapwing.spaces.functions import LinearFunction

__all__ = ["LinearSpace"]


@dataclass(frozen=True, eq=False)
class LinearSpace(Coordinates):
    """Phi = X, G = I: O(nnz) for every product.

    Attributes
    ----------
    X : ndarray or sparse of shape (n, m)
    columns : ndarray of shape (m,) or None
        Which of the user's features these are, where it is some of them only.
    n_features : int
        Of them all.
    """

    X: Any
    columns: Array | None = None
    n_features: int = 0

    @classmethod
    def of_used(cls, X: Any) -> LinearSpace:
        """The space without the features that are 0 at all points, if they are many.

        Hashed text has 2^18 columns and uses thousands: vectors of coefficients would cost more
        than the products.
        """
        if is_sparse(X):
            used = np.unique(X.indices)
            if 2 * len(used) < X.shape[1]:
                return cls(X[:, used], used, int(X.shape[1]))
        return cls(X)

    @property
    def features(self) -> Any:
        return self.X

    def stored(self) -> LinearSpace:
        return self

    def restrict(self, rows: Array) -> Restriction:
        part = self if len(rows) == self.n_points else replace(self, X=self.X[rows])
        return Restriction(part, np.asarray)

    def function(self, coef: Array, intercept: Array) -> LinearFunction:
        w = coef.astype(self.dtype, copy=False)
        if self.columns is not None:
            w = np.zeros((self.n_features, coef.shape[1]), dtype=self.dtype)
            w[self.columns] = coef
        return LinearFunction(w, intercept.astype(self.dtype, copy=False))
