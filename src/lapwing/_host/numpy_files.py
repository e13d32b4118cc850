"""Why NumPy could not read a file, without its advice to run what the file holds."""

from __future__ import annotations


def why_unreadable(error: Exception) -> str:
    """Say in a user's words what ``np.load`` says of a file, without a full stop.

    NumPy takes whatever does not begin as its own files do for a pickle, and says how to load that:
    by running code that the file holds.

    Parameters
    ----------
    error : Exception
        What ``np.load`` raised.

    Returns
    -------
    str
        The reason.
    """
    text = str(error).rstrip(".")
    if "Python objects" in text or "Object arrays" in text:
        return "it holds Python objects, and not numbers or texts"
    if "pickle" in text:
        return "it does not begin as NumPy's files do"
    return text
