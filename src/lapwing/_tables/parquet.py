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
from lapwing._tables.options import ReadOptions
from lapwing._tables.source import Source


def read_parquet(source: Source, selection: Selection) -> RawColumns:
    """Read a Parquet file; see `lapwing._tables.tables.read_table`."""
    pl = require("polars", extra="cli", purpose=f"reading {source}")
    frame = _load(source, pl, selection.options)
    return columns_of_frame(frame, frame.columns, selection, str(source), pl)


def _load(source: Source, pl: Any, options: ReadOptions) -> Any:
    try:
        if source.path is not None and (options.rows or options.columns):
            with _no_panic_report():
                return _part(pl.scan_parquet(source.path, glob=False), options).collect()
        with _no_panic_report(), source.open() as opened:
            return pl.read_parquet(
                source.path or opened, **({"glob": False} if source.path else {})
            )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise ValueError(f"{source} is not a readable Parquet file: {error}") from None


def _part(scan: Any, options: ReadOptions) -> Any:
    """What is asked for of a file that is not read whole; missing columns are told elsewhere."""
    if options.columns:
        known = scan.collect_schema().names()
        scan = scan.select([name for name in options.columns if name in known])
    return scan if options.rows is None else scan.slice(*options.rows)


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
