"""Finding a set's archive, and reading it into checked arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lapwing.datasets._records import DatasetRecord

__all__ = ["HOME_VARIABLE", "RawDataset", "check_arrays", "data_folder", "read_archive"]

HOME_VARIABLE = "LAPWING_DATA_HOME"

Points: TypeAlias = "NDArray[Any] | sp.csr_array[Any, tuple[int, int]]"


@dataclass(frozen=True)
class RawDataset:
    """A checked set in the compact types of its file.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Points, to be multiplied by `scale`.
    scale : float
        Unit of X.
    target : ndarray of int64 of shape (n_samples,)
        Class codes 0, 1, ...
    splits : dict of int to tuple of ndarray
        Labelled rows of every published split, by the number of labelled points.
    is_test : ndarray of bool of shape (n_samples,) or None
        The official test part.
    source : str
        Where the arrays come from.
    """

    X: Points
    scale: float
    target: NDArray[np.int64]
    splits: dict[int, tuple[NDArray[np.int64], ...]]
    is_test: NDArray[np.bool_] | None
    source: str


def data_folder(data_home: str | os.PathLike[str] | None) -> Path | None:
    """The folder to look in, which must exist; None if neither parameter nor variable names one."""
    if data_home is not None:
        folder, origin = Path(data_home).expanduser(), f"data_home={os.fspath(data_home)!r}"
    elif os.environ.get(HOME_VARIABLE):
        folder = Path(os.environ[HOME_VARIABLE]).expanduser()
        origin = f"{HOME_VARIABLE}={os.environ[HOME_VARIABLE]!r}"
    else:
        return None
    if not folder.is_dir():
        raise FileNotFoundError(
            f"{origin} is not a folder; name the existing folder that holds the data archives."
        )
    return folder


def read_archive(
    path: Path, needed: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, NDArray[Any]]:
    """Read the named arrays of an NPZ archive into a dict; `optional` ones only if they are there.

    Raises
    ------
    ValueError
        If the file cannot be read, or lacks a needed array.
    """
    try:
        # Opened here, for NumPy leaves a file open in which it finds a zip cut short.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            present = archive.files
            arrays = {key: archive[key] for key in (*needed, *optional) if key in present}
        for key, array in arrays.items():
            if not isinstance(array, np.ndarray):  # the bytes of a member without NumPy's header
                raise ValueError(f"{key} is no array")
    # Damage shows in many ways: those of zip, zlib, struct and NumPy, and of a bare array, which
    # is no context.
    except Exception as error:
        raise ValueError(
            f"{path} cannot be read as an NPZ archive of plain arrays ({error}). If it is damaged "
            "or was cut short, put a whole copy in its place."
        ) from error
    missing = [key for key in needed if key not in arrays]
    if missing:
        raise ValueError(
            f"{path} lacks {', '.join(missing)}; it has {', '.join(present) or 'nothing'}. See "
            "help(lapwing.datasets) for what an archive holds."
        )
    return arrays


def check_arrays(
    arrays: Mapping[str, NDArray[Any]], record: DatasetRecord, source: str
) -> RawDataset:
    """Check arrays against what is known of the set, and code the labels.

    Raises
    ------
    ValueError
        If a shape, a value, a label or a split is not the set's.
    """
    try:
        X = _points(arrays, record)
        target = _codes(arrays["y"], record)
        splits = {
            count: _splits(arrays[key], key, count, record.n_samples)
            for count, key in record.splits
            if key in arrays
        }
        is_test = _test_part(arrays, record)
        # The scale means its decimal: a float32 0.001 taken at face value makes 1000 thousandths
        # 1.00000005.
        scale = float(str(arrays["x_scale"])) if "x_scale" in arrays else 1.0
        _check_values(X, scale, record)
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{source} is not the data set {record.name!r}: {error}") from error
    return RawDataset(X, scale, target, splits, is_test, source)


def _points(arrays: Mapping[str, NDArray[Any]], record: DatasetRecord) -> Points:
    X: Points
    if record.sparse:
        parts = (arrays["X_data"], arrays["X_indices"], arrays["X_indptr"])
        rows, columns = map(int, arrays["X_shape"])
        X = sp.csr_array(parts, shape=(rows, columns))
        X.check_format(full_check=True)
    else:
        X = arrays["X"]
    expected = (record.n_samples, record.n_features)
    if X.shape != expected:
        raise ValueError(f"X has the shape {X.shape}; the set has {expected}.")
    return X


def _codes(y: NDArray[Any], record: DatasetRecord) -> NDArray[np.int64]:
    if y.shape != (record.n_samples,):
        raise ValueError(f"y has the shape {y.shape}; the set has {record.n_samples} points.")
    found = np.unique(y)
    if not np.array_equal(found, record.labels):
        shown = f"{', '.join(map(str, found[:20]))}{', ...' if found.size > 20 else ''}"
        raise ValueError(
            f"y holds the labels {shown}; the set has {', '.join(map(str, record.labels))}."
        )
    return np.searchsorted(record.labels, y).astype(np.int64)


def _splits(table: NDArray[Any], key: str, count: int, n: int) -> tuple[NDArray[np.int64], ...]:
    if table.ndim != 2 or table.shape[1] != count or table.dtype.kind not in "iu":
        raise ValueError(
            f"{key} must be integers of shape (splits, {count}); it has the shape {table.shape} "
            f"and the type {table.dtype}."
        )
    rows = table.astype(np.int64)
    if rows.min() < 0 or rows.max() >= n:
        raise ValueError(
            f"{key} goes from {rows.min()} to {rows.max()}; the {n} points are 0 to {n - 1}."
        )
    for k, row in enumerate(rows):
        if np.unique(row).size != count:
            raise ValueError(f"{key} names a point more than once in split {k}.")
    return tuple(rows)


def _test_part(
    arrays: Mapping[str, NDArray[Any]], record: DatasetRecord
) -> NDArray[np.bool_] | None:
    n = record.n_samples
    if record.test_key is None or record.test_key not in arrays:
        return None
    value = arrays[record.test_key]
    if record.test_key == "n_train":
        if value.shape != () or not 0 < value < n:
            raise ValueError(f"n_train={value} must be one number between 0 and {n}.")
        return np.arange(n) >= int(value)
    if value.shape != (n,) or value.dtype.kind != "b":
        raise ValueError(f"is_test must be a mask of {n} points; it has the shape {value.shape}.")
    return value


def _check_values(X: Points, scale: float, record: DatasetRecord) -> None:
    values = X.data if sp.issparse(X) else X
    low, high = values.min() * scale, values.max() * scale
    # The extremes carry NaN along, so they tell of every value.
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError("X holds values that are not finite.")
    if record.value_range is not None:
        least, most = record.value_range
        if low < least or high > most:
            raise ValueError(f"X goes from {low:g} to {high:g}; the set is in [{least}, {most}].")
