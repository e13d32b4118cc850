"""Work in a thread, for the newest value only: what has been overtaken meanwhile is never begun."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

_PATIENCE = 2.0


class Newest(Generic[T]):
    """A thread that does one job for the newest value that was offered.

    Parameters
    ----------
    job : callable
        From a value to nothing; must not raise.
    name : str
        Of the thread.
    """

    def __init__(self, job: Callable[[T], None], name: str) -> None:
        self._job = job
        self._condition = threading.Condition()
        self._waiting: list[T] = []
        self._busy = False
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def offer(self, value: T) -> None:
        """Do the job for this value next; those that still wait are dropped."""
        with self._condition:
            self._waiting = [value]
            self._condition.notify_all()

    @property
    def overtaken(self) -> bool:
        """Whether a newer value waits, or nobody wants the result any more."""
        return bool(self._waiting) or self._closed

    def pause(self, seconds: float) -> bool:
        """Wait so long, less if a newer value comes; whether none has."""
        with self._condition:
            return not self._condition.wait_for(lambda: self.overtaken, seconds)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until nothing is left to do; whether that was in time."""
        with self._condition:
            return self._condition.wait_for(lambda: not (self._busy or self._waiting), seconds)

    def close(self) -> None:
        """End the thread when its job is done, and wait for that, but not for long.

        A graph of many points takes a minute, and whoever has pressed Ctrl-C has not.
        """
        with self._condition:
            self._closed = True
            self._waiting = []
            self._condition.notify_all()
        self._thread.join(_PATIENCE)

    def _run(self) -> None:
        while True:
            with self._condition:
                self._busy = False
                self._condition.notify_all()
                self._condition.wait_for(lambda: self.overtaken)
                if self._closed:
                    return
                value = self._waiting.pop()
                self._busy = True
            self._job(value)
