r"""Direct solvers of quadratic models, in a kernel expansion or in coordinates.

All solve, for weights D of the points and S = gamma_I L^p,

.. math:: \min_{a, b}\ \tfrac12 \big[f^T (D + S) f + \gamma_A a^T K a\big] - u^T f,
          \qquad f = K a + b 1 .

Stationarity in b is 1'v = 0 and in a it is K (v + gamma_A a) = 0, with v = (D + S) f - u. Taking
v + gamma_A a = 0 (any other solution has the same f) gives the bordered system of errata L4,
valid for any symmetric S, the bias inside the intrinsic norm:

.. math:: \begin{pmatrix} (D+S) K + \gamma_A I & (D+S) 1 \\ 1^T & 0 \end{pmatrix}
          \begin{pmatrix} a \\ b \end{pmatrix} = \begin{pmatrix} u \\ 0 \end{pmatrix}

Its matrix is not symmetric, hence LU; a Cholesky factorisation of the symmetric form would need
K (D + S) K, with one more product of order n^3 and the square of the condition number.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as sla
from scipy.sparse.linalg import LinearOperator
from sklearn.utils.extmath import safe_sparse_dot

from lapwing._arrays import BLOCK_BYTES, Array, Matrix, as_dense, is_sparse, row_blocks
from lapwing._host.memory import require_memory
from lapwing._rows.base import PointData
from lapwing.linalg import column_dot, normal_matrix, pivoted_cholesky, spd_factor
from lapwing.spaces.base import (
    Coefficients,
    Quadratic,
    QuadraticSystem,
    Smoothness,
)
from lapwing.spaces.block_operator import DesignSpace, is_on_disk
from lapwing.spaces.functions import FittedFunction

# Columns in a block of a design on disk, which is read twice for each block. With the arrays of
# smoothing a block needs three times its memory, 400 bytes per point, like the graph. Blocks of few
# points have more columns.
_READ_COLUMNS, _READ_BYTES = 16, 2**27
# Relative error of the expansion by cancellation above which feature coordinates are used instead.
# In 324 fits of 60 points with three kernels and gamma_A from 1e-12 to 1e-2, objectives differ by
# 1e-8 between 1e-13 and 1e-8, and by 1e-5 with 1e-4.
_RESIDUAL_TOLERANCE = 1e-9
# Number of columns that are checked, as the loss depends on the matrix and not on the column.
_LOOKED_AT = 32


def _digits_lost(residual: Array, u: Array) -> bool:
    """Return whether v + gamma_A a = 0 is violated by the values computed from the coefficients."""
    size = np.abs(residual).max(initial=0)
    return bool(not size <= _RESIDUAL_TOLERANCE * np.abs(u).max(initial=0))


def expansion_system(
    K: Array, smoothness: Smoothness | None, gamma_A: float, fit_intercept: bool
) -> QuadraticSystem:
    """Return the solver for expansions over all points with the kernel matrix K, in float64."""
    if smoothness is None:
        return SupervisedSystem(K, gamma_A, fit_intercept)
    return DeformedSystem(K, smoothness, gamma_A, fit_intercept)


@dataclass(frozen=True, eq=False)
class DeformedSystem:
    """LU of (D + S) K + gamma_A I, with S K kept between factorisations.

    It takes p sparse products with K once, and 2/3 n^3 operations for each factorisation; K and one
    factor are in memory, and S K + gamma_A I too for further factorisations with other weights. If
    a_i = -v_i / gamma_A cancels in K a (kernels of low rank with small gamma_A, errata L14),
    `FactoredSystem` is used instead.
    """

    K: Array
    smoothness: Smoothness
    gamma_A: float
    fit_intercept: bool

    @cached_property
    def _base(self) -> Array:
        return self._make_base()

    def _make_base(self) -> Array:
        base = np.ascontiguousarray(self.smoothness(self.K))
        base.flat[:: base.shape[0] + 1] += self.gamma_A
        return base

    @cached_property
    def _features(self) -> FactoredSystem:
        return FactoredSystem(self.K, self.smoothness, self.gamma_A, self.fit_intercept)

    def factor(self, weights: Array | None = None) -> Quadratic:
        n = self.K.shape[0]
        # Without weights there is one factorisation only: nothing is cached or copied.
        base = self._make_base() if weights is None else self._base
        if self.fit_intercept:
            M = np.empty((n + 1, n + 1))
            M[:n, :n] = base
            M[:n, n] = self.smoothness(np.ones((n, 1)))[:, 0]
            M[n, :n] = 1
            M[n, n] = 0
        else:
            M = base if weights is None else base.copy()
        del base
        if weights is not None:
            rows = np.flatnonzero(weights)
            M[rows, :n] += weights[rows, None] * self.K[rows]
            if self.fit_intercept:
                M[rows, n] += weights[rows]
        # A C-ordered matrix is its own transpose in Fortran order: no copy, solve with trans=1.
        lu = sla.lu_factor(M.T, overwrite_a=True, check_finite=False)

        def solve(u: Array) -> Coefficients:
            right = np.vstack([u, np.zeros((1, u.shape[1]))]) if self.fit_intercept else u
            z = sla.lu_solve(lu, right, trans=1, check_finite=False)
            coef, intercept = (z[:n], z[n]) if self.fit_intercept else (z, np.zeros(u.shape[1]))
            # In Fortran order, like the coefficients, as single columns may be used.
            values = (coef.T @ self.K.T).T
            values += intercept
            # Checked by the solution: to determine the rank first would take O(n^3) for each
            # kernel.
            some = slice(None, None, max(1, u.shape[1] // _LOOKED_AT))
            if self._is_inaccurate(coef[:, some], values[:, some], weights, u[:, some]):
                return self._features.factor(weights)(u)
            return Coefficients(coef, intercept, values)

        return solve

    def _is_inaccurate(self, coef: Array, values: Array, weights: Array | None, u: Array) -> bool:
        v = self.smoothness(values) - u
        if weights is not None:
            v += weights[:, None] * values
        return _digits_lost(v + self.gamma_A * coef, u)


@dataclass(frozen=True, eq=False)
class SupervisedSystem:
    """System without a graph, on weighted points only: (K_EE + gamma_A D_E^-1) a_E = u_E / D_E.

    It is symmetric positive definite and of the order of the error set E, as for the primal SVM
    (Chapelle 2007); a_i = u_i / gamma_A outside of E. If a cancels in K a, `FactoredSystem` is used
    instead.
    """

    K: Array
    gamma_A: float
    fit_intercept: bool

    def factor(self, weights: Array | None = None) -> Quadratic:
        K, gamma_A = self.K, self.gamma_A
        E = np.flatnonzero(weights) if weights is not None else np.empty(0, dtype=int)
        d = np.empty(0) if weights is None else weights[E]
        H = K[np.ix_(E, E)].astype(np.float64)
        H.flat[:: len(E) + 1] += gamma_A / d
        solve_spd = spd_factor(H) if len(E) else None
        ones = solve_spd(np.ones((len(E), 1))) if solve_spd and self.fit_intercept else None

        def solve(u: Array) -> Coefficients:
            coef = u / gamma_A
            intercept = np.zeros(u.shape[1])
            if solve_spd is not None:
                coef[E] = 0
                rest = K[E] @ coef if coef.any() else 0.0
                coef[E] = solve_spd(u[E] / d[:, None] - rest)
                if ones is not None:
                    intercept = coef.sum(axis=0) / ones.sum()
                    coef[E] -= ones * intercept
            values = K @ coef + intercept
            residual = d[:, None] * values[E] - u[E] + gamma_A * coef[E]
            if weights is not None and _digits_lost(residual, u):
                return self._in_features(weights, u)
            return Coefficients(coef, intercept, values)

        return solve

    def _in_features(self, weights: Array, u: Array) -> Coefficients:
        """Solve in feature coordinates, on the points whose coefficients are not 0."""
        # The other points have the coefficient 0 and need no coordinates.
        rows = np.flatnonzero((weights != 0) | u.any(axis=1))
        system = FactoredSystem(self.K[np.ix_(rows, rows)], None, self.gamma_A, self.fit_intercept)
        part = system.factor(weights[rows])(u[rows])
        coef = np.zeros(u.shape)
        coef[rows] = part.coef
        return Coefficients(coef, part.intercept, self.K[:, rows] @ part.coef + part.intercept)


class PrimalSystem:
    """Cholesky factorisation of Phi'(D + S)Phi + gamma_A I, in coordinates.

    S Phi is computed in blocks of columns, so that a sparse Phi is never dense as a whole.
    """

    def __init__(
        self, Phi: Matrix, smoothness: Smoothness | None, gamma_A: float, fit_intercept: bool
    ) -> None:
        n, d = Phi.shape
        require_memory(
            2 * 8.0 * d * d,
            f"A direct solver with {d} features",
            "Use solver='pcg', which only applies X.",
        )
        self._Phi = Phi
        self._fit_intercept = fit_intercept
        size = d + fit_intercept
        base = np.zeros((size, size))
        if smoothness is not None:
            # Each block takes two passes over a design on disk.
            budget = max(_READ_BYTES, 8 * n * _READ_COLUMNS) if is_on_disk(Phi) else BLOCK_BYTES
            for columns in row_blocks(d, 8 * n, budget):
                block = as_dense(Phi[:, columns])
                base[:d, columns] = Phi.T @ smoothness(np.asarray(block, dtype=np.float64))
            if fit_intercept:
                constant = smoothness(np.ones((n, 1)))
                base[:d, d:] = Phi.T @ constant
                base[d, :d] = base[:d, d]
                base[d, d] = constant.sum()
            # Symmetric up to rounding, but the factorisation reads one half only.
            base = (base + base.T) / 2
        base.flat[: d * size : size + 1] += gamma_A
        self._base = base

    def factor(self, weights: Array | None = None) -> Quadratic:
        Phi, d, bias = self._Phi, self._Phi.shape[1], self._fit_intercept
        H = self._base.copy()
        if weights is not None:
            E = np.flatnonzero(weights)
            H += normal_matrix(Phi[E], weights[E], bias=bias)
        solve_spd = spd_factor(H)

        def solve(u: Array) -> Coefficients:
            right = Phi.T @ u
            if bias:
                right = np.vstack([right, u.sum(axis=0)])
            z = solve_spd(right)
            coef = z[:d]
            intercept = z[d] if bias else np.zeros(u.shape[1])
            return Coefficients(coef, intercept, Phi @ coef + intercept)

        return solve


@dataclass(frozen=True, eq=False)
class TransformedSystem:
    """System in other coordinates, with the map from its coefficients."""

    system: QuadraticSystem
    transform: Callable[[Array], Array]

    def factor(self, weights: Array | None = None) -> Quadratic:
        inner = self.system.factor(weights)

        def solve(u: Array) -> Coefficients:
            coef, intercept, values = inner(u)
            return Coefficients(self.transform(coef), intercept, values)

        return solve


class FactoredSystem(TransformedSystem):
    """System in coordinates w with K = F F', h = F w, which is symmetric positive definite.

    F is a pivoted Cholesky factor with as many columns as the rank of K, so that solutions have no
    component in the null space of K, in which digits cancel (errata L14).
    """

    def __init__(
        self, K: Array, smoothness: Smoothness | None, gamma_A: float, fit_intercept: bool
    ) -> None:
        F, lift = kernel_coordinates(K)
        super().__init__(PrimalSystem(F, smoothness, gamma_A, fit_intercept), lift.matmat)


class Lift(LinearOperator):
    """Map from coordinates w to the coefficients F^-T w over a basis, by substitution.

    It is applied to a few vectors only, for which the inverse would cost too much.

    Parameters
    ----------
    factor : ndarray of shape (r, r)
        F, lower triangular.
    at : ndarray of shape (r,), optional
        Indices of the coefficients among `n_coef`; all coefficients by default.
    n_coef : int, optional
    """

    def __init__(self, factor: Array, at: Array | None = None, n_coef: int | None = None) -> None:
        r = len(factor)
        super().__init__(factor.dtype, (r if n_coef is None else n_coef, r))  # type: ignore[call-arg]
        self._factor, self._at = factor, np.arange(r) if at is None else at

    def _matmat(self, coef: Array) -> Array:
        alpha = np.zeros((self.shape[0], coef.shape[1]))
        alpha[self._at] = sla.solve_triangular(
            self._factor, coef, lower=True, trans="T", check_finite=False
        )
        return alpha

    def _rmatmat(self, alpha: Array) -> Array:
        return np.asarray(
            sla.solve_triangular(self._factor, alpha[self._at], lower=True, check_finite=False)
        )


def kernel_coordinates(K: Array) -> tuple[Array, Lift]:
    """Factor K = F F' by pivoted Cholesky, and map coordinates to coefficients of the expansion.

    Only the pivots have non-zero coefficients: K[:, P] a_P = F F_P' a_P = F w.
    """
    # Pivots below the rounding error of the largest entry are rounding errors.
    tol = 4 * np.finfo(np.float64).eps * float(np.max(np.diag(K), initial=0))
    own = np.array(K, dtype=np.float64, order="F")
    F, lower, pivots = pivoted_cholesky(own, tol, overwrite=True)
    return F, Lift(lower, pivots, len(K))


class Coordinates(DesignSpace):
    """Base of spaces with G = I: every product is with the design Phi (n, m) or its transpose."""

    def represent(self, u: Array) -> Any:
        return self.features.T @ u

    def dot(self, a: Array, b: Array, values_b: Array) -> Any:
        return column_dot(a, b)

    def gram(self) -> Array:
        if is_sparse(self.features):
            products = safe_sparse_dot(self.features, self.features.T, dense_output=True)
            return np.asarray(products, dtype=np.float64)
        Z = np.vstack([np.asarray(block, dtype=np.float64) for _, block in self.blocks()])
        return np.asarray(Z @ Z.T)

    @abstractmethod
    def function(self, coef: Array, intercept: Array) -> FittedFunction:
        """Return the functions with given coefficients."""

    def coordinates(self, X: PointData) -> Array:
        """Compute Phi (q, m) of new points, dense, in float64."""
        m = self.n_coef
        return np.asarray(self.function(np.eye(m), np.zeros(m))(X), dtype=np.float64)

    def products(self, X: PointData) -> tuple[Array, Array]:
        """Compute inner products of new points with the points (n, q) and with themselves (q,)."""
        new = self.coordinates(X)
        return np.asarray(self.features @ new.T, dtype=np.float64), column_dot(new.T, new.T)

    def system(
        self, smoothness: Smoothness | None, gamma_A: float, fit_intercept: bool
    ) -> QuadraticSystem:
        if self.n_coef <= self.n_points:
            return PrimalSystem(self.features, smoothness, gamma_A, fit_intercept)
        # In the span of the points, which are fewer than the coordinates.
        n = self.n_points
        require_memory(
            (1 if smoothness is None else 3) * 8.0 * n * n,
            f"A direct solver at n = {n} points with more features than points",
            "Use solver='pcg', which only applies X.",
        )
        system = expansion_system(self.gram(), smoothness, gamma_A, fit_intercept)
        return TransformedSystem(system, self.represent)
