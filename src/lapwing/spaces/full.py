"""Full-kernel space: h = sum_i a_i k(x_i, .) over all training points, Phi = G = K."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from lapwing._arrays import Array, Matrix, as_dense, is_sparse, row_blocks
from lapwing._host.memory import require_memory
from lapwing._rows.base import PointData
from lapwing.kernels import Kernel
from lapwing.linalg import column_dot
from lapwing.spaces.base import QuadraticSystem, Restriction, Smoothness
from lapwing.spaces.block_operator import DesignSpace
from lapwing.spaces.functions import KernelExpansion
from lapwing.spaces.mapped import full_map
from lapwing.spaces.systems import expansion_system

_DIAGONAL_ROWS = 64  # rows per block in the computation of k(x, x)
_CACHE_LOCK = Lock()  # threads share the restrictions of a fit
KEPT_BYTES = 2**28  # limit of cached restrictions, whose factorisations take cubic time


class ComputedKernel(LinearOperator):
    """Kernel matrix of points that is computed anew in every product, in row blocks.

    Parameters
    ----------
    kernel : Kernel
        Kernel, not precomputed.
    X : ndarray or CSR of shape (n, n_features)
    """

    def __init__(self, kernel: Kernel, X: Any) -> None:
        super().__init__(X.dtype, (X.shape[0], X.shape[0]))  # type: ignore[call-arg]
        self.kernel, self.X = kernel, X

    def _matmat(self, coef: Array) -> Array:
        return self.kernel.expand(self.X, self.X, coef.astype(self.dtype, copy=False))

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Iterate over row blocks of the matrix."""
        return self.kernel.cross_blocks(self.X, self.X)

    @cached_property
    def formed(self) -> Array:
        """Matrix in float64, cached for further factorisations.

        It is computed in float64: rounded to float32 it has negative eigenvalues, which after
        multiplication by large factors of solvers exceed the identity that is added.
        """
        return np.asarray(self.kernel.gram(self.X.astype(np.float64)))


@dataclass(frozen=True, eq=False)
class FullKernelSpace(DesignSpace):
    """Space of all expansions over the training points.

    Attributes
    ----------
    K : ndarray, sparse or ComputedKernel of shape (n, n)
        Kernel matrix; a sparse matrix is only used in products.
    kernel : Kernel or None
        Kernel for new points; None if the space is only used on its own points.
    basis : array-like or sparse of shape (n, n_features) or None
        The points; None if precomputed.
    rows : ndarray of shape (n,) or None
        Row numbers of the points in the user's X.
    """

    K: Any
    kernel: Kernel | None = None
    basis: Any = None
    rows: Array | None = None

    @classmethod
    def computed(cls, kernel: Kernel, X: PointData, rows: Array | None = None) -> FullKernelSpace:
        """Create the space with a kernel matrix that is computed in products, not stored."""
        if kernel.precomputed:
            return cls(X, kernel, None, rows)
        return cls(ComputedKernel(kernel, X), kernel, X, rows)

    @property
    def features(self) -> Any:
        return self.K

    def represent(self, u: Array) -> Any:
        # Phi = G = K, hence G^-1 Phi'u = u: the preconditioning by K of the LapSVM paper is free.
        return u

    def dot(self, a: Array, b: Array, values_b: Array) -> Any:
        # a'K b is computed from the values K b, without a second product with K.
        return column_dot(a, values_b)

    def system(
        self, smoothness: Smoothness | None, gamma_A: float, fit_intercept: bool
    ) -> QuadraticSystem:
        n = self.n_points
        # A float64 K is not copied. With a graph, S K and the factor are in memory as well.
        copies = 0 if isinstance(self.K, np.ndarray) and self.K.dtype == np.float64 else 1
        copies += 0 if smoothness is None else 2
        require_memory(
            copies * 8.0 * n * n,
            f"A direct solver at n = {n} points",
            "Use solver='pcg', which only applies the kernel matrix.",
        )
        # Small systems are solved in float64 whatever the kernel's precision.
        return expansion_system(self.gram(), smoothness, gamma_A, fit_intercept)

    def gram(self) -> Array:
        K = self.K
        if isinstance(K, ComputedKernel):
            return K.formed
        return np.asarray(as_dense(K), dtype=np.float64)

    def stored(self) -> FullKernelSpace:
        if not isinstance(self.K, ComputedKernel):
            return self
        return replace(self, K=self.K.kernel.gram(self.K.X))

    @cached_property
    def _restrictions(self) -> dict[bytes, Restriction]:
        return {}

    def restrict(self, rows: Array) -> Restriction:
        known, key = self._restrictions, np.asarray(rows).tobytes()
        if key not in known:
            made = self._restricted(rows)
            with _CACHE_LOCK:
                kept = sum(one.space.features.nbytes for one in known.values())
                if made.space.features.nbytes + kept > KEPT_BYTES:
                    return made
                known[key] = made
        return known[key]

    def _restricted(self, rows: Array) -> Restriction:
        kernel, basis = self._known_kernel(), None
        if isinstance(self.K, ComputedKernel):
            basis = self.K.X[rows]
            block = kernel.gram(basis)
        else:
            K = self.K
            block = K[rows][:, rows] if is_sparse(K) else K[np.ix_(rows, rows)]
            basis = None if self.basis is None else self.basis[rows]
        own = rows if self.rows is None else self.rows[rows]
        # Coordinates and not an expansion: their norm is Euclidean, which the low-density methods
        # need, and low rank causes no loss of precision (errata L14).
        part = full_map(kernel, block, basis, own)
        assert part.pivots is not None
        at = rows if kernel.precomputed else rows[part.pivots]

        def embed(coef: Array) -> Array:
            alpha = np.zeros((self.n_coef, *coef.shape[1:]))
            alpha[at] = part.lift @ coef
            return alpha

        return Restriction(part, embed)

    def function(self, coef: Array, intercept: Array) -> KernelExpansion:
        kernel, dtype = self._known_kernel(), self.dtype
        return KernelExpansion(
            kernel,
            self.basis,
            coef.astype(dtype, copy=False),
            intercept.astype(dtype, copy=False),
            self.rows,
        )

    def products(self, X: Matrix) -> tuple[Array, Array]:
        """Return kernel values of new points with the points (n, q) and with themselves (q,).

        Raises
        ------
        ValueError
            If the matrix was given, so that the values of new points with themselves are unknown.
        """
        kernel = self._known_kernel()
        if kernel.precomputed:
            raise ValueError(
                "kernel='precomputed' has no kernel values of new points with themselves: give the "
                "kernel as a function."
            )
        cross = np.empty((X.shape[0], self.n_points))
        for rows, block in kernel.cross_blocks(X, self.basis):
            cross[rows] = block
        own = np.empty(X.shape[0])
        for part in row_blocks(X.shape[0], 1, _DIAGONAL_ROWS):
            own[part] = np.diag(np.vstack([b for _, b in kernel.cross_blocks(X[part], X[part])]))
        return cross.T, own

    def _known_kernel(self) -> Kernel:
        if self.kernel is None:
            raise ValueError("This space has no kernel, so it cannot be evaluated at new points.")
        return self.kernel
