"""Changes as the journal holds them: how they are written, and how they are done again."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import numpy as np

from lapwing._label.history import NO_CODE, Batch, History
from lapwing._label.journal import Record
from lapwing._label.words import check_class_name


def batch_record(batch: Batch, classes: tuple[str, ...]) -> Record:
    """Labels that were given together, or a new name for a class."""
    if batch.renaming is not None:
        _, before, name = batch.renaming
        return {"rename": batch.number, "from": before, "to": name, "time": batch.time}
    given = [
        [None if code == NO_CODE else classes[code], batch.rows[batch.codes == code].tolist()]
        for code in np.unique(batch.codes).tolist()
    ]
    return {"batch": batch.number, "given": given, "by": batch.by, "time": batch.time}


def class_record(name: str) -> Record:
    """A class that has no row yet."""
    return {"class": name}


def undo_record(number: int) -> Record:
    """A batch that is taken back now."""
    return {"undo": number, "time": now()}


def replayed(history: History, record: Record, n: int) -> History:
    """The history after a record of the journal of n rows.

    Raises
    ------
    KeyError, TypeError, ValueError, IndexError, OverflowError or RequestError
        If the table cannot have had that change.
    """
    if "class" in record:
        return history.with_class(check_class_name(record["class"]))
    if "undo" in record:
        return history.without(int(record["undo"]))
    if "rename" in record:
        if record["rename"] != len(history.batches) + 1:
            raise ValueError(record["rename"])
        # An empty class is in no record before this one, if it came from the start of that session.
        history = history.with_class(check_class_name(record["from"]))
        renamed = history.classes.index(record["from"])
        return history.with_name(renamed, check_class_name(record["to"]), str(record["time"]))
    rows, codes = [], []
    for label, at in record["given"]:
        code: int | None = NO_CODE
        if label is not None:
            history = history.with_class(check_class_name(label))
            code = history.code(label)
        found = np.asarray(at, dtype=np.intp)
        rows.append(found)
        codes.append(np.full(len(found), code, dtype=np.int32))
    at, given = np.concatenate(rows), np.concatenate(codes)
    if record["batch"] != len(history.batches) + 1 or not ((at >= 0) & (at < n)).all():
        raise ValueError(record["batch"])
    return history.with_batch(at, given, str(record["by"]), str(record["time"]))


def renamed_from(records: Iterable[Record], n: int) -> dict[str, str]:
    """First names of the classes that a journal of n rows has renamed, by their names now.

    Raises
    ------
    KeyError, TypeError, ValueError, IndexError, OverflowError or RequestError
        As `replayed`.
    """
    history = History.begin(np.full(n, NO_CODE, dtype=np.int32))
    for record in records:
        if "measured" not in record:
            history = replayed(history, record, n)
    pairs = zip(history.classes, history.first_names, strict=True)
    # Where classes have swapped their names, a name of the table is the one that it had first.
    return {name: first for name, first in pairs if name not in history.first_names}


def now() -> str:
    """The time of a change, ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
