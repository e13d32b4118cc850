"""Threads: how many, and how few the linear algebra is better off with."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from itertools import pairwise
from typing import Any

import joblib
import numpy as np
from threadpoolctl import ThreadpoolController

from lapwing._arrays import Array

__all__ = ["available_threads", "matvec", "rmatvec", "single_blas_thread"]

_BLOCKS = 8  # whatever the number of threads, so that sums are the same
_LARGE = 16_000_000  # entries of a matrix beyond the caches; starting threads takes a millisecond


def available_threads() -> int:
    """Cores this process may use: joblib's count, within OMP_NUM_THREADS."""
    cores = int(joblib.effective_n_jobs(-1))
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return max(1, min(cores, int(limit))) if limit.isdigit() else cores


def single_blas_thread() -> AbstractContextManager[Any]:
    """Hold BLAS at one thread.

    For many calls on small operands: waiting for threads then costs more than they save, thirty
    times as much on a busy machine (L-BFGS of 7511 coordinates, two threads on two cores).
    """
    return _controller().limit(limits=1, user_api="blas")  # type: ignore[no-any-return]


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
    _share(lambda _, rows: np.dot(A[rows], x, out=out[rows]), A.shape[0])
    return out


def rmatvec(A: Array, u: Array) -> Array:
    """A'u for a dense A, its rows shared between threads where it is large.

    Sums over blocks of rows, added in their order; blocks of columns, which need no sum, are read
    against the grain of the memory and took ten times as long.
    """
    if A.size < _LARGE:
        return np.asarray(A.T @ u)
    parts = np.empty((_BLOCKS, A.shape[1]), dtype=np.result_type(A, u))
    _share(lambda block, rows: np.dot(u[rows], A[rows], out=parts[block]), A.shape[0])
    return np.asarray(parts.sum(axis=0))


def _share(work: Callable[[int, slice], Any], n: int) -> None:
    edges = np.linspace(0, n, _BLOCKS + 1).astype(int).tolist()
    blocks = [slice(*edge) for edge in pairwise(edges)]
    threads = min(available_threads(), _BLOCKS)
    if threads == 1:
        for number, block in enumerate(blocks):
            work(number, block)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(_BLOCKS), blocks))
