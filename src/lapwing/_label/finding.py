"""Search for rows by words and filters."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapwing._label.errors import RequestError
from lapwing._label.history import NO_CODE, History
from lapwing._label.learner import Answers
from lapwing._report.rows import feature_values
from lapwing._tables.tables import Table

# Limits of the probability of the model, as shown on the page.
_SURE = 0.9


class Query(NamedTuple):
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
        Kind of rows, or list of the page, see `_states`; may be empty.
    """

    words: str = ""
    label: str | None = None
    by: str = "either"
    state: str = ""


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

    def find(
        self,
        query: Query,
        history: History,
        answers: Answers | None,
        lists: Mapping[str, Collection[int]],
    ) -> list[int]:
        """Find rows.

        Parameters
        ----------
        query : Query
        history : History
        answers : Answers or None
        lists : mapping of str to collection of int
            Rows of the lists on the page: suggested, suspicious, flagged, skipped.

        Raises
        ------
        RequestError
            If there is no condition, or an unknown class, state or value of `by`.
        """
        if not query.words.strip() and query.label is None and not query.state:
            raise RequestError("Type some words, or choose a class or a kind of rows.")
        mask = np.ones(len(history.codes), dtype=bool)
        if query.state:
            states = _states(history, answers, lists)
            if query.state not in states:
                raise RequestError(
                    f"There is no kind of rows {query.state[:40]!r}. Use one of "
                    f"{', '.join(states)}."
                )
            mask &= states[query.state]
        if query.label is not None:
            mask &= _of_class(query, history, answers)
        for word in query.words.casefold().split():
            name, equals, value = word.partition("=")
            if equals and name in self._columns:
                mask &= self._with_value(self._columns[name], value)
                continue
            rows = np.flatnonzero(mask)
            folded = self._folded
            mask[rows] = [word in folded[row] for row in rows.tolist()]
        return [int(row) for row in np.flatnonzero(mask)]

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
        numbers: tuple[float, ...] = ()
        with suppress(ValueError), np.errstate(over="ignore"):
            numbers = float(value), float(np.float32(value))  # 0.1 differs in these
        return np.array(
            [one.casefold() == value if isinstance(one, str) else one in numbers for one in column],
            dtype=bool,
        )


def _states(
    history: History, answers: Answers | None, lists: Mapping[str, Collection[int]]
) -> dict[str, NDArray[np.bool_]]:
    """Return the masks of the kinds of rows and of the lists, by name."""
    n = len(history.codes)
    labeled = history.codes != NO_CODE
    sure = np.zeros(n, dtype=bool) if answers is None else answers.confidence >= _SURE
    found = {
        "labelled": labeled,
        "unlabelled": ~labeled,
        "sure": ~labeled & sure,
        "uncertain": ~labeled & ~sure,
    }
    return found | {name: np.isin(np.arange(n), [*rows]) for name, rows in lists.items()}


def _of_class(query: Query, history: History, answers: Answers | None) -> NDArray[np.bool_]:
    """Return the mask of the rows of the class in a query."""
    assert query.label is not None
    code = history.code(query.label)
    if code is None:
        raise RequestError(f"There is no class {query.label[:40]!r}.")
    given = history.codes == code
    predicted = np.zeros_like(given) if answers is None else answers.codes == code
    masks = {"given": given, "predicted": predicted, "either": given | predicted}
    if query.by not in masks:
        raise RequestError(f"The class is {' or '.join(masks)}, not {query.by[:40]!r}.")
    return np.asarray(masks[query.by])
