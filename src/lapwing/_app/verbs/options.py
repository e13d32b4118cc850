"""Options that several verbs have, as typer takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lapwing._app.methods import METHODS
from lapwing._app.settings import setting_names
from lapwing._tables.parts import FORMATS


def complete_method(incomplete: str) -> list[str]:
    """Methods that begin so, for the shell's completion."""
    return [name for name in METHODS if name.startswith(incomplete)]


def complete_setting(incomplete: str) -> list[str]:
    """Names of parameters that begin so."""
    names = {name for m in METHODS.values() for name in setting_names(m)}
    return [f"{name}=" for name in sorted(names) if name.startswith(incomplete)]


WHAT = "The table"
LEARN = "Learning"
WRITE = "What is written"
SAY = "What is said"
_formats = ", ".join(FORMATS)
Data = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA...",
        help=f"The table: {_formats}, or - for standard input. Several files are one table.",
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        help="Column with the labels. An empty cell means: no label.", rich_help_panel=WHAT
    ),
]
LabelsFile = Annotated[
    Path | None,
    typer.Option(
        help="File with the labels, if they are in no column: one label a line, or an .npy array.",
        rich_help_panel=WHAT,
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        "--id",
        help="Column that names the rows. Default: the rows are numbered from 1.",
        rich_help_panel=WHAT,
    ),
]
Features = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns to use, with commas between them. May be repeated. Default: all others.",
        rich_help_panel=WHAT,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns to leave out, with commas between them. May be repeated.",
        rich_help_panel=WHAT,
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns to use that would be left out, with commas between them. May be repeated.",
        rich_help_panel=WHAT,
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Read the table as it stands. No column is left out. Anything that is not plainly a "
        "number or a text with few values is an error.",
        rich_help_panel=WHAT,
    ),
]
Decimal = Annotated[
    str,
    typer.Option(help="Decimal mark: auto (found for each column), . or ,", rich_help_panel=WHAT),
]
Dates = Annotated[
    str,
    typer.Option(
        help="What comes first in a date that can be read both ways: auto, day or month.",
        rich_help_panel=WHAT,
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        help="Sheet of a spreadsheet. Default: the first that is not empty.", rich_help_panel=WHAT
    ),
]
SkipLines = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Lines above the names of the columns, in a CSV file. Default: found.",
        rich_help_panel=WHAT,
    ),
]
Unlabeled = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VALUE",
        help="A value of the label column that means: no label. May be repeated.",
        rich_help_panel=WHAT,
    ),
]
Scale = Annotated[
    str,
    typer.Option(
        help="Standardise the columns: auto (if their scales differ widely), standard or none.",
        rich_help_panel=LEARN,
    ),
]
Method = Annotated[
    str | None,
    typer.Option(
        help=f"One of {', '.join(METHODS)}. Default: auto, and lapsvc with --set.",
        autocompletion=complete_method,
        rich_help_panel=LEARN,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the method, such as gamma_I=1, graph.n_neighbors=15 or "
        "class_prior=a:0.2,b:0.8. May be repeated.",
        autocompletion=complete_setting,
        rich_help_panel=LEARN,
    ),
]
Impute = Annotated[
    str,
    typer.Option(
        help="What a missing number becomes: the median, the mean, or none (an error). auto is "
        "the median, and none with --strict.",
        rich_help_panel=LEARN,
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, help="Seed for everything random.", rich_help_panel=LEARN)
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Show no progress and no summary.", rich_help_panel=SAY),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print the summary as one JSON object.", rich_help_panel=SAY)
]
PredictionsFile = Annotated[
    Path | None,
    typer.Option(
        help="File for the answers, .csv, .xlsx, .parquet or .npz: id, label, probability, sure, "
        "scores, margin, was_labeled.",
        rich_help_panel=WRITE,
    ),
]
Probabilities = Annotated[
    bool,
    typer.Option(
        "--probabilities",
        help="Write the probability of each class too, not only that of the answer.",
        rich_help_panel=WRITE,
    ),
]
Truth = Annotated[
    str | None,
    typer.Option(
        help="Column with known answers, to count errors. The method does not learn from it.",
        rich_help_panel=WHAT,
    ),
]
Layout = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        help="Column for the report's map. Give it twice, for x and y. Default: principal "
        "components.",
        rich_help_panel=WHAT,
    ),
]
ModelFile = Annotated[
    Path | None,
    typer.Option(
        help="File for the model, for lapwing predict and lapwing report.", rich_help_panel=WRITE
    ),
]
ReportFile = Annotated[
    Path | None, typer.Option(help="File for the report, .html.", rich_help_panel=WRITE)
]
OnnxFile = Annotated[
    Path | None, typer.Option(help="File for the model as ONNX, .onnx.", rich_help_panel=WRITE)
]
