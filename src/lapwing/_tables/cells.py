"""The cells of one column: numbers, and the texts that are not plainly numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._tables.numerals import spell
from lapwing._words import visible

# What `float` reads and may yet mean something else: 1_0, the code 00037, 1.234 for 1234.
_ODD = re.compile(r".*_|[+-]?0\d+$")
_ODD_OR_GROUPED = re.compile(rf"{_ODD.pattern}|[+-]?[1-9]\d{{0,2}}\.\d{{3}}$")


@dataclass(frozen=True)
class Cells:
    """A column as it stands in the file, before anything is made of it.

    Attributes
    ----------
    numbers : ndarray of float of shape (n,)
        What plainly is a number; NaN elsewhere.
    rows : ndarray of int of shape (k,)
        Rows with a text that is not plainly a number; a blank is none.
    texts : ndarray of object of shape (k,)
        These texts, without surrounding blanks.
    type_name : str
        The file's own type of the column where that is neither number nor text.
    usable : bool
        Whether that type can be made something of.
    typed : bool
        Whether the file says itself what is a number, so that how numbers are written elsewhere in
        the column says nothing about the texts.
    """

    numbers: NDArray[Any]
    rows: NDArray[np.int64]
    texts: NDArray[Any]
    type_name: str = ""
    usable: bool = True
    typed: bool = False

    def without(self, words: Collection[str]) -> Cells:
        """The same column less the texts that mean "missing", in lower case."""
        if not self.texts.size:
            return self
        known = {text: text.lower() not in words for text in set(self.texts.tolist())}
        if all(known.values()):
            return self
        kept = np.array([known[text] for text in self.texts.tolist()])
        return replace(self, rows=self.rows[kept], texts=self.texts[kept])

    @property
    def n_filled(self) -> int:
        """How many cells hold something."""
        return int(np.count_nonzero(~np.isnan(self.numbers))) + self.rows.size

    def at(self, rows: NDArray[np.intp]) -> list[str | float]:
        """The cells of some rows, each as number or text; NaN where there is nothing."""
        wanted = np.isin(self.rows, rows)
        text = dict(zip(self.rows[wanted].tolist(), self.texts[wanted].tolist(), strict=True))
        return [text.get(row, float(self.numbers[row])) for row in rows.tolist()]

    def below_first(self) -> Cells:
        """The cells without that of the first row."""
        kept = self.rows > 0
        return replace(
            self, numbers=self.numbers[1:], rows=self.rows[kept] - 1, texts=self.texts[kept]
        )

    def spelled(self) -> NDArray[Any]:
        """All cells as text, None where there is nothing."""
        column = np.empty(self.numbers.size, dtype=object)
        for row in np.flatnonzero(~np.isnan(self.numbers)):
            column[row] = spell(self.numbers[row])
        column[self.rows] = self.texts
        return column


def as_text(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """Make an array of Python texts: of objects, so that one long text does not widen all."""
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


def keeps_its_spelling(text: str, *, grouped: bool) -> bool:
    """Tell whether a text that `float` reads may mean something else.

    Parameters
    ----------
    text : str
    grouped : bool
        Whether points may stand between groups of three digits.
    """
    return (_ODD_OR_GROUPED if grouped else _ODD).match(text) is not None


def cells_of_texts(texts: Iterable[str | None], *, grouped: bool = True) -> Cells:
    """Sort texts into numbers and others; None is a blank."""
    numbers: list[float] = []
    rows: list[int] = []
    others: list[str] = []
    for row, text in enumerate(texts):
        text = "" if text is None else visible(text)
        value = float("nan")
        if text:
            try:
                value = float(text)
                odd = keeps_its_spelling(text, grouped=grouped)
            except ValueError:
                odd = True
            if odd:
                value = float("nan")
                rows.append(row)
                others.append(text)
        numbers.append(value)
    return Cells(np.array(numbers, dtype=np.float64), np.array(rows, np.int64), as_text(others))


def join_cells(parts: Sequence[Cells]) -> Cells:
    """Put columns one below the other."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(part.numbers.size for part in parts[:-1])])
    names = [part.type_name for part in parts if part.type_name]
    return Cells(
        np.concatenate([part.numbers for part in parts]),
        np.concatenate([part.rows + at for part, at in zip(parts, starts, strict=True)]),
        np.concatenate([part.texts for part in parts]),
        names[0] if names else "",
        all(part.usable for part in parts),
        all(part.typed for part in parts),
    )
