"""Measurements in a separate process, and the resident memory of a process."""

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
    """Run a module of the benchmarks in a new process, and return the JSON object it prints.

    In the present process the peak memory could be that of other work.
    """
    run = subprocess.run(
        [sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False
    )
    if run.returncode != 0:
        raise RuntimeError(f"{module} failed in its own process:\n{run.stderr}")
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def forget_peak() -> None:
    """Reset the peak of memory, if the kernel supports it."""
    with suppress(OSError):
        (STATUS.parent / "clear_refs").write_text("5", encoding="ascii")


def resident_bytes(entry: str) -> int:
    """Return ``VmRSS`` (now) or ``VmHWM`` (peak) of this process; the peak without /proc.

    The peak of the kernel is preferred to `getrusage`, whose value a child process inherits, so
    that it may be that of the parent.
    """
    if STATUS.is_file():
        for line in STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith(entry + ":"):
                return 1024 * int(line.split()[1])
    scale = 1 if sys.platform == "darwin" else 1024
    return scale * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
