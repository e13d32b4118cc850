"""Available memory, and its checks before allocations."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from pathlib import Path

_LIMIT_VARIABLE = "LAPWING_MEMORY_LIMIT"
# For smaller allocations the free memory is not checked, as this takes a fifth of the time of a fit
# to sixty points.
_NEGLIGIBLE_BYTES = 2**20
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def format_bytes(n_bytes: float) -> str:
    """Format a number of bytes, such as ``'1.5 GB'``."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if abs(n_bytes) < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "bytes" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} TB"


def available_memory() -> int | None:
    """Return the bytes that can be allocated now, or None if the system does not report them.

    This is the minimum of the free memory of the machine, of the control group (the limit of a
    container) and of the process (``ulimit -v`` and ``ulimit -d``). The environment variable
    ``LAPWING_MEMORY_LIMIT`` (bytes, or a number with k, m, g or t, such as ``8g``) overrides it.
    """
    limit = os.environ.get(_LIMIT_VARIABLE, "").strip()
    if limit:
        return _parse_limit(limit)
    limits = (_free_on_machine(), _free_in_cgroup(), _free_in_process())
    known = [free for free in limits if free is not None]
    # Containers report the machine's memory, but are killed at their own limit.
    return min(known) if known else None


def require_memory(n_bytes: float, what: str, alternatives: str) -> None:
    """Raise before an allocation that would not fit.

    Parameters
    ----------
    n_bytes : float
        Bytes to allocate.
    what : str
        Purpose of the memory, the subject of the message.
    alternatives : str
        Advice, the end of the message.

    Raises
    ------
    MemoryError
        If more is needed than `available_memory` reports.
    """
    free = _shortage(n_bytes)
    if free is not None:
        raise MemoryError(
            f"{what} needs {format_bytes(n_bytes)}, but {format_bytes(free)} are available. "
            f"{alternatives} (Set {_LIMIT_VARIABLE}, e.g. to 16g, if this forecast is wrong.)"
        )


def fits_in_memory(n_bytes: float) -> bool:
    """Return whether an allocation fits in what `available_memory` reports."""
    return _shortage(n_bytes) is None


def _shortage(n_bytes: float) -> int | None:
    """Return the bytes available if they are fewer than `n_bytes`."""
    if n_bytes <= (0 if os.environ.get(_LIMIT_VARIABLE) else _NEGLIGIBLE_BYTES):
        return None
    free = available_memory()
    return free if free is not None and n_bytes > free else None


def give_back_memory() -> None:
    """Return freed memory of glibc to the system.

    Freed blocks of about 100 kB cannot be reused for large arrays: an index of ten million points
    in ten thousand lists leaves 2 GB of them.
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
        # macOS reports the total only.
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _free_in_process() -> int | None:
    """Return the free part of the limits of address space and data segment, if set."""
    try:
        import resource  # not on Windows

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
        # The cache of recently read files counts as used, but is free on demand.
        return max(0, free + _reclaimable(folder / "memory.stat"))
    return None


def _reclaimable(stat: Path) -> int:
    """Return the bytes of cached files that a group counts as used."""
    try:
        lines = stat.read_text(encoding="ascii").splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))
    except (OSError, ValueError, IndexError):
        return 0
