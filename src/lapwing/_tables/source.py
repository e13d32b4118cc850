"""Where a table comes from: a file, a pipe or standard input."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

STANDARD_INPUT = "-"
_SIGNATURES = (
    (b"PAR1", ".parquet"),
    (b"\x93NUMPY", ".npy"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ".xls"),
)
_ZIP = b"PK\x03\x04"
_MEMBERS = {"xl/workbook.xml": ".xlsx", "content.xml": ".ods"}
_MATRIX_MARKET = b"%%MatrixMarket"


@dataclass(frozen=True)
class Source:
    """An input that can be read more than once; writes itself as the user called it.

    Attributes
    ----------
    name : str
        For messages.
    suffix : str
        Lower-case extension that tells the format.
    path : Path or None
        The file; None for a stream.
    spooled : file or None
        A temporary copy of a stream.
    """

    name: str
    suffix: str
    path: Path | None = None
    spooled: IO[bytes] | None = None

    def __str__(self) -> str:
        return self.name

    def open(self) -> AbstractContextManager[Any]:
        """Open for reading bytes from the start; to be used in a ``with`` statement."""
        if self.spooled is not None:
            self.spooled.seek(0)
            return nullcontext(self.spooled)
        assert self.path is not None
        return self.path.open("rb")


@contextmanager
def open_source(path: str | os.PathLike[str]) -> Iterator[Source]:
    """Give the input that the user named.

    Standard input (``-``) and pipes are copied to a temporary file without a name first: Parquet
    and NPZ need to seek, CSV is read twice where there are columns of text, and memory is for the
    numbers.

    Raises
    ------
    OSError
        If it cannot be opened.
    ValueError
        If it is a folder or empty.
    """
    name = "standard input" if os.fspath(path) == STANDARD_INPUT else os.fspath(path)
    if name == "standard input":
        with _spool(sys.stdin.buffer) as spooled:
            yield Source(name, _sniff(spooled, name, ""), None, spooled)
        return
    file = Path(path)
    if file.is_dir():
        raise ValueError(f"{name} is a folder, not a file.")
    # Opened here and not by the format's own reader: the system's reasons (no such file, no
    # permission) are the clearest.
    with file.open("rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            with _spool(opened) as spooled:
                suffix = _sniff(spooled, name, file.suffix.lower())
                yield Source(name, suffix, None, spooled)
            return
        if not opened.read(1):
            raise ValueError(f"{name} is empty.")
    yield Source(name, file.suffix.lower(), file)


@contextmanager
def _spool(stream: Any) -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile() as spooled:
        shutil.copyfileobj(stream, spooled)
        yield spooled


def _sniff(spooled: IO[bytes], name: str, suffix: str) -> str:
    spooled.seek(0)
    start = spooled.read(16)
    if not start:
        raise ValueError(f"{name} is empty.")
    for signature, known in _SIGNATURES:
        if start.startswith(signature):
            return known
    if start.startswith(_ZIP):
        return _sniff_archive(spooled)
    if start.startswith(_MATRIX_MARKET):
        return ".mtx"
    return suffix or ".csv"


def _sniff_archive(spooled: IO[bytes]) -> str:
    """Which format it is that is a zip archive."""
    try:
        with ZipFile(spooled) as archive:
            names = set(archive.namelist())
    except BadZipFile:
        return ".npz"  # whose reader says that it is damaged
    return next((suffix for member, suffix in _MEMBERS.items() if member in names), ".npz")
