"""History of the labels: a sequence of steps that can be undone. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapwing._tables.coding import same_label

NO_CODE = -1


class Renaming(NamedTuple):
    """Another name for a class, whose rows keep it.

    Attributes
    ----------
    code : int
    before, name : str
        What it was called until then, and what it is called.
    """

    code: int
    before: str
    name: str


@dataclass(frozen=True, eq=False)
class Batch:
    """A step: labels that were given together, or a new name for a class.

    Attributes
    ----------
    number : int
        Its place among all batches, from 1.
    rows : ndarray of int
        Each once.
    codes : ndarray of int
        Their classes; `NO_CODE` takes a label away.
    by : {'user', 'model'}
        Whose answer it was; the user gave it in any case.
    time : str
        When, ISO 8601 in UTC.
    renaming : Renaming or None
        Of a batch without rows.
    asked : bool
        Whether it is the answer to a row of the queue.
    checked : tuple of (int, int)
        Check rows among its rows, and the codes that the model gave them before; `NO_CODE` where
        it had no answer.
    """

    number: int
    rows: NDArray[np.intp]
    codes: NDArray[np.int32]
    by: str = "user"
    time: str = ""
    renaming: Renaming | None = None
    asked: bool = False
    checked: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class History:
    """Batches upon the labels that the table had, and what follows from them.

    Attributes
    ----------
    base : ndarray of int of shape (n,)
        Codes of the labels that the table had.
    codes : ndarray of int of shape (n,)
        The labels now.
    classes : tuple of str
        In the order of their appearance; their places are the codes.
    first_names : tuple of str
        What they were called when they appeared.
    batches : tuple of Batch
        All of them, those that were taken back too.
    taken_back : frozenset of int
        Numbers of these.
    named : frozenset of int
        Codes of classes that were there before any step, or were named without a row.
    dropped : frozenset of int
        Codes of classes that were deleted, or merged with another one.
    """

    base: NDArray[np.int32]
    codes: NDArray[np.int32]
    classes: tuple[str, ...] = ()
    first_names: tuple[str, ...] = ()
    batches: tuple[Batch, ...] = ()
    taken_back: frozenset[int] = frozenset()
    named: frozenset[int] = frozenset()
    dropped: frozenset[int] = frozenset()

    @classmethod
    def begin(cls, base: NDArray[np.int32], classes: Sequence[str] = ()) -> History:
        """The history before anything was done."""
        named = frozenset(range(len(classes)))
        return cls(base, base, tuple(classes), tuple(classes), named=named)

    @property
    def last(self) -> Batch | None:
        """The last batch that was not taken back."""
        return next((b for b in reversed(self.batches) if b.number not in self.taken_back), None)

    @cached_property
    def hidden(self) -> frozenset[int]:
        """Codes of classes without a label that no step has left, or that were dropped."""
        there = set(self.named)
        for batch in self.batches:
            if batch.number not in self.taken_back:
                there.update(np.unique(batch.codes).tolist())
        used = set(np.unique(self.codes).tolist())
        return frozenset(range(len(self.classes))) - used - (there - self.dropped)

    @property
    def n_asked(self) -> int:
        """How many rows of the queue were answered, those that were taken back left out."""
        return sum(b.asked for b in self.batches if b.number not in self.taken_back)

    @property
    def changes_the_table(self) -> bool:
        """Whether a row has another label than in the table, or none any more."""
        had = self.base != NO_CODE
        pairs = zip(self.classes, self.first_names, strict=True)
        other_name = np.array([now != first for now, first in pairs], dtype=bool)
        moved = self.codes[had] != self.base[had]
        return bool(moved.any() or other_name[self.base[had]].any())

    def code(self, name: str) -> int | None:
        """The class of a name; 1 and 1.0 are one, as in tables. None if there is none."""
        if name in self.classes:
            return self.classes.index(name)
        return next((k for k, known in enumerate(self.classes) if same_label(name, known)), None)

    def with_class(self, name: str) -> History:
        """The same with one more class; with as many if it is there."""
        if self.code(name) is not None:
            return self
        return replace(self, classes=(*self.classes, name), first_names=(*self.first_names, name))

    def naming(self, code: int, *, there: bool) -> History:
        """The same with a class that is there without a label, or not."""
        if there:
            return replace(self, named=self.named | {code}, dropped=self.dropped - {code})
        return replace(self, named=self.named - {code}, dropped=self.dropped | {code})

    def with_batch(
        self,
        rows: NDArray[np.intp],
        codes: NDArray[np.int32],
        by: str = "user",
        time: str = "",
        asked: bool = False,
        checked: tuple[tuple[int, int], ...] = (),
    ) -> History:
        """The same with one more batch."""
        number = len(self.batches) + 1
        batch = Batch(number, rows, codes, by, time, asked=asked, checked=checked)
        now = self.codes.copy()
        now[rows] = codes
        return replace(self, batches=(*self.batches, batch), codes=now)

    def with_name(self, code: int, name: str, time: str = "") -> History:
        """The same with another name for a class, which is one more batch.

        Raises
        ------
        ValueError
            If another class is called so.
        """
        renaming = Renaming(code, self.classes[code], name)
        none = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.int32)
        batch = Batch(len(self.batches) + 1, *none, "user", time, renaming)
        batches = (*self.batches, batch)
        classes = _named(self.first_names, batches, self.taken_back)
        return replace(self, batches=batches, classes=classes)

    def without(self, number: int) -> History:
        """The same with a batch taken back: its rows have the labels that the others give them.

        Raises
        ------
        KeyError
            If there is no such batch, or it was taken back before.
        ValueError
            If it is a renaming, and another class is called so by now.
        """
        if not 1 <= number <= len(self.batches) or number in self.taken_back:
            raise KeyError(number)
        taken_back = self.taken_back | {number}
        codes = self.base.copy()
        for batch in self.batches:
            if batch.number not in taken_back:
                codes[batch.rows] = batch.codes
        classes = _named(self.first_names, self.batches, taken_back)
        return replace(self, taken_back=taken_back, codes=codes, classes=classes)

    def counts(self) -> dict[str, int]:
        """How many labels each class has."""
        found = np.bincount(self.codes[self.codes >= 0], minlength=len(self.classes))
        return dict(zip(self.classes, found.tolist(), strict=True))

    def names(self) -> NDArray[Any]:
        """The labels as texts, empty where there is none."""
        return np.array([*self.classes, ""], dtype=object)[self.codes]


def _named(
    first_names: Sequence[str], batches: Sequence[Batch], taken_back: frozenset[int]
) -> tuple[str, ...]:
    """The names of the classes after all renamings that stand.

    Raises
    ------
    ValueError
        If two of them are the same.
    """
    names, touched = list(first_names), set()
    for batch in batches:
        if batch.renaming is not None:
            touched.add(batch.renaming.code)
            if batch.number not in taken_back:
                names[batch.renaming.code] = batch.renaming.name
    for code in touched:
        others = (name for k, name in enumerate(names) if k != code)
        if any(same_label(names[code], name) for name in others):
            raise ValueError(names[code])
    return tuple(names)
