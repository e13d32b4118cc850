"""Tests of tables, files and words fit a method that they name; the choice has tests of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lapwing._app import cli
from lapwing._app.requests import fit as fit_requests


@pytest.fixture
def main(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """The command in this process: its exit code, and what it printed on both streams."""

    def call(*args: object) -> tuple[int, str, str]:
        code = cli.main([str(arg) for arg in args])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


@pytest.fixture(autouse=True)
def plain_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit that names no method is one of `LapSVC`, which takes a twentieth of a comparison."""
    monkeypatch.setattr(fit_requests, "DEFAULT_METHOD", "lapsvc")
