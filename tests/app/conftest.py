"""Tests of tables, files and words fit a method that they name; the choice has tests of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lapwing._app import requests as fit_requests
from tests.helpers.commandline import Answer, command


@pytest.fixture
def main() -> Callable[..., Answer]:
    """The command in this process: its exit code, and what it printed on both streams."""
    return command


@pytest.fixture(autouse=True)
def plain_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit that names no method is one of `LapSVC`, which takes a twentieth of a comparison."""
    monkeypatch.setattr(fit_requests, "DEFAULT_METHOD", "lapsvc")
