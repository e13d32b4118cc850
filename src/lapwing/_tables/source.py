"""Sources of tables: a file, a pipe or standard input."""

from __future__ import annotations

import codecs
import io
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO
from zipfile import BadZipFile, ZipFile

from lapwing._host.files import why_unreadable

STANDARD_INPUT = "-"
_SIGNATURES = (
    (b"PAR1", ".parquet"),
    (b"\x93NUMPY", ".npy"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ".xls"),
    (b"%%MatrixMarket", ".mtx"),
)
_ZIP = b"PK\x03\x04"
_MEMBERS = {"xl/workbook.xml": ".xlsx", "content.xml": ".ods"}

# Encodings besides UTF-8.
ENCODING_NAMES = {
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "cp1252": "Windows-1252",
}
_CHUNK = 1 << 20
_LOOK = 4096
_SEQUENCE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_HIGH = re.compile(rb"[\x80-\xff]")
# Bytes that texts do not contain; the last five are undefined in Windows-1252.
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d]")


@dataclass(frozen=True)
class Source:
    """Input that can be read more than once; its string is the name given by the user.

    Attributes
    ----------
    name : str
        Name for messages.
    suffix : str
        Lower-case extension, which determines the format.
    path : Path or None
        The file; None for a stream.
    spooled : file or None
        Temporary copy of a stream.
    """

    name: str
    suffix: str
    path: Path | None = None
    spooled: IO[bytes] | None = None

    def __str__(self) -> str:
        return self.name

    def open(self) -> AbstractContextManager[Any]:
        """Open for reading bytes from the start, in a ``with`` statement."""
        if self.spooled is not None:
            self.spooled.seek(0)
            return nullcontext(self.spooled)
        assert self.path is not None
        return self.path.open("rb")


@contextmanager
def readable(source: Source, what: str) -> Iterator[None]:
    """Report errors of a parser as those of a file that is no `what`.

    Parsers fail in the ways of texts, zip, zlib, XML and NumPy, whose errors have no common class.

    Raises
    ------
    ValueError
        For any error of the block but a lack of memory.
    """
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        reason = why_unreadable(error)
        raise ValueError(f"{source} is not a readable {what}: {reason}.") from None


@contextmanager
def open_source(path: str | os.PathLike[str]) -> Iterator[Source]:
    """Open the input given by the user.

    Standard input (``-``) and pipes are first copied to an unnamed temporary file: Parquet and NPZ
    need to seek, and CSV is read twice if there are text columns. Copies in memory would be too
    large.

    Raises
    ------
    OSError
        If it cannot be opened.
    ValueError
        If it is a folder, empty, or a named pipe without an extension.
    """
    name = "standard input" if os.fspath(path) == STANDARD_INPUT else os.fspath(path)
    if name == "standard input":
        if sys.stdin is None:
            raise ValueError("Standard input is closed. Name a file, or pipe the table to -.")
        with _spool(sys.stdin.buffer) as spooled:
            yield Source(name, _sniff(spooled, name, ""), None, spooled)
        return
    file = Path(path)
    if file.is_dir():
        raise ValueError(f"{name} is a folder, not a file.")
    # Opening it would wait for a writer, possibly forever. Pipes of a shell have one.
    of_shell = file.is_relative_to("/dev") or file.is_relative_to("/proc")
    if file.is_fifo() and not file.suffix and not of_shell:
        raise ValueError(
            f"{name} is a pipe whose name has no extension. Give a file, or - for standard input."
        )
    # Opened here and not by the reader of the format, as the errors of the system (no such file, no
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
def _spool(stream: IO[bytes]) -> Iterator[IO[bytes]]:
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
    if not start.startswith(_ZIP):
        return suffix or ".csv"
    with suppress(BadZipFile), ZipFile(spooled) as archive:
        names = archive.namelist()
        return next((known for member, known in _MEMBERS.items() if member in names), ".npz")
    return ".npz"  # its reader will report the damage


def find_encoding(source: Source, *, utf8_only: bool = False) -> str:
    """Find the encoding of a file of text.

    Parameters
    ----------
    source : Source
    utf8_only : bool, default=False
        Whether other encodings are errors.

    Returns
    -------
    str
        utf-8, utf-8-sig with a byte order mark, or a key of `ENCODING_NAMES`.

    Raises
    ------
    ValueError
        If it is not text or damaged; the message has the line.
    """
    with source.open() as opened:
        line = _first_damaged_line(opened, "utf-8")
        if line is None:
            opened.seek(0)
            return "utf-8-sig" if opened.read(3) == codecs.BOM_UTF8 else "utf-8"
        wide = "" if utf8_only else _kind_of_utf16(opened)
        if wide and (damaged := _first_damaged_line(opened, wide)) is not None:
            raise ValueError(
                f"{source} looks like UTF-16 text and is damaged in line {damaged}. Save it again."
            )
        if wide or (not utf8_only and _is_windows(opened)):
            return wide or "cp1252"
    raise ValueError(
        f"{source}: line {line} is not UTF-8 text. If this is text, save it as UTF-8; if it is of "
        "another format, give it that format's extension."
    )


@contextmanager
def open_text(source: Source, encoding: str) -> Iterator[Iterator[str]]:
    """Iterate over the lines of a file, with their line ends."""
    with source.open() as opened:
        text = io.TextIOWrapper(opened, encoding=encoding, newline="")
        try:
            yield text
        finally:
            text.detach()  # the file is closed by its owner


def _first_damaged_line(opened: BinaryIO, encoding: str) -> int | None:
    """Return the number of the first line that is not text; None if all are."""
    opened.seek(0)
    decoder = codecs.getincrementaldecoder(encoding)()
    lines, chunk = 1, b"\n"
    while chunk:
        chunk = opened.read(_CHUNK)
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            decoder.setstate((b"", decoder.getstate()[1]))  # only the byte order is kept
            text = decoder.decode(error.object[: error.start]) + "\0"
        before, damage, _ = text.partition("\0")
        lines += before.count("\n")
        if damage:
            return lines
    return None


def _kind_of_utf16(opened: BinaryIO) -> str:
    """Return the kind of UTF-16; empty for other encodings."""
    opened.seek(0)
    start = opened.read(_LOOK)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    even, odd = start[::2].count(0), start[1::2].count(0)
    half = len(start) // 2
    # Names and numbers are ASCII, so every other byte is 0 in UTF-16.
    if half and odd > 0.6 * half and not even:
        return "utf-16-le"
    return "utf-16-be" if half and even > 0.6 * half and not odd else ""


def _is_windows(opened: BinaryIO) -> bool:
    """Return whether bytes are Windows-1252; few errors among UTF-8 sequences count as damage."""
    opened.seek(0)
    high = sequences = 0
    for line in opened:
        if _BINARY.search(line):
            return False
        found = _SEQUENCE.findall(line)
        sequences += len(found)
        high += len(_HIGH.findall(line)) - sum(map(len, found))
    return high > sequences
