"""Output to terminals: text without control characters, and a progress line."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from contextvars import ContextVar, Token
from typing import Self

# Seconds before progress is shown, as it would only flicker for shorter work.
DELAY = 2.0
_REPAINT = 1.0  # seconds, as the line counts them

# Whether a caller shows progress already, or has disabled it.
showing: ContextVar[bool] = ContextVar("showing", default=False)


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


class StatusLine:
    """Line on standard error with the current work, shown after `DELAY` seconds.

    It counts the seconds and is erased at the end. It is not shown without a terminal or notebook,
    within another display of progress, and outside of the main thread.

    Parameters
    ----------
    title : str
        Name of the work.
    """

    def __init__(self, title: str) -> None:
        self._title, self._part, self._width = title, "", 0
        self._lock, self._done = threading.Lock(), threading.Event()
        self._painter: threading.Thread | None = None
        self._token: Token[bool] | None = None
        self._begun = 0.0

    def __enter__(self) -> Self:
        main = threading.current_thread() is threading.main_thread()
        if main and not showing.get() and is_watched():
            self._token = showing.set(True)
            self._begun = time.monotonic()
            self._painter = threading.Thread(target=self._repaint, daemon=True)
            self._painter.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._painter is None or self._token is None:
            return
        showing.reset(self._token)
        self._done.set()
        self._painter.join()
        if self._width:
            self._write("")

    def show(self, part: str) -> None:
        """Show the name of the next part of the work."""
        self._part = part
        if self._painter is not None and time.monotonic() - self._begun >= DELAY:
            self._paint()

    def _repaint(self) -> None:
        wait = DELAY
        while not self._done.wait(wait):
            self._paint()
            wait = _REPAINT

    def _paint(self) -> None:
        text = f"{self._title}: {self._part}" if self._part else self._title
        seconds = f", {time.monotonic() - self._begun:.0f} s"
        room = max(0, shutil.get_terminal_size().columns - 1 - len(seconds))
        self._write(harmless(text)[:room] + seconds)

    def _write(self, text: str) -> None:
        # Spaces erase a longer text, in notebooks too.
        with self._lock:
            sys.stderr.write(f"\r{text.ljust(self._width)}" + ("" if text else "\r"))
            sys.stderr.flush()
            self._width = len(text)
