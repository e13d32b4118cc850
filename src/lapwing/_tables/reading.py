"""Reading of files: each in its format, later files by the columns of the first."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from lapwing._tables.answers import is_answers, locate, name_keys
from lapwing._tables.cells import USUAL_MISSING_WORDS, Cells, is_unit, read_amount, usual_mark
from lapwing._tables.columns import RawTable, join_tables
from lapwing._tables.csv import read_csv
from lapwing._tables.encoders import NUMERIC
from lapwing._tables.excel import read_excel
from lapwing._tables.frames import read_parquet
from lapwing._tables.inference import marks_of_table
from lapwing._tables.matrices import (
    count_labels,
    read_matrix_market,
    read_npy,
    read_npz,
    read_svmlight,
)
from lapwing._tables.roles import Selection
from lapwing._tables.source import Source, open_source
from lapwing._words import listed

TABLES: dict[str, Callable[[Source, Selection], RawTable]] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".txt": read_csv,
    ".parquet": read_parquet,
    ".xlsx": read_excel,
    ".xlsm": read_excel,
    ".xls": read_excel,
    ".ods": read_excel,
}
SVMLIGHT = (".svm", ".svmlight", ".libsvm")
_MATRICES: dict[str, Callable[[Source, Selection], RawTable]] = {
    ".npz": read_npz,
    ".npy": read_npy,
    ".mtx": read_matrix_market,
    **dict.fromkeys(SVMLIGHT, lambda source, selection: read_svmlight([source], selection)),
}
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".7z")
FORMATS = (*TABLES, *_MATRICES)


def name_of(paths: Sequence[Path]) -> str:
    """Return the names of files as given by the user, shortened."""
    names = ["standard input" if str(path) == "-" else str(path) for path in paths]
    return listed(names, 1)


def read_for_model(paths: Sequence[Path], selection: Selection) -> RawTable:
    """Read files for a fitted model, and concatenate their rows.

    Raises
    ------
    OSError, ValueError, ImportError
        As for `lapwing._tables.tables.read_points`; also if only some files have the ids.
    """
    with _open_all(paths, selection) as sources:
        first, n_first = _read_first(sources, selection)
        later = replace(selection, skip_lines=None)
        parts = [first, *(_read_one(source, later) for source in sources[n_first:])]
        ids = [part.roles.id for part in parts]
        known = next((name for name in ids if name is not None), None)
        if known is not None and None in ids:
            lacks = [sources[0], *sources[n_first:]][ids.index(None)]
            raise ValueError(
                f"{lacks} has no column {known!r}, which names the rows of the other files. Add "
                "it, or predict the files with and without it one after the other."
            )
    return join_tables(parts, name_of(paths))


def read_raw(paths: Sequence[Path], selection: Selection) -> RawTable:
    """Read the files of a fit without checks, and concatenate their rows.

    Labels of files of answers are merged later, by `lapwing._tables.labels.LabelColumn.of`.

    Raises
    ------
    OSError, ValueError, ImportError
        As for `lapwing._tables.tables.read_table`.
    """
    with _open_all(paths, selection) as sources:
        raw, answer_files = _read_files(paths, sources, selection)
        if raw.n_empty and selection.labels_file is not None:
            # `lapwing label` writes no lines for empty rows, other programs do. A pipe cannot be
            # counted first.
            labels = Path(selection.labels_file)
            if not labels.is_file() or count_labels(labels) != raw.n:
                selection = replace(selection, empty_rows=True)
                raw, answer_files = _read_files(paths, sources, selection)
    answers = tuple(locate(part, one, raw, selection.id) for one, part in answer_files)
    return replace(raw, answers=answers)


def _read_files(
    paths: Sequence[Path], sources: Sequence[Source], selection: Selection
) -> tuple[RawTable, list[tuple[str, RawTable]]]:
    """Read a table of several files, and files of answers with their names."""
    # All labels may be in a later file of answers, but svmlight files have targets.
    answered = len(paths) > 1 and sources[0].suffix not in SVMLIGHT
    absent = selection.absent or answered
    first, n_first = _read_first(sources, replace(selection, absent=absent))
    later = _selection_of_later_files(first, selection)
    keys = name_keys(first.roles.names, selection.label)
    # Rows of the table, or of a file of answers.
    either = replace(
        later,
        label=keys.label,
        labels_file=None,
        shown=(*later.shown, keys.chosen),
        usual_id=keys.row,
        partial=True,
    )
    tables, named = [first], list(paths[:n_first])
    answer_files: list[tuple[str, RawTable]] = []
    for path, source in zip(paths[n_first:], sources[n_first:], strict=True):
        part = _read_one(source, either if source.suffix in TABLES else later)
        if is_answers(part, tables, selection.id):
            answer_files.append((name_of([path]), part))
            continue
        if keys.chosen in part.texts and selection.id is None:
            raise ValueError(
                f"{source} holds suggested rows (column {keys.chosen!r}), and it is not known "
                "which column names them. Give --id COLUMN, as for the command that suggested "
                "them."
            )
        if not part.is_matrix:
            later.resolve(part.roles.names, str(source))  # for the error message
        tables.append(part)
        named.append(path)
    # Either all labels are in files of answers, or every file has the column.
    if first.labels is None and (not answer_files or any(one.labels for one in tables)):
        selection.resolve(first.roles.names, str(sources[0]))  # for the error message
    return replace(join_tables(tables, name_of(named)), keys=keys), answer_files


def _read_first(sources: Sequence[Source], selection: Selection) -> tuple[RawTable, int]:
    """Read the first file, or all svmlight files at the start; return their number as well.

    These share the base of their indices.
    """
    n = next((k for k, one in enumerate(sources) if one.suffix not in SVMLIGHT), len(sources))
    if n:
        return read_svmlight(sources[:n], selection), n
    return _read_one(sources[0], selection), 1


@contextmanager
def _open_all(paths: Sequence[Path], selection: Selection) -> Iterator[list[Source]]:
    """Open files; raise an error for repeated ones, and for matrices with --with-columns."""
    real = [os.path.realpath(path) for path in paths]
    for k, path in enumerate(paths):
        if real[k] in real[:k]:
            raise ValueError(f"{name_of([path])} is given twice; give it once.")
    with ExitStack() as stack:
        sources = [stack.enter_context(open_source(path)) for path in paths]
        matrix = next((source for source in sources if source.suffix in _MATRICES), None)
        if selection.whole and matrix is not None:
            raise ValueError(
                f"{matrix}: --with-columns is about tables, and this format holds a matrix. Leave "
                "it out."
            )
        # A file of answers beside a spreadsheet has no sheets.
        sheets = any(TABLES.get(source.suffix) is read_excel for source in sources)
        if selection.sheet is not None and not sheets:
            raise ValueError(
                f"{name_of(paths)}: --sheet is about spreadsheets, such as .xlsx. Leave it out."
            )
        yield sources


def _read_one(source: Source, selection: Selection) -> RawTable:
    reader = TABLES.get(source.suffix) or _MATRICES.get(source.suffix)
    if reader is None:
        if source.suffix in _PACKED:
            raise ValueError(
                f"{source} is compressed. Unpack it, and give the file that is inside."
            )
        raise ValueError(
            f"{source}: cannot tell the format from the extension {source.suffix!r}; "
            f"it must be one of {', '.join(FORMATS)}."
        )
    if selection.skip_lines is not None and reader is not read_csv:
        raise ValueError(
            f"{source}: --skip-lines is about CSV files. Leave it out: spreadsheets are read from "
            "the row of the names on, and other formats have no lines above it."
        )
    if selection.separator != "auto" and reader is not read_csv:
        raise ValueError(f"{source}: --separator is about CSV files. Leave it out.")
    raw = reader(source, selection)
    return raw if selection.strict else _without_units(raw)


def _without_units(raw: RawTable) -> RawTable:
    """Remove a first row with the units of the columns instead of values."""
    if raw.n == 0 or raw.is_matrix:
        return raw
    top = {name: cells.at(np.zeros(1, np.intp))[0] for name, cells in raw.cells.items()}
    texts = {name: text for name, text in top.items() if isinstance(text, str)}
    values = any(isinstance(value, float) and not np.isnan(value) for value in top.values())
    if values or not all(
        text.lower() in USUAL_MISSING_WORDS or _holds_numbers(raw.cells[name])
        for name, text in texts.items()
    ):
        return raw
    units = list(dict.fromkeys(text for text in texts.values() if is_unit(text)))
    labels = [] if raw.labels is None else raw.labels.texts.tolist()
    if not units or (labels and labels[0] and labels[0] in labels[1:]):
        return raw
    return replace(
        raw,
        n=raw.n - 1,
        cells={name: cells.below_first() for name, cells in raw.cells.items()},
        texts={name: column.below_first() for name, column in raw.texts.items()},
        matrix=None if raw.matrix is None else raw.matrix[1:],
        places=None if raw.places is None else raw.places[1:],
        remarks=(*raw.remarks, f"{raw.name_row(0)} holds units: {listed(units, 8)}"),
    )


def _holds_numbers(cells: Cells) -> bool:
    """Return whether most cells of the next hundred rows are numbers, with or without units."""
    below = cells.at(np.arange(1, min(cells.numbers.size, 101)))
    filled = [value for value in below if isinstance(value, str) or not np.isnan(value)]
    numbers = [
        value
        for value in filled
        if not isinstance(value, str) or read_amount(value, ".") or read_amount(value, ",")
    ]
    return 2 * len(numbers) > len(filled)


def _selection_of_later_files(first: RawTable, selection: Selection) -> Selection:
    """Return the selection for later files, which must have the columns of the first file."""
    return replace(
        selection,
        features=(),
        keep=(),
        drop=(),
        skip_lines=None,  # a file of answers has no titles, even if the first file has
        expected=dict.fromkeys(first.roles.features, NUMERIC),
        optional=first.roles.left_out,
        same_columns=not selection.features,
        # With decimal commas, 1.234 in the next file may be 1234.
        grouped=(first.decimal or usual_mark(marks_of_table(first.cells))) == ",",
    )
