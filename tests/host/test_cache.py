"""Results cached in a folder, and damaged ones."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from lapwing._host.files import cached

CALLS: list[int] = []


def squares(n: int, memory: Any) -> Any:
    def compute() -> Any:
        CALLS.append(n)
        return np.arange(n) ** 2

    return cached(memory, ("squares", n), compute)


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


def results_in(folder: Path) -> list[Path]:
    return sorted(folder.rglob("output.pkl"))


def test_results_are_cached_by_their_keys(tmp_path: Path) -> None:
    for memory in (str(tmp_path), joblib.Memory(str(tmp_path), verbose=0)):
        np.testing.assert_array_equal(squares(5, memory), [0, 1, 4, 9, 16])
    assert CALLS == [5]
    squares(6, str(tmp_path))
    assert CALLS == [5, 6]


def test_results_of_another_release_are_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("1", "2", "2"):
        monkeypatch.setattr("lapwing._host.files.__version__", version)
        squares(3, str(tmp_path))
    assert CALLS == [3, 3]


def test_nothing_is_cached_without_memory() -> None:
    assert len(squares(3, None)) == len(squares(3, None)) == 3
    assert CALLS == [3, 3]


def test_accepts_any_object_with_a_cache() -> None:
    class Own:
        def cache(self, function: Callable[..., Any], ignore: Any) -> Callable[..., Any]:
            assert ignore == ["compute"]
            return lambda *args: ("own", function(*args))

    assert squares(1, Own())[0] == "own"


@pytest.mark.parametrize("damage", [lambda b: b[:20], lambda b: b"", lambda b: b"?" * len(b)])
def test_a_damaged_result_is_computed_again_with_a_log_line(
    damage: Callable[[bytes], bytes], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keep = partial(squares, 1000, str(tmp_path))
    keep()
    (file,) = results_in(tmp_path)
    file.write_bytes(damage(file.read_bytes()))
    with caplog.at_level(logging.WARNING):
        np.testing.assert_array_equal(keep(), np.arange(1000) ** 2)
    (record,) = caplog.records
    assert record.name == "lapwing"
    assert "a cached result cannot be read (" in record.getMessage()
    assert record.getMessage().endswith("It is computed again.")
    assert str(tmp_path) in record.getMessage()
    assert "\n" not in record.getMessage()
    assert CALLS == [1000, 1000]
    keep()  # the new one is kept
    assert CALLS == [1000, 1000]
    assert len(caplog.records) == 1
