"""Journal: acknowledged records outlast failures of the disk and the process."""

from __future__ import annotations

import errno
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

from lapwing._label.journal import Journal, JournalError
from tests.label.pages import X, material

SUBJECT = {"rows": 10, "points": "abc"}


def opened(path: Path) -> Journal:
    return Journal(path, SUBJECT, "t.csv")


def records_of(path: Path) -> list[Any]:
    journal = opened(path)
    found = list(journal.records)
    journal.close()
    return found


def written(path: Path, n: int) -> list[Any]:
    """A journal with n records."""
    journal, records = opened(path), [{"batch": k, "text": "é\n" * k} for k in range(1, n + 1)]
    for record in records:
        journal.append(record)
    journal.close()
    return records


@given(st.data())
def test_truncated_file_keeps_all_complete_records(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("cut") / "j"
    records = written(path, 3)
    content = path.read_bytes()
    ends = [k for k, byte in enumerate(content) if byte == ord("\n")]
    size = data.draw(st.integers(0, len(content)) | st.sampled_from(ends))
    garbage = data.draw(st.sampled_from([b"", b"\0\0\0", b"\0\0\n", b'{"x', b"\xff\n"]))
    path.write_bytes(content[:size] + garbage * (size > 40))
    whole = content[:size].count(b"\n") - 1
    journal = opened(path)
    assert journal.records[: max(whole, 0)] == records[: max(whole, 0)]
    assert len(journal.records) == max(whole, 0)
    journal.append({"batch": 9})  # where the cut line was
    journal.close()
    assert records_of(path) == [*records[: max(whole, 0)], {"batch": 9}]


class FullDisk:
    """A file on a disk that has room for so many more bytes, and takes them in pieces."""

    def __init__(self, path: Path, room: int) -> None:
        self._file = open(path, "r+b" if path.exists() else "w+b", buffering=0)  # noqa: SIM115
        self.room = room
        self.may_cut = True

    def write(self, data: bytes) -> int:
        if self.room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        n = self._file.write(data[: min(self.room, 7)])
        self.room -= n
        return n

    def truncate(self, size: int) -> int:
        if not self.may_cut:
            raise OSError(errno.EIO, "Input/output error")
        return self._file.truncate(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@example([(0, True), (0, True), (35, False)])  # longer than the next record
@given(st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=12))
def test_full_disk_loses_no_acknowledged_record(
    tmp_path_factory: pytest.TempPathFactory, states: list[tuple[int, bool]]
) -> None:
    """Nor does it leave the rest of another one, once there is room."""
    path = tmp_path_factory.mktemp("full") / "j"
    written(path, 1)
    disk = FullDisk(path, 10**6)
    with mock.patch("lapwing._label.journal._open", return_value=disk):
        journal = opened(path)
    acknowledged = list(journal.records)
    for k, (room, may_cut) in enumerate([*states, (10**6, True)]):
        record = {"batch": k + 2, "rows": list(range(k % 3 * 5))}
        disk.room, disk.may_cut = room, may_cut
        with suppress(JournalError):
            journal.append(record)
            acknowledged.append(record)
    assert acknowledged[-1]["batch"] == len(states) + 2
    journal.close()
    again = opened(path)
    assert (again.records, again.n_cut) == (acknowledged, 0)
    again.close()


def test_records_that_are_not_synced_are_not_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "j"
    journal, synced = opened(path), []

    def sync(descriptor: int) -> None:
        synced.append(path.read_text(encoding="utf-8"))
        if len(synced) == 1:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", sync)
    with pytest.raises(JournalError, match=r"j could not be written: No space left on device\. No"):
        journal.append({"batch": 1})
    for k in (2, 3):
        journal.append({"batch": k})
        assert synced[-1].endswith(f'{{"batch":{k}}}\n'), "synced after the last byte was written"
    journal.close()
    assert records_of(path) == [{"batch": 2}, {"batch": 3}]


def test_journal_is_locked_while_open(tmp_path: Path) -> None:
    path = tmp_path / "j"
    first = opened(path)
    with pytest.raises(JournalError, match=r"j is open already\. Label there, or end"):
        opened(path)
    first.keep_address("http://127.0.0.1:1/x/")
    with pytest.raises(JournalError, match=r"open already at http://127\.0\.0\.1:1/x/\. Label"):
        opened(path)
    first.close()
    again = opened(path)
    assert again.address == "http://127.0.0.1:1/x/"
    again.close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["j", "j.address"]


@pytest.mark.parametrize("before", [None, b"", b"\xff", b"elsewhere"])
def test_address_is_readable_by_the_owner_only(tmp_path: Path, before: bytes | None) -> None:
    place = tmp_path / "j.address"
    if before is not None:
        place.write_bytes(before)
        place.chmod(0o644)
    journal = opened(tmp_path / "j")
    assert journal.address == (before or b"").decode("ascii", "ignore")
    journal.keep_address("http://127.0.0.1:1/x/")
    assert journal.address == "http://127.0.0.1:1/x/"
    assert place.stat().st_mode & 0o077 == 0
    journal.close()


def header(**changes: Any) -> str:
    return json.dumps({"lapwing": "labels", "format": 1, **SUBJECT, **changes}) + "\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name,label\na,b\n", r"j is not a journal of lapwing label\. Name another file"),
        ("hello", "is not a journal"),
        ('{"a":1}\n{"batch":1}\n', "is not a journal"),
        (header(format=2), "written by a newer"),
        (header(rows=9) + '{"batch":1}\n', "of 9 rows, and t.csv"),
        (header(points="b") + '{"batch":1}\n', "other rows than those of t.csv.* such as --id"),
        (header() + 'x\n{"batch":1}\n', "is damaged in line 2"),
    ],
)
def test_rejects_other_files_without_changing_them(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "j"
    path.write_text(content, encoding="utf-8")
    for _ in range(2):  # the lock is free again
        with pytest.raises(JournalError, match=message):
            opened(path)
    assert path.read_text(encoding="utf-8") == content
    assert [file.name for file in tmp_path.iterdir()] == ["j"]


@pytest.mark.parametrize("after", ["", 9 * '{"measured":{"n_labels":2}}\n', '{"batch'])
def test_journal_without_labels_is_replaced(tmp_path: Path, after: str) -> None:
    path = tmp_path / "j"
    path.write_text('{"lapwing":"labels","format":1,"rows":9,"ids":"x"}\n' + after)
    assert written(path, 1) == records_of(path)
    assert b'"ids"' not in path.read_bytes()
    assert len(path.read_bytes().splitlines()) == 2, "the rest was removed"


def test_journals_identify_rows_by_their_number_and_points() -> None:
    rows = [material(data).subject() for data in (X, X, X + 1.0, X[:59], sp.csr_array(X))]
    assert rows[0] == rows[1]
    assert len({str(one) for one in rows}) == 4
    assert [one["rows"] for one in rows] == [60, 60, 60, 59, 60]
