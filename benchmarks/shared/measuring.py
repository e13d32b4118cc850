"""Tools to measure fits: processes, memory, time limits, reference times, and log messages."""

from __future__ import annotations

import logging
import math
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.linalg as sla
from sklearn.exceptions import ConvergenceWarning

from benchmarks.shared.labels import UNLABELED, error_rate

T = TypeVar("T")
STATUS = Path("/proc/self/status")


def run_alone(task: Callable[..., T], *arguments: Any) -> T:
    """Run a task in a new process, as the peak memory of this one could be that of other work."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(task, *arguments).result()


def cpu_seconds(call: Callable[..., Any], *arguments: Any) -> float:
    """Return the processor seconds of a call."""
    begun = time.process_time()
    call(*arguments)
    return time.process_time() - begun


def with_seconds(call: Callable[..., T], *arguments: Any, **options: Any) -> tuple[T, float]:
    """Return the result of a call, and its seconds."""
    begun = time.perf_counter()
    result = call(*arguments, **options)
    return result, time.perf_counter() - begun


def wall_seconds(call: Callable[..., Any], *arguments: Any, **options: Any) -> float:
    """Return the seconds of a call."""
    return with_seconds(call, *arguments, **options)[1]


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore the expected warnings of fits.

    Components of a graph have no label, few labels contradict the balance, all points are assigned
    to one class, or a solver does not converge: errors are measured nevertheless.
    """
    # Imported late, as processes that measure the memory of other libraries import this module.
    from lapwing.exceptions import LapwingWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LapwingWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def timed_fit(estimator: Any, X: Any, y: Any, **options: Any) -> tuple[Any, float]:
    """Fit an estimator without warnings, and return it with the seconds."""
    with quiet():
        return with_seconds(estimator.fit, X, y, **options)


def transductive_error(estimator: Any, X: Any, y: Any, truth: Any) -> tuple[float, float]:
    """Return the error (%) on the unlabelled points of a fit, and its seconds."""
    model, seconds = timed_fit(estimator, X, y)
    free = y == UNLABELED
    return error_rate(truth[free], model.transduction_[free]), seconds


def forget_peak() -> None:
    """Reset the peak of memory, if the kernel supports it."""
    with suppress(OSError):
        (STATUS.parent / "clear_refs").write_text("5", encoding="ascii")


def resident_bytes(entry: str) -> int:
    """Return ``VmRSS`` (now) or ``VmHWM`` (peak) of this process; the peak without /proc.

    The peak of the kernel is preferred to `getrusage`, whose value a child process inherits, so
    that it may be that of the parent.
    """
    if STATUS.is_file():
        for line in STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith(entry + ":"):
                return 1024 * int(line.split()[1])
    scale = 1 if sys.platform == "darwin" else 1024
    return scale * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class OverTimeError(BaseException):
    """The time is over. Not an `Exception`, which a search would treat as a failed candidate."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Stop the block after some seconds, between two steps of the interpreter.

    There is no limit if they are infinite.
    """

    def ring(*_: Any) -> None:
        raise OverTimeError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0 if math.isinf(seconds) else seconds)  # 0: no timer
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def lu_seconds(n: int) -> float:
    """Time one LU factorisation of an n x n float64 matrix, in place."""
    matrix = np.random.default_rng(0).standard_normal((n, n))
    start = time.perf_counter()
    sla.lu_factor(matrix, overwrite_a=True, check_finite=False)
    return time.perf_counter() - start


def products_seconds(K: Any, count: int) -> float:
    """Time `count` products of a matrix with one vector, in the precision of the matrix."""
    v = np.random.default_rng(0).standard_normal((K.shape[1],)).astype(K.dtype)
    K @ v  # the first product starts the threads
    start = time.perf_counter()
    for _ in range(count):
        K @ v
    return time.perf_counter() - start


@contextmanager
def logged(beginning: str) -> Iterator[list[tuple[Any, ...]]]:
    """Collect the arguments of log messages that begin with a text, in order."""
    found: list[tuple[Any, ...]] = []

    class Reader(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if str(record.msg).startswith(beginning) and isinstance(record.args, tuple):
                found.append(record.args)

    logger, reader = logging.getLogger("lapwing"), Reader()
    level = logger.level
    logger.addHandler(reader)
    logger.setLevel(logging.INFO)
    try:
        yield found
    finally:
        logger.removeHandler(reader)
        logger.setLevel(level)
