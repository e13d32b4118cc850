"""Roles of the columns of a table: the options of the user, and the columns that they select."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any

from lapwing._tables.cells import read_amount, without_guard
from lapwing._words import guess, join_messages, quoted

DECIMALS = ("auto", ".", ",")
DATE_ORDERS = ("auto", "day", "month")
SEPARATORS = {"auto": "", ",": ",", ";": ";", "|": "|", "tab": "\t"}


def check_choice(flag: str, value: str, known: Collection[str]) -> None:
    """Raise ValueError for a value of an option that is not one of the known ones."""
    if value not in known:
        raise ValueError(f"{flag} {value!r} must be one of {', '.join(known)}.")


@dataclass(frozen=True)
class ReadOptions:
    """Options of reading a table: roles of its columns, and notation of its cells.

    Attributes
    ----------
    label : str or None
        Column (array, for NPZ files) with the labels. None means `labels_file`, or the targets of
        svmlight files.
    id : str or None
        Column (or array) with the names of the rows; None means row numbers from 1.
    truth : str or None
        Column with true labels; never a feature.
    features : tuple of str
        Columns to use as features regardless of their content; empty for all others. A name with
        commas that is not a column is a list of names, also in `drop` and `keep`.
    drop : tuple of str
        Columns to leave out.
    keep : tuple of str
        Columns to use even if they would be left out automatically.
    text : tuple of str
        Columns to treat as free text.
    encoder : str or None
        Name of the encoder of free text, or of the images of `picture`; None means tf-idf weights.
    picture : str or None
        Column with names of image files for the encoder.
    layout : tuple of str
        Two columns with coordinates for a map; never features.
    shown : tuple of str
        Columns for display, such as texts and names of images; never features.
    labels_file : path-like or None
        File of labels in the order of the rows, one per line or an NPY array.
    unlabeled : tuple of str
        Values of the label column that mean "no label". With the empty string, none of the usual
        words does, so that NA is a class; blanks always do.
    regression : bool or None
        Whether the labels are numbers to predict; None decides by fractions in the labels.
    incomplete : bool
        Whether labels may be missing altogether, or be of one class, because more will be added.
    absent : bool
        Whether the label column may be missing.
    missing : bool
        Whether features may be missing, because they will be imputed.
    strict : bool
        Whether anything but plain numbers and text with few distinct values is an error: no decimal
        commas, no dates, no column left out, and UTF-8 only.
    decimal : {'auto', '.', ','}
        Decimal mark of numbers in texts; 'auto' detects it for each column.
    dates : {'auto', 'day', 'month'}
        Whether the day or the month comes first in ambiguous dates.
    sheet : str or None
        Sheet of a spreadsheet; None means the first one that is not empty.
    skip_lines : int or None
        Number of lines of a CSV file above the column names; None detects it.
    separator : {'auto', ',', ';', '|', 'tab'}
        Separator of the cells of a CSV file; 'auto' detects it.
    rows : tuple of int, or None
        First row and number of rows to read from a Parquet file; None means all.
    columns : tuple of str
        Columns to read from a Parquet file; empty means all.
    whole : bool
        Whether to keep all columns unchanged, to be written with predictions.
    """

    label: str | None = None
    id: str | None = None
    truth: str | None = None
    features: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    encoder: str | None = None
    picture: str | None = None
    layout: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    labels_file: str | os.PathLike[str] | None = None
    unlabeled: tuple[str, ...] = ()
    regression: bool | None = False
    incomplete: bool = False
    absent: bool = False
    missing: bool = True
    strict: bool = False
    decimal: str = "auto"
    dates: str = "auto"
    sheet: str | None = None
    skip_lines: int | None = None
    separator: str = "auto"
    rows: tuple[int, int] | None = None
    columns: tuple[str, ...] = ()
    whole: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for invalid options."""
        check_choice("--decimal", self.decimal, DECIMALS)
        check_choice("--dates", self.dates, DATE_ORDERS)
        check_choice("--separator", self.separator, SEPARATORS)
        if len(self.layout) not in (0, 2):
            raise ValueError(f"--map takes two columns, x and y; {len(self.layout)} given.")
        if self.label is not None and self.labels_file is not None:
            raise ValueError("--label and --labels are two places for the labels; give one.")
        if self.strict and self.keep:
            raise ValueError("--keep is of no use with --strict, which leaves no column out.")


@dataclass(frozen=True)
class ColumnRoles:
    """Names of columns by role.

    Attributes
    ----------
    names : tuple of str
        All columns.
    features : tuple of str
        Columns that may become features, in their order.
    texts : tuple of str
        Columns with another role, or that are kept for output; with those of labels and ids.
    label, id : str or None
        None if there is no such column.
    ignored : tuple of str
        Columns unknown to the model.
    left_out : tuple of str
        Columns that were dropped or not chosen.
    remarks : tuple of str
        Remarks on changed names.
    """

    names: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    label: str | None = None
    id: str | None = None
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
    empty_rows : bool
        Whether rows of a CSV file without any value are rows of the table.
    """

    expected: Mapping[str, str] | None = None
    usual_id: str | None = None
    optional: tuple[str, ...] = ()
    same_columns: bool = False
    partial: bool = False
    grouped: bool = False
    svmlight_base: int | None = None
    empty_rows: bool = False

    @classmethod
    def of(cls, options: ReadOptions, **known: Any) -> Selection:
        """Return the selection of a user, with further fields."""
        return cls(**vars(options) | known)

    def others(self, names: Collection[str]) -> tuple[str, ...]:
        """Return the columns that are read as text for another purpose."""
        truth = [] if self.truth is None else [self.truth]
        return (*truth, *self.layout, *split_names(self.shown, names))

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
        chosen = {self.label, self.id, self.usual_id, self.picture, *self.others(names)}
        chosen |= {*split_names((*self.drop, *self.features, *self.keep, *self.text), names)}
        twice = [name for name, k in Counter(names).items() if k > 1 and name and name in chosen]
        if twice:
            raise ValueError(
                f"{where}: {quoted(twice)} is the name of more than one column, so it is not clear "
                "which is meant; rename the columns so that each has its own name."
            )
        return tidy_names(names, rename_blank="" not in chosen)

    def resolve(self, header: Sequence[str], where: str) -> ColumnRoles:
        """Find the chosen columns among the names of a header.

        Raises
        ------
        ValueError
            If a chosen name is missing, has two roles, or names are repeated or blank.
        """
        names = Counter(header)
        repeated = [name for name, k in names.items() if k > 1]
        if repeated:
            raise ValueError(
                f"{where}: the column name {quoted(repeated)} occurs more than once; "
                "rename the columns so that each has its own name."
            )
        if not self.partial:
            self._check_chosen(names, where)
        label, row_id = (one if one in names else None for one in (self.label, self._id_column))
        named = [
            one for one in (label, row_id, *self.others(names)) if one in names and one is not None
        ]
        texts = tuple(dict.fromkeys(names if self.whole else named))
        if self.expected is not None:
            features, ignored = self._find_expected(names, where)
            return ColumnRoles(tuple(names), features, texts, label, row_id, ignored)
        taken = {self.label, self.id, *split_names(self.drop, names), *self.others(names)}
        chosen = split_names(self.features, names) or [n for n in names if n not in taken]
        if "" in chosen:
            # Usually a row index that was saved with the data, which must not be a feature.
            raise ValueError(
                f"{where}: column {header.index('') + 1} has no name; name it, or take it as "
                "the id with --id '', or leave it out with --drop ''."
            )
        used = {*chosen, *named}
        left_out = tuple(name for name in names if name not in used)
        return ColumnRoles(tuple(names), tuple(chosen), texts, label, row_id, (), left_out)

    @property
    def _id_column(self) -> str | None:
        return self.usual_id if self.id is None else self.id

    def insisted(self, names: Collection[str]) -> frozenset[str]:
        """Return the columns that must be used, regardless of their content."""
        named = {n for c in (self.keep, self.features) for n in split_names(c, names)}
        return self.free_texts(names) | named

    def free_texts(self, names: Collection[str]) -> frozenset[str]:
        """Return the columns declared as free text, or as names of images to be encoded."""
        found = {*split_names(self.text, names), self.picture}
        return frozenset(name for name in found if name is not None)

    def _check_chosen(self, names: Collection[str], where: str) -> None:
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
            "--image": (*split_names(self.shown, names), self.picture),
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

    def _find_expected(
        self, names: Collection[str], where: str
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the expected columns, and the names of unknown ones."""
        expected = self.expected or {}
        known = {*expected, *self.optional, *self.others(names), self.label, self._id_column}
        known |= set(split_names(self.drop, names))
        unknown = tuple(name for name in names if name not in known)
        if self.partial:
            return tuple(name for name in expected if name in names), unknown
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
        return tuple(expected), unknown


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
    given = set(names)
    tidy: dict[str, None] = {}  # in order, as tables may have thousands of columns
    again: list[str] = []
    for j, name in enumerate(names):
        if not (name or rename_blank or "" in tidy):
            tidy[""] = None
            continue
        base = name or f"column {j + 1}"
        numbered = chain([base], (f"{base} ({k})" for k in count(2)))
        new = next(one for one in numbered if one not in tidy and (one == name or one not in given))
        if name and new != name:
            again.append(new)
        tidy[new] = None
    remark = f"names that occur twice were numbered: {quoted(again)}"
    return list(tidy), [remark] if again else []


def _not_found(name: str, option: str, names: Collection[str], where: str) -> str:
    message = f"{where} has no column {name!r} ({option})."
    # Distinct whole numbers may be names, such as years or wavelengths.
    values = [one for one in names if read_amount(one, ".") is not None and not one.isdigit()]
    if 2 * len(values) > len(names):
        return (
            f"{message} The names of the columns would be {quoted(names)}, which look like values: "
            "write a line with the names above them."
        )
    return f"{message} {guess(name, names) or f'It has {quoted(names)}.'}"


def split_names(chosen: Sequence[str], names: Collection[str]) -> list[str]:
    """Split lists with commas, unless they are names of columns."""
    found: list[str] = []
    for name in chosen:
        parts = [name] if name in names or "," not in name else name.split(",")
        found += [part if part in names else part.strip() for part in parts]
    return list(dict.fromkeys(found))
