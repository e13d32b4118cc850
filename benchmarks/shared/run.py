"""Circumstances of a result: command, date, machine, versions, load, time."""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
import time
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self

# Recorded first, before the work of the run adds to the load.
_BEGUN = datetime.now(UTC), time.perf_counter(), os.getloadavg()[0]

PACKAGES = ("lapwing-learn", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class RunInfo:
    """Circumstances of a result.

    Attributes
    ----------
    command : str
        Command line without folders.
    date : str
        Start of the run, ISO 8601 in UTC.
    seconds : float
    machine : str
        Description of the machine.
    threads : int or None
        Threads of linear algebra; None if unknown.
    load : (float, float) or None
        Load averages of the last minute at the beginning and at the end.
    versions : mapping of str to str
    processor : float or None
        Processor seconds of all cores, including child processes, which are more informative than
        `seconds` on a busy machine.
    """

    command: str
    date: str
    seconds: float | None
    machine: str
    threads: int | None
    load: tuple[float, float] | None
    versions: Mapping[str, str]
    processor: float | None = None

    @classmethod
    def now(cls, arguments: Sequence[str] | None = None) -> Self:
        """Return the run of this process, from its start until now."""
        date, started, load = _BEGUN
        typed = shlex.join(_shown(sys.argv[1:] if arguments is None else arguments))
        return cls(
            f"python -m benchmarks {typed}",
            date.isoformat(timespec="seconds"),
            round(time.perf_counter() - started, 1),
            describe_machine(),
            blas_threads(),
            (round(load, 2), round(os.getloadavg()[0], 2)),
            versions(),
            round(processor_seconds(), 1),
        )

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Self:
        """Restore from JSON."""
        load = content["load"]
        return cls(**{**content, "load": None if load is None else (load[0], load[1])})

    def describe(self) -> str:
        """Return one line for below a table."""
        parts = [self.date[:10], self.machine]
        if self.threads is not None:
            parts.append(f"{self.threads} BLAS thread{'s' if self.threads != 1 else ''}")
        if self.load is not None:
            parts.append(f"load {self.load[0]:.1f} before and {self.load[1]:.1f} after")
        if self.seconds is not None:
            busy = "" if self.processor is None else f" ({_duration(self.processor)} CPU time)"
            parts.append(_duration(self.seconds) + busy)
        known = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        return "; ".join([*parts, known or "versions and load not recorded"])


def _shown(arguments: Sequence[str]) -> list[str]:
    """Leave out the output folder: it does not affect results and may contain private names."""
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--output")
    return parser.parse_known_args(arguments)[1]


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"


def versions() -> dict[str, str]:
    """Return the versions of Python and of packages that affect times and errors."""
    found = {"Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # such as a source tree on the path
            continue
    return found


def describe_machine() -> str:
    """Describe cores, processor, memory and system."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    many = "s" if cores != 1 else ""
    return f"{cores} core{many} ({_processor()}), {gigabytes:.0f} GB, {platform.system()}"


def _processor() -> str:
    known = Path("/proc/cpuinfo")
    text = known.read_text(encoding="utf-8", errors="replace") if known.is_file() else ""
    model = re.search(r"^model name\s*:\s*(.+?)\s*$", text, re.MULTILINE)
    return model[1] if model else platform.processor() or platform.machine()


def processor_seconds() -> float:
    """Return the processor seconds of this process and its finished child processes."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def blas_threads() -> int | None:
    """Return the number of threads of the loaded linear algebra library."""
    from threadpoolctl import threadpool_info

    found = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return max(found) if found else None
