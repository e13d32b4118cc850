"""State of a labelling session: a pure function of the table and the records of its journal.

A change of the session is a record: it is applied to the state, written to the journal, and only
then shown. A restart applies the same records.

Suggested rows are harder than others, so errors on them do not estimate the error rate. Therefore
one row in `one_in` is a check row, drawn at random from all unlabelled rows, and the error is
estimated from check rows only. A check row is suggested until it is labelled: omitting rows that a
user skips would bias the sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._label.errors import RequestError, check_class_name
from lapwing._label.history import NO_CODE, NO_ROWS, Batch, History
from lapwing._label.journal import Record
from lapwing._label.learner import Estimate
from lapwing._label.material import Material
from lapwing._tables.labels import same_label

MARKS = ("flagged", "skipped")


@dataclass(frozen=True, eq=False)
class LabelingState:
    """Labels, check rows, marks and the target of a session.

    Attributes
    ----------
    history : History
        Labels.
    checks : Checks
        Check rows.
    target : float or None
        Error rate at which labelling can stop.
    marks : mapping of str to frozenset of int
        Rows with each of the `MARKS`.
    curve : mapping of int to mapping
        Estimated errors and class volumes by number of labels; volumes are keyed by class code.
    version : int
        Number of changes of the labels.
    """

    history: History
    checks: Checks
    target: float | None = None
    marks: Mapping[str, frozenset[int]] = field(
        default_factory=lambda: dict.fromkeys(MARKS, frozenset())
    )
    curve: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    version: int = 0

    @classmethod
    def of(cls, material: Material, records: Sequence[Record] = ()) -> LabelingState:
        """Return the state of a table after the records of a journal.

        Raises
        ------
        KeyError, TypeError, ValueError, IndexError, OverflowError or RequestError
            If a record is impossible for the table.
        """
        history = _of_table(material, _first_names(records), _named_classes(records))
        checks = Checks.begin(history.base, random_labels=material.random_labels)
        return reduce(cls.after, records, cls(history, checks))

    @property
    def checked(self) -> NDArray[np.intp]:
        """Labelled check rows."""
        return self.checks.answered(self.history.codes)

    def unlabeled_with(self, mark: str) -> list[int]:
        """Return the unlabelled rows with a mark."""
        codes = self.history.codes
        return sorted(row for row in self.marks[mark] if codes[row] == NO_CODE)

    def after(self, record: Record) -> LabelingState:
        """Return the state after a record.

        Raises
        ------
        RequestError
            If the change is impossible; other errors for a record that no session writes.
        """
        match record:
            case {"check": rows}:
                return replace(self, checks=self.checks.with_rows([int(row) for row in rows]))
            case {"mark": kind, "rows": rows, "on": on}:
                marked = distinct(rows, len(self.history.codes)).tolist()
                if kind not in self.marks:
                    raise RequestError(f"There is no mark {kind[:40]!r}. Use {' or '.join(MARKS)}.")
                change = frozenset.union if on else frozenset.difference
                return replace(self, marks={**self.marks, kind: change(self.marks[kind], marked)})
            case {"target": target}:
                if target is not None and not 0 < target < 1:
                    raise RequestError(f"The target {target:g} is not an error rate from 0 to 1.")
                return replace(self, target=target)
            case {"measured": {"n_labels": n_labels, "volumes": dict(volumes)} as point}:
                by_code = {self.history.code(name): n for name, n in volumes.items()}
                by_code.pop(None, None)  # classes that the page no longer has
                curve = {**self.curve, int(n_labels): {**point, "volumes": by_code}}
                return replace(self, curve=curve)
        return replace(self, history=_changed(self.history, record), version=self.version + 1)


def _of_table(material: Material, first_names: Mapping[str, str], named: Sequence[str]) -> History:
    """Return the history of the table's labels, to which the journal is applied.

    Known classes get the spelling of the journal or the table, such as 1.0 for 1.
    """
    table = material.table
    given = np.where(table.labeled, table.y, "").astype(object).tolist()
    names = [first_names.get(str(name), str(name)) for name in given]
    alike = (
        next((one for one in (*first_names, *named, *names) if same_label(one, name)), name)
        for name in material.classes
    )
    known = dict.fromkeys(first_names.get(name, name) for name in alike)
    known |= dict.fromkeys(sorted(set(names) - {""}))
    place = {name: k for k, name in enumerate(known)} | {"": NO_CODE}
    base = np.array([place[name] for name in names], dtype=np.int32)
    return History.begin(base, tuple(known))


def _first_names(records: Iterable[Record]) -> dict[str, str]:
    """Return the initial name of each class that a journal renames, by its later names."""
    history = History.begin(np.empty(0, dtype=np.int32))
    first: dict[str, str] = {}
    for record in records:
        # Other classes may be of the table, which is not known yet.
        if "rename" in record:
            history = _renamed_class(history.with_class(record["from"]), record)
        elif "undo" in record:
            history = history.without(int(record["undo"]))
        elif "batch" in record:
            history = history.with_batch(Batch(len(history.batches) + 1, *NO_ROWS))
        # A table that was saved between two renamings has a name that no class has any more.
        first |= zip(history.classes, history.first_names, strict=True)
    # If classes have swapped names, names in the table are the initial ones.
    return {name: one for name, one in first.items() if name not in history.first_names}


def _named_classes(records: Sequence[Record]) -> list[str]:
    """Return the names that a journal gives to classes."""
    given = (label for record in records for label, _ in record.get("given", ()))
    added = (record["class"] for record in records if "class" in record)
    return [name for name in (*given, *added) if name is not None]


def _changed(history: History, record: Record) -> History:
    """Apply a record to the labels."""
    match record:
        case {"undo": number}:
            return history.without(int(number))
        case {"class": name} | {"drop": name}:
            history, code = _with_class(history, name)
            return history.naming(code, there="class" in record)
        case {"rename": number, "from": before}:
            history, _ = _with_class(history, before)
            change = _renamed_class(history, record)
        case {"batch": number, "given": given, "by": by, "time": time}:
            checked = record.get("checked", ())
            codes: dict[str | None, int] = {None: NO_CODE}
            for name in [*(label for label, _ in given), *(name for _, name in checked)]:
                if name is not None:
                    history, codes[name] = _with_class(history, name)
            change = history.with_batch(
                Batch(
                    number,
                    distinct([row for _, rows in given for row in rows], len(history.codes)),
                    np.array([codes[label] for label, rows in given for _ in rows], dtype=np.int32),
                    str(by),
                    str(time),
                    asked=bool(record.get("asked", False)),
                    checked=tuple((int(row), codes[name]) for row, name in checked),
                )
            )
        case _:
            raise ValueError(record)
    if number != len(change.batches):
        raise ValueError(number)
    return change


def _with_class(history: History, name: str) -> tuple[History, int]:
    """Add a class, unless it exists, and return its code."""
    # An empty class from the start of a session has no earlier record.
    known = name if name in history.classes else check_class_name(name)
    history = history.with_class(known)
    code = history.code(known)
    assert code is not None
    return history, code


def _renamed_class(history: History, record: Record) -> History:
    code = history.index(record["from"])
    return history.with_name(code, check_class_name(record["to"]), str(record["time"]))


def refuse_unknown_rows(rows: Sequence[int], n: int) -> None:
    """Raise a RequestError if a row does not exist."""
    for row in (min(rows), max(rows)) if rows else ():
        if not 0 <= row < n:
            which = str(row) if abs(row) < 10**15 else "of that number"
            raise RequestError(f"There is no row {which}: the rows go from 0 to {n - 1}.")


def distinct(rows: Sequence[int], n: int) -> NDArray[np.intp]:
    """Return rows of a table as an array.

    Raises
    ------
    RequestError
        If there is none, or one does not exist or is given twice.
    """
    if not len(rows):
        raise RequestError("No row is selected. Select some first.")
    if len(rows) > n:
        raise RequestError("There are more rows in the message than in the table.")
    refuse_unknown_rows(rows, n)
    at = np.asarray(rows, dtype=np.intp)
    if len(np.unique(at)) < len(at):
        raise RequestError("A row is given twice. Give each row once.")
    return at


_SEED = 0
# Minimum number of check rows to judge whether the target may be met: with four, a model with an
# error rate of 20 % has no errors in two of five cases.
_ENOUGH = 5


@dataclass(frozen=True, eq=False)
class Checks:
    """Check rows: drawn at random, to estimate the error.

    Attributes
    ----------
    order : ndarray of int of shape (n,)
        Order in which rows are drawn.
    rows : tuple of int
        Rows that have been drawn.
    base : ndarray of int
        Rows labelled in the table, if these were drawn at random.
    """

    order: NDArray[np.intp]
    rows: tuple[int, ...]
    base: NDArray[np.intp]

    @classmethod
    def begin(cls, codes: NDArray[np.int32], *, random_labels: bool) -> Checks:
        """Return the state before any draw; labels of the table count if drawn at random."""
        order = np.random.default_rng(_SEED).permutation(len(codes))
        base = np.flatnonzero(codes != NO_CODE) if random_labels else np.empty(0, dtype=np.intp)
        return cls(order, (), base)

    def pending(self, codes: NDArray[np.int32]) -> list[int]:
        """Return drawn rows without a label."""
        return [row for row in self.rows if codes[row] == NO_CODE]

    def answered(self, codes: NDArray[np.int32]) -> NDArray[np.intp]:
        """Return drawn rows with a label."""
        rows = np.concatenate([self.base, np.array(self.rows, dtype=np.intp)])
        return rows[codes[rows] != NO_CODE]

    def drawn(self, codes: NDArray[np.int32], k: int) -> tuple[int, ...]:
        """Return the next k rows to draw; fewer if no more are unlabelled."""
        free = codes == NO_CODE
        free[list(self.rows)] = False
        return tuple(self.order[free[self.order]][:k].tolist())

    def with_rows(self, rows: Sequence[int]) -> Checks:
        """Add drawn rows.

        Raises
        ------
        ValueError
            If a row does not exist or has been drawn before.
        """
        known = (*self.rows, *rows)
        if len(set(known)) < len(known) or not set(rows) <= set(range(len(self.order))):
            raise ValueError(rows)
        return replace(self, rows=known)


def check_places(n_asked: int, k: int, one_in: int) -> NDArray[np.bool_]:
    """Return the mask of check rows among the next k rows: one in `one_in`, at a random place."""
    numbers = np.arange(n_asked, n_asked + k)
    blocks = numbers // one_in
    draws = {b: np.random.default_rng([_SEED, b]).integers(one_in) for b in blocks.tolist()}
    return np.array([n % one_in == draws[n // one_in] for n in numbers.tolist()], dtype=bool)


def mixed(suggested: Sequence[int], checks: Sequence[int], places: NDArray[np.bool_]) -> list[int]:
    """Merge suggested rows with check rows at the given places; each row once."""
    others = iter([row for row in suggested if row not in set(checks)])
    own = iter(checks)
    rows = [next(own if place else others, None) for place in places.tolist()]
    return [row for row in rows if row is not None]


def looks_done(target: float | None, estimate: Estimate | None) -> bool:
    """Return whether the errors on the check rows so far are within the target.

    Then suggesting check rows only is the fastest way to confirm it.
    """
    return (
        target is not None
        and estimate is not None
        and estimate.n_rows >= _ENOUGH
        and estimate.n_wrong <= target * estimate.n_rows
    )
