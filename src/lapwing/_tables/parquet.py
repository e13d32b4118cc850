"""Reader of Parquet files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._host.optional import require
from lapwing._tables.columns import (
    MAX_VALUES,
    RawTable,
    Selection,
    TextCells,
    as_text,
    reject_cells,
    split_text_columns,
    too_many_values,
)
from lapwing._tables.source import Source

__all__ = ["read_parquet"]


def read_parquet(source: Source, selection: Selection) -> RawTable:
    """Read a Parquet file; see `lapwing._tables.tables.read_table`."""
    pl = require("polars", extra="cli", purpose=f"reading {source}")
    frame = _load(source, pl)
    where = str(source)
    roles = selection.resolve(frame.columns, where)
    features = [frame.columns[j] for j in roles.features]
    text = [name for name in features if _is_text(frame.schema[name], pl)]
    reasons = {
        name: f"the type {frame.schema[name]}"
        for name in features
        if name not in text and not _is_numeric(frame.schema[name], pl)
    }
    if reasons and not selection.lenient:
        name, reason = next(iter(reasons.items()))
        raise ValueError(
            f"{where}: column {name!r} has {reason}, which is neither a number nor text. Write it "
            f"as numbers, or leave it out with --drop {name}."
        )
    numbers, categories, bad = _sort_text(frame, text, selection, where, pl)
    unusable = reasons | bad
    kept = [name for name in features if name not in unusable]
    numeric = [name for name in kept if name not in categories]
    narrow = bool(numeric) and all(frame.schema[name] == pl.Float32 for name in numeric)
    # Filled column by column: the frame's own conversion would hold a second copy beside it.
    X = np.empty((frame.height, len(numeric)), dtype=np.float32 if narrow else np.float64)
    for j, name in enumerate(numeric):
        column = numbers.get(name, frame[name])
        X[:, j] = column.cast(pl.Float32 if narrow else pl.Float64).to_numpy()
    return RawTable(
        X,
        tuple(kept),
        None if selection.label is None else _column_text(frame[selection.label], where, pl),
        None if roles.id is None else _column_text(frame[frame.columns[roles.id]], where, pl),
        categories,
        {name: _column_text(frame[name], where, pl) for name in selection.others},
        unusable=unusable,
        ignored=tuple(frame.columns[j] for j in roles.ignored),
        left_out=tuple(frame.columns[j] for j in roles.left_out),
    )


def _load(source: Source, pl: Any) -> Any:
    try:
        with _no_panic_report(), source.open() as opened:
            return pl.read_parquet(
                source.path or opened, **({"glob": False} if source.path else {})
            )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise ValueError(f"{source} is not a readable Parquet file: {error}") from None


@contextmanager
def _no_panic_report() -> Iterator[None]:
    """Keep what polars' own runtime says of a damaged file, a page of stack, off standard error.

    It is written to the file descriptor from threads of its own, past Python's `sys.stderr`; what
    went wrong is in the exception too.
    """
    try:
        sys.stderr.flush()
        kept = os.dup(2)
    except (OSError, ValueError, AttributeError):  # closed, or none: nothing to keep clean
        yield
        return
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _sort_text(
    frame: Any, text: list[str], selection: Selection, where: str, pl: Any
) -> tuple[dict[str, Any], dict[str, NDArray[Any]], dict[str, str]]:
    """Tell columns of text: numbers written as text, few-valued ones, and unusable ones."""
    numbers: dict[str, Any] = {}
    categories: dict[str, NDArray[Any]] = {}
    many: dict[str, int] = {}
    unusable: dict[str, str] = {}
    for name in [*text, *(n for n in selection.categorical if n not in text)]:
        column = _clean(frame[name], pl)
        numbers[name] = column.cast(pl.Float64, strict=False)
        wrong = column.is_not_null() & numbers[name].is_null()
        n_values, limit = column.drop_nulls().n_unique(), min(MAX_VALUES, frame.height // 2)
        if name in selection.categorical:
            categories[name] = as_text(column.to_list())
        elif wrong.any():
            row = int(wrong.arg_max())
            cells = TextCells(int(wrong.sum()), row + 1, str(column[row]))
            filled = frame.height - column.null_count()
            if not split_text_columns({name: cells}, {name: filled}) or selection.expected:
                if not selection.lenient:
                    reject_cells(name, cells, where)
                unusable[name] = f"text in {cells.count} of its cells, first in row {cells.row}"
            elif n_values > limit:
                many[name] = n_values
                unusable[name] = f"text with more than {limit} values"
            else:
                categories[name] = as_text(column.to_list())
    if many and not selection.lenient:
        firsts = {name: str(frame[name].drop_nulls()[0]) for name in many}
        raise ValueError(too_many_values(many, firsts, where))
    return numbers, categories, unusable


def _is_text(dtype: Any, pl: Any) -> bool:
    return isinstance(dtype, (pl.String, pl.Categorical, pl.Enum)) or dtype == pl.String


def _is_numeric(dtype: Any, pl: Any) -> bool:
    return bool(dtype.is_numeric()) or dtype in (pl.Boolean, pl.Null)


def _clean(column: Any, pl: Any) -> Any:
    """Text without surrounding blanks, null where it is blank."""
    text = column.cast(pl.String).str.strip_chars()
    return text.set(text == "", None)


def _column_text(column: Any, where: str, pl: Any) -> NDArray[Any]:
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        raise ValueError(
            f"{where}: column {column.name!r} holds {column.dtype}, which is no label or id."
        )
    return as_text(column.cast(pl.String).fill_null("").str.strip_chars().to_list())
