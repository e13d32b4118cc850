"""Parts of a table: each file in its format, later files by the columns of the first."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lapwing._arrays import is_sparse
from lapwing._tables.answers import locate, name_keys
from lapwing._tables.assembly import join_arrays, join_columns, read_columns, take_out_units
from lapwing._tables.cells import Cells, as_text
from lapwing._tables.columns import FileAnswers, Keys, RawColumns, RawTable, Selection
from lapwing._tables.csv import read_csv
from lapwing._tables.encoders import NUMERIC
from lapwing._tables.excel import read_excel
from lapwing._tables.inference import file_evidence
from lapwing._tables.matrices import read_matrix_market, read_npy, read_npz, read_svmlight
from lapwing._tables.parquet import read_parquet
from lapwing._tables.source import Source, open_source
from lapwing._tables.words import without_guard
from lapwing._words import listed

TABLES: dict[str, Callable[[Source, Selection], RawColumns]] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".txt": read_csv,
    ".parquet": read_parquet,
    ".xlsx": read_excel,
    ".xlsm": read_excel,
    ".xls": read_excel,
    ".ods": read_excel,
}
_MATRICES: dict[str, Callable[[Source, Selection], RawTable]] = {
    ".npz": read_npz,
    ".npy": read_npy,
    ".mtx": read_matrix_market,
}
SVMLIGHT = (".svm", ".svmlight", ".libsvm")
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".7z")
FORMATS = (*TABLES, *_MATRICES, *SVMLIGHT)
_ROW_NUMBER = re.compile(r"(\d+)(?:[.,]0*)?")

Part = RawColumns | RawTable


def name_of(paths: Sequence[Path]) -> str:
    """Write file names as the user did, briefly."""
    names = ["standard input" if str(path) == "-" else str(path) for path in paths]
    return listed(names, 1)


def read_alike(paths: Sequence[Path], selection: Selection) -> list[Part]:
    """Read files that a model knows how to read."""
    with ExitStack() as stack:
        sources = [stack.enter_context(open_source(path)) for path in _once(paths)]
        _check_whole(sources, selection)
        if all(source.suffix in SVMLIGHT for source in sources):
            return [read_svmlight(sources, selection)]
        later = replace(selection, options=replace(selection.options, skip_lines=None))
        return [_read_one(s, later if k else selection) for k, s in enumerate(sources)]


def read_raw(paths: Sequence[Path], selection: Selection) -> RawTable:
    """Read the files of a fit, unchecked, and put their rows one below the other.

    Labels of files that only give them to rows of the others are not joined yet: see
    `lapwing._tables.tables.label_rows`.

    Raises
    ------
    OSError, ValueError, ImportError
        As `lapwing._tables.tables.read_table`.
    """
    with ExitStack() as stack:
        sources = [stack.enter_context(open_source(path)) for path in _once(paths)]
        _check_whole(sources, selection)
        # Together, as they share the base of their indices.
        n_first = next((k for k, s in enumerate(sources) if s.suffix not in SVMLIGHT), len(paths))
        first: Part
        if n_first:
            first = read_svmlight(sources[:n_first], selection)
        else:
            # The labels may all be in a later file that gives them to these rows.
            options = replace(selection.options, absent=selection.options.absent or len(paths) > 1)
            first, n_first = _read_one(sources[0], replace(selection, options=options)), 1
        later = _of_later_files(first, selection)
        keys = name_keys(_columns_of(first, selection), selection.label)
        tables, named = [first], list(paths[:n_first])
        sheets: list[tuple[str, RawColumns]] = []
        for path, source in zip(paths[n_first:], sources[n_first:], strict=True):
            part = _read_later(source, later, keys)
            if isinstance(part, RawColumns) and _is_answers(part, tables, selection):
                sheets.append((name_of([path]), part))
                continue
            if isinstance(part, RawColumns):
                _check_named(part, str(source), keys, selection)
                later.resolve(_columns_of(part, later), str(source))  # says what is missing
            tables.append(part)
            named.append(path)
    if not sheets and isinstance(first, RawColumns) and first.labels is None:
        selection.resolve(_columns_of(first, selection), str(sources[0]))  # says what is missing
    name = name_of(named)
    answers = tuple(_locate(part, one, tables, name, selection, keys) for one, part in sheets)
    joined = join_parts(tables, name)
    raw = joined if isinstance(joined, RawTable) else read_columns(joined, selection, name)
    return replace(raw, source=name, answers=answers, keys=keys)


def join_parts(parts: Sequence[Part], where: str) -> Part:
    """Put files one below the other: matrices as they are, else their columns."""
    matrices = [part for part in parts if isinstance(part, RawTable)]
    if len(matrices) == len(parts):
        return _stack(matrices, where)
    return join_columns([_as_columns(part) for part in parts])


def _once(paths: Sequence[Path]) -> Sequence[Path]:
    """Refuse a file that is given twice, whose rows would all count twice."""
    seen: set[str] = set()
    for path in paths:
        real = os.path.realpath(path)
        if real in seen:
            raise ValueError(f"{name_of([path])} is given twice; give it once.")
        seen.add(real)
    return paths


def _check_whole(sources: Sequence[Source], selection: Selection) -> None:
    matrix = next((s for s in sources if s.suffix in (*_MATRICES, *SVMLIGHT)), None)
    if selection.options.whole and matrix is not None:
        raise ValueError(
            f"{matrix}: --with-columns is about tables, and this format holds a matrix. Leave it "
            "out."
        )


def _read_one(source: Source, selection: Selection) -> Part:
    if source.suffix in SVMLIGHT:
        return read_svmlight([source], selection)
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
    if selection.options.skip_lines is not None and reader is not read_csv:
        raise ValueError(
            f"{source}: --skip-lines is about CSV files. Leave it out: spreadsheets are read from "
            "the row of the names on, and other formats have no lines above it."
        )
    if selection.options.separator != "auto" and reader is not read_csv:
        raise ValueError(f"{source}: --separator is about CSV files. Leave it out.")
    part = reader(source, selection)
    if isinstance(part, RawColumns) and not selection.options.strict:
        return take_out_units(part)
    return part


def _of_later_files(first: Part, selection: Selection) -> Selection:
    """An option that names a column of the first file is about the others too."""
    return replace(
        selection,
        # A file that was filled in has no titles, whatever the first one has.
        options=replace(selection.options, features=(), keep=(), drop=(), skip_lines=None),
        expected=dict.fromkeys(_names_of(first), NUMERIC),
        optional=first.left_out,
        same_columns=not selection.options.features,
        grouped=_has_commas(first),
    )


def _read_later(source: Source, later: Selection, keys: Keys) -> Part:
    if source.suffix not in TABLES:
        return _read_one(source, later)
    shown = (*later.options.shown, keys.chosen)
    options = replace(later.options, label=keys.label, labels_file=None, shown=shown)
    return _read_one(source, replace(later, options=options, usual_id=keys.row, partial=True))


def _is_answers(part: RawColumns, tables: Sequence[Part], selection: Selection) -> bool:
    """Whether a later file is about rows that are there: it numbers them, or has their ids.

    Raises
    ------
    ValueError
        If some of its rows are there and others are not.
    """
    if part.ids is None:
        return False
    if selection.id is None:
        return True
    row_of = _finder_of_ids(tables)
    there = [row_of(text) is not None for text in part.ids.tolist()]
    if any(there) and not all(there):
        old, new = (part.ids[there.index(which)] for which in (True, False))
        raise ValueError(
            f"the id column {selection.id!r} of a later file holds {old!r}, which is in a file "
            f"before it, and {new!r}, which is not. Give labels for known rows and new rows in two "
            "files."
        )
    return bool(there) and all(there)


def _check_named(part: RawColumns, source: str, keys: Keys, selection: Selection) -> None:
    """Refuse a file of suggested rows that names them by a column that is not given."""
    if keys.chosen in part.others and selection.id is None:
        raise ValueError(
            f"{source} holds suggested rows (column {keys.chosen!r}), and it is not known which "
            "column names them. Give --id COLUMN, as for the command that suggested them."
        )


def _finder_of_ids(tables: Sequence[Part]) -> Callable[[str], int | None]:
    """Give the row of an id, also where a spreadsheet has changed how it is written.

    It takes 007 for the number 7, and lapwing itself guards it from what begins like a formula.
    """
    ids = join_arrays([table.ids for table in tables])
    exact = {text: row for row, text in enumerate([] if ids is None else ids.tolist())}
    bare = Counter(text.lstrip("0") for text in exact)
    short = {text.lstrip("0"): row for text, row in exact.items() if bare[text.lstrip("0")] == 1}

    def row_of(text: str) -> int | None:
        text = text if text in exact else without_guard(text)
        return exact.get(text, short.get(text) if text.isdecimal() else None)

    return row_of


def _locate(
    sheet: RawColumns,
    name: str,
    tables: Sequence[Part],
    source: str,
    selection: Selection,
    keys: Keys,
) -> FileAnswers:
    n = sum(_n_rows(table) for table in tables)

    def by_number(text: str) -> int | None:
        number = _ROW_NUMBER.fullmatch(text)
        return int(number[1]) - 1 if number and 0 < int(number[1]) <= n else None

    row_of = by_number if selection.id is None else _finder_of_ids(tables)
    key = keys.row if selection.id is None else selection.id
    cells_of = partial(_cells, tables)
    return locate(sheet, name, source, row_of, cells_of, key, keys)


def _cells(
    tables: Sequence[Part], column: str, rows: NDArray[np.intp]
) -> Sequence[str | float] | None:
    found: dict[int, str | float] = {}
    start = 0
    for table in tables:
        n = _n_rows(table)
        mine = rows[(rows >= start) & (rows < start + n)]
        cells = _cells_of(table, column, mine - start)
        if cells is None:
            return None
        found |= dict(zip(mine.tolist(), cells, strict=True))
        start += n
    return [found[row] for row in rows.tolist()]


def _cells_of(table: Part, column: str, rows: NDArray[np.intp]) -> Sequence[str | float] | None:
    if isinstance(table, RawColumns):
        return table.cells[column].at(rows) if column in table.cells else None
    if column not in table.feature_names:
        return None
    block: Any = table.X[rows][:, [table.feature_names.index(column)]]
    values: list[str | float] = (block.toarray() if is_sparse(block) else block).ravel().tolist()
    return values


def _n_rows(part: Part) -> int:
    return part.n if isinstance(part, RawColumns) else int(part.X.shape[0])


def _names_of(part: Part) -> list[str]:
    return list(part.cells if isinstance(part, RawColumns) else part.feature_names)


def _columns_of(part: Part, selection: Selection) -> list[str]:
    """The names of all columns of a file."""
    chosen = (part.labels, selection.label), (part.ids, selection.id)
    named = [name for column, name in chosen if column is not None and name is not None]
    return list(
        dict.fromkeys([*_names_of(part), *part.others, *part.ignored, *part.left_out, *named])
    )


def _has_commas(part: Part) -> bool:
    """Whether a table has decimal commas, so that 1.234 in the next file may be 1234."""
    return (
        isinstance(part, RawColumns) and (part.decimal or file_evidence(part.cells).decimal) == ","
    )


def _as_columns(part: Part) -> RawColumns:
    """The columns of a matrix of numbers, to be joined with those of a table."""
    if isinstance(part, RawColumns):
        return part
    X: Any = part.X
    X = X.toarray() if is_sparse(X) else X
    nothing = (np.empty(0, np.int64), as_text([]))
    return RawColumns(
        X.shape[0],
        {name: Cells(X[:, j], *nothing) for j, name in enumerate(part.feature_names)},
        part.labels,
        part.ids,
        part.others,
        part.default_marker,
        ignored=part.ignored,
        left_out=part.left_out,
    )


def _stack(tables: Sequence[RawTable], where: str) -> RawTable:
    first = tables[0]
    if len(tables) == 1:
        return first
    sparse = sp.issparse(first.X)
    widths = {table.X.shape[1] for table in tables}
    if len(widths) > 1 or any(sp.issparse(table.X) != sparse for table in tables):
        raise ValueError(f"{where}: the files do not have the same columns.")
    X = [table.X for table in tables]
    return replace(
        first,
        X=sp.vstack(X, format="csr") if sparse else np.concatenate(X),
        labels=join_arrays([t.labels for t in tables]),
        ids=join_arrays([t.ids for t in tables]),
        others={name: np.concatenate([t.others[name] for t in tables]) for name in first.others},
        ignored=tuple(dict.fromkeys(name for t in tables for name in t.ignored)),
    )
