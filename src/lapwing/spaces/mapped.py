"""Explicit coordinates of a kernel's functions: an orthonormal basis of their span.

With K = F F' for the kernel matrix of some basis points (pivoted Cholesky: as many columns as K has
rank), the functions psi_p = sum_j A_jp k(z_j, .), A = F_pivots^-T, are orthonormal, A'KA = I, and
the points have the coordinates psi(x) = A'k(z, x). Any other such basis, the kernel-PCA map of the
continuation paper (Section 2.3, with A = U Lambda^-1/2) among them, is a rotation of this one, and
nothing here depends on rotations. The factorisation costs n^3/3 against 9 n^3 for the
eigenvectors, needs only the pivots as its basis, and drops the null directions of a singular K by
a threshold instead of dividing by them (errata C8).

With all points as the basis the map is exact (`full_map`); with a few landmarks it is the subset of
regressors (QN-S3VM paper, (9)-(10)): O(n r) a product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sla

from lapwing._arrays import is_sparse
from lapwing._host.memory import require_memory
from lapwing.kernels import Kernel
from lapwing.linalg import column_dot, pivoted_cholesky
from lapwing.spaces.base import Array, DecisionFunction, Smoothness, System
from lapwing.spaces.full import KernelExpansion
from lapwing.spaces.linear import LinearFunction, PrimalSystem

__all__ = ["MappedSpace", "deformed", "full_map", "inverse_transpose", "landmark_map", "rounding"]


@dataclass(frozen=True, eq=False)
class MappedSpace:
    """Functions h = w'psi with explicit orthonormal coordinates: Phi = psi(X), G = I.

    Attributes
    ----------
    features : ndarray of shape (n, r)
        psi of the training points.
    lift : ndarray of shape (n_coef, r)
        Coordinates w to the coefficients of the function that new points are put into.
    made : function (coef (n_coef, c), intercept (c,)) -> DecisionFunction
    kernel : Kernel or None
        Of the functions; None for linear ones.
    basis : array-like or sparse of shape (n_coef, n_features) or None
        Points that the functions are expansions over.
    pivots : ndarray of shape (n_coef,) or None
        Training points that are the basis, where it consists of some.
    """

    features: Array
    lift: Array
    made: Callable[[Array, Array], DecisionFunction]
    kernel: Kernel | None = None
    basis: Any = None
    pivots: Array | None = None

    @property
    def n_points(self) -> int:
        return int(self.features.shape[0])

    @property
    def n_coef(self) -> int:
        return int(self.features.shape[1])

    @property
    def dtype(self) -> Any:
        return self.features.dtype

    def values(self, coef: Any) -> Any:
        return self.features @ coef

    def represent(self, u: Any) -> Any:
        return self.features.T @ u

    def dot(self, a: Any, b: Any, values_b: Any) -> Any:
        return column_dot(a, b)

    def system(self, smoothness: Smoothness | None, gamma_A: float, fit_intercept: bool) -> System:
        return PrimalSystem(self.features, smoothness, gamma_A, fit_intercept)

    def function(self, coef: Array, intercept: Array) -> DecisionFunction:
        return self.made(self.lift @ coef, intercept)


def full_map(kernel: Kernel, K: Any, basis: Any = None) -> MappedSpace:
    """All expansions over the training points, in coordinates.

    Parameters
    ----------
    kernel : Kernel
    K : ndarray or sparse of shape (n, n)
        Kernel matrix of the training points, positive semi-definite.
    basis : array-like or sparse of shape (n, n_features) or None
        The training points; None if precomputed.
    """
    n = K.shape[0]
    require_memory(
        2 * 8.0 * n * n,
        f"Coordinates for the full kernel at n = {n} points",
        "Use space=Landmarks(1000), or kernel='linear', which forms no matrix.",
    )
    dense = K.toarray() if is_sparse(K) else K
    F, pivots = pivoted_cholesky(dense.astype(np.float64), rounding(np.diagonal(dense)))
    lift = inverse_transpose(F[pivots])
    return _kernel_space(F.astype(K.dtype, copy=False), lift, kernel, basis, pivots, n)


def landmark_map(kernel: Kernel, X: Any, landmarks: Any) -> MappedSpace:
    """All expansions over the landmarks, in coordinates: O(n r^2) once, O(n r) a product.

    Parameters
    ----------
    kernel : Kernel
        Not a precomputed one: the landmarks need not be training points.
    X : ndarray or CSR of shape (n, n_features)
    landmarks : ndarray or CSR of shape (r, n_features)
    """
    n, r = X.shape[0], landmarks.shape[0]
    require_memory(
        (1.0 * n * r + 3.0 * r * r) * 8,
        f"Coordinates of {n} points by {r} landmarks",
        "Use fewer landmarks, or float32 features.",
    )
    K = kernel.gram(landmarks)
    F, pivots = pivoted_cholesky(K.astype(np.float64), rounding(np.diagonal(K)))
    lift = inverse_transpose(F[pivots])
    basis = landmarks[pivots]
    features = np.empty((n, len(pivots)), dtype=X.dtype)
    right = lift.astype(X.dtype, copy=False)
    for rows, block in kernel.cross_blocks(X, basis):
        features[rows] = block @ right
    return _kernel_space(features, lift, kernel, basis, None, len(pivots))


def deformed(space: Any, smoothness: Smoothness) -> MappedSpace:
    r"""The same functions h with the norm |h|^2 + gamma_I h'L^p h, in coordinates for it.

    This is the deformed kernel of the hybrid method (continuation paper, Section 5.1): with
    M = I + gamma_I Phi'L^p Phi = R'R, R w are orthonormal coordinates and Phi R^-1 the features.
    O(n r^2) once.

    Parameters
    ----------
    space : MappedSpace or LinearSpace with dense X
    smoothness : function
        F -> gamma_I L^p F on values (n, c).
    """
    Phi = space.values(np.eye(space.n_coef, dtype=space.dtype))
    M = np.asarray(Phi.T @ smoothness(Phi), dtype=np.float64)
    M = (M + M.T) / 2
    M.flat[:: len(M) + 1] += 1
    try:
        R = np.asarray(sla.cholesky(M, overwrite_a=True, check_finite=False))
    except sla.LinAlgError:
        raise ValueError(
            "The norm deformed by the graph is singular in float64: gamma_I is too large beside "
            "the norm of the kernel's functions, whose weight is one. Use a smaller gamma_I."
        ) from None
    features = sla.solve_triangular(R, Phi.T, trans="T", check_finite=False).T
    if isinstance(space, MappedSpace):
        lift = sla.solve_triangular(R, space.lift.T, trans="T", check_finite=False).T
        made, kernel = space.made, space.kernel
        return MappedSpace(
            features.astype(space.dtype, copy=False), lift, made, kernel, space.basis, space.pivots
        )
    inverse = sla.solve_triangular(R, np.eye(len(R)), check_finite=False)
    return MappedSpace(features.astype(space.dtype, copy=False), inverse, LinearFunction)


def _kernel_space(
    features: Array, lift: Array, kernel: Kernel, basis: Any, pivots: Array | None, n: int
) -> MappedSpace:
    if kernel.precomputed:  # new points come with the kernel values of all n training points
        whole = np.zeros((n, lift.shape[1]))
        whole[pivots] = lift
        lift = whole
    elif pivots is not None:
        basis = basis[pivots]

    def made(alpha: Array, intercept: Array) -> KernelExpansion:
        return KernelExpansion(kernel, basis, alpha, intercept)

    return MappedSpace(features, lift, made, kernel, basis, pivots)


def inverse_transpose(lower: Array) -> Array:
    """A = F^-T of a lower triangular F."""
    return np.asarray(
        sla.solve_triangular(lower, np.eye(len(lower)), lower=True, check_finite=False).T
    )


def rounding(diagonal: Array) -> float:
    """Pivots below this are rounding: n units in the last place of the kernel's own precision."""
    largest = float(np.max(diagonal, initial=0.0))
    return max(len(diagonal), 10) * float(np.finfo(diagonal.dtype).eps) * largest
