"""``lapwing compare``: a comparison of methods on a table."""

from __future__ import annotations

import typer

from lapwing._app import choosing, console, workflow
from lapwing._app.console import StageDisplay, summary_text
from lapwing._app.requests import CompareRequest
from lapwing._app.verbs.app import verb


@verb(CompareRequest, epilog="Example: [bold]lapwing compare cells.csv --label type[/]")
def compare(request: CompareRequest) -> None:
    """Find the method that suits a table, and estimate how many of its answers are wrong.

    Each method is judged by the labels that it misses when they are left out, and by how much its
    answers change with the labels. No model is kept: the output ends with the command that fits it.
    """
    request.outputs.check(request.inputs)
    shown = StageDisplay(request.quiet)
    with shown.stage(f"Reading {request.source}"):
        table = workflow.read(request)
    with shown.stage("Comparing methods", choosing.announce(table, request)) as stage:
        compared = choosing.compare_methods(table, request, stage)
    text = summary_text(
        request,
        lambda: workflow.comparison_summary(compared),
        lambda: console.describe_comparison(compared),
    )
    with shown.stage("Writing"):
        workflow.write_comparison(compared)
    typer.echo(text, nl=False)
