"""A fit that takes too long is ended."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class OverTimeError(BaseException):
    """The time is up. No `Exception`, for a search would take it for a candidate that fails."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """End what is inside after so many seconds, between two steps of the interpreter.

    Infinitely many never end it.
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
