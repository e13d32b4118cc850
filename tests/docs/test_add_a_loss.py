"""The change that docs/add_a_loss.md shows applies to this source, and its tests pass."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DIFF = ROOT / "docs" / "add_a_loss.diff"


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A copy of the source with the change."""
    git = shutil.which("git")
    if git is None:
        pytest.skip("needs git, to apply a diff")
    copy = tmp_path / "changed"
    ignored = shutil.ignore_patterns("__pycache__")
    for folder in ("src", "tests", "docs/api"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignored)
    for file in ("pyproject.toml", "constraints.txt", "CITATION.cff", "CHANGELOG.md"):
        shutil.copy(ROOT / file, copy)
    done = subprocess.run(
        [git, "apply", str(DIFF)], cwd=copy, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"make docs/add_a_loss.diff again: {done.stderr}"
    return copy


def _run(folder: Path, *words: str) -> str:
    """Run a module of Python in the folder, and return its output."""
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.slow
def test_shared_tests_pass_with_the_new_loss(changed: Path) -> None:
    """Run the shared suite of losses, that of losses from outside, and that of public names."""
    names = (
        "public_names_exist_and_classes_have_public_modules",
        *("public_names_are_those_of_the_list", "registered_parts_are_public"),
    )
    tests = [
        "tests/losses/test_every.py",
        "tests/losses/test_checks.py",
        "tests/losses/test_from_outside.py::test_registered_losses_and_methods_have_names",
        *(f"tests/test_package.py::test_{name}" for name in names),
    ]
    said = _run(changed, "pytest", "-q", "-p", "no:cacheprovider", *tests)
    assert int(re.search(r"(\d+) passed", said)[1]) > 80


def test_the_change_passes_lint(changed: Path) -> None:
    pytest.importorskip("ruff")
    files = re.findall(r"^\+\+\+ b/(.*\.py)$", DIFF.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(files) >= 3
    _run(changed, "ruff", "check", "--no-cache", *files)
    _run(changed, "ruff", "format", "--no-cache", "--check", *files)
