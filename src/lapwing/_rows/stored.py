"""Base class of rows in files, which are read in chunks of the format and divided into blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from lapwing._arrays import Array
from lapwing._rows.base import IndexedRows, cut_to_blocks
from lapwing.exceptions import DataChangedError

READ_BYTES = 2**25  # 32 MB, read at a time


def precision_of(dtype: DTypeLike, name: str) -> np.dtype[Any]:
    """Return the precision in which numbers are read: float32 for float32, otherwise float64.

    Raises
    ------
    ValueError
        If the type is not of real numbers.
    """
    dtype = np.dtype(dtype)
    if dtype.kind not in "fiub":
        raise ValueError(
            f"{name} holds values of type {dtype}, but points must be numbers. Store them as "
            "float32 or float64."
        )
    single = dtype.kind == "f" and dtype.itemsize == 4
    return np.dtype(np.float32 if single else np.float64)


@dataclass(frozen=True)
class FileStates:
    """Sizes and times of files when they were opened, to detect changes.

    Attributes
    ----------
    name : str
        Name of the data in errors.
    states : mapping of Path
        Size in bytes and time of the last change in nanoseconds.
    """

    name: str
    states: dict[Path, tuple[int, int]]

    @classmethod
    def of(cls, name: str, paths: Iterable[Path]) -> FileStates:
        return cls(name, {path: _state(path) for path in paths})

    def check(self) -> None:
        """Raise DataChangedError if a file has changed."""
        for path, before in self.states.items():
            try:
                now = _state(path)
            except OSError:
                raise self.error(f"{path} is gone") from None
            if now != before:
                raise self.error(f"{path} was changed")

    def error(self, change: str) -> DataChangedError:
        return DataChangedError(
            f"{change}, while X was read from it. Leave the files of X alone until a fit or a "
            "prediction has ended, and begin it again."
        )


def _state(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


class StoredRows(IndexedRows, ABC):
    """Rows of files. Subclasses define the size of chunks, and read a range of rows.

    Attributes
    ----------
    files : FileStates
        States of the files, checked before and after every pass.
    piece : int
        Number of rows in a chunk of the format, which is read as a whole.
    """

    files: FileStates
    piece: int
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    @abstractmethod
    def _read(self, start: int, stop: int) -> Any:
        """Read rows from start to stop, in any type, byte order and layout."""

    def __repr__(self) -> str:
        n, d = self.shape
        return f"<{n} rows of {d} columns in {self.name}, read as {self.dtype}>"

    @property
    def key(self) -> tuple[Any, ...]:
        """Return a key that identifies these rows: the states of the files, and the selection."""
        states = sorted((str(path), *state) for path, state in self.files.states.items())
        return type(self).__name__, self.name, self.shape, self.dtype.str, states

    @property
    def name(self) -> str:
        """Return the name of the data in error messages."""
        return self.files.name

    def blocks(self, n_rows: int) -> Iterator[tuple[slice, Array]]:
        n, height = self.shape[0], self._height
        self.files.check()
        starts = range(0, n, height)
        pieces = (self._read_all(start, min(start + height, n)) for start in starts)
        yield from cut_to_blocks(pieces, n_rows)
        self.files.check()

    def take(self, index: Array) -> Array:
        index = np.asarray(index)
        self.files.check()
        wanted, place = np.unique(index, return_inverse=True)
        found = np.empty((len(wanted), self.shape[1]), dtype=self.dtype)
        for start, stop in self._ranges(wanted):
            some = slice(*np.searchsorted(wanted, [start, stop]))
            found[some] = self._read_all(start, stop)[wanted[some] - start]
        self.files.check()
        # Rows in ascending order, the usual case, are not copied again.
        ordered = len(wanted) == len(index) and bool((place.ravel() == np.arange(len(index))).all())
        return found if ordered else found[place.ravel()]

    @property
    def _height(self) -> int:
        """Number of rows that a pass reads at a time, a multiple of the chunk."""
        n_pieces = READ_BYTES // max(1, self.piece * self.shape[1] * self.dtype.itemsize)
        return self.piece * max(1, n_pieces)

    def _ranges(self, wanted: Array) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows that cover the chunks of the wanted rows."""
        pieces = np.unique(wanted // self.piece)
        most = max(1, self._height // self.piece)
        first = 0
        for last in range(1, len(pieces) + 1):
            ended = last == len(pieces) or pieces[last] != pieces[last - 1] + 1
            if ended or last - first == most:
                start = int(pieces[first]) * self.piece
                stop = min((int(pieces[last - 1]) + 1) * self.piece, self.shape[0])
                yield start, stop
                first = last

    def _read_all(self, start: int, stop: int) -> Array:
        try:
            read = self._read(start, stop)
        except DataChangedError:
            raise
        except Exception:
            self.files.check()  # as a changed file, such as a shorter one, may be the cause
            raise
        if read.shape != (stop - start, self.shape[1]):
            raise self.files.error(f"{self.name} holds fewer rows than before")
        return np.ascontiguousarray(read, dtype=self.dtype)
