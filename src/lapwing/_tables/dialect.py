"""How a table's file is written, so that files for the same reader are written alike."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """The notation of a CSV file.

    Whoever gives a table with semicolons and decimal commas has a spreadsheet that expects them,
    and takes the answers apart wrongly if they are written in another way.

    Attributes
    ----------
    separator : str
        Between cells.
    decimal : {'.', ','}
        The decimal mark of numbers.
    encoding : str
        A codec of Python's. A text that it cannot write makes the file UTF-8.
    """

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"


USUAL = Dialect()
