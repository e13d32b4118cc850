"""Formats of X on disk."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from lapwing._host.modules import require
from lapwing._host.warn import warn
from lapwing._rows.base import PickedRows, PointsLike, Rows, is_rows
from lapwing._rows.binary import mapped_file, read_npy
from lapwing._rows.parquet import ParquetRows
from lapwing._rows.zarr import ZarrRows, is_zarr, read_zarr

_PARQUET = (".parquet", ".pq")
_KNOWN = "a .npy file, Parquet files (.parquet), or the folder of a Zarr array"


def header_of(rows: Rows) -> Any:
    """Return an object with the number and names of features, for checks without values.

    An empty frame if columns have names, as in Parquet files; otherwise the rows.
    """
    names = _names_of(rows)
    if names is None:
        return rows
    pl = require("polars", extra="disk", purpose="names of columns")
    return pl.DataFrame(schema=dict.fromkeys(names, pl.Float64))


def _names_of(rows: Rows) -> list[str] | None:
    """Return the names of the columns; None if they have none."""
    while isinstance(rows, PickedRows):
        rows = rows.source
    return rows.columns if isinstance(rows, ParquetRows) and rows.named else None


def _given_rows(source: object) -> Rows | None:
    return source if is_rows(source) else None


def _parquet(source: object) -> Rows | None:
    paths = _parquet_paths(source)
    return None if paths is None else ParquetRows(paths)


def _zarr(source: Any) -> Rows | None:
    if is_zarr(source):
        return ZarrRows(source)
    is_folder = isinstance(source, str | os.PathLike) and Path(source).is_dir()
    return read_zarr(Path(source)) if is_folder else None


def _npy(source: Any) -> Rows | None:
    is_file = isinstance(source, str | os.PathLike) and Path(source).is_file()
    return read_npy(Path(source)) if is_file and Path(source).suffix == ".npy" else None


# Readers, tried in this order; they return None for sources of another format. A new format is one
# file in this folder and one entry here.
FORMATS: dict[str, Callable[[Any], Rows | None]] = {
    "rows": _given_rows,
    "parquet": _parquet,
    "zarr": _zarr,
    "npy": _npy,
    "memmap": mapped_file,
}


def is_source(X: PointsLike) -> bool:
    """Return whether X is, or names, a source of rows instead of an array."""
    return is_rows(X) or isinstance(X, str | os.PathLike) or is_zarr(X) or _is_path_list(X)


def as_rows(X: PointsLike) -> Rows | None:
    """Open the rows of a source or of a mapped file; None for everything else.

    Raises
    ------
    ValueError
        If the source cannot be read.
    FileNotFoundError
        If there is no such file.
    """
    return open_rows(X) if is_source(X) else mapped_file(X)


def rows_or_array(X: Any) -> Any:
    """Open the rows of a source or a mapped file; return anything else unchanged."""
    rows = as_rows(X)
    return X if rows is None else rows


def open_rows(source: object, *, columns: Sequence[str] | None = None) -> Rows:
    """Open points on disk, which estimators accept as X and read in blocks.

    Parameters
    ----------
    source : str, path, list of paths, zarr.Array or numpy.memmap
        A ``.npy`` file; one or several Parquet files, a pattern such as ``'parts/*.parquet'`` or
        their folder; the folder of a Zarr array; or such an array.
    columns : sequence of str, optional
        Feature columns of Parquet files, in this order; all by default.

    Returns
    -------
    Rows
        Points with ``shape``, ``dtype`` and a length. ``X[rows]`` selects rows without reading
        them, so that `sklearn.model_selection` can hold rows out. Pickles contain the paths and no
        values.

    Raises
    ------
    ValueError
        If it cannot be read as points, or `columns` is given for files without names of columns.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from lapwing.datasets import open_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "X.npy", np.eye(3))
    ...     open_rows(Path(folder) / "X.npy").shape
    (3, 3)
    """
    if columns is not None:
        paths = _parquet_paths(source)
        if paths is None:
            _check_exists(source)
            raise ValueError(
                "columns= chooses columns of Parquet files; other files have no names of columns. "
                "Leave it out."
            )
        return ParquetRows(paths, columns)
    for read in FORMATS.values():
        rows = read(source)
        if rows is not None:
            return rows
    if not isinstance(source, str | os.PathLike):
        raise ValueError(f"{type(source).__name__} is not a source of rows. Give {_KNOWN}.")
    _check_exists(source)
    raise ValueError(
        f"{source} cannot be read as X in blocks. Give {_KNOWN}, or read the file into memory, "
        "for example by polars.read_csv."
    )


def _check_exists(source: object) -> None:
    if isinstance(source, str | os.PathLike) and not Path(source).exists():
        raise FileNotFoundError(f"There is no {source}. X as a path is {_KNOWN}.")


def _is_path_list(X: object) -> bool:
    """Return whether X is a list of Parquet files instead of a list of text features."""
    if not isinstance(X, list | tuple) or not X:
        return False
    return all(isinstance(x, os.PathLike | str) and Path(x).suffix in _PARQUET for x in X)


def _parquet_paths(source: Any) -> list[Path] | None:
    """Return the Parquet files of a source, sorted by name; None if it names none."""
    if _is_path_list(source):
        for path in source:
            _check_exists(path)
        return [Path(path) for path in source]
    if not isinstance(source, str | os.PathLike):
        return None
    path = Path(source)
    if path.is_dir():
        # Without hidden files, as patterns; macOS adds such files to folders.
        files = (p for p in path.iterdir() if not p.name.startswith("."))
        found = sorted(p for p in files if p.suffix in _PARQUET)
        _warn_of_order(found)
        return found or None
    if path.suffix not in _PARQUET:
        return None
    if path.exists():
        return [path]
    if not has_magic(str(path)):
        return None
    found = sorted(map(Path, glob(str(path))))
    if not found:
        raise FileNotFoundError(f"No file matches {path}. X as a path is {_KNOWN}.")
    _warn_of_order(found)
    return found


def _warn_of_order(paths: list[Path]) -> None:
    """Warn if the order of names differs from that of numbers in them, which y may follow."""
    counted = sorted(paths, key=_count_in)
    for path, expected in zip(paths, counted, strict=True):
        if path != expected:
            warn(
                f"Files are read in the order of their names: {path.name} comes before "
                f"{expected.name}. The rows of y must be in this order, too. For another order "
                "give a list of paths."
            )
            return


def _count_in(path: Path) -> list[tuple[int, str]]:
    """Return a sort key with part2 before part10."""
    pieces = re.split(r"([0-9]+)", str(path))
    return [(int(piece), "") if piece.isdigit() else (0, piece) for piece in pieces]
