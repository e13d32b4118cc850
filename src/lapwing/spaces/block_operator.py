"""Designs whose row blocks are computed or read in every product, and sums over their rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse.linalg import LinearOperator

from lapwing._arrays import DISK_BLOCK_BYTES, Array, Matrix, as_dense, is_sparse, row_blocks
from lapwing._host.memory import require_memory
from lapwing._rows.base import Rows, blocks_of
from lapwing.linalg import summed

# Limit of the rounding error of a sum of kernel values, relative to the identity that is added to
# it. Above it the rows are lifted first, as small directions would be lost.
_ROUNDING = 1e-4


def is_on_disk(features: Matrix) -> bool:
    """Return whether a design is read from disk in every product."""
    return isinstance(features, RowFeatures)


class BlockOperator(LinearOperator):
    """Matrix (n, m) with one row block in memory at a time; a product is one pass.

    Parameters
    ----------
    dtype : data-type
    shape : tuple of int
    """

    def __init__(self, dtype: DTypeLike, shape: tuple[int, int]) -> None:
        super().__init__(dtype, shape)  # type: ignore[call-arg]

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Iterate over the row blocks in order."""
        return self._computed()

    @abstractmethod
    def _computed(self) -> Iterator[tuple[slice, Array]]:
        """Compute the row blocks in order."""

    @property
    @abstractmethod
    def _memory_message(self) -> tuple[str, str]:
        """Describe the operator and the alternative to it, for memory errors."""

    @cached_property
    def array(self) -> Array:
        """Design as an array, cached."""
        n, m = self.shape
        require_memory(float(n) * m * self.dtype.itemsize, *self._memory_message)
        design = np.empty((n, m), dtype=self.dtype)
        for rows, block in self._computed():
            design[rows] = block
        return design

    def _matmat(self, coef: Array) -> Array:
        values = np.empty((self.shape[0], coef.shape[1]), np.result_type(self.dtype, coef))
        for rows, block in self.blocks():
            values[rows] = block @ coef
        return values

    def _rmatmat(self, u: Array) -> Array:
        total = np.zeros((self.shape[1], u.shape[1]), np.result_type(self.dtype, u))
        for rows, block in self.blocks():
            total += block.T @ u[rows]
        return total


class RowFeatures(BlockOperator):
    """Points on disk as a design; every product reads them once.

    Parameters
    ----------
    X : Rows of shape (n, m)
    """

    def __init__(self, X: Rows) -> None:
        super().__init__(X.dtype, X.shape)
        self.X = X

    def _computed(self) -> Iterator[tuple[slice, Array]]:
        return blocks_of(self.X, 8 * self.shape[1], DISK_BLOCK_BYTES)

    @property
    def _memory_message(self) -> tuple[str, str]:
        n, m = self.shape
        return (
            f"{n} x {m} points of a file as an array in memory",
            "Use LapERLSClassifier or LapERLSRegressor with kernel='linear', which read blocks.",
        )

    def __getitem__(self, key: Any) -> Array:
        """Return some rows, or some columns of all rows: ``features[i]``, ``features[:, j]``."""
        if not isinstance(key, tuple):
            return self.X.take(key)
        every, columns = key
        assert every == slice(None)
        n = self.shape[0]
        found = np.empty((n, len(range(*columns.indices(self.shape[1])))), dtype=self.dtype)
        for rows, block in self.blocks():
            found[rows] = block[:, columns]
        return found


@dataclass(frozen=True, eq=False)
class Design:
    """Design Phi = P A with P in row blocks, so that sums over points need P only.

    The Gram matrix of P costs a third of that of P A computed from its rows. But if A is large,
    small directions of P'P are lost to rounding, and P A must be computed row by row (`lifted`).

    Attributes
    ----------
    parts : callable () -> iterator of (rows, data from which these rows of P are computed)
        All points in order.
    rows_of : callable
        Function from such data to dense rows of P (b, width); threads may share the calls.
    width : int
    lift : ndarray of shape (width, m) or None
        A; None is the identity.
    rounding : float, default=0.0
        Approximate rounding error of A'(P'DP)A for weights that sum to one.
    """

    parts: Callable[[], Iterator[tuple[slice, Any]]]
    rows_of: Callable[[Any], Array]
    width: int
    lift: Array | None = None
    rounding: float = 0.0

    @property
    def n_coef(self) -> int:
        return self.width if self.lift is None else int(self.lift.shape[1])

    def lifted(self, weight: float = np.inf) -> Design:
        """Compute P A row by row if sums of weights `weight` would be rounded too much."""
        lift, rows_of = self.lift, self.rows_of
        if lift is None or self.rounding * weight <= _ROUNDING:
            return self

        def lifted_rows(made_of: Any) -> Array:
            rows = rows_of(made_of)
            return np.asarray(rows @ lift.astype(rows.dtype, copy=False))

        return Design(self.parts, lifted_rows, self.n_coef)

    def normal_matrix(
        self,
        weights: Array,
        beside: Callable[[slice], Array] | None = None,
        n_beside: int = 0,
        *,
        bias: bool,
    ) -> Array:
        """Compute Z'DZ for Z = [Phi, further columns, ones], plus the identity for Phi.

        Parameters
        ----------
        weights : ndarray of shape (n,)
            Diagonal of D, >= 0.
        beside : callable, optional
            rows -> further columns (b, n_beside) of Z.
        n_beside : int
        bias : bool
            Whether Z includes the ones.
        """
        root, m, width = np.sqrt(weights), self.n_coef, self.width
        size = width + n_beside + bias

        def gram(part: tuple[slice, object]) -> Array:
            rows, made_of = part
            B = np.empty((rows.stop - rows.start, size))
            B[:, :width] = self.rows_of(made_of)
            if beside is not None:
                B[:, width : width + n_beside] = beside(rows)
            B[:, width + n_beside :] = 1
            B *= root[rows, None]
            return np.asarray(B.T @ B)  # BLAS does half of the work (syrk)

        H = summed(self.parts(), gram, (size, size))
        if self.lift is not None:
            H = _lifted(H, self.lift)
        H.flat[: m * (len(H) + 1) : len(H) + 1] += 1
        return H

    def adjoint(self, u: Array) -> Array:
        """Compute Phi'u (m, c) for values u (n, c), in float64."""

        def product(part: tuple[slice, object]) -> Array:
            rows, made_of = part
            return np.asarray(_float64(self.rows_of(made_of)).T @ u[rows])

        found = summed(self.parts(), product, (self.width, u.shape[1]))
        return found if self.lift is None else np.asarray(self.lift.T @ found)

    def values(self, w: Array) -> Iterator[tuple[slice, Array]]:
        """Iterate over row blocks of Phi w for coefficients w (m, c), in float64."""
        right = w if self.lift is None else self.lift @ w
        for rows, made_of in self.parts():
            yield rows, _float64(self.rows_of(made_of)) @ right


class DesignSpace:
    """Base of spaces with a design Phi (n, m) for products: an array, sparse or an operator."""

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

    def values(self, coef: Array) -> Any:
        return self.features @ coef

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        features = self.features
        if not (isinstance(features, np.ndarray) or is_sparse(features)):
            yield from features.blocks()
            return
        for rows in row_blocks(self.n_points, 8 * self.n_coef):
            block = features[rows]
            yield rows, as_dense(block)

    def design(self) -> Design:
        # A is the identity, as the blocks need no further product.
        return Design(self.blocks, np.asarray, self.n_coef)


def _float64(block: Array) -> Array:
    return np.asarray(block, dtype=np.float64)


def _lifted(H: Array, lift: Array) -> Array:
    """Transform the normal equations of the first unknowns a to those of w, with a = A w."""
    width, m = lift.shape
    found = np.empty((m + len(H) - width,) * 2)
    found[:m, m:] = lift.T @ H[:width, width:]
    found[m:, :m] = found[:m, m:].T
    found[m:, m:] = H[width:, width:]
    own = lift.T @ (H[:width, :width] @ lift)
    found[:m, :m] = (own + own.T) / 2
    return found
