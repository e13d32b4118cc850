"""Results cached in a folder, and damaged ones."""

from __future__ import annotations

import logging
import re
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


def test_results_are_cached_by_key_and_release(tmp_path: Path, monkeypatch: Any) -> None:
    for memory in (str(tmp_path), joblib.Memory(str(tmp_path), verbose=0)):
        np.testing.assert_array_equal(squares(5, memory), [0, 1, 4, 9, 16])
    assert CALLS == [5]
    squares(6, str(tmp_path))
    assert CALLS == [5, 6]
    monkeypatch.setattr("lapwing._host.files.__version__", "another")
    squares(6, str(tmp_path))
    assert CALLS == [5, 6, 6]
    assert len(squares(6, None)) == 6  # nothing is cached without memory
    assert CALLS == [5, 6, 6, 6]


def test_accepts_any_object_with_a_cache() -> None:
    class Own:
        def cache(self, function: Callable[..., Any], ignore: Any) -> Callable[..., Any]:
            assert ignore == ["compute"]
            return lambda *args: ("own", function(*args))

    assert squares(1, Own())[0] == "own"


@pytest.mark.parametrize("damage", [lambda b: b[:20], lambda b: b"", lambda b: b"?" * len(b)])
def test_a_damaged_result_is_computed_again(damage: Any, tmp_path: Path, caplog: Any) -> None:
    keep = partial(squares, 1000, str(tmp_path))
    keep()
    (file,) = tmp_path.rglob("output.pkl")
    file.write_bytes(damage(file.read_bytes()))
    np.testing.assert_array_equal(keep(), np.arange(1000) ** 2)
    ((name, level, said),) = caplog.record_tuples
    assert (name, level) == ("lapwing", logging.WARNING)
    told = r": a cached result cannot be read \(\w+\)\. It is computed again\."
    assert re.fullmatch(rf"memory='{re.escape(str(tmp_path))}\S*'{told}", said)
    keep()  # the new one is kept
    assert CALLS == [1000, 1000]
    assert len(caplog.records) == 1
