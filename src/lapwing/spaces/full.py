"""The full-kernel space: h = sum_i a_i k(x_i, .) over all training points, Phi = G = K."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing._arrays import is_sparse
from lapwing._host.memory import require_memory
from lapwing.kernels import Kernel
from lapwing.linalg import column_dot
from lapwing.spaces.base import Array, Smoothness, System
from lapwing.spaces.systems import GraphSystem, SupervisedSystem

__all__ = ["FullKernelSpace", "KernelExpansion"]


@dataclass(frozen=True, eq=False)
class KernelExpansion:
    """f(x) = sum_j alpha_j k(basis_j, x) + b, evaluated in row blocks.

    Attributes
    ----------
    kernel : Kernel
    basis : array-like or sparse of shape (n_basis, n_features), or None if precomputed
    alpha : ndarray of shape (n_basis, n_columns)
    intercept : ndarray of shape (n_columns,)
    """

    kernel: Kernel
    basis: Any
    alpha: Array
    intercept: Array

    def __call__(self, X: Any) -> Array:
        return self.kernel.expand(X, self.basis, self.alpha) + self.intercept


@dataclass(frozen=True, eq=False)
class FullKernelSpace:
    """Space of all expansions over the training points.

    Attributes
    ----------
    K : ndarray or sparse of shape (n, n)
        Kernel matrix; a sparse one is only ever applied, at the cost of its non-zeros.
    kernel : Kernel or None
        For new points; None if the space is only used on its own points.
    basis : array-like or sparse of shape (n, n_features) or None
    """

    K: Any
    kernel: Kernel | None = None
    basis: Any = None

    @property
    def n_points(self) -> int:
        return int(self.K.shape[0])

    @property
    def n_coef(self) -> int:
        return int(self.K.shape[0])

    @property
    def dtype(self) -> Any:
        return self.K.dtype

    def values(self, coef: Any) -> Any:
        return self.K @ coef

    def represent(self, u: Any) -> Any:
        return u

    def dot(self, a: Any, b: Any, values_b: Any) -> Any:
        return column_dot(a, values_b)

    def system(self, smoothness: Smoothness | None, gamma_A: float, fit_intercept: bool) -> System:
        n = self.n_points
        copies = 0 if self.K.dtype == np.float64 and not is_sparse(self.K) else 1
        copies += 0 if smoothness is None else 2
        require_memory(
            copies * 8.0 * n * n,
            f"A direct solver at n = {n} points",
            "Use solver='pcg', which only applies the kernel matrix.",
        )
        # Small systems are solved in float64 whatever the kernel's precision.
        K = self.K.toarray() if is_sparse(self.K) else self.K
        K = K.astype(np.float64, copy=False)
        if smoothness is None:
            return SupervisedSystem(K, gamma_A, fit_intercept)
        return GraphSystem(K, smoothness, gamma_A, fit_intercept)

    def function(self, coef: Array, intercept: Array) -> KernelExpansion:
        if self.kernel is None:
            raise ValueError("This space was made without a kernel: it knows its own points only.")
        return KernelExpansion(self.kernel, self.basis, coef, intercept)
