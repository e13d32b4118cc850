"""The linear space: h(x) = w'x for dense or sparse X; the kernel matrix X X' is never formed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import safe_sparse_dot

from lapwing._arrays import is_sparse, row_blocks
from lapwing._host.memory import require_memory
from lapwing.linalg import column_dot, spd_factor
from lapwing.spaces.base import Array, Quadratic, Smoothness, Solution, System
from lapwing.spaces.full import FullKernelSpace

__all__ = ["LinearFunction", "LinearSpace"]


@dataclass(frozen=True, eq=False)
class LinearFunction:
    """f(x) = w'x + b.

    Attributes
    ----------
    coef : ndarray of shape (n_features, n_columns)
    intercept : ndarray of shape (n_columns,)
    """

    coef: Array
    intercept: Array

    def __call__(self, X: Any) -> Array:
        return np.asarray(safe_sparse_dot(X, self.coef, dense_output=True)) + self.intercept


@dataclass(frozen=True, eq=False)
class LinearSpace:
    """Phi = X, G = I: O(nnz) for every product.

    Attributes
    ----------
    X : ndarray or sparse of shape (n, n_features)
    """

    X: Any

    @property
    def features(self) -> Any:
        return self.X

    @property
    def n_points(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_coef(self) -> int:
        return int(self.X.shape[1])

    @property
    def dtype(self) -> Any:
        return self.X.dtype

    def values(self, coef: Any) -> Any:
        return self.X @ coef

    def represent(self, u: Any) -> Any:
        return self.X.T @ u

    def dot(self, a: Any, b: Any, values_b: Any) -> Any:
        return column_dot(a, b)

    def system(self, smoothness: Smoothness | None, gamma_A: float, fit_intercept: bool) -> System:
        if self.n_coef <= self.n_points:
            return PrimalSystem(self.X, smoothness, gamma_A, fit_intercept)
        return _PushedSystem(self.X, smoothness, gamma_A, fit_intercept)

    def function(self, coef: Array, intercept: Array) -> LinearFunction:
        return LinearFunction(coef, intercept)


class PrimalSystem:
    """Cholesky of X'(D + S)X + gamma_A I, of the size of the features.

    S X is taken in blocks of columns, so that a sparse X is never densified whole.
    """

    def __init__(
        self, X: Any, smoothness: Smoothness | None, gamma_A: float, fit_intercept: bool
    ) -> None:
        n, d = X.shape
        require_memory(
            2 * 8.0 * d * d,
            f"A direct solver with {d} features",
            "Use solver='pcg', which only applies X.",
        )
        self._X = X
        self._fit_intercept = fit_intercept
        size = d + fit_intercept
        base = np.zeros((size, size))
        if smoothness is not None:
            for columns in row_blocks(d, 8 * n):
                block = X[:, columns]
                block = block.toarray() if is_sparse(block) else block
                base[:d, columns] = X.T @ smoothness(np.asarray(block, dtype=np.float64))
            if fit_intercept:
                constant = smoothness(np.ones((n, 1)))
                base[:d, d:] = X.T @ constant
                base[d, :d] = base[:d, d]
                base[d, d] = constant.sum()
            base = (base + base.T) / 2
        base.flat[: d * size : size + 1] += gamma_A
        self._base = base

    def factor(self, weights: Array | None = None) -> Quadratic:
        X, d = self._X, self._X.shape[1]
        H = self._base.copy()
        if weights is not None:
            E = np.flatnonzero(weights)
            rows, w = X[E], weights[E]
            weighted = sp.diags_array(w) @ rows if is_sparse(rows) else rows * w[:, None]
            H[:d, :d] += safe_sparse_dot(rows.T, weighted, dense_output=True)
            if self._fit_intercept:
                H[:d, d] += rows.T @ w
                H[d, :d] = H[:d, d]
                H[d, d] += w.sum()
        solve_spd = spd_factor(H)

        def solve(u: Array) -> Solution:
            right = X.T @ u
            if self._fit_intercept:
                right = np.vstack([right, u.sum(axis=0)])
            z = solve_spd(right)
            coef = z[:d]
            intercept = z[d] if self._fit_intercept else np.zeros(u.shape[1])
            return Solution(coef, intercept, X @ coef + intercept)

        return solve


class _PushedSystem:
    """With more features than points the models are solved in the span of the points: w = X'a."""

    def __init__(
        self, X: Any, smoothness: Smoothness | None, gamma_A: float, fit_intercept: bool
    ) -> None:
        require_memory(
            8.0 * X.shape[0] ** 2,
            f"A direct solver at n = {X.shape[0]} points with more features than points",
            "Use solver='pcg', which only applies X.",
        )
        self._X = X
        K = np.asarray(safe_sparse_dot(X, X.T, dense_output=True), dtype=np.float64)
        self._system = FullKernelSpace(K).system(smoothness, gamma_A, fit_intercept)

    def factor(self, weights: Array | None = None) -> Quadratic:
        inner = self._system.factor(weights)

        def solve(u: Array) -> Solution:
            alpha, intercept, values = inner(u)
            return Solution(self._X.T @ alpha, intercept, values)

        return solve
