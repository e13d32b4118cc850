"""Encoding of columns of cells as features, and checks of the features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import is_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._arrays import is_sparse
from lapwing._host.warn import warn
from lapwing._tables.cells import BadCells, Cells, is_infinite, usual_mark
from lapwing._tables.columns import RawTable
from lapwing._tables.encoders import (
    CATEGORICAL,
    NUMERIC,
    ColumnNote,
    DateReading,
    EncodedReading,
    Features,
    FreeTextReading,
    NumberReading,
    Reading,
)
from lapwing._tables.frames import join_columns
from lapwing._tables.inference import (
    ReadingDefaults,
    Unusable,
    date_evidence,
    decimal_of,
    infer_leniently,
    infer_strictly,
    marks_of_table,
    missing_words,
    other_reading,
)
from lapwing._tables.roles import ReadOptions, Selection
from lapwing._words import listed, quoted, shell_word, shorten


def encode(raw: RawTable, selection: Selection, like: object = None) -> Features:
    """Infer the type of each column and encode it; columns of a matrix are used unchanged.

    Parameters
    ----------
    raw : RawTable
        Table of all files.
    selection : Selection
        Columns chosen by the user.
    like : object, default=None
        Data frame of the library to use; None means polars.
    """
    features = _of_matrix(raw) if raw.is_matrix else _infer(raw, selection, like)
    if features.names or features.errors:
        return features
    return replace(features, errors=(_no_feature(features.notes, raw),))


def _infer(raw: RawTable, selection: Selection, like: object) -> Features:
    raw = _without_missing(raw, selection)
    names = list(raw.cells)
    texts, insisted = selection.free_texts(names), selection.insisted(names)
    defaults = ReadingDefaults() if selection.strict else defaults_of(raw, selection)
    inferred = [
        infer_strictly(name, cells, is_text=name in texts)
        if selection.strict
        else infer_leniently(name, cells, defaults, is_text=name in texts)
        for name, cells in raw.cells.items()
    ]
    readings, left_out, errors = _choose_columns(inferred, insisted, raw)
    if selection.encoder is not None:
        readings = [_encoded(one, selection.encoder, selection.picture) for one in readings]
        if not any(isinstance(one, EncodedReading) for one in readings):
            errors.append(
                f"{raw.source} has no column of free text for --encoder. Name it with --text, or "
                "leave out --encoder."
            )
    features = _read_columns(raw, readings, errors, like)
    strict = selection.strict
    notes = [_note(one, features.bad.get(one.column), raw, strict=strict) for one in readings]
    notes += [ColumnNote(one.column, False, one.reason) for one in left_out]
    return replace(features, decimal=defaults.decimal, notes=tuple(notes))


def _without_missing(raw: RawTable, options: ReadOptions) -> RawTable:
    """Return the table without the texts that mean "missing"."""
    words = missing_words(options.strict)
    return replace(raw, cells={name: cells.without(words) for name, cells in raw.cells.items()})


def _no_feature(notes: Sequence[ColumnNote], raw: RawTable) -> str:
    reasons = [f"{note.column!r} ({note.words})" for note in notes[:8] if not note.used]
    message = f"{raw.source} has no column to learn from"
    if reasons:
        return (
            f"{message}: {', '.join(reasons)}. To use one of them all the same, name it with "
            "--keep."
        )
    if is_sparse(raw.matrix) and not raw.roles.left_out:
        return f"{message}: all its numbers are 0. Give other points."
    return (
        f"{message} besides the label. The columns of --id, --image, --map and --drop are not "
        "learnt from: add columns of numbers, dates or texts."
    )


def _of_matrix(raw: RawTable) -> Features:
    return Features(raw.matrix, raw.roles.features, (NUMERIC,) * len(raw.roles.features))


def _encoded(reading: Reading, encoder: str, picture: str | None) -> Reading:
    """Replace the reading of free text, or of the column `picture` only, by that of an encoder."""
    if isinstance(reading, FreeTextReading) and picture in (None, reading.column):
        return EncodedReading(reading.column, encoder, picture is not None)
    return reading


def defaults_of(raw: RawTable, options: ReadOptions) -> ReadingDefaults:
    """Find the defaults of a table for ambiguous columns."""
    decimal = options.decimal
    if decimal == "auto":
        decimal = usual_mark(marks_of_table(raw.cells)) or raw.decimal
    order = {"day": "dmy", "month": "mdy", "auto": ""}[options.dates]
    order = order or date_evidence(raw.cells) or ("mdy" if decimal == "." else "dmy")
    return ReadingDefaults(decimal, options.decimal != "auto", order)


def encode_again(
    raw: RawTable, readings: Sequence[Reading], options: ReadOptions, like: object = None
) -> Features:
    """Encode new rows as in the fit; see `encode`."""
    if raw.is_matrix:
        return _of_matrix(raw)
    raw = _without_missing(raw, options)
    if options.decimal != "auto":
        asked = ReadingDefaults(options.decimal, fixed=True)
        readings = [
            replace(reading, decimal=decimal_of(raw.cells[reading.column], asked))
            if isinstance(reading, NumberReading)
            else reading
            for reading in readings
        ]
    numbers = [one for one in readings if isinstance(one, NumberReading)]
    errors = []
    for then, now, mark in (("points", "commas", ","), ("commas", "points", ".")):
        other = [one.column for one in numbers if _has_other_mark(one, raw.cells[one.column], mark)]
        if other:
            errors.append(
                f"{raw.source}: {quoted(other)} was read with decimal {then} when the model was "
                f"fitted, and here it has decimal {now}. If it is meant so, say --decimal '{mark}'."
            )
    return _read_columns(raw, readings, errors, like)


def _has_other_mark(reading: NumberReading, cells: Cells, mark: str) -> bool:
    """Return whether most numbers have this decimal mark, and the model would misread some.

    With points, 1,234 would be 1234; with commas, 1.234 would, and 1.5 € would be missing.
    """
    marks = cells.marks + Counter({".": cells.fractions.size})
    other = replace(reading, decimal=mark)
    return marks[mark] > marks[reading.decimal] and any(
        reading.value(text) != other.value(text) for text in cells.counts
    )


def _choose_columns(
    inferred: Sequence[Reading | Unusable], insisted: frozenset[str], raw: RawTable
) -> tuple[list[Reading], list[Unusable], list[str]]:
    """Divide columns into those used, those left out, and errors for columns the user requires."""
    readings: list[Reading] = []
    left_out: list[Unusable] = []
    input_errors: list[str] = []
    for one in inferred:
        if not isinstance(one, Unusable):
            readings.append(one)
        elif one.bad is not None:
            input_errors.append(raw.text_error(one.column, one.bad))
        elif one.column not in insisted and not one.refused:
            left_out.append(one)
        elif one.forced is not None and one.column in insisted:
            readings.append(one.forced)
        else:
            cure = one.refused or "Leave it out of --keep and --features"
            input_errors.append(
                f"{raw.source}: column {one.column!r} cannot be used: {one.reason}. {cure}, or "
                f"leave it out with --drop {shell_word(one.column)}."
            )
    return readings, left_out, input_errors


def _read_columns(
    raw: RawTable, readings: Sequence[Reading], errors: Sequence[str], like: object
) -> Features:
    """Read columns, and join their features."""
    columns: dict[str, NDArray[Any]] = {}
    kinds: list[str] = []
    bad: dict[str, BadCells] = {}
    for reading in readings:
        values, wrong = reading.read(raw.cells[reading.column])
        columns |= zip(reading.names, values, strict=True)
        kinds += [reading.feature] * len(values)
        bad |= {} if wrong is None else {reading.column: wrong}
    if len(columns) < len(kinds):  # "since (days)" may be a column of the file as well
        counts = Counter(name for reading in readings for name in reading.names)
        twice = quoted([name for name, count in counts.items() if count > 1])
        errors = [*errors, f"{raw.source}: {twice} names two features; rename the column."]
        columns, kinds = {}, []
    X, names = _points(raw, columns, like), tuple(columns)
    return Features(X, names, tuple(kinds), tuple(readings), bad=bad, errors=tuple(errors))


def _points(raw: RawTable, columns: Mapping[str, NDArray[Any]], like: object) -> Any:
    """Join columns; return the matrix of the file if it has exactly these columns, unchanged."""
    own, given = [cells.numbers for cells in raw.cells.values()], list(columns.values())
    if raw.matrix is not None and len(own) == len(given) and all(map(is_, own, given)):
        return raw.matrix
    return join_columns(columns, raw.n, like)


def _note(reading: Reading, bad: BadCells | None, raw: RawTable, *, strict: bool) -> ColumnNote:
    cells = raw.cells[reading.column]
    plain = NumberReading(reading.column)
    # Without a text there is no decimal mark.
    shown = plain if isinstance(reading, NumberReading) and not cells.texts.size else reading
    words = [shown.describe()]
    n_missing = cells.numbers.size - cells.n_filled
    if n_missing:
        words.append(f"{n_missing} missing")
    if bad is not None:
        what = "cell is" if bad.count == 1 else "cells are"
        words.append(
            f"{bad.count} {what} something else ({shorten(bad.value)!r} in "
            f"{raw.name_row(bad.row)}) and counted as missing"
        )
    if not strict and (alternative := other_reading(reading, cells)):
        words.append(alternative)
    unchanged = len(words) == 1 and shown == plain
    return ColumnNote(reading.column, True, "; ".join(words), unchanged)


def describe_notes(notes: Sequence[ColumnNote]) -> list[dict[str, Any]]:
    """Describe the treatment of each column for JSON."""
    return [{"column": one.column, "used": one.used, "what": one.words} for one in notes]


def summary_lines(notes: Sequence[ColumnNote], remarks: Sequence[str]) -> list[str]:
    """Describe the treatment of each column.

    Parameters
    ----------
    notes : sequence of ColumnNote
        From `Table.features`.
    remarks : sequence of str
        From `Table.remarks`.

    Returns
    -------
    list of str
        Lines; empty if all columns are used unchanged. Columns with the same description share a
        line.
    """
    lines = [f"{remark[0].upper()}{remark[1:]}." for remark in remarks]
    if all(note.plain for note in notes):
        return lines
    used, left_out = ([n for n in notes if n.used is which] for which in (True, False))
    lines.append(f"Columns: {len(used)} used, {len(left_out)} left out.")
    groups: dict[tuple[str, str], list[str]] = {}
    for note in (*used, *left_out):
        groups.setdefault(("used" if note.used else "left out", note.words), []).append(note.column)
    lines += [f"  {how} {quoted(names)}: {words}" for (how, words), names in groups.items()]
    if left_out:
        lines.append("--keep COLUMN uses one all the same; --strict leaves none out.")
    return lines


# --- checks ---------------------------------------------------------------------------------------


def feature_errors(features: Features, raw: RawTable, *, missing: bool, new: bool) -> list[str]:
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
    missing_in = missing_cells(features)
    empty = [name for name, (count, _) in missing_in.items() if count == n]
    if missing and empty and not new:
        found.append(
            f"{where}: no row has a value in {quoted(empty)}, so there is nothing to impute from; "
            f"leave it out with --drop {shell_word(empty[0])}."
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
        missing_in = {name: cell for name, cell in missing_in.items() if name not in described}
        of_model = (
            "Fill them in: the model was fitted to a table without any, and has no values for them"
        )
        cure = of_model if new else f"Either fill them in with --impute median{drop}"
        found += _cell_errors(missing_in, raw, "missing values", cure)
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
    return _wrong_cells(features, is_infinite)


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
    first = raw.name_row(next(iter(cells.values()))[1])
    return [f"{raw.source}: {what} in {names}; the first is in {first}. {cure}."]


def warn_of_bad_cells(features: Features, raw: RawTable) -> None:
    """Warn about cells of new rows that do not have the type of their column."""
    for name, bad in features.bad.items():
        message = raw.text_error(name, bad).partition(". Correct")[0]
        warn(f"{message}; counted as missing.")


def check_ids(raw: RawTable, *, usual: bool = False) -> None:
    """Raise ValueError if ids are missing or repeated; `usual` if a model named their column."""
    if raw.ids is None:
        return
    where = f"{raw.source}: id column {raw.roles.id!r}"
    values, first, counts = np.unique(raw.ids, return_index=True, return_counts=True)
    if values.size and not values[0]:  # the empty text is first
        n, row, cure = int(counts[0]), first[0], "take the column" if usual else "leave --id"
        raise ValueError(
            f"{where} is empty in {n} row{'s' * (n > 1)}, first in {raw.name_row(row)}. "
            f"Fill in an id that no other row has, or {cure} out: rows are then known by their "
            "numbers."
        )
    if values.size < raw.n:
        repeated = int(np.argmax(counts > 1))
        raise ValueError(
            f"{where} does not tell rows apart: {values[repeated]!r} is in {counts[repeated]} "
            f"rows, first in {raw.name_row(first[repeated])}. Give every row its own id."
        )


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
            word = shell_word(name)
            warn(
                f"column {name!r} counts the rows and is used as a feature. If it only names "
                f"the rows, take it as --id {word} or leave it out with --drop {word}."
            )
