"""``lapwing predict``: predictions of a model for new rows."""

from __future__ import annotations

import sys
from typing import Any

import typer

from lapwing._app import console, workflow
from lapwing._app.batches import in_batches, predict_in_batches
from lapwing._app.console import StageDisplay, summary_text
from lapwing._app.requests import PredictRequest
from lapwing._app.verbs.app import verb
from lapwing._tables.predictions import print_predictions, write_predictions


@verb(
    PredictRequest,
    epilog="Examples: [bold]lapwing predict m.lapwing new.csv --predictions out.csv[/]   "
    "[bold]cat new.csv | lapwing predict m.lapwing - > out.csv[/]",
)
def predict(request: PredictRequest) -> None:
    """Predict the rows of a table with a model. Without --predictions, print them as CSV."""
    request.outputs.check(request.inputs)
    shown = StageDisplay(request.quiet)
    with shown.stage(f"Reading {request.model}"):
        loaded = workflow.load(request.model)
    if in_batches(request):
        with shown.stage("Predicting"):
            answered = predict_in_batches(loaded, request)
        if request.predictions is not None:
            text = summary_text(
                request,
                lambda: _summary(request, answered.n_rows, answered.counts),
                lambda: console.describe_answered(answered, request),
            )
            typer.echo(text, nl=False)
        return
    with shown.stage(f"Reading {request.source}"):
        table = workflow.read_for(loaded, request)
    with shown.stage("Predicting") as stage:
        rows = workflow.answer(loaded, table, request, stage)
        rows = workflow.beside_columns(rows, table, request.predictions)
    if request.predictions is None:
        print_predictions(
            rows, sys.stdout, dialect=table.dialect, all_probabilities=request.probabilities
        )
        return
    text = summary_text(
        request,
        lambda: _summary(request, int(rows.label.size), workflow.class_counts(rows)),
        lambda: console.describe_predictions(rows, loaded.info, request),
    )
    with shown.stage("Writing"):
        write_predictions(
            rows,
            request.predictions,
            dialect=table.dialect,
            all_probabilities=request.probabilities,
        )
    typer.echo(text, nl=False)


def _summary(
    request: PredictRequest, n_rows: int, predicted: dict[str, int] | None
) -> dict[str, Any]:
    return {"source": request.source, "rows": n_rows, "predicted": predicted}
