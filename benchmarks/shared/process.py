"""Measurements in a process of their own, and the resident memory of a process."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

STATUS = Path("/proc/self/status")


def run_alone(module: str, *arguments: str) -> dict[str, Any]:
    """Run a module of the benchmarks in a fresh process; returns the JSON object that it prints.

    A process that has done other work has a peak of memory that is not the measurement's.
    """
    run = subprocess.run(
        [sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False
    )
    if run.returncode != 0:
        raise RuntimeError(f"{module} failed in its own process:\n{run.stderr}")
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def forget_peak() -> None:
    """Begin the peak of memory anew, where the kernel can."""
    with suppress(OSError):
        (STATUS.parent / "clear_refs").write_text("5", encoding="ascii")


def resident_bytes(entry: str) -> int:
    """``VmRSS`` (now) or ``VmHWM`` (peak) of this process; the peak only, where there is no /proc.

    The kernel's own peak is preferred over `getrusage`, whose figure a child inherits from the
    process that started it: a parent that holds a large matrix would be charged to the child.
    """
    if STATUS.is_file():
        for line in STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith(entry + ":"):
                return 1024 * int(line.split()[1])
    scale = 1 if sys.platform == "darwin" else 1024
    return scale * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
