"""Journal of the labels: lines of JSON, written to disk before a label counts as saved.

Each line is a record, the first is the header. `Journal.append` returns when its lines are on disk.
Incomplete lines, after the process was killed or the disk was full, were never acknowledged: they
are removed by `append` itself or when the journal is opened again.

A file next to the journal has the last address of the page, readable by its owner only: the next
server uses the same port and token, so that an open page reconnects.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any

from lapwing._host.modules import require

_FORMAT = 1
_WITHOUT_LABELS = ("measured", "check", "target", "mark")
_START = b'{"lapwing":"labels"'
Record = Mapping[str, Any]


class JournalError(ValueError):
    """The journal cannot be used, or a record could not be written."""


def _open(path: Path) -> FileIO:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    return open(descriptor, "r+b", buffering=0)


class Journal:
    """Open journal, locked against other processes.

    Parameters
    ----------
    path : Path
        The file, created if it does not exist.
    subject : mapping
        Identification of the table, in JSON types.
    name : str
        Name of the table, for messages.

    Attributes
    ----------
    records : list of mapping
        Records in the journal when it was opened, without the header.
    n_cut : int
        Number of bytes of an incomplete line that were removed.

    Raises
    ------
    JournalError
        If another process has it open, it is of another table, or it is damaged.
    OSError
        If it cannot be read or written.
    """

    def __init__(self, path: Path, subject: Record, name: str) -> None:
        filelock = require("filelock", extra="label", purpose="The page to label on")
        self.path = path
        self.records: list[Record] = []
        self.n_cut = 0
        self._size = 0
        self._torn = False
        self._address_file = path.with_name(f"{path.name}.address")
        self._file = _open(path)
        try:
            # A lock of the operating system: it ends with the process and is never stale.
            if not filelock.lock_descriptor(self._file.fileno(), blocking=False):
                where = f" at {self.address}" if self.address else ""
                raise JournalError(
                    f"{path} is open already{where}. Label there, or end that lapwing label first: "
                    "press Ctrl-C in its terminal, or close() it in Python."
                )
            self._begin(subject, name)
        except BaseException:
            self._file.close()
            raise

    def append(self, *records: Record) -> None:
        """Write the records of a change to disk.

        Raises
        ------
        JournalError
            If this fails; the journal is then unchanged.
        """
        lines = b"".join(map(_line, records))
        try:
            if self._torn:
                self._cut()
            self._torn = True
            self._write(lines)
            os.fsync(self._file.fileno())
        except (OSError, ValueError) as error:
            with suppress(OSError, ValueError):  # otherwise done by the next record or start
                self._cut()
            reason = getattr(error, "strerror", None) or str(error)
            raise JournalError(
                f"{self.path} could not be written: {reason}. Nothing was changed. Make room on "
                "the disk, or check the folder, and try again."
            ) from error
        self._size += len(lines)
        self._torn = False

    @property
    def address(self) -> str:
        """Return the last address of this journal's page; empty if there was none."""
        try:
            return self._address_file.read_text("ascii").strip()
        except (OSError, ValueError):
            return ""

    def keep_address(self, address: str) -> None:
        """Store the address of the page for the next server and other processes.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        with suppress(FileNotFoundError):  # the old file may have other permissions
            self._address_file.unlink()
        descriptor = os.open(self._address_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(f"{address}\n")

    def close(self) -> None:
        """Close and unlock the journal."""
        self._file.close()

    def _begin(self, subject: Record, name: str) -> None:
        content = self._file.read()
        lines = content.split(b"\n")
        # The part after the last line break is incomplete, as is a last line that is not a record.
        lines.pop()
        if lines and _read(lines[-1]) is None:
            lines.pop()
        records = [_read(line) for line in lines]
        if not lines and not _START.startswith(content[: len(_START)]):
            raise JournalError(self._foreign())
        if not lines or (_is_blank(records) and not _is_of(records[0], subject)):
            # It is new, or from a start with other rows and contains no labels.
            self._torn = True
            self.append({"lapwing": "labels", "format": _FORMAT, **subject})
            _sync_folder(self.path.parent)
            return
        self._check(records[0] or {}, subject, name)
        if None in records:
            raise JournalError(
                f"{self.path} is damaged in line {records.index(None) + 1}. Take the line out with "
                "an editor, or name another file with --journal."
            )
        self.records = [record for record in records[1:] if record is not None]
        self._size = sum(len(line) + 1 for line in lines)
        self.n_cut = len(content) - self._size
        if self.n_cut:
            self._cut()

    def _check(self, header: Record, subject: Record, name: str) -> None:
        if header.get("lapwing") != "labels":
            raise JournalError(self._foreign())
        if header.get("format") != _FORMAT:
            raise JournalError(
                f"{self.path} was written by a newer lapwing. Install that, or name another file "
                "with --journal."
            )
        if header.get("rows") != subject["rows"]:
            raise JournalError(
                f"{self.path} has labels for a table of {header.get('rows')} rows, and {name} has "
                f"{subject['rows']}. Give the table as it was, or name another file with --journal."
            )
        if not _is_of(header, subject):
            raise JournalError(
                f"{self.path} has labels for other rows than those of {name}. Give the table as it "
                "was, with the same options such as --id, --drop and --scale, or name another file "
                "with --journal."
            )

    def _foreign(self) -> str:
        return f"{self.path} is not a journal of lapwing label. Name another file with --journal."

    def _write(self, lines: bytes) -> None:
        self._file.seek(self._size)
        rest = memoryview(lines)
        while rest:
            n_written = self._file.write(bytes(rest))
            if not n_written:
                raise OSError("the file takes no more")
            rest = rest[n_written:]

    def _cut(self) -> None:
        self._file.truncate(self._size)
        os.fsync(self._file.fileno())
        self._torn = False


def _is_blank(records: list[Record | None]) -> bool:
    """Return whether this is a journal of this format whose records change no label."""
    header, *rest = (record or {} for record in records)
    ours = header.get("lapwing") == "labels" and header.get("format") == _FORMAT
    return ours and all(not record.keys().isdisjoint(_WITHOUT_LABELS) for record in rest)


def _is_of(header: Record | None, subject: Record) -> bool:
    return header is not None and all(header.get(key) == value for key, value in subject.items())


def _line(record: Record) -> bytes:
    text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8") + b"\n"


def _read(line: bytes) -> Record | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _sync_folder(folder: Path) -> None:
    """Write the directory entry of a new file to disk."""
    with suppress(OSError):  # not every system can open folders
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def now() -> str:
    """Return the current time, ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
