"""Where finished stages of long computations are kept: `joblib.Memory`, as in scikit-learn."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_memory

__all__ = ["open_cache"]


def open_cache(memory: Any) -> Any:
    """The cache that ``memory=`` means; None keeps nothing.

    A result is written to a file of another name that is renamed when it is whole, so that what an
    interrupted process has left is never read.

    Raises
    ------
    ValueError
        If the folder cannot be written.
    """
    try:
        return check_memory(memory)
    except OSError as error:  # joblib makes the folder at once
        raise ValueError(
            f"memory={memory!r} is no folder that can be written: {error}. Use a folder of yours, "
            "or memory=None for no cache."
        ) from error
