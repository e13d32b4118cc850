"""Search for rows by words and filters."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapwing._label.history import NO_CODE, History
from lapwing._label.learner import Answers
from lapwing._label.words import RequestError
from lapwing._report.rows import feature_values
from lapwing._tables.tables import Table

# Limits of the probability of the model, as shown on the page.
_SURE = 0.9
_BY = ("given", "predicted", "either")


class Wish(NamedTuple):
    """Search conditions, all of which must be met.

    Attributes
    ----------
    words : str
        Words to be found in the id, text or other text columns of a row, ignoring case; or
        ``column=value``, also for numbers.
    label : str or None
        Class.
    by : {'given', 'predicted', 'either'}
        Whether `label` is the given or the predicted class.
    state : str
        One of `View.states`, or empty.
    """

    words: str = ""
    label: str | None = None
    by: str = "either"
    state: str = ""


@dataclass(frozen=True, eq=False)
class View:
    """Snapshot of the rows.

    Attributes
    ----------
    history : History
    answers : Answers or None
    lists : mapping of str to collection of int
        Rows of the lists on the page: suggested, suspicious, flagged, skipped.
    """

    history: History
    answers: Answers | None
    lists: Mapping[str, Collection[int]]

    def states(self) -> dict[str, NDArray[np.bool_]]:
        """Return the masks of the kinds of rows and of the lists, by name."""
        n = len(self.history.codes)
        labeled = self.history.codes != NO_CODE
        sure = np.zeros(n, dtype=bool)
        if self.answers is not None:
            sure = self.answers.confidence >= _SURE
        found = {
            "labelled": labeled,
            "unlabelled": ~labeled,
            "sure": ~labeled & sure,
            "doubtful": ~labeled & ~sure,
        }
        return found | {name: np.isin(np.arange(n), [*rows]) for name, rows in self.lists.items()}


@dataclass(frozen=True, eq=False)
class Finder:
    """Search in the rows of a table; can be used from any thread.

    Attributes
    ----------
    table : Table
    texts : ndarray of object of shape (n,) or None
    """

    table: Table
    texts: NDArray[Any] | None

    def find(self, wish: Wish, view: View) -> list[int]:
        """Find rows.

        Raises
        ------
        RequestError
            If there is no condition, or an unknown class, state or value of `by`.
        """
        if not wish.words.strip() and wish.label is None and not wish.state:
            raise RequestError("Type some words, or choose a class or a kind of rows.")
        mask = np.ones(len(view.history.codes), dtype=bool)
        if wish.state:
            states = view.states()
            if wish.state not in states:
                raise RequestError(
                    f"There is no kind of rows {wish.state[:40]!r}. Use one of {', '.join(states)}."
                )
            mask &= states[wish.state]
        if wish.label is not None:
            mask &= self._of_class(wish, view)
        for word in wish.words.casefold().split():
            name, equals, value = word.partition("=")
            if equals and name in self._columns:
                mask &= self._with_value(self._columns[name], value)
                continue
            rows = np.flatnonzero(mask)
            folded = self._folded
            mask[rows] = [word in folded[row] for row in rows.tolist()]
        return [int(row) for row in np.flatnonzero(mask)]

    def _of_class(self, wish: Wish, view: View) -> NDArray[np.bool_]:
        code = None if wish.label is None else view.history.code(wish.label)
        if code is None:
            raise RequestError(f"There is no class {(wish.label or '')[:40]!r}.")
        if wish.by not in _BY:
            raise RequestError(f"The class is {' or '.join(_BY)}, not {wish.by[:40]!r}.")
        given = view.history.codes == code
        if view.answers is None or wish.by == "given":
            return np.asarray(given & (wish.by != "predicted"))
        predicted = view.answers.codes == code
        return np.asarray(predicted if wish.by == "predicted" else given | predicted)

    @cached_property
    def _folded(self) -> list[str]:
        """Return the searched text of each row in lower case: id, text and other columns."""
        parts = [[str(name) for name in self.table.ids.tolist()]]
        if self.texts is not None:
            parts.append([str(text or "") for text in self.texts.tolist()])
        for cells in self.table.originals.values():
            if cells is not None and len(cells.texts):
                column = [""] * len(parts[0])
                for row, text in zip(cells.rows.tolist(), cells.texts.tolist(), strict=True):
                    column[row] = str(text)
                parts.append(column)
        # Words contain no line break, so they cannot match across columns.
        return ["\n".join(row).casefold() for row in zip(*parts, strict=True)]

    @cached_property
    def _columns(self) -> dict[str, str]:
        """Names of the columns by their lower-case form."""
        names = self.table.originals or self.table.feature_names
        return {str(name).casefold(): name for name in names}

    def _with_value(self, name: str, value: str) -> NDArray[np.bool_]:
        """Return the rows whose value in a column equals a number or text."""
        cells, rows = self.table.originals.get(name), np.arange(len(self.table.ids))
        if cells is None:
            place = list(self.table.feature_names).index(name)
            column = feature_values(self.table.X, place, rows)
        else:
            column = cells.at(rows)
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        return np.array(
            [one == number or (isinstance(one, str) and one.casefold() == value) for one in column],
            dtype=bool,
        )
