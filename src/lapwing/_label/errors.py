"""Errors of the server, and the check of class names."""

from __future__ import annotations

from lapwing._tables.labels import NO_LABEL

LONGEST_NAME = 200
MOST_CLASSES = 1000  # names; their codes are 16 bits wide on the way to the page


class RequestError(Exception):
    """A request that the server refuses.

    Parameters
    ----------
    message : str
        What is wrong and what to do.
    status : int, default=400
        Status code of the HTTP response.
    """

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def check_class_name(name: object) -> str:
    """Return a class name, stripped and checked.

    Raises
    ------
    RequestError
        If it is not a text, empty, too long, not printable, or means "no label" in tables.
    """
    if not isinstance(name, str):
        raise RequestError("The name of a class must be a text.")
    name = name.strip()
    if not name:
        raise RequestError("The name of a class is empty. Type a name.")
    if len(name) > LONGEST_NAME:
        raise RequestError(f"The name of a class has more than {LONGEST_NAME} letters. Shorten it.")
    if not name.isprintable():
        raise RequestError(
            "The name of a class has a character that cannot be shown, such as a line break or a "
            "tab. Take it out."
        )
    if name in NO_LABEL:
        raise RequestError(f'{name!r} means "no label" in tables. Choose another name.')
    return name
