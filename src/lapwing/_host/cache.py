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
    """The function with its results kept where ``memory=`` says; None keeps nothing.

    A result is written to a file of another name that is renamed when it is whole, so that what an
    interrupted process has left is never read. One that was damaged later is made again, with a
    line in the log: joblib would print all arguments and a traceback.

    Parameters
    ----------
    memory : str, joblib.Memory, any object with its ``cache``, or None
    function : callable
        Of a module, with arguments that can be hashed.
    ignore : sequence of str
        Names of arguments that a result does not depend on.

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
                    "memory=%r: a result that is kept there cannot be read (%s). It is made again.",
                    str(kept.store_backend.location),
                    type(error.__cause__ or error).__name__,
                )
                kept.clear()
        return keeping(*args, **named)

    return call


def _opened(memory: Any) -> Any:
    try:
        return check_memory(memory)
    except OSError as error:  # joblib makes the folder at once
        raise ValueError(
            f"memory={memory!r} is no folder that can be written: {error}. Use a folder of yours, "
            "or memory=None for no cache."
        ) from error
