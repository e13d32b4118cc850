"""``lapwing compare``: which method suits a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lapwing._app import choosing, console, workflow
from lapwing._app.console import StageDisplay
from lapwing._app.effort import Effort
from lapwing._app.requests import CompareRequest
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
    Sheet,
    SkipLines,
    Strict,
    Unlabeled,
)
from lapwing._app.verbs.saying import json_text


@app.command(cls=Command, epilog="Example: [bold]lapwing compare cells.csv --label type[/]")
def compare(
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
    impute: Impute = "auto",
    seed: Seed = 0,
    max_rows: Annotated[
        int,
        typer.Option(
            "--rows",
            min=2,
            help="Most rows to compare on. Of more, all labelled ones are taken and others drawn.",
            rich_help_panel=LEARN,
        ),
    ] = Effort.max_samples,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File for the table of methods, .csv, .json or .html.", rich_help_panel=WRITE
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Say which method suits a table, and how many of its answers will be wrong.

    Each method is judged by the labels that it misses when they are left out, and by how much its
    answer changes with the labels. Nothing is fitted to keep: the last lines are the command.
    """
    request = CompareRequest.read(locals())
    request.outputs.check(request.inputs)
    shown = StageDisplay(quiet)
    with shown.stage(f"Reading {request.source}"):
        table = workflow.read(request)
    with shown.stage("Comparing methods", choosing.announce(table, request)) as stage:
        compared = choosing.compare_methods(table, request, stage)
    said = _say_comparison(compared)
    with shown.stage("Writing"):
        workflow.write_comparison(compared)
    typer.echo(said, nl=False)


def _say_comparison(compared: choosing.Compared) -> str:
    if compared.request.as_json:
        return json_text(workflow.comparison_summary(compared))
    return "" if compared.request.quiet else console.describe_comparison(compared)
