"""Points stored in every format of X, and rows that count reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lapwing._rows.base import Rows


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Rows of an array; blocks are views of it.

    Attributes
    ----------
    values : ndarray of shape (n, d)
        float32 or float64.
    """

    values: Any

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.values.shape
        return n, d

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    def blocks(self, n_rows: int) -> Iterator[tuple[slice, Any]]:
        for start in range(0, len(self.values), n_rows):
            rows = slice(start, min(start + n_rows, len(self.values)))
            yield rows, self.values[rows]

    def take(self, index: Any) -> Any:
        return self.values[index]


def _npy(X: Any, folder: Path) -> Any:
    np.save(folder / "X.npy", X)
    return folder / "X.npy"


def _memmap(X: Any, folder: Path, *, order: Any = "C", swapped: bool = False) -> Any:
    dtype = X.dtype.newbyteorder() if swapped else X.dtype
    (folder / "X.bin").write_bytes(X.astype(dtype).tobytes(order))
    return np.memmap(folder / "X.bin", dtype=dtype, mode="r", shape=X.shape, order=order)


def _view(X: Any, folder: Path) -> Any:
    """Every second row and all but the first column of a larger mapping that begins later."""
    n, d = X.shape
    large = np.full((2 * n + 3, d + 2), np.nan, dtype=X.dtype)
    large[3::2, 1:-1] = X
    with (folder / "X.bin").open("wb") as file:
        file.write(b"header!!")
        large.tofile(file)
    whole = np.memmap(folder / "X.bin", dtype=X.dtype, mode="r+", shape=large.shape, offset=8)
    return whole[3::2, 1:-1]


def make_zarr(X: Any, folder: Path) -> Path:
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(
        str(folder / "X.zarr"), shape=X.shape, dtype=X.dtype, chunks=(7, *X.shape[1:])
    )
    array[:] = X
    return folder / "X.zarr"


def _zarr_array(X: Any, folder: Path) -> Any:
    return pytest.importorskip("zarr").open_array(str(make_zarr(X, folder)), mode="r")


def make_parquet(X: Any, folder: Path, n_files: int = 3) -> Path:
    pl = pytest.importorskip("polars")
    parts = folder / "parts"
    parts.mkdir()
    names = [f"x{j}" for j in range(X.shape[1])]
    for number, some in enumerate(np.array_split(np.arange(len(X)), n_files)):
        pl.DataFrame(X[some], schema=names).write_parquet(parts / f"{number}.parquet")
    return parts


# Values and an empty folder -> X in each accepted format.
SOURCES: dict[str, Callable[[Any, Path], Any]] = {
    "rows": lambda X, folder: ArrayRows(X),
    "npy": _npy,
    "memmap": _memmap,
    "memmap, Fortran order": partial(_memmap, order="F"),
    "memmap, other byte order": partial(_memmap, swapped=True),
    "memmap, a view": _view,
    "zarr": make_zarr,
    "zarr, opened": _zarr_array,
    "parquet": make_parquet,
    "parquet, pattern": lambda X, folder: str(make_parquet(X, folder) / "*.parquet"),
}


@dataclass(eq=False)
class CountedRows:
    """Rows of an array that count reads.

    Attributes
    ----------
    passes : int
        That were begun.
    largest : int
        Rows of the largest block or of the most that were taken at once.
    taken : int
        Rows that were taken by their numbers.
    """

    rows: Rows
    passes: int = 0
    largest: int = 0
    taken: int = 0
    heights: list[int] = field(default_factory=list)

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.shape

    @property
    def dtype(self) -> Any:
        return self.rows.dtype

    def blocks(self, n_rows: int) -> Iterator[tuple[slice, Any]]:
        self.passes += 1
        self.heights.append(n_rows)
        for rows, block in self.rows.blocks(n_rows):
            self.largest = max(self.largest, len(block))
            yield rows, block

    def take(self, index: Any) -> Any:
        self.taken += len(index)
        self.largest = max(self.largest, len(index))
        return self.rows.take(index)
