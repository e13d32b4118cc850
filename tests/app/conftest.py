"""Tests of tables, files and words fit a method that they name; the choice has tests of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import joblib
import pytest

from lapwing._app import choosing
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


@pytest.fixture(scope="session", autouse=True)
def _remembered_comparisons() -> Iterator[None]:
    """Each comparison of methods is made once a session, by its points, labels and settings.

    Many tests ask for the same one to look at another file or line that is made of it. What
    comparisons find has tests of its own, in `tests/model_selection`.
    """
    known: dict[str, Any] = {}

    def once(compare: Callable[..., Any]) -> Callable[..., Any]:
        def remembered(X: Any, y: Any, weights: Any, asked: Any, progress: Any) -> Any:
            settings = asked._replace(efforts=dict(asked.efforts))  # a proxy has no hash
            key = joblib.hash((compare.__name__, X, y, weights, settings))
            if key not in known:
                known[key] = compare(X, y, weights, asked, progress)
            return deepcopy(known[key])  # the fit of its best method is one of this estimator

        return remembered

    with pytest.MonkeyPatch.context() as patch:
        for name in ("compared", "compared_regressions"):
            patch.setattr(choosing, name, once(getattr(choosing, name)))
        yield
