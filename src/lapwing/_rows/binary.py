"""Rows of a file of binary numbers: `numpy.memmap` and ``.npy``.

Files are read and not mapped, because mapped pages count as memory of the process, and truncation
of a mapped file kills the process without a message.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing._host.files import why_unreadable
from lapwing._rows.base import PointsLike
from lapwing._rows.stored import FileStates, StoredRows, precision_of

_PIECE_BYTES = 2**16  # smallest size of a read


class BinaryRows(StoredRows):
    """Numbers at constant strides of a file, in rows or in columns.

    Parameters
    ----------
    path : Path
    offset : int
        Position of the first number, in bytes.
    shape : tuple of int
        Numbers of rows and columns.
    strides : tuple of int
        Bytes from a row to the next and from a column to the next, not negative.
    stored : dtype
        Type of the numbers in the file.
    """

    def __init__(
        self,
        path: Path,
        offset: int,
        shape: tuple[int, int],
        strides: tuple[int, int],
        stored: np.dtype[Any],
    ) -> None:
        self.files = FileStates.of(str(path), [path])
        self.path, self.offset, self.strides, self.stored = path, offset, strides, stored
        self.shape = shape
        self.dtype = precision_of(stored, str(path))
        self.piece = max(1, _PIECE_BYTES // max(1, strides[0]))

    @property
    def key(self) -> tuple[Any, ...]:
        return *super().key, self.offset, self.strides, self.stored.str

    def _read(self, start: int, stop: int) -> Array:
        n, d = stop - start, self.shape[1]
        by_row, by_column = self.strides
        begin = self.offset + start * by_row
        with self.path.open("rb", buffering=0) as file:
            if by_row >= by_column * d:  # rows are contiguous
                return self._numbers(file, begin, (n, d), self.strides)
            columns = np.empty((d, n), dtype=self.dtype)
            for j in range(d):
                columns[j] = self._numbers(file, begin + j * by_column, (n,), (by_row,))
        return columns.T

    def _numbers(
        self, file: Any, begin: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> Array:
        extent = sum((s - 1) * step for s, step in zip(shape, strides, strict=True))
        file.seek(begin)
        buffer = np.fromfile(file, np.uint8, extent + self.stored.itemsize)
        return np.ndarray(shape, self.stored, buffer, 0, strides)


def mapped_file(X: PointsLike) -> BinaryRows | None:
    """Open the file of a memory-mapped array or of a view of one; None for other arrays.

    Copy-on-write mappings may differ from their file, and negative strides are not supported: such
    arrays are treated as arrays in memory.
    """
    if not isinstance(X, np.memmap) or X.ndim != 2 or X.filename is None or X.mode == "c":
        return None
    root: Any = X
    while isinstance(root.base, np.ndarray):
        root = root.base
    path = Path(os.fspath(X.filename))
    # The mapping of a removed file remains valid.
    if not isinstance(root.base, mmap.mmap) or not path.is_file():
        return None
    if min(X.strides) < 0 or 0 in X.shape:
        return None
    if X.mode != "r":
        X.flush()
    mapping = np.frombuffer(root.base, dtype=np.uint8)
    begin = X.offset - X.offset % mmap.ALLOCATIONGRANULARITY
    offset = begin + X.ctypes.data - mapping.ctypes.data
    n, d = X.shape
    return BinaryRows(path, offset, (n, d), (X.strides[0], X.strides[1]), X.dtype)


def read_npy(path: Path) -> BinaryRows:
    """Open the array of a ``.npy`` file.

    Raises
    ------
    ValueError
        If it is not such a file, or its array does not have two dimensions.
    """
    try:
        mapped = np.load(path, mmap_mode="r")
    except (ValueError, EOFError) as error:
        raise ValueError(
            f"{path} is not a .npy file of numbers: {why_unreadable(error)}. "
            "Write it by numpy.save."
        ) from None
    if not isinstance(mapped, np.ndarray):
        mapped.close()
        raise ValueError(
            f"{path} holds several arrays, like an .npz file. Write one array by numpy.save."
        )
    rows = mapped_file(mapped) if mapped.ndim == 2 else None
    if rows is None:
        raise ValueError(
            f"{path} holds an array of shape {mapped.shape}: X needs rows and columns, at least "
            "one of each."
        )
    return rows
