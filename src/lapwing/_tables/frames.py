"""Data frames as columns of cells."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._arrays import is_sparse
from lapwing._host.modules import require
from lapwing._tables.cells import Cells, cells_of_values, numeric_cells
from lapwing._tables.parquet import cells_of_series

_USABLE = (str, Number, np.generic, Decimal, dt.date, dt.time, dt.timedelta)


def cells_of_frame(X: Any) -> dict[str, Cells]:
    """Take a data frame apart, or an array, whose columns are called x0, x1 and so on.

    Parameters
    ----------
    X : DataFrame of pandas or polars, or array-like of shape (n, p)

    Raises
    ------
    ValueError
        If it is no table, or two columns have one name.
    """
    library = type(X).__module__.partition(".")[0]
    if hasattr(X, "collect") and not hasattr(X, "to_numpy"):
        raise ValueError(
            f"X is a {type(X).__name__}, a query that has no values yet. Give X.collect()."
        )
    if library == "polars" and hasattr(X, "columns"):
        pl = require("polars", extra="cli", purpose="a polars DataFrame")
        return {name: cells_of_series(X[name], pl) for name in X.columns}
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        names = [str(name) for name in X.columns]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"X has two columns with the name {twice!r}. Rename one.")
        return {name: _cells_of_pandas(X.iloc[:, j]) for j, name in enumerate(names)}
    if is_sparse(X):
        raise ValueError("X is a sparse matrix, of numbers alone: it needs no TableEncoder.")
    try:
        array = np.asarray(X)
    except ValueError:
        raise ValueError("X holds rows of different lengths. Give all the same.") from None
    if array.ndim != 2:
        raise ValueError(
            f"X has {array.ndim} dimension{'s' * (array.ndim != 1)}, and a table has 2. One column "
            "of a data frame is given as X[['column']]."
        )
    return {f"x{j}": _cells_of_array(column) for j, column in enumerate(array.T)}


def side_by_side(columns: Mapping[str, NDArray[Any]], n: int, like: object = None) -> Any:
    """Make features of n rows of columns: a matrix of numbers, or a data frame if some are text.

    Numbers are float32 if all of them are. A frame is one of pandas if `like` is, else of polars.
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
    """Make a data frame of columns: one of pandas if `like` is, else of polars."""
    if hasattr(like, "iloc"):
        pd = require("pandas", extra="pandas", purpose="a pandas DataFrame")
        # As objects, which pandas leaves as they are.
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
        numbers = column.astype(np.float32 if column.dtype == np.float32 else np.float64)
        return numeric_cells(numbers)
    given = column.astype(object).tolist()
    other = next((v for v in given if v is not None and not isinstance(v, _USABLE)), None)
    if other is not None:
        nothing = np.full(len(given), np.nan)
        name = type(other).__name__
        return numeric_cells(nothing, name, usable=False)
    return cells_of_values([None if value != value else _plain(value) for value in given])


def _plain(value: object) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return float(value) if isinstance(value, (bool, Decimal)) else value
