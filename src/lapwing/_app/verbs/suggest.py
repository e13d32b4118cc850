"""``lapwing suggest``: the rows to label next."""

from __future__ import annotations

import typer

from lapwing._app import console, suggesting, workflow
from lapwing._app.choosing import seconds, working
from lapwing._app.console import StageDisplay, json_text
from lapwing._app.requests import SuggestRequest
from lapwing._app.verbs.app import verb


@verb(
    SuggestRequest,
    epilog="Example: [bold]lapwing suggest cells.csv --label type -k 10 --out next.csv[/]",
)
def suggest(request: SuggestRequest) -> None:
    """Write the rows that it would help most to label next.

    Fits the table, as a model keeps no graph. The rows say most about all others where the answer
    is unsure, and no two of them say the same. The label column may be empty: without labels of
    two classes the rows cover the table.
    """
    request.outputs.check(request.inputs)
    shown = StageDisplay(request.quiet)
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
