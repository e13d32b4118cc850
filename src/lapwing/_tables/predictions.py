"""Predictions for the rows of a table, and output files."""

from __future__ import annotations

import errno
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from operator import ne
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from lapwing._host.files import atomic_write
from lapwing._host.modules import require
from lapwing._host.terminal import harmless
from lapwing._host.warn import warn
from lapwing._tables.cells import EXACT, kind_of_unit, read_amount
from lapwing._tables.columns import USUAL, Dialect

_SHEET_ROWS, _SHEET_COLUMNS = 2**20, 2**14  # of Excel
_PAGE = 4096  # bytes; a full disk may have less free space

BATCH_FORMATS = (".csv", ".parquet")
SHEET_FORMATS = (".csv", ".xlsx", ".parquet")  # of files that are filled in and read again


@dataclass(frozen=True)
class Predictions:
    """Predictions of a model for n rows.

    Attributes
    ----------
    ids : ndarray of shape (n,)
        Ids or row numbers.
    label : ndarray of shape (n,)
        Predicted classes, or numbers for regression.
    was_labeled : ndarray of bool of shape (n,)
        Mask of the labelled rows of the fit.
    classes : ndarray of shape (c,) or None
        Classes in the order of the columns of `scores`; None for regression.
    scores : ndarray of shape (n, c) or None
        Decision values, one column per class; those of two classes are negatives of each other.
    probabilities : ndarray of shape (n, c) or None
        Class probabilities; rows sum to 1.
    sure : ndarray of bool of shape (n,) or None
        Mask of the confident rows.
    beside : mapping of str to ndarray of shape (n,)
        Columns of the table, to be written after the predictions.
    interval : ndarray of shape (n, 2) or None
        For regression, prediction intervals of coverage 0.9.
    """

    ids: NDArray[Any]
    label: NDArray[Any]
    was_labeled: NDArray[np.bool_]
    classes: NDArray[Any] | None = None
    scores: NDArray[Any] | None = None
    probabilities: NDArray[Any] | None = None
    sure: NDArray[np.bool_] | None = None
    beside: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    interval: NDArray[Any] | None = None

    @property
    def margin(self) -> NDArray[Any] | None:
        """Difference of the best and the second-best score, shape (n,); 0 for ties."""
        if self.scores is None:
            return None
        second, best = np.partition(self.scores, -2, axis=1)[:, -2:].T
        margin: NDArray[Any] = best - second
        return margin

    @property
    def probability(self) -> NDArray[Any] | None:
        """Probabilities of the predicted classes, shape (n,)."""
        if self.probabilities is None or self.scores is None:
            return None
        # That of the predicted class: by rounding another one may be the largest.
        given = np.argmax(self.scores, axis=1)
        chances: NDArray[Any] = self.probabilities[np.arange(given.size), given]
        return chances

    def columns(self, *, all_probabilities: bool = False) -> dict[str, NDArray[Any]]:
        """Return the columns of the file by name.

        They are id, label, probability, sure, a score per class, margin and was_labeled; for
        regression id, label, low and high (an interval of coverage 0.9) and was_labeled. Columns of
        the table follow; "(table)" is appended to the names of duplicates.

        Parameters
        ----------
        all_probabilities : bool, default=False
            Whether to add a column with the probability of each class.
        """
        table: dict[str, NDArray[Any]] = {"id": self.ids, "label": self.label}
        if self.probability is not None and self.sure is not None:
            table |= {"probability": self.probability, "sure": self.sure}
        if all_probabilities and self.classes is not None and self.probabilities is not None:
            for name, column in zip(self.classes, self.probabilities.T, strict=True):
                table[f"probability_{name}"] = column
        if self.classes is not None and self.scores is not None and self.margin is not None:
            for name, column in zip(self.classes, self.scores.T, strict=True):
                table[f"score_{name}"] = column
            table["margin"] = self.margin
        if self.interval is not None:
            table["low"], table["high"] = self.interval.T
        table["was_labeled"] = self.was_labeled
        for name, column in self.beside.items():
            # "label (table)" may be a column of the table itself.
            new = f"{name} (table)" if name in table else name
            while new in table or (new != name and new in self.beside):
                new = f"{new} (table)"
            table[new] = column
        return table


def require_writer(path: str | os.PathLike[str]) -> None:
    """Check that the library for Parquet or Excel files is installed.

    Raises
    ------
    ImportError
        If it is not installed.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".parquet":
        require("polars", extra="cli", purpose=f"writing {path}")
    if suffix == ".xlsx":
        require("xlsxwriter", extra="excel", purpose=f"writing {path}")


def write_columns(
    columns: dict[str, NDArray[Any]],
    suffix: str,
    path: Path,
    dialect: Dialect = USUAL,
    what: str = "the predictions",
) -> None:
    """Write columns of equal length to a CSV, Excel, Parquet or NPZ file.

    Numbers are written in full precision, except for Excel, which keeps 15 digits; Booleans as
    ``true``/``false``. An empty text is an empty cell.

    Parameters
    ----------
    columns : dict of str to ndarray
        Columns by name.
    suffix : str
        Extension, which determines the format.
    path : Path
        The file, often a temporary one of another name.
    dialect : Dialect, default=Dialect()
        Notation of a CSV file.
    what : str, default='the predictions'
        Contents of the file, for messages and the name of the sheet.

    Raises
    ------
    ValueError
        If there are too many rows or too long texts for Excel.
    ImportError
        As for `require_writer`.
    OSError
        If writing fails.
    """
    _WRITERS[suffix.lower()](columns, path, dialect, what)


def print_columns(
    columns: dict[str, NDArray[Any]], stream: TextIO, dialect: Dialect = USUAL
) -> None:
    """Write columns as CSV to an open text stream, without control characters on a terminal.

    The encoding is that of the stream.
    """
    stream.writelines(_csv_lines(columns, dialect, shown=stream.isatty()))


def _write_csv(columns: dict[str, NDArray[Any]], path: Path, dialect: Dialect, what: str) -> None:
    text = "".join(_csv_lines(columns, dialect, what))
    try:
        content = text.encode(dialect.encoding)
    except UnicodeEncodeError:  # rows of another file, or a label, have other characters
        content = text.encode("utf-8-sig")
    path.write_bytes(content)


def _csv_lines(
    columns: dict[str, NDArray[Any]],
    dialect: Dialect,
    what: str = "the predictions",
    *,
    shown: bool = False,
) -> list[str]:
    """Return the lines of a CSV file that spreadsheets open safely; `shown` is for a terminal."""
    cells, changed = [], 0
    for name, column in columns.items():
        plain = [name, *_texts(column, dialect.decimal)]
        safe = list(map(_defused, plain))
        changed += sum(map(ne, plain, safe))
        cells.append([_quoted(text, dialect.separator, shown=shown) for text in safe])
    if changed:
        many = "1 cell begins" if changed == 1 else f"{changed} cells begin"
        warn(
            f"In {what} {many} like a formula (=, +, - or @). A ' is written in front, so that no "
            "spreadsheet runs it. Predictions in a .parquet file have everything as it is."
        )
    return [dialect.separator.join(row) + "\n" for row in zip(*cells, strict=True)]


def _texts(column: NDArray[Any], decimal: str) -> list[str]:
    if column.dtype == bool:
        return ["true" if value else "false" for value in column]
    if column.dtype.kind in "iuf":
        return [repr(value).replace(".", decimal) for value in column.tolist()]
    return list(map(str, column.tolist()))


def _defused(text: str) -> str:
    """Prepend a ' to a text that spreadsheets would run as a formula."""
    if len(text) < 2 or text[0] not in "=+-@\t\r" or _is_number(text):
        return text
    return f"'{text}"


def _is_number(text: str) -> bool:
    """Return whether a spreadsheet would read a text as a number, in any notation: -12,5 %."""
    try:
        float(text)
    except ValueError:
        amounts = [read_amount(text, decimal) for decimal in ".,"]
        kinds = [kind_of_unit(one.unit) if one.unit else "share" for one in amounts if one]
        return any(kind in ("currency", "share") for kind in kinds)
    return True


def _quoted(text: str, separator: str, *, shown: bool) -> str:
    # Not csv.writer: before Python 3.13 it does not quote a single carriage return, which ends the
    # row for readers.
    text = harmless(text) if shown else text
    if any(c in text for c in (separator, '"', "\r", "\n")) or text != text.strip():
        doubled = text.replace('"', '""')
        return f'"{doubled}"'
    return text


def _write_parquet(
    columns: dict[str, NDArray[Any]], path: Path, dialect: Dialect, what: str
) -> None:
    pl = require("polars", extra="cli", purpose="writing Parquet files")
    frame = {n: _series(c, pl) if c.dtype == object else c for n, c in columns.items()}
    try:
        pl.DataFrame(frame, nan_to_null=True).write_parquet(path)
    except pl.exceptions.PolarsError as error:
        # polars reports a full disk as an invalid file.
        if shutil.disk_usage(path.parent).free < _PAGE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        raise OSError(f"the Parquet file could not be written: {error}") from None


def _series(column: NDArray[Any], pl: ModuleType) -> Any:
    """Create a typed series from a column of objects, which polars would store as such."""
    values = [None if value == "" else value for value in column.tolist()]
    kinds = {type(value) for value in values if value is not None}
    if kinds and kinds <= {int, float}:
        return pl.Series(values, dtype=pl.Float64 if float in kinds else pl.Int64)
    return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)


def _write_npz(columns: dict[str, NDArray[Any]], path: Path, dialect: Dialect, what: str) -> None:
    # Texts without pickle, so that reading them executes no code.
    arrays: dict[str, Any] = {
        name: column.astype(str) if column.dtype == object else column
        for name, column in columns.items()
    }
    with path.open("wb") as file:  # with a name NumPy would append .npz
        np.savez_compressed(file, **arrays)


def _write_xlsx(columns: dict[str, NDArray[Any]], path: Path, dialect: Dialect, what: str) -> None:
    xlsxwriter = require("xlsxwriter", extra="excel", purpose="writing Excel files")
    n_rows = next(iter(columns.values())).size
    for size, most, unit in (
        (n_rows, _SHEET_ROWS - 1, "rows below the names"),
        (len(columns), _SHEET_COLUMNS, "columns"),
    ):
        if size > most:
            raise ValueError(
                f"a sheet of Excel holds {most} {unit}, and there are {size} in {what}. Write a "
                ".csv or .parquet file."
            )
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    # Rows are written one by one, and texts are never formulas or links.
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    try:
        with xlsxwriter.Workbook(path, options) as book:
            sheet = book.add_worksheet(what.removeprefix("the "))
            for i, cells in enumerate(chain([columns], rows)):
                for j, value in enumerate(cells):
                    exact = isinstance(value, str) or abs(value) < EXACT
                    missing = isinstance(value, float) and math.isnan(value)
                    if sheet.write(i, j, value if exact else "" if missing else str(value)):
                        raise ValueError(
                            f"row {i} has a text of {len(str(value))} characters, and a cell "
                            "of Excel holds 32767. Write a .csv or .parquet file."
                        )
    except xlsxwriter.exceptions.FileCreateError as error:
        raise error.args[0] from None


_WRITERS = {
    ".csv": _write_csv,
    ".xlsx": _write_xlsx,
    ".parquet": _write_parquet,
    ".npz": _write_npz,
}
PREDICTION_FORMATS = tuple(_WRITERS)


@contextmanager
def written_in_batches(
    path: str | os.PathLike[str] | None,
) -> Iterator[Callable[[dict[str, NDArray[Any]]], None]]:
    """Context manager to write batches of columns in order and atomically.

    Parameters
    ----------
    path : path-like or None
        A .csv or .parquet file; None means standard output, as CSV.

    Yields
    ------
    callable
        Columns by name -> None; writes a batch.
    """
    if path is None:
        yield _csv_writer(sys.stdout)
        return
    with atomic_write(path) as temporary:
        if Path(path).suffix.lower() == ".csv":
            with temporary.open("w", encoding=USUAL.encoding, newline="") as file:
                yield _csv_writer(file)
            return
        with tempfile.TemporaryDirectory(dir=temporary.parent, prefix=".predictions") as folder:
            parts: list[Path] = []

            def write(columns: dict[str, NDArray[Any]]) -> None:
                parts.append(Path(folder) / f"{len(parts)}.parquet")
                write_columns(columns, ".parquet", parts[-1])

            yield write
            # Concatenated as a stream, so that polars does not hold all of them in memory.
            pl = require("polars", extra="cli", purpose=f"writing {path}")
            # Relaxed, as a column of the table may have only whole numbers in one batch.
            scans = [pl.scan_parquet(part, glob=False) for part in parts]
            pl.concat(scans, how="vertical_relaxed").sink_parquet(temporary)


def _csv_writer(file: TextIO) -> Callable[[dict[str, NDArray[Any]]], None]:
    begun = False

    def write(columns: dict[str, NDArray[Any]]) -> None:
        nonlocal begun
        lines = _csv_lines(columns, USUAL, shown=file.isatty())
        file.writelines(lines[1:] if begun else lines)
        begun = True

    return write
