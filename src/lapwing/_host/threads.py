"""Threads: their number, shared work, and limits of BLAS."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

import joblib
import numpy as np
from threadpoolctl import ThreadpoolController

from lapwing._arrays import Array, row_blocks

T = TypeVar("T")

_holding = threading.Lock()
_holders = 0  # number of active `single_blas_thread` blocks
_sharing = threading.local()  # `now` is set in the threads of the pools
_limits: list[Any] = []  # active limit of BLAS, which restores the number before

_BLOCKS = 8  # for any number of threads, so that sums are reproducible
_CACHE = 2**20  # bytes of an array that stays in the cache
_LARGE = 16_000_000  # entries of a matrix that is larger than the caches and worth starting threads


def available_threads() -> int:
    """Return the number of cores of this process: joblib's count, limited by OMP_NUM_THREADS.

    It is 1 in a thread of a pool, in which `share` uses no further threads.
    """
    if in_pool():
        return 1
    # joblib counts one core in daemonic processes, and warns in workers of Dask.
    cores = 1 if multiprocessing.current_process().daemon else int(joblib.effective_n_jobs(-1))
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return max(1, min(cores, int(limit))) if limit.isdigit() else cores


def share(n_threads: int, work: Callable[..., T], *blocks: Iterable[Any]) -> list[T]:
    """Apply a function to blocks in threads, and return the results in order.

    All threads of the library run here. The work releases the GIL (products of NumPy and SciPy) and
    writes to its own rows only. Nested calls run in the calling thread.

    Parameters
    ----------
    n_threads : int
        Maximum number of threads; 1 runs the blocks in this thread.
    work : callable
        Called once for each block.
    *blocks : iterables
        Arguments of `work`, as for `map`.
    """
    # A thread that waits for its own pool would deadlock.
    if n_threads == 1 or in_pool():
        return list(map(work, *blocks))
    calls = list(zip(*blocks, strict=False))
    if len(calls) == 1:  # in this thread, so that it can share its own work
        return [work(*calls[0])]
    # Copies of the context, with NumPy's error state and the collection of warnings; a context can
    # be entered only once at a time.
    contexts = [copy_context() for _ in calls]
    return list(_pool(n_threads).map(lambda c, call: c.run(work, *call), contexts, calls))


def in_pool() -> bool:
    """Return whether this is a thread of a pool."""
    return getattr(_sharing, "now", False)


def share_rows(n_rows: int, bytes_per_row: int, work: Callable[[slice], T]) -> list[T]:
    """Apply a function to blocks of rows that fit into the cache; several are shared by threads."""
    blocks = list(row_blocks(n_rows, bytes_per_row, _CACHE))
    return share(available_threads() if len(blocks) > 1 else 1, work, blocks)


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    # Cached, because filters of a Laplacian run thousands of products of a millisecond in threads.
    return ThreadPoolExecutor(n_threads, thread_name_prefix="lapwing", initializer=_mark)


def _mark() -> None:
    _sharing.now = True


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread.

    This is for many calls on small operands, for which waiting for threads costs more than they
    save (thirty times as much for L-BFGS of 7511 coordinates, two threads on two busy cores).

    The number of threads belongs to the process, and threadpoolctl lets one Python thread change it
    at a time, until that thread restores it. Therefore a thread of the library limits BLAS for the
    first active block and restores it after the last one; several threads would block each other,
    or restore a limit of another one. If a thread of the user has a limit, only that thread can
    change it, for its own call.
    """
    _hold(True)
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _hold(False)


def _hold(more: bool) -> None:
    """Count active blocks; limit BLAS at the first, and restore it after the last."""
    global _holders
    with _holding:
        first, last = more and _holders == 0, not more and _holders == 1
        if first or last:
            _keeper().submit(_set_blas, first).result()
        _holders += 1 if more else -1


def _set_blas(single: bool) -> None:
    """Limit BLAS to one thread, or restore it; runs in the keeper's thread only."""
    if not single:
        while _limits:
            _limits.pop().__exit__(None, None, None)
        return
    before = _blas_threads()
    limit = _controller().limit(limits=1, user_api="blas").__enter__()
    if before != _blas_threads():
        _limits.append(limit)
    else:  # nothing to do, or the limit of another thread, which must stay
        limit.__exit__(None, None, None)


@cache
def _keeper() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="lapwing-blas")


@cache
def _controller() -> ThreadpoolController:
    # Cached, because inspecting the loaded libraries takes a millisecond or more.
    return ThreadpoolController()


def _blas_threads() -> list[int]:
    libraries = _controller().lib_controllers
    return [library.num_threads for library in libraries if library.user_api == "blas"]


if hasattr(os, "register_at_fork"):  # a forked process has the pools but not their threads
    os.register_at_fork(after_in_child=_pool.cache_clear)
    os.register_at_fork(after_in_child=_keeper.cache_clear)


def matvec(A: Array, x: Array) -> Array:
    """Compute A x for a dense A, with blocks of rows in threads if A is large.

    Threads of BLAS wait for each other by spinning, and were ten times slower than one thread on a
    busy machine. Limit them by `single_blas_thread`.
    """
    if A.size < _LARGE:
        return np.asarray(A @ x)
    out = np.empty(A.shape[0], dtype=np.result_type(A, x))
    blocks = _fixed_blocks(A.shape[0])
    share(available_threads(), lambda rows: np.dot(A[rows], x, out=out[rows]), blocks)
    return out


def rmatvec(A: Array, u: Array) -> Array:
    """Compute A'u for a dense A, with blocks of rows in threads if A is large.

    Results of blocks are added in a fixed order. Blocks of columns would need no sums, but read
    memory with strides and took ten times as long.
    """
    if A.size < _LARGE:
        return np.asarray(A.T @ u)
    parts = np.empty((_BLOCKS, A.shape[1]), dtype=np.result_type(A, u))
    blocks = _fixed_blocks(A.shape[0])
    share(available_threads(), lambda rows, part: np.dot(u[rows], A[rows], out=part), blocks, parts)
    return np.asarray(parts.sum(axis=0))


def _fixed_blocks(n: int) -> list[slice]:
    edges = np.linspace(0, n, _BLOCKS + 1).astype(int).tolist()
    return [slice(*edge) for edge in pairwise(edges)]
