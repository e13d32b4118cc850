"""Orthonormal coordinates of functions in row blocks, for methods that only sum over points.

The normal equations of embedded regression need Z'Z and Z'g, Z (n, m): a pass over row blocks. So
the coordinates of landmarks need not be held, which a million points by a thousand landmarks, 4 GB
in float32, would be; `KernelFeatures` computes each block when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing._arrays import Array, is_sparse, row_blocks
from lapwing._host.memory import require_memory
from lapwing.kernels import Kernel
from lapwing.spaces.mapped import landmark_map

__all__ = ["KernelFeatures", "StoredFeatures", "landmark_features"]


@dataclass(frozen=True, eq=False)
class StoredFeatures:
    """Rows of an array, such as the features of `LinearSpace`.

    Attributes
    ----------
    array : ndarray or CSR of shape (n, m)
    """

    array: Any

    @property
    def n_points(self) -> int:
        return int(self.array.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.array.shape[1])

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Row blocks, dense."""
        for rows in row_blocks(self.n_points, 8 * self.n_features):
            block = self.array[rows]
            yield rows, block.toarray() if is_sparse(block) else block


@dataclass(frozen=True, eq=False)
class KernelFeatures:
    """Coordinates A'k(z, x) over a basis z, block by block.

    Attributes
    ----------
    kernel : Kernel
    X : ndarray or CSR of shape (n, n_features)
    basis : ndarray or CSR of shape (m, n_features)
    lift : ndarray of shape (m, m)
        A: coordinates to the coefficients over the basis.
    """

    kernel: Kernel
    X: Any
    basis: Any
    lift: Array

    @property
    def n_points(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.lift.shape[1])

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Row blocks, computed afresh."""
        right = self.lift.astype(self.X.dtype, copy=False)
        for rows, block in self.kernel.cross_blocks(self.X, self.basis):
            yield rows, block @ right

    def stored(self) -> StoredFeatures:
        """The features as an array, in the precision of X, for methods of many passes."""
        n, m, itemsize = self.n_points, self.n_features, self.X.dtype.itemsize
        require_memory(
            float(n) * m * itemsize,
            f"Coordinates of {n} points by {m} landmarks",
            "Use fewer landmarks, or float32 features.",
        )
        features = np.empty((n, m), dtype=self.X.dtype)
        for rows, block in self.blocks():
            features[rows] = block
        return StoredFeatures(features)


def landmark_features(kernel: Kernel, X: Any, landmarks: Any) -> KernelFeatures:
    """Coordinates of points over landmarks; see `lapwing.spaces.mapped.landmark_map`."""
    mapped = landmark_map(kernel, landmarks, landmarks)
    return KernelFeatures(kernel, X, mapped.basis, mapped.lift)
