"""From requests to files: what the verbs of the command line do besides fitting."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from lapwing._app import fitting
from lapwing._app.fitting import Outcome
from lapwing._app.methods import METHODS
from lapwing._app.request import FitRequest, PredictRequest
from lapwing._host.files import atomic_writes
from lapwing._report.page import collect, render
from lapwing._tables.columns import CATEGORICAL, quoted
from lapwing._tables.predictions import Predictions, write_predictions
from lapwing._tables.tables import Fitted, Table, read_points, read_table
from lapwing.exceptions import LapwingWarning
from lapwing.models import Model, ModelFileError, load_model, save_model
from lapwing.onnx_export import save_onnx

__all__ = [
    "answer",
    "load",
    "read",
    "read_for",
    "render_report",
    "summary",
    "write_outputs",
    "write_predictions",
]


def read(request: FitRequest) -> Table:
    """Read the table of a fit."""
    return read_table(request.data, request.read_options)


def write_outputs(outcome: Outcome) -> None:
    """Write all files of a fit, or none."""
    outputs = outcome.request.outputs
    data = collect(outcome) if outcome.request.wants_report else None
    wanted = [Path(path) for path in outputs.named().values()]
    with atomic_writes(wanted) as temporaries:
        place = dict(zip(outputs.named(), temporaries, strict=True))
        if outputs.predictions is not None:
            write_predictions(outcome.predictions, outputs.predictions, place["predictions"])
        if outputs.model is not None:
            save_model(Model(outcome.pipeline, _describe(outcome), data), place["model"])
        if outputs.report is not None and data is not None:
            place["report"].write_text(render(data), encoding="utf-8", newline="\n")
        if outputs.onnx is not None:
            save_onnx(outcome.pipeline, place["onnx"])


def summary(outcome: Outcome) -> dict[str, Any]:
    """What `lapwing fit --json` prints of a fit."""
    rows, table = outcome.predictions, outcome.table
    found: dict[str, Any] = {
        "source": table.source,
        "method": outcome.request.method,
        "parameters": outcome.parameters,
        "rows": int(rows.label.size),
        "labeled": int(np.count_nonzero(rows.was_labeled)),
        "features": list(table.feature_names),
        "columns": [
            {"column": note.column, "used": note.used, "what": note.words} for note in table.notes
        ],
        "remarks": list(table.remarks),
        "scaling": outcome.scaling,
        "seed": outcome.request.seed,
        "solver": outcome.solver,
        "iterations": int(np.max(getattr(outcome.estimator, "n_iter_", 1))),
        "seconds": round(outcome.seconds, 3),
    }
    if rows.classes is not None and rows.margin is not None:
        found["predicted"] = {str(c): int(np.count_nonzero(rows.label == c)) for c in rows.classes}
        found["median_margin"] = float(np.median(rows.margin))
    if outcome.truth is not None:
        found["error"] = _error(rows, outcome)
    return found


def load(path: Path) -> Model:
    """Load a model that `lapwing fit` has made."""
    model = load_model(path)
    needed = ("method", "feature_names", "kinds")
    if any(key not in model.info for key in needed) or model.info["method"] not in METHODS:
        raise ModelFileError(
            f"{path} was not made by lapwing fit: it does not say which columns it takes. Load it "
            "in Python with lapwing.models.load_model."
        )
    return model


def read_for(model: Model, request: PredictRequest) -> Table:
    """Read the table whose rows a model shall predict; ids are those of the fit if none is named.

    Parameters
    ----------
    model : Model
        From `load`.
    request : PredictRequest
        With the files.
    """
    try:
        fitted = Fitted.from_info(model.info)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{request.model} was damaged: {error}") from None
    table = read_points(request.data, fitted, request.read_options)
    _warn_of_new_values(model, table)
    return table


def answer(model: Model, table: Table) -> Predictions:
    """Predict the rows of a table."""
    regression = METHODS[model.info["method"]].regression
    return fitting.predict(model.pipeline, table, regression=regression)


def render_report(model: Model, path: Path) -> str:
    """Write the page of a model's report."""
    if model.report is None:
        raise ValueError(f"{path} holds no report; fit the model again with lapwing fit --model.")
    return render(model.report)


def _describe(outcome: Outcome) -> dict[str, Any]:
    table, request = outcome.table, outcome.request
    classes = outcome.predictions.classes
    regression = outcome.method.regression
    return {
        "method": request.method,
        "parameters": outcome.parameters,
        **table.describe(),
        # NaN, the marker of regression, is no JSON.
        "unlabeled": None if regression else table.unlabeled,
        "classes": None if classes is None else classes.tolist(),
        "regression": regression,
        "seed": request.seed,
        "scaling": outcome.scaling,
        "impute": outcome.impute,
        "n_rows": int(table.labeled.size),
        "n_labeled": int(np.count_nonzero(table.labeled)),
    }


def _error(rows: Predictions, outcome: Outcome) -> dict[str, Any]:
    """How wrong the answers for rows without a label are, where the truth is known."""
    truth = outcome.truth or []
    asked = np.array([v is not None for v in truth]) & ~rows.was_labeled
    found: dict[str, Any] = {"rows": int(asked.sum())}
    known = outcome.table.truth
    if not asked.any() or known is None:
        return found
    if rows.classes is None:
        difference = rows.label[asked] - known[asked]
        return found | {"root_mean_square": float(np.sqrt(np.mean(difference**2)))}
    return found | {"share_wrong": float(np.mean(rows.label[asked] != known[asked]))}


def _warn_of_new_values(model: Model, table: Table) -> None:
    names = [
        name
        for name, kind in zip(table.feature_names, table.kinds, strict=True)
        if kind == CATEGORICAL
    ]
    if not names:
        return
    encoder = model.pipeline.named_steps["columns"].named_transformers_["categorical"]
    for name, known in zip(encoder.feature_names_in_, encoder.categories_, strict=True):
        seen = set(table.X[str(name)].unique().to_list())
        new = sorted(str(value) for value in seen - set(known.tolist()))
        if new:
            warnings.warn(
                f"{table.source}: {quoted(new)} in {str(name)!r} was not there when the model was "
                "fitted, and counts as none of the known values.",
                LapwingWarning,
                stacklevel=2,
            )
