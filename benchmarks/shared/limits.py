"""Time limit of a fit."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


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
