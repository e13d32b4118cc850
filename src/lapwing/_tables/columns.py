"""Table as read, and the roles of its columns, for the readers of all formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain, count
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
    read_amount,
)
from lapwing._tables.encoders import NUMERIC
from lapwing._tables.options import USUAL, Dialect, ReadOptions
from lapwing._tables.words import join_messages, name_row, shorten, without_guard
from lapwing._words import guess, quoted


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
    n_suggested : int
        Number of labels of suggested rows, as far as known from the files.
    svmlight_base : int or None
        Index of the first column of svmlight files, 0 or 1.
    """

    source: str = ""
    remarks: tuple[str, ...] = ()
    dialect: Dialect = USUAL
    keys: Keys | None = None
    n_suggested: int = 0
    svmlight_base: int | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """These fields alone, for another table of the same files."""
        return {one.name: getattr(self, one.name) for one in fields(FileFacts)}


@dataclass(frozen=True)
class RawTable(FileFacts):
    """Table as read from its files: columns by role, before any inference.

    Attributes
    ----------
    n : int
        Rows.
    cells : mapping of str to Cells
        Columns that may become features, in their order; empty for formats of a matrix.
    matrix : ndarray or CSR of shape (n, p) or None
        Numbers of these columns if stored as one matrix, of which `cells` are views.
    matrix_names : tuple of str
        Names of the columns of a matrix without `cells`.
    labels : TextColumn or None
        Labels, empty for unlabelled rows; None without a label column.
    ids : ndarray of shape (n,) or None
        Text, or None without an id column.
    others : mapping of str to TextColumn
        Columns with another role (truth, layout), or that are kept for output.
    places : ndarray of int of shape (n,), or None
        Row numbers in the spreadsheet; None if rows are counted from 1.
    default_marker : str
        Marker of "no label" in this format besides blanks; empty for none.
    decimal : {'', '.', ','}
        Usual decimal mark in such a file; empty if unknown.
    columns : tuple of str
        All columns of the first file.
    ignored : tuple of str
        Columns unknown to the model.
    left_out : tuple of str
        Columns that were dropped or not chosen.
    answers : tuple of FileAnswers
        Labels that are not merged into `labels` yet.
    """

    n: int
    cells: Mapping[str, Cells] = field(default_factory=dict)
    matrix: Any = None
    matrix_names: tuple[str, ...] = ()
    labels: TextColumn | None = None
    ids: NDArray[Any] | None = None
    others: Mapping[str, TextColumn] = field(default_factory=dict)
    places: NDArray[np.int64] | None = None
    default_marker: str = ""
    decimal: str = ""
    columns: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    answers: tuple[FileAnswers, ...] = ()

    @classmethod
    def by_roles(
        cls,
        n: int,
        roles: ColumnRoles,
        cells: Callable[[int], Cells] | None,
        texts: Callable[[int], TextColumn],
        **more: Any,
    ) -> RawTable:
        """Make the table of the columns with a role.

        Parameters
        ----------
        n : int
            Rows.
        roles : ColumnRoles
        cells : callable or None
            Reads the feature at a position; None if features are in a matrix.
        texts : callable
            Reads the column at a position for any other role.
        **more : object
            Further fields of the table.
        """
        names = roles.names
        return cls(
            n,
            {} if cells is None else {names[j]: cells(j) for j in roles.features},
            labels=None if roles.label is None else texts(roles.label),
            ids=None if roles.id is None else texts(roles.id).texts,
            others={names[j]: texts(j) for j in roles.others},
            columns=names,
            ignored=roles.ignored,
            left_out=roles.left_out,
            **more,
        )

    @property
    def is_matrix(self) -> bool:
        """Whether it is a matrix of numbers, whose columns are features without encoding."""
        return not self.cells and self.matrix is not None

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that may become features."""
        return self.matrix_names if self.is_matrix else tuple(self.cells)

    def cells_at(self, name: str, rows: NDArray[np.intp]) -> list[str | float] | None:
        """Return the cells of a column in some rows, as number or text; None without the column."""
        if name in self.cells:
            return self.cells[name].at(rows)
        if name not in self.matrix_names:
            return None
        block = self.matrix[rows][:, [self.matrix_names.index(name)]]
        dense: NDArray[Any] = as_dense(block)
        return [float(value) for value in dense.ravel()]

    def text_error(self, column: str, bad: BadCells, *, new: bool = False) -> str:
        """Describe text in a numeric column, which cannot be left out of `new` rows."""
        cure = "" if new else f", or leave the column out with --drop {column}"
        rows = "1 row" if bad.count == 1 else f"{bad.count} rows"
        return (
            f"{self.source}: column {column!r} holds text in {rows}; the first is "
            f"{name_row(bad.row, self.places)}: {shorten(bad.value)!r}. Correct it{cure}."
        )

    def as_columns(self) -> RawTable:
        """Return the table with `cells`, also that of a matrix."""
        if not self.is_matrix:
            return self
        X = as_dense(self.matrix)
        cells = {name: numeric_cells(X[:, j]) for j, name in enumerate(self.names)}
        return replace(self, cells=cells, matrix=X, matrix_names=())


def join_tables(parts: Sequence[RawTable], where: str) -> RawTable:
    """Concatenate tables with the same columns, with the name `where`."""
    if len(parts) == 1:
        return replace(parts[0], source=where)
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
    labels = [part.labels for part in parts if part.labels is not None]
    # Parts may lack columns that are kept for output only.
    others = dict.fromkeys(name for part in parts for name in part.others)
    return replace(
        first,
        n=sum(part.n for part in parts),
        cells={name: join_cells([part.cells[name] for part in parts]) for name in first.cells},
        matrix=matrix,
        labels=_join_columns(labels) if labels else None,
        ids=join_arrays([part.ids for part in parts]),
        others={
            name: _join_columns([p.others.get(name, TextColumn.blank(p.n)) for p in parts])
            for name in others
        },
        places=None,
        remarks=tuple(dict.fromkeys(text for part in parts for text in part.remarks)),
        ignored=tuple(dict.fromkeys(name for part in parts for name in part.ignored)),
        decimal=decimals.pop() if len(decimals) == 1 else "",
        source=where,
    )


def join_arrays(columns: Sequence[NDArray[Any] | None]) -> NDArray[Any] | None:
    """Concatenate columns that may be None."""
    known = [column for column in columns if column is not None]
    return np.concatenate(known) if known else None


def _join_columns(columns: Sequence[TextColumn]) -> TextColumn:
    typed = any(column.numbers is not None for column in columns)
    return TextColumn(
        np.concatenate([column.texts for column in columns]),
        np.concatenate([column.numbers_or_nan for column in columns]) if typed else None,
    )


@dataclass(frozen=True)
class ColumnRoles:
    """Positions of the columns by role; names of those without one.

    Attributes
    ----------
    names : tuple of str
        Names of all columns.
    label, id : int or None
        None if there is no such column.
    features : tuple of int
        Feature columns, in the order of the features.
    others : tuple of int
        Truth and layout.
    ignored : tuple of str
        Names of columns unknown to the model.
    left_out : tuple of str
        Names of the columns that were dropped or not chosen.
    remarks : tuple of str
        Remarks on changed names.
    """

    names: tuple[str, ...]
    label: int | None
    id: int | None
    features: tuple[int, ...]
    others: tuple[int, ...] = ()
    ignored: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


# The label or the truth as a feature would leak the answer.
_EXCLUSIVE = {
    "--id": ["--label"],
    "--drop": ["--label"],
    "--truth": ["--label", "--id"],
    "--text": ["--label", "--id", "--truth"],
    "--image": ["--label", "--id", "--truth"],
    "--features": ["--label", "--id", "--truth", "--drop"],
}


@dataclass(frozen=True)
class Selection(ReadOptions):
    """Columns to find in a file: the user's choice, and those that a model needs.

    Attributes
    ----------
    expected : mapping of str to str, or None
        Names and kinds of the columns of the model, or of the first of several files; no other
        columns are features then.
    usual_id : str or None
        Column with the names of the rows, used if present and the user gives no id.
    optional : tuple of str
        With `expected`: columns that are not features and may be missing.
    same_columns : bool
        With `expected`: whether other columns are an error.
    partial : bool
        With `expected`: whether any column may be missing, as in a file of answers.
    grouped : bool
        Whether points may separate groups of three digits, because the table of the model had
        decimal commas.
    svmlight_base : int or None
        Base of the model's svmlight file.
    """

    expected: Mapping[str, str] | None = None
    usual_id: str | None = None
    optional: tuple[str, ...] = ()
    same_columns: bool = False
    partial: bool = False
    grouped: bool = False
    svmlight_base: int | None = None

    @classmethod
    def of(cls, options: ReadOptions, **known: Any) -> Selection:
        """Return the selection of a user, with further fields."""
        return cls(**vars(options) | known)

    @property
    def others(self) -> tuple[str, ...]:
        """Columns that are read as text for another purpose."""
        truth = [] if self.truth is None else [self.truth]
        return (*truth, *self.layout, *self.shown)

    @property
    def texts(self) -> frozenset[str]:
        """Features that are known not to be numbers."""
        known = (self.expected or {}).items()
        return frozenset(name for name, kind in known if kind != NUMERIC)

    def find(self, header: Sequence[str], where: str) -> ColumnRoles:
        """Find the chosen columns in the header of a table, with remarks on changed names.

        Raises
        ------
        ValueError
            As for `resolve`, and if the user has chosen a column by a name of two columns.
        """
        names, remarks = self._name_columns(header, where)
        return replace(self.resolve(names, where), remarks=tuple(remarks))

    def _name_columns(self, names: Sequence[str], where: str) -> tuple[list[str], list[str]]:
        """Rename the columns of a table to their known names, with remarks on the changes."""
        if self.partial:  # written by lapwing, possibly changed by a spreadsheet program
            names = [
                name if name in (self.expected or ()) else without_guard(name) for name in names
            ]
        if self.strict:
            return list(names), []
        chosen = {self.label, self.id, self.usual_id, *self.others, *self.drop}
        chosen |= {*self.features, *self.keep}
        twice = [name for name, k in Counter(names).items() if k > 1 and name and name in chosen]
        if twice:
            raise ValueError(
                f"{where}: {quoted(twice)} is the name of more than one column, so it is not clear "
                "which is meant; rename the columns so that each has its own name."
            )
        return tidy_names(names, rename_blank="" not in chosen)

    def resolve(self, names: Sequence[str], where: str) -> ColumnRoles:
        """Find the chosen columns among `names`.

        Raises
        ------
        ValueError
            If a chosen name is missing, has two roles, or names are repeated or blank.
        """
        repeated = [name for name, k in Counter(names).items() if k > 1]
        if repeated:
            raise ValueError(
                f"{where}: the column name {quoted(repeated)} occurs more than once; "
                "rename the columns so that each has its own name."
            )
        if not self.partial:
            self._check_chosen(names, where)
        place: dict[str | None, int] = {name: j for j, name in enumerate(names)}
        label, row_id = place.get(self.label), place.get(self._id_column)
        named = [place[name] for name in self.others if name in place]
        others = tuple(range(len(names)) if self.whole else named)
        if self.expected is not None:
            found, ignored = self._find_expected(names, where)
            features = tuple(place[name] for name in found)
            return ColumnRoles(tuple(names), label, row_id, features, others, ignored)
        taken = {self.label, self.id, *split_names(self.drop, names), *self.others}
        chosen = split_names(self.features, names) or [n for n in names if n not in taken]
        features = tuple(place[name] for name in chosen)
        nameless = [j for j in features if not names[j]]
        if nameless:
            # Usually a row index that was saved with the data, which must not be a feature.
            raise ValueError(
                f"{where}: column {nameless[0] + 1} has no name; name it, or take it as the id "
                "with --id '', or leave it out with --drop ''."
            )
        used = {*features, *named, label, row_id}
        left_out = tuple(name for j, name in enumerate(names) if j not in used)
        return ColumnRoles(tuple(names), label, row_id, features, others, (), left_out)

    @property
    def _id_column(self) -> str | None:
        return self.usual_id if self.id is None else self.id

    def insisted(self, names: Sequence[str]) -> frozenset[str]:
        """Return the columns that must be used, regardless of their content."""
        named = {n for c in (self.keep, self.features) for n in split_names(c, names)}
        return self.free_texts(names) | named

    def free_texts(self, names: Sequence[str]) -> frozenset[str]:
        """Return the columns declared as free text, or as names of images to be encoded."""
        found = {*split_names(self.text, names), self.picture}
        return frozenset(name for name in found if name is not None)

    def _check_chosen(self, names: Sequence[str], where: str) -> None:
        """Raise ValueError for chosen columns that do not exist or have two roles."""
        roles: dict[str, Sequence[str | None]] = {
            "--label": [] if self.absent and self.label not in names else [self.label],
            "--id": [self.id],
            "--drop": split_names(self.drop, names),
            "--features": split_names(self.features, names),
            "--keep": split_names(self.keep, names),
            "--truth": [self.truth],
            "--map": self.layout,
            "--text": split_names(self.text, names),
            "--image": (*self.shown, self.picture),
        }
        chosen = [(flag, n) for flag, some in roles.items() for n in some if n is not None]
        lost = [_not_found(name, flag, names, where) for flag, name in chosen if name not in names]
        if lost:
            raise ValueError(join_messages(where, lost))
        for flag, others in _EXCLUSIVE.items():
            # Names of images may be ids as well, unless they are encoded.
            for name in [self.picture] if flag == "--image" else roles[flag]:
                other = next((o for o in others if name is not None and name in roles[o]), None)
                if other is not None:
                    raise ValueError(f"{where}: column {name!r} cannot be {flag} and {other}.")

    def _find_expected(self, names: Sequence[str], where: str) -> tuple[list[str], tuple[str, ...]]:
        """Return the expected columns, and the names of unknown ones."""
        expected = self.expected or {}
        known = {*expected, *self.optional, *self.others, self.label, self._id_column}
        known |= set(split_names(self.drop, names))
        unknown = tuple(name for name in names if name not in known)
        if self.partial:
            return [name for name in expected if name in names], unknown
        missing = [name for name in expected if name not in names]
        if missing:
            others = [name for name in names if name not in expected]
            here = guess(missing[0], others, words=" Is it {} here?")
            raise ValueError(
                f"{where} has no column {quoted(missing)}, which is needed "
                f"(features: {quoted(list(expected))}).{here} Rename or add the column."
            )
        if unknown and self.same_columns:
            raise ValueError(
                f"{where} has a column {quoted(unknown)} that the first file does not have. Give "
                "all files the same columns, or leave it out with --drop."
            )
        return list(expected), unknown


def tidy_names(names: Sequence[str], *, rename_blank: bool = True) -> tuple[list[str], list[str]]:
    """Make the names of columns unique.

    Parameters
    ----------
    names : sequence of str
        Names in the file.
    rename_blank : bool, default=True
        Whether the first column without a name gets one.

    Returns
    -------
    names : list of str
        A second "price" is "price (2)", and a column without a name has its number.
    remarks : list of str
        Remarks on the changes.
    """
    taken = {name for name in names if name}
    tidy: list[str] = []
    again: list[str] = []
    for j, name in enumerate(names):
        if not (name or rename_blank or "" in tidy):
            tidy.append("")
            continue
        base = name or f"column {j + 1}"
        numbered = chain([base], (f"{base} ({k})" for k in count(2)))
        new = next(one for one in numbered if one not in tidy and (one == name or one not in taken))
        if name and new != name:
            again.append(new)
        tidy.append(new)
    remark = f"names that occur twice were numbered: {quoted(again)}"
    return tidy, [remark] if again else []


def _not_found(name: str, option: str, names: Sequence[str], where: str) -> str:
    message = f"{where} has no column {name!r} ({option})."
    if _look_like_values(names):
        return (
            f"{message} The names of the columns would be {quoted(names)}, which look like values: "
            "write a line with the names above them."
        )
    return f"{message} {guess(name, names) or f'It has {quoted(names)}.'}"


def _look_like_values(names: Sequence[str]) -> bool:
    """Return whether most names look like values, so that the header is probably missing.

    Distinct whole numbers may be names, such as years or wavelengths.
    """
    numbers = sum(read_amount(name, ".") is not None and not name.isdigit() for name in names)
    return 2 * numbers > len(names)


def split_names(chosen: Sequence[str], names: Sequence[str]) -> list[str]:
    """Split lists with commas, unless they are names of columns."""
    found: list[str] = []
    for name in chosen:
        parts = [name] if name in names or "," not in name else name.split(",")
        found += [part if part in names else part.strip() for part in parts]
    return list(dict.fromkeys(found))
