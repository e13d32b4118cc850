"""The forecast of memory: what the system says, what a user overrides, what an error tells."""

from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path

import pytest

from lapwing._host import memory as _memory
from lapwing._host.memory import (
    available_memory,
    fits_in_memory,
    format_bytes,
    give_back_memory,
    require_memory,
)

LIMIT = "LAPWING_MEMORY_LIMIT"
GB = 2**30


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that takes the place of the machine's root: no meminfo, no control group."""
    monkeypatch.delenv(LIMIT, raising=False)
    monkeypatch.setattr(_memory, "Path", lambda path: tmp_path / path.lstrip("/"))
    return tmp_path


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="ascii")


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1.0 kB"),
        (1.5 * 2**20, "1.5 MB"),
        (8.0 * 24044**2, "4.3 GB"),
        (2.0**40, "1.0 TB"),
        (3000 * 2.0**40, "3000.0 TB"),
    ],
)
def test_bytes_are_written_for_readers(n_bytes: float, text: str) -> None:
    assert format_bytes(n_bytes) == text


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("123", 123),
        ("2k", 2048),
        ("1.5M", 3 * 2**19),
        ("800m", 800 * 2**20),
        ("8g", 8 * GB),
        ("8 GB", 8 * GB),
        ("8GiB", 8 * GB),
        (" .5t ", 2**39),
        ("0", 0),
    ],
)
def test_limit_is_read(monkeypatch: pytest.MonkeyPatch, text: str, n_bytes: int) -> None:
    monkeypatch.setenv(LIMIT, text)
    assert available_memory() == n_bytes


@pytest.mark.parametrize("text", ["lots", "-1g", "8x", "1e9", "8 8g", "g"])
def test_wrong_limit(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(LIMIT, text)
    message = rf"LAPWING_MEMORY_LIMIT={re.escape(repr(text))} is not a size\. Write .*: 800m, 8g"
    with pytest.raises(ValueError, match=message):
        available_memory()


def test_free_memory_of_the_machine(system: Path) -> None:
    write(system, "proc/meminfo", "MemTotal: 99 kB\nMemAvailable:   2048 kB\nSwapFree: 7 kB\n")
    assert available_memory() == 2 * 2**20


@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_limit_is_none(system: Path, monkeypatch: pytest.MonkeyPatch, blank: str) -> None:
    write(system, "proc/meminfo", "MemAvailable: 1 kB\n")
    monkeypatch.setenv(LIMIT, blank)
    assert available_memory() == 1024


@pytest.mark.parametrize("text", ["", "MemAvailable:\n", "MemAvailable: many kB\n"])
def test_without_meminfo_the_total_counts(
    system: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    write(system, "proc/meminfo", text)
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1000}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__, raising=False)
    assert available_memory() == 4096 * 1000


def test_a_system_that_tells_nothing(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sysconf", raising=False)
    assert available_memory() is None
    require_memory(1e30, "Anything", "")  # no forecast is no reason to refuse


GROUPS = {
    2: ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory.current"),
    1: (
        "sys/fs/cgroup/memory/memory.limit_in_bytes",
        "sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
}


@pytest.mark.parametrize("version", [1, 2])
def test_a_containers_limit_counts(system: Path, version: int) -> None:
    limit, usage = GROUPS[version]
    write(system, "proc/meminfo", "MemAvailable: 1000 kB\n")
    write(system, limit, "5000\n")
    write(system, usage, "2000\n")
    assert available_memory() == 3000
    write(system, usage, "6000\n")
    assert available_memory() == 0  # a group over its limit has nothing left, not less
    write(system, usage, "0\n")
    write(system, limit, str(2**60))
    assert available_memory() == 1000 * 1024


def test_a_group_without_limit(system: Path) -> None:
    write(system, "proc/meminfo", "MemAvailable: 1000 kB\n")
    write(system, GROUPS[2][0], "max\n")
    write(system, GROUPS[2][1], "2000\n")
    assert available_memory() == 1000 * 1024


@pytest.mark.parametrize(("kind", "place"), [("RLIMIT_AS", 0), ("RLIMIT_DATA", 5)])
def test_a_limit_of_the_process_counts(
    system: Path, monkeypatch: pytest.MonkeyPatch, kind: str, place: int
) -> None:
    resource = pytest.importorskip("resource")
    write(system, "proc/meminfo", f"MemAvailable: {8 * GB // 1024} kB\n")
    taken = ["0"] * 7
    taken[place] = str(GB // os.sysconf("SC_PAGE_SIZE"))
    write(system, "proc/self/statm", " ".join(taken))
    limits = {getattr(resource, kind): (3 * GB, 3 * GB)}
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda asked: limits.get(asked, unlimited))
    assert available_memory() == 2 * GB
    limits.clear()
    assert available_memory() == 8 * GB


def test_this_machine_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LIMIT, raising=False)
    free = available_memory()
    assert free is None or 2**20 < free < 2**50


def test_what_fits_passes_and_what_does_not_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT, "1k")
    require_memory(1024, "A list", "Use less.")
    message = (
        r"^A list needs 2\.0 kB, but 1\.0 kB are available\. Use less\. \(Set "
        r"LAPWING_MEMORY_LIMIT, e\.g\. to 16g, if this forecast is wrong\.\)$"
    )
    with pytest.raises(MemoryError, match=message):
        require_memory(2048, "A list", "Use less.")
    assert fits_in_memory(1024)
    assert not fits_in_memory(1025)


def test_small_allocations_do_not_ask_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LIMIT, raising=False)
    monkeypatch.setattr(_memory, "available_memory", lambda: 0)
    require_memory(2**20, "A list", "Use less.")
    with pytest.raises(MemoryError, match="A list needs"):
        require_memory(2**20 + 1, "A list", "Use less.")


@pytest.mark.skipif(
    sys.platform != "linux" or platform.libc_ver()[0] != "glibc",
    reason="Other systems give freed memory back by themselves.",
)
def test_freed_pieces_are_given_back() -> None:
    def resident() -> int:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.split("VmRSS:")[1].split()[0]) * 1024

    pieces = [bytes(range(256)) * 240 for _ in range(1500)]  # 60 kB each, 92 MB
    above = pieces[-1]  # so that the heap cannot just end earlier
    held = resident()
    del pieces
    give_back_memory()
    assert held - resident() > 60e6
    assert len(above) == 256 * 240


def test_without_glibc_nothing_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr("ctypes.CDLL", None)
    give_back_memory()
