"""A user's table: features, ids and labels, some of them missing, read from files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lapwing._host.optional import require
from lapwing._tables.checks import (
    check_features,
    check_ids,
    kinds_of,
    warn_of_single_labels,
    warn_of_slips,
)
from lapwing._tables.coding import code_classes, code_numbers, code_truth, mark_unlabeled
from lapwing._tables.columns import MAX_VALUES, RawTable, Selection, quoted
from lapwing._tables.csv import read_csv
from lapwing._tables.matrices import TARGET, read_labels, read_matrix_market, read_svmlight
from lapwing._tables.npz import read_npy, read_npz
from lapwing._tables.parquet import read_parquet
from lapwing._tables.source import Source, open_source
from lapwing.exceptions import LapwingWarning

__all__ = ["FORMATS", "Table", "name_of", "points_of", "read_points", "read_raw", "read_table"]

_READERS: dict[str, Callable[[Source, Selection], RawTable]] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".txt": read_csv,
    ".parquet": read_parquet,
    ".npz": read_npz,
    ".npy": read_npy,
    ".svm": read_svmlight,
    ".svmlight": read_svmlight,
    ".libsvm": read_svmlight,
    ".mtx": read_matrix_market,
}
FORMATS = tuple(_READERS)
_SVMLIGHT = (".svm", ".svmlight", ".libsvm")

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True)
class Table:
    """A checked table of n rows, ready to be fitted.

    Attributes
    ----------
    X : ndarray, CSR array or polars.DataFrame of shape (n, p)
        Features as a pipeline takes them. Numbers (float64, or float32 where all of the file's
        are); sparse where the file is; a data frame if some of the features are text.
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
    kinds : tuple of {'numeric', 'categorical'}
        Of the p columns; empty means that all are numeric.
    truth : ndarray of shape (n,) or None
        Known answers, coded as `y`, for the report alone.
    layout : ndarray of shape (n, 2) or None
        The user's own coordinates for a map.
    source : str
        The files, as the user named them.
    label_name, id_name, truth_name : str or None
        Names of the columns.
    dropped : tuple of str
        Columns of the file that are none of these.
    """

    X: Any
    feature_names: tuple[str, ...]
    ids: NDArray[Any]
    y: NDArray[Any]
    labeled: NDArray[np.bool_]
    unlabeled: int | str | float
    kinds: tuple[str, ...] = ()
    truth: NDArray[Any] | None = None
    layout: NDArray[Any] | None = None
    source: str = ""
    label_name: str | None = None
    id_name: str | None = None
    truth_name: str | None = None
    dropped: tuple[str, ...] = ()


def read_table(
    path: Paths,
    label: str | None = None,
    *,
    id_column: str | None = None,
    drop: Sequence[str] = (),
    features: Sequence[str] = (),
    unlabeled: str | None = None,
    labels_file: str | os.PathLike[str] | None = None,
    truth: str | None = None,
    layout: Sequence[str] = (),
    missing: bool = False,
    regression: bool = False,
) -> Table:
    """Read one or more files and check them.

    Parameters
    ----------
    path : path-like or sequence of path-like
        The file, or files with the same columns whose rows are put one below the other; ``-`` is
        standard input. The extension tells the format (see `FORMATS`). CSV files are UTF-8 with
        names in the first line, separated by comma, semicolon, tab or ``|``. NPZ files hold the
        features in the array ``X`` (n x p), and may hold ``feature_names``.
    label : str, default=None
        The column (of an NPZ file: the array) with the labels. A blank, null or NaN is no label;
        nor is -1 in an array of integers, as in scikit-learn. None means `labels_file`, or the
        targets of svmlight files.
    id_column : str, default=None
        The column (or array) that names the rows; None means row numbers from 1.
    drop, features : sequences of str, default=()
        Columns to leave out; columns to use, by default all others.
    unlabeled : str, default=None
        A value of the label column that means "no label", besides the blank.
    labels_file : path-like, default=None
        A file of labels in the order of the rows, one a line or an NPY array.
    truth : str, default=None
        A column with known answers; never a feature.
    layout : sequence of two str, default=()
        Columns with coordinates for a map; never features.
    missing : bool, default=False
        Whether features may be missing, because they will be imputed.
    regression : bool, default=False
        Whether the labels are numbers to be predicted rather than classes.

    Returns
    -------
    Table
        All other columns are its features.

    Raises
    ------
    OSError
        If a file cannot be read.
    ValueError
        If a file, a column or the labels are not as described; says where and what to do.
    ImportError
        If polars is needed, for Parquet files or columns of text, and not installed.
    """
    paths = _as_paths(path)
    where = name_of(paths)
    if label is None and labels_file is None:
        if paths[0].suffix.lower() not in _SVMLIGHT:
            raise ValueError(f"{where}: name the column of the labels with --label.")
        label = TARGET
    if label is not None and labels_file is not None:
        raise ValueError("--label and --labels are two places for the labels; give one.")
    selection = Selection(
        label, id_column, tuple(drop), tuple(features), truth, _check_layout(layout)
    )
    raw = read_raw(paths, selection)
    marker = raw.default_marker
    if labels_file is not None:
        labels, marker = read_labels(Path(labels_file), raw.X.shape[0])
        raw = replace(raw, labels=labels)
        where = str(labels_file)
    assert raw.labels is not None
    check_features(raw, name_of(paths), missing=missing)
    ids = check_ids(raw, name_of(paths), id_column)
    # -1 is a marker only where a class is meant: as a number to be predicted it is one like others.
    marker = ("" if regression else marker) if unlabeled is None else unlabeled.strip()
    hint = f"blank or {marker!r}" if marker else "blank"
    coder = code_numbers if regression else code_classes
    what = where if label is None else f"{where}: label column {label!r}"
    coded = coder(mark_unlabeled(raw.labels, marker), where=what, hint=hint)
    warn_of_slips(raw, coded.labeled, what, hint)
    if not regression:
        warn_of_single_labels(coded.y, coded.labeled, what)
    others = raw.others
    return Table(
        points_of(raw),
        raw.feature_names,
        ids,
        coded.y,
        coded.labeled,
        coded.unlabeled,
        kinds_of(raw),
        None if truth is None else code_truth(others[truth], coded, where=f"{where}: {truth!r}"),
        _layout(raw, layout, where),
        name_of(paths),
        label,
        id_column,
        truth,
        (*raw.left_out,),
    )


def read_points(
    path: Paths,
    expected: Mapping[str, str],
    *,
    id_column: str | None = None,
    usual_id: str | None = None,
    optional: Sequence[str] = (),
    missing: bool = False,
) -> Table:
    """Read rows for a model that is already fitted; nothing in the result is labelled.

    Parameters
    ----------
    path : path-like or sequence of path-like
        As for `read_table`.
    expected : mapping of str to {'numeric', 'categorical'}
        The model's features in their order, with their kinds.
    id_column : str, default=None
        The column that names the rows.
    usual_id : str, default=None
        Without `id_column`: the column that names them if there is one of this name.
    optional : sequence of str, default=()
        Columns known not to be features, such as that of the labels, that may be there.
    missing : bool, default=False
        Whether features may be missing, because the model imputes them.

    Returns
    -------
    Table
        With the features in the model's order.

    Raises
    ------
    OSError, ValueError, ImportError
        As `read_table`; in particular if a column is missing.
    """
    paths = _as_paths(path)
    where = name_of(paths)
    selection = Selection(
        id=id_column, usual_id=usual_id, expected=expected, optional=tuple(optional)
    )
    raw = read_raw(paths, selection)
    if raw.ignored:
        warnings.warn(
            f"{where}: the model does not know the column {quoted(raw.ignored)}; not used.",
            LapwingWarning,
            stacklevel=2,
        )
    check_features(raw, where, missing=missing)
    n = raw.X.shape[0]
    nothing = np.full(n, "", dtype=object)
    return Table(
        points_of(raw),
        raw.feature_names,
        check_ids(raw, where, id_column or usual_id),
        nothing,
        np.zeros(n, dtype=bool),
        "",
        kinds_of(raw),
        source=where,
        id_name=id_column,
    )


def read_raw(paths: Sequence[Path], selection: Selection) -> RawTable:
    """Read files with the same columns, unchecked, and put their rows one below the other."""
    tables: list[RawTable] = []
    for path in paths:
        with open_source(path) as source:
            reader = _READERS.get(source.suffix)
            if reader is None:
                raise ValueError(
                    f"{path}: cannot tell the format from the extension {source.suffix!r}; "
                    f"it must be one of {', '.join(FORMATS)}."
                )
            tables.append(reader(source, selection))
        if len(tables) == 1 and len(paths) > 1 and selection.expected is None:
            first = dict(zip(tables[0].feature_names, kinds_of(tables[0]), strict=True))
            optional = () if not selection.features else tuple(tables[0].unusable)
            selection = replace(
                selection, expected=first, features=(), strict=not selection.features,
                optional=optional,
            )  # fmt: skip
    return tables[0] if len(tables) == 1 else _stack(tables, paths)


def name_of(paths: Sequence[Path]) -> str:
    """Write file names as the user did, briefly."""
    names = ["standard input" if str(path) == "-" else str(path) for path in paths]
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def points_of(raw: RawTable) -> Any:
    """Give the features as a pipeline takes them: a data frame if some are text."""
    if not raw.texts:
        return raw.X
    pl = require("polars", extra="cli", purpose="a table with columns of text")
    numeric = iter(range(raw.X.shape[1]))
    return pl.DataFrame(
        {
            name: pl.Series(raw.texts[name].tolist(), dtype=pl.String)
            if name in raw.texts
            else raw.X[:, next(numeric)]
            for name in raw.feature_names
        }
    )


def _as_paths(path: Paths) -> list[Path]:
    if isinstance(path, (str, os.PathLike)):
        return [Path(path)]
    return [Path(one) for one in path]


def _check_layout(layout: Sequence[str]) -> tuple[str, ...]:
    if len(layout) not in (0, 2):
        raise ValueError(f"--map takes two columns, x and y; {len(layout)} given.")
    return tuple(layout)


def _layout(raw: RawTable, names: Sequence[str], where: str) -> NDArray[Any] | None:
    if not names:
        return None
    layout = np.empty((raw.X.shape[0], 2))
    for j, name in enumerate(names):
        try:
            layout[:, j] = [float(text) for text in raw.others[name]]
        except ValueError:
            layout[0, j] = np.nan
        if not np.isfinite(layout[:, j]).all():
            raise ValueError(f"{where}: column {name!r} (--map) must hold a number in every row.")
    return layout


def _stack(tables: Sequence[RawTable], paths: Sequence[Path]) -> RawTable:
    first = tables[0]
    sparse = sp.issparse(first.X)
    widths = {table.X.shape[1] for table in tables}
    if len(widths) > 1 or any(sp.issparse(table.X) != sparse for table in tables):
        raise ValueError(f"{name_of(paths)}: the files do not have the same columns.")
    texts = {name: np.concatenate([t.texts[name] for t in tables]) for name in first.texts}
    for name, column in texts.items():
        if len({v for v in column if v is not None}) > MAX_VALUES:
            raise ValueError(
                f"{name_of(paths)}: {name!r} has more than {MAX_VALUES} values of text in all "
                f"files; leave it out with --drop {name}."
            )
    X = [table.X for table in tables]
    return replace(
        first,
        X=sp.vstack(X, format="csr") if sparse else np.concatenate(X),
        labels=_join([t.labels for t in tables]),
        ids=_join([t.ids for t in tables]),
        texts=texts,
        others={name: np.concatenate([t.others[name] for t in tables]) for name in first.others},
        ignored=tuple(dict.fromkeys(name for t in tables for name in t.ignored)),
    )


def _join(columns: Sequence[NDArray[Any] | None]) -> NDArray[Any] | None:
    parts = [column for column in columns if column is not None]
    return np.concatenate(parts) if parts else None
