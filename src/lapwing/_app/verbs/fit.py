"""``lapwing fit``: fit a table and predict all its rows."""

from __future__ import annotations

import typer

from lapwing._app import console, fitting, workflow
from lapwing._app.choosing import seconds, working
from lapwing._app.console import StageDisplay, summary_text
from lapwing._app.fitting_blocks import block_source, fit_in_blocks, read_labels_of
from lapwing._app.requests import FitRequest
from lapwing._app.verbs.app import verb
from lapwing._report.page import collect
from lapwing._rows import ParquetRows


@verb(
    FitRequest,
    epilog="Examples: [bold]lapwing fit cells.csv --label type --predictions out.csv[/]   "
    "[bold]lapwing fit cells.parquet --label type --id cell --model m.lapwing --report r.html[/]   "
    "[bold]lapwing fit a.csv b.csv --label type --set gamma_I=10 --set graph.n_neighbors=15[/]",
)
def fit(request: FitRequest) -> None:
    """Learn from the rows with and without a label, and predict a label for every row."""
    fit_table(request)


def fit_table(request: FitRequest) -> None:
    """Fit, write the files, and print the summary."""
    request.outputs.check(request.inputs)
    shown = StageDisplay(request.quiet)
    rows = block_source(request)
    if rows is not None:
        _fit_blocks(request, rows, shown)
        return
    with shown.stage(f"Reading {request.source}"):
        table = workflow.read(request)
    with shown.stage(working(request), seconds(table, request)) as stage:
        outcome = fitting.fit(
            table, request, callbacks=[stage] if shown.shown else [], progress=stage
        )
    with shown.stage("Looking at the answers"):
        figures = collect(outcome)
    # Before the files, so that an error here leaves none.
    text = summary_text(
        request,
        lambda: workflow.summary(outcome, figures),
        lambda: console.describe_fit(outcome, figures),
    )
    with shown.stage("Writing"):
        workflow.write_outputs(outcome, figures)
    typer.echo(text, nl=False)


def _fit_blocks(request: FitRequest, rows: ParquetRows, shown: StageDisplay) -> None:
    """Fit features that stay in their files."""
    with shown.stage(f"Reading the labels of {request.source}"):
        table = read_labels_of(request, rows)
    with shown.stage(working(request), seconds(table, request)) as stage:
        outcome = fit_in_blocks(
            table, request, callbacks=[stage] if shown.shown else [], progress=stage
        )
    with shown.stage("Writing"):
        workflow.write_block_outputs(outcome)
    text = summary_text(
        request,
        lambda: workflow.block_summary(outcome),
        lambda: console.describe_block_fit(outcome),
    )
    typer.echo(text, nl=False)
