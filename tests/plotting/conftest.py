"""Figures of pyplot are closed after each test: more than twenty that are open are a warning."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pyplot = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed")


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    yield
    pyplot.close("all")
