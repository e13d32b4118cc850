"""What spaces with orthonormal coordinates share: G = I, and a design that is applied."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from lapwing._arrays import Array, is_sparse, row_blocks
from lapwing.linalg import column_dot
from lapwing.spaces.base import Design, QuadraticSystem, Smoothness
from lapwing.spaces.systems import PrimalSystem, PushedSystem


class Coordinates:
    """Phi (n, m), G = I: every product is one with the design or its transpose."""

    @property
    @abstractmethod
    def features(self) -> Any:
        """Phi: ndarray, sparse or an operator of shape (n, m)."""

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

    def gram(self) -> Array:
        if is_sparse(self.features):
            products = safe_sparse_dot(self.features, self.features.T, dense_output=True)
            return np.asarray(products, dtype=np.float64)
        Z = np.vstack([np.asarray(block, dtype=np.float64) for _, block in self.blocks()])
        return np.asarray(Z @ Z.T)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        features = self.features
        for rows in row_blocks(self.n_points, 8 * self.n_coef):
            block = features[rows]
            yield rows, block.toarray() if is_sparse(block) else block

    def design(self) -> Design:
        # Its blocks are there already.
        return Design(self.blocks, np.asarray, self.n_coef)

    def system(
        self, smoothness: Smoothness | None, gamma_A: float, fit_intercept: bool
    ) -> QuadraticSystem:
        if self.n_coef <= self.n_points:
            return PrimalSystem(self.features, smoothness, gamma_A, fit_intercept)
        return PushedSystem(self, smoothness, gamma_A, fit_intercept)  # type: ignore[arg-type]
