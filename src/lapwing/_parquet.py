"""Reader of Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._columns import RawTable, Selection, TextCells, as_text, reject_text
from lapwing._optional import require

__all__ = ["read_parquet"]


def read_parquet(file: Path, selection: Selection) -> RawTable:
    """Read a Parquet file; see `lapwing.tables.read_table`."""
    pl = require("polars", extra="cli", purpose=f"reading {file}")
    try:
        frame = pl.read_parquet(file, glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise ValueError(f"{file} is not a readable Parquet file: {error}") from None
    roles = selection.resolve(frame.columns, str(file))
    features = [frame.columns[j] for j in roles.features]
    texts = {
        name: TextCells(frame.height, 1, str(frame[name][0]))
        for name in features
        if frame.height and not _is_numeric(frame.schema[name], pl)
    }
    reject_text(texts, frame.height, str(file))
    narrow = bool(features) and all(frame.schema[name] == pl.Float32 for name in features)
    # Filled column by column: the frame's own conversion would hold a second copy beside it.
    X = np.empty((frame.height, len(features)), dtype=np.float32 if narrow else np.float64)
    for j, name in enumerate(features):
        X[:, j] = frame[name].cast(pl.Float32 if narrow else pl.Float64).to_numpy()
    return RawTable(
        X,
        tuple(features),
        _column_text(frame[selection.label], pl),
        None if selection.id is None else _column_text(frame[selection.id], pl),
    )


def _is_numeric(dtype: Any, pl: Any) -> bool:
    return bool(dtype.is_numeric()) or dtype in (pl.Boolean, pl.Null)


def _column_text(column: Any, pl: Any) -> NDArray[Any]:
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        raise ValueError(f"column {column.name!r} holds {column.dtype}, which is no label or id.")
    return as_text(column.cast(pl.String).fill_null("").str.strip_chars().to_list())
