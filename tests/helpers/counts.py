"""How often functions are called."""

from __future__ import annotations

from typing import Any

import pytest


class Counts:
    """How often some functions are called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch
        self.calls: dict[str, int] = {}

    def watch(self, owner: Any, name: str) -> None:
        original = getattr(owner, name)
        self.calls[name] = 0

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.calls[name] += 1
            return original(*args, **kwargs)

        self.monkeypatch.setattr(owner, name, counted)
