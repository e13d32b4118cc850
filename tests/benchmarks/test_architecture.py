"""The house of the benchmarks: families may use what is shared, and never each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The command starts every family; nothing imports it but the tests.
COMMAND = "__main__"


def imported(path: Path) -> Iterator[str]:
    """Modules that a file names in an import, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative imports hide where a name comes from"
            yield f"{node.module}.{node.names[0].name}"


def family(module: str) -> str:
    """Folder of ``benchmarks`` that a module is in."""
    return f"{module}.".split(".")[1]


def strangers(root: Path) -> list[str]:
    """Imports from one family into another, and from any into what is shared."""
    found = []
    for path in sorted((root / "benchmarks").rglob("*.py")):
        own = path.relative_to(root / "benchmarks").with_suffix("").parts[0]
        for target in imported(path):
            if target.partition(".")[0] != "benchmarks" or own == COMMAND:
                continue
            if family(target) not in ({own} if own == "shared" else {own, "shared"}):
                found.append(f"{path.relative_to(root)} imports {target}")
    return found


def test_families_know_only_themselves_and_what_is_shared() -> None:
    assert len(list((ROOT / "benchmarks").rglob("*.py"))) > 20
    assert strangers(ROOT) == []


def test_the_library_does_not_know_its_benchmarks() -> None:
    found = [
        f"{path.relative_to(ROOT)} imports {target}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        if "benchmarks" in path.read_text(encoding="utf-8")  # others need no parsing
        for target in imported_absolutely(path)
        if target.partition(".")[0] == "benchmarks"
    ]
    assert found == []


def imported_absolutely(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module)


@pytest.mark.parametrize(
    ("path", "text", "seen"),
    [
        ("s3vm/times.py", "from benchmarks.lapsvm.paper import WEIGHTS\n", True),
        ("shared/data.py", "def late():\n    import benchmarks.lapsvm.paper\n", True),
        ("shared/data.py", "from benchmarks import lapsvm\n", True),
        ("s3vm/times.py", "from benchmarks.__main__ import main\n", True),
        ("s3vm/times.py", "from benchmarks.shared.data import Data\n", False),
        ("s3vm/times.py", "from benchmarks.s3vm import paper\n", False),
        ("__main__.py", "import benchmarks.s3vm.times\n", False),
    ],
)
def test_a_stranger_is_seen(tmp_path: Path, path: str, text: str, seen: bool) -> None:
    file = tmp_path / "benchmarks" / path
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    assert bool(strangers(tmp_path)) is seen
