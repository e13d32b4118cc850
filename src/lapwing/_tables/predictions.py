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
from lapwing._tables.options import USUAL, Dialect
from lapwing.exceptions import LapwingWarning

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


def write_predictions(
    predictions: Predictions,
    path: str | os.PathLike[str],
    *,
    dialect: Dialect = USUAL,
    all_probabilities: bool = False,
) -> None:
    """Write predictions to a CSV, Excel, Parquet or NPZ file atomically.

    Numbers are written in full precision, except for Excel, which keeps 15 digits; Booleans as
    ``true``/``false``.

    Parameters
    ----------
    predictions : Predictions
        The rows.
    path : path-like
        The file; its extension determines the format.
    dialect : Dialect, default=Dialect()
        Notation of a CSV file.
    all_probabilities : bool, default=False
        Whether to add a column with the probability of each class.

    Raises
    ------
    ValueError
        If there are too many rows or too long texts for Excel.
    ImportError
        As for `require_writer`.
    OSError
        If writing fails; an existing file is left unchanged.
    """
    columns = predictions.columns(all_probabilities=all_probabilities)
    with atomic_write(path) as temporary:
        write_columns(columns, path, temporary, dialect)


def write_columns(
    columns: dict[str, NDArray[Any]],
    path: str | os.PathLike[str],
    temporary: Path,
    dialect: Dialect = USUAL,
    what: str = "the predictions",
) -> None:
    """Write columns of equal length in the format of an extension.

    Parameters
    ----------
    columns : dict of str to ndarray
        Columns by name. An empty text is an empty cell.
    path : path-like
        The file; its extension determines the format.
    temporary : Path
        Path to write to instead, as the caller renames the file.
    dialect : Dialect, default=Dialect()
        Notation of a CSV file.
    what : str, default='the predictions'
        Contents of the file, for messages and the name of the sheet.
    """
    _WRITERS[Path(path).suffix.lower()](columns, temporary, dialect, what)


def print_predictions(
    predictions: Predictions,
    stream: TextIO,
    *,
    dialect: Dialect = USUAL,
    all_probabilities: bool = False,
) -> None:
    """Write predictions as CSV to an open text stream, without control characters on a terminal.

    The encoding is that of the stream.
    """
    columns = predictions.columns(all_probabilities=all_probabilities)
    stream.writelines(csv_lines(columns, dialect, shown=stream.isatty()))


def write_csv(
    columns: dict[str, NDArray[Any]],
    path: Path,
    dialect: Dialect = USUAL,
    what: str = "the predictions",
) -> None:
    """Write columns of equal length to a CSV file that is safe to open in spreadsheets.

    Parameters
    ----------
    columns : dict of str to ndarray
        Columns by name.
    path : Path
        The file.
    dialect : Dialect, default=Dialect()
        Notation of the file.
    what : str, default='the predictions'
        Contents of the file, for a warning.
    """
    lines = csv_lines(columns, dialect, what)
    try:
        _write_lines(lines, path, dialect.encoding)
    except UnicodeEncodeError:  # rows of another file, or a label, have other characters
        _write_lines(lines, path, "utf-8-sig")


def _write_lines(lines: list[str], path: Path, encoding: str) -> None:
    with path.open("w", encoding=encoding, newline="") as file:
        file.writelines(lines)


def csv_lines(
    columns: dict[str, NDArray[Any]],
    dialect: Dialect,
    what: str = "the predictions",
    *,
    shown: bool = False,
) -> list[str]:
    """Return the lines of a CSV file, with names first; `shown` is for a terminal."""
    names = [_defused(name) for name in columns]
    texts, changed = [], sum(a != b for a, b in zip(columns, names, strict=True))
    for column in columns.values():
        if column.dtype == bool:
            texts.append(["true" if value else "false" for value in column])
            continue
        if column.dtype.kind in "iuf":
            plain = cells = [repr(v).replace(".", dialect.decimal) for v in column.tolist()]
        else:
            plain = [str(value) for value in column.tolist()]
            cells = [_defused(text) for text in plain]
        changed += sum(a != b for a, b in zip(plain, cells, strict=True))
        texts.append([_quoted(text, dialect.separator, shown=shown) for text in cells])
    head = [_quoted(name, dialect.separator, shown=shown) for name in names]
    lines = [dialect.separator.join(row) + "\n" for row in (head, *zip(*texts, strict=True))]
    if changed:
        many = "1 cell begins" if changed == 1 else f"{changed} cells begin"
        warn(
            f"In {what} {many} like a formula (=, +, - or @). A ' is written in front, so that no "
            "spreadsheet runs it. Predictions in a .parquet file have everything as it is.",
            LapwingWarning,
        )
    return lines


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
    try:
        # Rows are written one by one.
        with xlsxwriter.Workbook(path, {"constant_memory": True}) as book:
            sheet = book.add_worksheet(what.removeprefix("the "))
            for i, cells in enumerate(chain([columns], rows)):
                for j, value in enumerate(cells):
                    if isinstance(value, bool):
                        sheet.write_boolean(i, j, value)
                    elif isinstance(value, int | float) and abs(value) < EXACT:
                        sheet.write_number(i, j, value)
                    elif value == "" or (isinstance(value, float) and math.isnan(value)):
                        continue
                    # Written as text, which Excel does not run as a formula.
                    elif sheet.write_string(i, j, str(value)):
                        raise ValueError(
                            f"row {i} has a text of {len(str(value))} characters, and a cell "
                            "of Excel holds 32767. Write a .csv or .parquet file."
                        )
    except xlsxwriter.exceptions.FileCreateError as error:
        raise error.args[0] from None


_WRITERS = {
    ".csv": write_csv,
    ".xlsx": _write_xlsx,
    ".parquet": _write_parquet,
    ".npz": _write_npz,
}
PREDICTION_FORMATS = tuple(_WRITERS)


@contextmanager
def written_in_batches(
    path: str | os.PathLike[str] | None, *, all_probabilities: bool = False
) -> Iterator[Callable[[Predictions], None]]:
    """Context manager to write batches of predictions in order and atomically.

    Parameters
    ----------
    path : path-like or None
        A .csv or .parquet file; None means standard output, as CSV.
    all_probabilities : bool, default=False
        Whether to add a column with the probability of each class.

    Yields
    ------
    callable
        Predictions -> None; writes a batch.
    """
    if path is None:
        yield _csv_writer(sys.stdout, all_probabilities)
        return
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
            # Concatenated as a stream, so that polars does not hold all of them in memory.
            pl = require("polars", extra="cli", purpose=f"writing {path}")
            # Relaxed, as a column of the table may have only whole numbers in one batch.
            scans = [pl.scan_parquet(part, glob=False) for part in parts]
            pl.concat(scans, how="vertical_relaxed").sink_parquet(temporary)


def _csv_writer(file: TextIO, all_probabilities: bool) -> Callable[[Predictions], None]:
    begun = False

    def write(batch: Predictions) -> None:
        nonlocal begun
        columns = batch.columns(all_probabilities=all_probabilities)
        lines = csv_lines(columns, USUAL, shown=file.isatty())
        file.writelines(lines[1:] if begun else lines)
        begun = True

    return write
