"""Results in the form stored with the project: run and tables, without raw measurements."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from benchmarks.shared.files import plain, write_whole
from benchmarks.shared.run import RunInfo
from benchmarks.shared.tables import Table

DOCS = Path(__file__).parents[2] / "docs" / "measured"
KEPT = DOCS / "results"


@dataclass(frozen=True)
class StoredResult:
    """Result of a finished piece.

    Attributes
    ----------
    piece : str
    run : RunInfo
    tables : tuple of Table
    """

    piece: str
    run: RunInfo
    tables: tuple[Table, ...]

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Self:
        """Restore from JSON written by a benchmark or by `write`."""
        tables = tuple(Table(**table) for table in content["tables"])
        return cls(content["piece"], RunInfo.of(content["run"]), tables)

    def write(self, folder: Path) -> Path:
        """Write the result to the file of its piece."""
        path = folder / f"{self.piece}.json"
        write_whole(path, json.dumps(plain(self), indent=1, ensure_ascii=False) + "\n")
        return path


@dataclass(frozen=True)
class Merged:
    """Table with the pieces of its rows."""

    table: Table
    sources: tuple[StoredResult, ...]


def read_results(folder: Path) -> dict[str, StoredResult]:
    """Read all results in a folder, by piece."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.json")))
    found = [StoredResult.of(json.loads(text)) for text in texts]
    return {one.piece: one for one in found}
