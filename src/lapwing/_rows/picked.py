"""Some of the rows of others: what is left of X where equal rows are one point, or are held out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing._host.memory import require_memory
from lapwing._host.warn import warn
from lapwing._rows.base import Rows, all_of, key_of
from lapwing.exceptions import LapwingWarning

_SLOW_BYTES = 2**28  # of rows in any order, below which a file is read again in no time


class IndexedRows:
    """Rows by their numbers and as an array, as scikit-learn asks for them to hold some out."""

    def __len__(self: Any) -> int:
        n, _ = self.shape
        return int(n)

    def __getitem__(self: Any, key: Any) -> Any:
        """One row as an array, or some as rows that stay where they are."""
        whole_rows = isinstance(key, tuple) and key[1:] in ((Ellipsis,), (slice(None),))
        rows = key[0] if whole_rows else key
        if isinstance(rows, tuple) or rows is Ellipsis or rows is None:
            raise IndexError(
                f"X[{key!r}] is not read from files: take rows of X by their numbers, a slice or a "
                "mask, and columns of Parquet files by open_rows(..., columns=[...])."
            )
        index = np.arange(len(self))[rows]
        if index.ndim == 0:
            return self.take(index[None])[0]
        return PickedRows(self, index)

    def __iter__(self: Any) -> Iterator[Array]:
        """Rows one by one, which by their numbers would each be looked for in the files."""
        for _, block in self.blocks(max(1, 2**20 // max(1, self.shape[1]))):
            yield from block

    def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("X lies on disk, and an array of it is a copy.")
        n, d = self.shape
        require_memory(
            float(n) * d * self.dtype.itemsize,
            f"An array of {n} x {d} points of a file",
            "Use an estimator of lapwing that reads row blocks, such as LapERLSClassifier, or "
            "fewer rows.",
        )
        return all_of(self).astype(dtype or self.dtype, copy=False)


@dataclass(frozen=True, eq=False, repr=False)
class PickedRows(IndexedRows):
    """Rows by their numbers in others.

    In ascending order they are read in one pass. In any other, each block looks for its rows: if
    few of them are out of place, that is one pass, too.

    Attributes
    ----------
    source : Rows
    index : ndarray of int of shape (n,)
    """

    source: Rows
    index: Array

    def __post_init__(self) -> None:
        size = len(self.index) * self.source.shape[1] * self.dtype.itemsize
        if size > _SLOW_BYTES and np.count_nonzero(np.diff(self.index) < 0) > len(self.index) // 4:
            warn(
                f"{len(self.index)} rows of a file are asked for in a shuffled order: each block "
                "of them reads much of the file. Keep the order of the file, as the splitters of "
                "lapwing.model_selection and KFold() do.",
                LapwingWarning,
            )

    def __repr__(self) -> str:
        return f"<{len(self.index)} rows of {self.source!r}>"

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.index), self.source.shape[1]

    @property
    def dtype(self) -> Any:
        return self.source.dtype

    @property
    def key(self) -> Any:
        return key_of(self.source), self.index

    def blocks(self, n_rows: int) -> Iterator[tuple[slice, Array]]:
        if (np.diff(self.index) < 0).any():
            for start in range(0, len(self.index), n_rows):
                rows = slice(start, min(start + n_rows, len(self.index)))
                yield rows, self.source.take(self.index[rows])
            return
        kept = [np.empty((0, self.shape[1]), dtype=self.dtype)]
        held = begin = 0
        for rows, block in self.source.blocks(n_rows):
            low, high = np.searchsorted(self.index, [rows.start, rows.stop])
            kept.append(block[self.index[low:high] - rows.start])
            held += high - low
            while held >= n_rows:  # repeated rows are several, too
                gathered = np.concatenate(kept)
                yield slice(begin, begin + n_rows), gathered[:n_rows]
                begin += n_rows
                kept, held = [gathered[n_rows:].copy()], held - n_rows
        if held:
            yield slice(begin, begin + held), np.concatenate(kept)

    def take(self, index: Array) -> Array:
        return self.source.take(self.index[index])
