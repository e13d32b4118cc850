"""Coding of labels for estimators."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._host.warn import warn
from lapwing._tables.cells import count_marks, plain_number, read_amount, usual_mark
from lapwing._tables.columns import TextColumn
from lapwing._tables.words import NO_LABEL, name_row
from lapwing._words import listed
from lapwing.classes.label_checks import folded, words_for_none
from lapwing.exceptions import LapwingWarning

# Notations of a number by programs. 007 and 1_0 are names.
_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d*)(?:\.\d*)?(?:[eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?(?:0|[1-9]\d*)(?:\.0*)?")


@dataclass(frozen=True)
class CodedLabels:
    """Labels of n rows.

    Attributes
    ----------
    y : ndarray of shape (n,)
        Integers if all labels are integers, otherwise text; float64 for regression.
    labeled : ndarray of bool of shape (n,)
        Mask of the labelled rows.
    unlabeled : int, str or float
        Marker of the other rows in `y`.
    """

    y: NDArray[Any]
    labeled: NDArray[np.bool_]
    unlabeled: int | str | float


def mark_unlabeled(labels: NDArray[Any], markers: Sequence[str], default: str = "") -> NDArray[Any]:
    """Replace markers of "no label" by blanks.

    Parameters
    ----------
    labels : ndarray of object
        Texts.
    markers : sequence of str
        Markers given by the user; if empty, `default` and the usual words. With an empty string,
        none of the usual words is a marker.
    default : str, default=''
        Marker of the file format.
    """
    words = frozenset({""}) if "" in markers else NO_LABEL
    markers = [marker.strip() for marker in markers or [default]]
    none = {
        text: text in words or any(same_label(text, marker) for marker in markers)
        for text in set(labels.tolist())
    }
    return np.where([none[text] for text in labels.tolist()], "", labels)


def same_label(one: str, other: str) -> bool:
    """Return whether two labels are one class, as 1 and 1.0 are."""
    number = _number(one)
    return one == other or (number is not None and number == _number(other))


@dataclass(frozen=True)
class LabelColumn:
    """Labels as written in a table, with the parts of messages about them.

    Attributes
    ----------
    column : TextColumn
        Empty for unlabelled rows.
    where : str
        Name of the column, at the start of messages.
    hint : str
        Values that mean "no label".
    decimal : {'', '.', ','}
        Usual decimal mark of the table.
    places : ndarray of int of shape (n,) or None
        Row numbers in a spreadsheet.
    incomplete : bool
        Whether labels may be missing altogether, or be of one class.
    """

    column: TextColumn
    where: str
    hint: str = "blank"
    decimal: str = ""
    places: NDArray[np.int64] | None = None
    incomplete: bool = False

    def labeled(self) -> NDArray[np.bool_]:
        """Return the mask of the labelled rows.

        Raises
        ------
        ValueError
            If there is none, unless labels may be incomplete.
        """
        labeled: NDArray[np.bool_] = self.column.texts != ""
        if not (self.incomplete or labeled.any()):
            raise ValueError(
                f"{self.where}: no row has a label ({self.hint} means no label). Label some rows "
                "of every class."
            )
        return labeled

    @property
    def given(self) -> NDArray[Any]:
        """Labels of the labelled rows."""
        return np.asarray(self.column.texts[self.column.texts != ""])

    def code_classes(self) -> CodedLabels:
        """Code labels of classes.

        Raises
        ------
        ValueError
            If no row has a label, there is one class only, or the labels are fractional numbers.

        Warns
        -----
        LapwingWarning
            If labels look as if they should be the same.
        """
        texts, labeled = self.column.texts, self.labeled()
        if not labeled.any():
            return CodedLabels(np.full(texts.size, "", dtype=object), labeled, "")
        classes, marker, code = _class_values(set(texts[labeled].tolist()), self.where)
        if len(classes) == 1 and not self.incomplete:
            raise ValueError(
                f"{self.where} holds only one class, {str(classes[0])!r}; two are needed. If the "
                f"unlabelled rows are marked in another way ({self.hint} means no label), name the "
                "mark with --unlabeled."
            )
        y = np.full(texts.size, marker, dtype=classes.dtype)
        y[labeled] = [code[text] for text in texts[labeled].tolist()]
        _warn_of_doubles([str(value) for value in classes], self.where)
        return CodedLabels(y, labeled, marker)

    def code_numbers(self) -> CodedLabels:
        """Code regression targets.

        Raises
        ------
        ValueError
            If no row has a label, or a label is not a finite number.
        """
        labeled = self.labeled()
        y, row = numbers_of(self.column, self.decimal)
        if row is not None:
            raise ValueError(
                f"{self._place(row)} holds {self.column.texts[row]!r}, which is not a number; the "
                f"chosen method predicts numbers. {_no_number_cure(self.column.texts[row])}"
            )
        if np.isinf(y).any():
            first = int(np.argmax(np.isinf(y)))
            raise ValueError(f"{self._place(first)} holds an infinite value; correct it.")
        return CodedLabels(y, labeled, float("nan"))

    def code_like(self, coded: CodedLabels) -> NDArray[Any]:
        """Code true labels like the given ones, so that they can be compared.

        Raises
        ------
        ValueError
            If the given labels are numbers and a true label is not.
        """
        y = np.full(self.column.texts.size, coded.unlabeled, dtype=coded.y.dtype)
        if y.dtype.kind == "f":
            known_numbers, wrong = numbers_of(self.column, self.decimal)
            if wrong is not None:
                raise self._mismatch(wrong, "numbers")
            return known_numbers
        known = set(coded.y[coded.labeled].tolist())
        for row in np.flatnonzero(self.column.texts != "").tolist():
            text = self.column.texts[row]
            if y.dtype == object:
                y[row] = text if text in known else _shortest(text, known)
            elif _WHOLE.fullmatch(text):
                y[row] = int(float(text))
            else:
                raise self._mismatch(row, "whole numbers")
        return y

    def _place(self, row: int) -> str:
        return f"{self.where}: {name_row(row, self.places)}"

    def _mismatch(self, row: int, what: str) -> ValueError:
        return ValueError(
            f"{self._place(row)} holds {self.column.texts[row]!r}, but the labels are {what}; the "
            "truth must be written as the labels are."
        )


def _no_number_cure(text: str) -> str:
    if words_for_none([text]):
        return f"If it means no label, say so by --unlabeled {shlex.quote(text)}."
    return "For classes choose --method lapsvc or laprls."


def numbers_of(column: TextColumn, decimal: str) -> tuple[NDArray[np.float64], int | None]:
    """Read a column as numbers; those of the file take precedence over texts.

    Parameters
    ----------
    column : TextColumn
    decimal : {'', '.', ','}
        Decimal mark of ambiguous texts.

    Returns
    -------
    numbers : ndarray of shape (n,)
        Numbers; NaN for empty texts.
    row : int or None
        First row with a text that is not a number, counted from 0.
    """
    texts, exact = column.texts, column.numbers_or_nan
    different = set(texts[np.isnan(exact)].tolist()) - {""}
    mark = usual_mark(count_marks(different)) or decimal or "."
    known = {text: _amount(text, mark) for text in different} | {"": float("nan")}
    found = [
        number if text and number == number else known[text]
        for text, number in zip(texts.tolist(), exact.tolist(), strict=True)
    ]
    wrong = next((row for row, value in enumerate(found) if value is None), None)
    return np.array([np.nan if v is None else v for v in found], dtype=np.float64), wrong


def hold_fractions(texts: Iterable[str], decimal: str = ".") -> bool:
    """Return whether all labels are numbers and some have fractions, unlike classes."""
    known = [_number(text.replace(decimal or ".", ".")) for text in texts if text]
    numbers = [value for value in known if value is not None and np.isfinite(value)]
    return len(numbers) == len(known) and any(value % 1 for value in numbers)


def _class_values(
    texts: set[str], where: str
) -> tuple[NDArray[Any], int | str, dict[str, int | str]]:
    """Return the classes, a marker that is not a class, and the class of each text.

    Labels are integers if all are whole numbers. Otherwise they are texts, except that 1.0 is the
    class 1 if that exists, as the notation depends on the program.
    """
    code: dict[str, Any]
    if all(_WHOLE.fullmatch(text) for text in texts):
        code = {text: int(text.split(".")[0]) for text in texts}
        # Numbers that float64 cannot represent are names.
        if max(map(abs, code.values())) <= 2**53:
            classes = np.array(sorted(set(code.values())), dtype=np.int64)
            return classes, min(0, int(classes[0])) - 1, code
    if hold_fractions(texts):
        raise ValueError(
            f"{where} holds fractional numbers ({', '.join(sorted(texts)[:3])}, ...), no classes. "
            "To predict numbers choose a regression, e.g. --method laprls-regressor."
        )
    code = {text: _shortest(text, texts) for text in texts}
    return np.array(sorted(set(code.values())), dtype=object), "", code


def _shortest(text: str, known: Iterable[Any]) -> str:
    """Drop the fraction of a whole number if that spelling is among the known ones."""
    short = text.split(".")[0]
    return short if _WHOLE.fullmatch(text) and short in known else text


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def _amount(text: str, decimal: str) -> float | None:
    amount = read_amount(text, decimal)
    return plain_number(text) if amount is None else amount.value


def spellings(labels: Iterable[str]) -> list[list[str]]:
    """Group labels that differ only in capitals, blanks or leading zeros."""
    groups: dict[str, list[str]] = defaultdict(list)
    for label in labels:
        groups[folded(label)].append(label)
    return list(groups.values())


def _warn_of_doubles(classes: list[str], where: str) -> None:
    """Warn about classes that differ only in capitals, blanks or leading zeros."""
    doubles = [names for names in spellings(classes) if len(names) > 1]
    if doubles:
        shown = listed([" and ".join(map(repr, names)) for names in doubles], 4, between="; ")
        warn(
            f"{where}: labels that differ only in capitals, blanks or leading zeros are classes of "
            f"their own: {shown}. If they mean the same, write them alike.",
            LapwingWarning,
        )
