"""``lapwing compare``: which method suits a table."""

from __future__ import annotations

import typer

from lapwing._app import choosing, console, workflow
from lapwing._app.console import StageDisplay, json_text
from lapwing._app.requests import CompareRequest
from lapwing._app.verbs.app import verb


@verb(CompareRequest, epilog="Example: [bold]lapwing compare cells.csv --label type[/]")
def compare(request: CompareRequest) -> None:
    """Say which method suits a table, and how many of its answers will be wrong.

    Each method is judged by the labels that it misses when they are left out, and by how much its
    answer changes with the labels. Nothing is fitted to keep: the last lines are the command.
    """
    request.outputs.check(request.inputs)
    shown = StageDisplay(request.quiet)
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
