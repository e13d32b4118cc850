"""Results cached in a folder, and damaged ones."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from lapwing._host.files import cached

CALLS: list[int] = []


def squares(n: int, *, told: object = None) -> Any:
    CALLS.append(n)
    return np.arange(n) ** 2


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


def results_in(folder: Path) -> list[Path]:
    return sorted(folder.rglob("output.pkl"))


def test_results_are_cached_whatever_the_ignored_arguments(tmp_path: Path) -> None:
    for told in (1, 2):
        found = cached(str(tmp_path), squares, ignore=["told"])(5, told=told)
        np.testing.assert_array_equal(found, [0, 1, 4, 9, 16])
    assert CALLS == [5]
    cached(joblib.Memory(str(tmp_path), verbose=0), squares, ignore=["told"])(6)
    assert CALLS == [5, 6]


def test_nothing_is_cached_without_memory() -> None:
    keep = cached(None, squares, ignore=["told"])
    assert len(keep(3)) == len(keep(3)) == 3
    assert CALLS == [3, 3]


def test_accepts_any_object_with_a_cache() -> None:
    class Own:
        def cache(self, function: Callable[..., Any], ignore: Any) -> Callable[..., Any]:
            assert ignore == ["told"]
            return lambda *args: ("own", function(*args))

    assert cached(Own(), squares, ignore=["told"])(1)[0] == "own"


@pytest.mark.parametrize("damage", [lambda b: b[:20], lambda b: b"", lambda b: b"?" * len(b)])
def test_a_damaged_result_is_computed_again_with_a_log_line(
    damage: Callable[[bytes], bytes], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keep = cached(str(tmp_path), squares, ignore=["told"])
    keep(1000)
    (file,) = results_in(tmp_path)
    file.write_bytes(damage(file.read_bytes()))
    with caplog.at_level(logging.WARNING):
        np.testing.assert_array_equal(keep(1000), np.arange(1000) ** 2)
    (record,) = caplog.records
    assert record.name == "lapwing"
    assert "a cached result cannot be read (" in record.getMessage()
    assert record.getMessage().endswith("It is computed again.")
    assert str(tmp_path) in record.getMessage()
    assert "\n" not in record.getMessage()
    assert CALLS == [1000, 1000]
    keep(1000)  # the new one is kept
    assert CALLS == [1000, 1000]
    assert len(caplog.records) == 1
