"""Which columns of a table are what; shared by the readers of all formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CATEGORICAL",
    "MAX_VALUES",
    "NUMERIC",
    "ColumnRoles",
    "RawTable",
    "Selection",
    "TextCells",
    "as_text",
    "nearest",
    "quoted",
    "reject_cells",
    "split_text_columns",
    "too_many_values",
]

NUMERIC, CATEGORICAL = "numeric", "categorical"
# One-hot columns dilute distances: beyond so many values, or where each value is in one row or two,
# the text names rows rather than kinds of rows.
MAX_VALUES = 20


@dataclass(frozen=True)
class RawTable:
    """What a reader hands over: not yet checked for missing values, labels still text.

    Attributes
    ----------
    X : ndarray or CSR of shape (n, p)
        The numeric features in the order of `feature_names`, NaN where missing.
    feature_names : tuple of str
        Names of all features, numeric and categorical.
    texts : mapping of str to ndarray of object of shape (n,)
        The categorical features: text, None where missing.
    labels : ndarray of object of shape (n,) or None
        Text without surrounding blanks, empty where the file has none; None without a label column.
    ids : ndarray of shape (n,) or None
        Text, or None without an id column.
    others : mapping of str to ndarray of object of shape (n,)
        Columns with another role (truth, layout), as text.
    default_marker : str
        What means "no label" in this format besides the blank; empty for nothing.
    unusable : mapping of str to str
        Of a lenient `Selection`: columns that could not be features, with the reason.
    ignored : tuple of str
        Columns that a model does not know.
    left_out : tuple of str
        Columns that were dropped or not chosen.
    """

    X: Any
    feature_names: tuple[str, ...]
    labels: NDArray[Any] | None = None
    ids: NDArray[Any] | None = None
    texts: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    others: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    default_marker: str = ""
    unusable: Mapping[str, str] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class ColumnRoles:
    """Positions of the columns by role.

    Attributes
    ----------
    label, id : int or None
        None where there is no such column.
    features : tuple of int
        In the order in which they become features.
    others : tuple of int
        Truth and layout.
    ignored : tuple of int
        Columns that the model does not know.
    left_out : tuple of int
        Columns that were dropped or not chosen.
    """

    label: int | None
    id: int | None
    features: tuple[int, ...]
    others: tuple[int, ...] = ()
    ignored: tuple[int, ...] = ()
    left_out: tuple[int, ...] = ()


@dataclass(frozen=True)
class Selection:
    """The user's choice of columns by name.

    Attributes
    ----------
    label, id, truth : str or None
        Label column, column that names the rows, column with known answers to compare with.
    drop, features : tuple of str
        Columns to leave out; those to use, empty for all others. A name that is no column and holds
        commas is a list of names.
    layout : tuple of str
        The user's own two coordinates for a map.
    expected : mapping of str to str, or None
        Names and kinds of the features that a model was fitted on; nothing else is a feature then.
    usual_id : str or None
        Without `id`: the column that names the rows if it is there.
    optional : tuple of str
        With `expected`: columns that are known not to be features and may be there or not.
    strict : bool
        With `expected`: whether other columns are an error.
    lenient : bool
        Whether text that cannot be encoded is reported instead of raised.
    """

    label: str | None = None
    id: str | None = None
    drop: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    truth: str | None = None
    layout: tuple[str, ...] = ()
    expected: Mapping[str, str] | None = None
    usual_id: str | None = None
    optional: tuple[str, ...] = ()
    strict: bool = False
    lenient: bool = False

    @property
    def others(self) -> tuple[str, ...]:
        """Columns that are read as text for another purpose."""
        return (*([] if self.truth is None else [self.truth]), *self.layout)

    @property
    def categorical(self) -> frozenset[str]:
        """Features that are known to be text."""
        known = self.expected or MappingProxyType({})
        return frozenset(name for name, kind in known.items() if kind == CATEGORICAL)

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
                f"{where}: the column name {quoted(repeated)} occurs more than once; "
                "rename the columns so that each has its own name."
            )
        drop, wanted = _split(self.drop, names), _split(self.features, names)
        roles: dict[str, Sequence[str | None]] = {"--label": [self.label], "--id": [self.id]}
        roles |= {"--drop": drop}
        roles |= {"--features": list(wanted), "--truth": [self.truth], "--map": list(self.layout)}
        for option, chosen in roles.items():
            for name in chosen:
                if name is not None and name not in names:
                    raise ValueError(_not_found(name, option, names, where))
        self._check_roles(drop, wanted, where)
        place = {name: j for j, name in enumerate(names)}
        others = tuple(place[name] for name in self.others)
        label = None if self.label is None else place[self.label]
        row_id = place.get(self.usual_id or "") if self.id is None else place[self.id]
        if self.expected is not None:
            features, ignored = self._resolve_expected(place, where)
            return ColumnRoles(label, row_id, features, others, ignored)
        taken = {self.label, self.id, *drop, *self.others}
        chosen_names = wanted or [name for name in names if name not in taken]
        features = tuple(place[name] for name in chosen_names)
        nameless = [j for j in features if not names[j]]
        if nameless:
            # Most often a row index that was saved along: learning from it would be a silent error.
            raise ValueError(
                f"{where}: column {nameless[0] + 1} has no name; name it, or take it as the id "
                "with --id '', or leave it out with --drop ''."
            )
        used = {*features, *others, label, row_id}
        left_out = tuple(j for j in range(len(names)) if j not in used)
        return ColumnRoles(label, row_id, features, others, (), left_out)

    def _check_roles(self, drop: Sequence[str], wanted: Sequence[str], where: str) -> None:
        if self.label is not None and (self.label == self.id or self.label in drop):
            raise ValueError(f"{where}: the label column {self.label!r} cannot be --id or --drop.")
        if self.truth is not None and self.truth in (self.label, self.id):
            raise ValueError(
                f"{where}: the --truth column {self.truth!r} has another role already."
            )
        for name in wanted:
            # A feature that is the label or the truth would be an answer given away.
            if name in (self.label, self.id, self.truth, *drop):
                raise ValueError(f"{where}: {name!r} is in --features and has another role.")

    def _resolve_expected(
        self, place: Mapping[str, int], where: str
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        expected = self.expected or {}
        missing = [name for name in expected if name not in place]
        if missing:
            close = nearest(missing[0], [name for name in place if name not in expected])
            guess = f" Is it {' or '.join(map(repr, close))} here?" if close else ""
            raise ValueError(
                f"{where} has no column {quoted(missing)}, on which the others rest "
                f"(features: {quoted(list(expected))}).{guess} Rename or add the column."
            )
        known = {*expected, *self.optional, *self.others, self.label, self.id}
        known |= set(_split(self.drop, list(place)))
        unknown = [name for name in place if name not in known]
        if unknown and self.strict:
            raise ValueError(
                f"{where} has a column {quoted(unknown)} that the first file has not. Give all "
                "files the same columns, or leave it out with --drop."
            )
        return tuple(place[name] for name in expected), tuple(place[name] for name in unknown)


@dataclass
class TextCells:
    """Cells of one feature column that are text: how many, and the first of them."""

    count: int
    row: int
    value: str


def split_text_columns(columns: Mapping[str, TextCells], n_filled: Mapping[str, int]) -> list[str]:
    """Tell columns of text (half of the filled cells or more) from columns with bad cells.

    Parameters
    ----------
    columns : mapping of str to TextCells
        Columns that hold text.
    n_filled : mapping of str to int
        Their cells that are not missing.

    Returns
    -------
    list of str
        Names of the columns of text; the others hold numbers and some bad cells.
    """
    return [name for name, cells in columns.items() if 2 * cells.count >= n_filled[name]]


def reject_cells(name: str, cells: TextCells, where: str) -> None:
    """Raise for a numeric column with text in some cells."""
    rows = "1 row" if cells.count == 1 else f"{cells.count} rows"
    raise ValueError(
        f"{where}: column {name!r} holds text in {rows}; the first is row {cells.row}: "
        f"{shorten(cells.value)!r}. Correct it, or leave the column out with --drop {name}."
    )


def too_many_values(n_values: Mapping[str, int], firsts: Mapping[str, str], where: str) -> str:
    """Say that text columns have too many values to be encoded."""
    names = list(n_values)
    verb = "is not numeric" if len(names) == 1 else "are not numeric"
    drops = " ".join(f"--drop {name!r}" for name in names[:8])
    return (
        f"{where}: {quoted(names)} {verb} (the first row of {names[0]!r} holds "
        f"{shorten(firsts[names[0]])!r}) and not few-valued: text is one-hot encoded for up to "
        f"{MAX_VALUES} values, each in two rows or more on average. Leave out with {drops}, "
        f"name the rows with --id, or write as numbers."
    )


def nearest(name: str, names: Iterable[str], n: int = 3) -> list[str]:
    """Give the names that look most like `name`, best first; case does not count."""
    folded = {other.casefold(): other for other in names}
    close = get_close_matches(name.casefold(), folded, n=n, cutoff=0.5)
    return [folded[other] for other in close]


def quoted(names: Sequence[str]) -> str:
    """Write a list of names, shortened."""
    shown = ", ".join(repr(name) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"


def shorten(text: str) -> str:
    """Cut a long text."""
    return text if len(text) <= 30 else f"{text[:27]}..."


def as_text(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """Make an array of Python texts: of objects, so that one long text does not widen all."""
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


def _not_found(name: str, option: str, names: Sequence[str], where: str) -> str:
    close = " or ".join(map(repr, nearest(name, names)))
    guess = f"Did you mean {close}?" if close else f"It has {quoted(names)}."
    return f"{where} has no column {name!r} ({option}). {guess}"


def _split(chosen: Sequence[str], names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in chosen:
        parts = [name] if name in names or "," not in name else name.split(",")
        found += [part if part in names else part.strip() for part in parts]
    return list(dict.fromkeys(found))
