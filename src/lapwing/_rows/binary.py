"""Rows of plain binary numbers in one file: `numpy.memmap` and ``.npy``.

Files are read and not mapped. Pages of a mapping count as the process's own memory and take its
address space, and where a mapped file is cut short, the process is killed without a word.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing._host.files import why_unreadable
from lapwing._rows.stored import FileStates, StoredRows, precision_of

_PIECE_BYTES = 2**16  # read in one go where one row of them is wanted


class BinaryRows(StoredRows):
    """Numbers at regular places of a file, in rows or in columns.

    Parameters
    ----------
    path : Path
    offset : int
        Where the first number is, in bytes.
    shape : tuple of int
    strides : tuple of int
        From a row to the next and from a column to the next, in bytes, not negative.
    stored : dtype
        Of the numbers in the file.
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
            if by_row >= by_column * d:  # a row's numbers lie together
                return self._numbers(file, begin, (n, d), self.strides)
            columns = np.empty((d, n), dtype=self.dtype)
            for j in range(d):
                columns[j] = self._numbers(file, begin + j * by_column, (n, 1), (by_row, 0))[:, 0]
        return columns.T

    def _numbers(
        self, file: Any, begin: int, shape: tuple[int, int], strides: tuple[int, int]
    ) -> Array:
        extent = sum((s - 1) * step for s, step in zip(shape, strides, strict=True))
        buffer = bytearray(extent + self.stored.itemsize)
        file.seek(begin)
        view, filled = memoryview(buffer), 0
        while filled < len(buffer):  # the system reads at most 2 GB at a time
            count = file.readinto(view[filled:])
            if not count:
                raise self.files.error(f"{self.path} became shorter")
            filled += count
        return np.ndarray(shape, self.stored, buffer, 0, strides)


def mapped_file(X: Any, name: str = "X") -> BinaryRows | None:
    """The rows of the file that an array is a mapping of; None if it is none, or not in rows.

    Views of a mapping are found in their file as well. A copy-on-write mapping may hold what its
    file does not, and rows or columns backwards are no rows of a file: such arrays are read as any
    other.
    """
    if not isinstance(X, np.memmap) or X.ndim != 2 or X.filename is None or X.mode == "c":
        return None
    root: Any = X
    while isinstance(root.base, np.ndarray):
        root = root.base
    path = Path(os.fspath(X.filename))
    # Of a file that was removed the mapping is all that is left.
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
    """The rows of an array in a ``.npy`` file.

    Raises
    ------
    ValueError
        If it is no such file, or its array has not two dimensions.
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
            f"{path} holds several arrays, as an .npz file does. Write one array by numpy.save."
        )
    rows = mapped_file(mapped) if mapped.ndim == 2 else None
    if rows is None:
        raise ValueError(
            f"{path} holds an array of shape {mapped.shape}: X needs rows and columns, at least "
            "one of each."
        )
    return rows
