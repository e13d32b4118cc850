"""The function side of embedded regression: a kernel matrix or features, and what is kept of a fit.

Each kind offers the same three things: `features`, coordinates in row blocks (None for the full
kernel, whose functions are expansions over all points), `gram`, the dense kernel matrix, and
`kept`, the attributes that new points are answered with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from lapwing._arrays import Array, is_sparse
from lapwing._host.memory import require_memory
from lapwing.kernels import Kernel
from lapwing.spaces.coordinates import KernelFeatures, StoredFeatures

__all__ = ["Ambient", "FullAmbient", "LinearAmbient", "MappedAmbient", "require_matrices"]

_MATRIX_BYTES = 8
_ADVICE = "Use space=Landmarks(1000) and n_eigenvectors=50, which form no n x n matrix."


class Ambient(Protocol):
    """See the module."""

    @property
    def features(self) -> Any:
        """Coordinates of the points, or None."""

    def stored(self) -> Ambient:
        """The same with the features held in memory, for methods of many passes."""

    def gram(self) -> Array:
        """Kernel matrix of all points, dense, in float64."""

    def coordinates(self, alpha: Array) -> Array:
        """Coordinates of f = K alpha."""

    def kept(self, coef: Array) -> Mapping[str, Any]:
        """Fitted attributes of functions given by coordinates, or by alpha for the full kernel."""


def require_matrices(n: int, copies: float) -> None:
    """Raise MemoryError if so many dense n x n matrices will not fit."""
    require_memory(
        copies * _MATRIX_BYTES * n * n,
        f"Embedded regression with the n x n kernel matrix of n = {n} points",
        _ADVICE,
    )


@dataclass(frozen=True, eq=False)
class FullAmbient:
    """Expansions over all points.

    Attributes
    ----------
    kernel : Kernel
    X : array-like or sparse of shape (n, n_features); (n, n) if precomputed
    rows : ndarray of shape (n,)
        Rows of the user's X that the points are.
    """

    kernel: Kernel
    X: Any
    rows: Array

    features = None

    def stored(self) -> FullAmbient:
        return self

    def gram(self) -> Array:
        # Computed in float64 from the start: rounded to float32 it has negative eigenvalues, which
        # the solvers' large factors make larger than the identity they are added to.
        K = self.kernel.gram(self.X if self.kernel.precomputed else self.X.astype(np.float64))
        return np.asarray(K.toarray() if is_sparse(K) else K, dtype=np.float64)

    def coordinates(self, alpha: Array) -> Array:
        return alpha

    def kept(self, coef: Array) -> Mapping[str, Any]:
        used = np.flatnonzero(coef.any(axis=1))
        used = used if len(used) else np.arange(1)  # an expansion of no points has no shape
        every = len(used) == len(coef)
        basis = None
        if not self.kernel.precomputed:
            basis = self.X if every else self.X[used]
        return {"alpha_": coef[used], "X_fit_": basis, "basis_": self.rows[used]}


@dataclass(frozen=True, eq=False)
class MappedAmbient:
    """Expansions over a few points, in coordinates.

    Attributes
    ----------
    features : KernelFeatures or StoredFeatures
    lift : ndarray of shape (m, r)
        Coordinates to the coefficients over the basis.
    basis : ndarray or CSR of shape (m, n_features)
    """

    features: KernelFeatures | StoredFeatures
    lift: Array
    basis: Any

    def stored(self) -> MappedAmbient:
        """The same with the features held in memory, for methods of many passes."""
        if isinstance(self.features, StoredFeatures):
            return self
        return MappedAmbient(self.features.stored(), self.lift, self.basis)

    def gram(self) -> Array:
        Z = np.vstack([np.asarray(Z, dtype=np.float64) for _, Z in self.features.blocks()])
        return np.asarray(Z @ Z.T)

    def coordinates(self, alpha: Array) -> Array:
        coef = np.zeros((self.features.n_features, alpha.shape[1]))
        for rows, Z in self.features.blocks():
            coef += np.asarray(Z, dtype=np.float64).T @ alpha[rows]
        return coef

    def kept(self, coef: Array) -> Mapping[str, Any]:
        return {"alpha_": self.lift @ coef, "X_fit_": self.basis}


@dataclass(frozen=True, eq=False)
class LinearAmbient:
    """Linear functions; features beyond the number of points are met by the kernel matrix X X'."""

    X: Any

    @property
    def features(self) -> StoredFeatures | None:
        n, d = self.X.shape
        return StoredFeatures(self.X) if d <= n else None

    def stored(self) -> LinearAmbient:
        return self

    def gram(self) -> Array:
        return np.asarray(safe_sparse_dot(self.X, self.X.T, dense_output=True), dtype=np.float64)

    def coordinates(self, alpha: Array) -> Array:
        return np.asarray(safe_sparse_dot(self.X.T, alpha, dense_output=True))

    def kept(self, coef: Array) -> Mapping[str, Any]:
        return {"coef_": np.ascontiguousarray(coef.T)}
