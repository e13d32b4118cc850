"""y of a cluster: one pass finds the labelled rows, which are few and come to the client.

Rows without a label stay where they are. A few stand for them in the column that comes, so that it
is read by the same rules, and with the same errors and warnings, as the y of any fit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.column import missing_mask, objects, read_column
from lapwing.classes.labels import as_targets
from lapwing.classes.markers import is_auto, unlabeled_mask
from lapwing.dask._points import chunks_of, is_collection
from lapwing.dask._session import Each, Session

_STAND_IN = 1000  # rows that stand for those of one marker


class Labels(NamedTuple):
    """The labelled rows.

    Attributes
    ----------
    rows : ndarray of int of shape (l,)
        Ascending.
    column : ndarray of shape (l + s,)
        Their labels, and then s markers.
    """

    rows: Array
    column: Array


class _Found(NamedTuple):
    """What a chunk of y holds."""

    n: int
    rows: Array
    values: Array
    n_missing: int
    n_empty: int
    n_minus: int


def read_labels(session: Session, y: Any, marker: Any, n: int, *, regression: bool) -> Labels:
    """Read y.

    Parameters
    ----------
    session : Session
    y : Dask array or series, or array-like, of shape (n,), or table (row, label)
        The table is a frame of two columns, or a pair of arrays: numbers of rows from 0, and their
        labels. All other rows are unlabelled.
    marker : 'auto', number, str or None
    n : int
        Rows of X.
    regression : bool

    Raises
    ------
    TypeError, ValueError
        For what is neither, or does not go with X.
    """
    if (table := table_of(y, n)) is not None:
        return _of_table(table, marker, n, regression)
    found = _pass(session, y, marker, regression)
    known = np.concatenate([f.values for f in found if len(f.values)] or [np.empty(0)])
    n_minus = sum(f.n_minus for f in found)
    if n_minus and len(known) and unlabeled_mask(read_column(known), 1).all():
        # All numbers are -1 and +1: both are classes.
        found = _pass(session, y, None, regression)
        n_minus = 0
    check_length(n, sum(f.n for f in found))
    starts = np.cumsum([0, *(f.n for f in found)])
    index = np.concatenate([f.rows + s for f, s in zip(found, starts, strict=False)])
    parts = [f.values for f in found if len(f.values)]
    missing, empty = (
        min(sum(counts), _STAND_IN)
        for counts in zip(*((f.n_missing, f.n_empty) for f in found), strict=True)
    )
    explicit = not is_auto(marker) and marker is not None and not _is_nan(marker)
    minus = [marker if explicit else -1] * min(n_minus, _STAND_IN)
    markers = [*minus, *[None] * missing, *[""] * empty]
    return Labels(index.astype(np.int64), _column(parts, markers))


def check_length(n: int, n_labels: int) -> None:
    """Refuse y that has not an entry for each of the n rows of X."""
    if n_labels != n:
        raise ValueError(
            f"X has {n} rows and y has {n_labels}: give a label or a marker for each, or a table "
            "of the labelled rows alone, as a pair of arrays (rows, labels)."
        )


def _pass(session: Session, y: Any, marker: Any, regression: bool) -> list[_Found]:
    marker = None if regression else marker
    if not is_collection(y):
        return [_known(y, marker, regression)]
    chunks = session.client.compute(chunks_of(one_column(y), "y"))
    return session.gather(session.each(_known, len(chunks), Each(list(chunks)), marker, regression))


def one_column(y: Any) -> Any:
    """A collection with one dimension: of two the first column."""
    if getattr(y, "ndim", 1) == 1:
        return y
    return y[:, 0] if hasattr(y, "chunks") else y[y.columns[0]]


def _known(chunk: Any, marker: Any, regression: bool) -> _Found:
    y = read_column(chunk)
    if regression:
        y = as_targets(y)
    missing = missing_mask(y)
    auto = is_auto(marker)
    wanted = -1 if auto else marker
    if wanted is None or _is_nan(wanted) or wanted == "":
        minus = np.zeros(len(y), dtype=bool)
        unlabeled = missing
    else:
        minus = unlabeled_mask(y, wanted)
        unlabeled = minus | missing if auto else minus
    rows = np.flatnonzero(~unlabeled)
    missing = missing & unlabeled & ~minus
    n_missing, texts = int(missing.sum()), y.dtype.kind in "OU"
    empty = sum(isinstance(value, str) for value in y[missing].tolist()) if texts else 0
    return _Found(len(y), rows, y[rows], n_missing - empty, empty, int(minus.sum()))


class Table(NamedTuple):
    """Labelled rows alone.

    Attributes
    ----------
    rows : ndarray of int of shape (l,)
        Ascending.
    labels : ndarray of shape (l,)
    """

    rows: Array
    labels: Array


def table_of(y: Any, n: int) -> Table | None:
    """The labelled rows, if y is a table of them; None if it has an entry for each row of X.

    Raises
    ------
    TypeError, ValueError
        For what is neither, or a table that does not go with n rows of X.
    """
    columns = None if is_collection(y) else _two_columns(y)
    if columns is None:
        if not (is_collection(y) or hasattr(y, "__len__")) or isinstance(y, str | bytes | dict):
            raise TypeError(
                "y must be an array or series, of Dask or in memory, with an entry for each row of "
                "X, or a table of labelled rows: a frame of two columns (row, label) or a pair of "
                f"arrays (rows, labels); it is {type(y).__name__}."
            )
        return None
    rows, labels = np.asarray(columns[0]), read_column(columns[1])
    if rows.size == 0:
        raise ValueError("The table of labels is empty. Label at least one point of each class.")
    if rows.ndim != 1 or len(rows) != len(labels):
        raise ValueError(
            f"The table of labels has {len(rows)} rows and {len(labels)} labels: give one each."
        )
    if rows.dtype.kind not in "iu" or not 0 <= rows.min() <= rows.max() < n:
        raise ValueError(
            f"The first column of the table of labels must hold numbers of rows of X, from 0 to "
            f"{n - 1}."
        )
    unique, counts = np.unique(rows, return_counts=True)
    if (counts > 1).any():
        raise ValueError(
            f"The table of labels has row {unique[counts > 1][0]} more than once. Keep one label a "
            "row."
        )
    order = np.argsort(rows)
    return Table(rows[order].astype(np.int64), labels[order])


def _of_table(table: Table, marker: Any, n: int, regression: bool) -> Labels:
    n_others = min(n - len(table.rows), _STAND_IN)
    others = [None if regression or is_auto(marker) else marker] * n_others
    return Labels(table.rows, _column([table.labels], others))


def _two_columns(table: Any) -> tuple[Any, Any] | None:
    names = getattr(table, "columns", None)
    if names is not None and len(names) == 2:
        return table[names[0]], table[names[1]]
    if isinstance(table, (tuple, list)) and len(table) == 2 and np.ndim(table[0]):
        return table[0], table[1]
    return None


def _column(parts: list[Array], markers: list[Any]) -> Array:
    """Labels and markers in one array that changes no value."""
    values = np.concatenate(parts) if parts else np.empty(0)
    kinds = {type(marker) for marker in markers}
    if values.dtype.kind == "f" and kinds <= {int, float, type(None)}:
        return np.concatenate([values, [np.nan if m is None else float(m) for m in markers]])
    if values.dtype.kind == "i" and kinds <= {int}:
        return np.concatenate([values, np.asarray(markers, dtype=values.dtype)])
    return objects([*values.tolist(), *markers]) if markers else values


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value
