"""Collect input errors, and report them together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from lapwing._tables.encoders import BadCells
from lapwing._tables.words import shorten


class InputErrors:
    """Messages that are gathered, to be raised as one error.

    Parameters
    ----------
    where : str
        The files, with which each message begins.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self.messages: list[str] = []

    @contextmanager
    def gather(self) -> Iterator[None]:
        """Keep the message of a `ValueError` that ends the block."""
        try:
            yield
        except ValueError as error:
            self.messages.append(str(error))

    def raise_all(self) -> None:
        """Raise what was gathered, if anything was."""
        if self.messages:
            raise ValueError(tell_all(self.where, self.messages))


def tell_all(where: str, messages: Sequence[str]) -> str:
    """Write several messages as one; a single one is left as it is."""
    messages = list(dict.fromkeys(messages))
    if len(messages) == 1:
        return messages[0]
    each = [message.removeprefix(where).lstrip(": ") for message in messages]
    listed = " ".join(f"({number}) {message}" for number, message in enumerate(each, start=1))
    return f"{where}: {len(messages)} things are in the way. {listed}"


def name_row(row: int, places: NDArray[np.int64] | None) -> str:
    """Name a row, counted from 0, as its file does: a spreadsheet has numbers of its own."""
    return f"row {row + 1}" if places is None else f"row {places[row]} of the sheet"


def text_in_the_way(
    column: str,
    bad: BadCells,
    where: str,
    places: NDArray[np.int64] | None,
    *,
    new: bool = False,
) -> str:
    """Say that cells of a numeric column hold text; new rows cannot go without the column."""
    cure = "Correct it" if new else f"Correct it, or leave the column out with --drop {column}"
    rows = "1 row" if bad.count == 1 else f"{bad.count} rows"
    return (
        f"{where}: column {column!r} holds text in {rows}; the first is "
        f"{name_row(bad.row, places)}: {shorten(bad.value)!r}. {cure}."
    )
