"""How the text of a file is encoded: UTF-8, UTF-16, or what older spreadsheets write.

A detector for all of the world's encodings (charset-normalizer) guesses by language models, and
guesses wrongly for short files; tables come in three encodings, which their bytes tell apart.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from lapwing._tables.source import Source

ENCODING_NAMES = {
    "utf-8-sig": "UTF-8",
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
# No text has these, and Windows-1252 gives the last five no meaning.
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d]")


def find_encoding(source: Source, *, utf8_only: bool = False) -> str:
    """Find the encoding of a file of text.

    Parameters
    ----------
    source : Source
    utf8_only : bool, default=False
        Whether no other is allowed.

    Returns
    -------
    str
        A key of `ENCODING_NAMES`.

    Raises
    ------
    ValueError
        If it is no text, or damaged; says in which line.
    """
    with source.open() as opened:
        wrong = _first_not_utf8(opened)
        if wrong is None:
            return "utf-8-sig"
        opened.seek(0)
        start = opened.read(_LOOK)
        if not utf8_only:
            encoding = _wide(start)
            if encoding:
                return _checked(opened, encoding, source)
            if _is_windows(opened):
                return "cp1252"
    raise ValueError(
        f"{source}: line {wrong} is not UTF-8 text. If this is a CSV file save it as "
        "UTF-8; if it is of another format give it that format's extension."
    )


@contextmanager
def open_text(source: Source, encoding: str) -> Iterator[Iterator[str]]:
    """Give the lines of a file with their ends."""
    with source.open() as opened:
        text = io.TextIOWrapper(opened, encoding=encoding, newline="")
        try:
            yield text
        finally:
            text.detach()  # whose file it is closes it


def _first_not_utf8(opened: BinaryIO) -> int | None:
    """The number of the first line that is no UTF-8 text; None if all are."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    lines = 1
    while True:
        chunk = opened.read(_CHUNK)
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            # A NUL before it is what is wrong first.
            at = error.start if b"\0" not in error.object[: error.start] else error.object.index(0)
            return lines + error.object[:at].count(b"\n")
        if "\0" in text:
            return lines + text[: text.index("\0")].count("\n")
        if not chunk:
            return None
        lines += text.count("\n")


def _wide(start: bytes) -> str:
    """Which UTF-16 it is; empty if it is not."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    even, odd = start[::2].count(0), start[1::2].count(0)
    half = len(start) // 2
    # Names and numbers are ASCII, which is every other byte there.
    if half and odd > 0.6 * half and not even:
        return "utf-16-le"
    return "utf-16-be" if half and even > 0.6 * half and not odd else ""


def _checked(opened: BinaryIO, encoding: str, source: Source) -> str:
    opened.seek(0)
    decoder = codecs.getincrementaldecoder(encoding)()
    lines = 1
    try:
        while chunk := opened.read(_CHUNK):
            lines += decoder.decode(chunk).count("\n")
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise ValueError(
            f"{source} looks like UTF-16 text and is damaged after line {lines}. Save it again."
        ) from None
    return encoding


def _is_windows(opened: BinaryIO) -> bool:
    """Whether bytes are Windows-1252; a few wrong ones among UTF-8 sequences are damage."""
    opened.seek(0)
    high = sequences = 0
    for line in opened:
        if _BINARY.search(line):
            return False
        found = _SEQUENCE.findall(line)
        sequences += len(found)
        high += len(_HIGH.findall(line)) - sum(map(len, found))
    return high > sequences
