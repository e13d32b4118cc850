"""``lapwing predict``: answers of a model for new rows."""

from __future__ import annotations

import sys

import typer

from lapwing._app import console, workflow
from lapwing._app.batches import Answered, in_batches, predict_in_batches
from lapwing._app.console import StageDisplay, json_text
from lapwing._app.requests import PredictRequest
from lapwing._app.verbs.app import verb
from lapwing._tables.predictions import Predictions, print_predictions, write_predictions
from lapwing.models import Model


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
            typer.echo(_say_answered(answered, request), nl=False)
        return
    with shown.stage(f"Reading {request.source}"):
        table = workflow.read_for(loaded, request)
    with shown.stage("Predicting"):
        rows = workflow.answer(loaded, table)
        rows = workflow.beside_columns(rows, table, request.predictions)
    if request.predictions is None:
        print_predictions(
            rows, sys.stdout, dialect=table.dialect, all_probabilities=request.probabilities
        )
        return
    said = _say_predictions(rows, loaded, request)
    with shown.stage("Writing"):
        write_predictions(
            rows,
            request.predictions,
            dialect=table.dialect,
            all_probabilities=request.probabilities,
        )
    typer.echo(said, nl=False)


def _say_answered(answered: Answered, request: PredictRequest) -> str:
    if request.as_json:
        return json_text(
            {
                "source": request.source,
                "rows": answered.n_rows,
                "predicted": answered.counts,
                "written": request.outputs.named(),
            }
        )
    return "" if request.quiet else console.describe_answered(answered, request)


def _say_predictions(rows: Predictions, loaded: Model, request: PredictRequest) -> str:
    if request.as_json:
        return json_text(
            {
                "source": request.source,
                "rows": int(rows.label.size),
                "predicted": workflow.class_counts(rows),
                "written": request.outputs.named(),
            }
        )
    return "" if request.quiet else console.describe_predictions(rows, loaded.info, request)
