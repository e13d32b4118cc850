"""Scores of points on a cluster: chunks are answered where they lie, and a few numbers each come.

The chunks of y need not be those of X: each task takes the pieces of y that its chunk of X needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils import _safe_indexing

from lapwing._arrays import Array
from lapwing._host.optional import require
from lapwing.classes.column import missing_mask, read_column
from lapwing.classes.labels import as_targets, read_known
from lapwing.dask._labels import check_length, one_column, table_of
from lapwing.dask._points import chunks_of, is_array, is_collection
from lapwing.dask._session import Session
from lapwing.estimators.template import only_labeled


def accuracy_of(session: Session, model: Any, X: Any, y: Any) -> float:
    """The share of the labelled rows that a fitted classifier answers right.

    Parameters
    ----------
    session : Session
    model : classifier
        Of points in memory.
    X : Dask array or frame
    y : Dask array or series, array-like, or table (row, label)

    Raises
    ------
    ValueError
        If X and y do not go together, or no row is labelled.
    """
    found = np.array(_each_chunk(session, _right, model, X, y))
    _check_labeled(int(found[:, 0].sum()), 1)
    return float(found[:, 1].sum() / found[:, 0].sum())


def determination_of(session: Session, model: Any, X: Any, y: Any) -> float:
    """R^2 of a fitted regression on the labelled rows; see `accuracy_of`."""
    found = [each for each in _each_chunk(session, _errors, model, X, y) if each.n]
    n = np.array([each.n for each in found])
    _check_labeled(int(n.sum()), 2)
    means = np.array([each.mean for each in found])
    around = means - np.average(means, weights=n)
    total = sum(each.variation for each in found) + float(n @ around**2)
    left = sum(each.squares for each in found)
    if total == 0:  # as scikit-learn has it
        return float(left == 0)
    return float(1 - left / total)


def _check_labeled(n: int, least: int) -> None:
    if n < least:
        raise ValueError(
            f"score takes at least {least} labelled {'row' if least == 1 else 'rows'}, and y has "
            f"{n}. Give rows whose labels are known."
        )


class _Piece(NamedTuple):
    """What a chunk of X needs of y.

    Attributes
    ----------
    rows : ndarray of int or None
        The rows of the chunk that it is for; None for all.
    columns : list of array-like, or delayed
    slices : list of slice
        The part of each column.
    """

    rows: Array | None
    columns: list[Any]
    slices: list[slice]


def _each_chunk(session: Session, task: Callable[..., Any], model: Any, X: Any, y: Any) -> Any:
    """What a task makes of each chunk of X that has labels, and of these."""
    dask = require("dask", extra="dask", purpose="lapwing.dask")
    chunks = chunks_of(X, "X")
    sizes = _sizes(session, X, chunks)
    shared, delayed = dask.delayed(model, pure=False), dask.delayed(task, pure=False)
    # One graph and not futures of the chunks: none is held longer than it takes to answer it.
    tasks = [
        delayed(shared, chunk, *piece)
        for chunk, piece in zip(chunks, _pieces(session, y, sizes), strict=True)
        if piece.columns
    ]
    _check_labeled(len(tasks), 1)
    return session.gather(session.client.compute(tasks))


def _sizes(session: Session, X: Any, chunks: list[Any]) -> list[int]:
    if is_array(X) and not np.isnan(X.chunks[0]).any():
        return [int(size) for size in X.chunks[0]]
    length = require("dask", extra="dask", purpose="lapwing.dask").delayed(len, pure=False)
    return session.gather(session.client.compute([length(chunk) for chunk in chunks]))


def _pieces(session: Session, y: Any, sizes: list[int]) -> Iterator[_Piece]:
    ends = np.cumsum([0, *sizes])
    if (table := table_of(y, int(ends[-1]))) is not None:
        for start, stop in pairwise(ends):
            some = slice(*np.searchsorted(table.rows, [start, stop]))
            rows = table.rows[some] - start
            yield _Piece(rows, [table.labels[some]] if len(rows) else [], [slice(None)])
        return
    if is_collection(y):
        y = one_column(y)
        columns = chunks_of(y, "y")
        held = _sizes(session, y, columns)
        check_length(int(ends[-1]), sum(held))
    else:
        y, held = read_column(y), sizes
        check_length(int(ends[-1]), len(y))
        columns = [y[start:stop] for start, stop in pairwise(ends)]
    starts = np.cumsum([0, *held])
    for start, stop in pairwise(ends):
        first = np.searchsorted(starts, start, side="right") - 1
        last = np.searchsorted(starts, stop, side="left")
        needed = [i for i in range(first, last) if held[i]]
        cut = [slice(max(start - starts[i], 0), stop - starts[i]) for i in needed]
        yield _Piece(None, [columns[i] for i in needed], cut)


def _labels_of(columns: list[Any], slices: list[slice]) -> Array:
    parts = [read_column(column)[some] for column, some in zip(columns, slices, strict=True)]
    kinds = {part.dtype.kind for part in parts}
    return np.concatenate(parts if len(kinds) == 1 else [part.astype(object) for part in parts])


def _right(
    model: Any, chunk: Any, rows: Array | None, columns: list[Any], slices: list[slice]
) -> tuple[int, int]:
    """Numbers of labelled rows and of right answers."""
    labels, labeled = read_known(_labels_of(columns, slices), model.unlabeled, model.classes_)
    if not labeled.any():
        return 0, 0
    answers = model.predict(_labeled_points(chunk, rows, labeled))
    return len(labels), int(accuracy_score(labels, answers, normalize=False))


class _Errors(NamedTuple):
    """Labelled rows of a chunk.

    Attributes
    ----------
    n : int
    mean : float
        Of their targets.
    variation : float
        Sum of the squares of the targets around their mean.
    squares : float
        Sum of the squared errors.
    """

    n: int
    mean: float = 0.0
    variation: float = 0.0
    squares: float = 0.0


def _errors(
    model: Any, chunk: Any, rows: Array | None, columns: list[Any], slices: list[slice]
) -> _Errors:
    y = as_targets(_labels_of(columns, slices))
    labeled = ~missing_mask(y)
    if not labeled.any():
        return _Errors(0)
    y, values = y[labeled], model.predict(_labeled_points(chunk, rows, labeled))
    mean = float(y.mean())
    return _Errors(len(y), mean, float(((y - mean) ** 2).sum()), float(((y - values) ** 2).sum()))


def _labeled_points(chunk: Any, rows: Array | None, labeled: Array) -> Any:
    """The rows of a chunk that have a label: no others are to be answered."""
    points, _ = only_labeled(labeled, chunk if rows is None else _safe_indexing(chunk, rows), None)
    return points
