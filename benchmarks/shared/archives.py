"""Archives of the benchmarks: location, contents, and checks.

An archive is a file of ``numpy.savez_compressed`` with plain arrays, without pickles:

=========================================== =====================================================
``X``                                       points, one per row; times ``x_scale`` if present
``X_data, X_indices, X_indptr, X_shape``    the parts of a CSR matrix, instead of ``X``
``y``                                       labels
``idxLabs``, ``idxLabs10``, ``idxLabs100``  published splits: 0-based rows of the labelled points,
                                            one split per row; other points are unlabelled
``n_train`` or ``is_test``                  the official parts: the number of training points,
                                            which come first, or a mask of the test points
``idx``, ``offsets``                        label sets: set k is ``idx[offsets[k]:offsets[k + 1]]``
=========================================== =====================================================
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.shared.catalogue import LABEL_SETS, RECORDS, Archive, SetRecord

HOME_VARIABLE = "LAPWING_DATA_HOME"
Arrays = Mapping[str, NDArray[Any]]


class DataError(Exception):
    """The data cannot be used, for the reason in the message."""


class MissingArchiveError(DataError):
    """An archive is missing."""

    def __init__(self, archive: Archive, folder: Path | None) -> None:
        self.archive = archive
        where = (
            f"{HOME_VARIABLE} is not set"
            if folder is None
            else f"it is not in {folder}, the folder that {HOME_VARIABLE} names"
        )
        super().__init__(f"{archive.file} is missing: {where}.")


@dataclass(frozen=True)
class CheckedSet:
    """Checked set, in the compact types of its archive.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Points, to be multiplied by `scale`.
    scale : float
        Unit of X.
    y : ndarray of int64 of shape (n_samples,)
        Class codes 0, 1, ...
    splits : mapping of int to tuple of ndarray
        Labelled rows of every published split, by the number of labelled points.
    is_test : ndarray of bool of shape (n_samples,) or None
        The official test part.
    """

    X: Any
    scale: float
    y: NDArray[np.int64]
    splits: Mapping[int, tuple[NDArray[np.int64], ...]]
    is_test: NDArray[np.bool_] | None


def data_folder() -> Path | None:
    """Return the folder given by the environment variable, or None."""
    value = os.environ.get(HOME_VARIABLE)
    if not value:
        return None
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise DataError(
            f"{HOME_VARIABLE}={value} is not a folder. Set it to the folder that holds the papers' "
            "data as `python -m benchmarks convert` writes them."
        )
    return folder


def find_archive(archive: Archive) -> Path:
    """Return the path of an archive."""
    folder = data_folder()
    if folder is None or not (folder / archive.file).exists():
        raise MissingArchiveError(archive, folder)
    return folder / archive.file


def read_set(name: str) -> CheckedSet:
    """Read a data set of `benchmarks.shared.catalogue.RECORDS`."""
    record = RECORDS[name]
    path = find_archive(record)
    return check_set(read_arrays(path, record.keys, ("x_scale",)), record, str(path))


def read_label_sets(y: NDArray[np.int64], count: int) -> list[NDArray[np.int64]]:
    """Read the published sets of labelled MNIST points with `count` labels per class.

    Parameters
    ----------
    y : ndarray of int64 of shape (70000,)
        The digits.
    count : int
        From 1 to 5.

    Returns
    -------
    list of ndarray of int64
        Rows of MNIST, ten times `count` in each.
    """
    path = find_archive(LABEL_SETS)
    sets = check_label_sets(read_arrays(path, ("idx", "offsets")), str(path), len(y))
    chosen = [rows for rows in sets if len(rows) == 10 * count]
    if any((np.bincount(y[rows], minlength=10) != count).any() for rows in chosen):
        raise DataError(
            f"{path} does not fit MNIST: a set has not the same number of points of every digit. "
            f"Make it and {RECORDS['mnist'].file} anew from the published files."
        )
    return chosen


def read_arrays(
    path: Path, needed: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, NDArray[Any]]:
    """Read the named arrays of an archive, `optional` ones if they are present."""
    try:
        # Opened here, as NumPy does not close a file with a truncated zip archive.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            present = archive.files
            arrays = {key: archive[key] for key in (*needed, *optional) if key in present}
        for key, array in arrays.items():
            if not isinstance(array, np.ndarray):  # bytes of a member without NumPy's header
                raise ValueError(f"{key} is no array")
    # Damaged files raise errors of zip, zlib, struct and NumPy, and a bare array is not a context
    # manager.
    except Exception as error:
        raise DataError(
            f"{path} cannot be read as an archive of plain arrays ({error}). It may be damaged or "
            "cut short: make it anew with `python -m benchmarks convert`."
        ) from error
    missing = [key for key in needed if key not in arrays]
    if missing:
        raise DataError(
            f"{path} lacks {', '.join(missing)}; it has {', '.join(present) or 'nothing'}. Make it "
            "anew with `python -m benchmarks convert`."
        )
    return arrays


def check_set(arrays: Arrays, record: SetRecord, source: str) -> CheckedSet:
    """Check arrays against the record of the set, and code the labels."""
    try:
        X = _points(arrays, record)
        y = _codes(arrays["y"], record, X.shape[0])
        splits = {count: _splits(arrays[key], key, count, len(y)) for count, key in record.splits}
        is_test = _test_part(arrays, record, len(y))
        # Via its decimal form: with the value of a float32 0.001, 1000 thousandths are 1.00000005.
        scale = float(str(arrays["x_scale"])) if "x_scale" in arrays else 1.0
        _check_values(X, scale, record)
    except (ValueError, TypeError, IndexError) as error:
        raise DataError(f"{source} is not the data set {record.name}: {error}") from error
    return CheckedSet(X, scale, y, splits, is_test)


def check_archive(arrays: Arrays, archive: Archive, source: str) -> None:
    """Check the arrays of an archive."""
    if isinstance(archive, SetRecord):
        check_set(arrays, archive, source)
    else:
        check_label_sets(arrays, source)


def check_label_sets(arrays: Arrays, source: str, n: int = 70_000) -> list[NDArray[np.int64]]:
    """Return the label sets, checked to have distinct points and equal numbers per class."""
    try:
        rows, offsets = arrays["idx"].astype(np.int64), arrays["offsets"].astype(np.int64)
        if rows.ndim != 1 or offsets[0] != 0 or offsets[-1] != rows.size:
            raise ValueError("idx and offsets do not fit")
        if rows.size and (rows.min() < 0 or rows.max() >= n):
            raise ValueError(
                f"idx goes from {rows.min()} to {rows.max()}; the points are 0 to {n - 1}"
            )
        sets = np.split(rows, offsets[1:-1])
        if any(len(chosen) % 10 or np.unique(chosen).size != chosen.size for chosen in sets):
            raise ValueError(
                "a set does not have the same number of distinct points of every digit"
            )
    except (ValueError, TypeError, IndexError) as error:
        raise DataError(f"{source} does not hold label sets of MNIST: {error}.") from error
    return sets


def _points(arrays: Arrays, record: SetRecord) -> Any:
    X: Any
    if record.sparse:
        parts = (arrays["X_data"], arrays["X_indices"], arrays["X_indptr"])
        rows, columns = map(int, arrays["X_shape"])
        X = sp.csr_array(parts, shape=(rows, columns))
        X.check_format(full_check=True)
    else:
        X = arrays["X"]
    expected = [(n, record.n_features) for n in record.n_samples]
    if X.shape not in expected:
        raise ValueError(f"X has the shape {X.shape}; the set has {expected[0]}.")
    return X


def _codes(y: NDArray[Any], record: SetRecord, n: int) -> NDArray[np.int64]:
    if y.shape != (n,):
        raise ValueError(f"y has the shape {y.shape}; the set has {n} points.")
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


def _test_part(arrays: Arrays, record: SetRecord, n: int) -> NDArray[np.bool_] | None:
    if record.test_key is None:
        return None
    value = arrays[record.test_key]
    if record.test_key == "n_train":
        if value.shape != () or not 0 < value < n:
            raise ValueError(f"n_train={value} must be one number between 0 and {n}.")
        return np.arange(n) >= int(value)
    if value.shape != (n,) or value.dtype.kind != "b":
        raise ValueError(f"is_test must be a mask of {n} points; it has the shape {value.shape}.")
    return value


def _check_values(X: Any, scale: float, record: SetRecord) -> None:
    values = X.data if record.sparse else X
    low, high = values.min() * scale, values.max() * scale
    # Minimum and maximum propagate NaN, so that all values are checked.
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError("X holds values that are not finite.")
    if record.value_range is not None:
        least, most = record.value_range
        if low < least or high > most:
            raise ValueError(f"X goes from {low:g} to {high:g}; the set is in [{least}, {most}].")
