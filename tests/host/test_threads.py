"""Threads: those that may be used, and BLAS held at one."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from lapwing._host import threads
from lapwing._host.warn import collect_warnings, warn
from lapwing.exceptions import LapwingWarning


def test_threads_respect_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads.joblib, "effective_n_jobs", lambda n: 8)
    for value, expected in [("3", 3), ("1", 1), ("64", 8), ("", 8), ("4,2", 4), ("0", 1), ("x", 8)]:
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        assert threads.available_threads() == expected
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert threads.available_threads() == 8


def blas_threads() -> list[int]:
    """Numbers of threads of the libraries that lapwing limits, not of those loaded since.

    Libraries built on OpenMP (faiss includes one) count per thread of Python, so that these threads
    cannot read each other's numbers.
    """
    held = {library["filepath"] for library in threads._controller().info()}
    pools = [pool for pool in threadpool_info() if pool["filepath"] in held]
    return [
        pool["num_threads"]
        for pool in pools
        if pool["user_api"] == "blas" and pool["threading_layer"] != "openmp"
    ]


def test_blas_is_held_at_one_thread_and_let_go() -> None:
    before = blas_threads()
    assert before
    with threads.single_blas_thread():
        assert set(blas_threads()) == {1}
        with threads.single_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


@pytest.fixture
def two_blas_threads() -> Iterator[None]:
    """BLAS at two threads, as by the environment: no thread of Python controls it."""
    before = max(blas_threads())
    in_thread(lambda: threadpool_limits(2, user_api="blas"))
    yield
    in_thread(lambda: threadpool_limits(before, user_api="blas"))


def in_thread(work: Callable[[], Any]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@pytest.mark.parametrize("first_out", [0, 1])
@pytest.mark.usefixtures("two_blas_threads")
def test_blas_is_held_by_all_threads_of_a_pool_and_let_go_by_the_last(first_out: int) -> None:
    """Also after a fit in the main thread, which threadpoolctl would let control BLAS for good."""
    with threads.single_blas_thread():
        pass
    leave = [threading.Event(), threading.Event()]
    seen: list[list[int]] = []
    entered = threading.Barrier(3, timeout=60)

    def work(number: int) -> None:
        with threads.single_blas_thread():
            entered.wait()
            leave[number].wait(10)
            seen.append(blas_threads())

    workers = [threading.Thread(target=work, args=(number,)) for number in (0, 1)]
    for worker in workers:
        worker.start()
    entered.wait()
    for number in (first_out, 1 - first_out):
        assert set(blas_threads()) == {1}
        leave[number].set()
        workers[number].join()
    assert seen == [[1] * len(seen[0])] * 2
    assert set(blas_threads()) == {2}
    with threadpool_limits(1, user_api="blas"):  # outside of lapwing's limits
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {2}


@pytest.mark.usefixtures("two_blas_threads")
def test_a_limit_of_the_user_is_kept() -> None:
    with threadpool_limits(2, user_api="blas"):
        with threads.single_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {2}
        entered, leave = threading.Event(), threading.Event()

        def work() -> None:
            with threads.single_blas_thread():
                entered.set()
                leave.wait(10)

        worker = threading.Thread(target=work)
        worker.start()
        entered.wait(10)
        assert set(blas_threads()) == {2}  # this thread alone may change its own limit
        leave.set()
        worker.join()
    assert set(blas_threads()) == {2}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3, 2), (40, 7), (5, 60), (8, 8), (0, 3)])
def test_shared_products_are_the_products_whatever_the_threads(
    monkeypatch: pytest.MonkeyPatch, dtype: Any, shape: tuple[int, int]
) -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal(shape).astype(dtype)
    x, u = rng.standard_normal(shape[1]).astype(dtype), rng.standard_normal(shape[0]).astype(dtype)
    tolerance = 1e-5 if dtype == np.float32 else 1e-13
    expected = A.astype(float) @ x, A.astype(float).T @ u
    monkeypatch.setattr(threads, "_LARGE", 0)
    answers = []
    for n in (1, 2, 5):
        monkeypatch.setattr(threads, "available_threads", lambda n=n: n)
        answers.append((threads.matvec(A, x), threads.rmatvec(A, u)))
    for values, slopes in answers:
        assert values.dtype == slopes.dtype == dtype
        np.testing.assert_allclose(values, expected[0], atol=tolerance)
        np.testing.assert_allclose(slopes, expected[1], atol=tolerance)
        np.testing.assert_array_equal(values, answers[0][0])
        np.testing.assert_array_equal(slopes, answers[0][1])


@pytest.mark.parametrize("n_threads", [1, 3])
def test_shared_work_comes_back_in_order(n_threads: int) -> None:
    assert threads.share(n_threads, lambda a, b: (a, b), range(9), "abcdefghi") == [
        *zip(range(9), "abcdefghi", strict=True)
    ]
    assert threads.share(n_threads, str, []) == []
    with pytest.raises(ZeroDivisionError):
        threads.share(n_threads, lambda x: 1 / x, [1, 0])


def test_work_is_shared_by_as_many_threads_as_asked_for() -> None:
    together = threading.Barrier(3, timeout=60)  # none gets on before all three are there
    assert len(threads.share(3, lambda _: together.wait(), range(3))) == 3
    assert threads.share(2, lambda _: threads.in_pool(), range(2)) == [True, True]
    assert not threads.in_pool()


def _shared(queue: Any) -> None:
    queue.put(threads.share(2, abs, [-1, -2]))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of forks beside threads
def test_threads_are_found_again_after_a_fork() -> None:
    threads.share(2, abs, [-1, -2])
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_shared, args=(queue,), daemon=True)
    child.start()
    try:
        assert queue.get(timeout=60) == [1, 2]
    finally:
        child.kill()
        child.join()


def test_nested_sharing_does_not_deadlock() -> None:
    def inner(number: int) -> int:
        return sum(threads.share(2, lambda part: number * part, range(4)))

    def outer() -> None:
        done.extend(threads.share(2, inner, range(6)))

    done: list[int] = []
    thread = threading.Thread(target=outer, daemon=True)
    thread.start()
    thread.join(timeout=60)
    assert done == [0, 6, 12, 18, 24, 30]


def test_a_single_block_may_share_its_own_work() -> None:
    together = threading.Barrier(2, timeout=60)

    def outer(number: int) -> list[int]:
        return [number, *threads.share(2, lambda _: together.wait() * 0, range(2))]

    assert threads.share(2, outer, [7]) == [[7, 0, 0]]


@pytest.mark.parametrize(("cache", "n_blocks"), [(2**26, 1), (6, 4)])
def test_rows_are_shared_in_blocks(monkeypatch: Any, cache: int, n_blocks: int) -> None:
    monkeypatch.setattr(threads, "available_threads", lambda: 2)
    monkeypatch.setattr(threads, "_CACHE", cache)
    rows = np.zeros(10)

    def work(block: slice) -> None:
        rows[block] += 1

    assert len(threads.share_rows(10, 2, work)) == n_blocks
    assert (rows == 1).all()


def test_threads_inherit_the_context() -> None:
    def divided(zero: float) -> tuple[str, float]:
        warn("small", LapwingWarning)
        return threading.current_thread().name, float(np.float64(1) / zero)

    with np.errstate(divide="ignore"), collect_warnings() as said:
        found = threads.share(2, divided, [0.0, -0.0, 0.0])
    names, quotients = zip(*found, strict=True)
    assert all(name.startswith("lapwing") for name in names)
    assert quotients == (np.inf, -np.inf, np.inf)
    assert [str(warning) for warning in said] == ["small"] * 3
