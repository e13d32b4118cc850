"""Atomically written files, and files of lines to continue stopped runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def plain(value: Any) -> Any:
    """Convert dataclasses and named tuples, at any depth, to mappings for JSON."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def read_json(path: Path) -> Any | None:
    """Read a JSON file; None if there is no such file, or it is incomplete."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None


class Lines:
    """Objects stored one per line, so that a stopped run can continue.

    An incomplete last line is removed, and its object is measured again. Without `resume` an
    existing file is removed.
    """

    def __init__(self, path: Path, *, resume: bool = True) -> None:
        self._path = path
        if not resume:
            path.unlink(missing_ok=True)
        if path.exists():
            text = path.read_bytes()
            if not text.endswith(b"\n"):
                os.truncate(path, text.rfind(b"\n") + 1)

    def __iter__(self) -> Iterator[Any]:
        if self._path.exists():
            yield from map(json.loads, self._path.read_text(encoding="utf-8").splitlines())

    def add(self, kept: Any) -> None:
        """Append an object or a record, flushed to disk."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(plain(kept)) + "\n")
