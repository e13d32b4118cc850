"""Checks of a table before a fit: errors and warnings."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._arrays import is_sparse
from lapwing._host.warn import warn
from lapwing._tables.cells import kind_of_unit, plain_number, read_amount
from lapwing._tables.coding import CodedLabels, LabelColumn, spellings
from lapwing._tables.columns import RawTable
from lapwing._tables.encoders import (
    CATEGORICAL,
    NUMERIC,
    DateReading,
    Features,
    NumberReading,
)
from lapwing._tables.inference import MIN_WORDS, count_words
from lapwing._tables.words import name_row, shorten
from lapwing._words import listed, quoted
from lapwing.classes.label_checks import (
    MANY_NUMBERS,
    dominates,
    look_like_quantities,
    near_miss,
    nought_among_signs,
    usual_number,
    words_for_none,
)
from lapwing.exceptions import LapwingWarning


def _named_markers(values: Sequence[str]) -> str:
    return f"add {shlex.join(word for value in values for word in ('--unlabeled', value))}."


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


# Different labels from which on free text is refused: fewer may be long names of classes. In a
# table another column may hold the classes; an estimator only warns, and from 20 labels on.
_SENTENCES = 5


def feature_errors(
    features: Features,
    raw: RawTable,
    *,
    missing: bool,
    new: bool,
) -> list[str]:
    """Check for features that are missing or infinite, or no features at all.

    Parameters
    ----------
    features : Features
    raw : RawTable
        The table of the features; its source and places are named in messages.
    missing : bool
        Whether features may be missing, because they are imputed.
    new : bool
        Whether the rows are new rows for a fitted model.

    Returns
    -------
    list of str
        A message for each error.

    Raises
    ------
    ValueError
        If there are no rows.
    """
    where, n = raw.source, features.X.shape[0]
    if n == 0:
        raise ValueError(f"{where} has no rows.")
    found = list(features.errors)
    holes = missing_cells(features)
    empty = [name for name, (count, _) in holes.items() if count == n]
    if missing and empty and not new:
        found.append(
            f"{where}: no row has a value in {quoted(empty)}, so there is nothing to impute from; "
            f"leave it out with --drop {empty[0]}."
        )
    # A model needs its columns, so new rows can only be corrected in the file.
    drop = "" if new else ", or leave the columns out with --drop"
    if not missing:
        found += [raw.text_error(name, bad, new=new) for name, bad in features.bad.items()]
        described = {
            name
            for reading in features.readings
            if reading.column in features.bad
            for name in reading.names
        }
        holes = {name: hole for name, hole in holes.items() if name not in described}
        again = (
            "Fill them in: the model was fitted to a table without any, and has no values for them"
        )
        cure = again if new else f"Either fill them in with --impute median{drop}"
        found += _cell_errors(holes, raw, "missing values", cure)
    cure = "Correct them" if new else f"Either correct them{drop}"
    found += _cell_errors(infinite_cells(features), raw, "infinite values", cure)
    return found


def missing_cells(features: Features) -> dict[str, tuple[int, int]]:
    """Return the number of missing cells of each column that has any, and the first row."""
    found = _wrong_cells(features, np.isnan)
    for name in features.named(CATEGORICAL):
        gone = np.array([value is None for value in features.column(name)])
        if gone.any():
            found[name] = (int(gone.sum()), int(np.argmax(gone)))
    return found


def infinite_cells(features: Features) -> dict[str, tuple[int, int]]:
    """Return the same as `missing_cells` for infinite numbers."""
    return _wrong_cells(features, np.isinf)


def _wrong_cells(features: Features, wrong: Callable[..., Any]) -> dict[str, tuple[int, int]]:
    names, X = features.named(NUMERIC), features.X
    found: dict[str, tuple[int, int]] = {}
    if is_sparse(X):
        entries = X.tocoo()
        bad = wrong(entries.data)
        columns, at, counts = np.unique(
            entries.coords[1][bad], return_index=True, return_counts=True
        )
        rows = entries.coords[0][bad][at]  # first rows, as entries are ordered by rows
        cells = zip(columns, counts.tolist(), rows.tolist(), strict=True)
        return {names[j]: (count, row) for j, count, row in cells}
    for name in names:  # one column at a time, as a mask of all cells takes memory
        cells = wrong(features.column(name))
        if cells.any():
            found[name] = (int(np.count_nonzero(cells)), int(np.argmax(cells)))
    return found


def _cell_errors(
    cells: Mapping[str, tuple[int, int]], raw: RawTable, what: str, cure: str
) -> list[str]:
    if not cells:
        return []
    names = listed([f"{name!r} ({count})" for name, (count, _) in cells.items()], 8)
    first = name_row(next(iter(cells.values()))[1], raw.places)
    return [f"{raw.source}: {what} in {names}; the first is in {first}. {cure}."]


def warn_of_bad_cells(features: Features, raw: RawTable) -> None:
    """Warn about cells of new rows that do not have the type of their column."""
    for name, bad in features.bad.items():
        message = raw.text_error(name, bad).partition(". Correct")[0]
        warn(f"{message}; counted as missing.", LapwingWarning)


def check_ids(raw: RawTable, id_column: str | None) -> NDArray[Any]:
    """Return unique ids of the rows."""
    if raw.ids is None:
        return np.arange(1, raw.n + 1)
    values, first, counts = np.unique(raw.ids, return_index=True, return_counts=True)
    if values.size and not values[0]:  # the empty text is first
        n, row = int(counts[0]), first[0]
        raise ValueError(
            f"{raw.source}: id column {id_column!r} is empty in {n} row{'s' * (n > 1)}, first in "
            f"{name_row(row, raw.places)}. Fill in an id that no other row has, or leave "
            "--id out: rows are then known by their numbers."
        )
    if values.size < raw.ids.size:
        repeated = int(np.argmax(counts > 1))
        raise ValueError(
            f"{raw.source}: id column {id_column!r} does not tell rows apart: {values[repeated]!r} "
            f"is in {counts[repeated]} rows, first in {name_row(first[repeated], raw.places)}. "
            "Give every row its own id."
        )
    return raw.ids


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
    if words and nought_among_signs(ranked):
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
            f"{advice.unlabeled([f'{usual:g}'])}",
            LapwingWarning,
        )
    elif words:
        _warn_of_markers(words, sum(ranked[word] for word in words), certain, labels, advice)
    elif everything:
        warn(
            f"{labels.where}: every row has a label ({labels.hint} means no label), so there is "
            "nothing to learn from unlabelled rows: this fits a supervised model. If a value marks "
            "the rows without a label, name it with --unlabeled.",
            LapwingWarning,
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
    warn(f"{rows_with} {'count as classes' if s else 'counts as a class'}. {cure}", LapwingWarning)


def warn_of_counts(features: Features) -> None:
    """Warn about features that are probably row numbers."""
    if features.X.shape[0] <= 2 or is_sparse(features.X):
        return
    # Consecutive dates are intended, and numbers with a unit are measurements.
    measured = {
        name
        for reading in features.readings
        if isinstance(reading, DateReading) or (isinstance(reading, NumberReading) and reading.unit)
        for name in reading.names
    }
    for name in features.named(NUMERIC):
        # Three rows are checked first, which excludes most columns.
        column = features.column(name)
        likely = column[0] % 1 == 0 and column[1] - column[0] == column[2] - column[1] == 1
        if likely and name not in measured and (np.diff(column) == 1).all():
            warn(
                f"column {name!r} counts the rows and is used as a feature. If it only names "
                f"the rows, take it as --id {name!r} or leave it out with --drop {name!r}.",
                LapwingWarning,
            )


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
    found = 2 * n > len(labels) and all(
        one is not None and kind_of_unit(one.unit) for one in amounts
    )
    shown = f"the {len(labels)} labels are {n} different amounts, such as {names[0]!r}"
    return shown if found else ""


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
            "method that predicts numbers: --method laprls-regressor.",
            LapwingWarning,
        )
    return bool(described)


def _warn_of_rare_labels(ranked: dict[str, int], labels: LabelColumn, coded: CodedLabels) -> None:
    """Warn about a label that is probably misspelt, and a class with one labelled row."""
    what = labels.where

    def first_row(label: str) -> int:
        return int(np.flatnonzero(coded.labeled & (coded.y.astype(str) == label))[0]) + 1

    misspelling = near_miss(list(ranked), list(ranked.values()))
    if misspelling is not None:
        rare, usual = misspelling
        n, verb = ranked[rare], "has" if ranked[rare] == 1 else "have"
        warn(
            f"{what}: {n} row{'s' * (n > 1)} (the first is row {first_row(rare)}) {verb} the label "
            f"{rare!r}, a class of its own, and {ranked[usual]} have {usual!r}. Did you mean "
            f"{usual!r}? Then correct it in the table.",
            LapwingWarning,
        )
        del ranked[rare]
    single = [name for name, count in ranked.items() if count == 1]
    # One label per class is a usual setting, but a single class with one label is often an error.
    if single and len(single) < len(ranked):
        warn(
            f"{what}: only one row has the label {quoted(single)} (row {first_row(single[0])}), so "
            "all predictions of this class depend on it. Correct it if it is wrong, or label more "
            "rows.",
            LapwingWarning,
        )
