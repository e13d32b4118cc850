"""``lapwing label``: the page to label on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from lapwing._app import console, labelling, workflow
from lapwing._app.console import StageDisplay, say
from lapwing._app.methods import METHODS
from lapwing._app.requests import LabelRequest
from lapwing._app.verbs.app import Command, app
from lapwing._app.verbs.options import (
    LEARN,
    SAY,
    WHAT,
    WRITE,
    Data,
    Dates,
    Decimal,
    Drop,
    Features,
    IdColumn,
    Impute,
    Keep,
    LabelsFile,
    Quiet,
    Scale,
    Seed,
    Settings,
    Sheet,
    Strict,
    Unlabeled,
    complete_method,
)


@app.command(
    cls=Command,
    epilog="Examples: [bold]lapwing label cells.csv --label type[/]   "
    "[bold]lapwing label posts.csv --label topic --id post --text body --classes sport,politics[/]",
)
def label(
    data: Data,
    label: Annotated[
        str | None,
        typer.Option(
            help="Column of the labels, if there is one: rows may have labels already. It also "
            "names the labels that you give.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    labels: LabelsFile = None,
    id_column: IdColumn = None,
    text: Annotated[
        str | None,
        typer.Option(
            help="Column with a text to read while you label. It is not learnt from.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(
            help="Column with the file name of a picture (PNG, JPEG, GIF, WebP), from the folder "
            "of the table. It is not learnt from.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    layout: Annotated[
        list[str] | None,
        typer.Option(
            "--map", help="Column for the map. Give it twice, for x and y.", rich_help_panel=WHAT
        ),
    ] = None,
    classes: Annotated[
        list[str] | None,
        typer.Option(
            help="Names of the classes, with commas between them. May be repeated. You can also "
            "type them in the page.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    features: Features = None,
    drop: Drop = None,
    keep: Keep = None,
    unlabeled: Unlabeled = None,
    strict: Strict = False,
    decimal: Decimal = "auto",
    dates: Dates = "auto",
    sheet: Sheet = None,
    method: Annotated[
        str,
        typer.Option(
            help=f"One of {', '.join(METHODS)}.",
            autocompletion=complete_method,
            rich_help_panel=LEARN,
        ),
    ] = "laperls",
    settings: Settings = None,
    scale: Scale = "auto",
    impute: Impute = "auto",
    seed: Seed = 0,
    journal: Annotated[
        Path | None,
        typer.Option(
            help="File that keeps the labels. Default: the name of the table and .labels.jsonl.",
            rich_help_panel=WRITE,
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, help="Port of the page. Default: any free one.", rich_help_panel=SAY
        ),
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Do not open the browser.", rich_help_panel=SAY)
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Open a page on which you label rows, and see what the model makes of it.

    The page is for you alone: nobody else on the network can open it. Every label is saved at
    once, beside the table. Press Ctrl-C to end; the same command goes on where you were.
    """
    request = LabelRequest.read(locals())
    shown = StageDisplay(quiet)
    with shown.stage(f"Reading {request.source}"):
        table = workflow.read(request)
    with labelling.start(table, request) as server:
        # The address is what a user must see, however quiet.
        say(server.url)
        if not quiet:
            say(console.describe_labelling(server.session, request))
        sys.stdout.flush()  # whoever reads a pipe waits for the address
        if not request.no_browser:
            typer.launch(server.url)
        server.wait()
