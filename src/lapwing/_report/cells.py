"""Cells of a table's rows, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lapwing._arrays import is_sparse
from lapwing._report.text import clean

__all__ = ["columns_of", "row_cells"]

_LONGEST = 60


def columns_of(table: Any, rows: Sequence[int], most: int | None = None) -> list[int]:
    """Choose the columns of some rows: all, or of a wide sparse table those with an entry."""
    p = len(table.feature_names)
    chosen = list(range(p))
    if is_sparse(table.X):
        chosen = np.unique(table.X[np.asarray(rows, dtype=np.intp)].nonzero()[1]).tolist()
    return chosen if most is None else chosen[:most]


def row_cells(
    table: Any, rows: Sequence[int], columns: Sequence[int], *, exact: bool = False
) -> list[list[str]]:
    """Write cells as the user would: whole numbers without a fraction, nothing where none is.

    Parameters
    ----------
    table : Table
        With features as an array, a sparse array or a data frame.
    rows, columns : sequences of int
        Which.
    exact : bool, default=False
        Whether they shall be read again, and not be looked at.

    Returns
    -------
    list of list of str
        A list a row.
    """
    if not len(rows):
        return []
    where = np.asarray(rows, dtype=np.intp)
    if hasattr(table.X, "iter_rows"):
        names = [table.feature_names[j] for j in columns]
        found = [list(row) for row in table.X[where.tolist()].select(names).iter_rows()]
    else:
        block = table.X[where][:, list(columns)]
        found = (block.toarray() if is_sparse(block) else np.asarray(block)).tolist()
    return [[_cell(value, exact=exact) for value in row] for row in found]


def _cell(value: Any, *, exact: bool) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        return repr(value) if exact else f"{value:.6g}"
    return str(value) if exact else clean(value, _LONGEST)
