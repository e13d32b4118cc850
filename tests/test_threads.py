"""Threads: those that may be used, and BLAS held at one."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_info

from lapwing import _threads
from lapwing._threads import available_threads, single_blas_thread


def test_threads_respect_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads.joblib, "effective_n_jobs", lambda n: 8)
    for value, expected in [("3", 3), ("1", 1), ("64", 8), ("", 8), ("4,2", 4), ("0", 1), ("x", 8)]:
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        assert available_threads() == expected
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert available_threads() == 8


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_blas_is_held_at_one_thread_and_let_go() -> None:
    before = blas_threads()
    assert before
    with single_blas_thread():
        assert set(blas_threads()) == {1}
        with single_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before
