"""``lapwing info``: contents of a table, and cost of a fit."""

from __future__ import annotations

import typer

from lapwing._app import console
from lapwing._app.console import StageDisplay, json_text
from lapwing._app.inspection import inspect
from lapwing._app.requests import InfoRequest
from lapwing._app.verbs.app import verb


@verb(
    InfoRequest,
    epilog="Example: [bold]lapwing info cells.csv --label type --id cell[/]",
    without=("quiet",),
)
def info(request: InfoRequest) -> None:
    """Show what a table holds, and how much memory and time a fit will need."""
    with StageDisplay(quiet=False).stage(f"Looking at {request.source}"):
        found = inspect(request)
    typer.echo(json_text(found) if request.as_json else console.describe_info(found), nl=False)
