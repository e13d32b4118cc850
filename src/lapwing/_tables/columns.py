"""Table as read, for the readers of all formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lapwing._arrays import as_dense, is_sparse
from lapwing._tables.cells import (
    EXACT,
    BadCells,
    Cells,
    as_text,
    int_if_whole,
    join_cells,
    numbers_if_plain,
    numeric_cells,
)
from lapwing._tables.roles import ColumnRoles
from lapwing._words import shell_word, shorten


@dataclass(frozen=True)
class TextColumn:
    """Column that is not a feature, such as labels, as it is written.

    Attributes
    ----------
    texts : ndarray of object of shape (n,)
        Cells without surrounding blanks; empty strings for empty cells.
    numbers : ndarray of shape (n,) or None
        Cells that are numbers in the file, NaN elsewhere; None for a column of text.
    """

    texts: NDArray[Any]
    numbers: NDArray[Any] | None = None

    @classmethod
    def blank(cls, n: int) -> TextColumn:
        """Return a column of empty cells."""
        return cls(np.full(n, "", dtype=object))

    @property
    def numbers_or_nan(self) -> NDArray[Any]:
        """The numbers; NaN for a column of text."""
        return np.full(self.texts.size, np.nan) if self.numbers is None else self.numbers

    def below_first(self) -> TextColumn:
        """Return the column without its first row."""
        return TextColumn(self.texts[1:], None if self.numbers is None else self.numbers[1:])

    def typed(self) -> NDArray[Any]:
        """Return numbers and texts; numbers with too many digits for a float remain texts."""
        if self.numbers is None:
            return self.texts
        if np.isnan(self.numbers).all() and not self.texts.any():
            return self.numbers  # no values in this batch of a numeric column
        cells = zip(self.numbers.tolist(), self.texts, strict=True)
        return as_text([int_if_whole(v) if abs(v) < EXACT else text for v, text in cells])


@dataclass(frozen=True)
class FileAnswers:
    """Labels for existing rows of a table, from a file of answers.

    Attributes
    ----------
    source : str
        The file.
    rows : ndarray of int of shape (k,)
        Rows of the table, counted from 0.
    labels : TextColumn of k rows
        Their labels in this file.
    suggested : ndarray of bool of shape (k,)
        Mask of rows that were suggested according to the file.
    difference : str
        Description of other differences from the table; empty if there are none.
    """

    source: str
    rows: NDArray[np.intp]
    labels: TextColumn
    suggested: NDArray[np.bool_]
    difference: str = ""


SUGGESTED, RANDOM = "suggested", "random"  # in `Keys.chosen`


@dataclass(frozen=True)
class Keys:
    """Names of the columns of a file of answers.

    Attributes
    ----------
    row : str
        Column with the number of the row, counted from 1 over all files of the table.
    label : str
        Column of the label, if the table has no label column.
    chosen : str
        Column that tells how the row was chosen: `SUGGESTED`, `RANDOM`, or anything else.
    """

    row: str
    label: str
    chosen: str = "chosen"


def typed_columns(columns: Mapping[str, TextColumn], decimal: str) -> dict[str, NDArray[Any]]:
    """Return columns for a format that has numbers.

    Parameters
    ----------
    columns : mapping of str to TextColumn
        Columns of a table by name.
    decimal : {'.', ','}
        Decimal mark of numbers in texts, for a table whose format has texts only.
    """
    if any(column.numbers is not None for column in columns.values()):
        return {name: column.typed() for name, column in columns.items()}
    return {name: numbers_if_plain(column.texts, decimal) for name, column in columns.items()}


@dataclass(frozen=True)
class Dialect:
    """Notation of a CSV file.

    A user of a table with semicolons and decimal commas has a spreadsheet program that expects
    them, and would parse predictions in another notation wrongly.

    Attributes
    ----------
    separator : str
        Separator of cells.
    decimal : {'.', ','}
        Decimal mark of numbers.
    encoding : str
        Python codec. If it cannot encode a text, the file is written as UTF-8.
    """

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"


USUAL = Dialect()


@dataclass(frozen=True, kw_only=True)
class FileFacts:
    """Facts of the files of a table.

    Attributes
    ----------
    source : str
        Names of the files given by the user.
    remarks : tuple of str
        Remarks about the files as a whole.
    dialect : Dialect
        Notation of the first file, for output files.
    keys : Keys or None
        Names of the columns of a file of answers; None for rows to be predicted.
    svmlight_base : int or None
        Index of the first column of svmlight files, 0 or 1.
    """

    source: str = ""
    remarks: tuple[str, ...] = ()
    dialect: Dialect = USUAL
    keys: Keys | None = None
    svmlight_base: int | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """These fields alone, for another table of the same files."""
        return {one.name: getattr(self, one.name) for one in fields(FileFacts)}


@dataclass(frozen=True)
class RawTable(FileFacts):
    """Table as read from its files, before any inference.

    Attributes
    ----------
    n : int
        Rows.
    roles : ColumnRoles
        Names of the columns.
    cells : mapping of str to Cells
        Columns that may become features, in their order; empty for formats of a matrix.
    texts : mapping of str to TextColumn
        Columns with another role, or that are kept for output.
    matrix : ndarray or CSR of shape (n, p) or None
        Numbers of the features if stored as one matrix, of which `cells` are views.
    places : ndarray of int of shape (n,), or None
        Row numbers in the spreadsheet; None if rows are counted from 1.
    default_marker : str
        Marker of "no label" in this format besides blanks; empty for none.
    decimal : {'', '.', ','}
        Usual decimal mark in such a file; empty if unknown.
    answers : tuple of FileAnswers
        Labels of files of answers, for rows of this table.
    n_empty : int
        Rows that were left out because they have no value.
    first_row : int
        Number of rows of the file before the first one, for a batch of rows.
    """

    n: int
    roles: ColumnRoles
    cells: Mapping[str, Cells] = field(default_factory=dict)
    texts: Mapping[str, TextColumn] = field(default_factory=dict)
    matrix: Any = None
    places: NDArray[np.int64] | None = None
    default_marker: str = ""
    decimal: str = ""
    answers: tuple[FileAnswers, ...] = ()
    n_empty: int = 0
    first_row: int = 0

    @property
    def labels(self) -> TextColumn | None:
        """Labels, empty for unlabelled rows; None without a label column."""
        return None if self.roles.label is None else self.texts[self.roles.label]

    @property
    def ids(self) -> NDArray[Any] | None:
        """Names of the rows, shape (n,); None without an id column."""
        return None if self.roles.id is None else self.texts[self.roles.id].texts

    @property
    def row_names(self) -> NDArray[Any]:
        """Names of the rows, or the numbers 1 to n."""
        return np.arange(1, self.n + 1) if self.ids is None else self.ids

    @property
    def is_matrix(self) -> bool:
        """Whether it is a matrix of numbers, whose columns are features without encoding."""
        return not self.cells and self.matrix is not None

    def name_row(self, row: int) -> str:
        """Name a row, counted from 0, by its number in the file or spreadsheet."""
        return name_row(row + self.first_row, self.places)

    def cells_at(self, name: str, rows: NDArray[np.intp]) -> list[str | float] | None:
        """Return the cells of a column in some rows, as number or text; None without the column."""
        if name in self.cells:
            return self.cells[name].at(rows)
        if not self.is_matrix or name not in self.roles.features:
            return None
        column: NDArray[Any] = as_dense(self.matrix[rows][:, [self.roles.features.index(name)]])
        return [float(value) for value in column.ravel()]

    def text_error(self, column: str, bad: BadCells, *, new: bool = False) -> str:
        """Describe text in a numeric column, which cannot be left out of `new` rows."""
        cure = "" if new else f", or leave the column out with --drop {shell_word(column)}"
        rows = "1 row" if bad.count == 1 else f"{bad.count} rows"
        return (
            f"{self.source}: column {column!r} holds text in {rows}; the first is "
            f"{self.name_row(bad.row)}: {shorten(bad.value)!r}. Correct it{cure}."
        )

    def as_columns(self) -> RawTable:
        """Return the table with `cells`, also that of a matrix."""
        if not self.is_matrix:
            return self
        X = as_dense(self.matrix)
        cells = zip(self.roles.features, map(numeric_cells, X.T), strict=True)
        return replace(self, cells=dict(cells), matrix=X)


def join_tables(parts: Sequence[RawTable], where: str) -> RawTable:
    """Concatenate tables with the same columns, with the name `where`.

    Parts may lack columns that are not features, such as the label. A remark counts the rows that
    were left out.
    """
    n_empty = sum(part.n_empty for part in parts)
    rows = "1 row" if n_empty == 1 else f"{n_empty} rows"
    left_out = [f"{rows} without any value left out"] if n_empty else []
    remarks = dict.fromkeys([*(text for part in parts for text in part.remarks), *left_out])
    if len(parts) == 1:
        return replace(parts[0], source=where, remarks=tuple(remarks))
    matrix: Any = None
    if all(part.is_matrix for part in parts):
        blocks = [part.matrix for part in parts]
        sparse = is_sparse(blocks[0])
        if len({X.shape[1] for X in blocks}) > 1 or any(is_sparse(X) != sparse for X in blocks):
            raise ValueError(f"{where}: the files do not have the same columns.")
        matrix = sp.vstack(blocks, format="csr") if sparse else np.concatenate(blocks)
    else:
        parts = [part.as_columns() for part in parts]
    first, decimals = parts[0], {part.decimal for part in parts}
    ignored = dict.fromkeys(name for part in parts for name in part.roles.ignored)
    row_ids = [part.roles.id for part in parts if part.roles.id is not None]
    labels = next((part for part in parts if part.labels is not None), first)
    texts = dict.fromkeys(name for part in parts for name in part.texts)
    return replace(
        first,
        n=sum(part.n for part in parts),
        roles=replace(
            first.roles,
            ignored=tuple(ignored),
            id=next(iter(row_ids), None),
            label=labels.roles.label,
        ),
        cells={name: join_cells([part.cells[name] for part in parts]) for name in first.cells},
        matrix=matrix,
        texts={
            name: _join_columns([p.texts.get(name, TextColumn.blank(p.n)) for p in parts])
            for name in texts
        },
        places=None,
        default_marker=labels.default_marker,
        remarks=tuple(remarks),
        decimal=decimals.pop() if len(decimals) == 1 else "",
        n_empty=n_empty,
        source=where,
    )


def _join_columns(columns: Sequence[TextColumn]) -> TextColumn:
    typed = any(column.numbers is not None for column in columns)
    return TextColumn(
        np.concatenate([column.texts for column in columns]),
        np.concatenate([column.numbers_or_nan for column in columns]) if typed else None,
    )


def name_row(row: int, places: NDArray[np.int64] | None) -> str:
    """Name a row, counted from 0, by its number in the file or spreadsheet."""
    return f"row {row + 1}" if places is None else f"row {places[row]} of the sheet"
