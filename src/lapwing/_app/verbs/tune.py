"""``lapwing tune``: a fit with parameters that the labels choose."""

from __future__ import annotations

from typing import Annotated

import typer

from lapwing._app.requests import TuneRequest
from lapwing._app.verbs.app import Command, app
from lapwing._app.verbs.fit import fit_table
from lapwing._app.verbs.options import (
    LEARN,
    Data,
    Dates,
    Decimal,
    Drop,
    Features,
    IdColumn,
    Impute,
    Json,
    Keep,
    Label,
    LabelsFile,
    Layout,
    ModelFile,
    OnnxFile,
    PredictionsFile,
    Probabilities,
    Quiet,
    ReportFile,
    Scale,
    Seed,
    Settings,
    Sheet,
    SkipLines,
    Strict,
    Truth,
    Unlabeled,
    complete_method,
)


@app.command(
    cls=Command, epilog="Example: [bold]lapwing tune cells.csv --label type --report r.html[/]"
)
def tune(
    data: Data,
    label: Label = None,
    labels: LabelsFile = None,
    id_column: IdColumn = None,
    features: Features = None,
    drop: Drop = None,
    keep: Keep = None,
    unlabeled: Unlabeled = None,
    strict: Strict = False,
    decimal: Decimal = "auto",
    dates: Dates = "auto",
    sheet: Sheet = None,
    skip_lines: SkipLines = None,
    truth: Truth = None,
    layout: Layout = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="One of lapsvc, laprls, laperls, laprls-regressor. Default: by the labels and the "
            "number of rows.",
            autocompletion=complete_method,
            rich_help_panel=LEARN,
        ),
    ] = None,
    settings: Settings = None,
    scale: Scale = "auto",
    impute: Impute = "auto",
    seed: Seed = 0,
    predictions: PredictionsFile = None,
    probabilities: Probabilities = False,
    model: ModelFile = None,
    report: ReportFile = None,
    onnx: OnnxFile = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Choose the parameters of a method by leaving out each label in turn, and fit with them.

    Everything else is as in lapwing fit. --set gives the values to try, such as
    --set gamma_Is=0.1,1,10.
    """
    fit_table(TuneRequest.read(locals()))
