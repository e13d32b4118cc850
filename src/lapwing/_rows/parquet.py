"""Rows of Parquet files, whose columns are the features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing._host.modules import require
from lapwing._rows.stored import FileStates, StoredRows
from lapwing._words import listed, quoted

# polars decodes whole row groups, and writes them with 2^18 rows at most.
_PIECE = 2**18
_PIECE_BYTES = 2**27


class ParquetRows(StoredRows):
    """Columns of Parquet files of equal schema.

    Parameters
    ----------
    paths : sequence of Path
        Files, whose rows are joined in this order.
    columns : sequence of str, optional
        Feature columns, in this order; all by default.
    named : bool, default=True
        Whether features have the names of the columns.
    """

    def __init__(
        self, paths: Sequence[Path], columns: Sequence[str] | None = None, *, named: bool = True
    ) -> None:
        self.named = named
        name = listed([str(path) for path in paths], 1)
        pl = require("polars", extra="disk", purpose=f"reading {name}")
        self.files = FileStates.of(name, paths)
        self.paths = list(paths)
        schemas = [schema_of(path) for path in self.paths]
        if isinstance(columns, str):
            raise ValueError(f"columns={columns!r} must be a list of names: [{columns!r}].")
        self.columns = list(schemas[0] if columns is None else columns)
        if len(set(self.columns)) < len(self.columns):
            raise ValueError(f"columns={self.columns!r} repeats a name. Name each column once.")
        for path, schema in zip(self.paths, schemas, strict=True):
            self._check_columns(path, schema, pl)
            if columns is None:
                self._check_same_columns(path, schema)
        single = all(schema[column] == pl.Float32 for schema in schemas for column in self.columns)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        heights = [height_of(path) for path in self.paths]
        self.starts = [0, *accumulate(heights)]
        self.shape = (self.starts[-1], len(self.columns))
        if 0 in self.shape:
            raise ValueError(
                f"{name} has {self.shape[0]} rows and {self.shape[1]} columns. X needs at least "
                "one of each."
            )
        self.piece = max(1, min(_PIECE, _PIECE_BYTES // (self.shape[1] * self.dtype.itemsize)))

    @property
    def key(self) -> tuple[Any, ...]:
        return *super().key, [str(path) for path in self.paths], self.columns

    def _check_columns(self, path: Path, schema: Mapping[str, Any], pl: ModuleType) -> None:
        missing = [column for column in self.columns if column not in schema]
        if missing:
            raise ValueError(
                f"{path} has no column {missing[0]!r}, and all files of X need it. Its columns are "
                f"{quoted(list(schema), 10)}."
            )
        for column in self.columns:
            if not (schema[column].is_numeric() or schema[column].is_(pl.Boolean)):
                raise ValueError(
                    f"Column {column!r} of {path} has the type {schema[column]}, but points must "
                    "be numbers. Choose numeric columns by open_rows(path, columns=[...])."
                )

    def _read(self, start: int, stop: int) -> Array:
        values = np.empty((stop - start, len(self.columns)), dtype=self.dtype)
        for path, first, last in zip(self.paths, self.starts, self.starts[1:], strict=False):
            low, high = max(start, first), min(stop, last)
            if low >= high:
                continue
            with reading_parquet(path) as pl:
                scan = pl.scan_parquet(path, glob=False).select(self.columns)
                frame = scan.slice(low - first, high - low).collect()
            for j, column in enumerate(self.columns):  # nulls become NaN
                values[low - start : high - start, j] = frame[column].to_numpy()
        return values

    def _check_same_columns(self, path: Path, schema: Mapping[str, Any]) -> None:
        more = [column for column in schema if column not in self.columns]
        if more:
            raise ValueError(
                f"{path} has a column {more[0]!r}, which {self.paths[0]} does not have. All files "
                "of X need the same columns. Choose common ones by open_rows(path, columns=[...])."
            )


def height_of(path: Path) -> int:
    """Return the number of rows of a Parquet file.

    Raises
    ------
    ValueError
        If it is not a Parquet file.
    """
    with reading_parquet(path) as pl:
        return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())


@contextmanager
def reading_parquet(name: object, extra: str = "disk") -> Iterator[ModuleType]:
    """Import polars, and convert its errors in the block to those of an unreadable file.

    Raises
    ------
    ValueError
        If the file cannot be read.
    ImportError
        If polars is not installed; the message has the extra of lapwing.
    """
    pl = require("polars", extra=extra, purpose=f"reading {name}")
    try:
        yield pl
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"{name} is not a readable Parquet file: {reason}. Write it again."
        ) from None


def schema_of(path: Path) -> Any:
    """Return the types of the columns of a Parquet file by name.

    Raises
    ------
    ValueError
        If it is not a Parquet file.
    """
    with reading_parquet(path) as pl:
        return pl.scan_parquet(path, glob=False).collect_schema()
