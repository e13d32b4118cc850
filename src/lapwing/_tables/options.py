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
        Column (array, for NPZ files) with the labels. None means `labels_file`, or the targets of
        svmlight files.
    id : str or None
        Column (or array) with the names of the rows; None means row numbers from 1.
    truth : str or None
        Column with true labels; never a feature.
    features : tuple of str
        Columns to use as features regardless of their content; empty for all others. A name with
        commas that is not a column is a list of names, also in `drop` and `keep`.
    drop : tuple of str
        Columns to leave out.
    keep : tuple of str
        Columns to use even if they would be left out automatically.
    text : tuple of str
        Columns to treat as free text.
    encoder : str or None
        Name of the encoder of free text, or of the images of `picture`; None means tf-idf weights.
    picture : str or None
        Column with names of image files for the encoder.
    layout : tuple of str
        Two columns with coordinates for a map; never features.
    shown : tuple of str
        Columns for display, such as texts and names of images; never features.
    labels_file : path-like or None
        File of labels in the order of the rows, one per line or an NPY array.
    unlabeled : tuple of str
        Values of the label column that mean "no label". With the empty string, none of the usual
        words does, so that NA is a class; blanks always do.
    regression : bool or None
        Whether the labels are numbers to predict; None decides by fractions in the labels.
    incomplete : bool
        Whether labels may be missing altogether, or be of one class, because more will be added.
    absent : bool
        Whether the label column may be missing.
    missing : bool
        Whether features may be missing, because they will be imputed.
    strict : bool
        Whether anything but plain numbers and text with few distinct values is an error: no decimal
        commas, no dates, no column left out, and UTF-8 only.
    decimal : {'auto', '.', ','}
        Decimal mark of numbers in texts; 'auto' detects it for each column.
    dates : {'auto', 'day', 'month'}
        Whether the day or the month comes first in ambiguous dates.
    sheet : str or None
        Sheet of a spreadsheet; None means the first one that is not empty.
    skip_lines : int or None
        Number of lines of a CSV file above the column names; None detects it.
    separator : {'auto', ',', ';', '|', 'tab'}
        Separator of the cells of a CSV file; 'auto' detects it.
    rows : tuple of int, or None
        First row and number of rows to read from a Parquet file; None means all.
    columns : tuple of str
        Columns to read from a Parquet file; empty means all.
    whole : bool
        Whether to keep all columns unchanged, to be written with predictions.
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
        """Raise ValueError for invalid options."""
        for name, value, known in (
            ("--decimal", self.decimal, DECIMALS),
            ("--dates", self.dates, DATE_ORDERS),
            ("--separator", self.separator, tuple(SEPARATORS)),
        ):
            if value not in known:
                raise ValueError(f"{name} {value!r} must be one of {', '.join(known)}.")
        if len(self.layout) not in (0, 2):
            raise ValueError(f"--map takes two columns, x and y; {len(self.layout)} given.")
        if self.label is not None and self.labels_file is not None:
            raise ValueError("--label and --labels are two places for the labels; give one.")
        if self.strict and self.keep:
            raise ValueError("--keep is of no use with --strict, which leaves no column out.")


@dataclass(frozen=True)
class Dialect:
    """Notation of a CSV file.

    A user of a table with semicolons and decimal commas has a spreadsheet program that expects
    them, and would parse predictions in another notation wrongly.

    Attributes
    ----------
    separator : str
        Separator of cells.
    decimal : {'.', ','}
        Decimal mark of numbers.
    encoding : str
        Python codec. If it cannot encode a text, the file is written as UTF-8.
    """

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"


USUAL = Dialect()
