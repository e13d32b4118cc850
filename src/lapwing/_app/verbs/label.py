"""``lapwing label``: the labelling page."""

from __future__ import annotations

import sys

import typer

from lapwing._app import console, labelling, workflow
from lapwing._app.console import StageDisplay, say
from lapwing._app.requests import LabelRequest
from lapwing._app.verbs.app import verb


@verb(
    LabelRequest,
    epilog="Examples: [bold]lapwing label cells.csv --label type[/]   "
    "[bold]lapwing label posts.csv --label topic --id post --text body --classes sport,politics[/]",
    without=("as_json",),
)
def label(request: LabelRequest) -> None:
    """Open a page on which you label rows while a model learns from them.

    The page is for you alone: nobody else on the network can open it. Every label is saved at
    once, beside the table. Press Ctrl-C to end; the same command goes on where you were.
    """
    shown = StageDisplay(request.quiet)
    with shown.stage(f"Reading {request.source}"):
        table = workflow.read(request)
    with shown.stage("Making points") as stage:
        server = labelling.start(table, request, stage)
    with server:
        # The user needs the address, even with --quiet.
        say(server.url)
        if not request.quiet:
            say(console.describe_labelling(server.session, request))
        sys.stdout.flush()  # for programs that read the address from a pipe
        if not request.no_browser:
            typer.launch(server.url)
        server.wait()
    if not request.quiet:
        say(console.describe_labels(server.session, request))
