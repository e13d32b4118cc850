"""Free memory, errors for larger needs, and memory given back."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from pathlib import Path

_LIMIT_VARIABLE = "LAPWING_MEMORY_LIMIT"
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def format_bytes(n_bytes: float) -> str:
    """Write a number of bytes for a reader: ``'1.5 GB'``."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if abs(n_bytes) < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "bytes" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} TB"


def available_memory() -> int | None:
    """Bytes that can be allocated now, or None where the system does not tell.

    The environment variable ``LAPWING_MEMORY_LIMIT`` (bytes, or a number with k, m, g or t, such
    as ``8g``) overrides what the system says; without it the smallest counts of the free memory of
    the machine, of the control group (a container's limit) and of the process (``ulimit -v`` and
    ``ulimit -d``).
    """
    limit = os.environ.get(_LIMIT_VARIABLE, "").strip()
    if limit:
        return _parse_limit(limit)
    limits = (_free_on_machine(), _free_in_cgroup(), _free_in_process())
    known = [free for free in limits if free is not None]
    # A container sees the machine's memory, and is killed at its own limit.
    return min(known) if known else None


def require_memory(n_bytes: float, what: str, alternatives: str) -> None:
    """Raise before an allocation that would not fit.

    Parameters
    ----------
    n_bytes : float
        Bytes about to be taken.
    what : str
        What they are for; opens the message.
    alternatives : str
        What the user can do instead; closes the message.

    Raises
    ------
    MemoryError
        If more is needed than `available_memory` reports.
    """
    # Small problems in a loop need nothing, and the system takes longer to ask than they to solve.
    free = available_memory() if n_bytes > 0 else None
    if free is not None and n_bytes > free:
        raise MemoryError(
            f"{what} needs {format_bytes(n_bytes)}, but {format_bytes(free)} are available. "
            f"{alternatives} (Set {_LIMIT_VARIABLE}, e.g. to 16g, if this forecast is wrong.)"
        )


def give_back_memory() -> None:
    """Return freed memory to the system, where its library for C keeps some (glibc).

    What pieces of some 100 kB have left cannot be used for large arrays: an index of ten million
    points in ten thousand lists leaves 2 GB behind.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _parse_limit(text: str) -> int:
    match = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*([kmgt]?)i?b?", text.lower())
    if match is None:
        raise ValueError(
            f"{_LIMIT_VARIABLE}={text!r} is not a size. Write a number of bytes, or a number "
            "with a unit: 800m, 8g."
        )
    return int(float(match[1]) * _UNITS[match[2]])


def _free_on_machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        # Only the total is known here (macOS): better than no forecast at all.
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _free_in_process() -> int | None:
    """Return what the limits of address space and data segment leave, where they are set."""
    try:
        import resource  # which Windows has not

        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()
        page = os.sysconf("SC_PAGE_SIZE")
        limits = (resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])
        left = [
            limit - int(taken) * page
            for limit, taken in ((resource.getrlimit(kind)[0], taken) for kind, taken in limits)
            if limit != resource.RLIM_INFINITY
        ]
    except (ImportError, OSError, ValueError, IndexError):
        return None
    return max(0, min(left)) if left else None


def _free_in_cgroup() -> int | None:
    root = Path("/sys/fs/cgroup")
    groups = [
        (root, "memory.max", "memory.current"),
        (root / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ]
    for folder, limit, usage in groups:
        try:
            free = int((folder / limit).read_text()) - int((folder / usage).read_text())
        except (OSError, ValueError):  # no such group, or "max": no limit
            continue
        # Large files that were read just now would else count as memory in use.
        return max(0, free + _reclaimable(folder / "memory.stat"))
    return None


def _reclaimable(stat: Path) -> int:
    """Bytes of cached files that a group counts as used and gives back when asked."""
    try:
        lines = stat.read_text(encoding="ascii").splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))
    except (OSError, ValueError, IndexError):
        return 0
