"""What the library tells its log while something runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def told(beginning: str) -> Iterator[list[tuple[Any, ...]]]:
    """Arguments of the log's messages that begin so, one entry a message as they come."""
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
