"""Caches of long computations: `joblib.Memory`, as in scikit-learn."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from joblib.memory import MemorizedFunc
from sklearn.utils.validation import check_memory

_LOGGER = logging.getLogger("lapwing")


def cached(
    memory: Any, function: Callable[..., Any], *, ignore: Sequence[str]
) -> Callable[..., Any]:
    """Cache the results of a function in ``memory``; None caches nothing.

    joblib renames complete files, so that results of interrupted processes are never read. Damaged
    results are computed again with a line in the log, where joblib would print all arguments and a
    traceback.

    Parameters
    ----------
    memory : str, joblib.Memory, any object with its ``cache``, or None
    function : callable
        Function of a module, with arguments that can be hashed.
    ignore : sequence of str
        Arguments that do not affect the result.

    Raises
    ------
    ValueError
        If the folder cannot be written.
    """
    keeping = _opened(memory).cache(function, ignore=list(ignore))
    if not isinstance(keeping, MemorizedFunc):
        return keeping

    def call(*args: Any, **named: Any) -> Any:
        if keeping.check_call_in_cache(*args, **named):
            kept = keeping.call_and_shelve(*args, **named)
            try:
                return kept.get()
            except Exception as error:  # a damaged pickle raises nearly anything
                _LOGGER.warning(
                    "memory=%r: a cached result cannot be read (%s). It is computed again.",
                    str(kept.store_backend.location),
                    type(error.__cause__ or error).__name__,
                )
                kept.clear()
        return keeping(*args, **named)

    return call


def _opened(memory: Any) -> Any:
    try:
        return check_memory(memory)
    except OSError as error:  # joblib creates the folder immediately
        raise ValueError(
            f"memory={memory!r} is not a writable folder: {error}. Use a writable folder, or "
            "memory=None for no cache."
        ) from error
