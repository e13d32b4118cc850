"""Which columns of a table are what; shared by the readers of all formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ColumnRoles", "RawTable", "Selection", "TextCells", "reject_text"]


@dataclass(frozen=True)
class RawTable:
    """What a reader hands over: not yet checked for missing values, labels still text.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Features, NaN where missing.
    feature_names : tuple of str
        Names of the p columns.
    labels : ndarray of object of shape (n,)
        Text without surrounding blanks; empty where the file has none.
    ids : ndarray of shape (n,) or None
        Text, or None without an id column.
    default_marker : str
        What means "no label" in this format besides the blank; empty for nothing.
    """

    X: NDArray[Any]
    feature_names: tuple[str, ...]
    labels: NDArray[Any]
    ids: NDArray[Any] | None
    default_marker: str = ""


@dataclass(frozen=True)
class ColumnRoles:
    """Positions of the label, the id (None without one) and the feature columns."""

    label: int
    id: int | None
    features: tuple[int, ...]


@dataclass(frozen=True)
class Selection:
    """The user's choice of columns by name: label, id and those to leave out."""

    label: str
    id: str | None = None
    drop: tuple[str, ...] = ()

    def resolve(self, names: Sequence[str], where: str) -> ColumnRoles:
        """Find the chosen columns among `names`.

        Raises
        ------
        ValueError
            If a chosen name is missing, has two roles, or names are repeated or blank.
        """
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            raise ValueError(
                f"{where}: the column name {_quoted(repeated)} occurs more than once; "
                "rename the columns so that each has its own name."
            )
        roles = {"--label": [self.label], "--drop": list(self.drop)}
        roles["--id"] = [] if self.id is None else [self.id]
        for option, chosen in roles.items():
            for name in chosen:
                if name not in names:
                    raise ValueError(_not_found(name, option, names, where))
        if self.label == self.id or self.label in self.drop:
            raise ValueError(f"{where}: the label column {self.label!r} cannot be --id or --drop.")
        taken = {self.label, self.id, *self.drop}
        features = tuple(j for j, name in enumerate(names) if name not in taken)
        nameless = [j for j in features if not names[j]]
        if nameless:
            # Most often a row index that was saved along: learning from it would be a silent error.
            raise ValueError(
                f"{where}: column {nameless[0] + 1} has no name; name it, or take it as the id "
                "with --id '', or leave it out with --drop ''."
            )
        row_id = None if self.id is None else names.index(self.id)
        return ColumnRoles(names.index(self.label), row_id, features)


@dataclass
class TextCells:
    """Cells of one feature column that are text: how many, and the first of them."""

    count: int
    row: int
    value: str


def reject_text(columns: dict[str, TextCells], n_rows: int, where: str) -> None:
    """Raise for text in feature columns: apart for columns of text and single bad cells.

    Parameters
    ----------
    columns : dict of str to TextCells
        The columns that hold text.
    n_rows : int
        Rows of the table; a column with text in half of them or more is no numeric column.
    where : str
        The file; opens the message.

    Raises
    ------
    ValueError
        If `columns` is not empty.
    """
    single = {name: cells for name, cells in columns.items() if 2 * cells.count < n_rows}
    for name, cells in single.items():
        rows = "1 row" if cells.count == 1 else f"{cells.count} rows"
        raise ValueError(
            f"{where}: column {name!r} holds text in {rows}; the first is row {cells.row}: "
            f"{_shorten(cells.value)!r}. Correct it, or leave the column out with --drop {name}."
        )
    if columns:
        drops = " ".join(f"--drop {name!r}" for name in list(columns)[:8])
        first = next(iter(columns.values()))
        verb = "is not numeric" if len(columns) == 1 else "are not numeric"
        raise ValueError(
            f"{where}: {_quoted(list(columns))} {verb} (row {first.row} holds "
            f"{_shorten(first.value)!r}). Leave out with {drops}, or write as numbers."
        )


def _not_found(name: str, option: str, names: Sequence[str], where: str) -> str:
    folded = {other.casefold(): other for other in names}
    close = get_close_matches(name.casefold(), folded, n=3, cutoff=0.5)
    nearest = " or ".join(repr(folded[other]) for other in close)
    guess = f"Did you mean {nearest}?" if nearest else f"It has {_quoted(names)}."
    return f"{where} has no column {name!r} ({option}). {guess}"


def _quoted(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"


def _shorten(text: str) -> str:
    return text if len(text) <= 30 else f"{text[:27]}..."


def as_text(values: Sequence[str] | NDArray[Any]) -> NDArray[Any]:
    """Make an array of Python texts: of objects, so that one long text does not widen all."""
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array
