"""One process at a time: a lock file that the system itself releases when its owner dies."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path


class LockedError(Exception):
    """Somebody else holds the lock; `note` is what they left in it."""

    def __init__(self, note: str) -> None:
        super().__init__(note)
        self.note = note


class FileLock:
    """A lock file, held from its making to `release`.

    A file that merely exists holds nobody up: the lock is the system's, which ends with the
    process, so that none is ever stale.

    Parameters
    ----------
    path : Path
        Readable by its owner alone.

    Raises
    ------
    LockedError
        If another process, or another part of this one, holds it.
    OSError
        If the file cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                _lock(descriptor)
            except OSError:
                note = os.pread(descriptor, 4096, 0) if hasattr(os, "pread") else b""
                os.close(descriptor)
                raise LockedError(note.decode("utf-8", "replace")) from None
            if _is_at(descriptor, path):
                break
            # The owner before took the file away between our opening and our locking it.
            os.close(descriptor)
        self._descriptor = descriptor
        self.write("")

    def write(self, note: str) -> None:
        """Leave word for whoever finds it locked."""
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, note.encode("utf-8"))

    def release(self) -> None:
        """Let others in; a second time does nothing."""
        if self._descriptor < 0:
            return
        with suppress(OSError):  # Windows does not remove what is open
            self._path.unlink()
        os.close(self._descriptor)
        self._descriptor = -1


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":  # pragma: no cover - tested on Linux

    def _lock(descriptor: int) -> None:
        import msvcrt

        # Far behind the note, which others may still read.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:

    def _lock(descriptor: int) -> None:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
