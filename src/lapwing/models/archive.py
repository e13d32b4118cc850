"""Zip archives of models, and the checks of untrusted ones."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from typing import Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo, is_zipfile

from lapwing._host.memory import require_memory
from lapwing._version import __version__
from lapwing.models.schema import forbidden

FORMAT = 1  # of the archive; files of a later one are refused
HEADER, REPORT, _SCHEMA = "lapwing.json", "report.json", "schema.json"
_TEXTS = (HEADER, REPORT, _SCHEMA)
_ZIP_START = b"PK\x03\x04"
_JSON_GROWTH = 20  # bytes of Python objects for a byte of JSON, at most


class ModelFileError(ValueError):
    """A file is not a model that can be loaded, for the reason in the message."""


def pack(
    texts: Mapping[str, str], schema: Mapping[str, Any], members: Mapping[str, bytes]
) -> bytes:
    """Make the archive of a model; the same contents give the same bytes."""
    buffer = io.BytesIO()
    tree = json.dumps(schema, separators=(",", ":"))
    with ZipFile(buffer, "w") as archive:
        for name, text in {**texts, _SCHEMA: tree}.items():
            _write(archive, name, text.encode(), ZIP_DEFLATED)
        # Arrays are not compressed, so that a small file cannot unpack to a large one.
        for name in sorted(members):
            _write(archive, name, members[name], ZIP_STORED)
    return buffer.getvalue()


def _write(archive: ZipFile, name: str, content: bytes, how: int) -> None:
    entry = ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.create_system, entry.external_attr = 3, 0o644 << 16
    entry.compress_type = how
    archive.writestr(entry, content)


def check_start(file: BinaryIO, name: str) -> None:
    """Refuse files that are not zip archives by their first bytes."""
    start = file.read(len(_ZIP_START))
    file.seek(0)
    if not start:
        raise ModelFileError(f"{name} is empty, not a model file.")
    if start[:1] == b"\x80":
        raise ModelFileError(
            f"{name} is a pickle, which can run code when it is loaded; lapwing never loads one."
        )
    if not start.startswith(_ZIP_START[: len(start)]):
        raise ModelFileError(f"{name} is not a model file of lapwing.")


def read_header(archive: ZipFile, name: str) -> dict[str, Any]:
    """Read the header of a model file of this or an older version."""
    names = archive.namelist()
    # In a file truncated after an inner archive, zipfile finds the directory of the inner one.
    if names and min(entry.header_offset for entry in archive.infolist()) > 0:
        raise ModelFileError(f"{name} was cut or damaged: it does not begin where it should.")
    if HEADER not in names or _SCHEMA not in names:
        raise ModelFileError(f"{name} is a zip archive, but not a model file of lapwing.")
    entry = archive.getinfo(HEADER)
    _check_memory(entry.file_size * _JSON_GROWTH, name)
    header = json.loads(archive.read(entry))
    made_by = header["lapwing_version"]
    # The format number rises when old versions cannot read a file; the version is compared as well,
    # because newer versions may use attributes that this one ignores.
    if header["format"] > FORMAT or _release(made_by) > _release(__version__):
        raise ModelFileError(
            f"{name} was made by lapwing {one_line(made_by)}, newer than this one "
            f"({__version__}): update lapwing to load it."
        )
    if not isinstance(header["info"], dict) or not isinstance(header["sklearn_version"], str):
        raise ModelFileError(f"{name} was damaged: its description is incomplete.")
    return dict(header)


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3])


def check_archive(archive: ZipFile, name: str) -> None:
    """Refuse an archive that unpacks to more than the available memory, or holds other types.

    Raises
    ------
    ModelFileError
        Before anything is unpacked.
    """
    names = archive.namelist()
    if len(set(names)) < len(names):
        raise ModelFileError(f"{name} was damaged: it holds two files of one name.")
    needed = 0
    for entry in archive.infolist():
        if entry.filename in _TEXTS:
            needed += entry.file_size * _JSON_GROWTH
            continue
        if entry.compress_type != ZIP_STORED or entry.file_size != entry.compress_size:
            raise ModelFileError(f"{name} was damaged: its array {one_line(entry.filename)}.")
        needed += entry.file_size
        with archive.open(entry) as member:
            # By content, because NumPy unpacks archives of any name.
            if is_zipfile(member):
                with ZipFile(member) as inner:
                    needed += sum(part.file_size for part in inner.infolist())
    _check_memory(needed, name)
    stranger = forbidden(json.loads(archive.read(_SCHEMA)))
    if stranger is not None:
        raise ModelFileError(
            f"{name} holds {one_line(stranger)}, which does not belong to a model of lapwing; it "
            "was not loaded."
        )


def _check_memory(n_bytes: int, name: str) -> None:
    try:
        require_memory(n_bytes, f"The model in {name}", "Load it on a larger machine.")
    except MemoryError as error:
        raise ModelFileError(str(error)) from None


def one_line(error: BaseException | str, width: int = 160) -> str:
    """Format an error, or a name from a file, as one short line."""
    text = " ".join(str(error).split()).rstrip(".")
    if len(text) > width:
        text = f"{text[: width - 1]}…"
    return text or type(error).__name__
