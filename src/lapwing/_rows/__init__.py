"""Points larger than memory, read in blocks of rows."""

from lapwing._rows.base import (
    IndexedRows,
    Moments,
    PickedRows,
    PointData,
    PointsLike,
    Rows,
    ScaledRows,
    all_of,
    block_height,
    blocks_of,
    is_rows,
    key_of,
    moments_of,
    rows_of,
)
from lapwing._rows.parquet import ParquetRows
from lapwing._rows.registry import as_rows, header_of, is_source, open_rows, rows_or_array

__all__ = [
    "IndexedRows",
    "Moments",
    "ParquetRows",
    "PickedRows",
    "PointData",
    "PointsLike",
    "Rows",
    "ScaledRows",
    "all_of",
    "as_rows",
    "block_height",
    "blocks_of",
    "header_of",
    "is_rows",
    "is_source",
    "key_of",
    "moments_of",
    "open_rows",
    "rows_of",
    "rows_or_array",
]
