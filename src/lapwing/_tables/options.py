"""Options of reading a table, and the notation of CSV files."""

from __future__ import annotations

import os
from dataclasses import dataclass

DECIMALS = ("auto", ".", ",")
DATE_ORDERS = ("auto", "day", "month")
SEPARATORS = {"auto": "", ",": ",", ";": ";", "|": "|", "tab": "\t"}


@dataclass(frozen=True)
class ReadOptions:
    """Options of reading a table: roles of its columns, and notation of its cells.

    Attributes
    ----------
    label : str or None
        The column (of an NPZ file: the array) with the labels. None means `labels_file`, or the
        targets of svmlight files.
    id : str or None
        The column (or array) that names the rows; None means row numbers from 1.
    truth : str or None
        A column with known answers; never a feature.
    features : tuple of str
        Columns to use, whatever they look like; empty for all others. A name that is no column
        and holds commas is a list of names; so in `drop` and `keep`.
    drop : tuple of str
        Columns to leave out.
    keep : tuple of str
        Columns to use although they look as if they were of no use.
    text : tuple of str
        Columns of free text, whatever they look like.
    encoder : str or None
        Name of what makes vectors of free text, or of the pictures of `picture`; None means that
        words are counted.
    picture : str or None
        A column of names of pictures of which the encoder makes vectors.
    layout : tuple of str
        The user's own two coordinates for a map; never features.
    shown : tuple of str
        Columns to look at, such as texts and names of pictures; never features.
    labels_file : path-like or None
        A file of labels in the order of the rows, one a line or an NPY array.
    unlabeled : tuple of str
        Values of the label column that mean "no label". The empty text says that of the usual
        words none does, so that NA is a class; a blank always does.
    regression : bool or None
        Whether the labels are numbers to be predicted rather than classes; None if they say so
        themselves, by their fractions.
    incomplete : bool
        Whether there may be no label at all, or one class alone, because more labels are to come.
    absent : bool
        Whether there may be no column of labels yet.
    missing : bool
        Whether features may be missing, because they will be imputed.
    strict : bool
        Whether everything that is not plainly a number or a text of few values is an error: no
        decimal commas, no dates, no column left out, and UTF-8 only.
    decimal : {'auto', '.', ','}
        The decimal mark of numbers in texts; 'auto' finds it for each column.
    dates : {'auto', 'day', 'month'}
        Whether the day or the month comes first in dates that can be read both ways.
    sheet : str or None
        The sheet of a spreadsheet; None means the first that holds something.
    skip_lines : int or None
        Lines of a CSV file above the names of its columns; None finds them.
    separator : {'auto', ',', ';', '|', 'tab'}
        What stands between the cells of a CSV file; 'auto' finds it.
    rows : tuple of int, or None
        Of a Parquet file, the first row that is read and how many; None means all.
    columns : tuple of str
        Of a Parquet file, the columns that are read; empty means all.
    whole : bool
        Whether all columns are kept as they stand in the file too, to be written beside answers.
    """

    label: str | None = None
    id: str | None = None
    truth: str | None = None
    features: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    encoder: str | None = None
    picture: str | None = None
    layout: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    labels_file: str | os.PathLike[str] | None = None
    unlabeled: tuple[str, ...] = ()
    regression: bool | None = False
    incomplete: bool = False
    absent: bool = False
    missing: bool = True
    strict: bool = False
    decimal: str = "auto"
    dates: str = "auto"
    sheet: str | None = None
    skip_lines: int | None = None
    separator: str = "auto"
    rows: tuple[int, int] | None = None
    columns: tuple[str, ...] = ()
    whole: bool = False

    def __post_init__(self) -> None:
        """Refuse what no table could be read with."""
        for name, value, known in (
            ("--decimal", self.decimal, DECIMALS),
            ("--dates", self.dates, DATE_ORDERS),
            ("--separator", self.separator, tuple(SEPARATORS)),
        ):
            if value not in known:
                raise ValueError(f"{name} {value!r} is none of {', '.join(known)}.")
        if len(self.layout) not in (0, 2):
            raise ValueError(f"--map takes two columns, x and y; {len(self.layout)} given.")
        if self.label is not None and self.labels_file is not None:
            raise ValueError("--label and --labels are two places for the labels; give one.")
        if self.strict and self.keep:
            raise ValueError("--keep is of no use with --strict, which leaves no column out.")


@dataclass(frozen=True)
class Dialect:
    """Notation of a CSV file.

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
