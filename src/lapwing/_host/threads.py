"""Threads: how many, work shared between them, and how few the linear algebra is better with."""

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

from lapwing._arrays import Array

T = TypeVar("T")

_holding = threading.Lock()
_holders = 0  # of BLAS
_sharing = threading.local()  # `now` is set in the threads of the pools
_limits: list[Any] = []  # that of BLAS which is in force, with the threads before

_BLOCKS = 8  # whatever the number of threads, so that sums are the same
_LARGE = 16_000_000  # entries of a matrix beyond the caches; starting threads takes a millisecond


def available_threads() -> int:
    """Cores this process may use: joblib's count, within OMP_NUM_THREADS."""
    # In a process that may start no others joblib counts one core, and warns inside Dask's workers.
    cores = 1 if multiprocessing.current_process().daemon else int(joblib.effective_n_jobs(-1))
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return max(1, min(cores, int(limit))) if limit.isdigit() else cores


def share(n_threads: int, work: Callable[..., T], *blocks: Iterable[Any]) -> list[T]:
    """Results of a function on blocks, in their order; threads share the blocks.

    Everything in the library that runs in threads runs here. What is shared releases the
    interpreter's lock (products of NumPy and SciPy), and writes nowhere but to its own rows. Work
    that shares in its turn does so in its own thread.

    Parameters
    ----------
    n_threads : int
        At most so many; 1 runs the blocks in this thread.
    work : callable
        Called once for each block.
    *blocks : iterables
        Its arguments, as for `map`.
    """
    # A thread of a pool that waited for others of it would wait for itself.
    if n_threads == 1 or getattr(_sharing, "now", False):
        return list(map(work, *blocks))
    calls = list(zip(*blocks, strict=False))
    if len(calls) == 1:  # stays in this thread, and so can share in its turn
        return [work(*calls[0])]
    # NumPy's error state and who hears warnings are the caller's. A context runs once at a time.
    contexts = [copy_context() for _ in calls]
    return list(_pool(n_threads).map(lambda c, call: c.run(work, *call), contexts, calls))


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    # Kept: a filter of a Laplacian shares a thousand products of a millisecond each.
    return ThreadPoolExecutor(n_threads, thread_name_prefix="lapwing", initializer=_mark)


def _mark() -> None:
    _sharing.now = True


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Hold BLAS at one thread.

    For many calls on small operands: waiting for threads then costs more than they save, thirty
    times as much on a busy machine (L-BFGS of 7511 coordinates, two threads on two cores).

    The number of threads belongs to the process, and threadpoolctl lets one thread of Python change
    it at a time, until that thread has put it back. So one thread of the library's own does both,
    for the first that holds BLAS and after the last: of several that did it by themselves, the
    second could not, or left behind what another had set. Where the user's own thread has a limit
    in force, it alone may change it, for its own call.
    """
    _hold(True)
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _hold(False)


def _hold(more: bool) -> None:
    """Count who holds BLAS, and set it for the first and after the last."""
    global _holders
    with _holding:
        first, last = more and _holders == 0, not more and _holders == 1
        if first or last:
            _keeper().submit(_set_blas, first).result()
        _holders += 1 if more else -1


def _set_blas(single: bool) -> None:
    """Limit BLAS to one thread, or put back what was; runs in the keeper's thread only."""
    if not single:
        while _limits:
            _limits.pop().__exit__(None, None, None)
        return
    before = _blas_threads()
    limit = _controller().limit(limits=1, user_api="blas").__enter__()
    if before != _blas_threads():
        _limits.append(limit)
    else:  # nothing to do, or another thread's limit is in force, which is not to be put back here
        limit.__exit__(None, None, None)


@cache
def _keeper() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="lapwing-blas")


@cache
def _controller() -> ThreadpoolController:
    # Looking through the loaded libraries takes a millisecond or more, setting a limit does not.
    return ThreadpoolController()


def _blas_threads() -> list[int]:
    libraries = _controller().lib_controllers
    return [library.num_threads for library in libraries if library.user_api == "blas"]


if hasattr(os, "register_at_fork"):  # a forked process has the pools but not their threads
    os.register_at_fork(after_in_child=_pool.cache_clear)
    os.register_at_fork(after_in_child=_keeper.cache_clear)


def matvec(A: Array, x: Array) -> Array:
    """A x for a dense A, its rows shared between threads where it is large.

    BLAS's own threads do the same, but wait for one another by spinning: beside any other load on
    the machine they were ten times slower than one thread. Hold them by `single_blas_thread`.
    """
    if A.size < _LARGE:
        return np.asarray(A @ x)
    out = np.empty(A.shape[0], dtype=np.result_type(A, x))
    blocks = _fixed_blocks(A.shape[0])
    share(available_threads(), lambda rows: np.dot(A[rows], x, out=out[rows]), blocks)
    return out


def rmatvec(A: Array, u: Array) -> Array:
    """A'u for a dense A, its rows shared between threads where it is large.

    Sums over blocks of rows, added in their order; blocks of columns, which need no sum, are read
    against the grain of the memory and took ten times as long.
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
