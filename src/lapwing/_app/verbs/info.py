"""``lapwing info``: what a table holds, and what a fit of it takes."""

from __future__ import annotations

from typing import Annotated

import typer

from lapwing._app import console
from lapwing._app.console import StageDisplay
from lapwing._app.inspection import inspect
from lapwing._app.requests import InfoRequest
from lapwing._app.verbs.app import Command, app
from lapwing._app.verbs.options import (
    Data,
    Dates,
    Decimal,
    Drop,
    Features,
    IdColumn,
    Json,
    Keep,
    Label,
    LabelsFile,
    Scale,
    Seed,
    Sheet,
    SkipLines,
    Strict,
    Unlabeled,
)
from lapwing._app.verbs.saying import json_text


@app.command(cls=Command, epilog="Example: [bold]lapwing info cells.csv --label type --id cell[/]")
def info(
    data: Data,
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
    scale: Scale = "auto",
    n_neighbors: Annotated[
        int, typer.Option(min=1, help="Neighbours of a row in the graph that is looked at.")
    ] = 5,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Show what a table holds, and how much memory and time a fit will need."""
    request = InfoRequest.read(locals())
    with StageDisplay(quiet=False).stage(f"Looking at {request.source}"):
        found = inspect(request)
    typer.echo(json_text(found) if request.as_json else console.describe_info(found), nl=False)
