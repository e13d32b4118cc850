"""A user's table: features, ids and labels, some of them missing, read from a file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._columns import RawTable, Selection
from lapwing._csv import read_csv
from lapwing._npz import read_npz
from lapwing._parquet import read_parquet
from lapwing.exceptions import LapwingWarning

__all__ = ["FORMATS", "Table", "read_table"]

_READERS = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".txt": read_csv,
    ".parquet": read_parquet,
    ".npz": read_npz,
}
FORMATS = tuple(_READERS)


@dataclass(frozen=True)
class Table:
    """A checked table, n rows by p numeric feature columns, ready to be fitted.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Features: finite, float64 (or float32 where all of the file's are).
    feature_names : tuple of str
        Names of the p columns.
    ids : ndarray of shape (n,)
        What the user calls the rows: the id column as text, or the numbers 1 to n.
    y : ndarray of shape (n,)
        Class labels (integers where all are written so, else text) or, for regression, float64.
        Rows without a label hold `unlabeled`.
    labeled : ndarray of bool of shape (n,)
        Which rows have a label.
    unlabeled : int, str or float
        The marker in `y`: an integer below all labels, the empty text, or NaN; pass it on to the
        estimator.
    """

    X: NDArray[Any]
    feature_names: tuple[str, ...]
    ids: NDArray[Any]
    y: NDArray[Any]
    labeled: NDArray[np.bool_]
    unlabeled: int | str | float


def read_table(
    path: str | os.PathLike[str],
    label: str,
    *,
    id_column: str | None = None,
    drop: Sequence[str] = (),
    unlabeled: str | None = None,
    regression: bool = False,
) -> Table:
    """Read a CSV, Parquet or NPZ file and check it.

    Parameters
    ----------
    path : path-like
        The file; its extension tells the format (see `FORMATS`). CSV files are UTF-8 with names in
        the first line, separated by comma, semicolon, tab or ``|``. NPZ files hold the features in
        the array ``X`` (n x p), and may hold ``feature_names``.
    label : str
        The column (of an NPZ file: the array) with the labels. A blank, null or NaN is no label;
        nor is -1 in an array of integers of an NPZ file, as in scikit-learn.
    id_column : str, default=None
        The column (or array) that names the rows; None means row numbers from 1.
    drop : sequence of str, default=()
        Columns to leave out.
    unlabeled : str, default=None
        A value of the label column that means "no label", besides the blank.
    regression : bool, default=False
        Whether the labels are numbers to be predicted rather than classes.

    Returns
    -------
    Table
        All other columns are its features.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file, a column or the labels are not as described; says where and what to do.
    ImportError
        If a Parquet file is given and polars is not installed.
    """
    file = Path(path)
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise ValueError(
            f"{path}: cannot tell the format from the extension {file.suffix!r}; "
            f"it must be one of {', '.join(FORMATS)}."
        )
    if file.is_dir():
        raise ValueError(f"{path} is a folder, not a file.")
    # Opened before the format's own reader is: the system's reasons (no such file, no permission)
    # are the clearest.
    with file.open("rb") as opened:
        if not opened.read(1):
            raise ValueError(f"{path} is empty.")
    raw = reader(file, Selection(label, id_column, tuple(drop)))
    _check_features(raw, file)
    ids = _check_ids(raw, file, id_column)
    # -1 is a marker only where a class is meant: as a number to be predicted it is one like others.
    marker = ("" if regression else raw.default_marker) if unlabeled is None else unlabeled.strip()
    labels = np.where(_is_marker(raw.labels, marker), "", raw.labels)
    hint = f"blank or {marker!r}" if marker else "blank"
    coder = _code_numbers if regression else _code_classes
    y, labeled, code = coder(labels, where=f"{path}: label column {label!r}", hint=hint)
    _warn_of_slips(raw, labeled, label, hint)
    return Table(raw.X, raw.feature_names, ids, y, labeled, code)


def _check_features(raw: RawTable, file: Path) -> None:
    n, p = raw.X.shape
    if n == 0:
        raise ValueError(f"{file} has no rows.")
    if p == 0:
        raise ValueError(f"{file} has no feature column besides the label.")
    for bad, what, cure in (
        (np.isnan(raw.X), "missing values", "fill them in or leave the rows out"),
        (np.isinf(raw.X), "infinite values", "correct them"),
    ):
        counts = np.count_nonzero(bad, axis=0)
        columns = np.flatnonzero(counts)
        if columns.size:
            names = [f"{raw.feature_names[j]!r} ({counts[j]})" for j in columns[:8]]
            more = f" and {columns.size - 8} more" if columns.size > 8 else ""
            row = int(np.flatnonzero(bad[:, columns[0]])[0]) + 1
            raise ValueError(
                f"{file}: {what} in {', '.join(names)}{more}; the first is in row {row}. "
                f"Either {cure}, or leave the columns out with --drop."
            )


def _check_ids(raw: RawTable, file: Path, id_column: str | None) -> NDArray[Any]:
    if raw.ids is None:
        return np.arange(1, raw.X.shape[0] + 1)
    values, first, counts = np.unique(raw.ids, return_index=True, return_counts=True)
    if values.size < raw.ids.size:
        repeated = int(np.argmax(counts > 1))
        raise ValueError(
            f"{file}: id column {id_column!r} does not tell rows apart: {values[repeated]!r} is in "
            f"{counts[repeated]} rows, first in row {first[repeated] + 1}."
        )
    return raw.ids


def _warn_of_slips(raw: RawTable, labeled: NDArray[np.bool_], label: str, hint: str) -> None:
    if labeled.all():
        warnings.warn(
            f"every row has a label in {label!r} ({hint} means no label), so there is nothing to "
            "learn from unlabelled rows. If a value marks them, name it with --unlabeled.",
            LapwingWarning,
            stacklevel=3,
        )
    if raw.X.shape[0] > 2:
        # Three rows first: few columns are left for the look at all rows.
        likely = (np.diff(raw.X[:3], axis=0) == 1).all(axis=0) & (raw.X[0] % 1 == 0)
        for j in np.flatnonzero(likely):
            if (np.diff(raw.X[:, j]) == 1).all():
                name = raw.feature_names[j]
                warnings.warn(
                    f"column {name!r} counts the rows and is used as a feature. If it only names "
                    f"the rows take it as --id {name!r} or leave it out with --drop {name!r}.",
                    LapwingWarning,
                    stacklevel=3,
                )


def _is_marker(labels: NDArray[Any], marker: str) -> NDArray[np.bool_]:
    equal: NDArray[np.bool_] = labels == marker
    try:
        number = float(marker)
    except ValueError:
        return equal
    # So that -1 also finds the -1.0 of a column of floats.
    for text in np.unique(labels):
        try:
            if float(text) == number:
                equal |= labels == text
        except ValueError:
            pass
    return equal


def _code_classes(
    labels: NDArray[Any], *, where: str, hint: str
) -> tuple[NDArray[Any], NDArray[np.bool_], int | str | float]:
    labeled = _check_labeled(labels, where, hint)
    texts, codes = np.unique(labels[labeled], return_inverse=True)
    if texts.size == 1:
        raise ValueError(
            f"{where} holds only one class, {texts[0]!r}; two are needed. If the unlabelled rows "
            f"are marked in another way ({hint} means no label), name the mark with --unlabeled."
        )
    classes, marker = _class_values(texts, where)
    y = np.full(labels.size, marker, dtype=classes.dtype if classes.dtype.kind == "i" else object)
    y[labeled] = classes[codes]
    return y, labeled, marker


def _class_values(texts: NDArray[Any], where: str) -> tuple[NDArray[Any], int | str]:
    """Turn the labels' texts to integers where all are integers, and choose a marker."""
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        numbers = []
    if not numbers or not np.isfinite(numbers).all():
        return texts.astype(object), ""
    if not all(number.is_integer() for number in numbers):
        raise ValueError(
            f"{where} holds fractional numbers ({', '.join(texts[:3])}, ...), no classes. To "
            "predict numbers choose --method lapsvr or laprls-regressor."
        )
    values = [int(number) for number in numbers]
    # 007 and 7, or an integer that a float cannot hold, are names and stay what they are.
    same = all(text in (str(v), f"{v}.0") for text, v in zip(texts, values, strict=True))
    if not same or len(set(values)) < len(values):
        return texts.astype(object), ""
    return np.array(values, dtype=np.int64), min(0, *values) - 1


def _code_numbers(
    labels: NDArray[Any], *, where: str, hint: str
) -> tuple[NDArray[Any], NDArray[np.bool_], int | str | float]:
    labeled = _check_labeled(labels, where, hint)
    y = np.full(labels.size, np.nan)
    for row in np.flatnonzero(labeled):
        try:
            y[row] = float(labels[row])
        except ValueError:
            raise ValueError(
                f"{where}: row {row + 1} holds {labels[row]!r}, which is not a number; the chosen "
                "method predicts numbers. For classes choose --method lapsvc or laprls."
            ) from None
    if np.isinf(y).any():
        first = int(np.argmax(np.isinf(y)))
        raise ValueError(f"{where}: row {first + 1} holds an infinite value; correct it.")
    return y, labeled, float("nan")


def _check_labeled(labels: NDArray[Any], where: str, hint: str) -> NDArray[np.bool_]:
    labeled: NDArray[np.bool_] = labels != ""
    if not labeled.any():
        raise ValueError(
            f"{where}: no row has a label ({hint} means no label). Label some rows of every class."
        )
    return labeled
