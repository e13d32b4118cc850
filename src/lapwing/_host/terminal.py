"""Output to terminals: text without control characters, and a progress line."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from itertools import count
from typing import Any, Self

# Seconds before progress is shown, as it would only flicker for shorter work.
DELAY = 2.0
_REPAINT = 1.0  # seconds between updates, as the line counts seconds

# The line of an outer caller, which shows progress already or has disabled it.
showing: ContextVar[StatusLine | None] = ContextVar("showing", default=None)


def harmless(text: str) -> str:
    """Replace control characters by their pictures, and lone surrogates by a question mark.

    Terminals would interpret them, and HTML does not allow them. If they were removed, different
    ids could look the same.
    """
    if text.isprintable():  # the fast path of nearly all texts
        return text
    text = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(
        chr(0x2400 + ord(c)) if ord(c) < 32 else "␡" if 127 <= ord(c) < 160 else c for c in text
    )


def is_watched() -> bool:
    """Return whether to show progress: standard error is a terminal or a notebook.

    The environment variable ``LAPWING_PROGRESS=0`` turns it off.
    """
    stream = sys.stderr
    # None: a program without a console
    if stream is None or os.environ.get("LAPWING_PROGRESS") == "0":
        return False
    return stream.isatty() or type(stream).__module__.startswith("ipykernel.")


def current_line() -> StatusLine:
    """Return the line of an outer caller, or one that is never shown."""
    return showing.get() or StatusLine("", quiet=True)


class StatusLine:
    """Line on standard error with the current work, shown after `DELAY` seconds.

    It counts the seconds and is erased at the end. It is not shown without a terminal or notebook,
    within another display of progress, and outside of the main thread. As a callback of an
    estimator, it shows the stages of a fit.

    Parameters
    ----------
    title : str
        Name of the work.
    quiet : bool, default=False
        Whether to show nothing, also of nested work.
    forecast : float, default=None
        Seconds that the work will probably take; None if not known.
    """

    def __init__(self, title: str, quiet: bool = False, forecast: float | None = None) -> None:
        self._title, self._part, self._width = title, "", 0
        self._quiet, self._forecast = quiet, forecast or 0.0
        self._lock, self._done = threading.Lock(), threading.Event()
        self._painter: threading.Thread | None = None
        self._token: Token[StatusLine | None] | None = None
        self._begun = 0.0

    def __enter__(self) -> Self:
        main = threading.current_thread() is threading.main_thread()
        if main and showing.get() is None:
            self._token = showing.set(self)
        if self._token is not None and not self._quiet and is_watched():
            self._begun = time.monotonic()
            self._painter = threading.Thread(target=self._repaint, daemon=True)
            self._painter.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            showing.reset(self._token)
        if self._painter is None:
            return
        self._done.set()
        self._painter.join()
        self.erase()

    def erase(self) -> None:
        """Clear the line for other output, until it is painted again."""
        if self._width:
            self._write("")

    def show(self, part: str) -> None:
        """Show the name of the next part of the work."""
        self._part = part
        if self._painter is not None and time.monotonic() - self._begun >= DELAY:
            self._paint()

    @contextmanager
    def stage(self, name: str, max_steps: int | None = 0) -> Iterator[Callable[[Any], bool]]:
        """Show a part of the work, and yield a function that counts its steps if `max_steps`."""
        self.show(name)
        steps = count(1)

        def tick(attributes: Any) -> bool:
            # Shown at the next refresh, because there may be thousands of steps per second.
            self._part = f"{name}, {next(steps)} of {max_steps}" if max_steps else name
            return False

        yield tick

    @property
    def callbacks(self) -> list[object]:
        """The line for `set_callbacks` of an estimator, if it is shown."""
        return [self] if self._painter is not None else []

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to clear."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Show the stage's name."""
        if context.parent is not None and context.task_name != "iteration":
            self.show(context.task_name)

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Count the iterations."""
        if context.task_name == "iteration":
            self._part = f"{context.parent.task_name}, iteration {context.task_id + 1}"

    def _repaint(self) -> None:
        wait = DELAY
        while not self._done.wait(wait):
            self._paint()
            wait = _REPAINT

    def _paint(self) -> None:
        text = f"{self._title}: {self._part}" if self._part else self._title
        passed = time.monotonic() - self._begun
        left = self._forecast - passed
        seconds = f", {passed:.0f} s" + (f" (about {left:.0f} s left)" if left >= 1 else "")
        room = max(0, shutil.get_terminal_size().columns - 1 - len(seconds))
        self._write(harmless(text)[:room] + seconds)

    def _write(self, text: str) -> None:
        # Spaces erase a longer text, in notebooks too.
        with self._lock:
            sys.stderr.write(f"\r{text.ljust(self._width)}" + ("" if text else "\r"))
            sys.stderr.flush()
            self._width = len(text)
