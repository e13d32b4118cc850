"""No page of these tests makes a map of neighbours by the way."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_neighbour_map(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes when it is ready, and would move the points below a lasso."""
    monkeypatch.setattr("lapwing._app.labelling.can_map", lambda: False)
