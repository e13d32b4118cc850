"""Predictions that are written batch by batch, with one batch in memory."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from lapwing._host.files import atomic_write
from lapwing._host.optional import require
from lapwing._tables.dialect import USUAL
from lapwing._tables.predictions import Predictions, check_output, csv_lines, write_predictions

BATCH_FORMATS = (".csv", ".parquet")


@contextmanager
def written_in_batches(
    path: str | os.PathLike[str] | None, *, all_probabilities: bool = False
) -> Iterator[Callable[[Predictions], None]]:
    """Give a function that takes the batches in order; the file is whole or not there.

    Parameters
    ----------
    path : path-like or None
        A .csv or .parquet file; None means standard output, as CSV.
    all_probabilities : bool, default=False
        Whether each class has a column with its probability.

    Yields
    ------
    callable
        Predictions -> None.
    """
    if path is None:
        yield _csv_writer(sys.stdout, all_probabilities, shown=sys.stdout.isatty())
        return
    check_output(path)
    with atomic_write(path) as temporary:
        if Path(path).suffix.lower() == ".csv":
            with temporary.open("w", encoding=USUAL.encoding, newline="") as file:
                yield _csv_writer(file, all_probabilities)
            return
        with tempfile.TemporaryDirectory(dir=temporary.parent, prefix=".predictions") as folder:
            parts: list[Path] = []

            def write(batch: Predictions) -> None:
                parts.append(Path(folder) / f"{len(parts)}.parquet")
                write_predictions(batch, parts[-1], all_probabilities=all_probabilities)

            yield write
            # Joined as a stream: polars never holds them together.
            pl = require("polars", extra="cli", purpose=f"writing {path}")
            pl.scan_parquet(parts).sink_parquet(temporary)


def _csv_writer(
    file: TextIO, all_probabilities: bool, *, shown: bool = False
) -> Callable[[Predictions], None]:
    begun = False

    def write(batch: Predictions) -> None:
        nonlocal begun
        lines = csv_lines(batch.columns(all_probabilities=all_probabilities), USUAL, shown=shown)
        file.writelines(lines[1:] if begun else lines)
        begun = True

    return write
