"""Reader of Parquet files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lapwing._host.optional import require
from lapwing._tables.columns import RawColumns, Selection
from lapwing._tables.frames import columns_of_frame
from lapwing._tables.source import Source

__all__ = ["read_parquet"]


def read_parquet(source: Source, selection: Selection) -> RawColumns:
    """Read a Parquet file; see `lapwing._tables.tables.read_table`."""
    pl = require("polars", extra="cli", purpose=f"reading {source}")
    frame = _load(source, pl, selection.options.rows)
    return columns_of_frame(frame, frame.columns, selection, str(source), pl)


def _load(source: Source, pl: Any, rows: tuple[int, int] | None) -> Any:
    try:
        if rows is not None and source.path is not None:
            with _no_panic_report():
                return pl.scan_parquet(source.path, glob=False).slice(*rows).collect()
        with _no_panic_report(), source.open() as opened:
            return pl.read_parquet(
                source.path or opened, **({"glob": False} if source.path else {})
            )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise ValueError(f"{source} is not a readable Parquet file: {error}") from None


@contextmanager
def _no_panic_report() -> Iterator[None]:
    """Keep what polars' own runtime says of a damaged file, a page of stack, off standard error.

    It is written to the file descriptor from threads of its own, past Python's `sys.stderr`; what
    went wrong is in the exception too.
    """
    try:
        sys.stderr.flush()
        kept = os.dup(2)
    except (OSError, ValueError, AttributeError):  # closed, or none: nothing to keep clean
        yield
        return
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
