"""Candidates that could not be fitted, told by name.

One of several must not take the others' answers away: the user asked which method to use, and a
method that cannot be fitted is not the one. So the others go on, as in scikit-learn's searches.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from sklearn.exceptions import FitFailedWarning


def told(error: Exception) -> str:
    """What is kept of an error: its first line, with its type where that alone may say little."""
    # scikit-learn's errors go on for lines with advice.
    said = str(error).strip().partition("\n")[0]
    meant = isinstance(error, (ValueError, MemoryError)) and said
    return said if meant else f"{type(error).__name__}: {said}"


def refuse_if_all_failed(errors: Mapping[str, Exception], n_candidates: int) -> None:
    """Raise where no candidate is left.

    What all of them say alike is about the data, and is told as a fit would tell it.
    """
    if len(errors) < n_candidates:
        return
    first = next(iter(errors.values()))
    if n_candidates > 1 and len({told(error) for error in errors.values()}) == 1:
        raise first
    said = " ".join(f"{name!r}: {told(error)}" for name, error in errors.items())
    raise ValueError(f"No candidate can be fitted. {said}") from first


def warn_of_failures(failed: Mapping[str, str], stacklevel: int) -> None:
    """Warn of candidates that the comparison goes on without."""
    for name, error in failed.items():
        warnings.warn(
            f"The candidate {name!r} cannot be fitted, and is left out: {error}",
            FitFailedWarning,
            stacklevel=stacklevel + 1,
        )
