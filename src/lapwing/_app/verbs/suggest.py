"""``lapwing suggest``: the rows to label next."""

from __future__ import annotations

import typer

from lapwing._app import console, suggesting, workflow
from lapwing._app.choosing import seconds, working
from lapwing._app.console import StageDisplay, summary_text
from lapwing._app.requests import SuggestRequest
from lapwing._app.verbs.app import verb


@verb(
    SuggestRequest,
    epilog="Example: [bold]lapwing suggest cells.csv --label type -k 10 --out next.csv[/]",
)
def suggest(request: SuggestRequest) -> None:
    """Write the rows that it would help most to label next.

    Fits the table, because a model keeps no graph. The rows are chosen together: they reduce the
    uncertainty of all other rows most. The label column may be empty: without labels of two classes
    the rows cover the table.
    """
    request.outputs.check(request.inputs)
    shown = StageDisplay(request.quiet)
    with shown.stage(f"Reading {request.source}"):
        table = workflow.read(request)
    with shown.stage(working(request), seconds(table, request)) as stage:
        found = suggesting.suggest(
            table, request, callbacks=[stage] if shown.shown else [], progress=stage
        )
    text = summary_text(
        request,
        lambda: workflow.suggestion_summary(found),
        lambda: console.describe_suggestion(found),
    )
    with shown.stage("Writing"):
        workflow.write_suggested(found)
    typer.echo(text, nl=False)
