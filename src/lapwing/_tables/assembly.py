"""From columns of cells to a table of features."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._tables.cells import Cells, as_text, is_unit, join_cells, read_amount
from lapwing._tables.columns import ColumnNote, RawColumns, RawTable, Selection
from lapwing._tables.encoders import (
    NUMERIC,
    BadCells,
    EncodedReading,
    FreeTextReading,
    NumberReading,
    Reading,
)
from lapwing._tables.inference import (
    MAX_VALUES,
    ReadingDefaults,
    Unusable,
    date_evidence,
    decimal_of,
    doubt_of,
    file_evidence,
    fractions_of,
    judge_leniently,
    judge_strictly,
    missing_words,
)
from lapwing._tables.input_errors import name_row, text_in_the_way
from lapwing._tables.options import ReadOptions
from lapwing._tables.words import USUAL_MISSING_WORDS, shorten
from lapwing._words import listed, quoted


def join_columns(parts: Sequence[RawColumns]) -> RawColumns:
    """Put tables with the same columns one below the other."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    decimals = {part.decimal for part in parts}
    return replace(
        first,
        n=sum(part.n for part in parts),
        cells={name: join_cells([part.cells[name] for part in parts]) for name in first.cells},
        labels=join_arrays([part.labels for part in parts]),
        ids=join_arrays([part.ids for part in parts]),
        others=_join_others(parts),
        numbers=_join_numbers(parts),
        places=None,
        remarks=tuple(dict.fromkeys(text for part in parts for text in part.remarks)),
        ignored=tuple(dict.fromkeys(name for part in parts for name in part.ignored)),
        matrix=None,
        decimal=decimals.pop() if len(decimals) == 1 else "",
    )


def take_out_units(columns: RawColumns) -> RawColumns:
    """Leave out a first row that holds the units of the columns and no values."""
    if columns.n == 0:
        return columns
    top = {name: cells.at(np.zeros(1, np.intp))[0] for name, cells in columns.cells.items()}
    texts = {name: text for name, text in top.items() if isinstance(text, str)}
    values = any(isinstance(value, float) and not np.isnan(value) for value in top.values())
    if values or not all(
        text.lower() in USUAL_MISSING_WORDS or _holds_numbers(columns.cells[name])
        for name, text in texts.items()
    ):
        return columns
    units = list(dict.fromkeys(text for text in texts.values() if is_unit(text)))
    labels = [] if columns.labels is None else columns.labels.tolist()
    if not units or (labels and labels[0] and labels[0] in labels[1:]):
        return columns
    return replace(
        columns,
        n=columns.n - 1,
        cells={name: cells.below_first() for name, cells in columns.cells.items()},
        labels=None if columns.labels is None else columns.labels[1:],
        ids=None if columns.ids is None else columns.ids[1:],
        others={name: column[1:] for name, column in columns.others.items()},
        numbers={name: column[1:] for name, column in columns.numbers.items()},
        matrix=None if columns.matrix is None else columns.matrix[1:],
        places=None if columns.places is None else columns.places[1:],
        remarks=(
            *columns.remarks,
            f"{name_row(0, columns.places)} holds units: {listed(units, 8)}",
        ),
    )


def _holds_numbers(cells: Cells) -> bool:
    """Whether most cells of the next hundred rows are numbers, with units or without."""
    below = cells.at(np.arange(1, min(cells.numbers.size, 101)))
    filled = [value for value in below if isinstance(value, str) or not np.isnan(value)]
    numbers = [
        value
        for value in filled
        if not isinstance(value, str) or read_amount(value, ".") or read_amount(value, ",")
    ]
    return 2 * len(numbers) > len(filled)


def _join_others(parts: Sequence[RawColumns]) -> dict[str, NDArray[Any]]:
    """Columns of text, which a part may miss if they are only written again."""
    names = dict.fromkeys(name for part in parts for name in part.others)
    return {
        name: np.concatenate([part.others.get(name, as_text([""] * part.n)) for part in parts])
        for name in names
    }


def _join_numbers(parts: Sequence[RawColumns]) -> dict[str, NDArray[Any]]:
    names = dict.fromkeys(name for part in parts for name in part.numbers)
    return {
        name: np.concatenate([part.numbers.get(name, np.full(part.n, np.nan)) for part in parts])
        for name in names
    }


def join_arrays(columns: Sequence[NDArray[Any] | None]) -> NDArray[Any] | None:
    """Put columns one below the other that may not be there."""
    parts = [column for column in columns if column is not None]
    return np.concatenate(parts) if parts else None


def read_columns(columns: RawColumns, selection: Selection, where: str) -> RawTable:
    """Judge all columns and make features of them.

    Parameters
    ----------
    columns : RawColumns
        Of all files.
    selection : Selection
        What the user says of them.
    where : str
        The files, for messages.
    """
    options, names = selection.options, list(columns.cells)
    texts = selection.free_texts(names)
    if options.strict:
        verdicts = [
            judge_strictly(name, cells, is_text=name in texts)
            for name, cells in columns.cells.items()
        ]
        unusable = [verdict for verdict in verdicts if isinstance(verdict, Unusable)]
        readings = [verdict for verdict in verdicts if not isinstance(verdict, Unusable)]
        readings, unencoded = _encoded(readings, options, where)
        input_errors = [*_strict_errors(unusable, where, columns.places), *unencoded]
        return _assemble(columns, readings, [], input_errors, where, strict=True)
    habits, words = habits_of(columns, options), missing_words(strict=False)
    verdicts = [
        judge_leniently(name, cells, habits, is_text=name in texts)
        for name, cells in columns.cells.items()
    ]
    readings, left_out, input_errors = _insist(verdicts, selection.insisted(names), where)
    readings, unencoded = _encoded(readings, options, where)
    input_errors += unencoded
    raw = _assemble(columns, readings, left_out, input_errors, where, strict=False)
    doubts = {
        reading.column: doubt_of(reading, columns.cells[reading.column].without(words))
        for reading in readings
    }
    notes = [
        replace(note, words=f"{note.words}; {doubts[note.column]}", plain=False)
        if doubts.get(note.column)
        else note
        for note in raw.notes
    ]
    return replace(raw, decimal=habits.decimal, notes=tuple(notes))


def _encoded(
    readings: Sequence[Reading], options: ReadOptions, where: str
) -> tuple[list[Reading], list[str]]:
    """Leave free text or pictures to the encoder, if there is one; an error if it has none."""
    if not options.encoder:
        return list(readings), []
    picture = options.picture
    found = [
        EncodedReading(reading.column, options.encoder, picture is not None)
        if isinstance(reading, FreeTextReading) and picture in (None, reading.column)
        else reading
        for reading in readings
    ]
    if any(isinstance(reading, EncodedReading) for reading in found):
        return found, []
    return found, [
        f"{where} has no column of free text for --encoder. Name it with --text, or leave out "
        "--encoder."
    ]


def habits_of(columns: RawColumns, options: ReadOptions) -> ReadingDefaults:
    """See what is usual in a table, for columns that allow two meanings."""
    decimal = options.decimal
    if decimal == "auto":
        decimal = file_evidence(columns.cells).decimal or columns.decimal
    order = {"day": "dmy", "month": "mdy", "auto": ""}[options.dates]
    order = order or date_evidence(columns.cells) or ("mdy" if decimal == "." else "dmy")
    return ReadingDefaults(decimal, options.decimal != "auto", order)


def apply_readings(
    columns: RawColumns, readings: Sequence[Reading], options: ReadOptions, where: str
) -> RawTable:
    """Make features of a new table as was done at the fit."""
    if options.decimal != "auto":
        asked = ReadingDefaults(options.decimal, fixed=True)
        readings = [
            replace(reading, decimal=decimal_of(columns.cells[reading.column], asked))
            if isinstance(reading, NumberReading)
            else reading
            for reading in readings
        ]
    mixed = [
        reading.column
        for reading in readings
        if isinstance(reading, NumberReading)
        and _mixes_marks(reading, columns.cells[reading.column])
    ]
    input_errors = []
    if mixed:
        input_errors.append(
            f"{where}: {quoted(mixed)} was read with decimal commas when the model was fitted, and "
            "here it has decimal points as well as points that may be either. Say which with "
            "--decimal . or --decimal ,."
        )
    return _assemble(columns, readings, [], input_errors, where, strict=options.strict)


def _mixes_marks(reading: NumberReading, cells: Cells) -> bool:
    if reading.decimal != "," or not cells.texts.size:
        return False
    grouped = any("." in text for text in set(cells.texts.tolist()))
    return grouped and bool(fractions_of(cells).any())


def _insist(
    verdicts: Sequence[Reading | Unusable], insisted: frozenset[str], where: str
) -> tuple[list[Reading], list[Unusable], list[str]]:
    readings: list[Reading] = []
    left_out: list[Unusable] = []
    input_errors: list[str] = []
    for verdict in verdicts:
        if not isinstance(verdict, Unusable):
            readings.append(verdict)
        elif verdict.column not in insisted and not verdict.refused:
            left_out.append(verdict)
        elif verdict.forced is not None and verdict.column in insisted:
            readings.append(verdict.forced)
        else:
            drop = f"leave it out with --drop {shlex.quote(verdict.column)}"
            cure = f"Leave it out of --keep and --features, or {drop}"
            if verdict.refused:
                cure = f"{verdict.refused}, or {drop}"
            input_errors.append(
                f"{where}: column {verdict.column!r} cannot be used: {verdict.reason}. {cure}."
            )
    return readings, left_out, input_errors


@dataclass(frozen=True)
class _Read:
    """A column with its reading."""

    reading: Reading
    cells: Cells  # less those that are missing
    features: Sequence[NDArray[Any]]
    bad: BadCells | None


def _assemble(
    columns: RawColumns,
    readings: Sequence[Reading],
    left_out: Sequence[Unusable],
    input_errors: Sequence[str],
    where: str,
    *,
    strict: bool,
) -> RawTable:
    words = missing_words(strict)
    done = []
    for reading in readings:
        cells = columns.cells[reading.column].without(words)
        features, bad = reading.read(cells)
        done.append(_Read(reading, cells, features, bad))
    texts = {one.reading.column: one.features[0] for one in done if one.reading.feature != NUMERIC}
    numeric = [f for one in done for f in one.features if one.reading.column not in texts]
    notes = [_note(one, columns.places) for one in done]
    notes += [ColumnNote(one.column, False, one.reason) for one in left_out]
    names = tuple(name for one in done for name in one.reading.names)
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:  # "since (days)" may be a column of the file as well
        input_errors = [
            *input_errors,
            f"{where}: {quoted(twice)} names two features; rename the column.",
        ]
    return RawTable(
        _matrix(numeric, columns),
        names,
        columns.labels,
        columns.ids,
        texts,
        columns.others,
        columns.default_marker,
        tuple(readings),
        tuple(notes),
        tuple(input_errors),
        columns.remarks,
        {one.reading.column: one.bad for one in done if one.bad is not None},
        columns.ignored,
        columns.left_out + tuple(one.column for one in left_out),
        cells=columns.cells,
        dialect=columns.dialect,
        numbers=columns.numbers,
        places=columns.places,
    )


def _matrix(columns: Sequence[NDArray[Any]], raw: RawColumns) -> NDArray[Any]:
    """Columns side by side; the file's own matrix where these are all of it, as they stand."""
    own = [cells.numbers for cells in raw.cells.values()]
    same = len(own) == len(columns) and all(map(is_, own, columns))
    if raw.matrix is not None and same:
        return raw.matrix
    narrow = bool(columns) and all(column.dtype == np.float32 for column in columns)
    X = np.empty((raw.n, len(columns)), dtype=np.float32 if narrow else np.float64)
    for j, column in enumerate(columns):
        X[:, j] = column
    return X


def _note(one: _Read, places: NDArray[np.int64] | None) -> ColumnNote:
    reading = one.reading
    if isinstance(reading, NumberReading) and not one.cells.texts.size:
        reading = NumberReading(reading.column)  # no text, and so no decimal mark
    words = [reading.describe()]
    n_missing = one.cells.numbers.size - one.cells.n_filled
    if n_missing:
        words.append(f"{n_missing} missing")
    if one.bad is not None:
        what = "cell is" if one.bad.count == 1 else "cells are"
        words.append(
            f"{one.bad.count} {what} something else ({shorten(one.bad.value)!r} in "
            f"{name_row(one.bad.row, places)}) and counted as missing"
        )
    plain = len(words) == 1 and reading == NumberReading(reading.column)
    return ColumnNote(one.reading.column, True, "; ".join(words), plain)


def _strict_errors(
    unusable: Sequence[Unusable], where: str, places: NDArray[np.int64] | None
) -> list[str]:
    input_errors = []
    for one in unusable:
        name = one.column
        if one.bad is not None:
            input_errors.append(text_in_the_way(name, one.bad, where, places))
        elif not one.n_values:
            input_errors.append(
                f"{where}: column {name!r} {one.reason}. Write it as numbers, or leave it out with "
                f"--drop {name}."
            )
    many = [one for one in unusable if one.n_values]
    if many:
        names = [one.column for one in many]
        verb = "is not numeric" if len(names) == 1 else "are not numeric"
        drops = " ".join(f"--drop {name!r}" for name in names[:8])
        input_errors.append(
            f"{where}: {quoted(names)} {verb} (the first row of {names[0]!r} holds "
            f"{shorten(many[0].first)!r}) and not few-valued: text is one-hot encoded for up to "
            f"{MAX_VALUES} values, each in two rows or more on average. Leave out with {drops}, "
            f"name the rows with --id, or write as numbers."
        )
    return input_errors
