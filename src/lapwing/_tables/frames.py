"""Data frames and Parquet files as columns of cells, and columns as data frames."""

from __future__ import annotations

import datetime as dt
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from numbers import Number
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._arrays import is_sparse
from lapwing._features import refuse_query, refuse_repeated
from lapwing._host.modules import require
from lapwing._rows.parquet import reading_parquet
from lapwing._tables.cells import Cells, as_text, cells_of_texts, cells_of_values, numeric_cells
from lapwing._tables.columns import RawTable, TextColumn
from lapwing._tables.roles import ColumnRoles, ReadOptions, Selection
from lapwing._tables.source import Source
from lapwing.classes.markers import is_missing, unmasked

_READABLE = (str, Number, np.generic, Decimal, dt.date, dt.time, dt.timedelta)


def read_frame(X: Any) -> RawTable:
    """Return the columns of a data frame, or of an array, named x0, x1 and so on.

    Parameters
    ----------
    X : DataFrame of pandas or polars, or array-like of shape (n, p)

    Raises
    ------
    ValueError
        If it is not a table, or two columns have the same name.
    """
    refuse_query(X)
    if type(X).__module__.partition(".")[0] == "polars" and hasattr(X, "columns"):
        pl = require("polars", extra="cli", purpose="a polars DataFrame")
        cells = {name: cells_of_series(X[name], pl) for name in X.columns}
    elif hasattr(X, "columns") and hasattr(X, "iloc"):
        names = [str(name) for name in X.columns]
        refuse_repeated(names)
        cells = {name: _cells_of_pandas(X.iloc[:, j]) for j, name in enumerate(names)}
    else:
        cells = {f"x{j}": _cells_of_array(x) for j, x in enumerate(_read_array(X).T)}
    n = next((column.numbers.size for column in cells.values()), 0)
    return RawTable(n, ColumnRoles(tuple(cells), tuple(cells)), cells, source="X")


def _read_array(X: Any) -> NDArray[Any]:
    if is_sparse(X):
        raise ValueError("X is a sparse matrix, of numbers alone: it needs no TableEncoder.")
    try:
        array = np.asarray(unmasked(X) if isinstance(X, np.ma.MaskedArray) else X)
    except ValueError:
        raise ValueError("X contains rows of different lengths.") from None
    if array.ndim != 2:
        raise ValueError(
            f"X has {array.ndim} dimension{'s' * (array.ndim != 1)}, and a table has 2. One column "
            "of a data frame is given as X[['column']]."
        )
    return array


def join_columns(columns: Mapping[str, NDArray[Any]], n: int, like: object = None) -> Any:
    """Join columns of n rows: a matrix of numbers, or a data frame if some are text.

    Numbers are float32 if all of them are. The frame is of pandas if `like` is, otherwise polars.
    """
    kinds = {column.dtype for column in columns.values()} - {np.dtype(object)}
    dtype = np.float32 if kinds == {np.dtype(np.float32)} else np.float64
    if not any(column.dtype == object for column in columns.values()):
        X = np.empty((n, len(columns)), dtype=dtype)
        for j, column in enumerate(columns.values()):
            X[:, j] = column
        return X
    same = {
        name: column if column.dtype == object else column.astype(dtype, copy=False)
        for name, column in columns.items()
    }
    return frame_of(same, like)


def frame_of(columns: Mapping[str, NDArray[Any]], like: object) -> Any:
    """Create a data frame of columns: of pandas if `like` is, otherwise of polars."""
    if hasattr(like, "iloc"):
        pd = require("pandas", extra="pandas", purpose="a pandas DataFrame")
        # As objects, which pandas does not convert.
        return pd.DataFrame(
            {name: pd.Series(column, dtype=column.dtype) for name, column in columns.items()}
        )
    pl = require("polars", extra="cli", purpose="a table with columns of text")
    return pl.DataFrame(
        {
            name: pl.Series(column.tolist(), dtype=pl.String) if column.dtype == object else column
            for name, column in columns.items()
        }
    )


def _cells_of_pandas(series: Any) -> Cells:
    if getattr(series.dtype, "tz", None) is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    kind = str(series.dtype)
    if series.dtype.kind in "iuf" and not kind.startswith("Sparse"):
        narrow = kind.lower() == "float32"
        numbers = series.to_numpy(dtype=np.float32 if narrow else np.float64, na_value=np.nan)
        return numeric_cells(numbers)
    return _cells_of_array(series.astype(object).where(series.notna(), None).to_numpy())


def _cells_of_array(column: NDArray[Any]) -> Cells:
    if column.dtype.kind in "iuf":
        narrow = column.dtype == np.float32
        return numeric_cells(column.astype(np.float32 if narrow else np.float64))
    timed = column.dtype.kind in "mM"  # nanoseconds would become whole numbers
    given = list(column) if timed else column.astype(object).tolist()
    given = [None if is_missing(value) else value for value in given]
    other = next((v for v in given if v is not None and not isinstance(v, _READABLE)), None)
    if other is not None:
        return numeric_cells(np.full(len(given), np.nan), type(other).__name__, usable=False)
    return cells_of_values(list(map(_plain, given)))


def _plain(value: object) -> Any:
    if isinstance(value, np.datetime64 | np.timedelta64):
        value = value.astype(f"{value.dtype.kind}8[us]")
    if isinstance(value, np.generic):
        value = value.item()
    return float(value) if isinstance(value, (bool, Decimal)) else value


def read_parquet(source: Source, selection: Selection) -> RawTable:
    """Read a Parquet file; see `lapwing._tables.tables.read_table`."""
    with source.open() as opened, reading_parquet(source, "cli") as pl, _suppress_polars_traces():
        path = source.path
        frame = pl.read_parquet(opened) if path is None else pl.scan_parquet(path, glob=False)
        frame = _part(frame.lazy(), selection).collect()
    roles = selection.find(frame.columns, str(source))
    frame.columns = list(roles.names)

    def texts(name: str) -> TextColumn:
        column = frame[name]
        numbers = None
        if column.dtype.is_numeric():
            numbers = cells_of_series(column, pl).numbers.astype(np.float64)
        named = name in (roles.label, roles.id)
        return TextColumn(_texts(column, str(source), pl, selection.whole and not named), numbers)

    return RawTable(
        frame.height,
        roles,
        {name: cells_of_series(frame[name], pl) for name in roles.features},
        {name: texts(name) for name in roles.texts},
        remarks=roles.remarks,
        first_row=0 if selection.rows is None else selection.rows[0],
    )


def _part(scan: Any, options: ReadOptions) -> Any:
    """Select the wanted columns and rows; missing columns are reported elsewhere."""
    if options.columns:
        known = scan.collect_schema().names()
        scan = scan.select([name for name in options.columns if name in known])
    return scan if options.rows is None else scan.slice(*options.rows)


@contextmanager
def _suppress_polars_traces() -> Iterator[None]:
    """Suppress the stack trace that the runtime of polars prints for a damaged file.

    It is written to the file descriptor of standard error by other threads, bypassing
    `sys.stderr`; the exception has the reason as well.
    """
    try:
        sys.stderr.flush()
        kept = os.dup(2)
    except (OSError, ValueError, AttributeError):  # closed or missing
        yield
        return
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def cells_of_series(column: Any, pl: ModuleType) -> Cells:
    """Convert a column of polars to cells."""
    kind = column.dtype
    if kind.is_numeric() or kind in (pl.Boolean, pl.Null):
        narrow = kind == pl.Float32
        numbers = column.cast(pl.Float32 if narrow else pl.Float64).to_numpy()
        return numeric_cells(numbers)
    if kind.is_nested() or kind in (pl.Binary, pl.Object):
        return numeric_cells(np.full(len(column), np.nan), str(kind), usable=False)
    if kind == pl.Duration:
        an_hour = 3600.0 * {"ms": 1e3, "us": 1e6, "ns": 1e9}[kind.time_unit]
        hours = (column.cast(pl.Int64).to_numpy() / an_hour).astype(np.float64)
        return numeric_cells(hours, str(kind))
    if kind == pl.Datetime and kind.time_zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    cells = cells_of_texts(column.cast(pl.String).to_list())
    return replace(cells, type_name=str(kind)) if kind.is_temporal() else cells


def _texts(column: Any, where: str, pl: ModuleType, any_type: bool = False) -> NDArray[Any]:
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        if any_type:
            return as_text(["" if value is None else str(value) for value in column.to_list()])
        raise ValueError(
            f"{where}: column {column.name!r} holds {column.dtype}, which is not a label or id."
        )
    return as_text(column.cast(pl.String).fill_null("").str.strip_chars().to_list())
