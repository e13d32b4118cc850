"""Designs that are known by their row blocks: computed or read whenever they are applied."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from lapwing._arrays import Array
from lapwing._host.memory import require_memory
from lapwing._rows import Rows, blocks_of

_READ_BYTES = 2**24  # of a block in float64


def is_read(features: Any) -> bool:
    """Whether a design is read from disk whenever it is applied."""
    return isinstance(features, RowFeatures)


class BlockOperator(LinearOperator):
    """A matrix (n, m) of which one row block is in memory at a time; a product is one pass.

    Parameters
    ----------
    dtype : data-type
    shape : tuple of int
    """

    def __init__(self, dtype: Any, shape: tuple[int, int]) -> None:
        super().__init__(dtype, shape)  # type: ignore[call-arg]

    @abstractmethod
    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Row blocks in order."""

    @abstractmethod
    def _computed(self) -> Iterator[tuple[slice, Array]]:
        """Row blocks in order, made afresh."""

    @property
    @abstractmethod
    def _called(self) -> tuple[str, str]:
        """What it is, and what to use where it does not fit in memory."""

    @cached_property
    def held(self) -> Array:
        """The design as an array, kept for whoever asks again."""
        n, m = self.shape
        require_memory(float(n) * m * self.dtype.itemsize, *self._called)
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
    """Points on disk as a design: every product reads them once.

    Parameters
    ----------
    X : Rows of shape (n, m)
    """

    def __init__(self, X: Rows) -> None:
        super().__init__(X.dtype, X.shape)
        self.X = X

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        return self._computed()

    def _computed(self) -> Iterator[tuple[slice, Array]]:
        return blocks_of(self.X, 8 * self.shape[1], _READ_BYTES)

    @property
    def _called(self) -> tuple[str, str]:
        n, m = self.shape
        return (
            f"{n} x {m} points of a file as an array in memory",
            "Use LapERLSClassifier or LapERLSRegressor with kernel='linear', which read blocks.",
        )

    def __getitem__(self, key: Any) -> Array:
        """Some rows by number, or some columns of all rows: ``features[i]``, ``features[:, j]``."""
        if not isinstance(key, tuple):
            return self.X.take(key)
        every, columns = key
        assert every == slice(None)
        n = self.shape[0]
        found = np.empty((n, len(range(*columns.indices(self.shape[1])))), dtype=self.dtype)
        for rows, block in self.blocks():
            found[rows] = block[:, columns]
        return found
