"""Refusals of the server."""

from __future__ import annotations

from lapwing._tables.words import NO_LABEL

LONGEST_NAME = 200
MOST_CLASSES = 1000  # names; their codes are 16 bits wide on the way to the page


class RequestError(Exception):
    """A request that is not done, and why.

    Parameters
    ----------
    message : str
        What is wrong and what to do.
    status : int, default=400
        Of the HTTP answer.
    """

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def check_class_name(name: object) -> str:
    """Give the name of a class as it is kept.

    Raises
    ------
    RequestError
        If tables could not hold it as a label.
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
