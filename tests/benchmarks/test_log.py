"""Benchmarks read what the library tells its log."""

from __future__ import annotations

import logging

from benchmarks.shared.measuring import logged


def test_messages_that_begin_so_are_reported_with_their_arguments() -> None:
    logger = logging.getLogger("lapwing")
    before = logger.level, list(logger.handlers)
    with logged("%s: %.1f s") as stages:
        logger.info("%s: %.1f s", "graph", 1.5)
        logger.info("another %s", "message")
        logger.info("no arguments")
        logger.info("%s: %.1f s", "graph", 2.5)
    logger.info("%s: %.1f s", "after", 0.5)
    assert stages == [("graph", 1.5), ("graph", 2.5)]
    assert (logger.level, logger.handlers) == before
