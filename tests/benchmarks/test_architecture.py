"""Imports of the benchmarks: families import the shared modules, never each other."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Imports at the beginning of lines, inside functions too; relative ones are forbidden by Ruff.
IMPORTED = re.compile(
    r"^ *(?:from benchmarks import|from benchmarks\.|import benchmarks\.) *(\w+)", re.MULTILINE
)


def imported(path: Path) -> set[str]:
    """Folders of ``benchmarks`` that a file imports."""
    return set(IMPORTED.findall(path.read_text(encoding="utf-8")))


def test_benchmarks_do_not_import_each_other() -> None:
    files = list((ROOT / "benchmarks").glob("*/*.py"))
    assert len(files) > 20
    assert any(imported(path) == {path.parent.name, "shared"} for path in files)
    for path in files:
        assert imported(path) <= {path.parent.name, "shared"}, path
        assert path.parent.name != "shared" or imported(path) <= {"shared"}, path


def test_the_library_does_not_import_its_benchmarks() -> None:
    assert not any(imported(path) for path in (ROOT / "src").rglob("*.py"))
