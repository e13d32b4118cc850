"""Labels of a table: their markers, their coding for estimators, and checks of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._host.warn import warn
from lapwing._tables.cells import count_marks, kind_of_unit, plain_number, read_amount, usual_mark
from lapwing._tables.columns import FileAnswers, RawTable, TextColumn, name_row
from lapwing._tables.inference import MIN_WORDS, count_words
from lapwing._tables.matrices import read_labels
from lapwing._tables.roles import ReadOptions
from lapwing._words import listed, quoted, shell_command, shell_word, shorten
from lapwing.classes.label_checks import (
    MANY_NUMBERS,
    dominates,
    folded,
    look_like_quantities,
    near_miss,
    usual_number,
    words_for_none,
    zeros_among_signs,
)

# Notations of programs, case-sensitive: "none" and "Na" may be classes (no damage, sodium). A word
# in this list is never a label; any other word is a class, and is shown as such.
NO_LABEL = frozenset(
    {"", "NA", "N/A", "n/a", "#N/A", "#NV", "<NA>", "NaN", "nan", "NAN", "NaT", "NULL", "null"}
    | {"None"}
)
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


def _fill_in(
    labels: TextColumn, blank: Callable[[NDArray[Any]], NDArray[Any]], raw: RawTable
) -> tuple[TextColumn, tuple[str, ...], int]:
    """Merge the labels of files of answers into those of a table; ValueError if a row has two.

    Parameters
    ----------
    labels : TextColumn
    blank : callable
        Replaces values that mean "no label" by a blank.
    raw : RawTable
        Table with the answers.

    Returns
    -------
    labels : TextColumn
        Blank for unlabelled rows.
    remarks : tuple of str
        Remarks for the user.
    n_suggested : int
        Number of labels of suggested rows.
    """
    assert raw.keys is not None
    texts, numbers = blank(labels.texts), labels.numbers_or_nan.copy()
    remarks: list[str] = []
    n_suggested, names = 0, raw.row_names
    for one in raw.answers:
        new = blank(one.labels.texts)
        given = new != ""
        rows, new = one.rows[given], new[given]
        before = texts[rows]
        clash = [
            f"row {str(names[row])!r} is {text!r} and was {old!r} before"
            for row, text, old in zip(rows, new, before, strict=True)
            if old != "" and not same_label(text, old)
        ]
        if clash:
            raise ValueError(
                f"{one.source} gives other labels than the files before it: "
                f"{listed(clash, 3, between='; ')}. Correct one of the two files."
            )
        free = before == ""
        texts[rows[free]], numbers[rows[free]] = new[free], one.labels.numbers_or_nan[given][free]
        remarks.append(_remark(one, int(free.sum()), int(given.sum()), raw.keys.label))
        remarks += [one.difference] if one.difference else []
        n_suggested += int(np.count_nonzero(one.suggested[given]))
    return TextColumn(texts, numbers), tuple(remarks), n_suggested


def _remark(one: FileAnswers, n_new: int, n_given: int, label: str) -> str:
    if not n_given:
        return f"no label yet in {one.source}: fill in its column {label!r}"
    words = f"{n_new} {'row got its' if n_new == 1 else 'rows got their'} label from {one.source}"
    known, none = n_given - n_new, one.rows.size - n_given
    words += f"; {known} had the same label before" if known else ""
    return words + (f"; {none} of its rows {'has' if none == 1 else 'have'} none yet" * bool(none))


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
    regression : bool
        Whether they are numbers to predict.
    remarks : tuple of str
        Remarks on files of answers.
    n_suggested : int
        Number of labels of suggested rows.
    """

    column: TextColumn
    where: str
    hint: str = "blank"
    decimal: str = ""
    places: NDArray[np.int64] | None = None
    incomplete: bool = False
    regression: bool = False
    remarks: tuple[str, ...] = ()
    n_suggested: int = 0

    @classmethod
    def of(cls, raw: RawTable, options: ReadOptions) -> LabelColumn:
        """Collect the labels of a table: of its column, a file of labels, and files of answers.

        Parameters
        ----------
        raw : RawTable
            Table without labels if they are all in other files, or still to be given.
        options : ReadOptions
            Markers of "no label", and how to interpret the labels.

        Raises
        ------
        OSError
            If the file of labels cannot be read.
        ValueError
            If it is invalid, or a row has two labels.

        Warns
        -----
        LapwingWarning
            If no row has a marker of the user.
        """
        where, places, marker = raw.source, raw.places, raw.default_marker
        column = TextColumn.blank(raw.n) if raw.labels is None else raw.labels
        if options.labels_file is not None:
            where, places = str(options.labels_file), None
            column, marker = read_labels(Path(options.labels_file), raw.n)
        elif options.label is not None:
            where = f"{where}: label column {options.label!r}"
        regression, markers = options.regression, options.unlabeled
        given = np.concatenate([column.texts, *(one.labels.texts for one in raw.answers)])
        if regression is None:
            known = set(mark_unlabeled(given, markers).tolist())
            regression = hold_fractions(known, raw.decimal)
        # -1 is a marker in classification only, as it may be a regression target.
        marker = "" if regression else marker
        present = set(given.tolist())
        absent = [m for m in markers if m and not any(same_label(m, text) for text in present)]
        if absent:
            warn(
                f"{raw.source}: no row has the label {quoted(absent)} (--unlabeled). Is it written "
                "otherwise?"
            )
        blank = partial(mark_unlabeled, markers=markers, default=marker)
        column, remarks, n_suggested = _fill_in(column, blank, raw)
        none = [one.strip() for one in markers or (marker,)]
        return cls(
            column,
            where,
            hint=" or ".join(["blank", *(repr(one) for one in none if one)]),
            decimal=raw.decimal,
            places=places,
            incomplete=options.incomplete,
            regression=regression,
            remarks=remarks,
            n_suggested=n_suggested,
        )

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

    def code(self, truth: Iterable[str] = ()) -> CodedLabels:
        """Code the labels for an estimator.

        Parameters
        ----------
        truth : iterable of str
            True labels, none of which may be the marker of unlabelled rows.

        Raises
        ------
        ValueError
            If no row has a label, there is one class only, or labels are numbers instead of classes
            or conversely.

        Warns
        -----
        LapwingWarning
            If labels look as if they should be the same.
        """
        return self._code_numbers() if self.regression else self._code_classes(truth)

    def _code_classes(self, truth: Iterable[str]) -> CodedLabels:
        texts, labeled = self.column.texts, self.labeled()
        if not labeled.any():
            return CodedLabels(np.full(texts.size, "", dtype=object), labeled, "")
        classes, marker, code = class_values(set(texts[labeled].tolist()), truth, self.where)
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

    def _code_numbers(self) -> CodedLabels:
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
            elif _is_exact(text):
                y[row] = int(float(text))
            else:
                raise self._mismatch(row, "whole numbers")
        return y

    def truth(self, raw: RawTable, options: ReadOptions) -> LabelColumn | None:
        """Return the column of true labels; None without one."""
        if options.truth is None:
            return None
        column, markers = raw.texts[options.truth], options.unlabeled
        classes = [] if self.regression or "" in markers else set(self.given.tolist())
        # Beside whole numbers -1 means "unknown", as in scikit-learn, unless it is a class.
        if classes and all(_WHOLE.fullmatch(one) and not same_label(one, "-1") for one in classes):
            markers = (*markers, "-1")
        texts = mark_unlabeled(column.texts, markers)
        where = f"{raw.source}: {options.truth!r}"
        return LabelColumn(
            replace(column, texts=texts), where, decimal=raw.decimal, places=raw.places
        )

    def _place(self, row: int) -> str:
        return f"{self.where}: {name_row(row, self.places)}"

    def _mismatch(self, row: int, what: str) -> ValueError:
        return ValueError(
            f"{self._place(row)} holds {self.column.texts[row]!r}, but the labels are {what}; the "
            "truth must be written as the labels are."
        )


def _no_number_cure(text: str) -> str:
    if words_for_none([text]):
        return f"If it means no label, say so by --unlabeled {shell_word(text)}."
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


def class_values(
    texts: Collection[str], truth: Iterable[str], where: str
) -> tuple[NDArray[Any], int | str, dict[str, int | str]]:
    """Return the classes, a marker that is not a class, and the class of each text.

    Labels are integers if all are whole numbers. Otherwise they are texts, except that 1.0 is the
    class 1 if that exists, as the notation depends on the program.
    """
    code: dict[str, Any]
    if all(map(_is_exact, texts)):
        code = {text: int(float(text)) for text in texts}
        known = {*code.values(), *(int(float(one)) for one in truth if _is_exact(one))}
        return np.array(sorted(set(code.values()))), min(0, *known) - 1, code
    if hold_fractions(texts):
        raise ValueError(
            f"{where} holds fractional numbers ({', '.join(sorted(texts)[:3])}, ...), no classes. "
            "To predict numbers choose a regression, e.g. --method laprls-regressor."
        )
    code = {text: _shortest(text, texts) for text in texts}
    return np.array(sorted(set(code.values())), dtype=object), "", code


def _is_exact(text: str) -> bool:
    """Return whether a text is a whole number that float64 can represent; others are names."""
    return _WHOLE.fullmatch(text) is not None and abs(float(text)) < 2**53


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
            f"their own: {shown}. If they mean the same, write them alike."
        )


# --- checks ---------------------------------------------------------------------------------------

# Different labels from which on free text is refused: fewer may be long names of classes. In a
# table another column may hold the classes; an estimator only warns, and from 20 labels on.
_SENTENCES = 5


def _named_markers(values: Sequence[str]) -> str:
    return f"add {shell_command(word for value in values for word in ('--unlabeled', value))}."


@dataclass(frozen=True)
class LabelAdvice:
    """Advice in messages about labels; the command line gives whole commands.

    Attributes
    ----------
    unlabeled : callable
        Returns advice if values of the label column mean no label.
    with_method : callable
        Returns advice to fit the table by a method.
    """

    unlabeled: Callable[[Sequence[str]], str] = _named_markers
    with_method: Callable[[str], str] = "add --method {}.".format


def words_in_most_rows(ranked: dict[str, int], n_rows: int) -> tuple[list[str], bool]:
    """Find classes that look like "no label".

    Parameters
    ----------
    ranked : dict of str to int
        Number of labelled rows of each class.
    n_rows : int
        Number of rows of the table.

    Returns
    -------
    words : list of str
        These classes.
    certain : bool
        Whether at least half of the rows have one of them, which is an error in a fit.
    """
    words = words_for_none(list(ranked))
    if words and zeros_among_signs(ranked):
        words = [name for name in ranked if float(name) == 0]
    return words, 2 * sum(ranked[name] for name in words) >= n_rows


def warn_of_labels(
    labels: LabelColumn, coded: CodedLabels, advice: LabelAdvice, *, meant: bool
) -> None:
    """Detect labels that probably mean "no label" or are misspelt, and tables with all labels.

    Parameters
    ----------
    labels : LabelColumn
    coded : CodedLabels
    advice : LabelAdvice
    meant : bool
        Whether words that look like "no label" are known to be classes.

    Raises
    ------
    ValueError
        If at least half of the rows have a word that looks like "no label".

    Warns
    -----
    LapwingWarning
        If fewer rows have such a word, a label is probably misspelt, or every row has a label.
    """
    known, n_rows = coded.y[coded.labeled], coded.y.size
    if not known.size:
        return
    values, counts = np.unique(known, return_counts=True)
    ranked = dict(zip(map(str, values.tolist()), counts.tolist(), strict=True))
    numeric, everything = isinstance(coded.unlabeled, float), known.size == n_rows
    usual = usual_number(known) if numeric and everything else None
    words, certain = ([], False) if numeric or meant else words_in_most_rows(ranked, n_rows)
    if not (words or numeric) and dominates(counts, n_rows - known.size):
        words = [max(ranked, key=ranked.__getitem__)]
    if usual is not None:
        warn(
            f"{labels.where}: every row has a label, and {counts.max()} of {n_rows} rows have the "
            f"number {usual:g}, which is learnt like others. If it means no label, "
            f"{advice.unlabeled([f'{usual:g}'])}"
        )
    elif words:
        _warn_of_markers(words, sum(ranked[word] for word in words), certain, labels, advice)
    elif everything:
        warn(
            f"{labels.where}: every row has a label ({labels.hint} means no label), so there is "
            "nothing to learn from unlabelled rows: this fits a supervised model. If a value marks "
            "the rows without a label, name it with --unlabeled."
        )
    if not numeric and not warn_of_quantities(known, labels.where):
        frequent = sorted(ranked, key=lambda label: -ranked[label])
        merged = {names[0]: sum(map(ranked.__getitem__, names)) for names in spellings(frequent)}
        _warn_of_rare_labels(merged, labels, coded)


def _warn_of_markers(
    words: Sequence[str], n: int, certain: bool, labels: LabelColumn, advice: LabelAdvice
) -> None:
    """Warn about n labels that probably mean "no label"; raise ValueError if it is certain."""
    s = "s" * (len(words) > 1)
    rows_with = (
        f"{labels.where}: {n} of {labels.column.texts.size} rows have the label{s} "
        f"{' and '.join(map(repr, words))}, which"
    )
    cure = f"If that means no label, {advice.unlabeled(words)}"
    if certain:
        raise ValueError(
            f"{rows_with} would be {'classes' if s else 'a class'}. If it is meant so, say that "
            f"only blanks mean no label: --unlabeled ''. {cure}"
        )
    warn(f"{rows_with} {'count as classes' if s else 'counts as a class'}. {cure}")


def describe_quantities(labels: NDArray[Any]) -> str:
    """Describe why labels look like quantities and not like classes; empty if they do not.

    For whole numbers see `look_like_quantities`; others have a unit and are rarely repeated.

    Parameters
    ----------
    labels : ndarray
        Labels of the labelled rows: numbers, or texts.
    """
    names = sorted(set(map(str, labels.tolist())))
    n = len(names)
    if n < MANY_NUMBERS or 5 * n <= len(labels):
        return ""
    numbers = [plain_number(name) for name in names]
    known = [number for number in numbers if number is not None and np.isfinite(number)]
    others = [name for name, number in zip(names, numbers, strict=True) if number not in known]
    if others and 10 * len(others) <= n and any(number % 1 for number in known):
        return f"{len(known)} of the {n} different labels are numbers, and {others[0]!r} is not"
    whole = [number for number in numbers if number is not None and number % 1 == 0]
    if len(whole) == n:
        found = look_like_quantities(whole, len(labels))
        return f"the {len(labels)} labels are {n} different whole numbers" if found else ""
    amounts = [read_amount(name, ".") or read_amount(name, ",") for name in names]
    if 2 * n > len(labels) and all(one and kind_of_unit(one.unit) for one in amounts):
        return f"the {len(labels)} labels are {n} different amounts, such as {names[0]!r}"
    return ""


def refuse_non_classes(labels: LabelColumn, advice: LabelAdvice | None) -> None:
    """Raise ValueError for labels that are not names of classes.

    Parameters
    ----------
    labels : LabelColumn
    advice : LabelAdvice or None
        Advice for labels that look like quantities; None if these are known to be classes.

    Raises
    ------
    ValueError
        If they are mostly distinct sentences, or may be numbers to predict.
    """
    n, names = len(labels.given), sorted(set(labels.given.tolist()))
    distinct = len(names) >= _SENTENCES and 2 * len(names) > n
    if distinct and np.mean([count_words(name) for name in names]) >= MIN_WORDS:
        raise ValueError(
            f"{labels.where}: the {n} labels are {len(names)} different texts, such as "
            f"{shorten(names[0])!r}, and no names of classes. Name the column of the classes with "
            "--label."
        )
    if advice is not None and (described := describe_quantities(labels.given)):
        raise ValueError(
            f"{labels.where}: {described}. Are they numbers to predict, or names of classes?\n"
            f"For numbers, {advice.with_method('laprls-regressor')}\n"
            f"For classes, {advice.with_method('laperls')}"
        )


def warn_of_quantities(labels: NDArray[Any], what: str) -> bool:
    """Warn if classes look like quantities; return whether it warned."""
    described = describe_quantities(labels)
    if described:
        warn(
            f"{what}: {described}, and each counts as a class. If they are quantities, name a "
            "method that predicts numbers: --method laprls-regressor."
        )
    return bool(described)


def _warn_of_rare_labels(ranked: dict[str, int], labels: LabelColumn, coded: CodedLabels) -> None:
    """Warn about a label that is probably misspelt, and a class with one labelled row."""
    what = labels.where

    def first_row(label: str) -> str:
        row = int(np.flatnonzero(coded.labeled & (coded.y.astype(str) == label))[0])
        return name_row(row, labels.places)

    misspelling = near_miss(list(ranked), list(ranked.values()))
    if misspelling is not None:
        rare, usual = misspelling
        n, verb = ranked[rare], "has" if ranked[rare] == 1 else "have"
        warn(
            f"{what}: {n} row{'s' * (n > 1)} (the first is {first_row(rare)}) {verb} the label "
            f"{rare!r}, a class of its own, and {ranked[usual]} have {usual!r}. Did you mean "
            f"{usual!r}? Then correct it in the table."
        )
        del ranked[rare]
    single = [name for name, count in ranked.items() if count == 1]
    # One label per class is a usual setting, but a single class with one label is often an error.
    if single and len(single) < len(ranked):
        warn(
            f"{what}: only one row has the label {quoted(single)} ({first_row(single[0])}), so "
            "all predictions of this class depend on it. Correct it if it is wrong, or label more "
            "rows."
        )
