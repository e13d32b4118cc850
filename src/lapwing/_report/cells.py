"""Cells of a table's rows, as text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from lapwing._arrays import is_sparse
from lapwing._report.text import clean

_LONGEST = 60


def row_columns(
    table: Any, rows: Sequence[int], *, most: int | None = None, exact: bool = False
) -> dict[str, list[str]]:
    """Write the columns of some rows as the user knows them: whole numbers without a fraction.

    Parameters
    ----------
    table : Table
        A column that was made into something else, or left out, is given as it is in the file. Of
        a sparse table only the columns in which these rows have an entry are given.
    rows : sequence of int
        Which.
    most : int, default=None
        How many columns; None means all.
    exact : bool, default=False
        Whether they shall be read again, and not be looked at.

    Returns
    -------
    dict of str to list of str
        The cells of each column; nothing where a cell is empty.
    """
    where = np.asarray(rows, dtype=np.intp)
    place = {name: j for j, name in enumerate(table.feature_names)}
    names = list(table.originals or place)
    if is_sparse(table.X):
        names = [table.feature_names[j] for j in np.unique(table.X[where].nonzero()[1])]
    found = {}
    for name in islice(names, most):
        kept = table.originals.get(name)
        values = _feature(table.X, place[name], where) if kept is None else kept.at(where)
        found[name] = [_cell(value, exact=exact) for value in values]
    return found


def _feature(X: Any, column: int, rows: Any) -> list[Any]:
    if hasattr(X, "iter_rows"):
        return list(X.to_series(column)[rows.tolist()])
    if hasattr(X, "iloc"):
        return list(X.iloc[rows.tolist(), column])
    block = X[rows][:, [column]]
    values: list[Any] = (block.toarray() if is_sparse(block) else block).ravel().tolist()
    return values


def _cell(value: Any, *, exact: bool) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        return repr(value) if exact else f"{value:.6g}"
    return str(value) if exact else clean(value, _LONGEST)
