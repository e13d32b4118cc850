"""Threads: how many, and how few the linear algebra is better off with."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import joblib
from threadpoolctl import ThreadpoolController

__all__ = ["available_threads", "single_blas_thread"]


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
