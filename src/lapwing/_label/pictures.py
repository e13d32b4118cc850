"""Pictures of rows: files, or arrays that are written as PNG."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LARGEST_PICTURE = 32 * 2**20
_TRIED = 200  # files; who names the wrong folder has none of them
# What a browser draws without running anything; the first bytes say it and no name does.
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
# How many numbers a dot has, and what PNG calls that.
_COLOUR_TYPES = {1: 0, 3: 2, 4: 6}


@dataclass(frozen=True, eq=False)
class PictureFiles:
    """Pictures in files, named by a column.

    Attributes
    ----------
    names : ndarray of object of shape (n,)
        Paths, empty where there is none.
    folder : Path
        Where relative ones begin.
    """

    names: NDArray[Any]
    folder: Path

    def __call__(self, row: int) -> bytes | None:
        """The bytes of a file; None if there is none or it is too large."""
        path = self._path(row)
        try:
            if path is None or not path.is_file() or path.stat().st_size > _LARGEST_PICTURE:
                return None
            return path.read_bytes()
        except (OSError, ValueError):
            return None

    def first_missing(self) -> Path | None:
        """The first file that is named, if none of the first ones is there; else None."""
        named = (path for row in range(len(self.names)) if (path := self._path(row)) is not None)
        tried = list(islice(named, _TRIED))
        return None if not tried or any(map(_is_there, tried)) else tried[0]

    def _path(self, row: int) -> Path | None:
        name = str(self.names[row] or "").strip()
        return self.folder / name if name else None


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def media_type(content: bytes) -> str | None:
    """What kind of picture it is, by its first bytes; None for all else."""
    for start, kind in _MAGIC:
        if content.startswith(start):
            return kind
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None


@dataclass(frozen=True, eq=False)
class PictureArrays:
    """Pictures as numbers.

    Parameters
    ----------
    values : ndarray of shape (n, height, width) or (n, height, width, 1, 3 or 4)
        Grey, or red, green, blue and perhaps opacity. Whole numbers of 8 bits as they are; others
        are stretched between the least and the largest of all.

    Raises
    ------
    ValueError
        If they are no such numbers.
    """

    values: NDArray[Any]

    def __post_init__(self) -> None:
        shape, kind = self.values.shape, self.values.dtype.kind
        if len(shape) not in (3, 4) or (len(shape) == 4 and shape[3] not in _COLOUR_TYPES):
            raise ValueError(
                f"images has the shape {shape}; pictures need (n, height, width), or "
                "(n, height, width, 3) in colour."
            )
        if kind not in "biuf" or not np.isfinite(self.values).all():
            raise ValueError("images must be finite numbers, or names of files.")

    def __call__(self, row: int) -> bytes:
        """The picture of a row as PNG."""
        values = self.values[row]
        if values.dtype != np.uint8:
            low, high = self._range
            share = (values.astype(np.float64) - low) / ((high - low) or 1.0)
            values = np.rint(255 * share).astype(np.uint8)
        return _png(values)

    @cached_property
    def _range(self) -> tuple[float, float]:
        return float(self.values.min()), float(self.values.max())


def _png(values: NDArray[np.uint8]) -> bytes:
    """A PNG file of dots; see the specification (W3C, 2003), sections 5, 9 and 11."""
    height, width = values.shape[:2]
    n_numbers = 1 if values.ndim == 2 else values.shape[2]
    lines = values.reshape(height, width * n_numbers)
    # Each line begins with its filter: none.
    raw = np.concatenate([np.zeros((height, 1), np.uint8), lines], axis=1).tobytes()
    head = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[n_numbers], 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(raw)), (b"IEND", b""))
    return _MAGIC[0][0] + b"".join(_chunk(name, content) for name, content in parts)


def _chunk(name: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content))
    )
