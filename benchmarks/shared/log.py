"""Messages in the library's log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def told(beginning: str) -> Iterator[list[tuple[Any, ...]]]:
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
