"""Explicit coordinates of a kernel's functions in an orthonormal basis of their span.

With the pivoted Cholesky factorisation K = F F' of the kernel matrix of basis points, where F has
as many columns as the rank of K, the functions psi_p = sum_j A_jp k(z_j, .), A = F_pivots^-T, are
orthonormal, A'KA = I, and the points have the coordinates psi(x) = A'k(z, x). Any other orthonormal
basis, such as the kernel-PCA map of the continuation paper (Section 2.3, with A = U Lambda^-1/2),
is a rotation of this one, and no method here depends on rotations. The factorisation takes n^3/3
operations instead of 9 n^3 for eigenvectors, needs only the pivots as the basis, and drops the null
directions of a singular K by a threshold instead of dividing by them (errata C8).

With all points as the basis the map is exact (`full_map`); with a few landmarks it is the subset of
regressors (QN-S3VM paper, (9)-(10)), with products in O(n r). Landmark coordinates are computed in
every product, as those of a million points by a thousand landmarks are 4 GB in float32; they are
cached for few points, and `stored` keeps them for methods with many passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as sla
from scipy.sparse.linalg import aslinearoperator

from lapwing._arrays import Array, Matrix, as_dense, row_blocks
from lapwing._host.memory import require_memory
from lapwing._rows.base import PointData, blocks_of, rows_of
from lapwing.kernels import Kernel
from lapwing.linalg import CholeskyFactor, pivoted_cholesky
from lapwing.spaces.base import CoordinateSpace, QuadraticSystem, Restriction, Smoothness
from lapwing.spaces.block_operator import BlockOperator, Design
from lapwing.spaces.functions import FittedFunction, KernelExpansion, LinearFunction
from lapwing.spaces.systems import Coordinates, Lift

# A restriction to fewer points than this fraction of the coordinates is factored, which pays within
# some hundred products.
_SMALL = 0.25
_CACHED_BYTES = 2**28  # of cached coordinates
_PART_BYTES = 2**24  # of kernel values that a thread computes at a time
_SAMPLE = 256  # rows of kernel values by which the norm of all is estimated


class KernelFeatures(BlockOperator):
    """Coordinates A'k(z, x) over a basis z, whose row blocks are computed in every product.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray, CSR or Rows of shape (n, n_features)
    basis : ndarray or CSR of shape (m, n_features)
    lift : ndarray of shape (m, r)
        A, which maps coordinates to coefficients over the basis.
    max_cached : int, optional
        Maximum size in bytes of coordinates that are cached once they are computed; 256 MB by
        default.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: PointData,
        basis: Matrix,
        lift: Array,
        max_cached: int | None = None,
    ) -> None:
        super().__init__(X.dtype, (X.shape[0], lift.shape[1]))
        self.kernel, self.X, self.basis, self.lift = kernel, X, basis, lift
        self._max_cached = max_cached

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Iterate over row blocks, of the cached features if there are any."""
        if not self._is_cached:
            return self._computed()
        n, r = self.shape
        return ((rows, self.array[rows]) for rows in row_blocks(n, r * self.dtype.itemsize))

    def design(self) -> Design:
        """Return kernel values and A, so that sums do not need the coordinates, unless cached."""
        if self._is_cached or callable(self.kernel.name):  # callables may not be thread-safe
            return Design(self.blocks, np.asarray, self.shape[1])
        m = len(self.lift)

        def parts() -> Iterator[tuple[slice, Any]]:
            return blocks_of(self.X, m * self.dtype.itemsize, _PART_BYTES)

        return Design(parts, self._values, m, self.lift, self._rounding())

    @property
    def _is_cached(self) -> bool:
        """Whether the features are cached, or small enough to be cached."""
        n, r = self.shape
        most = _CACHED_BYTES if self._max_cached is None else self._max_cached
        return "array" in vars(self) or n * r * self.dtype.itemsize <= most

    def _values(self, points: PointData) -> Array:
        return np.concatenate([block for _, block in self.kernel.cross_blocks(points, self.basis)])

    def _rounding(self) -> float:
        """Estimate the rounding error of A'(K'DK)A for weights of sum 1: eps |A|^2 |row of K|^2."""
        n = self.shape[0]
        some = self._values(rows_of(self.X, np.arange(0, n, -(-n // _SAMPLE))))
        size = float(np.einsum("ij,ij->", some, some, dtype=np.float64)) / len(some)
        square = self.lift.T @ self.lift
        norm = math.sqrt(float(np.linalg.norm(square @ square)))  # an upper bound of |A|^2
        return size * norm * float(np.finfo(np.float64).eps)

    def _computed(self) -> Iterator[tuple[slice, Array]]:
        right = self.lift.astype(self.dtype, copy=False)
        for rows, block in self.kernel.cross_blocks(self.X, self.basis):
            yield rows, block @ right

    @property
    def _memory_message(self) -> tuple[str, str]:
        n, r = self.shape
        return (
            f"Coordinates of {n} points by {r} landmarks",
            "Use fewer landmarks, or float32 features.",
        )


@dataclass(frozen=True, eq=False)
class MappedSpace(Coordinates):
    """Functions h = w'psi with explicit orthonormal coordinates: Phi = psi(X), G = I.

    Attributes
    ----------
    psi : ndarray or KernelFeatures of shape (n, r)
        psi of the training points.
    lift : ndarray or Lift of shape (n_coef, r)
        Maps coordinates w to the coefficients of the fitted function.
    make_function : function (coef (n_coef, c), intercept (c,)) -> FittedFunction
    pivots : ndarray of shape (n_coef,) or None
        Training points of the expansions, if they are expansions over training points.
    """

    psi: Any
    lift: Any
    make_function: Callable[[Array, Array], FittedFunction]
    pivots: Array | None = None

    @property
    def features(self) -> Any:
        return self.psi

    def design(self) -> Design:
        return self.psi.design() if isinstance(self.psi, KernelFeatures) else super().design()

    def stored(self) -> MappedSpace:
        if not isinstance(self.psi, KernelFeatures):
            return self
        return replace(self, psi=self.psi.array)

    def system(
        self, smoothness: Smoothness | None, gamma_A: float, fit_intercept: bool
    ) -> QuadraticSystem:
        # Every factorisation reads the rows of its weighted points.
        return Coordinates.system(self.stored(), smoothness, gamma_A, fit_intercept)

    def restrict(self, rows: Array) -> Restriction:
        space = self.stored()
        if len(rows) == space.n_points:
            return same_coordinates(space)
        psi = space.psi[rows]
        if len(rows) > _SMALL * space.n_coef:
            return same_coordinates(MappedSpace(psi, np.eye(space.n_coef), space.function))
        return factored_restriction(psi, np.asarray(psi @ psi.T), space.function)

    def function(self, coef: Array, intercept: Array) -> FittedFunction:
        lifted = np.asarray(self.lift @ coef)
        dtype = self.dtype
        return self.make_function(
            lifted.astype(dtype, copy=False), intercept.astype(dtype, copy=False)
        )


def same_coordinates(space: CoordinateSpace) -> Restriction:
    """Return a restriction that keeps the coordinates of the whole space."""
    return Restriction(space, np.asarray)


def factored_restriction(
    features: Matrix, gram: Array, make_function: Callable[[Array, Array], FittedFunction]
) -> Restriction:
    """Restrict to a few points, with as many coordinates as their rank.

    Solutions are in the span of the points' features (representer theorem).

    Parameters
    ----------
    features : ndarray or sparse of shape (n, m)
        Features of the points in the coordinates of the whole space.
    gram : ndarray of shape (n, n)
        Inner products of the features.
    make_function : function (coef (m, c), intercept (c,)) -> FittedFunction
    """
    dtype = features.dtype
    rounding = _rounding(np.diagonal(gram).astype(dtype))
    F, lower, pivots = _factored(gram.astype(np.float64), rounding)
    span = aslinearoperator(features[pivots].T.astype(np.float64)) @ Lift(lower)
    part = MappedSpace(F.astype(dtype, copy=False), span, make_function)
    return Restriction(part, lambda coef: np.asarray(span @ coef))


def full_map(
    kernel: Kernel, K: Matrix, basis: Matrix | None = None, rows: Array | None = None
) -> MappedSpace:
    """Return the space of all expansions over the training points, in coordinates.

    Parameters
    ----------
    kernel : Kernel
    K : ndarray or sparse of shape (n, n)
        Kernel matrix of the training points, positive semi-definite.
    basis : array-like or sparse of shape (n, n_features) or None
        The training points; None if precomputed.
    rows : ndarray of shape (n,) or None
        Row number in the user's X of each point.
    """
    n = K.shape[0]
    require_memory(
        2 * 8.0 * n * n,
        f"Coordinates for the full kernel at n = {n} points",
        "Use space=Landmarks(1000), or kernel='linear', which forms no matrix.",
    )
    dense = as_dense(K)
    rounding = _rounding(np.diagonal(dense))
    F, lower, pivots = _factored(dense.astype(np.float64, copy=False), rounding)
    psi = F.astype(K.dtype, copy=False)
    if kernel.precomputed:  # new points come with the kernel values of all n training points
        lift = Lift(lower, pivots, n)
        return MappedSpace(psi, lift, _expansion(kernel, None, rows), pivots)
    make_function = _expansion(kernel, None if basis is None else basis[pivots])
    return MappedSpace(psi, Lift(lower), make_function, pivots)


def landmark_map(kernel: Kernel, X: PointData, landmarks: Matrix) -> MappedSpace:
    """Return the space of all expansions over landmarks: O(r^3) once, O(n r) for a product.

    Parameters
    ----------
    kernel : Kernel
        Must not be precomputed, as landmarks need not be training points.
    X : ndarray or CSR of shape (n, n_features)
    landmarks : ndarray or CSR of shape (r, n_features)

    Returns
    -------
    MappedSpace
        Its coordinates are computed in every product; `stored` keeps them.
    """
    r = landmarks.shape[0]
    require_memory(
        3.0 * r * r * 8,
        f"Coordinates of {X.shape[0]} points by {r} landmarks",
        "Use fewer landmarks, or float32 features.",
    )
    K = kernel.gram(landmarks)
    _, lower, pivots = pivoted_cholesky(K.astype(np.float64), _rounding(np.diagonal(K)))
    basis = landmarks[pivots]
    lift = sla.solve_triangular(lower, np.eye(len(lower)), lower=True, check_finite=False).T
    return MappedSpace(KernelFeatures(kernel, X, basis, lift), lift, _expansion(kernel, basis))


def _expansion(
    kernel: Kernel, basis: Matrix | None, rows: Array | None = None
) -> Callable[[Array, Array], KernelExpansion]:
    def make_function(alpha: Array, intercept: Array) -> KernelExpansion:
        return KernelExpansion(kernel, basis, alpha, intercept, rows)

    return make_function


def deformed(space: Any, smoothness: Smoothness) -> MappedSpace:
    r"""Return a space with the norm |h|^2 + gamma_I h'L^p h, in coordinates.

    This is the deformed kernel of the hybrid method (continuation paper, Section 5.1): with
    M = I + gamma_I Phi'L^p Phi = R'R, R w are orthonormal coordinates and Phi R^-1 the features.
    It takes O(n r^2).

    Parameters
    ----------
    space : MappedSpace or LinearSpace with dense X
    smoothness : function
        F -> gamma_I L^p F on values (n, c).
    """
    space = space.stored()
    Phi = space.features
    M = np.asarray(Phi.T @ smoothness(Phi), dtype=np.float64)
    M = (M + M.T) / 2
    M.flat[:: len(M) + 1] += 1
    try:
        R = np.asarray(sla.cholesky(M, overwrite_a=True, check_finite=False))
    except sla.LinAlgError:
        raise ValueError(
            "The norm deformed by the graph is singular in float64: gamma_I is too large relative "
            "to the norm of the kernel's functions, whose weight is one. Use a smaller gamma_I."
        ) from None
    psi = sla.solve_triangular(R, Phi.T, trans="T", check_finite=False).T
    psi = psi.astype(space.dtype, copy=False)
    inverse = sla.solve_triangular(R, np.eye(len(R)), check_finite=False)
    if isinstance(space, MappedSpace):
        return replace(space, psi=psi, lift=space.lift @ inverse)
    return MappedSpace(psi, inverse, LinearFunction)


def _factored(K: Array, tol: float) -> CholeskyFactor:
    """Factor K = F F' like `pivoted_cholesky`, but without pivoting if K has full rank.

    This takes half of the time, and releases the global interpreter lock.
    """
    with suppress(np.linalg.LinAlgError):
        F = np.linalg.cholesky(K)
        if np.diagonal(F).min(initial=np.inf) ** 2 > tol:
            return CholeskyFactor(F, F, np.arange(len(F)))
    return pivoted_cholesky(K, tol)


def _rounding(diagonal: Array) -> float:
    """Return the size of pivots that are rounding errors: n units in the last place of K."""
    largest = float(np.max(diagonal, initial=0.0))
    return max(len(diagonal), 10) * float(np.finfo(diagonal.dtype).eps) * largest
