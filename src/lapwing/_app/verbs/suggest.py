"""``lapwing suggest``: the rows to label next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lapwing._app import console, suggesting, workflow
from lapwing._app.console import StageDisplay
from lapwing._app.requests import SuggestRequest
from lapwing._app.verbs.app import Command, app
from lapwing._app.verbs.options import (
    LEARN,
    WRITE,
    Data,
    Dates,
    Decimal,
    Drop,
    Features,
    IdColumn,
    Impute,
    Json,
    Keep,
    Label,
    LabelsFile,
    Quiet,
    Scale,
    Seed,
    Settings,
    Sheet,
    SkipLines,
    Strict,
    Unlabeled,
    complete_method,
)
from lapwing._app.verbs.saying import json_text, seconds, working


@app.command(
    cls=Command,
    epilog="Example: [bold]lapwing suggest cells.csv --label type -k 10 --out next.csv[/]",
)
def suggest(
    data: Data,
    out: Annotated[
        Path,
        typer.Option(
            help="File for the rows to label next, .csv. Fill in its label column, and give it "
            "behind DATA.",
            rich_help_panel=WRITE,
        ),
    ],
    n_rows: Annotated[
        int, typer.Option("--rows", "-k", min=1, help="How many rows.", rich_help_panel=WRITE)
    ] = 10,
    label: Label = None,
    labels: LabelsFile = None,
    id_column: IdColumn = None,
    features: Features = None,
    drop: Drop = None,
    keep: Keep = None,
    unlabeled: Unlabeled = None,
    strict: Strict = False,
    decimal: Decimal = "auto",
    dates: Dates = "auto",
    sheet: Sheet = None,
    skip_lines: SkipLines = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="The method that is fitted; auto chooses, as fit does. Default: lapsvc.",
            autocompletion=complete_method,
            rich_help_panel=LEARN,
        ),
    ] = None,
    settings: Settings = None,
    scale: Scale = "auto",
    impute: Impute = "auto",
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write the rows that it would help most to label next.

    Fits the table, as a model keeps no graph. The rows say most about all others where the answer
    is unsure, and no two of them say the same. The label column may be empty: without labels of
    two classes the rows cover the table.
    """
    request = SuggestRequest.read(locals())
    request.outputs.check(request.inputs)
    shown = StageDisplay(quiet)
    with shown.stage(f"Reading {request.source}"):
        table = workflow.read(request)
    with shown.stage(working(request), seconds(table, request)) as stage:
        found = suggesting.suggest(
            table, request, callbacks=[stage] if shown.shown else [], progress=stage
        )
    said = _say_suggestion(found)
    with shown.stage("Writing"):
        workflow.write_suggested(found)
    typer.echo(said, nl=False)


def _say_suggestion(found: suggesting.Suggestion) -> str:
    if found.request.as_json:
        return json_text(workflow.suggestion_summary(found))
    return "" if found.request.quiet else console.describe_suggestion(found)
