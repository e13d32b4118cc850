"""Threads: how many, work shared between them, and how few the linear algebra is better with."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import Any, TypeVar

import joblib
import numpy as np
from threadpoolctl import ThreadpoolController

from lapwing._arrays import Array

__all__ = ["available_threads", "matvec", "rmatvec", "share", "single_blas_thread"]

T = TypeVar("T")

_BLOCKS = 8  # whatever the number of threads, so that sums are the same
_LARGE = 16_000_000  # entries of a matrix beyond the caches; starting threads takes a millisecond


def available_threads() -> int:
    """Cores this process may use: joblib's count, within OMP_NUM_THREADS."""
    cores = int(joblib.effective_n_jobs(-1))
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return max(1, min(cores, int(limit))) if limit.isdigit() else cores


def share(n_threads: int, work: Callable[..., T], *blocks: Iterable[Any]) -> list[T]:
    """Results of a function on blocks, in their order; threads share the blocks.

    Everything in the library that runs in threads runs here. What is shared releases the
    interpreter's lock (products of NumPy and SciPy), and writes nowhere but to its own rows.

    Parameters
    ----------
    n_threads : int
        At most so many; 1 runs the blocks in this thread.
    work : callable
        Called once for each block.
    *blocks : iterables
        Its arguments, as for `map`.
    """
    if n_threads == 1:
        return list(map(work, *blocks))
    return list(_pool(n_threads).map(work, *blocks))


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    # Kept: a filter of a Laplacian shares a thousand products of a millisecond each.
    return ThreadPoolExecutor(n_threads, thread_name_prefix="lapwing")


if hasattr(os, "register_at_fork"):  # a forked process has the pool but not its threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


class _Hold:
    """BLAS at one thread while anybody wants it so.

    The limit is the process's, not the caller's: of two fits in a pool of threads the second would
    note one thread as what to restore, and leave the process with it. So holders are counted.
    """

    def __init__(self) -> None:
        self._lock, self._holders = Lock(), 0
        self._limit: AbstractContextManager[Any] = nullcontext()

    def __enter__(self) -> None:
        with self._lock:
            self._holders += 1
            if self._holders == 1:
                self._limit = _controller().limit(limits=1, user_api="blas")
                self._limit.__enter__()

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._limit.__exit__(None, None, None)


_HOLD = _Hold()


def single_blas_thread() -> AbstractContextManager[None]:
    """Hold BLAS at one thread.

    For many calls on small operands: waiting for threads then costs more than they save, thirty
    times as much on a busy machine (L-BFGS of 7511 coordinates, two threads on two cores).
    """
    return _HOLD


@cache
def _controller() -> ThreadpoolController:
    # Looking through the loaded libraries takes a millisecond or more, setting a limit does not.
    return ThreadpoolController()


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
