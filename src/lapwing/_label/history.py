"""History of the labels: an immutable sequence of steps that can be undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapwing._label.errors import MOST_CLASSES, RequestError
from lapwing._tables.labels import same_label

NO_CODE = -1
NO_ROWS = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.int32)


class Renaming(NamedTuple):
    """Renaming of a class.

    Attributes
    ----------
    code : int
    before, name : str
        Previous and new name.
    """

    code: int
    before: str
    name: str


@dataclass(frozen=True, eq=False)
class Batch:
    """Step: labels that were given together, or a new name for a class.

    Attributes
    ----------
    number : int
        Number among all batches, from 1.
    rows : ndarray of int
        Distinct rows.
    codes : ndarray of int
        Classes of the rows; `NO_CODE` removes a label.
    by : {'user', 'model'}
        Source of the label: typed by the user, or a prediction that the user accepted.
    time : str
        Time, ISO 8601 in UTC.
    renaming : Renaming or None
        Renaming, for a batch without rows.
    asked : bool
        Whether the row was in the queue.
    checked : tuple of (int, int)
        Check rows among the rows, and their predicted codes before the label; `NO_CODE` if there
        was no prediction.
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
    """Initial labels and batches, with the resulting labels.

    Attributes
    ----------
    base : ndarray of int of shape (n,)
        Codes of the labels of the table.
    codes : ndarray of int of shape (n,)
        Codes of the current labels.
    classes : tuple of str
        Classes in the order of appearance; the positions are the codes.
    first_names : tuple of str
        Initial names of the classes.
    batches : tuple of Batch
        All batches, including those that were undone.
    taken_back : frozenset of int
        Numbers of batches that were undone.
    named : frozenset of int
        Codes of classes that existed before any step, or were added without a row.
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
        """Return the initial history."""
        named = frozenset(range(len(classes)))
        return cls(base, base, tuple(classes), tuple(classes), named=named)

    @property
    def last(self) -> Batch | None:
        """Last batch that has not been undone."""
        return next((b for b in reversed(self.batches) if b.number not in self.taken_back), None)

    @cached_property
    def hidden(self) -> frozenset[int]:
        """Codes of classes that have disappeared with an undone step, or were dropped."""
        there = set(self.named)
        for batch in self.batches:
            if batch.number not in self.taken_back:
                there.update(np.unique(batch.codes).tolist())
        used = set(np.unique(self.codes).tolist())
        return frozenset(range(len(self.classes))) - used - (there - self.dropped)

    @property
    def n_labeled(self) -> int:
        """Number of labelled rows."""
        return int(np.count_nonzero(self.codes >= 0))

    @property
    def n_asked(self) -> int:
        """Number of labelled rows of the queue, without those that were undone."""
        return sum(b.asked for b in self.batches if b.number not in self.taken_back)

    @property
    def changes_the_table(self) -> bool:
        """Whether the label of some row differs from that in the table."""
        had = self.base != NO_CODE
        pairs = zip(self.classes, self.first_names, strict=True)
        other_name = np.array([now != first for now, first in pairs], dtype=bool)
        moved = self.codes[had] != self.base[had]
        return bool(moved.any() or other_name[self.base[had]].any())

    def code(self, name: str) -> int | None:
        """Return the class of a name (1 and 1.0 are equal, as in tables); None if unknown."""
        if name in self.classes:
            return self.classes.index(name)
        return next((k for k, known in enumerate(self.classes) if same_label(name, known)), None)

    def index(self, name: str) -> int:
        """Return the class of exactly this name.

        Raises
        ------
        RequestError
            If there is none.
        """
        if name not in self.classes:
            raise RequestError(f"There is no class {name!r}; perhaps it was renamed.", 409)
        return self.classes.index(name)

    def with_class(self, name: str) -> History:
        """Add a class, unless it exists.

        Raises
        ------
        RequestError
            If there are too many classes.
        """
        if self.code(name) is not None:
            return self
        if len(self.classes) >= MOST_CLASSES:
            raise RequestError(
                f"There are {MOST_CLASSES} classes already, which is the limit.", 409
            )
        return replace(self, classes=(*self.classes, name), first_names=(*self.first_names, name))

    def naming(self, code: int, *, there: bool) -> History:
        """Set whether a class exists without a label."""
        if there:
            return replace(self, named=self.named | {code}, dropped=self.dropped - {code})
        return replace(self, named=self.named - {code}, dropped=self.dropped | {code})

    def with_batch(self, batch: Batch) -> History:
        """Add a batch, whose number is the next one."""
        codes = self.codes.copy()
        codes[batch.rows] = batch.codes
        return replace(self, batches=(*self.batches, batch), codes=codes)

    def with_name(self, code: int, name: str, time: str = "") -> History:
        """Add a batch that renames a class.

        Raises
        ------
        RequestError
            If another class has this name.
        """
        before, number = self.classes[code], len(self.batches) + 1
        renaming = Renaming(code, before, name)
        after = self.with_batch(Batch(number, *NO_ROWS, time=time, renaming=renaming))
        return after._renamed(
            lambda shared: f"There is a class {name!r} already. Merge {before!r} with it instead."
        )

    def without(self, number: int) -> History:
        """Undo a batch: its rows have the labels of the other batches.

        Raises
        ------
        RequestError
            If there is no such batch, it has been undone before, or it is a renaming and another
            class has the previous name now.
        """
        if not 1 <= number <= len(self.batches) or number in self.taken_back:
            raise RequestError(
                f"There is no step {number} to take back; perhaps it was taken back already.", 409
            )
        taken_back = self.taken_back | {number}
        codes = self.base.copy()
        for batch in self.batches:
            if batch.number not in taken_back:
                codes[batch.rows] = batch.codes
        return replace(self, taken_back=taken_back, codes=codes)._renamed(
            lambda shared: f"Another class is called {shared!r} by now. Rename that one first."
        )

    def counts(self) -> dict[str, int]:
        """Count the labels of each class."""
        found = np.bincount(self.codes[self.codes >= 0], minlength=len(self.classes))
        return dict(zip(self.classes, found.tolist(), strict=True))

    def names(self) -> NDArray[Any]:
        """Return the labels as texts, empty for unlabelled rows."""
        return np.array([*self.classes, ""], dtype=object)[self.codes]

    def _renamed(self, refusal: Callable[[str], str]) -> History:
        """Apply all renamings to the names of the classes.

        Raises
        ------
        RequestError
            If two classes have the same name; the message is `refusal` of it.
        """
        names, touched = list(self.first_names), set()
        for batch in self.batches:
            if batch.renaming is not None:
                touched.add(batch.renaming.code)
                if batch.number not in self.taken_back:
                    names[batch.renaming.code] = batch.renaming.name
        for code in touched:
            if any(same_label(names[code], name) for k, name in enumerate(names) if k != code):
                raise RequestError(refusal(names[code]), 409)
        return replace(self, classes=tuple(names))
