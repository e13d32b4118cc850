"""Atomic output files, errors of NumPy files, and caches of long computations."""

from __future__ import annotations

import errno
import logging
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from joblib.memory import MemorizedFunc
from sklearn.utils.validation import check_memory

from lapwing._version import __version__

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT}


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`, and rename it to `path` if the block succeeds.

    If the block raises (Ctrl-C included), the temporary file is removed and `path` is unchanged.
    The content is synchronised to disk before the renaming, so that a full disk is detected in
    time.

    Parameters
    ----------
    path : path-like
        The file to write. A symbolic link is followed, not replaced.

    Yields
    ------
    Path
        An empty file in the same folder, to be written by the block.

    Raises
    ------
    OSError
        If the folder cannot be written.
    ValueError
        If no file can be written at `path`; see `check_writable`.
    """
    with atomic_writes([path]) as (temporary,):
        yield temporary


@contextmanager
def atomic_writes(paths: Sequence[str | os.PathLike[str]]) -> Iterator[list[Path]]:
    """Do as `atomic_write` for several files, and rename them when all are on disk.

    Parameters
    ----------
    paths : sequence of path-like
        The files to write.

    Yields
    ------
    list of Path
        A temporary path for each.

    Raises
    ------
    OSError, ValueError
        As for `atomic_write`; the error of a full disk names the file that does not fit.
    """
    targets = [check_writable(path) for path in paths]
    temporaries: list[Path] = []
    try:
        for target in targets:
            temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
            # Not tempfile, whose files only their owner can read.
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            temporaries.append(temporary)
        yield temporaries
        for temporary in temporaries:
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
        for temporary, target in zip(temporaries, targets, strict=True):
            os.replace(temporary, target)
    except BaseException as error:
        full = _full_disk(error, paths, targets)  # before removing the files frees space
        for temporary in temporaries:
            with suppress(OSError):
                temporary.unlink()
        if full is not None:
            raise full from error
        raise


def _full_disk(
    error: BaseException, paths: Sequence[str | os.PathLike[str]], targets: Sequence[Path]
) -> OSError | None:
    """Return an error of a full disk that names the file; None for any other error."""
    if not isinstance(error, OSError) or error.errno not in _NO_ROOM:
        return None
    room = [shutil.disk_usage(target.parent).free for target in targets]
    path = os.fspath(paths[room.index(min(room))])
    message = "the disk is full; free some space there, or write to another place"
    return OSError(error.errno, message, path)


def check_writable(path: str | os.PathLike[str]) -> Path:
    """Check that a file can be written at `path`.

    Parameters
    ----------
    path : path-like
        The file to be written; it may exist.

    Returns
    -------
    Path
        The absolute path with links resolved.

    Raises
    ------
    ValueError
        If the folder does not exist or cannot be written, or `path` is a folder or a device.
    """
    target = Path(os.path.realpath(path))
    folder = target.parent
    if target.is_dir():
        raise ValueError(f"cannot write {path}: it is a folder; name a file in it.")
    if not folder.is_dir():
        raise ValueError(f"cannot write {path}: there is no folder {folder}; make it first.")
    if target.exists() and not target.is_file():
        raise ValueError(f"cannot write {path}: it is not a regular file.")
    # Renaming would replace even a write-protected file.
    if not os.access(folder, os.W_OK) or (target.exists() and not os.access(target, os.W_OK)):
        raise ValueError(f"cannot write {path}: no permission; choose another place.")
    return target


def why_unreadable(error: Exception) -> str:
    """Explain an error of ``np.load`` or of another parser in a line without a full stop.

    NumPy treats files without its magic bytes as pickles, and advises to load them, which can
    execute code in the file.

    Parameters
    ----------
    error : Exception
        Error of the parser.

    Returns
    -------
    str
        The reason.
    """
    text = " ".join(str(error).split())[:160].rstrip(".")
    if "Python objects" in text or "Object arrays" in text:
        return "it holds Python objects, and not numbers or texts"
    if "pickle" in text:
        return "it does not begin as NumPy's files do"
    return text


_LOGGER = logging.getLogger("lapwing")

T = TypeVar("T")


def cached(memory: Any, key: object, compute: Callable[[], T]) -> T:
    """Return the result of a computation, which is cached in ``memory``; None caches nothing.

    joblib renames complete files, so that results of interrupted processes are never read. Damaged
    results are computed again with a line in the log, where joblib would print all arguments and a
    traceback.

    Parameters
    ----------
    memory : str, joblib.Memory, any object with its ``cache``, or None
    key : object
        Name of the computation, and the values on which its result depends. joblib hashes it with
        the version of the package, as it does not see the code of the computation.
    compute : callable
        () -> result

    Raises
    ------
    ValueError
        If the folder cannot be written.
    """
    key = (__version__, key)
    keeping: Any = _opened(memory).cache(_result, ignore=["compute"])
    if isinstance(keeping, MemorizedFunc) and keeping.check_call_in_cache(key, compute):
        kept = keeping.call_and_shelve(key, compute)
        try:
            found: T = kept.get()
        except Exception as error:  # a damaged pickle may raise any exception
            _LOGGER.warning(
                "memory=%r: a cached result cannot be read (%s). It is computed again.",
                str(kept.store_backend.location),
                type(error.__cause__ or error).__name__,
            )
            kept.clear()
        else:
            return found
    found = keeping(key, compute)
    return found


def _result(key: object, compute: Callable[[], T]) -> T:
    return compute()


def _opened(memory: Any) -> Any:
    try:
        return check_memory(memory)
    except OSError as error:  # joblib creates the folder immediately
        raise ValueError(
            f"memory={memory!r} is not a writable folder: {error}. Use a writable folder, or "
            "memory=None for no cache."
        ) from error
