"""Memory limits: those of the system, those set by users, and messages."""

from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from lapwing._host import memory

LIMIT = "LAPWING_MEMORY_LIMIT"
GB = 2**30


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that takes the place of the machine's root: no meminfo, no control group."""
    monkeypatch.delenv(LIMIT, raising=False)
    monkeypatch.setattr(memory, "Path", lambda path: tmp_path / path.lstrip("/"))
    return tmp_path


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="ascii")


def test_formats_bytes() -> None:
    texts = {0: "0 bytes", 1023: "1023 bytes", 1024: "1.0 kB", 1.5 * 2**20: "1.5 MB"}
    texts |= {8.0 * 24044**2: "4.3 GB", 2.0**40: "1.0 TB", 3000 * 2.0**40: "3000.0 TB"}
    assert {n_bytes: memory.format_bytes(n_bytes) for n_bytes in texts} == texts


def test_reads_the_limit_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"0": 0, "123": 123, "2k": 2048, "1.5M": 3 * 2**19, "800m": 800 * 2**20, " .5t ": 2**39}
    for text, n_bytes in (sizes | dict.fromkeys(["8g", "8 GB", "8GiB"], 8 * GB)).items():
        monkeypatch.setenv(LIMIT, text)
        assert memory.available_memory() == n_bytes, text


@pytest.mark.parametrize("text", ["lots", "-1g", "8x", "1e9", "8 8g", "g"])
def test_rejects_limits_that_are_no_size(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(LIMIT, text)
    message = rf"LAPWING_MEMORY_LIMIT={re.escape(repr(text))} is not a size\. Write .*: 800m, 8g"
    with pytest.raises(ValueError, match=message):
        memory.available_memory()


MACHINE = {"proc/meminfo": "MemTotal: 99 kB\nMemAvailable:   1000 kB\nSwapFree: 7 kB\n"}
CGROUP = "sys/fs/cgroup/"
VERSION_1 = [
    f"{CGROUP}memory/memory.{name}" for name in ("limit_in_bytes", "usage_in_bytes", "stat")
]
VERSION_2 = [f"{CGROUP}memory.{name}" for name in ("max", "current", "stat")]


def group(version: list[str], *texts: str) -> dict[str, str]:
    return MACHINE | dict(zip(version, texts, strict=False))


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (MACHINE, 1000 * 1024),
        # The total counts if the free memory is unknown.
        ({"proc/meminfo": ""}, 4096 * 1000),
        ({"proc/meminfo": "MemAvailable:\n"}, 4096 * 1000),
        ({"proc/meminfo": "MemAvailable: many kB\n"}, 4096 * 1000),
        ({}, 4096 * 1000),
        *((group(version, "5000\n", "2000\n"), 3000) for version in (VERSION_1, VERSION_2)),
        (group(VERSION_1, "5000\n", "6000\n"), 0),  # over its limit
        (group(VERSION_2, "5000\n", "5000\n", "anon 9\ninactive_file 700\n"), 700),
        (group(VERSION_2, "5000\n", "5000\n", "inactive_file many\n"), 0),
        (group(VERSION_2, str(2**60), "0\n"), 1000 * 1024),
        (group(VERSION_2, "max\n", "2000\n"), 1000 * 1024),
    ],
)
@pytest.mark.parametrize("blank", ["", "  "])
def test_the_smallest_free_memory_counts(
    files: dict[str, str], expected: int, blank: str, system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LIMIT, blank)  # as if it were not set
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1000}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__, raising=False)
    for name, text in files.items():
        write(system, name, text)
    assert memory.available_memory() == expected


def test_an_unknown_free_memory_refuses_nothing(system: Path, monkeypatch: Any) -> None:
    monkeypatch.delattr(os, "sysconf", raising=False)
    assert memory.available_memory() is None
    memory.require_memory(1e30, "Anything", "")


@pytest.mark.parametrize(("kind", "place"), [("RLIMIT_AS", 0), ("RLIMIT_DATA", 5)])
def test_limits_of_the_process_count(system: Path, monkeypatch: Any, kind: str, place: int) -> None:
    resource = pytest.importorskip("resource")
    write(system, "proc/meminfo", f"MemAvailable: {8 * GB // 1024} kB\n")
    taken = ["0"] * 7
    taken[place] = str(GB // os.sysconf("SC_PAGE_SIZE"))
    write(system, "proc/self/statm", " ".join(taken))
    limits = {getattr(resource, kind): (3 * GB, 3 * GB)}
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda asked: limits.get(asked, unlimited))
    assert memory.available_memory() == 2 * GB
    limits[getattr(resource, kind)] = (GB // 2, GB // 2)
    assert memory.available_memory() == 0  # over the limit
    limits.clear()
    assert memory.available_memory() == 8 * GB


def test_the_free_memory_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LIMIT, raising=False)
    free = memory.available_memory()
    assert free is None or 2**20 < free < 2**50


def test_requires_the_memory_of_an_allocation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT, "1k")
    memory.require_memory(1024, "A list", "Use less.")
    message = (
        r"^A list needs 2\.0 kB, but 1\.0 kB are available\. Use less\. \(Set "
        r"LAPWING_MEMORY_LIMIT, e\.g\. to 16g, if this forecast is wrong\.\)$"
    )
    with pytest.raises(MemoryError, match=message):
        memory.require_memory(2048, "A list", "Use less.")
    assert memory.fits_in_memory(1024)
    assert not memory.fits_in_memory(1025)


def test_small_allocations_do_not_ask_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LIMIT, raising=False)
    monkeypatch.setattr(memory, "available_memory", lambda: 0)
    memory.require_memory(2**20, "A list", "Use less.")
    with pytest.raises(MemoryError, match="A list needs"):
        memory.require_memory(2**20 + 1, "A list", "Use less.")


@pytest.mark.skipif(
    sys.platform != "linux" or platform.libc_ver()[0] != "glibc",
    reason="Other systems give freed memory back by themselves.",
)
def test_freed_memory_is_given_back() -> None:
    def resident() -> int:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.split("VmRSS:")[1].split()[0]) * 1024

    pieces = [bytes(range(256)) * 240 for _ in range(1500)]  # 60 kB each, 92 MB
    above = pieces[-1]  # so that the heap cannot just end earlier
    held = resident()
    del pieces
    memory.give_back_memory()
    assert held - resident() > 60e6
    assert len(above) == 256 * 240


def test_without_glibc_nothing_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr("ctypes.CDLL", None)
    memory.give_back_memory()
