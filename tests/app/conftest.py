"""Tests of tables, files and words fit a method that they name; the choice has tests of its own."""

from __future__ import annotations

import pytest

from lapwing._app import request


@pytest.fixture(autouse=True)
def plain_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit that names no method is one of `LapSVC`, which takes a twentieth of a comparison."""
    monkeypatch.setattr(request, "DEFAULT_METHOD", "lapsvc")
