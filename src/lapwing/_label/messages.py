"""Messages of the page, read with distrust."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from lapwing._label.words import RequestError

_LIST = re.compile(r"\d{1,9}(?:,\d{1,9})*")
_MOST_NAMED = 200


def read_json(body: bytes, allowed: Mapping[str, type]) -> dict[str, Any]:
    """Read an object whose members are of these names and types, any of them left out.

    Raises
    ------
    RequestError
        If it is anything else.
    """
    try:
        message = json.loads(body.decode("utf-8") or "null", parse_constant=_no_number)
    except (ValueError, RecursionError):  # numbers of thousands of digits are ValueErrors too
        raise RequestError("The message is no JSON.") from None
    if not isinstance(message, dict):
        raise RequestError("The message must be a JSON object.")
    for name, value in message.items():
        if name not in allowed:
            known = ", ".join(allowed)
            raise RequestError(f"The message has {name[:40]!r}; it can have {known}.")
        # Not isinstance: true is no number here.
        if type(value) is not allowed[name] and not (value is None and allowed[name] is str):
            raise RequestError(f"{name!r} must be {_NAMES[allowed[name]]}.")
    return message


def read_rows(value: Any) -> list[int]:
    """Rows of a message.

    Raises
    ------
    RequestError
        If one is no whole number.
    """
    if not isinstance(value, list):
        raise RequestError("The message must say which rows: a list of whole numbers.")
    if any(type(row) is not int for row in value):
        raise RequestError("Rows must be whole numbers.")
    return value


def whole_text(text: str, name: str) -> list[int]:
    """Whole numbers with commas between them, as an address has them.

    Raises
    ------
    RequestError
        If they are anything else, or too many.
    """
    if not text:
        return []
    if not _LIST.fullmatch(text):
        raise RequestError(f"{name} must be whole numbers with commas between them.")
    found = [int(part) for part in text.split(",")]
    if len(found) > _MOST_NAMED:
        raise RequestError(f"{name} can be at most {_MOST_NAMED} rows.")
    return found


def whole(text: str, name: str) -> int:
    """One whole number of an address.

    Raises
    ------
    RequestError
        If it is anything else.
    """
    if not re.fullmatch(r"\d{1,9}", text):
        raise RequestError(f"{name} must be a whole number.")
    return int(text)


_NAMES = {list: "a list", str: "a text", int: "a whole number"}


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)
