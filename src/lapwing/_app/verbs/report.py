"""``lapwing report``: the HTML page of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lapwing._app import workflow
from lapwing._app.console import say
from lapwing._app.options import SAY, Outputs
from lapwing._app.verbs.app import Command, app
from lapwing._host.files import atomic_write


@app.command(cls=Command, epilog="Example: [bold]lapwing report m.lapwing --output report.html[/]")
def report(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file of lapwing fit --model.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The page. Default: MODEL with the extension .html."),
    ] = None,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Show no summary.", rich_help_panel=SAY),
    ] = False,
) -> None:
    """Write the report of a model as one self-contained HTML page."""
    target = model.with_suffix(".html") if output is None else output
    Outputs(report=target).check((model,))
    page = workflow.render_report(workflow.load(model), model)
    with atomic_write(target) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")
    if not quiet:
        say(f"Report: {target}")
